"""How much less moments at one theta vary with control variates (`bayesmrf.inference.control_variates`).

Run ``python benchmarks/control_variates.py [--chains N] [--times N]`` with ``BAYESMRF_DATA``. theta is the mode of the
posterior of all pairs by persistent chains, with normal priors; states are those of independent Gibbs chains, which
start at random and forget that in 300 sweeps. Errors come from 20 groups of chains, so that a ratio of two variances is
off by a factor of about 1.6. Processor time is that of all states, and of moments with their errors.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

import numpy as np
from timing import machine, table

from bayesmrf import datasets, graphs
from bayesmrf.inference.control_variates import controlled_moments
from bayesmrf.learning.persistent_ascent import persistent_ascent
from bayesmrf.models import Boltzmann, Ordinal
from bayesmrf.models.categorical import compiled_form, states_of
from bayesmrf.samplers.gibbs import start, sweep, to_states

BURN_IN, EVERY = 300, 4  # sweeps before the first states, and between states of a chain
PENALTY = 0.2, 0.01  # precisions of weights, and of parameters of nodes


def data() -> dict[str, tuple[Any, np.ndarray]]:
    """Return models and their states."""
    adhd = datasets.adhd().drop(columns="group").to_numpy(dtype=float)
    wenchuan = datasets.wenchuan().dropna().to_numpy(dtype=int)
    wenchuan = wenchuan - wenchuan.min()
    sparse = (np.random.default_rng(0).random((400, 24)) < 0.4).astype(int)
    yes_no = adhd[~np.isnan(adhd).any(axis=1)].astype(int)
    return {
        "ADHD, 18 yes/no": (Boltzmann(graphs.complete(yes_no.shape[1])), yes_no),
        "Wenchuan, 17 x 5": (Ordinal(graphs.complete(17), 5), wenchuan),
        "24 yes/no, independent": (Boltzmann(graphs.complete(24)), sparse),
    }


def main() -> None:
    """Print the ratios of variances."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=1000)
    parser.add_argument("--times", type=int, default=40)
    options, rng = parser.parse_args(), np.random.default_rng(1)
    rows: list[tuple[str, ...]] = [
        ("data", "plain over controlled variance, median", "least", "sweeps, s", "moments, s")
    ]
    for name, (model, states) in data().items():
        penalty = np.repeat(PENALTY, [model.n_edges, model.n_features - model.n_edges])
        s_bar, free = model.statistics(states), np.full(model.n_features, np.inf)
        theta = persistent_ascent(model, s_bar, len(states), rng, penalty, free)
        form, begun = compiled_form(model, theta), time.process_time()
        many = states_of(model)
        chains = start(options.chains, model.graph.n_nodes, rng, n_states=many)
        sweep(form, chains, BURN_IN)
        kept = []
        for _ in range(options.times):
            sweep(form, chains, EVERY)
            kept.append(to_states(chains, options.chains, many))
        swept = time.process_time()
        moments = controlled_moments(model, theta, np.array(kept))
        done = time.process_time()
        ratio = (moments.plain / moments.error) ** 2
        numbers = np.median(ratio), ratio.min(), swept - begun, done - swept
        rows.append((name, *(f"{x:.1f}" for x in numbers)))
    print(machine())
    print(table(*rows))


if __name__ == "__main__":
    main()
