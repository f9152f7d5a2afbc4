"""A lower bound from distributions that factorise on a spanning tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import BINARY, MOMENTS, Inference, Kind, Model
from ..compiled import copy_to, leaf
from ..models.categorical import binary_form
from ..samplers.clusters import root as find
from .iterative import Iterative
from .mean_field import entropy, solve


@dataclass(frozen=True)
class Tree(Iterative):
    r"""Engine of the best distribution on the spanning tree of the strongest couplings.

    Among q(x) = prod_i q(x_i | x_pa(i)), pa(i) the parent in a spanning tree (of each component), the bound

    .. math:: \log Z \ge E_q[\log \tilde p(x)] + H(q), \qquad \tilde p(x) = e^{\theta \cdot s(x)},

    is maximised (Wiegerinck 2000; Murray and Ghahramani 2004, section 4). As a function of one conditional table it is
    concave, with its maximum at

    .. math:: q(x_i \mid x_{pa(i)}) \propto
              \exp E_q\Big[\log \tilde p(x) - \sum_{j \ne i} \log q(x_j \mid x_{pa(j)}) \Bigm| x_i, x_{pa(i)}\Big].

    A sweep updates one table after another, leaves first, so that it never decreases the bound, and is exact
    elimination on a forest. For an edge (u, v) outside the tree, E_q[x_u x_v | ...] follows from the regressions of x_i
    on its parent, and of parents on x_i, along the path from u to v; the cost of a sweep is proportional to the length
    of these paths. At the maximum the gradient of the bound is E_q[s]: these are the moments.

    The tree is the maximum spanning tree by abs(J) over {-1, +1}, ties going to the edge with the smaller index. It is
    a function of theta, and log Z is discontinuous where it changes. The ascent starts from the three solutions of
    `MeanField` with the same options, so that log Z is never below theirs, and from uniform states, which is better if
    the former have broken a symmetry that the tree can keep. The highest maximum is used.

    Parameters
    ----------
    max_iterations : int
        Largest number of sweeps of an ascent. Without convergence the result is still a lower bound.
    tolerance : float
        Largest change of a conditional mean in a sweep, times the probability of its condition, at convergence.
    """

    name = "tree"
    families = frozenset({BINARY})
    kind = Kind.LOWER

    def infer(self, model: Model, theta: np.ndarray, plan: None, want: str = MOMENTS, state: Any = None) -> Inference:
        """Compute log Z and moments together."""
        p = binary_form(model, theta)
        tree = SpanningTree(*_spanning_tree(p))
        paths = TreePaths(*_paths(p, tree))
        _, local, _, _ = solve(p, self.max_iterations, self.tolerance)
        starts = (*local, np.zeros_like(p.field))
        solutions = [_ascend(p, tree, paths, start, self.max_iterations, self.tolerance) for start in starts]
        log_z, pair, node, n_iterations, change = max(solutions, key=lambda s: s[0])
        return self._answer(log_z + p.offset, model.moments(pair, node), n_iterations, change)


class SpanningTree(NamedTuple):
    """A rooted tree for each component; in ``order`` parents precede children, and subtrees are contiguous."""

    order: np.ndarray  # (n_nodes,) nodes
    parent: np.ndarray  # (n_nodes,) nodes, -1 for roots
    up_edge: np.ndarray  # (n_nodes,) edge to the parent, -1 for roots
    depth: np.ndarray  # (n_nodes,) edges to the root


class TreePaths(NamedTuple):
    """The tree paths between the ends of the other edges.

    Path of ``edge[c]`` has two halves, 2c and 2c + 1, from either end up to the node where they meet. Half k consists
    of ``nodes[starts[k]:starts[k + 1]]``, from its end upwards, without the node where they meet. ``at`` lists the
    places in ``nodes`` by node: those of node i are ``at[at_starts[i]:at_starts[i + 1]]``; likewise ``meeting`` lists
    the edges c by the node where their halves meet.
    """

    edge: np.ndarray
    starts: np.ndarray
    nodes: np.ndarray
    half: np.ndarray  # of each place in nodes
    at_starts: np.ndarray
    at: np.ndarray
    meeting_starts: np.ndarray
    meeting: np.ndarray


@leaf
def _spanning_tree(p):
    """Find the spanning tree by Kruskal's algorithm, and its depth-first order."""
    n = len(p.field)
    label = np.arange(n)
    # Neighbours in the tree are linked lists: entry k is along edge[k >> 1], and link[k] is the next entry.
    head = np.full(n, -1)
    link = np.empty(2 * n, np.int64)
    edge = np.empty(n, np.int64)
    n_links = 0
    for e in np.argsort(-np.abs(p.coupling), kind="mergesort"):
        u, v = find(label, p.edges[e, 0]), find(label, p.edges[e, 1])
        if u != v:
            label[u] = v
            edge[n_links >> 1] = e
            for i in p.edges[e]:
                link[n_links] = head[i]
                head[i] = n_links
                n_links += 1
    order = np.empty(n, np.int64)
    parent = np.full(n, -2)
    up_edge = np.full(n, -1)
    depth = np.zeros(n, np.int64)
    stack = np.empty(n, np.int64)
    n_ordered = 0
    for root in range(n):
        if parent[root] != -2:
            continue
        parent[root] = -1
        stack[0] = root
        height = 1
        while height > 0:
            height -= 1
            i = stack[height]
            order[n_ordered] = i
            n_ordered += 1
            k = head[i]
            while k >= 0:
                e = edge[k >> 1]
                j = p.edges[e, 0] + p.edges[e, 1] - i
                if j != parent[i]:
                    parent[j] = i
                    up_edge[j] = e
                    depth[j] = depth[i] + 1
                    stack[height] = j
                    height += 1
                k = link[k]
    return order, parent, up_edge, depth


@leaf
def _by_node(nodes, n_nodes):
    """Return positions in ``nodes`` sorted by node, and where those of each node start."""
    starts = np.append(0, np.cumsum(np.bincount(nodes, minlength=n_nodes)))
    return starts, np.argsort(nodes, kind="mergesort")


@leaf
def _paths(p, tree):
    n = len(p.field)
    in_tree = np.zeros(len(p.coupling), np.bool_)
    for e in tree.up_edge:
        if e >= 0:
            in_tree[e] = True
    edge = np.flatnonzero(~in_tree)
    meets = np.empty(len(edge), np.int64)
    starts = np.zeros(2 * len(edge) + 1, np.int64)
    for c in range(len(edge)):
        u, v = p.edges[edge[c]]
        while u != v:
            if tree.depth[u] > tree.depth[v]:
                u = tree.parent[u]
            else:
                u, v = tree.parent[v], u
        meets[c] = u
        for end in range(2):
            starts[2 * c + end + 1] = tree.depth[p.edges[edge[c], end]] - tree.depth[u]
    starts = np.cumsum(starts)
    nodes = np.empty(starts[-1], np.int64)
    half = np.empty(starts[-1], np.int64)
    for k in range(2 * len(edge)):
        i = p.edges[edge[k >> 1], k & 1]
        for place in range(starts[k], starts[k + 1]):
            nodes[place] = i
            half[place] = k
            i = tree.parent[i]
    at_starts, at = _by_node(nodes, n)
    meeting_starts, meeting = _by_node(meets, n)
    return edge, starts, nodes, half, at_starts, at, meeting_starts, meeting


@leaf
def _spin(local):
    """Return P(x = -1) and P(x = +1) where log P(x) = local x + constant, each to full relative precision."""
    e = np.exp(-2 * abs(local))
    rare, common = e / (1 + e), 1 / (1 + e)
    return (rare, common) if local > 0 else (common, rare)


@leaf
def _marginals(tree, given, prob, above):
    """Compute from the roots down ``prob[i]``, P(x_i), and ``above[i]``, E[x_pa | x_i]."""
    for i in tree.order:
        parent = tree.parent[i]
        for x in range(2):
            low = given[i, 0, x] * (prob[parent, 0] if parent >= 0 else 0.5)
            high = given[i, 1, x] * (prob[parent, 1] if parent >= 0 else 0.5)
            prob[i, x] = low + high
            # Any regression is valid for a state with probability below float64.
            above[i, x] = (high - low) / (low + high) if low + high > 0 else 0.0
        above[i, 0], above[i, 1] = (above[i, 1] + above[i, 0]) / 2, (above[i, 1] - above[i, 0]) / 2


@leaf
def _enter(paths, k, below, above, around):
    """Fill ``around`` over half k with far end v: at node i, E[x_v | x_pa] = around[., 0] + around[., 1] x_pa."""
    level, slope = 0.0, 1.0
    for place in range(paths.starts[k ^ 1], paths.starts[(k ^ 1) + 1]):
        i = paths.nodes[place]
        level += slope * below[i, 0]
        slope *= below[i, 1]
    for place in range(paths.starts[k + 1] - 1, paths.starts[k] - 1, -1):
        around[place, 0], around[place, 1] = level, slope
        i = paths.nodes[place]
        level += slope * above[i, 0]
        slope *= above[i, 1]


@leaf
def _sweep(p, tree, paths, given, prob, above, below, value, end, around):
    """Optimise every table in turn, leaves first; return the bound without the offset, and the largest change."""
    log_z = 0.0
    change = 0.0
    value[:, 0] = 0.0
    copy_to(value[:, 1], p.field)
    end[:, 0] = 0.0
    end[:, 1] = 1.0
    for i in tree.order[::-1]:
        for c in paths.meeting[paths.meeting_starts[i] : paths.meeting_starts[i + 1]]:
            coupling = p.coupling[paths.edge[c]]
            value[i, 0] += coupling * (end[2 * c, 0] * end[2 * c + 1, 0] + end[2 * c, 1] * end[2 * c + 1, 1])
            value[i, 1] += coupling * (end[2 * c, 0] * end[2 * c + 1, 1] + end[2 * c, 1] * end[2 * c + 1, 0])
        parent = tree.parent[i]
        tie = p.coupling[tree.up_edge[i]] if parent >= 0 else 0.0
        # Paths that continue from here add a field to x_i; their energy is added where their halves meet.
        pull, pull_slope = 0.0, 0.0
        for place in paths.at[paths.at_starts[i] : paths.at_starts[i + 1]]:
            k = paths.half[place]
            if place == paths.starts[k]:
                _enter(paths, k, below, above, around)
            strength = p.coupling[paths.edge[k >> 1]] * end[k, 1]
            pull += strength * around[place, 0]
            pull_slope += strength * around[place, 1]
        for y in range(2):
            local = value[i, 1] + (2 * y - 1) * tie
            best = local + pull + (2 * y - 1) * pull_slope
            before = given[i, y, 1] - given[i, y, 0]
            given[i, y, 0], given[i, y, 1] = _spin(best)
            mean = given[i, y, 1] - given[i, y, 0]
            change = max(change, abs(mean - before) * (prob[parent, y] if parent >= 0 else 1.0))
            message = (value[i, 0] + local * mean + entropy(best)) / 2
            if parent >= 0:
                value[parent, 0] += message
                value[parent, 1] += (2 * y - 1) * message
            else:
                log_z += message
        below[i, 0] = given[i, 1, 1] - given[i, 0, 0]
        below[i, 1] = given[i, 1, 1] - given[i, 0, 1]
        for place in paths.at[paths.at_starts[i] : paths.at_starts[i + 1]]:
            k = paths.half[place]
            end[k, 0] += end[k, 1] * below[i, 0]
            end[k, 1] *= below[i, 1]
    return log_z, change


@leaf
def _ascend(p, tree, paths, local, max_iterations, tolerance):
    """Sweep until convergence, from independent nodes with means tanh(local).

    Returns the bound without the offset, E[x_u x_v] of each edge, E[x_i] of each node, sweeps and change.
    """
    n = len(p.field)
    given = np.empty((n, 2, 2))  # P(x_i | x_pa), indexed by i, x_pa, x_i; roots have two equal rows
    below = np.zeros((n, 2))  # E[x_i | x_pa] = below[i, 0] + below[i, 1] x_pa
    for i in range(n):
        given[i, :, 0], given[i, :, 1] = _spin(local[i])
        below[i, 0] = given[i, 0, 1] - given[i, 0, 0]
    prob = np.empty((n, 2))
    above = np.empty((n, 2))
    value = np.empty((n, 2))  # the part of the bound from i down, as value[i, 0] + value[i, 1] x_i
    end = np.empty((2 * len(paths.edge), 2))  # of each half, E[end | x_i] at the present node, in the same form
    around = np.empty((len(paths.nodes), 2))
    log_z = 0.0
    n_iterations = 0
    change = tolerance
    while n_iterations < max_iterations and not change < tolerance:
        n_iterations += 1
        _marginals(tree, given, prob, above)
        log_z, change = _sweep(p, tree, paths, given, prob, above, below, value, end, around)
    _marginals(tree, given, prob, above)
    node = prob[:, 1] - prob[:, 0]
    pair = np.empty(len(p.coupling))
    for i in range(n):
        if tree.parent[i] >= 0:
            pair[tree.up_edge[i]] = below[i, 0] * node[tree.parent[i]] + below[i, 1]
        for c in paths.meeting[paths.meeting_starts[i] : paths.meeting_starts[i + 1]]:
            (a, b), (f, g) = end[2 * c], end[2 * c + 1]
            pair[paths.edge[c]] = a * f + b * g + (a * g + b * f) * node[i]
    return log_z, pair, node, n_iterations, change
