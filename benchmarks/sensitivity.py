"""Is the sensitivity to the prior, from a few runs, that of a run under each prior?

Run ``python benchmarks/sensitivity.py [adhd] [wenchuan] [--items N] [--draws N] [--seed N]``. For each questionnaire,
the first N items (all by default) are fitted and `sensitivity` is computed; then the model is fitted again under priors
of both paths, with seeds of their own. Printed are, for each of these priors, effective draws, whether they suffice,
the shares of included and excluded edges by both, and how far inclusions are apart: the largest difference, and the
root mean square, next to that which is expected of the errors of the refit alone.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np
from timing import arguments, machine, table

from bayesmrf import SpikeSlabMRF, datasets
from bayesmrf.priors import Beta
from bayesmrf.results.rank_diagnostics import effective_sizes

PRIORS = [("inclusion", p) for p in (0.2, 0.35, 0.5, 0.65, 0.8)] + [("scale", s) for s in (0.5, 0.7071, 1.4142, 2.0)]


def compare(name: str, n_items: int, n_draws: int, seed: int) -> None:
    X = getattr(datasets, name)().iloc[:, : n_items or None]
    begin, options = time.perf_counter(), {"n_draws": n_draws, "progress": False}
    est = SpikeSlabMRF(random_state=seed, **options).fit(X)
    one = time.perf_counter() - begin
    est.sensitivity(X)
    n_runs = int(est.posterior_["sensitivity"].dataset["is_run"].sum())
    all_runs = time.perf_counter() - begin
    print(f"\n{name}: {X.shape[1]} items, {est.method_}, 4 chains of {n_draws:,} draws; the fit {one:,.0f} s, with "
          f"{n_runs} priors that have runs {all_runs:,.0f} s")  # fmt: skip
    own, shares, found = est._prior_of_edges, est.table("sensitivity"), est.posterior_["sensitivity"].dataset
    heads = ["prior", "value", "effective", "trusted", "included", "refit", "excluded", "refit", "largest", "rms"]
    rows, (u, v) = [(*heads, "rms of a refit")], est.edges_.T
    for k, (path, value) in enumerate(PRIORS):
        prior = replace(own, density=value) if path == "inclusion" else None
        if prior is None:
            prior = replace(own, slab=replace(own.slab, scale=own.slab.scale * value))
        refit = SpikeSlabMRF(prior=prior, random_state=seed + 1 + k, **options).fit(X)
        inclusion = refit.inclusion_[u, v]
        at = int(np.flatnonzero((shares["prior"] == path) & np.isclose(shares["value"], value, rtol=1e-3))[0])
        away = found["inclusion"].values[at] - inclusion
        size = effective_sizes(refit.posterior_["posterior"]["included"].values)
        spread = inclusion * (1 - inclusion)
        expected = np.sqrt(np.nanmean(spread / np.where(spread > 0, size, np.nan)) if spread.any() else 0)
        mine = shares.iloc[at]
        there = refit.posterior_["posterior"]["included"].values.reshape(-1, len(u))
        if isinstance(prior.density, Beta):
            rest = np.maximum(there.sum(axis=1), 1) - 1
            inverse = (prior.density.b + len(u) - 1 - rest) / (prior.density.a + rest)
        else:
            inverse = np.full(len(there), (1 - prior.density) / prior.density)
        least = 1 / len(there)
        factor = np.maximum(inverse @ there / len(there), inverse.mean() * least) / np.maximum(1 - inclusion, least)
        rows.append((
            path, f"{value:.3g}", f"{mine['n_effective']:,.0f}", "yes" if mine["trusted"] else "no",
            f"{mine['included']:.3f}", f"{(factor > 10).mean():.3f}", f"{mine['excluded']:.3f}",
            f"{(factor < 0.1).mean():.3f}", f"{np.abs(away).max():.3f}", f"{np.sqrt((away**2).mean()):.4f}",
            f"{expected:.4f}",
        ))  # fmt: skip
    print(table(*rows), flush=True)


if __name__ == "__main__":
    given = arguments(__doc__, ["adhd", "wenchuan"], items=0, draws=2000, seed=1)
    warnings.simplefilter("ignore")
    print(machine())
    for name in given.names or ["adhd", "wenchuan"]:
        compare(name, given.items, given.draws, given.seed)
