r"""Flips of whole clusters of nodes in many particles at once.

If couplings are strong, single nodes are rarely flipped. Here clusters are drawn at random by the couplings alone, the
same for all particles: an edge is a bond with probability 1 - exp(-c |theta|), c uniform on (0, 1/2), so that clusters
are of all sizes. Each cluster C in turn is flipped in each particle by Gibbs sampling,

.. math:: P(\mathrm{flip}) = \tfrac12 (1 - \tanh E), \qquad
          E = \sum_{u \in C, v \notin C} w_{uv} x_u x_v + \sum_{u \in C} h_u x_u.

As clusters do not depend on the states, p(x | theta) is invariant for any signs of the couplings. (Clusters of Swendsen
and Wang, which depend on the states, are of no use with frustrated couplings.)
"""

from __future__ import annotations

from math import exp, tanh

import numpy as np

from ..compiled import copy_to, leaf, strict_leaf
from ..compiled.lanes import DOWN, UP
from ..samplers.clusters import bind
from .keys import add_agreements, add_states, compare, look_up, random_bits, threshold
from .memory import TILE, RefreshGraph, UnpackedParticles, bias_of, fill_hubs, update_hubs
from .refresh import tanh_of, uniforms

_MOST, _MOST_EDGES = 100, 400  # largest number of nodes of a cluster grown from an edge, and of edges at them
_BITS = 8  # of a key
_CROWDED = 16  # edges at a node beyond which clusters near an edge are not flipped
_LOOSE = 0.5  # of 0.4, 0.5, 1 and 1.5 the fastest on a frustrated 30 x 30 grid


@leaf
def _add_products(h, x, energy):
    for lane in range(len(energy) >> 6 << 6):
        energy[lane] += h[lane] * np.float32(x[lane])


@leaf
def _add_looked_up(key, table, energy):
    for lane in range(len(energy) >> 6 << 6):
        energy[lane] += table[key[lane]]


@leaf
def _flip(flip, x):
    for lane in range(len(x) >> 6 << 6):
        x[lane] = x[lane] * flip[lane]


@strict_leaf
def random_clusters(rng, edges, theta, n_nodes):
    """Draw clusters; return the label of each node, the smallest node of its cluster."""
    parent, scale = np.arange(n_nodes), _LOOSE * rng.random()
    for e in range(len(edges)):
        if rng.random() >= exp(-scale * abs(theta[e])):
            bind(parent, edges[e, 0], edges[e, 1])
    for i in range(n_nodes):
        parent[i] = parent[parent[i]]
    return parent


@strict_leaf
def _energies(w, n):
    """Return the energy of every key of ``n`` bits: coupling w[k] where bit k is set, else -w[k]."""
    out = np.empty(1 << n, np.float32)
    out[0] = -w[:n].sum()
    for bit in range(n):
        for key in range(1 << bit):
            out[key + (1 << bit)] = out[key] + 2 * w[bit]
    return out


@strict_leaf
def _gather(key, w, n, energy, begun):
    """Add the energies of the keys; ``begun`` is False for the first ones."""
    if begun:
        _add_looked_up(key, _energies(w, n), energy)
    else:
        look_up(key, _energies(w, n), energy)
    key[:] = 0


@strict_leaf
def _flip_cluster(graph, unpacked, members, label, c, energy, flip, kept):
    """Flip the nodes ``members``, those with label c, by Gibbs sampling.

    If ``kept``, the local fields of hubs are up to date, and only edges of a hub inside the cluster are visited.
    """
    r, key = len(graph.edges), unpacked.key
    w, n, begun = np.empty(_BITS), 0, False
    key[:] = 0
    for i in members:
        x, hub = unpacked.x[i], graph.hub_of[i] if kept else -1
        if hub >= 0:
            if not begun:
                energy[:] = 0
            _add_products(unpacked.hubs[hub], x, energy)
            begun = True
        else:
            w[n] = bias_of(unpacked, i, r)
            if w[n] != 0:
                add_states(x, 1 << n, key)
                n += 1
                if n == _BITS:
                    _gather(key, w, n, energy, begun)
                    n, begun = 0, True
        for k in range(graph.starts[i], graph.starts[i + 1]):
            j, theta = graph.neighbours[k], unpacked.theta[graph.edge_of[k]]
            if theta != 0 and (label[j] == c) == (hub >= 0):
                add_agreements(x, unpacked.x[j], 1 << n, key)
                w[n] = -0.5 * theta if hub >= 0 else 0.5 * theta
                n += 1
                if n == _BITS:
                    _gather(key, w, n, energy, begun)
                    n, begun = 0, True
    if not begun:
        below = np.empty(1 << n, np.uint32)
        found = _energies(w, n)
        for state in range(1 << n):
            below[state] = threshold(0.5 - 0.5 * tanh(found[state]))
        room, bits = np.empty(TILE, np.uint32), np.empty(TILE, np.uint32)
        for start in range(0, len(key), TILE):
            stop = min(len(key), start + TILE)
            random_bits(unpacked.lanes, start, bits[: stop - start])
            look_up(key[start:stop], below, room[: stop - start])
            compare(bits[: stop - start], room[: stop - start], DOWN, UP, flip[start:stop])
    else:
        if n > 0:
            _gather(key, w, n, energy, True)
        tanh_of(energy, unpacked.tanh_u)
        uniforms(unpacked.lanes, 0, energy)
        compare(energy, unpacked.tanh_u, UP, DOWN, flip)
    for i in members:
        _flip(flip, unpacked.x[i])


@strict_leaf
def by_cluster(label):
    """Sort nodes by their clusters; return them and where each cluster begins (and the last ends)."""
    order = np.argsort(label, kind="mergesort")
    sorted_label = label[order]
    inner = np.flatnonzero(sorted_label[1:] != sorted_label[:-1]) + 1
    return order, np.concatenate((np.zeros(1, np.int64), inner, np.full(1, len(label))))


@strict_leaf
def _flip_all(graph, unpacked, label, order, starts):
    """Flip all clusters of more than one node (`by_cluster`), without updating the local fields of hubs."""
    energy, flip = np.empty(len(unpacked.key), np.float32), np.empty(len(unpacked.key), np.int8)
    for j in range(len(starts) - 1):
        first, last = starts[j], starts[j + 1]
        if last - first > 1:
            _flip_cluster(graph, unpacked, order[first:last], label, label[order[first]], energy, flip, False)


@strict_leaf
def _flip_grown(graph, unpacked, members, c):
    """Flip cluster c of `flip_near`."""
    energy, flip = np.empty(len(unpacked.key), np.float32), np.empty(len(unpacked.key), np.int8)
    _flip_cluster(graph, unpacked, members, unpacked.label, c, energy, flip, True)
    if graph.n_hubs > 0:
        for i in members:
            copy_to(unpacked.old_u, unpacked.x[i] * flip)
            update_hubs(graph, unpacked, i, unpacked.old_u, -1)


@strict_leaf
def flip_near(rng, graph, unpacked, feature):
    """Flip a cluster of bounded size grown from a node, or by other bonds from an end of an edge.

    A cluster of a single node, which has just been redrawn, is not flipped, and neither is one whose nodes have many
    edges.
    """
    r, scale = len(graph.edges), _LOOSE * rng.random()
    members, label = unpacked.cluster, unpacked.label
    most = min(_MOST, len(members))
    start = graph.edges[feature, int(rng.random() < 0.5)] if feature < r else feature - r
    unpacked.n_grown[0] += 1
    c = unpacked.n_grown[0]
    members[0], label[start] = start, c
    done, size, n_edges = 0, 1, 0
    while done < size and size < most and n_edges < _MOST_EDGES:
        i = members[done]
        done += 1
        for k in range(graph.starts[i], graph.starts[i + 1]):
            j, bond = graph.neighbours[k], graph.edge_of[k]
            n_edges += unpacked.theta[bond] != 0
            if bond == feature or label[j] == c or size == most:
                continue
            if rng.random() >= exp(-scale * abs(unpacked.theta[bond])):
                label[j] = c
                members[size] = j
                size += 1
    if size == 1 or n_edges > _CROWDED * done:
        return
    _flip_grown(graph, unpacked, members[:size], c)


def flip_clusters(rng: np.random.Generator, graph: RefreshGraph, unpacked: UnpackedParticles, n_times: int) -> None:
    """Flip all clusters of more than one node, for ``n_times`` random clusterings."""
    for _ in range(n_times):
        label = random_clusters(rng, graph.edges, unpacked.theta, len(unpacked.x))
        _flip_all(graph, unpacked, label, *by_cluster(label))
    fill_hubs(graph, unpacked)
