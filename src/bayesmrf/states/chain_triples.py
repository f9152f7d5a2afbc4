"""Probabilities of the eight states of three nodes from chains, each given the other nodes of its chain.

Where two of the nodes are nearly always equal, half of the states are rare, and counts of them would be useless (see
`bayesmrf.states.chain_pairs`).
"""

from __future__ import annotations

import numpy as np
from numba import float32, float64

from ..compiled import leaf
from ..compiled.lanes import MOST_F, exp_rest_f, power_bits_f
from .chain_pairs import half_field

_ZERO, _TWO = np.float32(0), np.float32(2)


@leaf
def _weight(rows, theta, i, j):
    """Return the weight between two nodes, 0 without an edge."""
    for k in range(rows.starts[i], rows.starts[i] + rows.degree[i]):
        if rows.neighbours[k] == j:
            return float32(theta[rows.edge_of[k]])
    return _ZERO


@leaf
def triple_cells(blocks, rows, theta, nodes, factors, first, last, cells):
    """Set ``cells`` (8,) to the mean probabilities of the states 000, 001, ... of three nodes.

    The means are over chains first..last-1 (multiples of 64). Returns the mean square and cube of a chain's own mean of
    ``factors`` (8,), one for each state.
    """
    (i, j, k), n_lanes = nodes, blocks.states.shape[2]
    g, bits = np.empty((8, n_lanes), np.float32), np.empty((8, n_lanes), np.int32)
    power = bits.view(np.float32)
    x_half, y_half, z_half = np.empty(n_lanes, np.float32), np.empty(n_lanes, np.float32), np.empty(n_lanes, np.float32)
    w_ij, w_ik, w_jk = _weight(rows, theta, i, j), _weight(rows, theta, i, k), _weight(rows, theta, j, k)
    cells[:] = 0.0
    square = cube = 0.0
    for b in range(first // n_lanes, (last - 1) // n_lanes + 1):
        start, stop = max(0, first - b * n_lanes), min(n_lanes, last - b * n_lanes)
        n = (stop - start) >> 6 << 6
        half_field(blocks, rows, theta, b, start, i, j, k, x_half[:n])
        half_field(blocks, rows, theta, b, start, j, i, k, y_half[:n])
        half_field(blocks, rows, theta, b, start, k, i, j, z_half[:n])
        for lane in range(n):
            x, y, z = _TWO * x_half[lane], _TWO * y_half[lane], _TWO * z_half[lane]
            xy, xz, yz = x + y + w_ij, x + z + w_ik, y + z + w_jk
            xyz = xy + z + w_ik + w_jk
            top = max(max(max(_ZERO, x), max(y, z)), max(max(xy, xz), max(yz, xyz)))
            g[0, lane], g[1, lane] = min(top, MOST_F), min(top - z, MOST_F)
            g[2, lane], g[3, lane] = min(top - y, MOST_F), min(top - yz, MOST_F)
            g[4, lane], g[5, lane] = min(top - x, MOST_F), min(top - xz, MOST_F)
            g[6, lane], g[7, lane] = min(top - xy, MOST_F), min(top - xyz, MOST_F)
        for s in range(8):
            for lane in range(n):
                bits[s, lane] = power_bits_f(g[s, lane])
            for lane in range(n):
                g[s, lane] = power[s, lane] * exp_rest_f(g[s, lane])
        total, mean = power[0], power[1]  # no longer used
        for lane in range(n):
            total[lane] = g[0, lane] + g[1, lane] + g[2, lane] + g[3, lane]
            total[lane] += g[4, lane] + g[5, lane] + g[6, lane] + g[7, lane]
            mean[lane] = _ZERO
        for s in range(8):
            factor, found = float32(factors[s]), _ZERO
            for lane in range(n):
                share = g[s, lane] / total[lane]
                found += share
                mean[lane] += share * factor
            cells[s] += found
        squares = cubes = _ZERO
        for lane in range(n):
            squares += mean[lane] * mean[lane]
            cubes += mean[lane] * mean[lane] * mean[lane]
        square, cube = square + float64(squares), cube + float64(cubes)
    for s in range(8):
        cells[s] /= last - first
    return square / (last - first), cube / (last - first)
