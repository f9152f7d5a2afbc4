"""Joint distributions of the ends of two edges that share a node, averaged over particles of many states."""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import leaf
from ..graphs import edge_between
from .edge_tables import edge_table, relative_weights, weigh
from .memory import TILE


@leaf
def rival_cells(graph, unpacked, nodes, e, f, log_factors, start, stop, of_e, of_f, joint):
    """Compute the joint distributions of two pairs of nodes in the model with another parameter of edge e.

    Let q(k, l, y) be the probability of the states of ``nodes`` = (hub, v, w) given the rest of a particle, e the edge
    hub-v and f the edge hub-w. ``log_factors`` F (m^2,) is the change of the log weight of the states of hub and v.

    Parameters
    ----------
    of_e, of_f : (m^2,) arrays
        Filled with the means over particles start..stop-1 (multiples of 64) of sum_y q(k, l, y) exp(F(k, l)) and
        sum_l q(k, l, y) exp(F(k, l)), up to a factor.
    joint : (m^2, n_particles) float32 array
        Filled with the second of these of each of them.
    """
    m, n_particles = len(graph.category), stop - start
    hub, v, w = nodes
    between = edge_between(graph, v, w)
    old = _facing(graph, unpacked, e, hub)
    new = old * relative_weights(unpacked, hub, v, log_factors.reshape(m, m))
    across, at_f = np.ones((m, m), np.float32), _facing(graph, unpacked, f, hub)
    if between >= 0:
        across = _facing(graph, unpacked, between, v)
    n_hub = m if unpacked.potentials[f].any() else 1  # states of hub that make a difference to w
    at_w = np.empty((m, unpacked.x.shape[1]), np.float32)
    rows, room = np.empty((3, min(n_particles, TILE)), np.float32), min(n_particles, TILE)
    sums = np.empty((n_hub, m, room), np.float32)
    of_e[:] = 0.0
    of_f[:] = 0.0
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        size = (last - first) >> 6 << 6
        weigh(graph, unpacked, hub, e, f, first, last, unpacked.at_u)
        weigh(graph, unpacked, v, e, between, first, last, unpacked.at_v)
        weigh(graph, unpacked, w, f, between, first, last, at_w)
        whole, part, each = rows[0, :size], rows[1, :size], rows[2, :size]
        weights = unpacked.weights[first:last]
        for k in range(n_hub):
            for y in range(m):  # at_v times the sum over the states of w
                row, b = sums[k, y, :size], unpacked.at_v[y, first:last]
                row[:] = float32(0)
                for z in range(m):
                    c, t = at_w[z, first:last], across[y, z] * at_f[k, z]
                    for lane in range(size):
                        row[lane] += t * c[lane]
                for lane in range(size):
                    row[lane] *= b[lane]
        whole[:] = float32(0)
        for k in range(m):
            a = unpacked.at_u[k, first:last]
            part[:] = float32(0)
            for y in range(m):
                row, t = sums[k % n_hub, y, :size], old[k, y]
                for lane in range(size):
                    part[lane] += t * row[lane]
            for lane in range(size):
                whole[lane] += a[lane] * part[lane]
        for k in range(m):
            a = unpacked.at_u[k, first:last]
            for lane in range(size):
                each[lane] = weights[lane] * a[lane] / whole[lane]
            for y in range(m):
                row, total = sums[k % n_hub, y, :size], float32(0)
                for lane in range(size):
                    total += each[lane] * row[lane]
                of_e[k * m + y] += new[k, y] * total
            for z in range(m):
                c, row, total = at_w[z, first:last], joint[k * m + z, first:last], float32(0)
                part[:] = float32(0)
                for y in range(m):
                    b, t = unpacked.at_v[y, first:last], new[k, y] * across[y, z] * at_f[k, z]
                    for lane in range(size):
                        part[lane] += t * b[lane]
                for lane in range(size):
                    row[lane] = each[lane] * c[lane] * part[lane]
                    total += row[lane]
                of_f[k * m + z] += total
    of_e /= unpacked.weights[start:stop].sum()
    of_f /= unpacked.weights[start:stop].sum()


@leaf
def _facing(graph, unpacked, e, i):
    """Return `edge_table` with the states of end i of edge e as rows."""
    table = edge_table(graph, unpacked, e)
    return table if graph.edges[e, 0] == i else table.T.copy()


@leaf
def grown_jointly(unpacked, hub, w, joint, log_factors, out):
    """Set ``out`` to the weights of the particles after edge f = hub-w has moved, up to a factor: sums of ``joint``."""
    m, size = len(unpacked.at_u), len(out) >> 6 << 6
    factors = relative_weights(unpacked, hub, w, log_factors.reshape(m, m)).ravel()
    out[:] = float32(0)
    for x in range(len(factors)):
        row, t = joint[x], factors[x]
        for lane in range(size):
            out[lane] += t * row[lane]
