"""Speed of the samplers of groups: the workloads of Liu and Page (2013), with the paper's times and plain NumPy.

Run ``python benchmarks/groups.py [NAME ...] [--turns N] [--seed S]``. One chain is sampled by `GroupedMRF.fit`, from
data to summaries, as in the paper: alpha = 1, no warm-up, in one thread. The plain versions (`plain.py`) alternate with
ours; they make as many steps as fit in a few seconds, at least one, from the end of our chain, and their chains are
extrapolated by the step, without the cost of their start.

The machine of the paper is unknown ("a single CPU"), so its times are for orientation only.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import plain
from scipy.special import logit
from threadpoolctl import threadpool_limits
from timing import Seconds, arguments, clock, duration, machine, median, stages, table

from bayesmrf import GroupedMRF, datasets, graphs, partitions
from bayesmrf.base import Engine
from bayesmrf.data.states import check_states
from bayesmrf.engines import Elimination, Gibbs
from bayesmrf.estimators import grouped_methods
from bayesmrf.graphs import Graph
from bayesmrf.learning import sparse
from bayesmrf.learning.maximum_likelihood import bound
from bayesmrf.learning.persistent import PersistentMLE
from bayesmrf.methods import GROUPS
from bayesmrf.models import Agreement
from bayesmrf.published.stripped_beta import GroupedStrippedBeta
from bayesmrf.runs import run

PLAIN_SECONDS = 4.0  # in every turn
N_PCD, N_CHAINS = GroupedStrippedBeta.n_pcd, PersistentMLE.n_chains
STAGES = {
    "graph": (sparse, "learn_graph"),
    "estimate": (grouped_methods, "find_start"),
    "chain": (run, "sample"),
    "partition": (partitions, "point_partition"),
}


@dataclass(frozen=True)
class Workload:
    """What is fitted, how long it may take (seconds), and how long it took in the paper."""

    method: str
    n_draws: int
    target: float
    data: Callable[[np.random.Generator], tuple[np.ndarray, Any]]  # states, graph
    paper: float | None = None
    more_than: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def estimator(self, graph: Any, seed: int, n_draws: int | None = None) -> GroupedMRF:
        return GroupedMRF(
            graph,
            method=GROUPS.build(self.method, self.options),
            fields=False,
            n_draws=n_draws or self.n_draws,
            n_warmup=0,
            n_chains=1,
            n_jobs=1,
            random_state=seed,
            progress=False,
        )


def simulated(
    graph: Graph, n_groups: int, rng: np.random.Generator, n: int = 1000, n_sweeps: int = 0
) -> tuple[np.ndarray, Graph]:
    """Draw states of a model with random groups, exactly or by Gibbs sweeps; agreements from Unif(0, 1)."""
    model = Agreement(graph)
    engine: Engine = Gibbs(n_sweeps) if n_sweeps else Elimination()
    theta = logit(rng.random(n_groups)[rng.integers(n_groups, size=graph.n_edges)])
    return engine.sample(model, theta, engine.prepare(model), n, rng), graph


def senate(rng: np.random.Generator) -> tuple[np.ndarray, str]:
    return datasets.senate109(1).to_numpy(), "learn:279"


SMALL = partial(simulated, graphs.grid(4, 4), 5)
WORKLOADS = {
    "tree": Workload("tree", 500, 3, partial(simulated, graphs.binary_tree(12), 25)),
    "small-exact": Workload("exact", 100, 5, SMALL, 92503.4),
    "small-auxiliary": Workload(
        "auxiliary-variable", 500, 90, SMALL, 4546.7, options={"n_proposals": 5, "sigma_q": 0.001, "n_walk": 100}
    ),
    "small-stripped": Workload("stripped-beta", 100, 1, SMALL, 14.2),
    "large-stripped": Workload(
        "stripped-beta", 100, 15, partial(simulated, graphs.grid(30, 30), 10, n_sweeps=2000), 6000, more_than=True
    ),
    "senate-stripped": Workload("stripped-beta", 3000, 60, senate, 204 * 60),
}


def fit(estimator: GroupedMRF, states: np.ndarray) -> tuple[Seconds, dict[str, float]]:
    """Fit, and the processor time of each stage."""
    with stages({stage: [place] for stage, place in STAGES.items()}) as spent:
        whole = clock(lambda: estimator.fit(states))
    return whole, spent | {"rest": whole.cpu - sum(spent.values())}


def plain_chain(estimator: GroupedMRF, states: np.ndarray, rng: np.random.Generator) -> Iterator[plain.Step]:
    """Return the plain version of a fitted estimator's chain, from its last draw."""
    n, edges = len(states), estimator.edges_
    graph = Graph(states.shape[1], edges)
    last = estimator.posterior_["posterior"].dataset.isel(chain=0, draw=-1)
    groups = np.asarray(last["groups"])
    phi = np.asarray(last["agreement"])[np.unique(groups, return_index=True)[1]]
    s_bar = Agreement(graph).statistics(check_states(states).values)
    s, mle, theta = np.rint(n * s_bar), plain.logit(estimator.mle_), plain.logit(phi[groups])
    if estimator.method_ == "tree":
        return plain.tree(rng, groups, phi, s, n)
    if estimator.method_ == "exact":
        return plain.exact(rng, groups, phi, plain.agreements(graph.n_nodes, edges), s, n)
    pcd = plain.PCD(rng, edges, plain.random_states(rng, graph.n_nodes, N_CHAINS), s_bar, bound(n))
    if estimator.method_ == "stripped-beta":
        return plain.stripped_beta(rng, groups, phi, mle, n, pcd, theta, N_PCD)
    o: Any = estimator.method
    return plain.auxiliary_variable(
        rng, groups, phi, mle, s, n, pcd, theta,
        n_sweeps=o.n_sweeps, n_proposals=o.n_proposals, n_walk=o.n_walk, sigma_q=o.sigma_q, n_pcd=N_PCD,
    )  # fmt: skip


def plain_step(chain: Iterator[plain.Step]) -> Seconds:
    """Return the seconds of one step: the mean over as many as fit, at least one."""
    n_steps = 0

    def steps() -> None:
        nonlocal n_steps
        end = time.process_time() + PLAIN_SECONDS
        while n_steps == 0 or time.process_time() < end:
            next(chain)
            n_steps += 1

    spent = clock(steps)
    return Seconds(spent.wall / n_steps, spent.cpu / n_steps)


def measure(workload: Workload, n_turns: int, seed: int) -> tuple[Seconds, dict[str, float], Seconds]:
    """Return medians of the total fit, processor time of its stages, and one plain step."""
    rng = np.random.default_rng(seed)
    states, graph = workload.data(rng)
    warm = workload.estimator(graph, seed, n_draws=2).fit(states)  # compiles
    whole, stages, steps, chain = [], [], [], None
    for turn in range(n_turns):
        estimator = workload.estimator(graph, seed + turn)
        spent, parts = fit(estimator, states)
        whole.append(spent)
        stages.append(parts)
        chain = chain or plain_chain(estimator, states, rng)
        steps.append(plain_step(chain))
    del warm
    return median(whole), {s: float(np.median([p[s] for p in stages])) for s in stages[0]}, median(steps)


def compare(names: list[str], n_turns: int, seed: int) -> None:
    print(machine())
    print(
        f"One chain in one thread, medians of {n_turns} turns; CPU is processor time, which other work disturbs less."
    )
    head = ("", "steps", "fit, wall", "fit, CPU", "target", "paper", "paper / CPU", "plain NumPy *", "plain / chain")
    rows, splits = [head], [("share of the CPU time", "CPU", *STAGES, "rest")]
    for name in names:
        workload = WORKLOADS[name]
        if name.startswith("senate") and not os.environ.get("BAYESMRF_DATA"):
            print(f"{name} is left out: BAYESMRF_DATA is not set")
            continue
        whole, stages, step = measure(workload, n_turns, seed)
        sign = "> " if workload.more_than else ""
        slow = step.cpu * workload.n_draws
        rows.append((
            name, str(workload.n_draws), duration(whole.wall), duration(whole.cpu), f"< {duration(workload.target)}",
            sign + duration(workload.paper) if workload.paper else "(figure)",
            f"{sign}{workload.paper / whole.cpu:,.0f}" if workload.paper else "",
            duration(slow), f"{slow / stages['chain']:,.0f}",
        ))  # fmt: skip
        splits.append((name, duration(whole.cpu), *(f"{t / whole.cpu:.0%}" for t in stages.values())))
    print(
        f"\n{table(*rows)}\n* CPU time of the chain alone, extrapolated by the step; plain / chain has ours likewise."
    )
    print(f"\n{table(*splits)}")


if __name__ == "__main__":
    args = arguments(__doc__, WORKLOADS, turns=3, seed=0)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compare(args.names, args.turns, args.seed)
