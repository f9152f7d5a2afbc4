"""Memory and time on a graph of 10^6 edges, stage by stage: everything should fit in 2 GiB.

Run ``python benchmarks/memory.py [STAGE ...] [--side N] [--samples N]``. The graph is a square grid, 707 x 707 by
default (499,849 nodes, 998,284 edges), the data 100 samples. Every stage runs in a separate process, so that its peak
memory is its own; "import" is an empty process with the package. Long fits are cut to a few iterations, which does not
change their memory.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from functools import partial

import numpy as np
from scipy.special import logit
from timing import arguments, clock, duration, machine, peak, table

from bayesmrf import GroupedMRF, graphs
from bayesmrf.data.states import check_states
from bayesmrf.estimators import grouped as grouped_module
from bayesmrf.learning import maximum_likelihood, persistent
from bayesmrf.models import Agreement
from bayesmrf.published.stripped_beta import GroupedStrippedBeta
from bayesmrf.samplers import gibbs

N_ITERATIONS, TARGET = 5, 2.0


def model_of(side: int) -> Agreement:
    return Agreement(graphs.grid(side, side))


def states_of(model: Agreement, n_samples: int) -> np.ndarray:
    """Draw states whose neighbours tend to agree: three sweeps from uniform states."""
    chains = gibbs.start(n_samples, model.graph.n_nodes, np.random.default_rng(0))
    gibbs.sweep(model.pairwise(np.full(model.n_edges, logit(0.6))), chains, 3)
    return gibbs.to_states(chains, n_samples)


def nothing(side: int, n_samples: int) -> None:
    """Import the package only."""


def model(side: int, n_samples: int) -> None:
    """Graph, neighbours, statistics of the data and their names."""
    model = model_of(side)
    model.statistics(states_of(model, n_samples))
    assert len(model.feature_names) == model.n_features


def read(side: int, n_samples: int) -> None:
    """Check a table of states."""
    check_states(states_of(model_of(side), n_samples))


def sweeps(side: int, n_samples: int) -> None:
    """Run 64 Gibbs chains for 10 sweeps."""
    model = model_of(side)
    chains = gibbs.start(64, model.graph.n_nodes, np.random.default_rng(0))
    gibbs.sweep(model.pairwise(np.zeros(model.n_edges)), chains, 10)


def estimate(side: int, n_samples: int) -> None:
    """Run a few iterations of persistent contrastive divergence, with one parameter per edge."""
    model = model_of(side)
    s_bar = model.statistics(states_of(model, n_samples))
    pcd = persistent.PersistentMLE(model, s_bar, maximum_likelihood.bound(n_samples))
    pcd.fit(pcd.start(np.random.default_rng(0)), N_ITERATIONS)


def grouped(side: int, n_samples: int) -> None:
    """Fit GroupedMRF by stripped-beta, 2 draws of one chain: estimate, k-means, chain, summaries."""
    model = model_of(side)
    states = states_of(model, n_samples)
    maximum_likelihood.N_STEPS = N_ITERATIONS
    short = partial(GroupedStrippedBeta, n_pcd=N_ITERATIONS, n_pcd_start=N_ITERATIONS)
    setattr(grouped_module, "GroupedStrippedBeta", short)  # noqa: B010
    estimator = GroupedMRF(
        model.graph,
        method="stripped-beta",
        fields=False,
        n_draws=2,
        n_warmup=0,
        n_chains=1,
        progress=False,
        random_state=0,
    ).fit(states)
    assert estimator.agreement_.shape == (model.n_edges,)


STAGES = {"import": nothing, "model": model, "read": read, "sweeps": sweeps, "estimate": estimate, "grouped": grouped}


def report(names: list[str], side: int, n_samples: int) -> None:
    # The graph is not made here: the peak memory of a child starts at that of its parent.
    print(machine())
    print(f"{side} x {side} grid: {side**2:,} nodes, {2 * side * (side - 1):,} edges; {n_samples} samples")
    rows: list[tuple[str, ...]] = [("stage", "peak GiB", "wall", "CPU", "")]
    for name in names:
        command = [sys.executable, __file__, "--side", str(side), "--samples", str(n_samples), "--one", name]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        if found.returncode:
            last = (found.stderr.strip().splitlines() or [f"signal {-found.returncode}"])[-1]
            rows.append((name, "-", "-", "-", last[:60]))
            continue
        peak, wall, cpu = map(float, found.stdout.split())
        verdict = f"{'fits in' if peak <= TARGET else 'MORE THAN'} {TARGET:g} GiB"
        rows.append((name, f"{peak:.2f}", duration(wall), duration(cpu), verdict))
    print(f"\n{table(*rows)}\n")
    for name in names:
        print(f"{name}: {STAGES[name].__doc__}")


if __name__ == "__main__":
    args = arguments(__doc__, STAGES, side=707, samples=100)
    if args.one:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spent = clock(lambda: STAGES[args.one](args.side, args.samples))
        print(peak(), *spent)
    else:
        report(args.names, args.side, args.samples)
