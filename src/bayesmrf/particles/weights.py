r"""Weights of particles that follow each move of theta, so that they do not lag behind it.

If theta_i moves and only the two ends of edge i are redrawn, the other nodes stay where they were. Their density
changes by the sum over the states of both ends: in the notation of `bayesmrf.particles.refresh`, by

.. math:: \frac{1 + \tau' t}{1 + \tau t}

up to a constant. The product of these ratios is the weight of a particle; at the end of a scan the particles are
resampled. In a graph of many more edges than there are observations, weights become uneven after a part of a scan. They
are forgotten then: to resample all nodes for the sake of a few edges would lose more than it gains.
"""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import copy_to, leaf, strict_leaf
from .importance import systematic
from .keys import look_up
from .memory import TILE
from .tables import grown_weights

KEPT = 0.7  # share of effective particles below which weights are forgotten
ONE = np.float32(1)


@leaf
def _grow(weights, tanh_u, tanh_v, tau, new):
    """Multiply weights by (1 + new t) / (1 + tau t); return their sum and that of their squares."""
    s, s2 = float32(0), float32(0)
    for lane in range(len(weights) >> 6 << 6):
        t = tanh_u[lane] * tanh_v[lane]
        w = weights[lane] * (ONE + new * t) / (ONE + tau * t)
        weights[lane] = w
        s += w
        s2 += w * w
    return s, s2


@leaf
def _multiply(weights, factors):
    """Multiply weights by factors; return their sum and that of their squares."""
    s, s2 = float32(0), float32(0)
    for lane in range(len(weights) >> 6 << 6):
        w = weights[lane] * factors[lane]
        weights[lane] = w
        s += w
        s2 += w * w
    return s, s2


@leaf
def _grow_all(unpacked, tau, new):
    """Let all weights follow a move of the current edge from tanh w = ``tau`` to ``new``; return both sums."""
    total, square, table, factors = 0.0, 0.0, np.empty(128, np.float32), np.empty(TILE, np.float32)
    n_u, n = unpacked.n_bits[0], unpacked.n_bits[0] + unpacked.n_bits[1]
    if n_u >= 0:
        for key in range(1 << n):
            t = unpacked.ends[0, key & ((1 << n_u) - 1)] * unpacked.ends[1, key >> n_u]
            table[key] = float32((1 + new * t) / (1 + tau * t))
    for first in range(0, len(unpacked.weights), TILE):
        last = min(first + TILE, len(unpacked.weights))
        weights = unpacked.weights[first:last]
        if n_u >= 0:
            look_up(unpacked.key[first:last], table, factors[: last - first])
            s, s2 = _multiply(weights, factors)
        else:
            s, s2 = _grow(weights, unpacked.tanh_u[first:last], unpacked.tanh_v[first:last], tau, new)
        total += s
        square += s2
    return total, square


@strict_leaf
def follow(unpacked, tau, new):
    """Let the weights follow a move of the edge from tanh w = ``tau`` to ``new``, before its ends are redrawn."""
    _keep(unpacked, *_grow_all(unpacked, tau, new))


@strict_leaf
def follow_states(graph, unpacked, e, log_factors, room):
    """Let the weights follow a move of edge e, of many states, before its ends are redrawn.

    It multiplies the density by exp(``log_factors``) (m^2,) in the states 00, 01, ... of the ends; `edge_categories` or
    `edge_cells` must have been called.
    """
    grown_weights(graph, unpacked, e, log_factors, room)
    set_weights(unpacked, room)


@strict_leaf
def set_weights(unpacked, weights):
    """Set the weights of the particles, up to a factor."""
    copy_to(unpacked.weights, weights)
    _keep(unpacked, weights.sum(), (weights * weights).sum())


@strict_leaf
def _keep(unpacked, total, square):
    """Scale the weights, whose sum is ``total`` and that of their squares ``square``; forget uneven ones."""
    n = len(unpacked.weights)
    if total * total < KEPT * n * square:
        forget(unpacked)
    else:
        unpacked.weights[:] *= float32(n / total)


@strict_leaf
def even_out(rng, unpacked):
    """Resample the particles by their weights, which are 1 then; the local fields of hubs are not copied."""
    spare, dead = systematic(rng, unpacked.weights)
    for i in range(len(unpacked.x)):
        for k in range(len(dead)):
            unpacked.x[i, dead[k]] = unpacked.x[i, spare[k]]
    forget(unpacked)


@leaf
def forget(unpacked):
    """Give all particles the same weight."""
    unpacked.weights[:] = ONE


@leaf
def n_effective(weights):
    """Return the number of particles of equal weight with the same error as particles with ``weights`` of mean 1."""
    square = float32(0)
    for lane in range(len(weights) >> 6 << 6):
        square += weights[lane] * weights[lane]
    return len(weights) ** 2 / square
