"""Is the sensitivity to the prior, from a few runs, that of a run under each prior?

Run ``python benchmarks/sensitivity.py [adhd] [wenchuan] [--items N] [--draws N] [--seed N] [--store FOLDER]``. For each
questionnaire, the first N items (all by default) are fitted with default settings and `sensitivity` is computed; then
the model is fitted again under priors of both paths, with seeds of their own and N draws of each chain. All runs are
kept in the folder, from which a stopped comparison continues. Printed are, for each of these priors, effective draws,
whether they suffice, the shares of included and excluded edges by both, and how far inclusions are apart: the largest
difference; how many differ by more than 0.03, and by more than 0.03 and two standard errors of the refit; and the root
mean square, next to that which is expected of the errors of the refit alone.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from timing import arguments, machine, table

from bayesmrf import SpikeSlabMRF, datasets
from bayesmrf.errors import StoppedWarning
from bayesmrf.priors import Beta
from bayesmrf.results.rank_diagnostics import effective_sizes

PRIORS = [("inclusion", 0.2), ("inclusion", 0.8), ("scale", 0.5), ("scale", 2.0), ("inclusion", 0.5)]
PRIORS += [("inclusion", 0.35), ("inclusion", 0.65), ("scale", 0.7071), ("scale", 1.4142)]
HEADS = ["prior", "value", "effective", "trusted", "included", "refit", "excluded", "refit", "largest", "> 0.03"]
HEADS += ["> 0.03 + 2 se", "rms", "rms of a refit"]
WITHIN = 0.03


def factors(there: np.ndarray, density: Beta | float) -> np.ndarray:
    """Return local Bayes factors from the edges of draws, (n_draws, n_edges)."""
    n, n_edges = there.shape
    if isinstance(density, Beta):
        rest = np.maximum(there.sum(axis=1), 1) - 1
        inverse = (density.b + n_edges - 1 - rest) / (density.a + rest)
    else:
        inverse = np.full(n, (1 - density) / density)
    present = np.maximum(inverse @ there / n, inverse.mean() / n)
    return np.asarray(present / np.maximum(1 - there.mean(axis=0), 1 / n))


def compare(name: str, n_items: int, n_draws: int, seed: int, store: str) -> None:
    X = getattr(datasets, name)().drop(columns="group", errors="ignore").iloc[:, : n_items or None]
    begin, place = time.perf_counter(), Path(store) / f"{name}-{X.shape[1]}-{seed}" if store else None

    def fit(kept: str, **options: object) -> SpikeSlabMRF:
        where = None if place is None else place / f"{kept}_run"
        return SpikeSlabMRF(progress=False, checkpoint=where, **options).fit(X)

    est = fit("fit", random_state=seed)
    one = time.perf_counter() - begin
    est.sensitivity(X, checkpoint=place)
    n_runs = int(est.posterior_["sensitivity"].dataset["is_run"].sum())
    draws, all_runs = est.posterior_["posterior"].sizes, time.perf_counter() - begin
    print(f"\n{name}: {X.shape[1]} items, {est.method_}, {draws['chain']} chains of {draws['draw']:,} draws; the fit "
          f"{one:,.0f} s, with {n_runs} priors that have runs {all_runs:,.0f} s", flush=True)  # fmt: skip
    own, shares, found = est._result.priors.of_edges, est.table("sensitivity"), est.posterior_["sensitivity"].dataset
    rows = [tuple(HEADS)]
    for k, (path, value) in enumerate(PRIORS):
        if path == "inclusion":
            prior = replace(own, density=value)
        else:
            prior = replace(own, slab=replace(own.slab, scale=own.slab.scale * value))
        refit = fit(f"refit-{n_draws}-{path}-{value}", prior=prior, random_state=seed + 1 + k, n_draws=n_draws)
        each = refit.posterior_["posterior"]["included"].values
        there = each.reshape(-1, each.shape[2])
        inclusion, factor = there.mean(axis=0), factors(there, prior.density)
        at = int(np.flatnonzero((shares["prior"] == path) & np.isclose(shares["value"], value, rtol=1e-3))[0])
        away, mine = np.abs(found["inclusion"].values[at] - inclusion), shares.iloc[at]
        spread = inclusion * (1 - inclusion)
        error = np.sqrt(np.where(spread > 0, spread / effective_sizes(each), 0))
        rows.append((
            path, f"{value:.3g}", f"{mine['n_effective']:,.0f}", "yes" if mine["trusted"] else "no",
            f"{mine['included']:.3f}", f"{(factor > 10).mean():.3f}", f"{mine['excluded']:.3f}",
            f"{(factor < 0.1).mean():.3f}", f"{away.max():.3f}", f"{(away > WITHIN).sum()}",
            f"{(away > WITHIN + 2 * error).sum()}", f"{np.sqrt((away**2).mean()):.4f}",
            f"{np.sqrt((error**2).mean()):.4f}",
        ))  # fmt: skip
        print(*rows[-1], flush=True)
    print(table(*rows), flush=True)


if __name__ == "__main__":
    given = arguments(__doc__, ["adhd", "wenchuan"], items=0, draws=8000, seed=1, store="")
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", StoppedWarning)
    print(machine())
    for name in given.names:
        compare(name, given.items, given.draws, given.seed, given.store)
