"""Orders in which the nodes of a graph are eliminated, whose tables decide what exact sums cost."""

from __future__ import annotations

from heapq import heappop, heappush
from inspect import unwrap
from typing import NamedTuple

import numpy as np

from .compiled import leaf


class EliminationOrder(NamedTuple):
    """An order in which nodes are eliminated, and the neighbours of each at its elimination.

    Step i eliminates ``order[i]``, whose neighbours at that step, all eliminated later, are its bag,
    ``bags[starts[i]:starts[i + 1]]``. An incomplete order ends with the step that exceeded the limit.
    """

    order: np.ndarray  # (n_steps,) int64
    starts: np.ndarray  # (n_steps + 1,) int64
    bags: np.ndarray  # (starts[-1],) int64

    @property
    def width(self) -> int:
        """Size of the largest bag, an upper bound of the treewidth: 0 without edges, 1 for trees."""
        return int(np.diff(self.starts).max(initial=0))

    @property
    def n_entries(self) -> float:
        """Entries of the tables over all bags of binary nodes: the sum of 2^(size of the bag)."""
        return float(np.exp2(np.diff(self.starts)).sum())

    def up_to(self, max_entries: float) -> EliminationOrder:
        """Return the order up to the first step at which `n_entries` exceeds ``max_entries``."""
        over = np.flatnonzero(np.cumsum(np.exp2(np.diff(self.starts))) > max_entries)
        if not over.size:
            return self
        n = int(over[0]) + 1
        return EliminationOrder(self.order[:n], self.starts[: n + 1], self.bags[: self.starts[n]])


def min_fill(n_nodes: int, edges: np.ndarray, max_entries: float = np.inf) -> EliminationOrder:
    """Find a greedy elimination order: always the node that needs the fewest new edges between its neighbours.

    (Koller and Friedman 2009, section 9.4.3.) Ties go to the node with the smaller index. The counts of missing edges
    are updated edge by edge, so that trees take O(n log n) and graphs of small treewidth little more.

    Parameters
    ----------
    n_nodes : int
    edges : (n_edges, 2) int array
    max_entries : float
        Stop at the first step at which ``EliminationOrder.n_entries`` exceeds this.
    """
    search = _min_fill if n_nodes + len(edges) > _SMALL else unwrap(_min_fill)
    return EliminationOrder(*search(n_nodes, edges, float(max_entries)))


_SMALL = 50  # nodes and edges: Python finds an order in less than a millisecond, so that no code is compiled for it


@leaf
def _min_fill(n_nodes, edges, max_entries):
    alive = np.ones(n_nodes, np.bool_)
    degree = np.zeros(n_nodes, np.int64)
    fill = np.zeros(n_nodes, np.int64)  # the number of missing edges between the neighbours of each node
    # Neighbours are linked lists: entry p is node other[p], and link[p] is the next entry. Eliminated nodes are
    # unlinked when visited, so that a hub does not visit each of its leaves again.
    head = np.full(n_nodes, -1, np.int64)
    link = [np.int64(0) for _ in range(0)]
    other = [np.int64(0) for _ in range(0)]
    pairs = {np.int64(-1)}
    added = [(np.int64(edges[e, 0]), np.int64(edges[e, 1])) for e in range(len(edges))]
    touched = [np.int64(v) for v in range(n_nodes)]
    heap = [(np.int64(0), np.int64(0)) for _ in range(0)]  # entries with an outdated count are skipped
    pushed = np.full(n_nodes, -1, np.int64)
    order = np.empty(n_nodes, np.int64)
    starts = np.zeros(n_nodes + 1, np.int64)
    bags = [np.int64(0) for _ in range(0)]
    n_entries = 0.0
    step = 0
    while True:
        for a, b in added:
            if degree[b] < degree[a]:
                a, b = b, a
            common, previous, p = 0, -1, head[a]
            while p >= 0:
                w = other[p]
                if alive[w]:
                    if min(w, b) * n_nodes + max(w, b) in pairs:
                        common += 1
                        fill[w] -= 1
                        touched.append(w)
                    previous = p
                elif previous < 0:
                    head[a] = link[p]
                else:
                    link[previous] = link[p]
                p = link[p]
            for u, w in ((a, b), (b, a)):
                fill[u] += degree[u] - common
                degree[u] += 1
                other.append(w)
                link.append(head[u])
                head[u] = len(link) - 1
            pairs.add(min(a, b) * n_nodes + max(a, b))
        if step > 0:
            # The neighbours of v are a clique now: u loses the missing edges between v and u's other neighbours.
            v, start, end = order[step - 1], starts[step - 1], starts[step]
            alive[v] = False
            for i in range(start, end):
                u = bags[i]
                fill[u] -= degree[u] - (end - start)
                degree[u] -= 1
                touched.append(u)
        for u in touched:
            if pushed[u] != step and alive[u]:
                pushed[u] = step
                heappush(heap, (fill[u], u))
        added.clear()
        touched.clear()
        if step == n_nodes:
            break
        missing, v = heappop(heap)
        while not alive[v] or missing != fill[v]:
            missing, v = heappop(heap)
        p = head[v]
        while p >= 0:
            if alive[other[p]]:
                bags.append(other[p])
            p = link[p]
        start, end = starts[step], starts[step] + degree[v]
        order[step] = v
        step += 1
        starts[step] = end
        n_entries += 2.0 ** degree[v]
        if n_entries > max_entries:
            break
        for i in range(start, end):
            for j in range(i + 1, end):
                if min(bags[i], bags[j]) * n_nodes + max(bags[i], bags[j]) not in pairs:
                    added.append((bags[i], bags[j]))
    return order[:step], starts[: step + 1], np.array(bags, np.int64)
