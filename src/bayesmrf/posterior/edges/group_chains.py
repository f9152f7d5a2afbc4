"""Groups of people whose networks may differ in some edges: reversible jumps on persistent chains of each group.

The moves are those of `bayesmrf.posterior.edges.chain_jumps`, on graphs of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import OptionError
from ...models.bases import edge_starts
from ...models.boltzmann import has_these_features
from ...models.categorical import is_categorical
from ...models.ordinal import Ordinal
from ..conditionals.group_lines import GroupProblem, GroupTheta
from .differences import DifferencesKernel
from .many_states import ByteWalker, table_design
from .reversible_jump import ChainsWalk, Design, Walker
from .spike_slab import SMALL, JumpInfo, OnChains, check_bounded


class GroupChainsState(NamedTuple):
    """phi of `bayesmrf.posterior.edges.differences.group_maps`, and the walk of the chains."""

    theta: np.ndarray
    walk: ChainsWalk


@dataclass(frozen=True, eq=False)
class GroupChains(OnChains, DifferencesKernel):
    """Birth and death of baselines and of differences of edges, and Langevin steps of all parameters.

    Parameters
    ----------
    likelihood, contrast, prior, baseline, biases, n_scans
        As in `DifferencesKernel`.
    options : ReversibleJump
        The number of particles of each group must be given; it is rounded up to a multiple of 128.
    n_adapt : int
        Steps with half of the iterations, in which the shares of draws with each edge are found.
    tables : sequence of (n_edges, m, m) arrays, or None
        Shares of the data of each group in each pair of states (`bayesmrf.posterior.conditionals.pair_tables`).
    design : Design or None
        From other data of the same people, such as another completion of missing answers; None to make it.

    Raises
    ------
    DivergenceError
        If a weight exceeds 1000 in absolute value (`bayesmrf.posterior.edges.spike_slab.check_bounded`).
    """

    tables: Sequence[np.ndarray] | None = None
    design: Design | None = None

    name, walks = "group_chains", ByteWalker
    dims = DifferencesKernel.dims | {"n_jumps": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (is_categorical(self._model) or has_these_features(self._model)):
            expected = f"one of many states, or with the features of boltzmann, for {self.name!r}"
            raise OptionError(option="model", got=self._model.name, expected=expected)
        if self.design is None:
            data = [(s.s_bar, float(s.n_samples)) for s in self.likelihood.samples]
            made = table_design(self._tables, self.problem, data, self.tables, self.options.momentum)
            object.__setattr__(self, "design", made)

    @property
    def particle_sweeps(self) -> int:
        """Those of all groups of people."""
        return super().particle_sweeps * len(self.contrast)

    @cached_property
    def _tables(self) -> Any:
        """The model with a table of states for each node."""
        model = self._model
        return model if is_categorical(model) else Ordinal(model.graph, 2)

    @cached_property
    def _walker(self) -> Walker:
        assert self.design is not None
        sums = np.array([float(s.n_samples) * s.s_bar for s in self.likelihood.samples])
        sums[:, edge_starts(self._model)[-1] :] += self.design.problem.baseline.tilt * (self.biases == "free")
        return ByteWalker(self._tables, self.design, sums, self.options, self.n_adapt)

    def init(self, rng: np.random.Generator) -> GroupChainsState:
        """Start without differences, with chains swept there."""
        theta = started(self.group_theta(self.first()), self.problem)
        return GroupChainsState(self.phi(theta), self._walker.start(theta, rng))

    def step(self, rng: np.random.Generator, state: GroupChainsState) -> tuple[GroupChainsState, JumpInfo]:
        """Run ``n_iterations`` iterations."""
        theta = self.group_theta(state.theta)
        walk, hyper, n_jumps, _ = self._walker.step(rng, state.walk, theta)
        check_bounded(theta.natural, self.options.epsilon, self.prior, hyper[1])
        draw = self.draw(theta, hyper[0], hyper[1])
        return GroupChainsState(self.phi(theta), walk), JumpInfo(*draw, n_jumps)


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
