"""Groups of edges where nodes have three states, against estimates blind to groups: a table of papers/liu_page_2013.

    python examples/many_states.py [DATA_SETS] [DRAWS] [SIDE]

A SIDE x SIDE grid whose edges belong to three groups at random; the value of each group is drawn from the base: an
agreement from Unif(0, 1) (potts), or a table of log potentials from N(0, 1) beside fields from N(0, 1/4) (symmetric).
Errors are mean absolute ones over the edges: of agreements, or of the entries of tables. Blind to groups is the maximum
likelihood estimate, or (tables) the mode of the posterior with the same base. VI difference: that of random groupings
from the truth less that of the draws, in nats.
"""

import sys
import warnings

import numpy as np

from bayesmrf import GroupedMRF, graphs, partitions
from bayesmrf.errors import BayesMRFWarning
from bayesmrf.inference.elimination import Elimination
from bayesmrf.models.potts import Potts
from bayesmrf.models.symmetric import Symmetric

ENGINE, SIZES, N_GROUPS = Elimination(), (100, 300, 1000), 3


def away(truth: np.ndarray, groupings: np.ndarray) -> float:
    """Mean variation of information from the truth."""
    return float(np.mean([partitions.variation_of_information(truth, g) for g in groupings]))


def one(name: str, n: int, side: int, n_draws: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Errors blind to groups and grouped, mean number of groups, VI difference."""
    graph = graphs.grid(side, side)
    model = Potts(graph, 3, fields=False) if name == "potts" else Symmetric(graph, 3, fields=True)
    groups, r = rng.integers(0, N_GROUPS, graph.n_edges), graph.n_edges * model.n_parameters
    values = rng.logistic(size=(N_GROUPS, 1)) if name == "potts" else rng.standard_normal((N_GROUPS, 3))
    theta = np.append(values[groups].ravel(), rng.normal(0, 0.5, model.n_features - r))
    states = ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng)
    est = GroupedMRF(
        graph,
        model=name,
        n_states=3,
        fields=name == "symmetric",
        n_draws=n_draws,
        n_warmup=n_draws // 5,
        n_chains=1,
        random_state=rng,
        progress=False,
    ).fit(states)
    posterior = est.posterior_["posterior"]
    if name == "potts":
        truth = 1 / (1 + np.exp(-theta))
        errors = [np.abs(found - truth).mean() for found in (est.mle_, est.agreement_)]
    else:
        blind = est.posterior_["constant_data"]["mle"].values
        errors = [np.abs(found - theta)[:r].mean() for found in (blind, est.theta_)]
    draws = posterior["groups"].values[0]
    random = np.array([rng.permutation(g) for g in draws])
    return *errors, float(posterior["n_groups"].mean()), away(groups, random) - away(groups, draws)


def main(n_data_sets: int = 5, n_draws: int = 300, side: int = 6) -> None:
    rng = np.random.default_rng()
    warnings.simplefilter("ignore", BayesMRFWarning)
    print("| model | n | error: blind | error: grouped | ratio | groups | VI difference |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name in ("potts", "symmetric"):
        for n in SIZES:
            found = np.array([one(name, n, side, n_draws, rng) for _ in range(n_data_sets)])
            blind, grouped, number, vi = found.mean(axis=0)
            cells = f"{blind:.4f} | {grouped:.4f} | {grouped / blind:.2f} | {number:.1f} | {vi:.2f}"
            print(f"| {name} | {n} | {cells} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
