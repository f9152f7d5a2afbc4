"""Redraws of the ends of an edge, of a node and of all nodes in every particle of m states."""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import leaf, strict_leaf
from ..compiled.lanes import HALF, ONE, symmetric_uniform
from ..rng import next_uint32
from .edge_tables import edge_categories, edge_table, weigh
from .memory import TILE


@leaf
def symmetric_uniforms(lanes, first, out):
    """Draw uniform numbers in (-1, 1) for the particles from ``first`` on."""
    for word in range(len(out) >> 6):
        generators, draws = lanes[(first >> 6) + word], out[64 * word : 64 * word + 64]
        for lane in range(lanes.shape[2] >> 6 << 6):
            draws[lane] = symmetric_uniform(next_uint32(generators, lane))


@leaf
def _choose(draws, weights, first, out):
    """Draw states with probabilities proportional to columns of ``weights`` from ``first``, which become cumulative.

    An array of these columns would not be contiguous in memory, for which there are no vector instructions.
    """
    m, size = len(weights), len(draws) >> 6 << 6
    last = first + size
    for k in range(1, m):
        row, before = weights[k, first:last], weights[k - 1, first:last]
        for lane in range(size):
            row[lane] += before[lane]
    total = weights[m - 1, first:last]
    for lane in range(size):
        draws[lane] = (draws[lane] + ONE) * HALF * total[lane]
        out[lane] = 0
    for k in range(m - 1):
        row = weights[k, first:last]
        for lane in range(size):
            out[lane] += np.int8(1) if row[lane] < draws[lane] else np.int8(0)


@leaf
def redraw_ends(graph, unpacked, i):
    """Redraw both ends of edge i in every particle under its present potential, after `edge_categories`."""
    m, n_particles = len(graph.category), unpacked.x.shape[1]
    table, u, v = edge_table(graph, unpacked, i), graph.edges[i, 0], graph.edges[i, 1]
    room, draws = np.empty((m, min(n_particles, TILE)), np.float32), np.empty(min(n_particles, TILE), np.float32)
    for first in range(0, n_particles, TILE):
        last = min(first + TILE, n_particles)
        size = (last - first) >> 6 << 6
        x_u = unpacked.x[u, first:last]
        for k in range(m):
            row, a = room[k, :size], unpacked.at_u[k, first:last]
            row[:] = float32(0)
            for y in range(m):
                b, w = unpacked.at_v[y, first:last], table[k, y]
                for lane in range(size):
                    row[lane] += w * b[lane]
            for lane in range(size):
                row[lane] *= a[lane]
        symmetric_uniforms(unpacked.lanes, first, draws[:size])
        _choose(draws[:size], room, 0, x_u)
        state = draws[:size]  # as numbers of the width of the weights, which vectorises
        for lane in range(size):
            state[lane] = float32(x_u[lane])
        for y in range(m):
            row, b = room[y, :size], unpacked.at_v[y, first:last]
            row[:] = float32(0)
            for k in range(m):
                w = table[k, y]
                for lane in range(size):
                    row[lane] += w if state[lane] == float32(k) else float32(0)
            for lane in range(size):
                row[lane] *= b[lane]
        symmetric_uniforms(unpacked.lanes, first, draws[:size])
        _choose(draws[:size], room, 0, unpacked.x[v, first:last])


@leaf
def weigh_node(graph, unpacked, i):
    """Compute the weights of the states of node i given its neighbours into ``at_u``."""
    for first in range(0, unpacked.x.shape[1], TILE):
        weigh(graph, unpacked, i, -1, -1, first, min(first + TILE, unpacked.x.shape[1]), unpacked.at_u)


@leaf
def redraw_node(unpacked, i):
    """Redraw node i in every particle by the weights in ``at_u``."""
    n_particles = unpacked.x.shape[1]
    draws = np.empty(min(n_particles, TILE), np.float32)
    for first in range(0, n_particles, TILE):
        last = min(first + TILE, n_particles)
        symmetric_uniforms(unpacked.lanes, first, draws[: last - first])
        _choose(draws[: last - first], unpacked.at_u, first, unpacked.x[i, first:last])


@leaf
def sweep(graph, unpacked):
    """Redraw all nodes of every particle, as copies of one are alike."""
    for i in range(len(unpacked.x)):
        weigh_node(graph, unpacked, i)
        redraw_node(unpacked, i)


@strict_leaf
def refresh(graph, unpacked, order):
    """Redraw the ends of the edges in ``order`` without moving theta."""
    for i in order:
        edge_categories(graph, unpacked, i)
        redraw_ends(graph, unpacked, i)
