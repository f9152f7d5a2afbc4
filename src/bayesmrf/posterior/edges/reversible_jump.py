r"""Edges with a spike-and-slab prior on persistent chains: birth and death of an edge at any weight.

Reversible jump Markov chain Monte Carlo for nodes of any number of states, and for one or several groups of people. An
iteration is flips of clusters of nodes (`bayesmrf.states.level_flips`) and a Gibbs sweep in the chains of each group,
births, deaths and swaps in proportion to doubt (`bayesmrf.posterior.edges.chain_jumps`), and a Langevin step of all
parameters (`bayesmrf.posterior.edges.line_dynamics`). `bayesmrf.posterior.edges.two_states` is the same for one group
and two states, with chains of bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

from ...methods import ReversibleJump
from ...models.bases import has_lines
from ...states.edge_tables import (
    TableGraph,
    TableParticles,
    UnpackedTableParticles,
    gains_of,
    potentials_of,
    start_particles,
    table_graph,
    unpack,
)
from ...states.importance import START_SWEEPS
from ...states.table_sweeps import sweep
from ..conditionals.group_lines import GroupProblem, GroupTheta, one_group, own_problem
from ..conditionals.pair_tables import regression_pull
from .chain_jumps import Visits, iterate
from .chain_swaps import SURE, of_group, reach_of
from .line_steps import GroupMomentum, GroupSteps, along_lines, steps_of, stiffness_of
from .spike_slab import SMALL, adapted, averaged, iterations_of, longest_step, moderate, n_particles_of, visit_rate

_SWAPS = 0.15  # swaps that are proposed in an iteration, at most, for each node
ITERATIONS = 10  # in a step


class ChainsWalk(NamedTuple):
    """Momentum, the shares of draws with each baseline and each difference, the chains of all groups, stacked; the
    stiffness of the posterior (averaged), its direction, and the number of steps.
    """

    momentum: GroupMomentum
    share: np.ndarray
    chains: TableParticles
    stiffness: float
    direction: GroupMomentum
    age: int


class Moved(NamedTuple):
    """Where a step ends: the state of the walk, p0 and precision of the slabs, births and deaths, and the block of each
    node, if any.
    """

    walk: ChainsWalk
    drawn: np.ndarray
    n_jumps: int
    blocks: np.ndarray


class Design(NamedTuple):
    """What depends on the first data alone, on which lines are centred: completed tables are seen along the same."""

    problem: GroupProblem
    steps: GroupSteps
    graph: TableGraph
    reach: np.ndarray


def design(
    model: Any,
    problem: GroupProblem,
    samples: Sequence[tuple[np.ndarray, float]],
    tables: Sequence[np.ndarray] | None,
    momentum: float,
) -> Design:
    """Return the design for data of mean statistics and sizes ``samples``, one for each group.

    ``tables`` are their shares in pairs of states (`bayesmrf.posterior.conditionals.pair_tables`), if they are known:
    then edges move along lines that regress them on their ends.
    """
    if tables is not None:
        pull = problem.lines.pull.any() * np.array([regression_pull(model, table) for table in tables])
        problem = problem._replace(lines=problem.lines._replace(pull=pull))
    reach = np.full(model.n_edges, np.inf)
    if len(samples) == 1 and has_lines(model):
        reach = reach_of(model, unwrap(one_group)(problem, 0), *samples[0])
    return Design(problem, steps_of(model, problem, samples, tables, momentum), table_graph(model), reach)


@dataclass(frozen=True)
class Walker:
    """Steps of the sampler on the chains of all groups.

    Parameters
    ----------
    model : object
        With a table of states for each node.
    design : Design
    sums : (G, F) array
        Of the data, with the slope of the log prior.
    options : ReversibleJump
    n_adapt : int
        Steps with half of the iterations, in which the shares of draws with each edge are found.
    """

    model: Any
    design: Design
    sums: np.ndarray
    options: ReversibleJump
    n_adapt: int

    @cached_property
    def _problem(self) -> GroupProblem:
        return self.design.problem._replace(lines=self.design.problem.lines._replace(sums=self.sums))

    def start(self, theta: GroupTheta, rng: np.random.Generator) -> ChainsWalk:
        """Return the walk at ``theta``, with chains swept there."""
        size, parts = -(-n_particles_of(self.options) // 128) * 128, []
        for _ in theta.natural:
            parts.append(start_particles(size, self.model.graph.n_nodes, self.model.n_states, rng))
        stacked = self._unpacked(TableParticles(*(np.stack(a) for a in zip(*parts, strict=True))), theta)
        for t in range(len(parts)):
            for _ in range(START_SWEEPS):
                sweep(self.design.graph, of_group(stacked, t))
        chains = TableParticles(stacked.x, stacked.lanes)
        n_visited, n_lines = len(self._problem.places) - 1, len(self._problem.lines.edges)
        share, free = np.full((2, n_visited), 0.5), n_visited == self.model.n_edges
        momentum, direction = (
            GroupMomentum(rng.standard_normal(theta.weights.shape), free * rng.standard_normal(theta.natural.shape))
            for _ in range(2)
        )
        direction.own[:, :n_lines] = 0.0
        return ChainsWalk(momentum, share, chains, 1.0, direction, 0)

    def step(
        self, rng: np.random.Generator, walk: ChainsWalk, theta: GroupTheta, labels: np.ndarray | None = None
    ) -> Moved:
        """Run iterations, which change ``theta``; ``labels`` are the blocks of nodes."""
        problem, options, age = own_problem(self._problem, labels), self.options, walk.age
        stacked, momentum = self._unpacked(walk.chains, theta), GroupMomentum(*(a.copy() for a in walk.momentum))
        n = max(problem.lines.n.max(), 0.0)
        epsilon = longest_step(options, n, walk.chains.x.shape[2], walk.stiffness)
        steps = self.design.steps._replace(sums=along_lines(self.model, problem.lines), epsilon=epsilon)
        n_iterations = iterations_of(options, ITERATIONS, age < self.n_adapt)
        visits, gains = self._visits(walk.share), gains_of(self.model)
        drawn, n_jumps = iterate(
            rng, self.design.graph, stacked, problem, steps, visits, gains, theta, momentum, n_iterations
        )
        quotient, direction = stiffness_of(problem, steps, stacked, theta, walk.direction)
        stiffness, share = averaged(walk.stiffness, quotient, age), walk.share
        if age < self.n_adapt:
            has = np.stack([theta.weights[0] != 0, theta.weights[1:].any(axis=0)])
            share = adapted(share, np.add.reduceat(has, problem.places[:-1], axis=1) > 0, age)
        chains = TableParticles(stacked.x, stacked.lanes)
        now = ChainsWalk(momentum, share, chains, stiffness, direction, age + 1)
        return Moved(now, drawn, n_jumps, problem.baseline.blocks.labels)

    def _unpacked(self, chains: TableParticles, theta: GroupTheta) -> UnpackedTableParticles:
        """Make a working copy of the chains of all groups."""
        model = self.model
        parts = [
            unpack(TableParticles(*group_chains), potentials_of(model, t), model.categorical(t).field)
            for group_chains, t in zip(zip(*chains, strict=True), theta.natural, strict=True)
        ]
        return UnpackedTableParticles(*(np.stack(arrays) for arrays in zip(*parts, strict=True)))

    def _visits(self, share: np.ndarray) -> Visits:
        """Compute how often baselines and differences are visited."""
        share, n_nodes, problem = moderate(share), self.model.graph.n_nodes, self._problem
        for part, prior in enumerate((problem.baseline, problem.prior)):  # what is certain is never visited
            share[part, : len(prior.free)][~prior.free] = prior.log_odds[~prior.free] > 0
        rate = visit_rate(share, n_nodes)
        e, f = np.concatenate([problem.rivals, problem.rivals[:, ::-1]]).T
        often = (share[:, e] * (1 - share[:, f]) * share[:, f] * np.minimum(1.0, SURE * (1 - share[:, e]))).sum(axis=1)
        return Visits(share, rate, np.minimum(rate, _SWAPS * n_nodes / np.maximum(often, 1e-9)), self.design.reach)


def started(theta: GroupTheta, problem: GroupProblem) -> GroupTheta:
    """Return where chains start: what is always present is not 0."""
    always = (problem.baseline.fixed == 1) | (np.arange(problem.n_spiked) >= len(problem.lines.edges))
    theta.weights[0] += SMALL * (always & (theta.weights[0] == 0))
    for weights, prior in ((theta.weights[:1], problem.baseline), (theta.weights[1:], problem.prior)):
        forced = np.flatnonzero(
            np.repeat(~prior.free & (prior.log_odds > 0), np.diff(problem.places)[: len(prior.free)])
        )
        weights[:, forced] += SMALL * (weights[:, forced] == 0)
    return theta
