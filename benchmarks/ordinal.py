"""Processor time of sweeps over ordered answers, next to yes/no answers: 17 nodes, 136 edges, by number of categories.

    python benchmarks/ordinal.py [--turns N]

"Gibbs": 20 Gibbs sweeps of 2,000 states at given parameters; the first row is the compiled sampler of Boltzmann
machines. "Edges": a step of `SpikeSlabMRF(method="particle")` with 1,024 particles: two scans of all edges.
The goal is a ratio of at most the number of categories.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from timing import arguments, duration, machine, table, turns

from bayesmrf import graphs
from bayesmrf.models.boltzmann import Boltzmann
from bayesmrf.models.ordinal import Ordinal
from bayesmrf.posterior.edges.particle import SpikeSlabParticle
from bayesmrf.priors import Cauchy, SpikeSlab
from bayesmrf.samplers.gibbs import Gibbs

GRAPH = graphs.complete(17)
CATEGORIES = 2, 3, 5, 7, 10


def gibbs(model: Any, rng: np.random.Generator) -> Callable[[], object]:
    """Return a function that draws states."""
    engine = Gibbs(n_sweeps=20)
    plan, theta = engine.prepare(model), rng.normal(0, 0.02, model.n_features)
    return lambda: engine.sample(model, theta, plan, 2000, rng)


def edges(model: Ordinal, rng: np.random.Generator) -> Callable[[], object]:
    """Return a function that makes a step from where the last one ended."""
    x = rng.integers(0, model.n_states, (362, 17), dtype=np.int8)
    kernel = SpikeSlabParticle(model, model.statistics(x), 362, SpikeSlab(0.5, Cauchy(0.5)), None, 1024)
    state = [kernel.init(rng)]

    def step() -> None:
        state[0] = kernel.step(rng, state[0])[0]

    return step


def main() -> None:
    args, rng = arguments(__doc__, turns=9), np.random.default_rng(1)
    models = {f"{m} categories": Ordinal(GRAPH, m) for m in CATEGORIES}
    found = turns(
        {"yes/no": gibbs(Boltzmann(GRAPH), rng)} | {k: gibbs(m, rng) for k, m in models.items()}, args.turns, rng
    )
    steps = turns({k: edges(m, rng) for k, m in models.items()}, args.turns, rng)
    print(machine())
    rows = [("", "Gibbs", "ratio", "edges", "ratio")]
    for name, seconds in found.items():
        step = steps.get(name)
        of_edges = (duration(step.cpu), f"{step.cpu / steps['2 categories'].cpu:.1f}") if step else ("", "")
        rows.append((name, duration(seconds.cpu), f"{seconds.cpu / found['yes/no'].cpu:.1f}", *of_edges))
    print(table(*rows))


if __name__ == "__main__":
    main()
