r"""Flips of whole clusters of nodes in persistent chains.

The move of `bayesmrf.states.cluster_flips`, for states in {0, 1} and graphs with changing edges: clusters are drawn
at random by the weights alone, or by correlations of the data, and each is flipped in each chain by Gibbs sampling,
which leaves p(x | theta) invariant. With

.. math:: F_u = b_u + \tfrac12 \sum_{v \in C} \theta_{uv} + \sum_{v \notin C} \theta_{uv} x_v, \qquad
          E = \sum_{u \in C} (x_u - \tfrac12) F_u,

the log odds of the current states against the flipped ones are 2 E.
"""

from __future__ import annotations

import numpy as np
from numba import float32, int8

from ..compiled import leaf
from ..compiled.lanes import HALF, symmetric_uniform, tanh_ratio
from ..rng import next_uint32
from .cluster_flips import by_cluster, random_clusters


@leaf
def flip_clusters(rng, blocks, rows, theta):
    """Flip all clusters of more than one node by Gibbs sampling, without updating the words."""
    n_blocks, n_nodes, _ = blocks.states.shape
    there = rows.present[: rows.n_present[0]]
    label = random_clusters(rng, rows.edges[there], theta[there], n_nodes)
    order, starts = by_cluster(label)
    for j in range(len(starts) - 1):
        first, last = starts[j], starts[j + 1]
        if last - first > 1:
            for b in range(n_blocks):
                _flip(blocks.states[b], blocks.lanes[b], rows, theta, order[first:last], label, label[order[first]])


@leaf
def flip_correlated(rng, blocks, rows, theta, correlation):
    r"""Flip a random set of nodes that are correlated in the data by Gibbs sampling, without updating the words.

    The set is of the nodes i whose :math:`|\sum_j R_{ij} z_j|`, with standard normal z, exceeds a random share of the
    largest. If R is a high power of the correlation matrix of rows that follow two patterns, these are mostly all nodes
    in which the patterns differ.
    """
    n_nodes = len(correlation)
    size = np.zeros(n_nodes)
    for i in range(n_nodes):
        z = rng.standard_normal()
        for j in range(n_nodes):
            size[j] += z * correlation[i, j]
    size = np.abs(size)
    inside = (size > rng.random() * size.max()).astype(np.int64)
    members = np.flatnonzero(inside)
    if len(members) > 1:
        for b in range(len(blocks.states)):
            _flip(blocks.states[b], blocks.lanes[b], rows, theta, members, inside, 1)


@leaf
def _flip(x, generators, rows, theta, members, label, c):
    """Flip the nodes ``members``, those with label c, in a block of chains by Gibbs sampling."""
    n_lanes = x.shape[1] >> 6 << 6
    r = len(rows.edges)
    energy, field = np.zeros(n_lanes, np.float32), np.empty(n_lanes, np.float32)
    for i in members:
        bias = theta[r + i]
        stop = rows.starts[i] + rows.degree[i]
        for k in range(rows.starts[i], stop):
            if label[rows.neighbours[k]] == c:
                bias += 0.5 * theta[rows.edge_of[k]]
        for lane in range(n_lanes):
            field[lane] = float32(bias)
        for k in range(rows.starts[i], stop):
            j = rows.neighbours[k]
            if label[j] != c:
                w = float32(theta[rows.edge_of[k]])
                for lane in range(n_lanes):
                    field[lane] += w * float32(x[j, lane])
        for lane in range(n_lanes):
            energy[lane] += (float32(x[i, lane]) - HALF) * field[lane]
    turn = np.empty(n_lanes, np.int8)
    for lane in range(n_lanes):
        p, q = tanh_ratio(energy[lane])
        turn[lane] = int8(symmetric_uniform(next_uint32(generators, lane)) * q >= p)
    for i in members:
        for lane in range(n_lanes):
            x[i, lane] ^= turn[lane]
