"""Shortest paths in the network of each draw: closeness, betweenness, and the mean distance (Brandes 2001)."""

from __future__ import annotations

import numpy as np

from ..compiled import strict_leaf

# Paths whose lengths differ by rounding are equally short: edges of a group have one weight, and then many are.
_TIE = 1e-12


def path_measures(weights: np.ndarray, edges: np.ndarray, n_nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Compute what depends on shortest paths, where an edge has the length :math:`1 / |w_e|`.

    Brandes, U. (2001), A faster algorithm for betweenness centrality, Journal of Mathematical Sociology 25, with
    Dijkstra's algorithm on arrays: :math:`O(d^2 + r)` for each start.

    Parameters
    ----------
    weights : (n_draws, n_edges) array
        0 for an edge that does not exist.
    edges : (n_edges, 2) int array
    n_nodes : int

    Returns
    -------
    closeness, betweenness : (n_draws, n_nodes) arrays
        The mean inverse distance of the other nodes, and the share of the pairs of others whose path goes through it.
    network : (n_draws, 5) array
        Size of the largest component (of several, the one with the first node), and in it the mean distance, the mean
        number of edges of a shortest path, the mean degree, and the global clustering (see `clustering`); NaN where
        there is no pair, or no path of two edges.
    """
    n, d = len(weights), n_nodes
    node, network = np.zeros((2, n, d)), np.full((n, 5), np.nan)
    _measure(*_as_arrays(weights, edges), node, network)
    pairs = max(d - 1, 1) * np.array([1, max(d - 2, 1)])
    return node[0] / pairs[0], node[1] / pairs[1], network


def clustering(weights: np.ndarray, edges: np.ndarray, n_nodes: int) -> np.ndarray:
    """Compute the share of paths of two edges that are closed, of each draw, (n_draws,); NaN without such a path."""
    shares = np.empty(len(weights))
    _clusterings(*_as_arrays(weights, edges), n_nodes, shares)
    return shares


def _as_arrays(weights: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(weights, dtype=np.float64), np.ascontiguousarray(edges, dtype=np.int64)


@strict_leaf
def _clusterings(weights, edges, n_nodes, found):
    """Fill ``found`` with the clustering of each draw."""
    starts, fill = np.empty(n_nodes + 1, np.int64), np.empty(n_nodes, np.int64)
    neighbour, length = np.empty(2 * len(edges), np.int64), np.empty(2 * len(edges))
    component, near = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.bool_)
    for k in range(len(weights)):
        _adjacent(weights[k], edges, starts, fill, neighbour, length)
        found[k] = _clustering(0, component, starts, neighbour, near)


@strict_leaf
def _measure(weights, edges, node, network):
    """Fill ``node`` with sums over all starts of closeness and betweenness, and ``network``; see `path_measures`."""
    d, r = node.shape[2], len(edges)
    starts, fill = np.empty(d + 1, np.int64), np.empty(d, np.int64)
    neighbour, length = np.empty(2 * r, np.int64), np.empty(2 * r)
    component, queue, hops = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    distance, paths, through = np.empty(d), np.empty(d), np.empty(d)
    order, done, near = np.empty(d, np.int64), np.empty(d, np.bool_), np.zeros(d, np.bool_)
    for k in range(len(weights)):
        _adjacent(weights[k], edges, starts, fill, neighbour, length)
        largest, size = _largest(starts, neighbour, component, queue)
        total, steps, degrees = 0.0, 0.0, 0.0
        for s in range(d):
            n = _distances(s, starts, neighbour, length, distance, paths, done, order)
            through[:] = 0.0
            for i in range(n - 1, 0, -1):
                w = order[i]
                node[0, k, s] += 1 / distance[w]
                node[1, k, w] += through[w]
                if component[s] == largest:
                    total += distance[w]
                share = (1 + through[w]) / paths[w]
                for j in range(starts[w], starts[w + 1]):
                    v = neighbour[j]
                    # Lengths are positive, so that one before w is nearer.
                    if distance[v] + length[j] <= distance[w] * (1 + _TIE) and distance[v] < distance[w]:
                        through[v] += paths[v] * share
            if component[s] == largest:
                steps += _hops(s, starts, neighbour, hops, queue)
                degrees += starts[s + 1] - starts[s]
        network[k, 0] = size
        if size > 1:
            network[k, 1], network[k, 2] = total / (size * (size - 1)), steps / (size * (size - 1))
        network[k, 3] = degrees / size
        network[k, 4] = _clustering(largest, component, starts, neighbour, near)


@strict_leaf
def _adjacent(weights, edges, starts, fill, neighbour, length):
    """Write the compressed rows of the network of a draw."""
    starts[:] = 0
    for e in range(len(edges)):
        if weights[e] != 0:
            starts[edges[e, 0] + 1] += 1
            starts[edges[e, 1] + 1] += 1
    for i in range(len(fill)):
        starts[i + 1] += starts[i]
        fill[i] = starts[i]
    for e in range(len(edges)):
        if weights[e] != 0:
            for end in range(2):
                u, v = edges[e, end], edges[e, 1 - end]
                neighbour[fill[u]], length[fill[u]] = v, 1 / abs(weights[e])
                fill[u] += 1


@strict_leaf
def _largest(starts, neighbour, component, queue):
    """Number the components, and return the largest one with its size."""
    component[:] = -1
    largest, most = -1, 0
    for s in range(len(component)):
        if component[s] >= 0:
            continue
        component[s], queue[0], n, i = s, s, 1, 0
        while i < n:
            u = queue[i]
            i += 1
            for j in range(starts[u], starts[u + 1]):
                v = neighbour[j]
                if component[v] < 0:
                    component[v] = s
                    queue[n] = v
                    n += 1
        if n > most:
            largest, most = s, n
    return largest, most


@strict_leaf
def _distances(s, starts, neighbour, length, distance, paths, done, order):
    """Find the distances from s, the numbers of shortest paths, and the nodes that it reaches by distance."""
    distance[:] = np.inf
    done[:] = False
    distance[s], n = 0.0, 0
    while True:
        u, best = -1, np.inf
        for v in range(len(distance)):
            if not done[v] and distance[v] < best:
                u, best = v, distance[v]
        if u < 0:
            return n
        done[u], order[n] = True, u
        n += 1
        paths[u] = 1.0 if u == s else 0.0
        for j in range(starts[u], starts[u + 1]):
            v = neighbour[j]
            if done[v]:
                if distance[v] + length[j] <= best * (1 + _TIE) and distance[v] < best:
                    paths[u] += paths[v]
            elif best + length[j] < distance[v]:
                distance[v] = best + length[j]


@strict_leaf
def _hops(s, starts, neighbour, hops, queue):
    """Return the sum of the numbers of edges from s to all nodes that it reaches."""
    hops[:] = -1
    hops[s], queue[0], n, i, found = 0, s, 1, 0, 0
    while i < n:
        u = queue[i]
        i += 1
        found += hops[u]
        for j in range(starts[u], starts[u + 1]):
            v = neighbour[j]
            if hops[v] < 0:
                hops[v] = hops[u] + 1
                queue[n] = v
                n += 1
    return found


@strict_leaf
def _clustering(of, component, starts, neighbour, near):
    """Return the share of closed paths of two edges in a component; NaN if it has none."""
    closed, every = 0, 0
    for u in range(len(component)):
        if component[u] != of:
            continue
        degree = starts[u + 1] - starts[u]
        every += degree * (degree - 1)
        for j in range(starts[u], starts[u + 1]):
            near[neighbour[j]] = True
        for j in range(starts[u], starts[u + 1]):
            v = neighbour[j]
            for i in range(starts[v], starts[v + 1]):
                closed += near[neighbour[i]]
        for j in range(starts[u], starts[u + 1]):
            near[neighbour[j]] = False
    return closed / every if every else np.nan
