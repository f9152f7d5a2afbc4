"""Particles of many states: probabilities of the values of a feature of a node, and moves of its parameter."""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import strict_leaf
from .tables import mean_share, state_shares


@strict_leaf
def node_shares(unpacked, share):
    """Set ``share`` (m, n_particles) to the probability of each state."""
    for x in range(len(share)):
        state_shares(unpacked, x, share[x])


@strict_leaf
def mean_shares(unpacked, i, f, share, first, last, cells):
    """Average ``share`` of node i over particles first..last-1 into ``cells`` (m,).

    The first has the states in which f is 0.
    """
    cells[:] = 0.0
    for x in range(len(f)):
        cells[x if f[x] != 0 else 0] += mean_share(unpacked, i, x, share[x], first, last)


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
