"""A 6x6 grid whose 60 edges belong to three groups: the gain from estimating groups.

    python examples/grid.py [DRAWS]

Draws data from the model, fits it with and without groups, prints the errors, and writes two figures:
grid-estimates.png and grid-network.png.
"""

import sys

import numpy as np

from bayesmrf import GroupedMRF, MaximumLikelihoodMRF, graphs, metrics, plots
from bayesmrf.engines import Elimination
from bayesmrf.models import Agreement

LEVELS = np.array([0.75, 0.55, 0.3])


def main(n_draws: int = 1000, n_samples: int = 500) -> None:
    rng = np.random.default_rng()
    graph = graphs.grid(6, 6)
    groups = rng.integers(len(LEVELS), size=graph.n_edges)
    truth = LEVELS[groups]
    model, engine = Agreement(graph), Elimination()
    states = engine.sample(model, np.log(truth / (1 - truth)), engine.prepare(model), n_samples, rng)

    est = GroupedMRF(graph, fields=False, n_draws=n_draws, n_warmup=n_draws // 5, random_state=rng).fit(states)
    oracle = MaximumLikelihoodMRF(graph, ties=groups, fields=False).fit(states)
    estimates = {"MLE": est.mle_, est.method_: est.agreement_, "MLE, groups given": oracle.agreement_}

    print("mean absolute error of the agreement")
    for name, value in estimates.items():
        print(f"{metrics.mean_absolute_error(value, truth):8.4f}  {name}")
    closer = metrics.vi_difference(est.posterior_["posterior"]["groups"].values, groups, rng)
    print(f"the sampled groups are {closer:.2f} nats closer to the truth than random groups")

    plots.plot_estimates(truth, estimates, groups).figure.savefig("grid-estimates.png", dpi=150)
    plots.plot_network(est).figure.savefig("grid-network.png", dpi=150)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
