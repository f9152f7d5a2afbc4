"""Effective draws a second of the sampler of edges: with a bank of states, and with chains that follow the weights.

Run ``python benchmarks/reversible_jump.py [NAME ...] [--draws N] [--seeds N]``. Names: ``wenchuan`` (17 items of 5
levels with missing answers), ``boredom`` (8 items of 7 levels in two languages) and ``adhd`` (18 yes/no columns), with
``BAYESMRF_DATA``; ``yes-no`` (24 columns, two groups of 300), ``sparse-200``, ``sparse-400`` and ``sparse-4000`` (24
yes/no columns of a sparse network, so many rows), ``potts`` (20 columns of 4 levels, 1,000 rows), ``forty`` (40 columns
of 5 levels, 1,000 rows), which are drawn from factors. Two chains in one thread after a fit that compiles, ``--draws``
draws by chains, and four times as many with a bank, after as many and a tenth of them of warm-up. Columns: processor
time from the table to the end of ``fit``; inclusions between 0.05 and 0.95, their median effective draws a second, and
the seconds to 400 of the slowest, if all but pilot runs and what follows the draws grows in proportion; effective draws
of parameters; the largest R-hat of inclusions; the mean and the largest difference of inclusions from the other method.
"""

import time
import warnings
from typing import Any

import numpy as np
from timing import arguments, duration, machine, table

from bayesmrf import CompareMRF, SpikeSlabMRF, datasets, graphs
from bayesmrf.engines import Gibbs
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Ising
from bayesmrf.results.rank_diagnostics import rank_diagnostics

QUIET = {"progress": False, "n_jobs": 1, "n_chains": 2}


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


def adhd(rng: np.random.Generator) -> tuple[Any, ...]:
    """Yes/no answers."""
    return SpikeSlabMRF, (datasets.adhd(),), {}


def sparse(n: int) -> Any:
    """Return what draws n rows of a sparse network."""

    def made(rng: np.random.Generator) -> tuple[Any, ...]:
        weights = rng.normal(0, 0.3, 276) * (rng.random(276) < 0.15)
        theta = np.concatenate([weights, rng.normal(0, 0.2, 24)])
        x = Gibbs(n_sweeps=200).sample(Ising(graphs.complete(24)), theta, None, n, rng)
        return SpikeSlabMRF, (x,), {}

    return made


PARTS = {
    "wenchuan": wenchuan, "boredom": boredom, "yes-no": yes_no, "sparse-4000": sparse(4000), "adhd": adhd,
    "sparse-400": sparse(400), "sparse-200": sparse(200), "potts": potts, "forty": forty,
}  # fmt: skip


def run(name: str, moments: str, n_draws: int, seed: int) -> tuple[Any, ...]:
    """Fit twice, and return the speed and the inclusions."""
    estimator, data, options = PARTS[name](np.random.default_rng(0))
    options |= {"method": ReversibleJump(moments=moments), **QUIET, "random_state": seed}
    n, n_warmup = (4 * n_draws, n_draws // 10) if moments == "bank" else (n_draws, n_draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [estimator(n_draws=2, n_warmup=2, **options) for _ in range(2)]
        for fit in fits:  # the first one compiles
            begin = time.process_time()
            fit.fit(*data)
            fixed = time.process_time() - begin
        begin = time.process_time()
        found = estimator(n_draws=n, n_warmup=n_warmup, **options).fit(*data).posterior_["posterior"]
    spent = time.process_time() - begin
    there = found["included"].values.astype(float)
    share = there.mean(axis=(0, 1))
    edges = rank_diagnostics(there[..., (share > 0.05) & (share < 0.95)])
    theta = found["theta"].values
    parameters = rank_diagnostics(theta.reshape(*theta.shape[:2], -1))
    to_400 = fixed + (spent - fixed) * 400 / np.nanmin(edges.ess_bulk)
    speed = np.nanmedian(edges.ess_bulk) / spent
    return spent, edges, speed, to_400, np.nanmedian(parameters.ess_bulk) / spent, share


def rows(name: str, n_draws: int, seed: int) -> list[tuple[str, ...]]:
    """Return the rows of both methods, and their ratios."""
    both = {moments: run(name, moments, n_draws, seed) for moments in ("bank", "chains")}
    apart = np.abs(both["bank"][-1] - both["chains"][-1])
    lines = [
        (name, moments, duration(spent), f"{len(edges.r_hat)}", f"{speed:.1f}", duration(to_400), f"{parameters:.1f}",
         f"{np.nanmax(edges.r_hat):.3f}", f"{apart.mean():.4f}", f"{apart.max():.3f}")
        for moments, (spent, edges, speed, to_400, parameters, _) in both.items()
    ]  # fmt: skip
    _, _, speed, to_400, parameters, _ = both["chains"]
    own = both["bank"]
    ratios = f"{own[2] / speed:.1f}", f"{to_400 / own[3]:.1f}", f"{own[4] / parameters:.1f}"
    return [*lines, (name, "ratio", "", "", *ratios, "", "", "")]


if __name__ == "__main__":
    args = arguments(__doc__ or "", PARTS, draws=1500, seeds=1)
    print(machine())
    head = "", "log Z", "time", "uncertain", "edges / s", "to 400", "parameters / s", "R-hat", "apart", "at most"
    for each in args.names:
        for seed in range(1, args.seeds + 1):
            print(table(head, *rows(each, args.draws, seed)), flush=True)
