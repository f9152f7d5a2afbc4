r"""Edges with a spike-and-slab prior on persistent chains: birth and death of an edge at any weight.

Reversible jump Markov chain Monte Carlo for nodes of any number of states, and for one or several groups of people.

In Chen and Welling (2012) an edge is born and dies near 0 only, where the likelihood hardly changes and a few particles
suffice to estimate its ratio; a strong edge has to move there first. Here an edge jumps along its line, where Z at any
weight follows from the joint distribution of the pair at one weight, which many persistent chains estimate: one half of
them is used to propose the weight, the other to accept it, and the error has its penalty; the chains follow each jump.
Between jumps all parameters move together by Langevin dynamics, with a step size for the stiffest direction: if many
nodes flip together, such as parties in a parliament, it is much shorter than that of a single weight.
`bayesmrf.posterior.edges.iteration` is the loop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...methods import ReversibleJump
from ...models.bases import edge_starts
from ..conditionals.group_lines import GroupProblem, GroupTheta, own_problem
from ..conditionals.spike import edge_prior
from .iteration import iterate
from .line_steps import GroupMomentum, GroupSteps, along_lines
from .spike_slab import (
    EDGE_DIMS,
    EdgeKernel,
    JumpInfo,
    OnChains,
    adapted,
    averaged,
    check_bounded,
    drawn,
    iterations_of,
    longest_step,
    n_chains_of,
    present_edges,
    with_blocks,
)
from .stiffness import stiffness

_EARLY, _EVERY = 50, 4  # steps in which the stiffness is found, and after how many it is found again later


class ChainsWalk(NamedTuple):
    """Momentum, the shares of draws with each baseline and each difference, the chains; the stiffness of the posterior
    (averaged), its direction, and the number of steps.
    """

    momentum: GroupMomentum
    share: np.ndarray
    chains: Any
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
    """What depends on the first data alone, on which lines are centred: completed tables are seen along the same.

    ``memory`` is what the chains need besides.
    """

    problem: GroupProblem
    steps: GroupSteps
    memory: Any


@dataclass(frozen=True)
class Walker(ABC):
    """Steps of the sampler, wherever the states of its chains are kept.

    Parameters
    ----------
    model : object
    design : Design
    sums : (G, F) array
        Of the data, with the slope of the log prior.
    options : ReversibleJump
    n_adapt : int
        Steps with half of the iterations, in which the shares of draws with each edge are found. Were they changed
        later, an edge that was just born would be visited more often than before, and would die too soon.
    """

    model: Any
    design: Design
    sums: np.ndarray
    options: ReversibleJump
    n_adapt: int

    n_iterations: ClassVar[int]  # of a step, unless they are given

    @cached_property
    def problem(self) -> GroupProblem:
        """That of the design, with the data of the walker."""
        return self.design.problem._replace(lines=self.design.problem.lines._replace(sums=self.sums))

    @cached_property
    def n_chains(self) -> int:
        """Chains of a group."""
        return n_chains_of(self.options)

    @cached_property
    def _steps(self) -> GroupSteps:
        return self.design.steps._replace(sums=along_lines(self.model, self.problem.lines))

    def start(self, theta: GroupTheta, rng: np.random.Generator) -> ChainsWalk:
        """Return the walk at ``theta``, with chains swept there."""
        chains = self.start_chains(theta, rng)
        n_visited, n_own = len(self.problem.places) - 1, len(self.problem.lines.edges)
        share, free = np.full((min(len(theta.weights), 2), n_visited), 0.5), n_visited == self.model.n_edges
        momentum, direction = (
            GroupMomentum(
                rng.standard_normal(theta.weights.shape), free * rng.standard_normal(theta.natural.shape)[:, n_own:]
            )
            for _ in range(2)
        )
        return ChainsWalk(momentum, share, chains, 1.0, direction, 0)

    def step(
        self, rng: np.random.Generator, walk: ChainsWalk, theta: GroupTheta, labels: np.ndarray | None = None
    ) -> Moved:
        """Run iterations, which change ``theta``; ``labels`` are the blocks of nodes."""
        problem, options, age = own_problem(self.problem, labels), self.options, walk.age
        chains = self.unpack_chains(walk.chains, theta, problem, walk.share)
        momentum, direction = (GroupMomentum(*(a.copy() for a in of)) for of in (walk.momentum, walk.direction))
        epsilon = longest_step(options, max(problem.lines.n.max(), 0.0), self.n_chains, walk.stiffness)
        steps = self._steps._replace(epsilon=epsilon)
        n_iterations = iterations_of(options, self.n_iterations, age < self.n_adapt)
        drawn, n_jumps = iterate(rng, chains, problem, steps, theta, momentum, n_iterations)
        share, now = walk.share, walk.stiffness
        if age < max(self.n_adapt, _EARLY) or age % _EVERY == 0:
            now = averaged(now, stiffness(problem, steps, chains, theta, direction), age)
        if age < self.n_adapt:
            has = np.stack([theta.weights[0] != 0, theta.weights[1:].any(axis=0)])[: len(share)]
            share = adapted(share, np.add.reduceat(has, problem.places[:-1], axis=1) > 0, age)
        new = ChainsWalk(momentum, share, self.pack_chains(chains), now, direction, age + 1)
        return Moved(new, drawn, n_jumps, problem.baseline.blocks.labels)

    @abstractmethod
    def start_chains(self, theta: GroupTheta, rng: np.random.Generator) -> Any:
        """Return chains that were swept at theta."""

    @abstractmethod
    def unpack_chains(self, chains: Any, theta: GroupTheta, problem: GroupProblem, share: np.ndarray) -> Any:
        """Return a working copy of the chains, for `bayesmrf.posterior.edges.iteration`."""

    @abstractmethod
    def pack_chains(self, chains: Any) -> Any:
        """Return what is kept of a working copy between steps."""


class WalkState(NamedTuple):
    """Weights (0 if absent) and parameters of nodes, the walk of the chains, and the block of each node, if any."""

    theta: np.ndarray
    walk: ChainsWalk
    blocks: np.ndarray


@dataclass(frozen=True, eq=False)
class OneGroup(OnChains, EdgeKernel, ABC):
    """Base of kernels of the edges of one group, which are baselines that may be absent, without differences.

    Parameters
    ----------
    model, s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    options : ReversibleJump
        The number of particles must be given; it is rounded up to a multiple of 128. Between half and twice the number
        of observations mix fastest: with fewer the penalty prevents births of strong edges, with more a sweep costs
        more. A Langevin step is no longer than one standard deviation in the stiffest direction
        (`bayesmrf.posterior.edges.stiffness`), and such that the noise of moments increases a posterior
        variance by at most 10 %, and by 30 % in that direction (see `noise_share`).
    n_adapt : int
        Steps with half of the iterations, in which the shares of draws with each edge are found.
    design : Design or None
        From other data of the same people, such as another completion of missing answers; None to make it.

    Raises
    ------
    DivergenceError
        If a weight exceeds 1000 in absolute value (`check_bounded`).
    """

    design: Design | None = None

    dims = EDGE_DIMS | {"n_jumps": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_model()
        if self.design is None:
            object.__setattr__(self, "design", self.make_design())

    @abstractmethod
    def check_model(self) -> None:
        """Raise OptionError unless the model is one that the kernel is for."""

    @abstractmethod
    def make_design(self) -> Design:
        """Return the design for the kernel's data."""

    @cached_property
    def walker(self) -> Walker:
        """The steps."""
        assert self.design is not None
        sums = float(self.n_samples) * np.asarray(self.s_bar)
        sums[edge_starts(self.model)[-1] :] += edge_prior(self.prior).tilt
        return self.walks(self.model, self.design, sums[None], self.options, self.n_adapt)

    def init(self, rng: np.random.Generator) -> WalkState:
        """Start at ``start``, with chains swept there."""
        first = self.first(rng)
        theta = self._theta(first.theta)
        return WalkState(theta.natural[0], self.walker.start(theta, rng), first.blocks)

    def step(self, rng: np.random.Generator, state: WalkState) -> tuple[WalkState, JumpInfo]:
        """Run ``n_iterations`` iterations."""
        theta = self._theta(state.theta)
        walk, hyper, n_jumps, labels = self.walker.step(rng, state.walk, theta, state.blocks)
        parameters = theta.natural[0]
        check_bounded(parameters, self.options.epsilon, self.prior, hyper[3])
        included = present_edges(self.model, parameters)
        info = JumpInfo(*drawn(parameters, included, hyper[2], hyper[3]), n_jumps)
        return WalkState(parameters, walk, labels), with_blocks(info, labels)

    def _theta(self, theta: np.ndarray) -> GroupTheta:
        natural = theta[None].copy()
        return GroupTheta(natural[:, : edge_starts(self.model)[-1]].copy(), natural, np.ones(natural.shape))
