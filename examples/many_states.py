"""Edges of nodes with three states, estimated with and without groups: a table of papers/liu_page_2013.

    python examples/many_states.py [DATA_SETS] [DRAWS] [SIDE]

A SIDE x SIDE grid whose edges belong to three groups at random; the value of each group is drawn from the base: an
agreement from Unif(0, 1) (potts), or a table of log potentials from N(0, 1/4), and fields from N(0, 1/4) (symmetric).
The truths are the same for all n, with new data for each n. Errors are mean absolute errors over the edges: of
agreements, or of the entries of tables. The estimate that ignores groups is the maximum likelihood estimate, or
(tables) the mode of the posterior with the same base. VI difference: distance of random partitions from the truth minus
that of the draws, in nats.
"""

import sys
import warnings
from typing import Any

import numpy as np

from bayesmrf import GroupedMRF, graphs, partitions
from bayesmrf.engines import Elimination
from bayesmrf.errors import BayesMRFWarning
from bayesmrf.models import Potts, Symmetric
from bayesmrf.priors import DirichletProcess, Normal

ENGINE, SIZES, N_GROUPS, SCALE = Elimination(), (100, 300, 1000), 3, 0.5


def away(truth: np.ndarray, groupings: np.ndarray) -> float:
    """Return the mean variation of information from the truth."""
    return float(np.mean([partitions.variation_of_information(truth, g) for g in groupings]))


def new_truth(name: str, side: int, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a model, the groups of its edges, and theta."""
    graph = graphs.grid(side, side)
    model = Potts(graph, 3, fields=False) if name == "potts" else Symmetric(graph, 3, fields=True)
    groups, n_fields = rng.integers(0, N_GROUPS, graph.n_edges), model.n_features - graph.n_edges * model.n_parameters
    values = rng.logistic(size=(N_GROUPS, 1)) if name == "potts" else rng.normal(0, SCALE, (N_GROUPS, 3))
    return model, groups, np.append(values[groups].ravel(), rng.normal(0, 0.5, n_fields))


def one(truth: tuple[Any, np.ndarray, np.ndarray], n: int, n_draws: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Return errors without and with groups, mean number of groups, VI difference."""
    model, groups, theta = truth
    r = model.n_edges * model.n_parameters
    states = ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng)
    est = GroupedMRF(
        model.graph,
        model=model.name,
        prior=DirichletProcess(base=Normal(SCALE)) if model.name == "symmetric" else DirichletProcess(),
        fields=model.fields,
        n_draws=n_draws,
        n_warmup=n_draws // 5,
        n_chains=1,
        random_state=rng,
        progress=False,
    ).fit(states)
    posterior = est.posterior_["posterior"]
    if model.name == "potts":
        right = 1 / (1 + np.exp(-theta))
        errors = [np.abs(found - right).mean() for found in (est.mle_, est.agreement_)]
    else:
        blind = est.posterior_["constant_data"]["mle"].values
        errors = [np.abs(found - theta)[:r].mean() for found in (blind, est.theta_)]
    draws = posterior["groups"].values[0]
    random = np.array([rng.permutation(g) for g in draws])
    return *errors, float(posterior["n_groups"].mean()), away(groups, random) - away(groups, draws)


def table_of(name: str, n_data_sets: int, n_draws: int, side: int) -> None:
    """Print the rows of one model."""
    rng = np.random.default_rng()
    truths = [new_truth(name, side, rng) for _ in range(n_data_sets)]
    for n in SIZES:
        found = np.array([one(truth, n, n_draws, rng) for truth in truths])
        blind, grouped, number, vi = found.mean(axis=0)
        cells = f"{blind:.4f} | {grouped:.4f} | {grouped / blind:.2f} | {number:.1f} | {vi:.2f}"
        print(f"| {name} | {n} | {cells} |", flush=True)


def main(n_data_sets: int = 5, n_draws: int = 300, side: int = 6) -> None:
    warnings.simplefilter("ignore", BayesMRFWarning)
    print("| model | n | error: no groups | error: groups | ratio | groups | VI difference |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in ("potts", "symmetric"):
        table_of(name, n_data_sets, n_draws, side)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
