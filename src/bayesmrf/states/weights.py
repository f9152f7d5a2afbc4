r"""Weights of particles that follow each move of theta, so that they do not lag behind it.

If theta_i moves and only the two ends of edge i are redrawn, the other nodes stay where they were. Their density
changes by the sum over the states of both ends: in the notation of `bayesmrf.states.refresh`, by

.. math:: \frac{1 + \tau' t}{1 + \tau t}

up to a constant. The product of these ratios is the weight of a particle; at the end of a scan the particles are
resampled. In a graph of many more edges than there are observations, weights become uneven after a part of a scan. They
are forgotten then: to resample all nodes for the sake of a few edges would lose more than it gains.
"""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import copy_to, leaf, strict_leaf
from ..compiled.lanes import ONE
from ..samplers.resampling import copy_columns, systematic
from .edge_tables import grown_weights
from .keys import look_up
from .memory import TILE

KEPT = 0.7  # share of effective particles below which weights are forgotten


@leaf
def _grow(weights, tanh_u, tanh_v, tau, new, scale):
    """Multiply weights by scale (1 + new t) / (1 + tau t); return the sum of their squares."""
    square = float32(0)
    for lane in range(len(weights) >> 6 << 6):
        t = tanh_u[lane] * tanh_v[lane]
        w = weights[lane] * scale * (ONE + new * t) / (ONE + tau * t)
        weights[lane] = w
        square += w * w
    return square


@leaf
def _multiply(weights, factors):
    """Multiply weights by factors; return the sum of their squares."""
    square = float32(0)
    for lane in range(len(weights) >> 6 << 6):
        w = weights[lane] * factors[lane]
        weights[lane] = w
        square += w * w
    return square


@strict_leaf
def follow(unpacked, tau, new):
    """Let the weights follow a move of the edge from tanh w = ``tau`` to ``new``, before its ends are redrawn.

    `bayesmrf.states.refresh.edge_moment` must have been called: A and B give the sum of the new weights.
    """
    n, square, table, room = len(unpacked.weights), 0.0, np.empty(128, np.float32), np.empty(TILE, np.float32)
    scale = n / (0.5 * (1 + new) * unpacked.total[0] + 0.5 * (1 - new) * unpacked.total[1])
    n_u, n_bits = unpacked.n_bits[0], unpacked.n_bits[0] + unpacked.n_bits[1]
    if n_u >= 0:
        for key in range(1 << n_bits):
            t = unpacked.ends[0, key & ((1 << n_u) - 1)] * unpacked.ends[1, key >> n_u]
            table[key] = float32(scale * (1 + new * t) / (1 + tau * t))
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        weights, factors = unpacked.weights[first:last], room[: last - first]
        if n_u >= 0:
            look_up(unpacked.key[first:last], table, factors)
            square += _multiply(weights, factors)
        else:
            u, v = unpacked.tanh_u[first:last], unpacked.tanh_v[first:last]
            square += _grow(weights, u, v, tau, new, float32(scale))
    if n < KEPT * square:
        forget(unpacked)


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
    """Set the weights of the particles, up to a factor; uneven ones are forgotten."""
    copy_to(unpacked.weights, weights)
    unpacked.weights[:] *= float32(len(weights) / weights.sum())
    if n_effective(unpacked.weights) < KEPT * len(weights):
        forget(unpacked)


@strict_leaf
def even_out(rng, unpacked):
    """Resample the particles by their weights, which are 1 then; the local fields of hubs are not copied."""
    spare, dead = systematic(rng, unpacked.weights)
    copy_columns(unpacked.x, spare, dead)
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
