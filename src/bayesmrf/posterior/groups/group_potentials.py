"""Groups on any graph of nodes with many states, with moments from particles that follow theta edge by edge.

The scans are those of `bayesmrf.posterior.groups.two_states`, with `bayesmrf.states.edge_tables`, but for flips of
clusters. Edges of one parameter (Potts) are logits, edges with a table of log potentials are drawn jointly
(`bayesmrf.posterior.groups.prior.reassign_potential`), and those of the ordinal model are lines
(`bayesmrf.posterior.groups.prior.reassign_line`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...compiled import copy_to, strict_leaf
from ...declare.option import Checked, option
from ...declare.rule import STATES
from ...states.edge_tables import (
    TableGraph,
    TableParticles,
    UnpackedTableParticles,
    edge_categories,
    edge_cells,
    follow_edge,
    grown_weights,
    spread_of_growth,
    start_particles,
    table_graph,
    unpack,
)
from ...states.importance import START_SWEEPS
from ...states.table_sweeps import redraw_ends, refresh, sweep
from ...states.weights import even_out, follow_states, n_effective
from ..conditionals.centred import data_shares, edge_line, move_edge, node_row, pair_values
from ..conditionals.line import line_derivatives, line_parabola
from ..conditionals.log_concave import draw_exactly
from ..conditionals.noisy_draws import coordinate_with, line_with
from ..conditionals.one_coordinate import OneCoordinate
from ..conditionals.one_potential import OnePotential
from .blocks import Block
from .dirichlet_process import ABSENT, Grouping, group_totals, value_of
from .items import Logits, NodeLines, Products
from .moves.jumps import accept_jump, accept_jump_of_potentials, accept_jump_of_products
from .moves.pairs import draw_pair, near_edge
from .moves.potential_values import MovedFields, category_counts, move_potentials, state_counts
from .moves.split_merge import Proposal
from .moves.table_fields import draw_fields, draw_node_lines, scan_fields
from .moves.values import group_counts, group_products, move_values
from .potentials import Potentials
from .prior import reassign, reassign_line, reassign_potential
from .scans import stays_absent
from .two_states import PARTICLE_DIMS


@dataclass(frozen=True, eq=False)
class ManyStateParticles(Checked):
    """Particles of a model of nodes with many states.

    Parameters
    ----------
    model : ManyStateModel
    n_particles : int
        Rounded up to a multiple of 64.
    rivals : (n_edges, k) int array, optional
        Edges with which each edge may be swapped (`bayesmrf.posterior.conditionals.rivals.rivals`).
    """

    model: Any
    n_particles: int = option(1024, STATES)
    rivals: np.ndarray | None = None

    name = "particle"
    dims = PARTICLE_DIMS

    @cached_property
    def graph(self) -> TableGraph:
        """Rows of the graph."""
        return table_graph(self.model, self.rivals)

    def potentials(self, theta: np.ndarray) -> np.ndarray:
        """Return the potentials of the edges at their parameters ``theta``, (n_edges, p)."""
        return theta.reshape(self.model.n_edges, self.model.n_parameters) * self.model.gains

    def _unpack(self, particles: TableParticles, theta: np.ndarray) -> UnpackedTableParticles:
        edges = theta[: self.model.n_edges * self.model.n_parameters]
        return unpack(particles, self.potentials(edges), self.model.field_table(theta[len(edges) :]))

    def start(self, theta: np.ndarray, rng: np.random.Generator) -> TableParticles:
        """Return particles refreshed at theta."""
        n_nodes, r = self.model.graph.n_nodes, self.model.n_edges
        unpacked = self._unpack(start_particles(self.n_particles, n_nodes, self.model.n_states, rng), theta)
        coupled = np.flatnonzero(unpacked.potentials.any(axis=1))
        for _ in range(START_SWEEPS):
            refresh(self.graph, unpacked, rng.permutation(coupled))
            if len(coupled) < r:
                sweep(self.graph, unpacked)
        return TableParticles(unpacked.x, unpacked.lanes)

    def thaw(self, memory: TableParticles, theta: np.ndarray, s_bar: np.ndarray, n: float) -> ManyStateWalk:
        """Return the mutable state at theta."""
        return ManyStateWalk(self, self._unpack(memory, theta), s_bar, n)


class _ByLines(NamedTuple):
    """Lines of the edges, precisions of normal priors, and values of the feature of an edge but 0."""

    lines: Any
    precision: np.ndarray
    gains: np.ndarray


class ManyStateWalk:
    """Mutable theta within a step, and the particles that follow it."""

    def __init__(self, marginals: ManyStateParticles, unpacked: UnpackedTableParticles, s_bar: np.ndarray, n: float):
        self._marginals, self._model, self._graph = marginals, marginals.model, marginals.graph
        self._unpacked, self._s_bar, self._n = unpacked, s_bar, n
        self._accepted, self._noise = 0.0, 0.0

    @property
    def theta(self) -> np.ndarray:
        """Parameters of the particles."""
        edges = self._unpacked.potentials[:, : self._model.n_parameters] / self._model.gains[0]
        return np.concatenate([edges.ravel(), self._model.from_field_table(self._unpacked.field)])

    def freeze(self) -> TableParticles:
        """Return the particles to be kept."""
        return TableParticles(self._unpacked.x, self._unpacked.lanes)

    def stats(self) -> dict[str, float]:
        """Return statistics of the step."""
        return {"likelihood_noise": self._noise, "acceptance_values": self._accepted}

    def mix(self, rng: np.random.Generator) -> None:
        """Do nothing: particles are redrawn as theta moves."""

    def scan(
        self, rng: np.random.Generator, block: Block, state: Grouping, n_pairs: int
    ) -> tuple[Grouping, np.ndarray]:
        """Reassign all edges, then (with features in {0, 1}) pairs of them; return the log odds nu of the edges."""
        urn, r = block.open(state), len(state.groups)
        nu, between = np.zeros(block.fit_shape), np.empty(r)
        order = rng.permutation(r)
        if isinstance(block, Products):
            by = self._by(block), self.theta
            _scan_products(rng, self._graph, self._unpacked, *by, order, self._n, urn, nu, between)
        else:
            leaf = _scan_logits if isinstance(block, Logits) else _scan_potentials
            leaf(rng, self._graph, self._unpacked, order, block.counts, self._n, urn, nu, between)
        if isinstance(block, Logits) and self._graph.rivals.shape[1] > 0:
            order = np.concatenate([rng.permutation(r) for _ in range(n_pairs)])
            _scan_pairs(rng, self._graph, self._unpacked, order, block.counts, self._n, urn)
        even_out(rng, self._unpacked)
        self._noise = float(np.sqrt(self._n / self._unpacked.x.shape[1] * np.quantile(between, 0.95)))
        return block.close(urn, state), nu

    def _by(self, block: Products) -> _ByLines:
        return _ByLines(block.lines, block.precision, self._marginals.model.gains)

    def _move_weights(self, rng: np.random.Generator, block: Products, state: Grouping) -> np.ndarray:
        """Redraw the values of groups with one edge, one by one, then of larger groups, each on a centred line."""
        graph, unpacked, prior = self._graph, self._unpacked, block.constants(state)
        r, values, theta = len(state.groups), state.values.copy(), self.theta
        sizes = np.bincount(state.groups[state.groups >= 0], minlength=len(values))
        present = np.flatnonzero(state.groups >= 0)
        alone = present[sizes[state.groups[present]] == 1]
        _scan_weights(rng, graph, unpacked, self._by(block), theta, alone)
        even_out(rng, unpacked)
        values[state.groups[alone]] = theta[alone]
        accepted, shared = 0.0, rng.permutation(np.flatnonzero(sizes > 1))
        for c in shared:
            members = np.flatnonzero(state.groups == c)
            # The parameters of the nodes move along d; their normal prior is part of that of the value.
            d = theta - block.moved(theta, members, values[c] + 1)
            score, precision = -d @ block.lines.sums, block.precision[r:]
            pull, kappa = precision @ (theta[r:] * d[r:]), precision @ d[r:] ** 2
            score += pull + kappa * values[c]
            counts = group_products(graph.edges, members, np.zeros(r, np.int32), 1, unpacked.x, *self._scores(block))
            accepted += move_values(
                rng, counts, np.full(1, 2.0), np.inf, np.array([score]), values[c : c + 1], self._n,
                prior._replace(kappa=prior.kappa + kappa), unpacked.x,
            )  # fmt: skip
            theta = block.moved(theta, members, values[c])
            self._set(theta)
        self._accepted = accepted / max(1, len(shared))
        return values

    def _scores(self, block: Products) -> tuple[np.ndarray, np.ndarray]:
        """Scores of the states, and mean of each node in the data; 0 without node parameters, which centre it."""
        lines, score = block.lines, self._model.score
        means = data_shares(self._model, lines.sums / max(lines.n, 1), lines.n) @ score * (lines.pull.shape[2] > 0)
        return score.astype(np.float32), means.astype(np.float32)

    def _set(self, theta: np.ndarray) -> None:
        """Set the parameters of the particles."""
        r = self._model.n_edges * self._model.n_parameters
        self._unpacked.potentials[...] = self._marginals.potentials(theta[:r])
        self._unpacked.field[...] = self._model.field_table(theta[r:])

    def _moved(self, block: Potentials) -> MovedFields | None:
        """Collect the fields that move with the tables of edges, if they are separate."""
        if block.lines is None:
            return None
        field = self._unpacked.field[:, 1:]
        counts = (self._n * self._s_bar[block.end :]).reshape(field.shape)
        return MovedFields(block.lines, field, counts, block.kappa)

    def move_values(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the values of groups with one edge one by one, then those of larger groups."""
        graph, unpacked, n, groups = self._graph, self._unpacked, self._n, state.groups
        values, present = state.values.copy(), np.flatnonzero(groups >= 0)
        if isinstance(block, Products):
            return state._replace(values=self._move_weights(rng, block, state))
        if isinstance(block, Potentials):
            self._accepted = move_potentials(
                rng, lambda members: category_counts(graph.edges, graph.category, members, block.p, unpacked.x),
                unpacked.x, groups, values, block.counts, n, block.base[0], self._moved(block),
            )  # fmt: skip
        else:
            prior = block.constants(state)
            sizes, totals = group_totals(groups, block.counts, len(values))
            alone = present[sizes[groups[present]] == 1]
            _scan_values(rng, graph, unpacked, alone, block.counts, n, prior)
            even_out(rng, unpacked)
            values[groups[alone]] = unpacked.potentials[alone, 0]
            counts = group_counts(graph.edges, present, groups, len(values), unpacked.x)
            self._accepted = float(move_values(rng, counts, sizes, 1.0, totals, values, n, prior, unpacked.x))
        state = state._replace(values=values)
        unpacked.potentials[...] = self._marginals.potentials(block.theta(state))
        return state

    def move_fields(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the groups of the nodes, if their fields are grouped, and all values."""
        graph, unpacked, n = self._graph, self._unpacked, self._n
        order = rng.permutation(len(unpacked.x))
        if isinstance(block, NodeLines):
            theta = self.theta
            draw_node_lines(rng, graph, unpacked, block.lines, block.precision, theta, order)
            even_out(rng, unpacked)
            return state._replace(values=theta[block.first :])
        if isinstance(block, Logits) and not block.grouped:
            draw_fields(rng, graph, unpacked, order, block.counts.reshape(len(order), -1), n)
            return state._replace(values=self._model.from_field_table(unpacked.field))
        assert isinstance(block, Potentials)
        urn = block.open(state)
        scan_fields(rng, graph, unpacked, order, block.counts, n, urn)
        state = block.close(urn, state)
        values = state.values.copy()
        move_potentials(
            rng, lambda members: state_counts(members, block.p, unpacked.x),
            unpacked.x, state.groups, values, block.counts, n, block.base[0],
        )  # fmt: skip
        state = state._replace(values=values)
        unpacked.field[:, 1:] = state.spread()
        return state

    def accept(self, rng: np.random.Generator, block: Block, tried: Proposal, theta: np.ndarray) -> bool:
        """Accept or reject a split or a merge, which moves all parameters to ``theta``."""
        edges, x = self._graph.edges, self._unpacked.x
        if isinstance(block, Products):
            products = group_products(edges, tried.members, tried.part, 2, x, *self._scores(block))
            accepted = accept_jump_of_products(rng, tried, products, block.centred_sums, self._n, x)
        elif isinstance(block, Logits):
            accepted = accept_jump(rng, tried, edges, block.counts, self._n, x)
        else:
            accepted = accept_jump_of_potentials(rng, tried, edges, self._graph.category, block.counts, self._n, x)
        if accepted:
            self._set(theta)
        return accepted


@strict_leaf
def _nu(q, potential):
    return log(q[1] / q[0]) - potential


@strict_leaf
def _scan_logits(rng, graph, unpacked, order, successes, n, urn, nu, between):
    """Reassign the edges in ``order`` one by one, each from the current particles."""
    for i in order:
        q, between[i] = edge_categories(graph, unpacked, i)
        nu[i] = _nu(q, unpacked.potentials[i, 0])
        was, noise = urn.groups[i], n / n_effective(unpacked.weights) * between[i]
        reassign(rng, i, successes[i], n, nu[i], noise, urn)
        if not stays_absent(rng, graph, unpacked, was, urn.groups[i]):
            _move(graph, unpacked, i, np.full(1, value_of(urn, i)))


@strict_leaf
def _scan_potentials(rng, graph, unpacked, order, counts, n, urn, nu, between):
    """Reassign edges with tables, as `_scan_logits`."""
    nothing = np.zeros(unpacked.potentials.shape[1])
    for i in order:
        q, between[i] = edge_categories(graph, unpacked, i)
        nu[i] = np.log(q[1:] / q[0]) - unpacked.potentials[i]
        conditional = OnePotential(counts[i], n, nu[i], urn.prior.precision, urn.prior.log_constant)
        was, noise = urn.groups[i], n / n_effective(unpacked.weights) * between[i]
        reassign_potential(rng, i, conditional, noise, urn)
        if not stays_absent(rng, graph, unpacked, was, urn.groups[i]):
            _move(graph, unpacked, i, nothing if urn.groups[i] == ABSENT else urn.values[urn.groups[i]])


@strict_leaf
def _scan_products(rng, graph, unpacked, by, theta, order, n, urn, nu, between):
    """Reassign edges whose features are products of scores, as `_scan_logits`; ``theta`` follows.

    ``between`` is that of `_between`.
    """
    lines = by.lines
    cells, weights = np.empty(by.lines.values.size), np.empty(unpacked.x.shape[1], np.float32)
    for e in order:
        i, j = lines.edges[e, 0], lines.edges[e, 1]
        edge_cells(graph, unpacked, e, 0, unpacked.x.shape[1], cells)
        line = edge_line(lines, cells, cells.sum(), e, i, j, theta, by.precision)
        nu[e, 0], nu[e, 1] = line_parabola(line, by.precision[e])
        between[e] = _between(graph, unpacked, e, line, theta[e], weights)
        was, noise = urn.groups[e], n / unpacked.x.shape[1] * between[e]
        reassign_line(rng, e, line, noise, urn)
        if not stays_absent(rng, graph, unpacked, was, urn.groups[e]):
            _move_weight(graph, unpacked, by, e, theta, value_of(urn, e), weights)


@strict_leaf
def _move(graph, unpacked, i, potential):
    """Move the potential of edge i, then redraw its ends; the weights of the particles follow."""
    log_factors = np.zeros(graph.category.size)
    for x, j in enumerate(graph.category.ravel()):
        if j > 0:
            log_factors[x] = potential[j - 1] - unpacked.potentials[i, j - 1]
    follow_states(graph, unpacked, i, log_factors, np.empty(unpacked.x.shape[1], np.float32))
    copy_to(unpacked.potentials[i], potential)
    redraw_ends(graph, unpacked, i)


@strict_leaf
def _move_weight(graph, unpacked, by, e, theta, value, room):
    """Move edge e along its line, then redraw its ends; the weights of the particles follow."""
    lines = by.lines
    i, j = lines.edges[e, 0], lines.edges[e, 1]
    follow_states(graph, unpacked, e, (value - theta[e]) * pair_values(lines, e, i, j), room)
    move_edge(lines, e, i, j, theta, value)
    gains, field_i, field_j = by.gains.reshape(1, -1), node_row(lines, theta, i), node_row(lines, theta, j)
    follow_edge(unpacked, gains, e, e, theta[e : e + 1], i, field_i, j, field_j)
    redraw_ends(graph, unpacked, e)


@strict_leaf
def _between(graph, unpacked, e, line, a, weights):
    """Return n times the variance over the particles of log Z where weight a is one standard deviation larger.

    ``weights`` is room for those of the particles there.
    """
    sample = line.samples[0]
    grown_weights(graph, unpacked, e, sample.g / sqrt(line_derivatives(a, line)[1]), weights)
    return sample.n * spread_of_growth(unpacked.weights, weights)[0]


@strict_leaf
def _scan_weights(rng, graph, unpacked, by, theta, order):
    """Draw exactly the weights of the edges in ``order``, which are in groups of their own."""
    lines, cells, weights = by.lines, np.empty(by.lines.values.size), np.empty(unpacked.x.shape[1], np.float32)
    for e in order:
        i, j = lines.edges[e, 0], lines.edges[e, 1]
        edge_cells(graph, unpacked, e, 0, unpacked.x.shape[1], cells)
        line = edge_line(lines, cells, cells.sum(), e, i, j, theta, by.precision)
        noise = lines.n / len(weights) * _between(graph, unpacked, e, line, theta[e], weights)
        value = draw_exactly(rng, line_with(line, noise, line.score))
        _move_weight(graph, unpacked, by, e, theta, value, weights)


@strict_leaf
def _scan_pairs(rng, graph, unpacked, order, successes, n, urn):
    """Reassign each edge in ``order`` together with one near it."""
    for i in order:
        j = near_edge(rng, graph, i)
        if j < 0:
            continue
        at = unpacked.potentials[i, 0], unpacked.potentials[j, 0]
        moved = draw_pair(rng, graph.edges, unpacked.x, unpacked.weights, at, successes, n, i, j, urn)
        if moved.spread < 0:
            continue
        for e, value in ((i, moved.first), (j, moved.second)):
            edge_categories(graph, unpacked, e)
            _move(graph, unpacked, e, np.full(1, value))


@strict_leaf
def _scan_values(rng, graph, unpacked, order, successes, n, prior):
    """Draw exactly the values of the edges in ``order``, which are in groups of their own."""
    for i in order:
        q, between = edge_categories(graph, unpacked, i)
        nu, s, noise = _nu(q, unpacked.potentials[i, 0]), successes[i], n / n_effective(unpacked.weights) * between
        conditional = OneCoordinate(s, n, nu, prior.a, prior.b, prior.kappa)
        value = draw_exactly(rng, coordinate_with(conditional, noise, s)) - nu
        _move(graph, unpacked, i, np.full(1, value))
