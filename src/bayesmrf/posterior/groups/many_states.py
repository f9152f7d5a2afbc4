"""Groups on any graph of nodes with many states, with moments from particles that follow theta edge by edge.

The scans are those of `bayesmrf.posterior.groups.two_states`, with `bayesmrf.particles.tables`. There are no cluster
flips, so that particles lag further behind theta if couplings are strong. Edges of one parameter (Potts) are logits,
edges with a table of log potentials are drawn jointly (`bayesmrf.posterior.groups.prior.reassign_potential`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np

from ...compiled import strict_leaf
from ...options import Checked
from ...particles.tables import (
    TableCrowd,
    TableGraph,
    TableParticles,
    edge_categories,
    redraw_ends,
    redraw_node,
    refresh,
    start_particles,
    table_graph,
    unpack,
    weigh_node,
)
from ..conditionals.log_concave import draw
from ..conditionals.one_coordinate import OneCoordinate
from ..conditionals.one_potential import OnePotential
from .blocks import Block, Logits, Potentials
from .dirichlet_process import ABSENT, Grouping, group_totals
from .moves.jumps import accept_jump, accept_jump_of_potentials
from .moves.pairs import draw_pair, near_edge
from .moves.potential_values import category_counts, move_potentials, state_counts
from .moves.split_merge import Proposal
from .moves.table_fields import draw_fields, scan_fields
from .moves.values import group_counts, move_values
from .prior import reassign, reassign_potential, value_of
from .two_states import PARTICLE_DIMS

_START = 20  # scans of the particles before the first step
_REDRAWN = 2.0  # mean number of times a scan redraws each node for edges that stay absent


@dataclass(frozen=True, eq=False)
class ManyStateParticles(Checked):
    """Particles of a model of nodes with many states.

    Parameters
    ----------
    model : Potts or Symmetric
    n_particles : int
        Rounded up to a multiple of 64.
    rivals : (n_edges, k) int array, optional
        Edges with which each edge may be swapped (`bayesmrf.posterior.conditionals.rivals.rivals`).
    """

    model: Any
    n_particles: int = 1024
    rivals: np.ndarray | None = None

    name = "particle"
    dims = PARTICLE_DIMS
    is_exact = False

    @cached_property
    def graph(self) -> TableGraph:
        """Rows of the graph."""
        return table_graph(self.model, self.rivals)

    def _unpack(self, particles: TableParticles, theta: np.ndarray) -> TableCrowd:
        r, p = self.model.n_edges, self.model.n_parameters
        return unpack(particles, theta[: r * p].reshape(r, p), self.model.categorical(theta).field)

    def start(self, theta: np.ndarray, rng: np.random.Generator) -> TableParticles:
        """Return particles refreshed at theta."""
        n_nodes, r = self.model.graph.n_nodes, self.model.n_edges
        crowd = self._unpack(start_particles(self.n_particles, n_nodes, self.model.n_states, rng), theta)
        there = np.flatnonzero(crowd.potentials.any(axis=1))
        for _ in range(_START):
            refresh(self.graph, crowd, rng.permutation(there))
            if len(there) < r:
                for i in range(n_nodes):
                    weigh_node(self.graph, crowd, i)
                    redraw_node(crowd, i)
        return TableParticles(crowd.x, crowd.lanes)

    def thaw(self, memory: TableParticles, theta: np.ndarray, s_bar: np.ndarray, n: float) -> ManyStateWalk:
        """Return the mutable state at theta."""
        return ManyStateWalk(self, self._unpack(memory, theta), n)


class ManyStateWalk:
    """Mutable theta within a step, and the particles that follow it."""

    def __init__(self, marginals: ManyStateParticles, crowd: TableCrowd, n: float):
        self._model, self._graph, self._crowd, self._n = marginals.model, marginals.graph, crowd, n
        self._accepted, self._noise = 0.0, 0.0

    @property
    def theta(self) -> np.ndarray:
        """Parameters of the particles."""
        fields = self._crowd.field[:, 1:].ravel() if self._model.fields else np.empty(0)
        return np.concatenate([self._crowd.potentials.ravel(), fields])

    def freeze(self) -> TableParticles:
        """Return the particles to be kept."""
        return TableParticles(self._crowd.x, self._crowd.lanes)

    def stats(self) -> dict[str, float]:
        """Return statistics of the step."""
        return {"likelihood_noise": self._noise, "acceptance_values": self._accepted}

    def odds(self, e: int) -> np.ndarray:
        """Return the log odds of the categories of edge e in the model without it."""
        q, _ = edge_categories(self._graph, self._crowd, e)
        return np.log(q[1:] / q[0]) - self._crowd.potentials[e]

    def mix(self, rng: np.random.Generator) -> None:
        """Do nothing: particles are redrawn as theta moves."""

    def scan(
        self, rng: np.random.Generator, block: Block, state: Grouping, n_pairs: int
    ) -> tuple[Grouping, np.ndarray]:
        """Reassign all edges, then (with one parameter each) pairs of them; return the log odds nu of the edges."""
        urn, r = block.open(state), len(state.groups)
        nu, between = np.empty(block.counts.shape), np.empty(r)
        leaf = _scan_logits if isinstance(block, Logits) else _scan_potentials
        held = rng.permutation(r), block.counts, self._n, urn.groups, urn.values, urn.sizes, urn.k, urn.prior
        urn.take(leaf(rng, self._graph, self._crowd, *held, nu, between))
        if isinstance(block, Logits) and self._graph.rivals.shape[1] > 0:
            order = np.concatenate([rng.permutation(r) for _ in range(n_pairs)])
            held = order, block.counts, self._n, urn.groups, urn.values, urn.sizes, urn.k, urn.prior
            urn.take(_scan_pairs(rng, self._graph, self._crowd, *held))
        self._noise = float(np.sqrt(self._n / self._crowd.x.shape[1] * np.quantile(between, 0.95)))
        return block.close(urn, state), nu

    def move_values(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the values of groups with one edge one by one, then those of larger groups."""
        graph, crowd, n, groups = self._graph, self._crowd, self._n, state.groups
        values, there = state.values.copy(), np.flatnonzero(groups >= 0)
        if isinstance(block, Potentials):

            def counts_of(members: np.ndarray) -> np.ndarray:
                return category_counts(graph.edges, graph.category, members, block.p, crowd.x)

            self._accepted = move_potentials(rng, counts_of, crowd.x, groups, values, block.counts, n, block.base[0])
        else:
            prior = block.constants(state)
            sizes, totals = group_totals(groups, block.counts, len(values))
            alone = there[sizes[groups[there]] == 1]
            _scan_values(rng, graph, crowd, alone, block.counts, n, prior)
            values[groups[alone]] = crowd.potentials[alone, 0]
            counts = group_counts(graph.edges, there, groups, len(values), crowd.x)
            self._accepted = float(move_values(rng, counts, sizes, totals, values, n, prior, crowd.x))
        state = state._replace(values=values)
        self._place(block, block.theta(state))
        return state

    def move_fields(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the groups of the nodes, if their fields are grouped, and all values."""
        graph, crowd, n = self._graph, self._crowd, self._n
        order, m = rng.permutation(len(crowd.x)), self._model.n_states
        if isinstance(block, Logits) and not block.grouped:
            draw_fields(rng, graph, crowd, order, block.counts.reshape(-1, m - 1), n)
            return state._replace(values=crowd.field[:, 1:].ravel())
        assert isinstance(block, Potentials)
        urn = block.open(state)
        given = urn.groups, urn.values, urn.sizes, urn.k, urn.prior
        urn.take(scan_fields(rng, graph, crowd, order, block.counts, n, *given))
        state = block.close(urn, state)
        values = state.values.copy()

        def counts_of(members: np.ndarray) -> np.ndarray:
            return state_counts(members, block.p, crowd.x)

        move_potentials(rng, counts_of, crowd.x, state.groups, values, block.counts, n, block.base[0])
        state = state._replace(values=values)
        crowd.field[:, 1:] = state.spread()
        return state

    def accept(self, rng: np.random.Generator, block: Block, tried: Proposal, theta: np.ndarray) -> bool:
        """Accept or reject a split or a merge, with the block at ``theta``."""
        edges, x = self._graph.edges, self._crowd.x
        if isinstance(block, Logits):
            accepted = accept_jump(rng, tried, edges, block.counts, self._n, x)
        else:
            accepted = accept_jump_of_potentials(rng, tried, edges, self._graph.category, block.counts, self._n, x)
        if accepted:
            self._place(block, theta)
        return accepted

    def _place(self, block: Block, theta: np.ndarray) -> None:
        self._crowd.potentials[...] = theta.reshape(self._crowd.potentials.shape)


@strict_leaf
def _nu(q, potential):
    return log(q[1] / q[0]) - potential


@strict_leaf
def _stays_absent(rng, graph, crowd, was, now):
    """Return whether the particles need not follow: candidates are many more than edges."""
    share = 0.5 * _REDRAWN * len(crowd.x) / max(len(graph.edges), 1)
    return was == ABSENT and now == ABSENT and rng.random() > share


@strict_leaf
def _scan_logits(rng, graph, crowd, order, successes, n, groups, values, sizes, k, prior, nu, between):
    """Reassign the edges in ``order`` one by one, each from the current particles; return (values, sizes, k)."""
    for i in order:
        q, between[i] = edge_categories(graph, crowd, i)
        nu[i] = _nu(q, crowd.potentials[i, 0])
        was = groups[i]
        values, sizes, k = reassign(rng, i, successes[i], n, nu[i], groups, values, sizes, k, prior)
        if _stays_absent(rng, graph, crowd, was, groups[i]):
            continue
        crowd.potentials[i, 0] = value_of(groups, values, i)
        redraw_ends(graph, crowd, i)
    return values, sizes, k


@strict_leaf
def _scan_potentials(rng, graph, crowd, order, counts, n, groups, values, sizes, k, prior, nu, between):
    """Reassign edges with tables, as `_scan_logits`."""
    for i in order:
        q, between[i] = edge_categories(graph, crowd, i)
        nu[i] = np.log(q[1:] / q[0]) - crowd.potentials[i]
        law = OnePotential(counts[i], n, nu[i], prior.precision, prior.log_constant)
        was = groups[i]
        values, sizes, k = reassign_potential(rng, i, law, groups, values, sizes, k, prior)
        if _stays_absent(rng, graph, crowd, was, groups[i]):
            continue
        if groups[i] == ABSENT:
            crowd.potentials[i] = 0.0
        else:
            crowd.potentials[i] = values[groups[i]]
        redraw_ends(graph, crowd, i)
    return values, sizes, k


@strict_leaf
def _scan_pairs(rng, graph, crowd, order, successes, n, groups, values, sizes, k, prior):
    """Reassign each edge in ``order`` together with one near it. Returns (values, sizes, k)."""
    m = crowd.x.shape[1]
    for i in order:
        j = near_edge(rng, graph, i)
        if j < 0:
            continue
        at = crowd.potentials[i, 0], crowd.potentials[j, 0]
        moved, values, sizes, k = draw_pair(
            rng, graph.edges, crowd.x, m, at, successes, n, prior, i, j, groups, values, sizes, k
        )
        if moved.spread < 0:
            continue
        for e, value in ((i, moved.first), (j, moved.second)):
            edge_categories(graph, crowd, e)
            crowd.potentials[e, 0] = value
            redraw_ends(graph, crowd, e)
    return values, sizes, k


@strict_leaf
def _scan_values(rng, graph, crowd, order, successes, n, prior):
    """Draw exactly the values of the edges in ``order``, which are in groups of their own."""
    for i in order:
        nu = _nu(edge_categories(graph, crowd, i)[0], crowd.potentials[i, 0])
        law = OneCoordinate(successes[i], n, nu, prior.a, prior.b, prior.kappa)
        crowd.potentials[i, 0] = draw(rng, law) - nu
        redraw_ends(graph, crowd, i)
