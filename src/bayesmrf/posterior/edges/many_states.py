"""Edges with a spike-and-slab prior between nodes of many states: reversible jumps on persistent chains.

They are the baselines of one group (`bayesmrf.posterior.edges.chain_jumps`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...errors import OptionError
from ...models.bases import edge_starts, has_group_lines
from ...models.categorical import is_categorical
from ..conditionals.group_lines import GroupProblem, GroupTheta
from ..conditionals.group_problem import lines_of, one_group_problem
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import edge_prior
from .reversible_jump import ITERATIONS, ChainsWalk, Design, Walker, design
from .spike_slab import EDGE_DIMS, EdgeKernel, JumpInfo, OnChains, check_bounded, drawn, present_edges, with_blocks


class ManyStatesState(NamedTuple):
    """Weights (0 if absent) and fields, the walk of the chains, and the block of each node, if any."""

    theta: np.ndarray
    walk: ChainsWalk
    blocks: np.ndarray


@dataclass(frozen=True, eq=False)
class SpikeSlabManyStates(OnChains, EdgeKernel):
    """Birth and death of edges in proportion to doubt, and Langevin steps of all parameters.

    Parameters
    ----------
    model : TwoArrays
        Potts or ordinal, with fields.
    s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    options : ReversibleJump
        The number of particles must be given; it is rounded up to a multiple of 128.
    n_adapt : int
        Steps with half of the iterations, in which the shares of draws with each edge are found.
    tables : (n_edges, m, m) array or None
        Shares of the data in each pair of states (`bayesmrf.posterior.conditionals.pair_tables`), for lines of edges
        that do not depend on their ends.
    design : Design or None
        From other data of the same people, such as another completion of missing answers; None to make it.

    Raises
    ------
    DivergenceError
        If a weight exceeds 1000 in absolute value (`check_bounded`).
    """

    tables: np.ndarray | None = None
    design: Design | None = None

    name, iterations = "spike_slab_many_states", ITERATIONS
    dims = EDGE_DIMS | {"n_jumps": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        model: Any = self.model
        if not (model.fields and has_group_lines(model) and is_categorical(model)):
            expected = f"potts, ordinal, nominal or another PairwiseModel of many states with fields for {self.name!r}"
            raise OptionError(option="model", got=model.name, expected=expected)
        if self.design is None:
            data = [(self.s_bar, float(self.n_samples))]
            tables = None if self.tables is None else [self.tables]
            object.__setattr__(self, "design", design(model, self._problem(), data, tables, self.options.momentum))

    def _problem(self) -> GroupProblem:
        model, prior, n = self.model, edge_prior(self.prior), float(self.n_samples)
        lines = lines_of(model, self.s_bar, n, prior.tilt)
        return one_group_problem(model, lines, self.prior, rivals_in(model, self.s_bar, n))

    @cached_property
    def _walker(self) -> Walker:
        sums = float(self.n_samples) * np.asarray(self.s_bar)
        sums[self._starts[-1] :] += edge_prior(self.prior).tilt
        assert self.design is not None
        return Walker(self.model, self.design, sums[None], self.options, self.n_adapt)

    def _theta(self, theta: np.ndarray) -> GroupTheta:
        natural = theta[None].copy()
        return GroupTheta(natural[:, : self._starts[-1]].copy(), natural, np.ones(natural.shape))

    @cached_property
    def _starts(self) -> np.ndarray:
        return edge_starts(self.model)

    def init(self, rng: np.random.Generator) -> ManyStatesState:
        """Start at ``start``, with chains swept there."""
        first = self.first(rng)
        theta = self._theta(first.theta)
        return ManyStatesState(theta.natural[0], self._walker.start(theta, rng), first.blocks)

    def step(self, rng: np.random.Generator, state: ManyStatesState) -> tuple[ManyStatesState, JumpInfo]:
        """Run ``n_iterations`` iterations."""
        theta = self._theta(state.theta)
        walk, hyper, n_jumps, labels = self._walker.step(rng, state.walk, theta, state.blocks)
        parameters = theta.natural[0]
        check_bounded(parameters, self.options.epsilon, self.prior, hyper[3])
        included = present_edges(self.model, parameters)
        info = JumpInfo(*drawn(parameters, included, hyper[2], hyper[3]), n_jumps)
        return ManyStatesState(parameters, walk, labels), with_blocks(info, labels)
