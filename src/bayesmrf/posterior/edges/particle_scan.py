"""Scans of edges by particles that follow theta: of one group of observations, or of several whose networks may differ.

Each group has particles of its own. A baseline, or a coordinate of a difference, has its full conditional
(`bayesmrf.posterior.conditionals.group_lines`) from the joint distribution of the ends of its edge, which is averaged
over particles given their other nodes (`bayesmrf.states.tables`): over one half of them to propose a value, over the
other to accept it, so that the two errors are independent. The error of the log ratio has its penalty
(`..conditionals.penalty`). Then the particles are weighted by the ratio of the two densities, so that they do not lag
behind theta, and both ends are redrawn in each of them; a half in which few have most of the weight is resampled. The
edges of one group are baselines that may be absent, without differences.
"""

from __future__ import annotations

from math import log1p
from typing import Any

import numpy as np

from ...compiled import strict_leaf
from ...states.importance import START_SWEEPS, redrawn_share
from ...states.table_features import follow_feature, grown_by_feature, mean_shares, shares_of_states
from ...states.table_sweeps import redraw_ends, redraw_node, sweep, weigh_node
from ...states.tables import (
    TableGraph,
    TableParticles,
    UnpackedTableParticles,
    cells_again,
    edge_cells,
    follow_edge,
    follow_weights,
    grown_weights,
    resample,
    spreads,
    start_particles,
    unpack,
)
from ..conditionals.centred import node_line, node_row
from ..conditionals.group_lines import (
    coordinates,
    draw_group_scales,
    draw_prior,
    line_of,
    new_pair,
    one_group,
    propose,
    restore,
    set_weight,
    take_away,
    value_of,
)
from ..conditionals.line import line_log_density, line_mode
from ..conditionals.penalty import penalty
from ..conditionals.spike import node_precision
from ..conditionals.student_t import draw_t, log_t, propose_move
from .particle_swaps import of_group, visit_rivals


def started(model: Any, graph: TableGraph, natural: np.ndarray, n: int, rng: np.random.Generator) -> TableParticles:
    """Return at least n particles of each group, swept at the parameters ``natural`` (G, F)."""
    size = -(-n // 128) * 128
    parts = [start_particles(size, model.graph.n_nodes, model.n_states, rng) for _ in natural]
    stacked = unpacked(model, TableParticles(*(np.stack(arrays) for arrays in zip(*parts, strict=True))), natural)
    for _ in range(START_SWEEPS):
        _sweep(graph, stacked)
    return TableParticles(stacked.x, stacked.lanes)


def unpacked(model: Any, particles: TableParticles, natural: np.ndarray) -> UnpackedTableParticles:
    """Return the stacked particles of all groups, with weights of 1, at the parameters ``natural`` (G, F)."""
    r = model.n_edges
    parts = [
        unpack(TableParticles(*own), t[:r, None] * model.gains, model.categorical(t).field)
        for own, t in zip(zip(*particles, strict=True), natural, strict=True)
    ]
    return UnpackedTableParticles(*(np.stack(arrays) for arrays in zip(*parts, strict=True)))


@strict_leaf
def _sweep(graph, stacked):
    """Redraw all nodes of every particle of all groups."""
    for t in range(len(stacked.x)):
        sweep(graph, of_group(stacked, t))


@strict_leaf
def scan(rng, graph, stacked, problem, swaps, gains, theta, order):
    """Visit the edges in ``order``, then all nodes; return p0 and precision of the slabs."""
    drawn = draw_group_scales(rng, problem, theta)
    (n_groups, n_nodes, n_particles), lines, r = stacked.x.shape, problem.lines, len(order)
    m = len(lines.values)
    redrawn, half = redrawn_share(n_nodes, r), n_particles >> 1
    share, weights = np.empty((n_groups, m, n_particles), np.float32), np.empty((n_groups, n_particles), np.float32)
    for at in range(r):
        if at % n_nodes == 0:
            _sweep(graph, stacked)
        e = order[at]
        i, j = lines.edges[e, 0], lines.edges[e, 1]
        pairs = new_pair(problem, theta, e, i, j), new_pair(problem, theta, e, i, j)
        for t in range(n_groups):
            for side in range(2):
                edge_cells(graph, of_group(stacked, t), e, side * half, (side + 1) * half, pairs[side].cells[t])
                pairs[side].now[t] = pairs[side].cells[t]
        was = theta.weights[:, e].any()
        _visit(rng, graph, stacked, problem, gains, pairs, theta, drawn, share, weights)
        if was or theta.weights[:, e].any() or rng.random() < redrawn:
            for t in range(n_groups):
                redraw_ends(graph, of_group(stacked, t), e)
    visit_rivals(rng, graph, stacked, problem, swaps, gains, theta, drawn, weights)
    for i in range(n_nodes):
        for t in range(n_groups):
            weigh_node(graph, of_group(stacked, t), i)
        for k in range(lines.starts[i], lines.starts[i + 1]):
            if problem.n_spiked > r:
                pairs = new_pair(problem, theta, k, i, i), new_pair(problem, theta, k, i, i)
                for t in range(n_groups):
                    _measure(graph, of_group(stacked, t), theta, pairs, t, share[t])
                _visit(rng, graph, stacked, problem, gains, pairs, theta, drawn, share, weights)
                continue
            for t in range(n_groups):
                natural, now = theta.natural[t], theta.now[t]
                now[k] = node_precision(rng, problem.baseline, problem.scales[k], natural[k])
                one = one_group(problem, t)
                _visit_field(rng, of_group(stacked, t), one, i, k, natural, now, share[t], weights[t])
        for t in range(n_groups):
            redraw_node(of_group(stacked, t), i)
    for t in range(n_groups):
        for first in (0, half):
            resample(rng, of_group(stacked, t), first)
    return drawn


@strict_leaf
def _visit_field(rng, unpacked, lines, i, k, theta, now, share, weights):
    """Propose another value of parameter k of node i, after `weigh_node`; ``share`` and ``weights`` are room."""
    half, a, f = len(weights) >> 1, theta[k], lines.features[k - len(lines.edges)]
    cells = np.empty((2, len(f)))
    shares_of_states(unpacked, share)
    for side in range(2):
        mean_shares(unpacked, i, f, share, side * half, (side + 1) * half, cells[side])
    mode, scale = line_mode(node_line(lines, cells[0], k, theta, now))
    line, new = node_line(lines, cells[1], k, theta, now), draw_t(rng, mode, scale)
    ratio = line_log_density(new, line) - log_t(new, mode, scale) - line_log_density(a, line) + log_t(a, mode, scale)
    chance = log1p(-rng.random())
    if not chance < ratio:
        return
    grown_by_feature(unpacked, f, new - a, share, weights)
    others, own = spreads(unpacked.weights, weights)
    if not chance < ratio - penalty(lines.n, own, others, half):
        return
    theta[k] = new
    follow_feature(unpacked, i, f, new - a)
    follow_weights(rng, unpacked, weights)


@strict_leaf
def _measure(graph, unpacked, theta, pairs, t, share):
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
        pair.now[t], pair.before[t] = pair.cells[t], theta.natural[t, e]


@strict_leaf
def _visit(rng, graph, stacked, problem, gains, pairs, theta, drawn, share, weights):
    """Propose the birth or death of the baseline, another baseline, and likewise for the difference."""
    e, prior = pairs[0].e, draw_prior(rng, problem, pairs[0], theta, drawn)
    for part in range(2):
        if prior.log_odds[part] < np.inf:
            old, before = value_of(theta, e, part), theta.weights[:, e].copy()
            ratio = propose(rng, problem, pairs, theta, prior, part, old)
            if old.any():
                ratio = -ratio
                take_away(problem, pairs, theta, part)
            _decide(rng, graph, stacked, problem, gains, pairs, theta, before, ratio, share, weights)
        # Also after a birth: otherwise the stationary distribution would be different.
        for k in coordinates(theta, part):
            if prior.log_odds[part] < np.inf and not value_of(theta, e, part).any():
                break
            before = theta.weights[:, e].copy()
            ratio = _propose_value(rng, problem, pairs, theta, prior, k)
            _decide(rng, graph, stacked, problem, gains, pairs, theta, before, ratio, share, weights)


@strict_leaf
def _propose_value(rng, problem, pairs, theta, prior, k):
    """Propose another value of coordinate k of a feature; return the log ratio."""
    a, last = theta.weights[k, pairs[0].e], line_of(problem, pairs[1], theta, prior, k)
    mode, scale = line_mode(line_of(problem, pairs[0], theta, prior, k))
    new, ratio = propose_move(rng, a, mode, scale)
    ratio += line_log_density(new, last) - line_log_density(a, last)
    set_weight(problem, pairs, theta, k, new)
    return ratio


@strict_leaf
def _decide(rng, graph, stacked, problem, gains, pairs, theta, old, ratio, share, weights):
    """Accept a move of one feature in all groups by its log ratio, and let the particles follow; or undo it.

    ``old`` are the coordinates of the feature before; ``weights`` is room for those of the particles.
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
        ratio -= penalty(problem.lines.n[t], own, others, half)
    if not ratio > 0:
        restore(problem, pairs, theta, old)
        return
    for t in range(len(before)):
        unpacked = of_group(stacked, t)
        if i == j:
            follow_feature(unpacked, i, g[t], theta.natural[t, e] - before[t])
        follow_weights(rng, unpacked, weights[t])
        if i != j:
            one, natural = one_group(problem, t), theta.natural[t]
            follow_edge(unpacked, gains, e, natural[e], i, node_row(one, natural, i), j, node_row(one, natural, j))
        _measure(graph, unpacked, theta, pairs, t, share[t])
