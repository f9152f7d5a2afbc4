"""Methods on ordered answers next to each other: inclusions, effective draws, and swaps of rival differences.

Run ``python benchmarks/questionnaires.py [NAME ...] [--seed N]`` with names among:

* ``five``: `SpikeSlabMRF` on four sets of five items of `bayesmrf.datasets.wenchuan`, with missing answers: reversible
  jumps next to exact.
* ``langevin``: Langevin dynamics on the first set, at its default steps and with longer ones, next to exact.
* ``groups``: `GroupedMRF` on the first set, people without missing answers, where all edges exist, and where any may be
  absent.
* ``rivals``: `CompareMRF` of data with two columns that are nearly equal, and of two questionnaires, with and without
  swaps of rival differences.

They need ``BAYESMRF_DATA``. Times are processor time with compilation where a method is the first to need it.
"""

import time
import warnings
from contextlib import nullcontext
from typing import Any
from unittest import mock

import numpy as np
from timing import arguments, duration, machine, table

from bayesmrf import CompareMRF, GroupedMRF, SpikeSlabMRF, datasets, methods
from bayesmrf.posterior.edges import differences
from bayesmrf.priors import Cauchy, SpikeSlab
from bayesmrf.results.rank_diagnostics import rank_diagnostics

QUIET = {"progress": False, "n_jobs": 1}
LONGER = methods.LangevinJumps(epsilon=0.05, width=0.2, n_iterations=200)
NONE = np.empty((0, 2), np.int64)
HEAD = "", "time", "R-hat", "least ESS"


def timed(est: Any, *data: Any) -> str:
    """Fit, and return the processor time."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(*data)
    return duration(time.process_time() - begin)


def mixing(draws: np.ndarray) -> tuple[str, str]:
    """Return the largest R-hat and the least bulk effective sample size, of what is not constant."""
    found = rank_diagnostics(draws.reshape(*draws.shape[:2], -1).astype(float))
    return f"{np.nanmax(found.r_hat):.3f}", f"{np.nanmin(found.ess_bulk):,.0f}"


def row(name: str, est: SpikeSlabMRF, spent: str, exact: SpikeSlabMRF) -> tuple[str, ...]:
    """Return time, mixing of inclusions, and their largest and mean distance from those of ``exact``."""
    away = np.abs(est.inclusion_ - exact.inclusion_)[np.triu_indices(len(exact.inclusion_), 1)]
    return (
        name,
        spent,
        *mixing(est.posterior_["posterior"]["included"].values),
        f"{away.max():.3f}",
        f"{away.mean():.3f}",
    )


def five(seed: int) -> None:
    """Compare reversible jumps with exact."""
    items, rows = datasets.wenchuan(), [(*HEAD, "largest difference", "mean")]
    for first in (0, 4, 8, 12):
        exact = None
        for method in ("exact", "reversible-jump"):
            est = SpikeSlabMRF(method=method, thin=3, random_state=seed, **QUIET)
            spent = timed(est, items.iloc[:, first : first + 5])
            exact = exact or est
            rows.append(row(f"items {first + 1} to {first + 5}, {method}", est, spent, exact))
    print(table(*rows))


def langevin(seed: int) -> None:
    """Compare Langevin dynamics with exact."""
    items, rows, exact = datasets.wenchuan().iloc[:, :5], [(*HEAD, "largest difference", "mean")], None
    for name, method in (("exact", "exact"), ("default steps", "langevin"), ("longer steps", LONGER)):
        est = SpikeSlabMRF(method=method, n_draws=1500, random_state=seed, **QUIET)
        spent = timed(est, items)
        exact = exact or est
        rows.append(row(name, est, spent, exact))
    print(table(*rows))


def groups(seed: int) -> None:
    """Run groups of weights at defaults."""
    items, rows = datasets.wenchuan().iloc[:, :5].dropna(), [HEAD]
    for which in ("graph", "candidates"):
        for method in ("exact", "particle"):
            est = GroupedMRF(**{which: "complete", "method": method, "random_state": seed, **QUIET})
            spent = timed(est, items)
            rows.append((f"{which}, {method}", spent, *mixing(est.posterior_["posterior"]["theta"].values)))
    print(table(*rows))


def twins(n_nodes: int, n_levels: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw two groups of 1,000 rows; columns 1 and 2 are nearly equal, and 0 goes with them in the second group."""
    x, second = rng.integers(0, n_levels, (2000, n_nodes)), np.arange(2000) >= 1000
    x[:, 2] = np.where(rng.random(2000) < 0.96, x[:, 1], x[:, 2])
    x[:, 0] = np.where((rng.random(2000) < 0.3) & second, x[:, 1], x[:, 0])
    return x, second.astype(int)


def rivals(seed: int) -> None:
    """Compare samplers of differences with and without swaps."""
    rng, language = np.random.default_rng(seed), datasets.boredom()
    adhd = datasets.adhd()
    spiked = {"baseline": SpikeSlab(0.5, Cauchy(1.0))}
    cases = {
        "7 yes/no columns, exact": (twins(7, 2, rng), {"method": "exact"}),
        "the same, baselines may be absent": (twins(7, 2, rng), {"method": "exact"} | spiked),
        "6 columns of 3 levels, exact": (twins(6, 3, rng), {"method": "exact"}),
        "7 yes/no columns, reversible-jump": (twins(7, 2, rng), {"method": "reversible-jump", "n_draws": 400}),
        "ADHD, exact": ((adhd.drop(columns="group"), adhd["group"]), {"method": "exact"}),
        "Boredom, reversible-jump": ((language, language.pop("language")), {"n_draws": 500}),
    }
    rows = [("", "time", "R-hat", "least ESS", "without: time", "R-hat", "least ESS")]
    for name, (data, options) in cases.items():
        found: list[str] = []
        for swaps in (True, False):
            with nullcontext() if swaps else mock.patch.object(differences, "rivals_in", return_value=NONE):
                est = CompareMRF(**{"n_warmup": 500, "random_state": seed, **QUIET} | options)
                spent = timed(est, *data)
            found += [spent, *mixing(est.posterior_["posterior"]["included"].values)]
        rows.append((name, *found))
    print(table(*rows))


PARTS = {"five": five, "langevin": langevin, "groups": groups, "rivals": rivals}


def main() -> None:
    args = arguments(__doc__, PARTS, seed=1)
    print(machine())
    for name in args.names:
        PARTS[name](args.seed)
        print(flush=True)


if __name__ == "__main__":
    main()
