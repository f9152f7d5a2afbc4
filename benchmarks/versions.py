"""Processor time and memory of whole fits, next to another version of the project.

Run ``python benchmarks/versions.py [NAME ...] [--turns N] --against REVISION``, from the root of a repository. Data are
drawn once; then processes of the two versions alternate. Each compiles, then fits one chain in one thread; the least
time of its fits counts, so that other work of the machine disturbs little; the ratio is the median over turns, with its
standard error. The last columns are ratios, too: effective draws of the indicator of an edge per second (the median of
the uncertain edges), and peak memory. Versions before 0.2.0 took the options of methods and priors as arguments of
estimators. In versions before "reversible-jump" it stands for "one-edge" with yes/no columns, and for "particle" with
more levels or several groups of people.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from timing import arguments, machine, peak, table

import bayesmrf
from bayesmrf import graphs
from bayesmrf.estimators import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF

OLD = bayesmrf.__version__.startswith("0.1")
QUIET: dict[str, Any] = {"progress": False, "n_jobs": 1, "n_chains": 1, "random_state": 0}
FITS = 5  # of a process, after one that compiles


def named(method: str, before: str) -> str:
    """Return the name of a method of edges in the version that runs, where "reversible-jump" may be ``before``."""
    if method != "reversible-jump":
        return method
    if OLD:
        return before
    from bayesmrf.methods import EDGES

    return method if method in EDGES.names else before


def edges(method: str, n_draws: int, n_warmup: int = 0, **options: int) -> Callable[[], Any]:
    """Learn which edges exist among 12 nodes, with the prior of Chen and Welling (2012)."""
    method = named(method, "one-edge")
    if OLD:
        given = {"method": method, "density": (5.0, 5.0), "slab": (5.0, 5.0), **options}
    else:
        from bayesmrf.methods import EDGES
        from bayesmrf.priors import Beta, Gamma, SpikeSlab

        given = {"method": EDGES.build(method, options), "prior": SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0))}
    return lambda: SpikeSlabMRF(**given, n_draws=n_draws, n_warmup=n_warmup, **QUIET)


def groups(graph: Any, method: str, fields: bool = False, **numbers: int) -> Callable[[], Any]:
    """Group edges of a given graph."""
    return lambda: GroupedMRF(graph, method=method, fields=fields, **numbers, **QUIET)


def parameters(graph: Any, kernel: str, **options: Any) -> Callable[[], Any]:
    """Draw parameters of a given graph by a kernel."""
    return lambda: BayesianMRF(graph, kernel=kernel, **options, **QUIET)


def comparison(method: str, **numbers: int) -> Callable[[], Any]:
    """Compare the networks of two groups of people, which differ in nothing."""
    return lambda: CompareMRF(method=named(method, "particle"), **numbers, **QUIET)


def levels(model: str, method: str, **numbers: int) -> Callable[[], Any]:
    """Learn which edges exist between answers with several levels, with the default prior."""
    return lambda: SpikeSlabMRF(model=model, method=named(method, "particle"), **numbers, **QUIET)


# Data (nodes and edges from which they are drawn), and what is fitted. Answers of several levels are sums of
# columns.
BLOCK, GRID, TREE, WIDE = graphs.complete(12), graphs.grid(4, 4), graphs.binary_tree(12), graphs.grid(4, 5)
LONG = {"n_draws": 300, "n_warmup": 150}
ADDED = {
    "ordered-exact": 2,
    "ordered": 2,
    "ordered-17": 4,
    "compare-ordered": 3,
    "potts-20": 3,
}  # columns that are added up
WORKLOADS = {
    "edges-exact": (BLOCK, edges("exact", 4000)),
    "edges-reversible-jump": (BLOCK, edges("reversible-jump", 500, 100, n_iterations=20)),
    "edges-langevin": (BLOCK, edges("langevin", 200)),
    "groups-tree": (TREE, groups(TREE, "tree", n_draws=200, n_warmup=0)),
    "groups-exact": (GRID, groups(GRID, "exact", n_draws=500, n_warmup=0)),
    "groups-exact-fields": (GRID, groups(GRID, "exact", fields=True, n_draws=500, n_warmup=0)),
    "groups-particle": (GRID, groups(GRID, "particle", n_draws=200, n_warmup=0)),
    "groups-stripped-beta": (GRID, groups(GRID, "stripped-beta", n_draws=100, n_warmup=0)),
    "ordered-exact": (BLOCK, levels("ordinal", "exact", n_draws=1000, n_warmup=0)),
    "ordered": (WIDE, levels("ordinal", "reversible-jump", n_draws=100, n_warmup=20)),
    "ordered-17": (graphs.grid(4, 17), levels("ordinal", "reversible-jump", **LONG)),  # of five levels
    "potts-20": (graphs.grid(3, 20), levels("potts", "reversible-jump", **LONG)),  # of four levels
    "compare-exact": (BLOCK, comparison("exact", n_draws=100, n_warmup=0)),
    "compare": (BLOCK, comparison("reversible-jump", n_draws=40, n_warmup=10)),
    "compare-24": (graphs.grid(4, 6), comparison("reversible-jump", **LONG)),
    "compare-ordered": (graphs.grid(3, 10), comparison("reversible-jump", **LONG)),  # ten columns of four levels
    "metropolis": (GRID, parameters(GRID, "metropolis", n_draws=500, n_warmup=100)),
}


def data(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw states of a workload's graph: exactly, with two thirds of the weights zero on a complete one."""
    from bayesmrf.inference.elimination.engine import Elimination
    from bayesmrf.models.ising import Ising

    graph = WORKLOADS[name][0]
    sparse = rng.random(graph.n_edges) < (0.33 if graph is BLOCK else 1)
    theta = np.concatenate([rng.normal(0, 0.5, graph.n_edges) * sparse, rng.normal(0, 0.1, graph.n_nodes)])
    model, engine = Ising(graph), Elimination()
    states = engine.sample(model, theta, engine.prepare(model), n, rng)
    n_added = ADDED.get(name, 1)
    return states.reshape(n, n_added, -1).sum(axis=1) if n_added > 1 else states


def one(name: str, path: Path) -> None:
    """Print, as JSON, the least processor time of a fit, the peak of memory, and effective draws per second."""
    warnings.simplefilter("ignore")
    states = np.load(path)
    make = WORKLOADS[name][1]
    given = (np.arange(len(states)) % 2,) if name.startswith("compare") else ()
    spent = []
    for _ in range(1 + FITS):
        estimator = make()
        begin = time.process_time()
        estimator.fit(states, *given)
        spent.append(time.process_time() - begin)
    found = estimator.posterior_["posterior"]
    effective = (
        doubt(found["included"].values.astype(float))
        if not name.startswith("groups") and "included" in found
        else float("nan")
    )
    print(json.dumps({"seconds": min(spent[1:]), "peak": peak(), "rate": effective / min(spent[1:])}))


def doubt(included: np.ndarray) -> float:
    """Return the effective sample size of the median edge among those of which some draws have and some have not."""
    share = included.mean(axis=(0, 1))
    some = np.flatnonzero((share > 0.05) & (share < 0.95))
    return float(np.median([array_stats.ess(included[:, :, e], method="mean") for e in some]))


def child(root: Path, name: str, path: Path) -> dict[str, float]:
    """Measure one workload with the version in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--one", name, "--states", str(path)]
    return dict(json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    args = arguments(__doc__, WORKLOADS, turns=3, seed=0, against="HEAD", states="")
    if args.one:
        return one(args.one, Path(args.states))
    print(machine())
    here = Path(__file__).parents[1]
    rows = [("workload", "before, s", "now, s", "now / before (error)", "effective draws per second", "peak")]
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder)
        archive = subprocess.run(["git", "archive", args.against, "src"], cwd=here, check=True, capture_output=True)
        subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
        for name in args.names:
            np.save(path := other / "states.npy", data(name, 1000, np.random.default_rng(args.seed)))
            found = [[child(root, name, path) for root in (other, here)] for _ in range(args.turns)]
            before, now = (min(turn[i]["seconds"] for turn in found) for i in (0, 1))
            ratios = {key: [turn[1][key] / turn[0][key] for turn in found] for key in ("seconds", "rate", "peak")}
            ratio, rate, memory = (float(np.median(values)) for values in ratios.values())
            # The error of a median is 1.25 times that of a mean, for ratios that are about normal.
            error = 1.25 * float(np.std(ratios["seconds"], ddof=1)) / len(found) ** 0.5 if len(found) > 1 else np.nan
            told = f"{ratio:.3f} ({error:.3f})"
            rows.append((name, f"{before:.2f}", f"{now:.2f}", told, f"{rate:.2f}", f"{memory:.2f}"))
            print(*rows[-1], flush=True)
    print(table(*rows))


if __name__ == "__main__":
    main()
