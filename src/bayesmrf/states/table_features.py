"""Particles of many states: probabilities of the states of a node, and moves of the parameter of its feature."""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import leaf, strict_leaf


@leaf
def state_shares(unpacked, k, out):
    """Set ``out`` to the probability of state k in every particle, by the weights in ``at_u``."""
    m, size = len(unpacked.at_u), len(out) >> 6 << 6
    out[:] = float32(0)
    for y in range(m):
        row = unpacked.at_u[y]
        for lane in range(size):
            out[lane] += row[lane]
    row = unpacked.at_u[k]
    for lane in range(size):
        out[lane] = row[lane] / out[lane]


@leaf
def mean_share(unpacked, i, k, shares, first, last):
    """Average the probability of state k of node i over particles first..last-1.

    A particle is added in which the node has no neighbours: where a state is rare, it needs no such particle. Were a
    part of a particle added instead, the state would seem to become likelier, the lower its field.
    """
    s, whole = 0.0, 0.0
    for lane in range(first, last):
        s += unpacked.weights[lane] * shares[lane]
    for y in range(unpacked.field.shape[1]):
        whole += np.exp(min(unpacked.field[i, y] - unpacked.field[i, k], 700.0))
    return (s + 1 / whole) / (last - first + 1)


@leaf
def state_share(unpacked, i, k):
    """Average the probability of state k of node i over all particles."""
    shares = np.empty(unpacked.x.shape[1], np.float32)
    state_shares(unpacked, k, shares)
    return mean_share(unpacked, i, k, shares, 0, len(shares))


@strict_leaf
def shares_of_states(unpacked, share):
    """Set ``share`` (m, n_particles) to the probability of each state."""
    for x in range(len(share)):
        state_shares(unpacked, x, share[x])


@strict_leaf
def mean_shares(unpacked, i, f, share, first, last, cells):
    """Average ``share`` of node i over particles first..last-1 into ``cells`` (m,).

    The first has the states in which f is as in the first.
    """
    cells[:] = 0.0
    for x in range(len(f)):
        cells[x if f[x] != f[0] else 0] += mean_share(unpacked, i, x, share[x], first, last)


@strict_leaf
def grown_by_feature(unpacked, f, change, share, out):
    """Set ``out`` to the weights of the particles after the parameter of a feature has moved by ``change``."""
    out[:] = float32(1)
    for x in range(len(f)):
        if f[x] != 0:
            factor, row = float32(np.exp(change * f[x]) - 1), share[x]
            for lane in range(len(out)):
                out[lane] += factor * row[lane]
    for lane in range(len(out)):
        out[lane] *= unpacked.weights[lane]


@strict_leaf
def follow_feature(unpacked, i, f, change):
    """Let the fields of node i, and the weights of its states, follow a move of the parameter of a feature."""
    for x in range(len(f)):
        if f[x] != 0:
            unpacked.field[i, x] += change * f[x]
            unpacked.at_u[x] *= float32(np.exp(change * f[x]))
