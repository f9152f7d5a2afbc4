"""Neighbourhood selection: the right graph from many samples, and exactly as many edges as wanted."""

import numpy as np
import pytest

from bayesmrf.data.states import check_states
from bayesmrf.errors import ConstantColumnWarning, GraphError, OptionError
from bayesmrf.learning.sparse import learn_graph


def chain(rng, n_samples, n_nodes, agreement=0.8, bias=0.0):
    """A Markov chain of coin flips: each node agrees with the one before it with a given probability."""
    x = np.empty((n_samples, n_nodes), dtype=np.int8)
    x[:, 0] = rng.random(n_samples) < 0.5 + bias
    for i in range(1, n_nodes):
        x[:, i] = x[:, i - 1] ^ (rng.random(n_samples) > agreement)
    return x


def edge_set(graph):
    return {tuple(sorted(e)) for e in graph.edges.tolist()}


@pytest.mark.parametrize("rule", ["max", "min"])
def test_a_strong_chain_is_recovered(rng, rule):
    # Next neighbours correlate at 0.6, nodes two apart at 0.36 with standard error 0.02 and none of it of their own.
    order = rng.permutation(9)
    x = chain(rng, 3000, 9)[:, order]
    place = np.argsort(order)
    wanted = {tuple(sorted((int(place[i]), int(place[i + 1])))) for i in range(8)}
    assert edge_set(learn_graph(check_states(x), 8, rule)) == wanted
    # Negative control: columns shuffled one by one hold no chain.
    shuffled = rng.permuted(x, axis=0)
    assert edge_set(learn_graph(check_states(shuffled), 8, rule)) != wanted


def test_exactly_the_wanted_number_of_edges(rng):
    states = check_states(chain(rng, 60, 9))
    for n_edges in (0, 1, 2, 7, 15, 25):
        for rule in ("max", "min"):
            graph = learn_graph(states, n_edges, rule)
            assert (graph.n_nodes, graph.n_edges) == (9, n_edges)
            assert graph.edges.tolist() == sorted(graph.edges.tolist())


def test_tied_edges_are_cut_to_the_wanted_number():
    # Eight nodes in four independent pairs, exactly alike: their edges enter together.
    cells = (np.arange(256)[:, None] >> np.arange(8)) & 1
    agree = (cells[:, 0::2] == cells[:, 1::2]).sum(axis=1)
    states = check_states(cells, sample_weight=3**agree)
    for n_edges in (1, 2, 3, 4):
        graph = learn_graph(states, n_edges)
        assert graph.n_edges == n_edges
        assert edge_set(graph) <= {(0, 1), (2, 3), (4, 5), (6, 7)}


def test_weights_are_repetitions(rng):
    x = chain(rng, 80, 7)
    weights = rng.integers(0, 4, size=80)
    weighted = learn_graph(check_states(x, sample_weight=weights), 6)
    assert weighted.edges.tolist() == learn_graph(check_states(np.repeat(x, weights, axis=0)), 6).edges.tolist()


def test_answer_is_the_same_for_any_coding_and_any_number_of_workers(rng):
    x = chain(rng, 100, 8, bias=0.2)
    wanted = learn_graph(check_states(x), 9).edges.tolist()
    assert learn_graph(check_states(x), 9, n_jobs=2).edges.tolist() == wanted
    assert learn_graph(check_states(2 * x - 1), 9).edges.tolist() == wanted


def test_constant_columns_get_no_edges(rng):
    x = chain(rng, 200, 6)
    x[:, 2] = 1
    x[:, 5] = 0
    with pytest.warns(ConstantColumnWarning):
        states = check_states(x)
    graph = learn_graph(states, 4)
    assert graph.n_edges == 4
    assert not np.isin(graph.edges, (2, 5)).any()
    with pytest.raises(GraphError, match=r"n_edges must be at most 6, .* got"):
        learn_graph(states, 7)


def test_names_are_kept(rng):
    import pandas as pd

    graph = learn_graph(check_states(pd.DataFrame(chain(rng, 50, 4), columns=list("wxyz"))), 2)
    assert graph.names == ("w", "x", "y", "z")


def test_wrong_options(rng):
    states = check_states(chain(rng, 50, 4))
    with pytest.raises(OptionError, match=r"rule must be .*, got 'or'"):
        learn_graph(states, 2, rule="or")
    for wrong in (-1, 2.5, "3", True):
        with pytest.raises(OptionError, match="n_edges"):
            learn_graph(states, wrong)
    with pytest.raises(GraphError, match="at most 6, the pairs"):
        learn_graph(states, 7)


def test_data_that_cannot_support_the_edges():
    # Every cell of a table once: no node says anything about another.
    states = check_states((np.arange(16)[:, None] >> np.arange(4)) & 1)
    with pytest.raises(GraphError, match="at most 0, the edges that the data support"):
        learn_graph(states, 1)
