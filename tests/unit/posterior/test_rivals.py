"""Edges that may take each other's place, and whether they do."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.special import logit

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.models import Agreement, Boltzmann, Ising, Potts
from bayesmrf.posterior.conditionals.rivals import rivals, rivals_in, swaps_in
from bayesmrf.posterior.groups.dirichlet_process import open_urn
from bayesmrf.posterior.groups.moves.pairs import scan_pairs
from bayesmrf.posterior.groups.prior import GroupPrior
from bayesmrf.states.memory import fill_hubs, refresh_graph, start_particles, unpack

ENGINE = Elimination()
WHEEL = graphs.Graph(7, np.array([(0, i) for i in range(1, 7)] + [(i, i % 6 + 1) for i in range(1, 7)]))


def by_hand(graph, agreement):
    """Sets of rivals, by the definition."""
    number = {frozenset(e): k for k, e in enumerate(graph.edges.tolist())}
    alike = {e: abs(2 * agreement[k] - 1) for e, k in number.items()}

    def like(i):
        ends = {j: frozenset((i, j)) for j in range(graph.n_nodes)}
        return sorted((j for j, e in ends.items() if e in number), key=lambda j: -alike[ends[j]])

    out = []
    for u, v in graph.edges.tolist():
        ends = [(u, w) for w in like(v)[:4]] + [(v, w) for w in like(u)[:4]]
        out.append({number[frozenset(e)] for e in ends if frozenset(e) in number})
    return out


@pytest.mark.parametrize("graph", [graphs.complete(7), WHEEL, graphs.grid(3, 3)], ids=["complete", "wheel", "grid"])
def test_rivals_are_the_edges_to_nodes_alike(graph, rng):
    agreement = rng.random(graph.n_edges)
    found = rivals(graph, np.abs(2 * agreement - 1))
    assert found.shape == (graph.n_edges, 8)
    for row, wanted in zip(found.tolist(), by_hand(graph, agreement), strict=True):
        assert set(row) - {-1} == wanted
    assert not any(i in row for i, row in enumerate(found.tolist()))


def test_graphs_without_edges_have_none():
    assert rivals(graphs.Graph(3, np.empty((0, 2), int)), np.empty(0)).shape == (0, 8)


@pytest.mark.parametrize("build", [Boltzmann, Ising, Agreement, partial(Potts, n_states=2)])
def test_swaps_are_of_edges_that_are_not_surely_needed(build):
    """Nodes 1 and 2 agree in 0.9 of all rows, and 0 agrees with 1 in 0.8, whatever 2 is.

    The partial correlation of 0 and 1 given 2 is (0.6 - 0.48 0.8) / sqrt((1 - 0.48^2) (1 - 0.8^2)) = 0.410, five
    standard errors for 131.5 rows. 0 and 2 are independent given 1.
    """
    graph, states = graphs.complete(3), np.array(list(product([0, 1], repeat=3)))
    shares = np.array([(0.8 if a == b else 0.2) * (0.9 if b == c else 0.1) / 2 for a, b, c in states])
    model = build(graph)
    moments = model.statistics(np.repeat(states, np.rint(100 * shares).astype(int), axis=0))
    pair = sorted(graph.edges.tolist().index(e) for e in ([0, 1], [0, 2]))
    assert pair in swaps_in(model, moments, 131).tolist()
    assert pair not in swaps_in(model, moments, 132).tolist()
    assert pair in rivals_in(model, moments, 132).tolist()


def test_a_rival_takes_the_place_of_an_edge(rng):
    """Among 40 nodes 1 and 2 are all but the same, and node 0 is as near to either: pairs of edges at random, in one
    pass over them, hardly ever let its edge go from one to the other."""
    n, d, m = 300, 40, 1024
    x = rng.integers(0, 2, (n, d))
    x[:, 2] = x[:, 0] = x[:, 1]
    x[:4, 2] = 1 - x[:4, 1]
    x[2:34, 0] = 1 - x[2:34, 1]  # from 1 in samples 2 to 33, from 2 in 0, 1 and 4 to 33
    graph = graphs.complete(d)
    first, second, bound = (graph.edges.tolist().index(e) for e in ([0, 1], [0, 2], [1, 2]))
    model, prior = Agreement(graph), GroupPrior(1.0, 0.1, 1.0, 1.0, 0.0, 0.0)
    s_bar = model.statistics(x)
    values = logit(s_bar[[first, bound]])
    start = np.full(graph.n_edges, -1, np.int32)
    start[[first, bound]] = 0, 1
    theta = np.append(values, 0.0)[start]
    path = Agreement(graphs.path(3))
    plan = ENGINE.prepare(path)

    def moved(rows, n_times=2000):
        found = 0
        for _ in range(n_times):
            unpacked = unpack(start_particles(m, d, rng), rows, theta)
            unpacked.x[:3] = 2 * ENGINE.sample(path, values, plan, m, rng).T - 1
            fill_hubs(rows, unpacked)
            urn = open_urn(start, values, prior)
            scan_pairs(rng, rows, unpacked, np.rint(n * s_bar), float(n), np.arange(graph.n_edges), urn)
            found += urn.groups[first] < 0 <= urn.groups[second]
        return found

    found = moved(refresh_graph(graph, rivals=rivals(graph, np.abs(2 * s_bar - 1))))
    assert found > 20 + 2 * moved(refresh_graph(graph))
