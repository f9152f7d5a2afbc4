"""The published auxiliary-variable sampler next to the exact posterior: the table of docs/notes/published_samplers.md.

    python examples/restart.py [DATA_SETS] [DRAWS]

The columns are means over new data sets. "sd" is the standard deviation of an edge's agreement over the draws,
averaged over edges; "ratio" is its ratio to the exact one.
"""

import sys
import warnings

import numpy as np

from bayesmrf import Graph, GroupedMRF, graphs
from bayesmrf.engines import Elimination
from bayesmrf.errors import BoundaryWarning, ConstantColumnWarning
from bayesmrf.methods import AuxiliaryParticles
from bayesmrf.models import Agreement

SAMPLERS = {
    "exact": "exact",
    "auxiliary-variable, exact particles, continued": AuxiliaryParticles(
        inner="exact", restart=False, sigma_q=0.05, n_walk=20
    ),
    "auxiliary-variable, exact particles, restarted": AuxiliaryParticles(inner="exact"),
    "auxiliary-variable, as published (Gibbs particles, restarted)": AuxiliaryParticles(),
    "stripped-beta": "stripped-beta",
}
ACCEPTED = ("groups", "values")
MODELS = {
    "one edge, n = 25": (graphs.path(2), [0.65], 25),
    "one edge, n = 1000": (graphs.path(2), [0.65], 1000),
    "2x2 grid, n = 10": (graphs.grid(2, 2), [0.8, 0.8, 0.4, 0.4], 10),
    "2x2 grid, n = 200": (graphs.grid(2, 2), [0.8, 0.8, 0.4, 0.4], 200),
}


def draw_states(graph: Graph, agreement: list[float], n_samples: int, rng: np.random.Generator) -> np.ndarray:
    model, engine = Agreement(graph), Elimination()
    theta = np.log(agreement) - np.log1p(-np.array(agreement))
    return engine.sample(model, theta, engine.prepare(model), n_samples, rng)


def main(n_data_sets: int = 10, n_draws: int = 500) -> None:
    rng = np.random.default_rng()
    warnings.simplefilter("ignore", BoundaryWarning)
    warnings.simplefilter("ignore", ConstantColumnWarning)
    for title, (graph, agreement, n) in MODELS.items():
        found = {name: [] for name in SAMPLERS}
        for _ in range(n_data_sets):
            states = draw_states(graph, agreement, n, rng)
            for name, method in SAMPLERS.items():
                est = GroupedMRF(
                    graph,
                    fields=False,
                    method=method,
                    n_draws=n_draws,
                    n_warmup=n_draws // 5,
                    n_chains=2,
                    random_state=rng,
                    progress=False,
                ).fit(states)
                draws, stats = est.posterior_["posterior"], est.posterior_["sample_stats"]
                sd = draws["agreement"].std(("chain", "draw")).mean()
                accepted = [
                    stats[f"acceptance_{of}"].mean() if f"acceptance_{of}" in stats else np.nan for of in ACCEPTED
                ]
                found[name].append((sd, draws["n_groups"].mean(), *accepted))
        print(f"\n{title}\n{'':62s}{'sd':>8s}{'ratio':>8s}{'groups':>8s}   accepted: groups, values")
        exact_sd = np.mean(found["exact"], axis=0)[0]
        for name, values in found.items():
            sd, n_groups, of_groups, of_values = np.mean(values, axis=0)
            accepted = "" if np.isnan(of_groups) else f"{of_groups:22.3f}{of_values:8.3f}"
            print(f"{name:62s}{sd:8.4f}{sd / exact_sd:8.2f}{n_groups:8.2f}{accepted}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
