"""Check what other packages compute on the cases: log Z, marginals and free energies at the stored parameters.

``python reference/peers.py`` prints a table; packages that are not installed are left out. It needs
pip install pgmpy dimod dwave-samplers pyagrum pygms psyspin scikit-learn
"""

from __future__ import annotations

import importlib.metadata
import itertools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "make")]
import energies  # noqa: E402  (formulas of the models)
import load  # noqa: E402

PAIRWISE = {"boltzmann", "ising", "ordinal", "blume-capel", "nominal", "potts", "agreement"}


class Factors:
    """A pairwise case as factors of nodes and pairs, which are 0 where an end has its first category."""

    def __init__(self, case: load.Case):
        self.nodes, self.levels = case.data["nodes"], case.data["levels"]
        model = {**case.posterior["model"], "levels": self.levels}
        values = {k: np.array([v]) for k, v in case.results["point"]["parameters"].items()}
        energy = energies.ENERGIES[model["family"]]

        def at(**x: int) -> float:
            state = {name: x.get(name, 0) for name in self.nodes}
            return float(np.ravel(energy(state, values, model))[0])

        self.constant = at()
        self.node = {i: np.array([at(**{i: k}) for k in range(m)]) - self.constant
                     for i, m in zip(self.nodes, self.levels, strict=True)}  # fmt: skip
        self.pair = {}
        for a, b in itertools.combinations(self.nodes, 2):
            table = np.array([[at(**{a: j, b: k}) for k in range(len(self.node[b]))] for j in range(len(self.node[a]))])
            self.pair[a, b] = table - self.constant - self.node[a][:, None] - self.node[b]


def by_pgmpy(f: Factors) -> tuple[float, dict]:
    """Return log Z by belief propagation on a junction tree, and marginals by variable elimination."""
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagation, VariableElimination
    from pgmpy.models import DiscreteMarkovNetwork

    network = DiscreteMarkovNetwork()
    network.add_nodes_from(f.nodes)
    network.add_edges_from(f.pair)
    network.add_factors(*(DiscreteFactor([i], [len(t)], np.exp(t)) for i, t in f.node.items()))
    network.add_factors(*(DiscreteFactor(list(e), t.shape, np.exp(t)) for e, t in f.pair.items()))
    elimination = VariableElimination(network)
    tables = {i: elimination.query([i], show_progress=False).values for i in f.nodes}
    marginals = {i: p / p.sum() for i, p in tables.items()}  # those of a Markov network are not normalized
    tree = BeliefPropagation(network)
    tree.calibrate()
    clique = next(iter(tree.get_clique_beliefs().values()))
    return f.constant + float(np.log(clique.values.sum())), marginals


def by_agrum(f: Factors) -> tuple[float, dict]:
    """Return marginals by Shafer-Shenoy propagation; there is no log Z."""
    import pyagrum as gum

    field = gum.MarkovRandomField()
    for i, t in f.node.items():
        field.add(gum.LabelizedVariable(i, i, len(t)))
    for i, t in f.node.items():
        field.addFactor([i])[:] = np.exp(t)
    for (a, b), t in f.pair.items():
        factor = field.addFactor([a, b])
        for j, k in np.ndindex(t.shape):
            factor[{a: j, b: k}] = float(np.exp(t[j, k]))
    inference = gum.ShaferShenoyMRFInference(field)
    inference.makeInference()
    return np.nan, {i: inference.posterior(i).toarray() for i in f.nodes}


def by_pygms(f: Factors) -> tuple[float, dict]:
    """Return log Z and marginals by elimination of all other variables."""
    import pygms as gm

    variables = {i: gm.Var(k, len(f.node[i])) for k, i in enumerate(f.nodes)}
    factors = [gm.Factor([variables[i]], np.exp(t)) for i, t in f.node.items()]
    factors += [gm.Factor([variables[a], variables[b]], np.exp(t)) for (a, b), t in f.pair.items()]
    joint = factors[0]
    for factor in factors[1:]:
        joint = joint * factor
    marginals = {i: np.array(joint.marginal([variables[i]]).table) for i in f.nodes}
    total = float(joint.sum())
    return f.constant + np.log(total), {i: p / total for i, p in marginals.items()}


def by_dwave(f: Factors) -> tuple[float, dict]:
    """Return log Z and marginals of yes/no nodes by tree decomposition."""
    import dimod
    from dwave.samplers import TreeDecompositionSampler

    linear = {i: -float(t[1]) for i, t in f.node.items()}
    model = dimod.BinaryQuadraticModel(linear, {e: -float(t[1, 1]) for e, t in f.pair.items()}, 0.0, "BINARY")
    info = TreeDecompositionSampler().sample(model, beta=1.0, marginals=True).info
    chance = info["variable_marginals"]
    return f.constant + info["log_partition_function"], {i: np.array([1 - chance[i], chance[i]]) for i in f.nodes}


def by_dimod(f: Factors) -> tuple[float, dict]:
    """Return log Z and marginals of yes/no nodes from the energies of all states."""
    import dimod

    linear = {i: -float(t[1]) for i, t in f.node.items()}
    model = dimod.BinaryQuadraticModel(linear, {e: -float(t[1, 1]) for e, t in f.pair.items()}, 0.0, "BINARY")
    states = dimod.ExactSolver().sample(model)
    log_w = -states.record.energy
    log_z = float(np.logaddexp.reduce(log_w))
    yes = np.exp(log_w - log_z) @ states.record.sample
    order = [states.variables.index(i) for i in f.nodes]
    return f.constant + log_z, {i: np.array([1 - yes[k], yes[k]]) for i, k in zip(f.nodes, order, strict=True)}


def by_psyspin(f: Factors) -> tuple[float, dict]:
    """Return marginals of yes/no nodes from 20,000 Gibbs sweeps over {-1/2, +1/2}; there is no log Z."""
    from psyspin import mcmc_ising

    d = len(f.nodes)
    couplings, fields = np.zeros((d, d)), np.array([f.node[i][1] for i in f.nodes])
    for (a, b), t in f.pair.items():
        j, k = f.nodes.index(a), f.nodes.index(b)
        couplings[j, k] = couplings[k, j] = t[1, 1]
        fields[[j, k]] += t[1, 1] / 2
    np.random.seed(1)  # noqa: NPY002  (the package draws from the global generator)
    chain = mcmc_ising(couplings, fields, 2)
    chain.thermalize(1.0, 1.0, 200, iicc="random", verbose=False)
    is_yes = {i: lambda s, k=k: float(s[k] > 0) for k, i in enumerate(f.nodes)}
    values, _ = chain.sample(1.0, 20_000, list(is_yes.values()), list(is_yes), verbose=False)
    yes = {i: float(np.mean(values[i])) for i in f.nodes}
    return np.nan, {i: np.array([1 - p, p]) for i, p in yes.items()}


def by_sklearn(case: load.Case) -> tuple[float, dict]:
    """Return log Z and marginals of a restricted Boltzmann machine from free energies of all visible states."""
    from sklearn.neural_network import BernoulliRBM

    nodes, n_hidden = case.data["nodes"], case.posterior["model"]["n_hidden"]
    t = case.results["point"]["parameters"]
    machine = BernoulliRBM(n_components=n_hidden)
    hidden = [f"h{k + 1}" for k in range(n_hidden)]
    machine.components_ = np.array([[t[f"{h}-{i}"] for i in nodes] for h in hidden])
    machine.intercept_hidden_ = np.array([t[h] for h in hidden])
    machine.intercept_visible_ = np.array([t[i] for i in nodes])
    states = np.array(list(itertools.product((0.0, 1.0), repeat=len(nodes))))
    log_w = -machine._free_energy(states)
    log_z = float(np.logaddexp.reduce(log_w))
    yes = np.exp(log_w - log_z) @ states
    return log_z, {i: np.array([1 - p, p]) for i, p in zip(nodes, yes, strict=True)}


PEERS: list[tuple[str, Callable, Callable]] = [
    ("pgmpy", by_pgmpy, lambda family, _: family in PAIRWISE),
    ("pyagrum", by_agrum, lambda family, _: family in PAIRWISE),
    ("pygms", by_pygms, lambda family, _: family in PAIRWISE),
    ("dwave-samplers", by_dwave, lambda family, levels: family in PAIRWISE and max(levels) == 2),
    ("dimod", by_dimod, lambda family, levels: family in PAIRWISE and max(levels) == 2),
    ("psyspin", by_psyspin, lambda family, levels: family in PAIRWISE and max(levels) == 2),
    ("scikit-learn", by_sklearn, lambda family, _: family == "rbm"),
]


def main() -> None:
    """Print one row for each package: cases, and the largest differences from exact values."""
    warnings.simplefilter("ignore")
    print("| package | version | cases | log Z: largest difference | marginals: largest difference |")
    print("| --- | --- | ---: | ---: | ---: |")
    for package, function, takes in PEERS:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        away, apart = [], []
        for name in load.names():
            case = load.case(name)
            family = case.posterior["model"]["family"]
            if not takes(family, case.data["levels"]):
                continue
            point = case.results["point"]
            log_z, marginals = function(case if family == "rbm" else Factors(case))
            away.append(abs(log_z - point["log_z"][0]))
            apart.append(max(np.abs(marginals[i] - p).max() for i, p in point["marginals"].items()))
        log_z = "none" if np.isnan(away).all() else f"{max(away):.1g}"
        print(f"| {package} | {version} | {len(apart)} | {log_z} | {max(apart):.1g} |", flush=True)


if __name__ == "__main__":
    main()
