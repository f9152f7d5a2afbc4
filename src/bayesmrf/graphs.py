"""Undirected graphs: construction, checks, and arrays for compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from .compiled import leaf
from .data.frames import in_pandas
from .declare.rule import Rule, integer, is_sized
from .elimination_order import EliminationOrder, min_fill
from .errors import GraphError, argument
from .memory import check_pairs
from .names import listed

_GRAPH = argument("graph")
_NODES = integer(0, 10**8)
_SIDE = integer(1, 10**7)
_NAMES = Rule("a list of names of nodes", lambda v: isinstance(v, str) or is_sized(v))


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple undirected graph with nodes 0..n_nodes-1 and edges in a fixed order.

    Parameters
    ----------
    n_nodes : int
        Number of nodes d.
    edges : (n_edges, 2) int array
        Ends of each edge. The order of edges is the order of every per-edge array in the package.
    names : sequence of str, optional
        Node names; "0", "1", ... when absent.

    Raises
    ------
    GraphError
        For self-loops, duplicate edges, or ends out of range; the message names the first offending row.
    """

    n_nodes: int
    edges: np.ndarray
    names: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        _NODES.check("n_nodes", self.n_nodes)
        _NAMES.check("names", self.names)
        edges = np.asarray(self.edges)
        if edges.size == 0:
            edges = edges.reshape(0, 2)
        if edges.ndim != 2 or edges.shape[1] != 2 or not (edges.size == 0 or np.issubdtype(edges.dtype, np.integer)):
            raise GraphError(f"{_GRAPH}: edges must be an (n_edges, 2) array of integers, got {edges.dtype} of shape "
                             f"{edges.shape}; give one row (u, v) for each edge")  # fmt: skip
        bad = np.flatnonzero((edges < 0).any(axis=1) | (edges >= self.n_nodes).any(axis=1))
        if bad.size:
            u, v = edges[bad[0]]
            raise GraphError(f"{_GRAPH}: edge {bad[0]} = ({u}, {v}) is out of range for {self.n_nodes} nodes; "
                             f"node numbers run from 0 to {self.n_nodes - 1}")  # fmt: skip
        names = tuple(str(s) for s in self.names) or tuple(str(i) for i in range(self.n_nodes))
        if len(names) != self.n_nodes:
            raise GraphError(f"{_GRAPH}: {len(names)} node names for {self.n_nodes} nodes; give one name for each node")
        if len(set(names)) != len(names):
            twice = next(s for i, s in enumerate(names) if s in names[:i])
            raise GraphError(f"{_GRAPH}: node name {twice!r} occurs twice; give each node a unique name")
        half = next((s for s in names if any("\ud800" <= c <= "\udfff" for c in s)), None)
        if half is not None:  # cannot be encoded, so neither saved nor kept in a column of texts
            raise GraphError(f"{_GRAPH}: node name {half!r} contains half a character (a surrogate); rename the node")
        object.__setattr__(self, "names", names)
        loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
        if loops.size:
            raise GraphError(
                f"{_GRAPH}: edge {loops[0]} joins {names[edges[loops[0], 0]]!r} to itself; remove self-loops"
            )
        key = edges.min(axis=1) * np.int64(self.n_nodes) + edges.max(axis=1)
        _, first = np.unique(key, return_index=True)
        if first.size < len(edges):
            again = int(np.setdiff1d(np.arange(len(edges)), first)[0])
            u, v = edges[again]
            raise GraphError(f"{_GRAPH}: edge {again} ({names[u]!r}, {names[v]!r}) is a duplicate; list each pair once")
        object.__setattr__(self, "edges", np.ascontiguousarray(edges, dtype=np.int32))

    @property
    def n_edges(self) -> int:
        """Number of edges r."""
        return len(self.edges)

    @property
    def edge_names(self) -> list[str]:
        """``u-v`` for each edge, or ``'u'-'v'`` if names with hyphens would make two of these equal."""
        return edge_names(self.names, self.edges)

    @cached_property
    def adjacency(self) -> Adjacency:
        """Compressed sparse rows: neighbours of each node, and the edges to them."""
        ends, others = self.edges.T.ravel(), self.edges[:, ::-1].T.ravel()
        order = np.argsort(ends, kind="stable")
        starts = np.append(0, np.cumsum(np.bincount(ends, minlength=self.n_nodes)))
        edge_of = np.tile(np.arange(self.n_edges, dtype=np.int32), 2)
        return Adjacency(starts, others[order], edge_of[order])

    @property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Edges, and ``starts``, ``neighbours`` and ``edge_of`` of `adjacency`, as compiled code takes them."""
        a = self.adjacency
        return self.edges, a.starts, a.neighbours, a.edge_of

    @cached_property
    def is_forest(self) -> bool:
        """Whether the graph has no cycle."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        n, u, v = self.n_nodes, self.edges[:, 0], self.edges[:, 1]
        n_components = connected_components(coo_array((np.ones(len(u)), (u, v)), shape=(n, n)), directed=False)[0]
        return self.n_edges == n - n_components

    def elimination_order(self, max_entries: float = np.inf) -> EliminationOrder:
        """Return the `min_fill` order of this graph, computed once: a shorter search begins a longer one."""
        limit, known = self._longest_order
        if known is None or (len(known.order) < self.n_nodes and max_entries > limit):
            known = min_fill(self.n_nodes, self.edges, max_entries)
            self._longest_order[:] = max_entries, known
        return known.up_to(max_entries)

    @cached_property
    def _longest_order(self) -> list[Any]:
        """The largest ``max_entries`` requested so far, and its order."""
        return [0.0, None]

    def to_networkx(self) -> Any:
        """Convert to a networkx graph: nodes by name, edges with their number as ``index``."""
        import networkx as nx

        g = nx.Graph()
        g.add_nodes_from(self.names)
        g.add_edges_from((self.names[u], self.names[v], {"index": i}) for i, (u, v) in enumerate(self.edges))
        return g


def edge_names(names: Sequence[str], edges: np.ndarray) -> list[str]:
    """Return a unique name for each edge, different from all names of nodes."""
    plain = [f"{names[u]}-{names[v]}" for u, v in edges]
    if len({*plain, *names}) == len(plain) + len(names):
        return plain
    return [f"{names[u]!r}-{names[v]!r}" for u, v in edges]


@dataclass(frozen=True)
class Adjacency:
    """Neighbours of node i are ``neighbours[starts[i]:starts[i + 1]]``, reached by edges ``edge_of[...]``."""

    starts: np.ndarray
    neighbours: np.ndarray
    edge_of: np.ndarray


@leaf
def edge_between(rows, u, v):
    """Return the edge of two nodes in compressed rows, -1 if there is none."""
    for a in range(rows.starts[u], rows.starts[u + 1]):
        if rows.neighbours[a] == v:
            return rows.edge_of[a]
    return -1


def grid(n_rows: int, n_columns: int) -> Graph:
    """Make a rectangular lattice, nodes numbered row by row."""
    _SIDE.check("n_rows", n_rows)
    _SIDE.check("n_columns", n_columns)
    node = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    across = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], axis=1)
    down = np.stack([node[:-1].ravel(), node[1:].ravel()], axis=1)
    return Graph(n_rows * n_columns, np.concatenate([across, down]))


def complete(n_nodes: int, names: Sequence[str] = ()) -> Graph:
    """Make the graph of all pairs, in lexicographic order.

    Raises
    ------
    GraphError
        If there are more than 20 million.
    """
    _NODES.check("n_nodes", n_nodes)
    _NAMES.check("names", names)
    check_pairs(n_nodes)
    return Graph(n_nodes, np.stack(np.triu_indices(n_nodes, 1), axis=1), tuple(names))


def binary_tree(height: int) -> Graph:
    """Make a perfect binary tree with 2^(height + 1) - 1 nodes; the root is 0, the parent of i is (i - 1) // 2."""
    integer(0, 22).check("height", height)
    child = np.arange(1, 2 ** (height + 1) - 1)
    return Graph(2 ** (height + 1) - 1, np.stack([(child - 1) // 2, child], axis=1))


def path(n_nodes: int) -> Graph:
    """Make the chain 0 - 1 - ... - (n_nodes - 1)."""
    _SIDE.check("n_nodes", n_nodes)
    return Graph(n_nodes, np.stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)], axis=1))


def cycle(n_nodes: int) -> Graph:
    """Make a cycle through all nodes."""
    _SIDE.check("n_nodes", n_nodes)
    return Graph(n_nodes, np.stack([np.arange(n_nodes), np.roll(np.arange(n_nodes), -1)], axis=1))


def _pair(edge: Any) -> tuple[Any, ...]:
    """Return the ends of an edge; a text has no ends, although it has letters."""
    if isinstance(edge, str | bytes):
        raise TypeError
    return tuple(edge)


def from_edges(edges: Any, names: Sequence[str]) -> Graph:
    """Make a graph on the nodes ``names`` from a networkx graph, a table, or pairs of node names or numbers.

    Pairs of integers are node numbers, unless the names themselves are these integers; anything else is looked up among
    ``names``.

    Raises
    ------
    GraphError
        If an end is not among ``names`` (the message lists the missing ones), or the pairs are malformed.
    """
    _NAMES.check("names", names)
    if isinstance(edges, Graph):
        if edges.n_nodes != len(names):
            raise GraphError(f"{_GRAPH}: it has {edges.n_nodes} nodes but the data have {len(names)} columns; "
                             "give a graph on the columns of the data")  # fmt: skip
        default = tuple(str(i) for i in range(edges.n_nodes))
        if edges.names in (default, tuple(names)):
            return Graph(edges.n_nodes, edges.edges, tuple(names))
        edges = [(edges.names[u], edges.names[v]) for u, v in edges.edges]
    _refuse_others(edges, len(names))
    edges = in_pandas(edges, "graph")
    alone: list[Any] = []  # nodes of a networkx graph that no edge names
    if hasattr(edges, "nodes") and callable(getattr(edges, "edges", None)):
        alone, edges = list(edges.nodes), list(edges.edges())
    elif hasattr(edges, "iloc"):
        n_columns = edges.shape[1] if edges.ndim == 2 else 1
        if n_columns < 2:
            raise GraphError(f"{_GRAPH}: the edge table must have two columns, the ends of an edge, got {n_columns}")
        edges = list(edges.iloc[:, :2].itertuples(index=False, name=None))
    try:
        pairs = [_pair(e) for e in (edges.tolist() if isinstance(edges, np.ndarray) else edges)]
    except TypeError:
        raise GraphError(
            option="graph", got=edges, expected="pairs of nodes, a table of two columns, a networkx graph or a Graph"
        ) from None
    wrong = next((i for i, e in enumerate(pairs) if len(e) != 2), None)
    if wrong is not None:
        raise GraphError(f"{_GRAPH}: row {wrong} has {len(pairs[wrong])} entries; an edge is a pair (u, v)")
    number = {name: i for i, name in enumerate(names)}
    ends = [end for pair in pairs for end in pair] + alone
    numeric = all(isinstance(end, int | np.integer) and not isinstance(end, bool) for end in ends)
    if numeric and not all(str(end) in number for end in ends):
        return Graph(len(names), np.array(pairs, dtype=np.int64).reshape(-1, 2), tuple(names))
    missing = sorted({str(end) for end in ends} - number.keys())
    if missing:
        unknown, columns = (listed(list(map(repr, texts))) for texts in (missing, names))
        raise GraphError(
            f"{_GRAPH}: {len(missing)} node(s) are not columns of the data: {unknown}; the columns are {columns}"
        )
    index = np.array([[number[str(a)], number[str(b)]] for a, b in pairs], dtype=np.int64).reshape(-1, 2)
    return Graph(len(names), index, tuple(names))


def _refuse_others(edges: Any, n_nodes: int) -> None:
    """Refuse directed graphs, graphs of other packages than networkx, matrices and paths, with a remedy."""
    package, remedy = type(edges).__module__.partition(".")[0], ""
    shape: Any = getattr(edges, "shape", ())
    expected = "pairs of nodes, a table of two columns, a networkx graph or a Graph"
    if package == "igraph":
        remedy = "give graph.to_networkx(vertex_attr_hashable='name') if its vertices are named as the columns, else "
        remedy += "graph.get_edgelist()"
    elif package == "rustworkx":
        remedy = "give list(graph.edge_list())"
    elif package == "networkx" and hasattr(edges, "is_multigraph") and (edges.is_directed() or edges.is_multigraph()):
        expected, remedy = "an undirected graph with at most one edge between two nodes", "give networkx.Graph(graph)"
    elif isinstance(edges, str | PathLike):
        remedy = "read the file into a table, such as by pandas.read_csv(graph)"
    elif len(shape) == 2 and shape[0] == shape[1] == n_nodes > 2:
        remedy = "of an adjacency matrix A, as a NumPy array, give numpy.argwhere(numpy.triu(A, 1))"
    if remedy:
        raise GraphError(option="graph", got=edges, expected=expected, remedy=remedy)
