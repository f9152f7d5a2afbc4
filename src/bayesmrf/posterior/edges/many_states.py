"""Edges with a spike-and-slab prior between nodes of many states: reversible jumps on persistent chains of bytes.

They are the baselines of one group (`bayesmrf.posterior.edges.chain_jumps`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

from ...errors import OptionError
from ...models.bases import has_group_lines, has_lines
from ...models.categorical import is_categorical
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
from ..conditionals.group_lines import GroupProblem, GroupTheta, one_group
from ..conditionals.group_problem import lines_of, one_group_problem
from ..conditionals.pair_tables import regression_pull
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import edge_prior
from .byte_chains import ByteChains
from .chain_jumps import Visits
from .chain_swaps import SURE, of_group, reach_of
from .line_steps import steps_of
from .reversible_jump import Design, OneGroup, Walker
from .spike_slab import moderate, visit_rate

_SWAPS = 0.15  # swaps that are proposed in an iteration, at most, for each node


class ByteMemory(NamedTuple):
    """The graph, and the largest weight of each edge that is swapped."""

    graph: TableGraph
    reach: np.ndarray


def table_design(
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
    steps = steps_of(model, problem, samples, tables, momentum)
    return Design(problem, steps, ByteMemory(table_graph(model), reach))


@dataclass(frozen=True)
class ByteWalker(Walker):
    """Steps on chains of bytes, of any number of groups and states."""

    n_iterations = 10

    def start_chains(self, theta: GroupTheta, rng: np.random.Generator) -> TableParticles:
        """Return chains of all groups, stacked, that were swept at theta."""
        n_nodes, parts = self.model.graph.n_nodes, []
        for _ in theta.natural:
            parts.append(start_particles(self.n_chains, n_nodes, self.model.n_states, rng))
        stacked = self._unpacked(TableParticles(*(np.stack(a) for a in zip(*parts, strict=True))), theta)
        for t in range(len(parts)):
            for _ in range(START_SWEEPS):
                sweep(self.design.memory.graph, of_group(stacked, t))
        return TableParticles(stacked.x, stacked.lanes)

    def unpack_chains(
        self, chains: TableParticles, theta: GroupTheta, problem: GroupProblem, share: np.ndarray
    ) -> ByteChains:
        """Return a working copy of the chains."""
        (n_groups, _, n_chains), visits = chains.x.shape, self._visits(share)
        room, weights = (np.empty((n_groups, k, n_chains), np.float32) for k in (self.model.n_states, 1))
        graph, stacked = self.design.memory.graph, self._unpacked(chains, theta)
        return ByteChains(graph, stacked, visits, gains_of(self.model), room, weights[:, 0])

    def pack_chains(self, chains: ByteChains) -> TableParticles:
        """Return the states."""
        return TableParticles(chains.stacked.x, chains.stacked.lanes)

    def _unpacked(self, chains: TableParticles, theta: GroupTheta) -> UnpackedTableParticles:
        model = self.model
        parts = [
            unpack(TableParticles(*group_chains), potentials_of(model, t), model.categorical(t).field)
            for group_chains, t in zip(zip(*chains, strict=True), theta.natural, strict=True)
        ]
        return UnpackedTableParticles(*(np.stack(arrays) for arrays in zip(*parts, strict=True)))

    def _visits(self, share: np.ndarray) -> Visits:
        """Compute how often baselines and differences are visited."""
        share, n_nodes, problem = moderate(share), self.model.graph.n_nodes, self.problem
        priors = problem.baseline, problem.prior
        for part, prior in enumerate(priors[: len(share)]):  # what is certain is never visited
            share[part, : len(prior.free)][~prior.free] = prior.log_odds[~prior.free] > 0
        rate = visit_rate(share, n_nodes)
        e, f = np.concatenate([problem.rivals, problem.rivals[:, ::-1]]).T
        often = (share[:, e] * (1 - share[:, f]) * share[:, f] * np.minimum(1.0, SURE * (1 - share[:, e]))).sum(axis=1)
        swaps = np.minimum(rate, _SWAPS * n_nodes / np.maximum(often, 1e-9))
        return Visits(share, rate, swaps, self.design.memory.reach)


@dataclass(frozen=True, eq=False)
class SpikeSlabManyStates(OneGroup):
    """Birth and death of edges in proportion to doubt, and Langevin steps of all parameters.

    Parameters
    ----------
    model : TwoArrays
        Potts or ordinal, with fields.
    s_bar, n_samples, prior, start, options, n_adapt, design
        As in `OneGroup`.
    tables : (n_edges, m, m) array or None
        Shares of the data in each pair of states (`bayesmrf.posterior.conditionals.pair_tables`), for lines of edges
        that do not depend on their ends.
    """

    tables: np.ndarray | None = None

    name, walks = "spike_slab_many_states", ByteWalker

    def check_model(self) -> None:
        """Raise OptionError unless the model has tables of states, with fields."""
        model: Any = self.model
        if not (model.fields and has_group_lines(model) and is_categorical(model)):
            expected = f"potts, ordinal, nominal or another PairwiseModel of many states with fields for {self.name!r}"
            raise OptionError(option="model", got=model.name, expected=expected)

    def make_design(self) -> Design:
        """Return the design for the kernel's data."""
        model, n = self.model, float(self.n_samples)
        lines = lines_of(model, self.s_bar, n, edge_prior(self.prior).tilt)
        problem = one_group_problem(model, lines, self.prior, rivals_in(model, self.s_bar, n))
        tables = None if self.tables is None else [self.tables]
        return table_design(model, problem, [(self.s_bar, n)], tables, self.options.momentum)
