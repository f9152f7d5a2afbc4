r"""The Gibbs sweep over nodes with m states, and counts, compiled; see `bayesmrf.samplers.gibbs` for the rest.

.. math:: p(x_i = k \mid x_{-i}) \propto \exp\Big(h_{ik} + \sum_{j \sim i} J_{ij} [x_j = k]\Big).

The new state is the number of cumulative weights below u times their sum, which needs no branch. As u may round to 1, a
state of weight 0 at the end is never drawn. Of edges whose tables are products w k l, the sum of w l over the
neighbours is the same for all states k.
"""

from __future__ import annotations

import numpy as np
from numba import float32

from ..compiled import leaf
from ..compiled.lanes import HALF, ONE, exp_rows_f, symmetric_uniform
from ..rng import next_uint32


@leaf
def _add_neighbour(coupling, e, is_first, other, h):
    """Add the terms of an edge, whose other end is in the states ``other``, to the log weights ``h`` (m, n_lanes).

    In tables the states of the first end are the rows: ``is_first`` says whether it is that with the weights.
    """
    m, n_lanes = h.shape
    n_lanes = n_lanes >> 6 << 6
    if coupling.ndim == 1:
        w = float32(coupling[e])
        for k in range(m):
            row, state = h[k], np.int8(k)
            for lane in range(n_lanes):
                row[lane] += w if other[lane] == state else float32(0)
    else:
        for k in range(m):
            row = h[k]
            for y in range(m):
                w, state = float32(coupling[e, k, y] if is_first else coupling[e, y, k]), np.int8(y)
                for lane in range(n_lanes):
                    row[lane] += w if other[lane] == state else float32(0)


@leaf
def _add_product(coupling, e, other, total):
    """Add w l of an edge, whose other end is in the states ``other``, to ``total`` (n_lanes,)."""
    if coupling.ndim > 1:
        w, n_lanes = float32(coupling[e, 1, 1]), len(total) >> 6 << 6
        for lane in range(n_lanes):
            total[lane] += w * float32(other[lane])


@leaf
def _products(coupling):
    """Return whether the table of each edge is w k l; coupling is (n_edges,) or (n_edges, m, m)."""
    found = np.zeros(len(coupling), np.bool_)
    if coupling.ndim > 1:
        for e in range(len(coupling)):
            found[e] = True
            for k in range(coupling.shape[1]):
                for y in range(coupling.shape[1]):
                    found[e] &= coupling[e, k, y] == coupling[e, 1, 1] * (k * y)
    return found


@leaf
def categorical_sweep(model, states, lanes, n_sweeps):
    """Run blocks of lanes, (n_blocks, n_nodes, n_lanes) in {0, ..., m - 1}, through systematic scans."""
    n_blocks, n_nodes, n_lanes = states.shape
    # Tells the compiler that n_lanes is a multiple of 64; a constant 64 would be unrolled and not vectorised.
    n_lanes = n_lanes >> 6 << 6
    m = model.field.shape[1]
    h = np.empty((m, n_lanes), np.float32)
    top = np.empty(n_lanes, np.float32)
    scale = np.empty(n_lanes, np.float32)
    new, total, products = np.empty(n_lanes, np.int8), np.empty(n_lanes, np.float32), _products(model.coupling)
    for b in range(n_blocks):
        x, generators = states[b], lanes[b]
        for _ in range(n_sweeps):
            for i in range(n_nodes):
                for k in range(m):
                    field = float32(model.field[i, k])
                    row = h[k]
                    for lane in range(n_lanes):
                        row[lane] = field
                total[:] = 0
                for a in range(model.starts[i], model.starts[i + 1]):
                    e, other = model.edge_of[a], x[model.neighbours[a]]
                    if products[e]:
                        _add_product(model.coupling, e, other, total)
                    else:
                        _add_neighbour(model.coupling, e, model.edges[e, 0] == i, other, h)
                for k in range(1, m):
                    row, factor = h[k], float32(k)
                    for lane in range(n_lanes):
                        row[lane] += factor * total[lane]
                exp_rows_f(h, 0, n_lanes, top, scale)
                for k in range(1, m):
                    row, before = h[k], h[k - 1]
                    for lane in range(n_lanes):
                        row[lane] += before[lane]
                # The weights are cumulative now, and the last row is their sum.
                row = h[m - 1]
                for lane in range(n_lanes):
                    u = (symmetric_uniform(next_uint32(generators, lane)) + ONE) * HALF
                    top[lane] = u * row[lane]
                    new[lane] = 0
                for k in range(m - 1):
                    row = h[k]
                    for lane in range(n_lanes):
                        new[lane] += np.int8(1) if row[lane] < top[lane] else np.int8(0)
                x[i] = new


@leaf
def _count_pair(pair, e, u, v, n_counted):
    if pair.ndim == 1:
        same = 0
        for lane in range(n_counted):
            same += u[lane] == v[lane]
        pair[e] += same
    else:
        for lane in range(n_counted):
            pair[e, u[lane], v[lane]] += 1


@leaf
def categorical_counts(edges, states, n_chains, pair, node):
    """Count [x_i = k] into ``node`` and [x_u = x_v] into ``pair``, over the first ``n_chains`` lanes.

    If ``pair`` is (n_edges, m, m), count [x_u = k, x_v = l].
    """
    n_blocks, n_nodes, n_lanes = states.shape
    pair[:] = 0
    node[:] = 0
    for b in range(n_blocks):
        x = states[b]
        n_counted = min(n_lanes, n_chains - b * n_lanes)
        for e in range(len(edges)):
            _count_pair(pair, e, x[edges[e, 0]], x[edges[e, 1]], n_counted)
        for i in range(n_nodes):
            row = x[i]
            for k in range(node.shape[1]):
                state = np.int8(k)
                seen = 0
                for lane in range(n_counted):
                    seen += row[lane] == state
                node[i, k] += seen
