"""Probabilities of the four states of a pair of nodes from chains, by counts or by conditional probabilities.

Counts of few chains have large and skewed errors, which differ between the models with and without the edge. If a state
is rare, each chain gives the distribution of the pair given its other nodes, which is never zero; the mean over the
chains has the same expectation as the share of the chains, and a smaller variance (Rao and Blackwell).
"""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import leaf
from ..lanes import tanh_ratio
from .persistent_chains import count_both

_HALF, _ONE = np.float32(0.5), np.float32(1)
_MOST = 60.0  # largest weight, as its exponential must be finite
_LEAST = 0.5  # chains in a state without chains, in counts


@leaf
def counted_cells(words, i, j, square):
    """Return the shares of the chains of ``words`` in the states 00, 01, 10, 11, at least half a chain in each.

    ``square`` (4, 4) is set to the mean products of a chain's own shares, which are 0 or 1.
    """
    n_chains = 64 * words.shape[1]
    both, ones_i, ones_j = count_both(words, i, j), count_both(words, i, i), count_both(words, j, j)
    c11, c10, c01 = max(both, _LEAST), max(ones_i - both, _LEAST), max(ones_j - both, _LEAST)
    c00 = max(n_chains - ones_i - ones_j + both, _LEAST)
    total = c11 + c10 + c01 + c00
    square[:] = 0
    square[0, 0], square[1, 1], square[2, 2], square[3, 3] = c00 / total, c01 / total, c10 / total, c11 / total
    return c00 / total, c01 / total, c10 / total, c11 / total


@leaf
def estimated_cells(blocks, rows, theta, e, conditional, first, last, square):
    """Return cells from chains first..last-1 (multiples of 64) by one of the two estimators; set ``square``."""
    if conditional:
        return conditional_cells(blocks, rows, theta, e, first, last, square)
    return counted_cells(blocks.words[:, first >> 6 : last >> 6], rows.edges[e, 0], rows.edges[e, 1], square)


@leaf
def half_field(blocks, rows, theta, b, i, j, k, out):
    """Set ``out`` to half the log odds of x_i = 1 in the chains of a block, without the edges to nodes j and k."""
    x, n_lanes = blocks.states[b], len(out) >> 6 << 6
    bias = _HALF * float32(theta[len(rows.edges) + i])
    for lane in range(n_lanes):
        out[lane] = bias
    for place in range(rows.starts[i], rows.starts[i] + rows.degree[i]):
        other = rows.neighbours[place]
        if other not in (j, k):
            row, w = x[other], _HALF * float32(theta[rows.edge_of[place]])
            for lane in range(n_lanes):
                out[lane] += w * float32(row[lane])


@leaf
def _probability(blocks, rows, theta, b, i, j, out):
    """Set ``out`` to P(x_i = 1) in the chains of a block, given their other nodes, without the edge to node j."""
    half_field(blocks, rows, theta, b, i, j, j, out)
    for lane in range(len(out) >> 6 << 6):
        p, q = tanh_ratio(out[lane])
        out[lane] = _HALF + _HALF * (p / q)


@leaf
def conditional_cells(blocks, rows, theta, e, first, last, square):
    """Return these cells for chains first..last-1 (multiples of 64), each given the other nodes of its chain."""
    i, j, n_lanes = rows.edges[e, 0], rows.edges[e, 1], blocks.states.shape[2]
    room = np.empty((2, n_lanes), np.float32)
    tilt = float32(np.exp(min(theta[e], _MOST))) - _ONE
    square[:] = 0
    m11 = m10 = m01 = m00 = np.float64(0)
    for b in range(first // n_lanes, (last - 1) // n_lanes + 1):
        _probability(blocks, rows, theta, b, i, j, room[0])
        _probability(blocks, rows, theta, b, j, i, room[1])
        start, stop = max(0, first - b * n_lanes), min(n_lanes, last - b * n_lanes)
        p_i, p_j = room[0, start:stop], room[1, start:stop]
        s11 = s10 = s01 = s00 = float32(0)
        s1110 = s1101 = s1100 = s1001 = s1000 = s0100 = float32(0)
        t11 = t10 = t01 = t00 = float32(0)
        for lane in range(len(p_i) >> 6 << 6):
            p, q = p_i[lane], p_j[lane]
            scale = _ONE / (_ONE + tilt * p * q)
            a, c = (_ONE + tilt) * p * q * scale, p * (_ONE - q) * scale
            d, f = (_ONE - p) * q * scale, (_ONE - p) * (_ONE - q) * scale
            t11 += a
            t10 += c
            t01 += d
            t00 += f
            s11 += a * a
            s10 += c * c
            s01 += d * d
            s00 += f * f
            s1110 += a * c
            s1101 += a * d
            s1100 += a * f
            s1001 += c * d
            s1000 += c * f
            s0100 += d * f
        m11, m10, m01, m00 = m11 + t11, m10 + t10, m01 + t01, m00 + t00
        square[3, 3] += s11
        square[2, 2] += s10
        square[1, 1] += s01
        square[0, 0] += s00
        square[2, 3] += s1110
        square[1, 3] += s1101
        square[0, 3] += s1100
        square[1, 2] += s1001
        square[0, 2] += s1000
        square[0, 1] += s0100
    n_chains = last - first
    for k in range(4):
        for m in range(k, 4):
            square[k, m] /= n_chains
            square[m, k] = square[k, m]
    return m00 / n_chains, m01 / n_chains, m10 / n_chains, m11 / n_chains
