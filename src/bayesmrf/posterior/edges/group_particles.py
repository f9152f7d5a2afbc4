"""Groups of people whose networks may differ in some edges, with moments from particles that follow the parameters.

The moves are those of `bayesmrf.posterior.conditionals.group_scan`, on graphs of any size. Each group has particles of
its own, whose weights follow its parameters as in `bayesmrf.posterior.edges.particle`: a baseline, or a coordinate of a
difference, is proposed by one half of the particles of all groups, and accepted by the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log1p
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...models.categorical import is_categorical
from ...models.ordinal import Ordinal
from ...particles.table_features import follow_feature, grown_by_feature, mean_shares, shares_of_states
from ...particles.tables import (
    TableGraph,
    TableParticles,
    UnpackedTableParticles,
    cells_again,
    edge_cells,
    follow_edge,
    follow_weights,
    grown_weights,
    redraw_ends,
    redraw_node,
    resample,
    spreads,
    start_particles,
    sweep,
    table_graph,
    unpack,
    weigh_node,
)
from ..conditionals.centred import node_row
from ..conditionals.group_lines import (
    Pair,
    baseline_line,
    centred_values,
    clear_difference,
    difference_line,
    draw_group_scales,
    draw_prior,
    one_group,
    propose_baseline,
    propose_difference,
    restore,
    set_baseline,
    set_difference,
)
from ..conditionals.line import line_log_density, line_mode
from ..conditionals.penalty import penalty
from ..conditionals.spike import node_precision
from ..conditionals.student_t import propose_move
from .differences import DifferencesKernel
from .group_table_swaps import of_group, visit_group_rivals
from .particle import REDRAWN, START, visit_field
from .spike_slab import SWEEPS, EdgeInfo


class GroupParticlesState(NamedTuple):
    """phi of `bayesmrf.posterior.edges.differences.group_maps`, and the particles of all groups, stacked."""

    theta: np.ndarray
    particles: TableParticles


@dataclass(frozen=True, eq=False)
class GroupParticles(DifferencesKernel):
    """Birth, death or move of the baseline and of the difference of every edge, with moments from particles.

    Parameters
    ----------
    likelihood, contrast, prior, baseline, biases, n_scans
        As in `DifferencesKernel`.
    n_particles : int
        Of each group; rounded up to a multiple of 128.
    """

    n_particles: int = 1024

    name = "group_particles"

    @property
    def particle_sweeps(self) -> int:
        """Gibbs sweeps of single particles that a step is worth."""
        return SWEEPS * self.n_scans * self.n_particles * len(self.contrast)

    @cached_property
    def _tables(self) -> Any:
        """The model with a table of states for each node."""
        model = self._model
        return model if is_categorical(model) else Ordinal(model.graph, 2)

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self._tables)

    def _unpacked(self, particles: TableParticles, natural: np.ndarray) -> UnpackedTableParticles:
        model, r = self._tables, self._model.n_edges
        parts = [
            unpack(TableParticles(*own), t[:r, None] * model.gains, model.categorical(t).field)
            for own, t in zip(zip(*particles, strict=True), natural, strict=True)
        ]
        return UnpackedTableParticles(*(np.stack(arrays) for arrays in zip(*parts, strict=True)))

    def init(self, rng: np.random.Generator) -> GroupParticlesState:
        """Start without weights, with particles swept there."""
        phi, model, n = self.first(), self._model, -(-self.n_particles // 128) * 128
        started = [start_particles(n, model.graph.n_nodes, model.n_states, rng) for _ in self.contrast]
        particles = TableParticles(*(np.stack(arrays) for arrays in zip(*started, strict=True)))
        stacked = self._unpacked(particles, self.group_theta(phi).natural)
        for _ in range(START):
            _sweep(self._graph, stacked)
        return GroupParticlesState(phi, TableParticles(stacked.x, stacked.lanes))

    def step(self, rng: np.random.Generator, state: GroupParticlesState) -> tuple[GroupParticlesState, EdgeInfo]:
        """Run ``n_scans`` scans."""
        theta, r = self.group_theta(state.theta), self._model.n_edges
        stacked, drawn = self._unpacked(state.particles, theta.natural), np.zeros(4)
        for _ in range(self.n_scans):
            drawn = _scan(rng, self._graph, stacked, self._problem, self._tables.gains, theta, rng.permutation(r))
        particles = TableParticles(stacked.x, stacked.lanes)
        return GroupParticlesState(self.phi(theta), particles), self.draw(theta, drawn[0], drawn[1])


@strict_leaf
def _sweep(graph, stacked):
    """Redraw all nodes of every particle of all groups."""
    for t in range(len(stacked.x)):
        sweep(graph, of_group(stacked, t))


@strict_leaf
def _scan(rng, graph, stacked, problem, gains, theta, order):
    """Visit the edges in ``order``, then all nodes; return p0 and precision of the slabs."""
    drawn = draw_group_scales(rng, problem, theta)
    (n_groups, n_nodes, n_particles), r, m = stacked.x.shape, len(order), len(problem.values)
    redrawn, half, g = 0.5 * REDRAWN * n_nodes / max(r, 1), n_particles >> 1, np.empty((n_groups, m * m))
    share, weights = np.empty((n_groups, m, n_particles), np.float32), np.empty((n_groups, n_particles), np.float32)
    for at in range(r):
        if at % n_nodes == 0:
            _sweep(graph, stacked)
        e = order[at]
        i, j = problem.edges[e, 0], problem.edges[e, 1]
        centred_values(problem, e, i, j, g)
        pairs = _pairs(theta, e, i, j, g)
        for t in range(n_groups):
            for side in range(2):
                edge_cells(graph, of_group(stacked, t), e, side * half, (side + 1) * half, pairs[side].cells[t])
                pairs[side].now[t] = pairs[side].cells[t]
        was = not _is_absent(theta, e)
        _visit(rng, graph, stacked, problem, gains, pairs, theta, drawn, share, weights)
        # With many more candidates than edges, particles need not be redrawn for each of them.
        if was or not _is_absent(theta, e) or rng.random() < redrawn:
            for t in range(n_groups):
                redraw_ends(graph, of_group(stacked, t), e)
    visit_group_rivals(rng, graph, stacked, problem, gains, theta, drawn, weights)
    own = np.empty((n_groups, m))
    for i in range(n_nodes):
        for t in range(n_groups):
            weigh_node(graph, of_group(stacked, t), i)
        for k in range(problem.starts[i], problem.starts[i + 1]):
            if problem.n_spiked > r:
                own[:] = problem.features[k - r]
                pairs = _pairs(theta, k, i, i, own)
                for t in range(n_groups):
                    _measure(graph, of_group(stacked, t), problem, pairs, t, share[t])
                _visit(rng, graph, stacked, problem, gains, pairs, theta, drawn, share, weights)
                continue
            for t in range(n_groups):
                natural, now, prior = theta.natural[t], theta.now[t], problem.baseline
                now[k] = node_precision(rng, prior, prior.bias_precision, natural[k])
                visit_field(
                    rng, of_group(stacked, t), one_group(problem, t), i, k, natural, now, share[t], weights[t]
                )  # fmt: skip
        for t in range(n_groups):
            redraw_node(of_group(stacked, t), i)
    for t in range(n_groups):
        for first in (0, half):
            resample(rng, of_group(stacked, t), first)
    return drawn


@strict_leaf
def _is_absent(theta, e):
    """Return whether all groups lack edge e."""
    return theta.baseline[e] == 0 and not theta.difference[:, e].any()


@strict_leaf
def _pairs(theta, e, i, j, g):
    """Return room for the probabilities of the ends of a feature, by both halves of the particles."""
    before, cells = theta.natural[:, e].copy(), np.empty((4, *g.shape))
    return Pair(e, (i, j), g, cells[0], cells[1], before), Pair(e, (i, j), g, cells[2], cells[3], before)


@strict_leaf
def _measure(graph, unpacked, problem, pairs, t, share):
    """Average the probabilities of the ends in group t over both halves, where its parameters are now.

    Of a node, ``share`` is set to the probabilities of its states in every particle.
    """
    e, (i, j), half = pairs[0].e, pairs[0].ends, unpacked.x.shape[1] >> 1
    if i == j:
        shares_of_states(unpacked, share)
    for side in range(2):
        pair, first = pairs[side], side * half
        if i == j:
            mean_shares(unpacked, i, pair.g[t], share, first, first + half, pair.cells[t])
        else:
            cells_again(graph, unpacked, e, first, first + half, pair.cells[t])
        pair.now[t] = pair.cells[t]


@strict_leaf
def _visit(rng, graph, stacked, problem, gains, pairs, theta, drawn, share, weights):
    """Propose the birth or death of the baseline, another baseline, and likewise for the difference."""
    e, prior, q = pairs[0].e, draw_prior(rng, problem, pairs[0], theta, drawn), len(theta.difference)
    for move in range(3 + q):
        baseline, difference = theta.baseline[e], theta.difference[:, e].copy()
        if move == 0:
            if prior.birth == np.inf:
                continue
            ratio = propose_baseline(rng, problem, pairs, theta, prior, baseline)
            if baseline != 0:
                ratio = -ratio
                set_baseline(problem, pairs, theta, 0.0)
        elif move == 2:
            if prior.log_odds == np.inf:
                continue
            ratio = propose_difference(rng, problem, pairs, theta, prior, difference)
            if difference.any():
                ratio = -ratio
                clear_difference(problem, pairs, theta)
        # Also after a birth: otherwise the stationary distribution would be different.
        elif prior.birth < np.inf and baseline == 0 if move == 1 else prior.log_odds < np.inf and not difference.any():
            continue
        else:
            ratio = _propose_value(rng, problem, pairs, theta, prior, move - 3)
        if not _accept(rng, graph, stacked, problem, gains, pairs, theta, ratio, share, weights):
            restore(problem, pairs, theta, baseline, difference)


@strict_leaf
def _propose_value(rng, problem, pairs, theta, prior, k):
    """Propose another value of coordinate k of a difference, or (k < 0) of a baseline; return the log ratio."""
    e = pairs[0].e
    if k < 0:
        a = theta.baseline[e]
        line, last = baseline_line(problem, pairs[0], theta, prior), baseline_line(problem, pairs[1], theta, prior)
    else:
        a = theta.difference[k, e]
        line = difference_line(problem, pairs[0], theta, prior, k)
        last = difference_line(problem, pairs[1], theta, prior, k)
    mode, scale = line_mode(line)
    new, ratio = propose_move(rng, a, mode, scale)
    ratio += line_log_density(new, last) - line_log_density(a, last)
    if k < 0:
        set_baseline(problem, pairs, theta, new)
    else:
        set_difference(problem, pairs, theta, k, new)
    return ratio


@strict_leaf
def _accept(rng, graph, stacked, problem, gains, pairs, theta, ratio, share, weights):
    """Accept a move of one feature in all groups, or not, by its log ratio; let the particles follow.

    ``weights`` is room for those of the particles.
    """
    (e, (i, j), g, before), half = (pairs[0].e, pairs[0].ends, pairs[0].g, pairs[0].before), stacked.x.shape[2] >> 1
    ratio -= log1p(-rng.random())
    for t in range(len(before) if ratio > 0 else 0):  # before the penalty, which is never negative
        unpacked, change = of_group(stacked, t), theta.natural[t, e] - before[t]
        if i == j:
            grown_by_feature(unpacked, g[t], change, share[t], weights[t])
        else:
            grown_weights(graph, unpacked, e, change * g[t], weights[t])
        others, own = spreads(unpacked.weights, weights[t])
        ratio -= penalty(problem.n[t], own, others, half)
    if not ratio > 0:
        return False
    for t in range(len(before)):
        unpacked = of_group(stacked, t)
        if i == j:
            follow_feature(unpacked, i, g[t], theta.natural[t, e] - before[t])
        follow_weights(rng, unpacked, weights[t])
        if i != j:
            one, natural = one_group(problem, t), theta.natural[t]
            follow_edge(unpacked, gains, e, natural[e], i, node_row(one, natural, i), j, node_row(one, natural, j))
        before[t] = theta.natural[t, e]
        _measure(graph, unpacked, problem, pairs, t, share[t])
    return True
