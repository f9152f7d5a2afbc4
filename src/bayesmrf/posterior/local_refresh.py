r"""Particles of x that follow theta edge by edge: moments of one edge at a time, and redraws of its two ends.

Particles are states in {-1, +1} at the current theta. Let edge i join u and v with coupling w = theta_i / 2, and let
a and b be the local fields of u and v in a particle without the edge. Given all other nodes, with tau = tanh w and t
= tanh a tanh b,

.. math:: E[x_u x_v] = \frac{\tau + t}{1 + \tau t}, \qquad
          E[x_u \mid x_u x_v = \pm 1] = \frac{\tanh a \pm \tanh b}{1 \pm t}.

The first, averaged over the particles, is a better estimate of q_i = P(x_u = x_v) than a count of agreements. Both
redraw the two ends jointly, under a new tau, before the next edge is looked at. A node field h is an edge to one more
node that is always +1: w = h and b = infinity.

Where both ends together have few other neighbours, all of this is done once for each of their joint states, with the
particles counted by state (`particle_keys`); elsewhere once for each particle.
"""

from __future__ import annotations

from math import log, tanh

import numpy as np
from numba import float32, float64, int8, uint64

from ..compiled import leaf, strict_leaf
from ..lanes import symmetric_uniform, tanh_ratio
from ..rng import next_uint32
from .particle_keys import TILE, add_states, count_keys, look_up, random_bits, threshold
from .particles import bias_of, tell_end, tell_hubs

_MOST_BITS = 7  # neighbours of both ends in a key; one more bit is that of a redrawn end
_TAU = 1 - 1e-6  # couplings beyond are taken for this one (an agreement of 1 - 5e-7) while particles are looked at
_SMALL = 1e-30
ONE = np.float32(1)
UP, DOWN = np.int8(1), np.int8(-1)


@leaf
def _local_field(graph, crowd, i, without, first, h):
    """Local field of node i in a tile of particles, less that of edge ``without`` (or of its own field, if -1)."""
    r, n_lanes = len(graph.edges), len(h) >> 6 << 6
    bias = bias_of(crowd, i, r)
    if graph.hub_of[i] >= 0:
        kept = crowd.hubs[graph.hub_of[i], first : first + n_lanes]
        if without < 0:
            for lane in range(n_lanes):
                h[lane] = kept[lane] - bias
        else:
            j, w = graph.edges[without, 0] + graph.edges[without, 1] - i, float32(0.5 * crowd.theta[without])
            x = crowd.x[j, first : first + n_lanes]
            for lane in range(n_lanes):
                h[lane] = kept[lane] - w * float32(x[lane])
        return
    if without < 0:
        bias = float32(0)
    for lane in range(n_lanes):
        h[lane] = bias
    for k in range(graph.starts[i], graph.starts[i + 1]):
        e = graph.edge_of[k]
        if e != without and crowd.theta[e] != 0:
            w, x = float32(0.5 * crowd.theta[e]), crowd.x[graph.neighbours[k], first : first + n_lanes]
            for lane in range(n_lanes):
                h[lane] += w * float32(x[lane])


@strict_leaf
def _tau(crowd, feature, r):
    w = 0.5 * crowd.theta[feature] if feature < r else crowd.theta[feature]
    return float32(min(max(tanh(w), -_TAU), _TAU))


# Loops over few arrays are vectorised; over many, the compiler gives up telling whether they overlap.


@leaf
def tanh_of(h, out):
    """Hyperbolic tangents."""
    for lane in range(len(h) >> 6 << 6):
        p, q = tanh_ratio(h[lane])
        out[lane] = p / q


@leaf
def _sums(tanh_u, tanh_v, tau):
    a, b, ab = float32(0), float32(0), float32(0)
    for lane in range(len(tanh_u) >> 6 << 6):
        t = tanh_u[lane] * tanh_v[lane]
        scale = ONE / (ONE + tau * t)
        agree, differ = (ONE + t) * scale, (ONE - t) * scale
        a += agree
        b += differ
        ab += agree * differ
    return a, b, ab


@leaf
def uniforms(lanes, first, out):
    """Draws in (-1, 1) for the particles from ``first`` on."""
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
def _look(graph, crowd, u, v, without, tau):
    """Sums over the particles of A = (1 + t) / (1 + tau t), B = (1 - t) / (1 + tau t) and A B; v < 0 is +1 always."""
    m = len(crowd.tanh_u)
    room = np.empty(min(m, TILE), np.float32)
    total_a, total_b, total_ab = 0.0, 0.0, 0.0
    for first in range(0, m, TILE):
        n_lanes = min(TILE, m - first) >> 6 << 6
        h, last = room[:n_lanes], first + n_lanes
        _local_field(graph, crowd, u, without, first, h)
        tanh_of(h, crowd.tanh_u[first:last])
        if v >= 0:
            _local_field(graph, crowd, v, without, first, h)
            tanh_of(h, crowd.tanh_v[first:last])
        else:
            crowd.tanh_v[first:last] = ONE
        a, b, ab = _sums(crowd.tanh_u[first:last], crowd.tanh_v[first:last], tau)
        total_a += a
        total_b += b
        total_ab += ab
    return total_a, total_b, total_ab


@leaf
def _redraw_ends(crowd, u, v, tau):
    """Both ends of the edge looked at, in every particle. A field's end (v < 0) is +1: the node itself is the sign."""
    m = len(crowd.tanh_u)
    room, signs = np.empty(min(m, TILE), np.float32), np.empty(min(m, TILE), np.float32)
    for first in range(0, m, TILE):
        n_lanes = min(TILE, m - first) >> 6 << 6
        draws, sign, last = room[:n_lanes], signs[:n_lanes], first + n_lanes
        tanh_u, tanh_v, x_u = crowd.tanh_u[first:last], crowd.tanh_v[first:last], crowd.x[u, first:last]
        uniforms(crowd.lanes, first, draws)
        _draw_signs(draws, tanh_u, tanh_v, tau, sign)
        if v >= 0:
            uniforms(crowd.lanes, first, draws)
            _draw_first(draws, tanh_u, tanh_v, sign, x_u)
            _draw_second(x_u, sign, crowd.x[v, first:last])
        else:
            for lane in range(n_lanes):
                x_u[lane] = int8(sign[lane])


@strict_leaf
def _key_end(graph, crowd, i, without, bits, end):
    """Add the neighbours of node i to the keys, after ``bits`` others; False where there are too many.

    The hyperbolic tangent of the local field less that of edge ``without`` goes to ``crowd.ends[end]``.
    """
    r, first = len(graph.edges), bits
    if graph.hub_of[i] >= 0:
        return False
    w = np.empty(_MOST_BITS)
    for k in range(graph.starts[i], graph.starts[i + 1]):
        e = graph.edge_of[k]
        if e != without and crowd.theta[e] != 0:
            if bits == _MOST_BITS:
                return False
            w[bits - first] = 0.5 * crowd.theta[e]
            if bits == 0:
                crowd.key[:] = 0
            add_states(crowd.x[graph.neighbours[k]], 1 << bits, crowd.key)
            bits += 1
    n = bits - first
    bias = bias_of(crowd, i, r) if without >= 0 else 0.0
    for key in range(1 << n):
        h = float64(bias)
        for bit in range(n):
            h += w[bit] if key >> bit & 1 else -w[bit]
        crowd.ends[end, key] = tanh(h)
    crowd.n_bits[end] = n
    return True


@strict_leaf
def _key_ends(graph, crowd, u, v, without):
    """Keys of the particles for an edge, or for a field where v < 0; False where neighbours are too many."""
    if not _key_end(graph, crowd, u, without, 0, 0):
        return False
    crowd.n_bits[1], crowd.ends[1, 0] = 0, 1.0
    if v >= 0 and not _key_end(graph, crowd, v, without, crowd.n_bits[0], 1):
        return False
    if crowd.n_bits[0] + crowd.n_bits[1] == 0:
        crowd.key[:] = 0
    return True


@strict_leaf
def _look_at_keys(crowd, tau):
    """As `_look`, once for each key."""
    n, n_u = crowd.n_bits[0] + crowd.n_bits[1], crowd.n_bits[0]
    counts = count_keys(crowd.key, 1 << n)
    total_a, total_b, total_ab = 0.0, 0.0, 0.0
    for key in range(1 << n):
        t = crowd.ends[0, key & ((1 << n_u) - 1)] * crowd.ends[1, key >> n_u]
        scale = 1 / (1 + tau * t)
        agree, differ = (1 + t) * scale, (1 - t) * scale
        total_a += counts[key] * agree
        total_b += counts[key] * differ
        total_ab += counts[key] * agree * differ
    return total_a, total_b, total_ab


@leaf
def _set_states(bits, below, x):
    for lane in range(len(x) >> 6 << 6):
        x[lane] = UP if bits[lane] < below[lane] else DOWN


@strict_leaf
def _redraw_by_keys(crowd, u, v, tau):
    """As `_redraw_ends`, with one draw for the joint state of both ends."""
    m, n, n_u = len(crowd.key), crowd.n_bits[0] + crowd.n_bits[1], crowd.n_bits[0]
    size = 1 << n
    first, second = np.empty(size, np.uint32), np.empty(2 * size, np.uint32)
    for key in range(size):
        a, b = crowd.ends[0, key & ((1 << n_u) - 1)], crowd.ends[1, key >> n_u]
        scale = 0.25 / (1 + tau * a * b)
        both, neither = (1 + tau) * (1 + a) * (1 + b) * scale, (1 + tau) * (1 - a) * (1 - b) * scale
        u_only = (1 - tau) * (1 + a) * (1 - b) * scale
        first[key] = threshold(both + u_only)
        second[key], second[key + size] = threshold(1 - neither), threshold(both)
    bits, below = np.empty(min(m, TILE), np.uint32), np.empty(min(m, TILE), np.uint32)
    for start in range(0, m, TILE):
        stop = min(m, start + TILE)
        key, draws, under = crowd.key[start:stop], bits[: stop - start], below[: stop - start]
        random_bits(crowd.lanes, start, draws)
        look_up(key, first, under)
        _set_states(draws, under, crowd.x[u, start:stop])
        if v >= 0:
            add_states(crowd.x[u, start:stop], size, key)
            look_up(key, second, under)
            _set_states(draws, under, crowd.x[v, start:stop])


@strict_leaf
def edge_moment(graph, crowd, i):
    """nu_i = logit q_i - theta_i, and the share of the variance of [x_u = x_v] that lies between particles.

    As (1 + tau) A + (1 - tau) B = 2, the means of A and B give q and 1 - q without cancellation. Half a particle is
    added to both: where 1 - q is below 1 / m there may be none with x_u != x_v, which is no proof that there never
    is.
    """
    r, m, theta = len(graph.edges), len(crowd.tanh_u), crowd.theta[i]
    tau = _tau(crowd, i, r)
    u, v, without = i - r, -1, -1
    if i < r:
        u, v, without = graph.edges[i, 0], graph.edges[i, 1], i
    else:
        theta *= 2
    if _key_ends(graph, crowd, u, v, without):
        a, b, ab = _look_at_keys(crowd, tau)
    else:
        crowd.n_bits[0] = -1
        a, b, ab = _look(graph, crowd, u, v, without, tau)
    agree, differ = (1.0 + tau) * a + 1.0, (1.0 - tau) * b + 1.0
    return log(agree / differ) - theta, max(0.0, 1 - m * ab / max(a * b, _SMALL))


@strict_leaf
def _redraw(graph, crowd, u, v, tau):
    if graph.n_hubs > 0:
        crowd.old_u[:] = crowd.x[u]
        if v >= 0:
            crowd.old_v[:] = crowd.x[v]
    if crowd.n_bits[0] >= 0:
        _redraw_by_keys(crowd, u, v, tau)
    else:
        _redraw_ends(crowd, u, v, tau)


@strict_leaf
def move_to(graph, crowd, i, value):
    """Set theta_i, and redraw the ends of edge i (or the node of a field) under it; `edge_moment` comes first.

    The states before are kept in ``old_u`` and ``old_v`` for hubs to hear of.
    """
    r, was = len(graph.edges), crowd.theta[i]
    crowd.theta[i] = value
    if i < r:
        u, v = graph.edges[i, 0], graph.edges[i, 1]
        _redraw(graph, crowd, u, v, _tau(crowd, i, r))
        if graph.n_hubs > 0:
            tell_hubs(graph, crowd, u, crowd.old_u, i)
            tell_hubs(graph, crowd, v, crowd.old_v, i)
            tell_end(graph, crowd, u, v, 0.5 * value, 0.5 * was, crowd.old_v)
            tell_end(graph, crowd, v, u, 0.5 * value, 0.5 * was, crowd.old_u)
    else:
        u = i - r
        _redraw(graph, crowd, u, -1, _tau(crowd, i, r))
        if graph.n_hubs > 0:
            tell_hubs(graph, crowd, u, crowd.old_u, -1)
            if graph.hub_of[u] >= 0:
                crowd.hubs[graph.hub_of[u]] += float32(value - was)


@strict_leaf
def refresh(graph, crowd, order):
    """Redraw the ends of the edges (and nodes, by features) in ``order`` without moving theta."""
    for i in order:
        edge_moment(graph, crowd, i)
        move_to(graph, crowd, i, crowd.theta[i])
