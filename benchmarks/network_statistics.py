"""Statistics of networks: all tables of a run with 17 nodes and 4,000 draws, against loops of networkx; 100 nodes.

Run ``python benchmarks/network_statistics.py [tables] [large] [--seed N]``. The loop makes a graph of each draw and
calls networkx for strength, closeness, betweenness, clustering and paths; it is timed on 200 draws. It has no
predictability.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import networkx as nx
import numpy as np
from timing import arguments, clock, duration, machine, table

from bayesmrf import SpikeSlabMRF, graphs, results
from bayesmrf.answers.registry import names_of
from bayesmrf.models import Boltzmann
from bayesmrf.results.statistics import OF_NETWORKS, OF_NODES, NetworkStatistics
from bayesmrf.runs.run import Draws

_LOOP = 200  # draws of the loop


def by_networkx(weights: np.ndarray, edges: np.ndarray, n_nodes: int) -> None:
    """Compute the statistics of a draw."""
    g = nx.Graph()
    g.add_nodes_from(range(n_nodes))
    there = np.flatnonzero(weights)
    g.add_edges_from((*edges[e].tolist(), {"weight": weights[e], "length": 1 / abs(weights[e])}) for e in there)
    dict(g.degree(weight="weight"))
    nx.harmonic_centrality(g, distance="length")
    nx.betweenness_centrality(g, weight="length")
    nx.transitivity(g)
    largest = g.subgraph(max(nx.connected_components(g), key=len))
    if len(largest) > 1:
        nx.average_shortest_path_length(largest, weight="length")
        nx.average_shortest_path_length(largest)
        nx.transitivity(largest)


def compare(tree: object, fitted: object, d: int, whole: Callable[[], object], what: str) -> None:
    """Print times of all statistics by name, of ``whole``, and of the loop."""
    edges = np.asarray(tree["constant_data"]["edges"])
    theta = np.asarray(tree["posterior"]["theta"])[..., : len(edges)].reshape(-1, len(edges))
    some = theta[:: max(1, len(theta) // _LOOP)][:_LOOP]
    loop, times = clock(lambda: [by_networkx(w, edges, d) for w in some]), len(theta) / len(some)
    wall, cpu = duration(times * loop.wall), duration(times * loop.cpu)
    rows = [("", "wall", "CPU", "CPU / loop"), (f"loop of networkx, {len(theta):,} draws", wall, cpu, "")]
    by_paths = [name for name in (*OF_NODES, *OF_NETWORKS) if "bridge" not in name]
    by_paths = [n for n in by_paths if n not in ("predictability", "correct classification", "base rate")]
    for name, call in {
        "the same statistics, all draws": lambda: NetworkStatistics(tree, n_draws=len(theta)).table(by_paths),
        "predictability, 100 draws at most": lambda: NetworkStatistics(tree, fitted=fitted).table(["predictability"]),
        what: whole,
    }.items():
        took = clock(call)
        rows.append((name, duration(took.wall), duration(took.cpu), f"{took.cpu / loop.cpu / times:.3f}"))
    print(table(*rows))


def tables(seed: int) -> None:
    """Time all tables of a run with 17 nodes and 4,000 draws."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 17))
    X = (common + rng.normal(size=(400, 17)) > 0).astype(int)
    est = SpikeSlabMRF(n_draws=2000, n_warmup=200, n_chains=2, random_state=seed, progress=False).fit(X)
    NetworkStatistics(est.posterior_, n_draws=2).table()  # compilation
    fitted = est._result.graph, est._result.model_on
    compare(est.posterior_, fitted, 17, lambda: [est.table(name) for name in names_of(est)], "all tables of the run")


def large(seed: int) -> None:
    """Time a network of 100 nodes, with about 200 edges in each of 4,000 draws."""
    rng, model = np.random.default_rng(seed), Boltzmann(graphs.complete(100))
    r, shape = model.n_edges, (2, 2000)
    often = np.where(rng.random(r) < 0.05, 0.8, 0.003)
    theta = np.zeros((*shape, model.n_features))
    theta[..., :r] = rng.normal(0.5, 0.5, (*shape, r)) * (rng.random((*shape, r)) < often)
    draws = Draws({"theta": theta}, {"theta": ("feature",)}, "made up", 0, 1, (0, 1), True, 0.0, {"entropy": seed})
    observed = {"statistics": np.zeros(model.n_features), "n_samples": 1.0}
    tree = results.to_datatree(draws, model, attrs={"model": "boltzmann"}, observed=observed)
    fitted = model.graph, Boltzmann
    compare(tree, fitted, 100, NetworkStatistics(tree, fitted=fitted).table, "all statistics, as tables have them")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parts = {"tables": tables, "large": large}
    given = arguments(__doc__, parts, seed=0)
    print(machine())
    for name in given.names:
        print(f"\n{parts[name].__doc__}\n")
        parts[name](given.seed)
