"""Speed of models of ordered answers: sweeps next to those of yes/no answers, and default runs on two questionnaires.

Run ``python benchmarks/ordinal.py [NAME ...] [--turns N] [--seed N]`` with names among:

* ``sweeps``: processor time with 17 nodes and 136 edges, by number of categories, in turns.
* ``wenchuan``: `SpikeSlabMRF()` on 17 items with missing answers (`bayesmrf.datasets.wenchuan`).
* ``boredom``: `CompareMRF()` on 8 items in two languages (`bayesmrf.datasets.boredom`).

The last two need ``BAYESMRF_DATA``; they print seconds after compilation, and the largest R-hat and the least effective
sample size of all draws, of edges (differences) and of thresholds.

In ``sweeps``, "Gibbs": 20 Gibbs sweeps of 2,000 states at given parameters; the first row is the compiled sampler of
Boltzmann machines. "Edges": a step of `SpikeSlabMRF(method="reversible-jump")` with 1,024 chains: 20 iterations. The
goal is a ratio of at most the number of categories.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from timing import arguments, duration, machine, table, turns

from bayesmrf import CompareMRF, SpikeSlabMRF, datasets, graphs
from bayesmrf.engines import Gibbs
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann, Ordinal
from bayesmrf.posterior.edges.many_states import SpikeSlabManyStates
from bayesmrf.priors import Cauchy, SpikeSlab
from bayesmrf.results.rank_diagnostics import rank_diagnostics

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
    prior, options = SpikeSlab(0.5, Cauchy(0.5)), ReversibleJump(1024)
    kernel = SpikeSlabManyStates(model, model.statistics(x), 362, prior, None, options)
    state = [kernel.init(rng)]

    def step() -> None:
        state[0] = kernel.step(rng, state[0])[0]

    return step


def sweeps(n_turns: int, seed: int) -> None:
    """Time sweeps by number of categories."""
    rng = np.random.default_rng(seed)
    models = {f"{m} categories": Ordinal(GRAPH, m) for m in CATEGORIES}
    found = turns(
        {"yes/no": gibbs(Boltzmann(GRAPH), rng)} | {k: gibbs(m, rng) for k, m in models.items()}, n_turns, rng
    )
    steps = turns({k: edges(m, rng) for k, m in models.items()}, n_turns, rng)
    rows = [("", "Gibbs", "ratio", "edges", "ratio")]
    for name, seconds in found.items():
        step = steps.get(name)
        of_edges = (duration(step.cpu), f"{step.cpu / steps['2 categories'].cpu:.1f}") if step else ("", "")
        rows.append((name, duration(seconds.cpu), f"{seconds.cpu / found['yes/no'].cpu:.1f}", *of_edges))
    print(table(*rows))


def wenchuan(_: int, seed: int) -> None:
    """Run at defaults on 17 items."""
    items = datasets.wenchuan()

    def fit(**options: Any) -> SpikeSlabMRF:
        return SpikeSlabMRF(**options, progress=False).fit(items)

    at_defaults(fit, seed, 136)


def boredom(_: int, seed: int) -> None:
    """Run at defaults on 8 items in two languages."""
    items = datasets.boredom()
    language = items.pop("language")

    def fit(**options: Any) -> CompareMRF:
        return CompareMRF(**options, progress=False).fit(items, language)

    at_defaults(fit, seed, 28)


def at_defaults(fit: Callable[..., Any], seed: int, n_edges: int) -> None:
    """Compile, then fit at default settings and print its diagnostics."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(n_draws=4, n_warmup=2)
        begin, cpu = time.perf_counter(), time.process_time()
        est = fit(random_state=seed)
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
    theta = est.posterior_["posterior"]["theta"].values
    if theta.ndim == 4:  # of two groups: differences, and the thresholds of both
        theta = np.concatenate([theta[:, :, 1, :n_edges] - theta[:, :, 0, :n_edges],
                                *theta[:, :, :, n_edges:].transpose(2, 0, 1, 3)], axis=2)  # fmt: skip
    found = rank_diagnostics(theta)
    rows = [("", "R-hat", "least ESS", "median ESS")]
    for name, part in (("edges", slice(n_edges)), ("thresholds", slice(n_edges, None))):
        ess = found.ess_bulk[part]
        rows.append((name, f"{np.nanmax(found.r_hat[part]):.3f}", f"{np.nanmin(ess):.0f}", f"{np.nanmedian(ess):.0f}"))
    print(f"{duration(spent)}, {duration(cpu)} of processor time; of {theta.shape[0] * theta.shape[1]:,} draws:")
    print(table(*rows))


PARTS = {"sweeps": sweeps, "wenchuan": wenchuan, "boredom": boredom}


def main() -> None:
    args = arguments(__doc__, PARTS, turns=9, seed=1)
    print(machine())
    for name in args.names:
        PARTS[name](args.turns, args.seed)
        print(flush=True)


if __name__ == "__main__":
    main()
