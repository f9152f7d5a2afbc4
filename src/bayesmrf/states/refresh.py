r"""Particles of x that follow theta edge by edge: moments of one edge at a time, and redraws of its two ends.

Particles are states in {-1, +1} at the current theta. Let edge i join u and v with coupling w = theta_i / 2, and let
a and b be the local fields of u and v in a particle without the edge. Given all other nodes, with tau = tanh w and t
= tanh a tanh b,

.. math:: E[x_u x_v] = \frac{\tau + t}{1 + \tau t}, \qquad
          E[x_u \mid x_u x_v = \pm 1] = \frac{\tanh a \pm \tanh b}{1 \pm t}.

The first, averaged over the particles, is a better estimate of q_i = P(x_u = x_v) than the share of agreements. With
both the two ends are redrawn jointly, under a new tau, before the next edge is visited; the other nodes follow by the
weights of the particles (`bayesmrf.states.weights`). A node field h is an edge to one more node that is always +1:
w = h and b = infinity.

If both ends together have few other neighbours, this is computed once for each of their joint states, with the
particles weighed by state (`bayesmrf.states.refresh_keys`); otherwise once for each particle.
"""

from __future__ import annotations

from math import log, tanh

import numpy as np
from numba import float32, int8, uint64

from ..compiled import copy_to, leaf, strict_leaf
from ..compiled.lanes import DOWN, ONE, UP, symmetric_uniform, tanh_ratio
from ..rng import next_uint32
from .memory import TILE, bias_of, update_hub, update_hubs
from .refresh_keys import key_ends, look_at_keys, redraw_by_keys, sum_keys
from .weights import follow

_TAU = 1 - 1e-6  # largest coupling in estimates of moments (an agreement of 1 - 5e-7)
_SMALL = 1e-30


@leaf
def _local_field(graph, unpacked, i, without, first, h):
    """Return the local field of node i in a tile of particles, without edge ``without`` (-1: without its own field)."""
    r, n_lanes = len(graph.edges), len(h) >> 6 << 6
    bias = bias_of(unpacked, i, r)
    if graph.hub_of[i] >= 0:
        kept = unpacked.hubs[graph.hub_of[i], first : first + n_lanes]
        if without < 0:
            for lane in range(n_lanes):
                h[lane] = kept[lane] - bias
        else:
            j, w = graph.edges[without, 0] + graph.edges[without, 1] - i, float32(0.5 * unpacked.theta[without])
            x = unpacked.x[j, first : first + n_lanes]
            for lane in range(n_lanes):
                h[lane] = kept[lane] - w * float32(x[lane])
        return
    if without < 0:
        bias = float32(0)
    for lane in range(n_lanes):
        h[lane] = bias
    for k in range(graph.starts[i], graph.starts[i + 1]):
        e = graph.edge_of[k]
        if e != without and unpacked.theta[e] != 0:
            w, x = float32(0.5 * unpacked.theta[e]), unpacked.x[graph.neighbours[k], first : first + n_lanes]
            for lane in range(n_lanes):
                h[lane] += w * float32(x[lane])


@strict_leaf
def _tau(graph, unpacked, i):
    w = 0.5 * unpacked.theta[i] if i < len(graph.edges) else unpacked.theta[i]
    return float32(min(max(tanh(w), -_TAU), _TAU))


# Loops over few arrays are vectorised; with many, the compiler cannot exclude that they overlap.


@leaf
def tanh_of(h, out):
    """Compute hyperbolic tangents."""
    for lane in range(len(h) >> 6 << 6):
        p, q = tanh_ratio(h[lane])
        out[lane] = p / q


@leaf
def _sums(tanh_u, tanh_v, weights, tau):
    a, b, ab = float32(0), float32(0), float32(0)
    for lane in range(len(tanh_u) >> 6 << 6):
        t = tanh_u[lane] * tanh_v[lane]
        scale = ONE / (ONE + tau * t)
        agree, differ = (ONE + t) * scale, (ONE - t) * scale
        agree *= weights[lane]
        a += agree
        b += weights[lane] * differ
        ab += agree * differ
    return a, b, ab


@leaf
def uniforms(lanes, first, out):
    """Draw uniform numbers in (-1, 1) for the particles from ``first`` on."""
    start = uint64(first)  # an index that may be negative would not be vectorised
    for lane in range(len(out) >> 6 << 6):
        out[lane] = symmetric_uniform(next_uint32(lanes, start + uint64(lane)))


@leaf
def _draw_signs(draws, tanh_u, tanh_v, tau, sign):
    for lane in range(len(draws) >> 6 << 6):
        t = tanh_u[lane] * tanh_v[lane]
        sign[lane] = ONE if draws[lane] * (ONE + tau * t) < tau + t else -ONE


@leaf
def _draw_first(draws, tanh_u, tanh_v, sign, x):
    for lane in range(len(draws) >> 6 << 6):
        a, b = tanh_u[lane], sign[lane] * tanh_v[lane]
        x[lane] = UP if draws[lane] * (ONE + a * b) < a + b else DOWN


@leaf
def _draw_second(x, sign, out):
    for lane in range(len(x) >> 6 << 6):
        out[lane] = x[lane] * int8(sign[lane])


@leaf
def _look_at_particles(graph, unpacked, u, v, without, tau):
    """Sum A = (1 + t) / (1 + tau t), B = (1 - t) / (1 + tau t) and A B over each tile; v < 0 stands for +1."""
    room = np.empty(TILE, np.float32)
    for first in range(0, len(unpacked.key), TILE):
        n_lanes = min(TILE, len(unpacked.key) - first) >> 6 << 6
        h, last = room[:n_lanes], first + n_lanes
        _local_field(graph, unpacked, u, without, first, h)
        tanh_of(h, unpacked.tanh_u[first:last])
        if v >= 0:
            _local_field(graph, unpacked, v, without, first, h)
            tanh_of(h, unpacked.tanh_v[first:last])
        else:
            unpacked.tanh_v[first:last] = ONE
        sums = unpacked.sums[first // TILE]
        tanh_u, tanh_v, weights = unpacked.tanh_u[first:last], unpacked.tanh_v[first:last], unpacked.weights[first:last]
        sums[0], sums[1], sums[2] = _sums(tanh_u, tanh_v, weights, tau)


@leaf
def _redraw_ends(unpacked, u, v, tau):
    """Redraw both ends of the current edge. For a field (v < 0) the other end is +1, so that the node is the sign."""
    room, signs = np.empty(TILE, np.float32), np.empty(TILE, np.float32)
    for first in range(0, len(unpacked.key), TILE):
        n_lanes = min(TILE, len(unpacked.key) - first) >> 6 << 6
        draws, sign, last = room[:n_lanes], signs[:n_lanes], first + n_lanes
        tanh_u, tanh_v, x_u = unpacked.tanh_u[first:last], unpacked.tanh_v[first:last], unpacked.x[u, first:last]
        uniforms(unpacked.lanes, first, draws)
        _draw_signs(draws, tanh_u, tanh_v, tau, sign)
        if v >= 0:
            uniforms(unpacked.lanes, first, draws)
            _draw_first(draws, tanh_u, tanh_v, sign, x_u)
            _draw_second(x_u, sign, unpacked.x[v, first:last])
        else:
            for lane in range(n_lanes):
                x_u[lane] = int8(sign[lane])


@strict_leaf
def _ends(graph, i):
    """Return the nodes of edge i, and the edge; for a field its node, -1 and -1."""
    r = len(graph.edges)
    return (graph.edges[i, 0], graph.edges[i, 1], i) if i < r else (i - r, -1, -1)


@strict_leaf
def _look(graph, unpacked, i):
    """Sum over the particles for edge or field i."""
    u, v, without = _ends(graph, i)
    if key_ends(graph, unpacked, u, v, without):
        look_at_keys(unpacked)
    else:
        unpacked.n_bits[0] = -1
        _look_at_particles(graph, unpacked, u, v, without, _tau(graph, unpacked, i))


@strict_leaf
def edge_moment(graph, unpacked, i):
    """Return nu_i = logit q_i - theta_i, and the share of the variance of [x_u = x_v] between particles.

    As q is the mean of (1 + tau) A / 2, and 1 - q that of (1 - tau) B / 2, nu is the log ratio of A and B: theta_i
    cancels. A particle is added whose ends would be independent without the edge (t = 0), as there may be none with
    x_u != x_v. Were it counted as half agreeing, nu would fall as theta_i grows, and theta_i would drift.
    """
    _look(graph, unpacked, i)
    m, tau = len(unpacked.tanh_u), _tau(graph, unpacked, i)
    if unpacked.n_bits[0] >= 0:
        a, b, ab = sum_keys(unpacked, tau)
    else:
        a, b, ab = 0.0, 0.0, 0.0
        for sums in unpacked.sums:
            a += sums[0]
            b += sums[1]
            ab += sums[2]
    unpacked.total[0], unpacked.total[1] = a, b
    return log((a + 1.0) / (b + 1.0)), max(0.0, 1 - m * ab / max(a * b, _SMALL))


@strict_leaf
def _redraw(graph, unpacked, i, was):
    """Redraw the ends of edge i (or the node of a field) after theta_i ``was`` changed.

    The former states are stored in ``old_u`` and ``old_v``, to update hubs.
    """
    u, v, _ = _ends(graph, i)
    if graph.n_hubs > 0:
        copy_to(unpacked.old_u, unpacked.x[u])
        if v >= 0:
            copy_to(unpacked.old_v, unpacked.x[v])
    tau = _tau(graph, unpacked, i)
    if unpacked.n_bits[0] >= 0:
        redraw_by_keys(unpacked, u, v, tau)
    else:
        _redraw_ends(unpacked, u, v, tau)
    if graph.n_hubs > 0:
        update_hubs(graph, unpacked, u, unpacked.old_u, i if v >= 0 else -1)
        if v >= 0:
            value = unpacked.theta[i]
            update_hubs(graph, unpacked, v, unpacked.old_v, i)
            update_hub(graph, unpacked, u, v, 0.5 * value, 0.5 * was, unpacked.old_v)
            update_hub(graph, unpacked, v, u, 0.5 * value, 0.5 * was, unpacked.old_u)
        elif graph.hub_of[u] >= 0:
            hub, change = unpacked.hubs[graph.hub_of[u]], float32(unpacked.theta[i] - was)
            for lane in range(len(hub)):
                hub[lane] += change


@strict_leaf
def move_to(graph, unpacked, i, value):
    """Set theta_i, and redraw the ends of edge i (or the node of a field) under it, after `edge_moment`.

    The weights of the particles follow.
    """
    was, tau = unpacked.theta[i], _tau(graph, unpacked, i)
    unpacked.theta[i] = value
    if value != was:
        follow(unpacked, tau, _tau(graph, unpacked, i))
    _redraw(graph, unpacked, i, was)


@strict_leaf
def refresh(graph, unpacked, order):
    """Redraw the ends of the edges (and nodes, by features) in ``order``."""
    for i in order:
        _look(graph, unpacked, i)
        _redraw(graph, unpacked, i, unpacked.theta[i])
