"""Probabilities of the four states of a pair of nodes from chains, by counts or by conditional probabilities.

Each chain gives the distribution of the pair given its other nodes, which is never zero; the mean over the chains has
the same expectation as the share of the chains in a state, and a smaller variance (Rao and Blackwell). Counts of few
chains in a rare state have large and skewed errors, which differ between the models with and without the edge.
"""

from __future__ import annotations

import numpy as np
from numba import float32, uint64

from ..compiled import leaf
from ..compiled.lanes import HALF, ONE, tanh_ratio
from .persistent_chains import count_both

_MOST = 60.0  # largest weight, as its exponential must be finite
_TILE = 1024  # chains at a time
_LEAST = 0.5  # chains in a state without chains, in counts


@leaf
def counted_cells(words, i, j):
    """Return the shares of the chains of ``words`` in the states 00, 01, 10, 11, at least half a chain in each."""
    n_chains = 64 * words.shape[1]
    both, ones_i, ones_j = count_both(words, i, j), count_both(words, i, i), count_both(words, j, j)
    c11, c10, c01 = max(both, _LEAST), max(ones_i - both, _LEAST), max(ones_j - both, _LEAST)
    c00 = max(n_chains - ones_i - ones_j + both, _LEAST)
    total = c11 + c10 + c01 + c00
    return c00 / total, c01 / total, c10 / total, c11 / total


@leaf
def counted_spread(cells, factors):
    """Return the variance and the third central moment of a chain's factor, in units of powers of its mean."""
    mean, second, third = 0.0, 0.0, 0.0
    for k in range(4):
        mean += cells[k] * factors[k]
    for k in range(4):
        d = factors[k] / mean - 1
        second += cells[k] * d * d
        third += cells[k] * d * d * d
    return second, third


@leaf
def half_field(blocks, rows, theta, b, start, i, j, k, out):
    """Set ``out`` to half the log odds of x_i = 1 in chains of a block, from ``start``, without edges to j and k."""
    x, n_lanes = blocks.states[b], len(out) >> 6 << 6
    first = uint64(start)  # an index that may be negative, to count from the end, prevents vector instructions
    bias = HALF * float32(theta[len(rows.edges) + i])
    for lane in range(n_lanes):
        out[lane] = bias
    for place in range(rows.starts[i], rows.starts[i] + rows.degree[i]):
        other = rows.neighbours[place]
        if other not in (j, k):
            w = HALF * float32(theta[rows.edge_of[place]])
            for lane in range(n_lanes):
                out[lane] += w * float32(x[other, first + uint64(lane)])


@leaf
def _probability(blocks, rows, theta, b, i, j, out):
    """Set ``out`` to P(x_i = 1) in the chains of a block, given their other nodes, without the edge to node j."""
    half_field(blocks, rows, theta, b, 0, i, j, j, out)
    for lane in range(len(out) >> 6 << 6):
        p, q = tanh_ratio(out[lane])
        out[lane] = HALF + HALF * (p / q)


@leaf
def ends_without_edge(blocks, rows, theta, e, ends):
    """Set ``ends`` (2, n_chains) to the probabilities of 1 of the ends of edge e, given the rest and without e."""
    i, j, n_lanes = rows.edges[e, 0], rows.edges[e, 1], blocks.states.shape[2]
    for b in range(len(blocks.states)):
        last = min((b + 1) * n_lanes, ends.shape[1])
        _probability(blocks, rows, theta, b, i, j, ends[0, b * n_lanes : last])
        _probability(blocks, rows, theta, b, j, i, ends[1, b * n_lanes : last])


@leaf
def conditional_cells(ends, first, last, weight):
    """Return these cells by chains first..last-1, each given its other nodes; ``ends`` is by `ends_without_edge`.

    Columns of an array are not contiguous, and compiled code has no vector instructions for them: the array is whole.
    """
    tilt = float32(np.exp(min(weight, _MOST))) - ONE
    s11 = s10 = s01 = s00 = 0.0
    for start in range(first, last, _TILE):
        stop = min(start + _TILE, last)
        p_i, p_j = ends[0, start:stop], ends[1, start:stop]
        t11 = t10 = t01 = t00 = float32(0)
        for lane in range(len(p_i) >> 6 << 6):
            p, q = p_i[lane], p_j[lane]
            scale = ONE / (ONE + tilt * p * q)
            t11 += (ONE + tilt) * p * q * scale
            t10 += p * (ONE - q) * scale
            t01 += (ONE - p) * q * scale
            t00 += (ONE - p) * (ONE - q) * scale
        s11 += float(t11)
        s10 += float(t10)
        s01 += float(t01)
        s00 += float(t00)
    n_chains = last - first
    return s00 / n_chains, s01 / n_chains, s10 / n_chains, s11 / n_chains


@leaf
def conditional_spread(ends, first, last, weight, cells, factors):
    """Return the moments of `counted_spread`, of the conditional probabilities in each chain given its other nodes."""
    tilt, mean, second, third = float32(np.exp(min(weight, _MOST))) - ONE, 0.0, 0.0, 0.0
    for k in range(4):
        mean += cells[k] * factors[k]
    f00, f01, f10 = float32(factors[0] / mean), float32(factors[1] / mean), float32(factors[2] / mean)
    f11 = (ONE + tilt) * float32(factors[3] / mean)
    for start in range(first, last, _TILE):
        stop = min(start + _TILE, last)
        p_i, p_j = ends[0, start:stop], ends[1, start:stop]
        squares = cubes = float32(0)
        for lane in range(len(p_i) >> 6 << 6):
            p, q = p_i[lane], p_j[lane]
            found = q * (p * f11 + (ONE - p) * f01) + (ONE - q) * (p * f10 + (ONE - p) * f00)
            d = found / (ONE + tilt * p * q) - ONE
            squares += d * d
            cubes += d * d * d
        second += float(squares)
        third += float(cubes)
    return second / (last - first), third / (last - first)
