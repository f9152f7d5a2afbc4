r"""Flips of whole clusters of nodes in persistent chains of m states a node.

The move of `bayesmrf.states.chain_flips` for any number of states. Each node gets an involution :math:`\sigma_i` of the
states that it has: two states are exchanged, and half of the time all states between them are reversed, too. These two
are at random the first and the last of each node, which reverses the order of answers; at the same place in the order
of each node; or those of two other chains, which may be in two modes. An edge is a bond with a probability
(`bayesmrf.states.cluster_flips.random_clusters`) that grows with its interaction

.. math:: |W(a_u, a_v) - W(a_u, b_v) - W(b_u, a_v) + W(b_u, b_v)|

in the two states a and b of its ends. Each cluster C in turn is then flipped in each chain by Gibbs sampling: from x to
:math:`\sigma_C(x)` with probability :math:`1 / (1 + p(x) / p(\sigma_C(x)))`.

Neither involutions nor clusters depend on the chain that is flipped (the two chains whose states are exchanged keep
theirs), so p(x | theta) is invariant for any edges and fields. Bonds of Swendsen and Wang depend on the states of each
chain, so that each would need clusters of its own, which does not vectorise.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int8, uint32

from ..compiled import leaf, strict_leaf
from ..compiled.lanes import HALF, tanh_ratio
from ..models.categorical import NEVER
from .cluster_flips import by_cluster, random_clusters
from .edge_tables import log_potential
from .table_sweeps import symmetric_uniforms

_ENDS, _PLACES = 0, 1  # the other way to choose two states is by two chains


@strict_leaf
def flip_levels(rng, graph, unpacked):
    """Flip all clusters of more than one node."""
    x, n_chains = unpacked.x, unpacked.x.shape[1]
    pair = int(rng.random() * n_chains), int(rng.random() * n_chains)
    kept = x[:, pair[0]].copy(), x[:, pair[1]].copy()
    image, ends = _involutions(rng, unpacked, pair)
    label = random_clusters(rng, graph.edges, _interactions(graph, unpacked, ends), len(ends))
    order, starts = by_cluster(label)
    for j in range(len(starts) - 1):
        members = order[starts[j] : starts[j + 1]]
        if len(members) > 1:
            _flip(graph, unpacked, image, members, label)
    x[:, pair[0]], x[:, pair[1]] = kept


@strict_leaf
def _involutions(rng, unpacked, pair):
    """Return the image of each state of each node (n_nodes, m), and the two states that are exchanged (n_nodes, 2)."""
    n_nodes, m = unpacked.field.shape
    image, ends = np.empty((n_nodes, m), np.int8), np.empty((n_nodes, 2), np.int64)
    way, inner, a, b = int(3 * rng.random()), rng.random() < 0.5, rng.random(), rng.random()
    for i in range(n_nodes):
        used = np.flatnonzero(unpacked.field[i] > NEVER)
        n = len(used)
        if way == _ENDS:
            start, stop = 0, n - 1
        elif way == _PLACES:
            start, stop = int(a * n), int(b * n)
        else:
            start, stop = np.searchsorted(used, unpacked.x[i, pair[0]]), np.searchsorted(used, unpacked.x[i, pair[1]])
        start, stop = min(start, stop), max(start, stop)
        image[i] = np.arange(m)
        for k in range(start, stop + 1):
            if inner or k in (start, stop):
                image[i, used[k]] = used[start + stop - k]
        ends[i, 0], ends[i, 1] = used[start], used[stop]
    return image, ends


@strict_leaf
def _interactions(graph, unpacked, ends):
    """Return the interaction of each edge in the two states of its ends."""
    out = np.zeros(len(graph.edges))
    for e in range(len(out)):
        u, v = ends[graph.edges[e, 0]], ends[graph.edges[e, 1]]
        for k in range(2):
            for y in range(2):
                w = log_potential(graph, unpacked, e, graph.edges[e, 0], u[k], v[y])
                out[e] += w if k == y else -w
    return out


@leaf
def _flip(graph, unpacked, image, members, label):
    """Flip a cluster by Gibbs sampling."""
    m, size, c = len(graph.category), unpacked.x.shape[1] >> 6 << 6, label[members[0]]
    energy, table = np.zeros(size, np.float32), np.empty(m * m, np.float32)
    for i in members:
        x = unpacked.x[i]
        for k in range(m):
            table[k] = float32(unpacked.field[i, k] - unpacked.field[i, image[i, k]])
        for lane in range(size):
            energy[lane] += table[uint32(x[lane])]
        for a in range(graph.starts[i], graph.starts[i + 1]):
            j, e = graph.neighbours[a], graph.edge_of[a]
            inside = label[j] == c
            if (inside and j < i) or not unpacked.potentials[e].any():
                continue
            for k in range(m):
                for y in range(m):
                    other = log_potential(graph, unpacked, e, i, image[i, k], image[j, y] if inside else y)
                    table[k * m + y] = float32(log_potential(graph, unpacked, e, i, k, y) - other)
            neighbour = unpacked.x[j]
            for lane in range(size):
                energy[lane] += table[uint32(uint32(x[lane]) * uint32(m)) + uint32(neighbour[lane])]
    draws, turn, images = np.empty(size, np.float32), np.empty(size, np.int8), np.empty(2 * m, np.int8)
    symmetric_uniforms(unpacked.lanes, 0, draws)
    for lane in range(size):
        p, q = tanh_ratio(HALF * energy[lane])
        turn[lane] = int8(m) if draws[lane] * q >= p else int8(0)
    for i in members:
        x = unpacked.x[i]
        for k in range(m):
            images[k], images[m + k] = k, image[i, k]
        for lane in range(size):
            x[lane] = images[uint32(turn[lane]) + uint32(x[lane])]
