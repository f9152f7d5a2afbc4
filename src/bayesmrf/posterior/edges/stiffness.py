r"""The largest stable Langevin step on a graph with changing edges.

Steps of size :math:`\epsilon C`, C diagonal, are stable while :math:`\epsilon^2 \lambda < 4`, with :math:`\lambda` the
largest eigenvalue of :math:`C N \mathrm{Cov}(f) C`. It is of order 1 if edges are nearly independent, and of the order
of their number if their nodes flip together, such as parties in a parliament. It is updated by one step of the power
method on the current chains.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numba import float32

from ...compiled import copy_to, leaf
from ...states.chain_flips import flip_clusters
from ...states.persistent_chains import sweep

_SETTLE = 20  # initial sweeps of the chains, and steps of the power method


@leaf
def settle(rng, blocks, rows, theta, centre, ends, scale, n, direction):
    """Run random chains at theta, and estimate the stiffness there."""
    found = 0.0
    for _ in range(_SETTLE):
        flip_clusters(rng, blocks, rows, theta)
        sweep(blocks, rows, theta)
    for _ in range(_SETTLE):
        found = stiffness(blocks, rows, centre, ends, scale, n, direction)
    return found


@leaf
def stiffness(blocks, rows, centre, ends, scale, n, direction):
    r"""Return the Rayleigh quotient :math:`\lambda` of ``direction`` (n_features,); move it towards the eigenvector.

    ``scale`` is the diagonal of C; f are the states, and the features of the present edges,
    :math:`x_u x_v - k_u x_u - k_v x_v`, with k those of ``ends`` (n_edges, 2). Apart from a constant, such a feature is
    the product of :math:`z = x - c` of its ends and a multiple of each.
    """
    n_blocks, n_nodes, n_lanes = blocks.states.shape
    n_lanes, r = n_lanes >> 6 << 6, len(rows.edges)
    z, t = np.empty((n_nodes, n_lanes), np.float32), np.empty((n_blocks, n_lanes), np.float32)
    total, size, own = 0.0, 1e-300, direction[r:] * scale[r:]
    for k in range(r, r + n_nodes):
        size += direction[k] ** 2
    for k in range(rows.n_present[0]):
        e = rows.present[k]
        size += direction[e] ** 2
        for end in range(2):
            own[rows.edges[e, end]] += direction[e] * scale[e] * _multiple(centre, ends, rows, e, end)
    for b in range(n_blocks):
        _centred(blocks.states[b], centre, z)
        mine = t[b]
        mine[:] = 0
        for i in range(n_nodes):
            _add(float32(own[i]), z[i], mine)
        for k in range(rows.n_present[0]):
            e = rows.present[k]
            _add_product(float32(direction[e] * scale[e]), z[rows.edges[e, 0]], z[rows.edges[e, 1]], mine)
        total += mine.sum()
    mean = float32(total / (n_blocks * n_lanes))
    new = np.zeros(len(direction))
    for b in range(n_blocks):
        _centred(blocks.states[b], centre, z)
        mine = t[b]
        for lane in range(n_lanes):
            mine[lane] -= mean
        for i in range(n_nodes):
            new[r + i] += _dot(z[i], mine)
        for k in range(rows.n_present[0]):
            e = rows.present[k]
            new[e] += _dot_product(z[rows.edges[e, 0]], z[rows.edges[e, 1]], mine)
    for k in range(rows.n_present[0]):
        e = rows.present[k]
        for end in range(2):
            new[e] += _multiple(centre, ends, rows, e, end) * new[r + rows.edges[e, end]]
    quotient, length = 0.0, 1e-300
    for k in range(len(direction)):
        new[k] *= scale[k] * n / (n_blocks * n_lanes)
        quotient += new[k] * direction[k]
        length += new[k] ** 2
    copy_to(direction, new / sqrt(length))
    return quotient / size


@leaf
def _multiple(centre, ends, rows, e, end):
    return centre[rows.edges[e, 1 - end]] - ends[e, end]


@leaf
def _centred(x, centre, z):
    for i in range(len(centre)):
        c = float32(centre[i])
        for lane in range(z.shape[1]):
            z[i, lane] = float32(x[i, lane]) - c


@leaf
def _add(a, z, out):
    for lane in range(len(out) >> 6 << 6):
        out[lane] += a * z[lane]


@leaf
def _add_product(a, y, z, out):
    for lane in range(len(out) >> 6 << 6):
        out[lane] += a * y[lane] * z[lane]


@leaf
def _dot(z, t):
    total = float32(0)
    for lane in range(len(t) >> 6 << 6):
        total += z[lane] * t[lane]
    return total


@leaf
def _dot_product(y, z, t):
    total = float32(0)
    for lane in range(len(t) >> 6 << 6):
        total += y[lane] * z[lane] * t[lane]
    return total
