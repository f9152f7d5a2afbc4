"""Graphs: construction, the arrays compiled code walks over, elimination orders, and every error message."""

from inspect import unwrap

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from bayesmrf import elimination_order, graphs
from bayesmrf.elimination_order import min_fill
from bayesmrf.engines import Elimination
from bayesmrf.errors import GraphError
from bayesmrf.graphs import Graph, from_edges
from bayesmrf.inference.elimination.engine import cost, width
from bayesmrf.models import Agreement
from tests.helpers.tables_of_others import NotOfPandas

NAMES = ("Ann", "Bob", "Cy", "Dee")


@pytest.mark.parametrize(
    ("graph", "n_nodes", "n_edges", "is_forest"),
    [
        (graphs.grid(4, 4), 16, 24, False),
        (graphs.grid(30, 30), 900, 1740, False),
        (graphs.grid(1, 5), 5, 4, True),
        (graphs.binary_tree(12), 8191, 8190, True),
        (graphs.complete(5), 5, 10, False),
        (graphs.path(6), 6, 5, True),
        (graphs.cycle(6), 6, 6, False),
        (graphs.path(1), 1, 0, True),
        (Graph(3, []), 3, 0, True),
        (Graph(5, np.array([(0, 1), (3, 4)])), 5, 2, True),
    ],
)
def test_sizes(graph, n_nodes, n_edges, is_forest):
    assert (graph.n_nodes, graph.n_edges, graph.is_forest) == (n_nodes, n_edges, is_forest)


@pytest.mark.parametrize(
    ("graph", "known"),
    [
        (graphs.grid(3, 4), nx.grid_2d_graph(3, 4)),
        (graphs.binary_tree(3), nx.balanced_tree(2, 3)),
        (graphs.cycle(7), nx.cycle_graph(7)),
    ],
)
def test_named_graphs_are_those_of_networkx(graph, known):
    assert nx.is_isomorphic(graph.to_networkx(), known)


def test_adjacency_lists_each_edge_at_both_ends():
    graph = graphs.grid(3, 3)
    a = graph.adjacency
    found = [
        (i, int(a.neighbours[p]), int(a.edge_of[p]))
        for i in range(graph.n_nodes)
        for p in range(a.starts[i], a.starts[i + 1])
    ]
    wanted = [(int(s), int(t), c) for c, (u, v) in enumerate(graph.edges) for s, t in ((u, v), (v, u))]
    assert sorted(found) == sorted(wanted)


def test_edge_names_follow_the_nodes():
    assert Graph(3, np.array([(2, 0), (1, 2)]), ("a", "b", "c")).edge_names == ["c-a", "b-c"]


@pytest.mark.parametrize(
    "edges",
    [
        [("Ann", "Cy"), ("Dee", "Bob")],
        [(0, 2), (3, 1)],
        np.array([(0, 2), (3, 1)]),
        np.array([("Ann", "Cy"), ("Dee", "Bob")]),
        pd.DataFrame({"from": ["Ann", "Dee"], "to": ["Cy", "Bob"], "weight": [1.0, 2.0]}),
        pd.DataFrame({"u": [0, 3], "v": [2, 1]}),
        nx.Graph([("Ann", "Cy"), ("Dee", "Bob")]),
        Graph(4, np.array([(0, 2), (3, 1)])),
        Graph(4, np.array([(0, 2), (3, 1)]), NAMES),
        Graph(4, np.array([(3, 1), (0, 2)]), ("Dee", "Cy", "Bob", "Ann")),
    ],
    ids=[
        "names",
        "numbers",
        "array",
        "array of names",
        "table",
        "table of numbers",
        "networkx",
        "graph",
        "named",
        "renamed",
    ],
)
def test_from_edges(edges):
    graph = from_edges(edges, NAMES)
    assert graph.names == NAMES
    assert {frozenset(e) for e in graph.edges.tolist()} == {frozenset((0, 2)), frozenset((3, 1))}


def test_a_table_of_another_package_has_edges_in_rows():
    table = NotOfPandas(pd.DataFrame({"u": ["Ann", "Dee"], "v": ["Cy", "Bob"]}))
    assert {frozenset(e) for e in from_edges(table, NAMES).edges.tolist()} == {frozenset((0, 2)), frozenset((1, 3))}


def test_names_that_are_numbers_are_looked_up():
    graph = from_edges([(10, 20), (20, 30)], ("30", "20", "10"))
    np.testing.assert_array_equal(graph.edges, [(2, 1), (1, 0)])


def test_no_edges():
    assert from_edges([], NAMES).n_edges == 0


@pytest.mark.parametrize(
    ("n_nodes", "edges", "message"),
    [
        (3, [(0, 1), (2, 2)], r"edge 1 joins '2' to itself; remove self-loops"),
        (3, [(0, 1), (1, 2), (1, 0)], r"edge 2 \('1', '0'\) is a duplicate; list each pair once"),
        (3, [(0, 1), (1, 3)], r"edge 1 = \(1, 3\) is out of range for 3 nodes; node numbers run from 0 to 2"),
        (3, [(0, 1), (-1, 2)], r"edge 1 = \(-1, 2\) is out of range for 3 nodes"),
        (3, [(0, 1, 2)], r"edges must be an \(n_edges, 2\) array of integers, got int64 of shape \(1, 3\)"),
        (3, [(0.0, 1.0)], r"edges must be an \(n_edges, 2\) array of integers, got float64 of shape \(1, 2\)"),
    ],
    ids=["self-loop", "duplicate", "too large", "negative", "triples", "floats"],
)
def test_edges_that_cannot_be(n_nodes, edges, message):
    with pytest.raises(GraphError, match=message):
        Graph(n_nodes, np.array(edges))


def test_names_that_cannot_be():
    with pytest.raises(GraphError, match="2 node names for 3 nodes; give one name for each node"):
        Graph(3, [], ("a", "b"))
    with pytest.raises(GraphError, match=r"node name '\\ud800b' contains half a character"):
        Graph(2, [[0, 1]], ("a", "\ud800b"))
    with pytest.raises(GraphError, match="node name 'a' occurs twice"):
        Graph(3, [], ("a", "b", "a"))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (
            [("Ann", "Eve"), ("Zoe", "Bob")],
            r"2 node\(s\) are not columns of the data: 'Eve', 'Zoe'; the columns are 'Ann', 'Bob', 'Cy', 'Dee'",
        ),
        (nx.Graph([("Ann", "Eve")]), r"1 node\(s\) are not columns of the data: 'Eve'"),
        (pd.DataFrame({"u": ["Ann"], "v": ["Eve"]}), r"1 node\(s\) are not columns of the data: 'Eve'"),
        ([("Ann", 1)], r"1 node\(s\) are not columns of the data: '1'"),
        ([(0, 4)], r"edge 0 = \(0, 4\) is out of range for 4 nodes"),
        ([("Ann", "Ann")], r"edge 0 joins 'Ann' to itself"),
        ([("Ann", "Bob"), ("Bob", "Ann")], r"edge 1 \('Bob', 'Ann'\) is a duplicate"),
        ([("Ann", "Bob"), ("Cy",)], r"row 1 has 1 entries; an edge is a pair"),
        (pd.DataFrame({"u": ["Ann"]}), r"the edge table must have two columns, .* got 1"),
        (graphs.path(5), r"it has 5 nodes but the data have 4 columns"),
    ],
)
def test_edges_that_do_not_fit_the_data(edges, message):
    with pytest.raises(GraphError, match=message):
        from_edges(edges, NAMES)


def test_long_lists_of_names_are_cut():
    names = tuple(f"n{i}" for i in range(100))
    with pytest.raises(GraphError, match=r"9 node\(s\) .*'m0', 'm1', 'm2', 'm3', 'm4', \.\.\.; .*'n4', \.\.\.$"):
        from_edges([(f"m{i}", "n0") for i in range(9)], names)


def replay(graph, order):
    """Eliminate on plain sets; return the bags, the edges each step adds, and the fewest that any node would add."""
    g = {i: set() for i in range(graph.n_nodes)}
    for u, v in graph.edges.tolist():
        g[u].add(v)
        g[v].add(u)

    def missing(v):
        return sum(b not in g[a] for a in g[v] for b in g[v] if a < b)

    bags, chosen, fewest = [], [], []
    for v in order:
        chosen.append(missing(v))
        fewest.append(min(missing(u) for u in g))
        bags.append(set(g[v]))
        for a in g[v]:
            g[a] |= g[v] - {a}
            g[a].discard(v)
        del g[v]
    return bags, chosen, fewest


@pytest.mark.parametrize("density", [0.0, 0.1, 0.3, 0.7, 1.0])
def test_min_fill_eliminates_a_node_with_the_fewest_missing_edges(density, rng):
    pairs = np.stack(np.triu_indices(24, 1), axis=1)
    graph = Graph(24, rng.permutation(pairs[rng.random(len(pairs)) < density]))
    found = graph.elimination_order()
    np.testing.assert_array_equal(np.sort(found.order), np.arange(24))
    bags, chosen, fewest = replay(graph, found.order.tolist())
    assert [set(b.tolist()) for b in np.split(found.bags, found.starts[1:-1])] == bags
    assert chosen == fewest
    assert found.width == max(map(len, bags))
    assert found.n_entries == sum(2 ** len(b) for b in bags)


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (Graph(4, []), 0),
        (graphs.binary_tree(5), 1),
        (graphs.cycle(30), 2),
        (graphs.grid(2, 50), 2),
        (graphs.grid(4, 4), 4),
        (graphs.complete(12), 11),
    ],
)
def test_width_of_known_graphs(graph, width):
    assert graph.elimination_order().width == width


@pytest.mark.parametrize("graph", ["star", "path", "tree", "wheel"])
def test_orders_of_large_narrow_graphs(graph):
    """A hub's list of neighbours must not be walked once for each of its 2 x 10^5 leaves: these would take hours."""
    n = 200_000
    spokes = np.stack([np.zeros(n - 1, int), np.arange(1, n)], axis=1)
    rim = np.stack([np.arange(1, n), np.roll(np.arange(1, n), -1)], axis=1)
    made = {
        "star": Graph(n, spokes),
        "path": graphs.path(n),
        "tree": graphs.binary_tree(16),
        "wheel": Graph(n, np.concatenate([spokes, rim])),
    }[graph]
    assert made.elimination_order().width == (3 if graph == "wheel" else 1)


def test_small_graphs_have_the_same_order_without_compiled_code(rng):
    for n_nodes in (1, 2, 7, 12):
        edges = rng.permutation(np.argwhere(np.triu(rng.random((n_nodes, n_nodes)) < 0.4, 1)))
        for limit in (np.inf, 20.0):
            given = n_nodes, Graph(n_nodes, edges).edges, limit
            for plain, compiled in zip(
                unwrap(elimination_order._min_fill)(*given), elimination_order._min_fill(*given), strict=True
            ):
                np.testing.assert_array_equal(plain, compiled, strict=True)


def test_an_order_is_broken_off_at_its_limit():
    full = graphs.grid(12, 12).elimination_order()
    cut = graphs.grid(12, 12).elimination_order(1000)
    assert len(cut.order) < len(full.order)
    np.testing.assert_array_equal(cut.order, full.order[: len(cut.order)])
    assert cut.n_entries > 1000
    assert cut.n_entries - 2.0 ** (cut.starts[-1] - cut.starts[-2]) <= 1000
    assert len(graphs.grid(12, 12).elimination_order(full.n_entries).order) == 144


def test_a_graph_searches_for_its_order_once(monkeypatch):
    """Any limit up to the one searched with is answered from memory, and equals a search of its own."""
    calls = []
    monkeypatch.setattr(graphs, "min_fill", lambda *given: (calls.append(given[2]), min_fill(*given))[1])
    graph, other = graphs.grid(12, 12), graphs.grid(12, 12)
    for limit in (1000, 50, 700, 2000, np.inf, 1000, 10.0**9):
        found = graph.elimination_order(limit)
        for mine, wanted in zip(found, min_fill(other.n_nodes, other.edges, limit), strict=True):
            np.testing.assert_array_equal(mine, wanted)
    assert calls == [1000, 2000, np.inf]
    engine = Elimination()
    engine.prepare(Agreement(graph))
    assert cost(graph)[0] == width(graph) == 16
    assert len(calls) == 3
