"""Swaps of rival edges between nodes with many states, by weighted particles.

They are those of `bayesmrf.posterior.conditionals.exact_scan`, by the joint distribution of three nodes given the rest
of each particle. Of the many pairs of rivals few can be swapped: strong edges are passed over, and the half of the
particles that proposes the weight may find the swap hopeless, before the other half is asked (delayed acceptance).
"""

from __future__ import annotations

from math import log1p
from typing import Any, NamedTuple

import numpy as np

from ...compiled import copy_to, strict_leaf
from ...particles.table_triples import grown_jointly, rival_cells
from ...particles.tables import edge_cells, follow_edge, follow_weights, redraw_ends, spreads, sweep
from ..conditionals.alike_nodes import triple_of
from ..conditionals.centred import CentredLines, edge_line, move_edge, node_row, pair_values, smoothed_shares
from ..conditionals.exact_scan import normal_prior
from ..conditionals.line import line_mode
from ..conditionals.penalty import penalty
from ..conditionals.spike import birth_log_ratio
from ..conditionals.student_t import draw_t

_LOOKS = 20  # at pairs of rivals in a scan, for each node
_REACH = 15.0  # standard deviations of a weight between independent nodes, beyond which an edge is not swapped
SLACK = 3.0  # how far a log ratio by the particles that propose is below 0 before the others look at it


class Swaps(NamedTuple):
    """Pairs of rival edges, (n_pairs, 2), and the largest weight of each edge that may be swapped, (n_edges,)."""

    pairs: np.ndarray
    reach: np.ndarray


def swaps_of(model: Any, lines: CentredLines, pairs: np.ndarray, s_bar: np.ndarray, n_samples: float) -> Swaps:
    """Return the constants of swaps, which depend on the data alone."""
    share, (u, v) = smoothed_shares(model, s_bar, n_samples), model.graph.edges.T
    p = (share[u, :, None] * share[v, None, :]).reshape(len(u), -1)
    g = _every_value(lines)
    variance = (p * g**2).sum(axis=1) - (p * g).sum(axis=1) ** 2
    return Swaps(pairs, _REACH / np.sqrt((n_samples + 1) * variance))


@strict_leaf
def _every_value(lines):
    """Return the values of the centred features of all edges, (n_edges, m^2)."""
    found = np.empty((len(lines.edges), lines.values.size))
    for e in range(len(found)):
        values = pair_values(lines, e, lines.edges[e, 0], lines.edges[e, 1])
        for x in range(found.shape[1]):  # of two states, a tuple
            found[e, x] = values[x]
    return found


@strict_leaf
def visit_rivals(rng, graph, unpacked, problem, swaps, gains, theta, scales, now, weights):
    """Propose swaps of some of the pairs; ``weights`` is room for those of the particles."""
    pairs = swaps.pairs
    for _ in range(_LOOKS * len(unpacked.x) if len(pairs) > 0 else 0):
        k = int(rng.random() * len(pairs))
        e, f = pairs[k, 0], pairs[k, 1]
        if (theta[e] != 0) != (theta[f] != 0) and abs(theta[e] + theta[f]) < swaps.reach[e if theta[f] == 0 else f]:
            _swap(rng, graph, unpacked, problem, swaps, gains, theta, e, f, scales, now, weights)


@strict_leaf
def _swap(rng, graph, unpacked, problem, swaps, gains, theta, e, f, scales, now, weights):
    """Propose to swap two edges that share a node, one present and one absent; see `..conditionals.exact_scan`."""
    if theta[e] == 0:
        e, f = f, e
    lines, prior, m, a = problem.lines, problem.prior, len(problem.lines.values), theta[e]
    n_particles = unpacked.x.shape[1]
    half = n_particles >> 1
    (hub, v, w), _, _ = triple_of(lines.edges, e, f, m)
    normal_prior(rng, prior, lines, e, hub, v, theta, scales, now)
    normal_prior(rng, prior, lines, f, hub, w, theta, scales, now)
    g_e, g_f, log_factors = pair_values(lines, e, hub, v), pair_values(lines, f, hub, w), np.empty(m * m)
    of_e, of_f, joint = np.empty(m * m), np.empty(m * m), np.empty((m * m, n_particles), np.float32)
    for x in range(m * m):
        log_factors[x] = -a * g_e[x]
    before = theta.copy()
    move_edge(lines, e, hub, v, theta, 0.0)
    rival_cells(graph, unpacked, (hub, v, w), e, f, log_factors, 0, half, of_e, of_f, joint)
    line_e = edge_line(lines, of_e, of_e.sum(), e, hub, v, theta, now)
    line_f = edge_line(lines, of_f, of_f.sum(), f, hub, w, theta, now)
    (mode_e, scale_e), (mode_f, scale_f) = line_mode(line_e), line_mode(line_f)
    b = draw_t(rng, mode_f, scale_f)
    # Delayed acceptance: if the first half finds the swap hopeless, the other is not asked.
    first = birth_log_ratio(line_f, b, mode_f, scale_f) - birth_log_ratio(line_e, a, mode_e, scale_e)
    if not (abs(b) < swaps.reach[f] and log1p(-rng.random()) < first + SLACK):
        copy_to(theta, before)
        return
    rival_cells(graph, unpacked, (hub, v, w), e, f, log_factors, half, n_particles, of_e, of_f, joint)
    line_e = edge_line(lines, of_e, of_e.sum(), e, hub, v, theta, now)
    line_f = edge_line(lines, of_f, of_f.sum(), f, hub, w, theta, now)
    ratio = birth_log_ratio(line_f, b, mode_f, scale_f) - birth_log_ratio(line_e, a, mode_e, scale_e)
    ratio += min(0.0, SLACK - first) - min(0.0, SLACK + first) - log1p(-rng.random())
    if ratio > 0:  # before the penalty, which is never negative
        for x in range(m * m):
            log_factors[x] = b * g_f[x]
        grown_jointly(unpacked, hub, w, joint, log_factors, weights)
        others, own = spreads(unpacked.weights, weights)
        ratio -= penalty(lines.n, own, others, half)
    if not ratio > 0:
        copy_to(theta, before)
        return
    move_edge(lines, f, hub, w, theta, b)
    follow_weights(rng, unpacked, weights)
    for edge in (e, f):
        i, j = lines.edges[edge, 0], lines.edges[edge, 1]
        follow_edge(unpacked, gains, edge, theta[edge], i, node_row(lines, theta, i), j, node_row(lines, theta, j))
    for edge in (e, f):
        edge_cells(graph, unpacked, edge, 0, n_particles, of_e)
        redraw_ends(graph, unpacked, edge)
    sweep(graph, unpacked)
