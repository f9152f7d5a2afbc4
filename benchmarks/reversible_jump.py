"""Effective draws a second of the sampler of edges, on ordered answers, unordered levels and groups of people.

Run ``python benchmarks/reversible_jump.py [NAME ...] [--draws N]``; ``PYTHONPATH`` chooses the version: one before
`reversible-jump` runs its weighted particles. Names: ``wenchuan`` (17 items of 5 levels with missing answers),
``boredom`` (8 items of 7 levels in two languages), both with ``BAYESMRF_DATA``; ``yes-no`` (24 columns, two groups of
300), ``potts`` (20 columns of 4 levels, 1,000 rows), ``forty`` (40 columns of 5 levels, 1,000 rows), which are drawn
from factors. Two chains in one thread after a fit that compiles, ``--draws`` draws (a tenth of them by particles) after
as many of warm-up. Columns: processor time; edges in doubt, and their median effective draws a second; of parameters,
the median and the least; the largest R-hat of both.
"""

import time
import warnings
from typing import Any

import numpy as np
from timing import arguments, duration, machine, table

from bayesmrf import CompareMRF, SpikeSlabMRF, datasets, methods
from bayesmrf.results.rank_diagnostics import rank_diagnostics

NEW = hasattr(methods, "ReversibleJump")
QUIET = {"progress": False, "n_jobs": 1, "n_chains": 2, "random_state": 1}


def factors(n: int, d: int, k: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Draw columns of which each depends on some of k factors."""
    loadings = rng.normal(size=(k, d)) * (rng.random((k, d)) < share)
    found: np.ndarray = rng.normal(size=(n, k)) @ loadings + rng.normal(size=(n, d))
    return found


def wenchuan(rng: np.random.Generator) -> tuple[Any, ...]:
    """Ordered answers of one group."""
    return SpikeSlabMRF, (datasets.wenchuan(),), {}


def boredom(rng: np.random.Generator) -> tuple[Any, ...]:
    """Ordered answers of two groups."""
    items = datasets.boredom()
    return CompareMRF, (items.drop(columns="language"), items["language"]), {}


def yes_no(rng: np.random.Generator) -> tuple[Any, ...]:
    """Two groups that differ in nothing."""
    x = (factors(600, 24, 3, 0.5, rng) > 0.3).astype(int)
    return CompareMRF, (x, np.repeat(["a", "b"], 300)), {}


def potts(rng: np.random.Generator) -> tuple[Any, ...]:
    """Levels without order."""
    return SpikeSlabMRF, (np.digitize(factors(1000, 20, 4, 0.4, rng), [-0.7, 0, 0.7]),), {"model": "potts"}


def forty(rng: np.random.Generator) -> tuple[Any, ...]:
    """Many ordered answers."""
    return SpikeSlabMRF, (np.digitize(factors(1000, 40, 5, 0.3, rng), [-1.2, -0.4, 0.4, 1.2]),), {}


PARTS = {"wenchuan": wenchuan, "boredom": boredom, "yes-no": yes_no, "potts": potts, "forty": forty}


def row(name: str, n_draws: int) -> tuple[str, ...]:
    """Fit twice, and return the row of a table."""
    estimator, data, options = PARTS[name](np.random.default_rng(0))
    options |= {"method": "reversible-jump" if NEW else "particle", **QUIET}
    n = n_draws if NEW else n_draws // 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator(n_draws=2, n_warmup=2, **options).fit(*data)
        begin = time.process_time()
        found = estimator(n_draws=n, n_warmup=n, **options).fit(*data).posterior_["posterior"]
    spent = time.process_time() - begin
    there = found["included"].values.astype(float)
    share = there.mean(axis=(0, 1))
    edges = rank_diagnostics(there[..., (share > 0.05) & (share < 0.95)])
    theta = found["theta"].values
    parameters = rank_diagnostics(theta.reshape(*theta.shape[:2], -1))
    rate = [np.nanmedian(edges.ess_bulk), np.nanmedian(parameters.ess_bulk), np.nanmin(parameters.ess_bulk)]
    r_hat = max(np.nanmax(edges.r_hat), np.nanmax(parameters.r_hat))
    count = str(len(edges.r_hat))
    return name, f"{n:,}", duration(spent), count, *(f"{x / spent:.1f}" for x in rate), f"{r_hat:.3f}"


if __name__ == "__main__":
    args = arguments(__doc__ or "", PARTS, draws=1500)
    print(machine())
    head = "", "draws", "time", "in doubt", "edges / s", "parameters / s", "slowest / s", "R-hat"
    print(table(head, *(row(name, args.draws) for name in args.names)))
