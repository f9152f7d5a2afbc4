"""Speed of posteriors of parameters, and of their engines.

Run ``python benchmarks/posterior.py [NAME ...]`` with names among:

* ``coronary``: 100,000 sweeps of exact Metropolis on the six risk factors, 21 proposals per sweep (target 30 s).
* ``loopy``: 100,000 Metropolis proposals with Bethe on a random graph of 100 nodes and 204 edges (target 3 min).
* ``brief``: 100,000 Langevin steps with 100 brief chains on 100 nodes and 500 edges (target 60 s).
* ``kernels``: effective samples per second of every kernel and engine on the six risk factors.
* ``auto``: effective samples per second of the kernels among which "auto" chooses, on the six risk factors,
  questionnaires, a lattice and a random graph; and a questionnaire at default settings (target: 1,000 effective samples
  of every parameter in 3 s).
* ``pgmpy``: elimination compared with pgmpy's junction tree, and Bethe with its message passing on a tree (extra
  ``bayesmrf[benchmark]``), with the differences of their results.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np
from timing import arguments, clock, duration, machine, table, turns

from bayesmrf import datasets, graphs
from bayesmrf.engines import Bethe, Elimination, Gibbs
from bayesmrf.estimators import BayesianMRF
from bayesmrf.graphs import Graph
from bayesmrf.methods import KERNELS, Langevin, Metropolis
from bayesmrf.models import Boltzmann, Ising
from bayesmrf.results import diagnostics

ONE_CHAIN = {"n_chains": 1, "n_warmup": 0, "progress": False, "n_jobs": 1}


def random_graph(n_edges: int, rng: np.random.Generator) -> Graph:
    """Draw a uniformly random graph of 100 nodes (Murray and Ghahramani 2004, section 6.1)."""
    pairs = np.stack(np.triu_indices(100, 1), axis=1)
    return Graph(100, pairs[np.sort(rng.choice(len(pairs), n_edges, replace=False))])


def data(graph: Graph, rng: np.random.Generator) -> np.ndarray:
    """Draw 100 states of a Boltzmann machine with unit normal parameters, after 2,000 Gibbs sweeps."""
    model = Boltzmann(graph)
    return Gibbs(n_sweeps=2000).sample(model, rng.normal(size=model.n_features), None, 100, rng)


def timed(estimator: BayesianMRF, X: np.ndarray, weights: object = None) -> float:
    begin = time.perf_counter()
    estimator.fit(X, sample_weight=weights)
    return time.perf_counter() - begin


def coronary(rng: np.random.Generator) -> None:
    X, counts = _coronary()
    timed(BayesianMRF(kernel=Metropolis(0.1), n_draws=10, **ONE_CHAIN), X, counts)
    wall = timed(BayesianMRF(kernel=Metropolis(0.1), n_draws=100_000, **ONE_CHAIN), X, counts)
    print(f"coronary: 100,000 sweeps of 21 proposals, exact Metropolis: {duration(wall)} (target 30 s)")


def loopy(rng: np.random.Generator) -> None:
    graph = random_graph(204, rng)
    X, sweeps = data(graph, rng), -(-100_000 // 304)
    options = ONE_CHAIN | {"graph": graph.edges, "engine": "bethe", "kernel": Metropolis(0.1)}
    timed(BayesianMRF(n_draws=1, **options), X)
    wall = timed(BayesianMRF(n_draws=sweeps, **options), X)
    print(f"loopy: {304 * sweeps:,} proposals, Bethe, 204 edges: {duration(wall)} (target 180 s)")


def brief(rng: np.random.Generator) -> None:
    graph = random_graph(500, rng)
    X = data(graph, rng)
    options = ONE_CHAIN | {"graph": graph.edges, "kernel": Langevin(0.01), "engine": "brief", "thin": 100}
    timed(BayesianMRF(n_draws=1, **options), X)
    wall = timed(BayesianMRF(n_draws=1000, **options), X)
    print(f"brief: 100,000 Langevin steps, 100 brief chains, 500 edges: {duration(wall)} (target 60 s)")


CASES: list[tuple[str, str, dict[str, object], int]] = [
    ("metropolis, steps of 0.1", "exact", {"step_size": 0.1}, 20_000),
    ("metropolis", "exact", {}, 5000),
    ("langevin, adjusted, preconditioned", "exact", {"adjusted": True, "precondition": True, "epsilon": 0.5}, 10_000),
    ("langevin, preconditioned", "exact", {"precondition": True, "epsilon": 0.3}, 10_000),
    ("exchange", "exact", {"step_size": 0.1}, 500),
    ("auxiliary-variable", "exact", {"step_size": 0.05}, 500),
    ("metropolis", "bethe", {"step_size": 0.1}, 2000),
    ("metropolis", "tree", {"step_size": 0.1}, 1000),
    ("metropolis", "mean-field", {"step_size": 0.1}, 2000),
    ("langevin, preconditioned", "brief", {"precondition": True, "epsilon": 0.3}, 5000),
    ("langevin, preconditioned", "persistent", {"precondition": True, "epsilon": 0.3}, 5000),
    ("langevin, preconditioned", "bethe", {"precondition": True, "epsilon": 0.3}, 5000),
    ("pseudo-posterior", "auto", {}, 10_000),
    ("langevin, adjusted", "exact", {"adjusted": True}, 10_000),
]


def kernels(rng: np.random.Generator) -> None:
    X, counts = _coronary()
    rows = [("kernel", "engine", "steps", "time", "ESS/s, median", "ESS/s, least")]
    for kernel, engine, options, n in CASES:
        chosen = {"kernel": KERNELS.build(kernel.split(",")[0], options), "engine": engine} | ONE_CHAIN
        timed(BayesianMRF(n_draws=4, **chosen), X, counts)
        estimator = BayesianMRF(**chosen | {"n_draws": n, "n_warmup": n // 10})
        wall = timed(estimator, X, counts)
        ess = diagnostics(estimator.posterior_, n_worst=21)["ess_bulk"] / wall
        rows.append((kernel, engine, f"{n:,}", duration(wall), f"{ess.median():.3g}", f"{ess.min():.2g}"))
    print("Effective samples a second, six risk factors, 1,841 men, one chain")
    print(table(*rows))


def questionnaire(n_items: int, n_people: int, rng: np.random.Generator) -> np.ndarray:
    """Draw answers that one trait explains: items are correlated by about 0.25."""
    trait, difficulty = rng.standard_normal((n_people, 1)), rng.normal(0, 0.7, n_items)
    return rng.random((n_people, n_items)) < 1 / (1 + np.exp(-1.2 * trait - difficulty))


def lattice(rng: np.random.Generator) -> tuple[Graph, np.ndarray]:
    """Draw 1,000 states of a 10x10 lattice with normal parameters, exactly."""
    graph, engine = graphs.grid(10, 10), Elimination()
    model = Boltzmann(graph)
    return graph, engine.sample(model, rng.normal(0, 0.7, model.n_features), engine.prepare(model), 1000, rng)


def auto(rng: np.random.Generator) -> None:
    X, counts = _coronary()
    items = questionnaire(10, 215, rng)
    grid, on_grid = lattice(rng)
    loops = random_graph(204, rng)
    cases = [  # draws by gibbs, hamiltonian and metropolis
        ("coronary, 6 nodes", X, counts, {}, (4000, 1000, 1000)),
        ("10 items, 215 rows", items, None, {}, (2000, 500, 200)),
        ("14 items, 400 rows", questionnaire(14, 400, rng), None, {}, (1000, 200, 60)),
        ("10x10 lattice, 1,000 rows", on_grid, None, {"graph": grid.edges}, (0, 200, 60)),
        ("the same, bethe", on_grid, None, {"graph": grid.edges, "engine": "bethe"}, (0, 200, 60)),
        ("204 edges, bethe", data(loops, rng), None, {"graph": loops.edges, "engine": "bethe"}, (0, 200, 60)),
    ]
    rows = [("workload", "kernel", "draws", "time", "ESS/s, median", "ESS/s, least", "auto")]
    for name, X, weights, options, sizes in cases:
        common = ONE_CHAIN | options
        choice = BayesianMRF(n_draws=1, **common).fit(X, sample_weight=weights).kernel_
        for kernel, n in zip(("gibbs", "hamiltonian", "metropolis"), sizes, strict=True):
            if n == 0:
                continue
            timed(BayesianMRF(kernel=kernel, n_draws=1, **common), X, weights)
            estimator = BayesianMRF(**common | {"kernel": kernel, "n_draws": n, "n_warmup": max(n // 2, 100)})
            wall = timed(estimator, X, weights)
            ess = diagnostics(estimator.posterior_, n_worst=1000)["ess_bulk"] / wall
            median, least = (f"{x:,.0f}" if x >= 10 else f"{x:.2g}" for x in (ess.median(), ess.min()))
            rows.append((name, kernel, f"{n:,}", duration(wall), median, least, "*" if kernel == choice else ""))
    print("Effective samples a second, one chain, warm-up included")
    print(table(*rows))
    fit = BayesianMRF(progress=False)
    wall = timed(fit, items)
    least = diagnostics(fit.posterior_, n_worst=1000)["ess_bulk"].min()
    print(f"10 items, 215 rows, default settings: {duration(wall)} (target 3 s), least ESS {least:,.0f} (target 1,000)")


def pgmpy(rng: np.random.Generator) -> None:
    rows = [("graph", "", "bayesmrf", "pgmpy", "pgmpy / bayesmrf", "largest difference")]
    for name, graph in {
        "complete, 6": graphs.complete(6),
        "4x4 grid": graphs.grid(4, 4),
    }.items():
        rows.append((name, "elimination, all moments", *beside_junction_tree(Ising(graph), rng)))
    for n_levels in (4, 6):
        graph = graphs.binary_tree(n_levels)
        rows.append((f"tree, {graph.n_nodes} nodes", "Bethe, means of nodes", *beside_messages(Ising(graph), rng)))
    print(table(*rows))


def beside_junction_tree(model: Ising, rng: np.random.Generator) -> tuple[str, ...]:
    from pgmpy.inference import BeliefPropagation

    engine, plan = Elimination(), Elimination().prepare(model)
    theta = rng.normal(size=model.n_features)
    network = _markov_network(model, theta)

    def theirs() -> np.ndarray:
        propagation = BeliefPropagation(network)
        propagation.calibrate()
        return _moments(propagation, model)

    return _beside(lambda: engine.infer(model, theta, plan).moments, theirs, rng)


def beside_messages(model: Ising, rng: np.random.Generator) -> tuple[str, ...]:
    from pgmpy.inference.ExactInference import BeliefPropagationWithMessagePassing
    from pgmpy.models import FactorGraph

    engine, plan = Bethe(), Bethe().prepare(model)
    theta = rng.normal(size=model.n_features)
    network, factors = FactorGraph(), _markov_network(model, theta).get_factors()
    network.add_nodes_from(str(i) for i in range(model.graph.n_nodes))
    network.add_factors(*factors)
    network.add_nodes_from(factors)
    network.add_edges_from((node, factor) for factor in factors for node in factor.variables)
    propagation = BeliefPropagationWithMessagePassing(network)
    nodes = [str(i) for i in range(model.graph.n_nodes)]

    def theirs() -> np.ndarray:
        found = propagation.query(nodes)
        return np.array([found[i].values[1] - found[i].values[0] for i in nodes])

    return _beside(lambda: engine.infer(model, theta, plan).moments[model.n_edges :], theirs, rng)


def _beside(
    ours: Callable[[], np.ndarray], theirs: Callable[[], np.ndarray], rng: np.random.Generator
) -> tuple[str, ...]:
    found = turns({"ours": ours, "theirs": theirs}, 3, rng)
    difference = np.abs(ours() - theirs()).max()
    a, b = found["ours"].cpu, found["theirs"].cpu
    return duration(a), duration(b), f"{b / a:,.0f}", f"{difference:.1g}"


def _markov_network(model: Ising, theta: np.ndarray):
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.models import DiscreteMarkovNetwork

    network = DiscreteMarkovNetwork()
    network.add_nodes_from(map(str, range(model.graph.n_nodes)))
    network.add_edges_from((str(u), str(v)) for u, v in model.graph.edges)
    for (u, v), j in zip(model.graph.edges, theta, strict=False):
        network.add_factors(DiscreteFactor([str(u), str(v)], [2, 2], np.exp([j, -j, -j, j])))
    for i, h in enumerate(theta[model.n_edges :]):
        network.add_factors(DiscreteFactor([str(i)], [2], np.exp([-h, h])))
    return network


def _moments(propagation, model: Ising) -> np.ndarray:
    """Return E[x_u x_v] and E[x_u] from calibrated cliques."""
    beliefs = {frozenset(c): b for c, b in propagation.get_clique_beliefs().items()}

    def marginal(*nodes: str) -> np.ndarray:
        clique = next(c for c in beliefs if c.issuperset(nodes))
        factor = beliefs[clique].marginalize(sorted(clique.difference(nodes)), inplace=False)
        return factor.normalize(inplace=False).values

    pairs = [marginal(str(u), str(v)) for u, v in model.graph.edges]
    nodes = [marginal(str(i)) for i in range(model.graph.n_nodes)]
    return np.array([p[0, 0] + p[1, 1] - p[0, 1] - p[1, 0] for p in pairs] + [p[1] - p[0] for p in nodes])


def _coronary():
    risk = datasets.coronary()
    return risk.iloc[:, :6], risk["count"]


PARTS: dict[str, Callable[[np.random.Generator], None]] = {
    "coronary": coronary,
    "loopy": loopy,
    "brief": brief,
    "kernels": kernels,
    "auto": auto,
    "pgmpy": pgmpy,
}


def main() -> None:
    args = arguments(__doc__, PARTS)
    print(machine())
    rng = np.random.default_rng()
    for name in args.names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            took = clock(lambda part=PARTS[name]: part(rng))
        print(f"[{name}: {duration(took.wall)} in all]\n", flush=True)


if __name__ == "__main__":
    main()
