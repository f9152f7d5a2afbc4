"""Moments of an edge and redraws of its ends, once for each joint state of their few neighbours.

This is the case of few other neighbours in `bayesmrf.states.refresh`, with the same notation: particles with the
same states of these neighbours have the same key (`bayesmrf.states.keys`).
"""

from __future__ import annotations

from math import tanh

import numpy as np
from numba import float64

from ..compiled import copy_to, strict_leaf
from ..compiled.lanes import DOWN, UP
from .keys import add_states, compare, look_up, random_bits, threshold, weigh_keys
from .memory import TILE, bias_of

_MOST_BITS = 7  # neighbours of both ends in a key; one more bit is that of a redrawn end


@strict_leaf
def _key_end(graph, unpacked, i, without, bits, end):
    """Add the neighbours of node i to the keys, after ``bits`` others; return False if there are too many.

    The hyperbolic tangent of the local field less that of edge ``without`` goes to ``unpacked.ends[end]``.
    """
    r, first = len(graph.edges), bits
    if graph.hub_of[i] >= 0:
        return False
    w, key = np.empty(_MOST_BITS), unpacked.key
    for k in range(graph.starts[i], graph.starts[i + 1]):
        e = graph.edge_of[k]
        if e != without and unpacked.theta[e] != 0:
            if bits == _MOST_BITS:
                return False
            w[bits - first] = 0.5 * unpacked.theta[e]
            if bits == 0:
                key[:] = 0
            add_states(unpacked.x[graph.neighbours[k]], 1 << bits, key)
            bits += 1
    n = bits - first
    bias = bias_of(unpacked, i, r) if without >= 0 else 0.0
    for state in range(1 << n):
        h = float64(bias)
        for bit in range(n):
            h += w[bit] if state >> bit & 1 else -w[bit]
        unpacked.ends[end, state] = tanh(h)
    unpacked.n_bits[end] = n
    return True


@strict_leaf
def key_ends(graph, unpacked, u, v, without):
    """Compute the keys of the particles for an edge, or a field if v < 0; False if there are too many neighbours."""
    if not _key_end(graph, unpacked, u, without, 0, 0):
        return False
    unpacked.n_bits[1], unpacked.ends[1, 0] = 0, 1.0
    if v >= 0 and not _key_end(graph, unpacked, v, without, unpacked.n_bits[0], 1):
        return False
    if unpacked.n_bits[0] + unpacked.n_bits[1] == 0:
        unpacked.key[:] = 0
    return True


@strict_leaf
def look_at_keys(unpacked):
    """Sum the weights of the particles by key, for `sum_keys`."""
    n_keys = 1 << (unpacked.n_bits[0] + unpacked.n_bits[1])
    copy_to(unpacked.key_weights[:n_keys], weigh_keys(unpacked.key, unpacked.weights, n_keys))


@strict_leaf
def sum_keys(unpacked, tau):
    """Sum A = (1 + t) / (1 + tau t), B = (1 - t) / (1 + tau t) and A B over all particles, from their keys."""
    n, n_u = unpacked.n_bits[0] + unpacked.n_bits[1], unpacked.n_bits[0]
    total_a, total_b, total_ab = 0.0, 0.0, 0.0
    for key in range(1 << n):
        t = unpacked.ends[0, key & ((1 << n_u) - 1)] * unpacked.ends[1, key >> n_u]
        scale = 1 / (1 + tau * t)
        agree, differ = (1 + t) * scale, (1 - t) * scale
        weight = unpacked.key_weights[key]
        total_a += weight * agree
        total_b += weight * differ
        total_ab += weight * agree * differ
    return total_a, total_b, total_ab


@strict_leaf
def redraw_by_keys(unpacked, u, v, tau):
    """Redraw both ends of an edge from their joint distribution."""
    n, n_u = unpacked.n_bits[0] + unpacked.n_bits[1], unpacked.n_bits[0]
    size = 1 << n
    first, second = np.empty(size, np.uint32), np.empty(2 * size, np.uint32)
    for key in range(size):
        a, b = unpacked.ends[0, key & ((1 << n_u) - 1)], unpacked.ends[1, key >> n_u]
        scale = 0.25 / (1 + tau * a * b)
        both, neither = (1 + tau) * (1 + a) * (1 + b) * scale, (1 + tau) * (1 - a) * (1 - b) * scale
        u_only = (1 - tau) * (1 + a) * (1 - b) * scale
        first[key] = threshold(both + u_only)
        second[key], second[key + size] = threshold(1 - neither), threshold(both)
    bits, below = np.empty(TILE, np.uint32), np.empty(TILE, np.uint32)
    for start in range(0, len(unpacked.key), TILE):
        stop = min(len(unpacked.key), start + TILE)
        key, draws, under = unpacked.key[start:stop], bits[: stop - start], below[: stop - start]
        random_bits(unpacked.lanes, start, draws)
        look_up(key, first, under)
        compare(draws, under, UP, DOWN, unpacked.x[u, start:stop])
        if v >= 0:
            add_states(unpacked.x[u, start:stop], size, key)
            look_up(key, second, under)
            compare(draws, under, UP, DOWN, unpacked.x[v, start:stop])
