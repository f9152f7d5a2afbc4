"""Probabilities of the states of a pair: counted, and from what each chain says given the rest of it."""

import numpy as np
import pytest
from scipy.special import expit

from bayesmrf import graphs
from bayesmrf.inference.elimination.two_states import Elimination
from bayesmrf.models.boltzmann import Boltzmann
from bayesmrf.particles import persistent_chains as edge_chains
from bayesmrf.particles.pair_cells import conditional_cells, counted_cells
from bayesmrf.posterior.edges.one_edge import SpikeSlabOneEdge
from tests.oracle import all_states

ENGINE = Elimination()
N_CHAINS = 8192
STATES = [(0, 0), (0, 1), (1, 0), (1, 1)]


def problem(rng, n_chains=N_CHAINS):
    """A graph of which one edge is absent, and chains drawn exactly."""
    model = Boltzmann(graphs.complete(4))
    theta = np.array([1.0, -0.8, 0.6, 0.9, -1.5, 0.0, -0.5, 0.3, -0.2, -1.0])
    theta[theta != 0] += 0.3 * rng.uniform(-1, 1, 9)
    states = ENGINE.sample(model, theta, ENGINE.prepare(model), n_chains, rng)
    rows = edge_chains.start_rows(model.graph, theta[:6] != 0)
    return model, theta, states, rows, chains_in(states, rng)


def chains_in(states, rng):
    """Chains in the given states, (n_chains, n_nodes)."""
    chains = edge_chains.start_chains(*states.shape, rng)
    words = np.packbits(np.ascontiguousarray(states.T, np.uint8), axis=1, bitorder="little").view(np.uint64)
    return edge_chains.unpack(chains._replace(words=words), len(states))


def own_cells(theta, states, edges, e):
    """(n_chains, 4): the law of the pair given the rest of each chain."""
    (i, j), w = edges[e], np.zeros((4, 4))
    for (u, v), value in zip(edges, theta, strict=False):
        w[u, v] = w[v, u] = value
    w[i, j] = w[j, i] = 0
    h = states @ w + theta[6:]
    log_p = np.stack([a * h[:, i] + b * h[:, j] + a * b * theta[e] for a, b in STATES], axis=1)
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("e", [0, 3, 5])
def test_what_each_chain_says(e, rng):
    _, theta, states, rows, blocks = problem(rng, 384)
    for first, last in ((0, 384), (64, 384), (192, 384), (0, 192), (64, 128)):
        square = np.empty((4, 4))
        cells = conditional_cells(blocks, rows, theta, e, first, last, square)
        own = own_cells(theta, states[first:last], rows.edges, e)
        np.testing.assert_allclose(cells, own.mean(axis=0), atol=2e-5)
        np.testing.assert_allclose(square, own.T @ own / len(own), atol=2e-5)
    i, j = rows.edges[e]
    counts = np.array([((states[:, i] == a) & (states[:, j] == b)).sum() for a, b in STATES])
    counts = np.maximum(counts, 0.5)
    cells = counted_cells(blocks.words, i, j, square)
    np.testing.assert_allclose(cells, counts / counts.sum())
    np.testing.assert_allclose(square, np.diag(cells))


@pytest.mark.parametrize("e", [1, 5])
def test_both_are_the_models_probabilities(e, rng):
    """And the asked chains spread less: an error of theirs is what their products say."""
    model, theta, _, rows, blocks = problem(rng)
    exact, wrong = enumerated(model, theta, e), enumerated(model, theta + np.repeat([0, 1], [6, 4]), e)
    errors = []
    for cells, square in both(blocks, rows, theta, e):
        error = np.sqrt((np.diag(square) - np.square(cells)) / N_CHAINS)
        assert np.abs((cells - exact) / np.maximum(error, 1 / N_CHAINS)).max() < 6.5
        assert np.abs((cells - wrong) / np.maximum(error, 1 / N_CHAINS)).max() > 6.5
        errors.append(error)
    assert (errors[0] < errors[1] + 1e-6).all()


def both(blocks, rows, theta, e):
    square = np.empty((4, 4))
    yield np.array(conditional_cells(blocks, rows, theta, e, 0, N_CHAINS, square)), square
    yield np.array(counted_cells(blocks.words, *rows.edges[e], square)), square


def enumerated(model, theta, e):
    x = all_states(4)
    p = np.exp([model.statistics(s[None]) @ theta for s in x])
    i, j = model.graph.edges[e]
    return np.array([p[(x[:, i] == a) & (x[:, j] == b)].sum() for a, b in STATES]) / p.sum()


def test_the_data_say_which_pairs_are_rare():
    """30 observations: a state in one of them is rare among 128 chains that decide, one in five is not."""
    model = Boltzmann(graphs.complete(2))
    for n_10, rare in ((1, True), (5, False)):
        states = np.repeat([(1, 1), (1, 0), (0, 1), (0, 0)], [10, n_10, 8, 12 - n_10], axis=0)
        kernel = SpikeSlabOneEdge(model, model.statistics(states), 30.0, n_particles=256)
        assert kernel._problem(1.0).rare.tolist() == [rare]


def test_where_no_chain_is(rng):
    """A state that the data and the chains are never in has the probability that the chains give it, not 0 or 1/2."""
    theta = np.array([0.0, -3.0, 1.0])
    model = Boltzmann(graphs.path(2))
    rows = edge_chains.start_rows(model.graph, np.zeros(1, bool))
    blocks = chains_in(np.tile([0, 1], (128, 1)), rng)
    p, q = expit(theta[1:])
    square = np.empty((4, 4))
    cells = conditional_cells(blocks, rows, theta, 0, 0, 128, square)
    np.testing.assert_allclose(cells, [(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q], rtol=1e-4)
    theta[0] = 500.0  # an edge as strong as can be: no chain doubts it, and nothing is infinite
    cells = conditional_cells(blocks, edge_chains.start_rows(model.graph, np.ones(1, bool)), theta, 0, 0, 128, square)
    np.testing.assert_allclose(cells, [0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(counted_cells(blocks.words, 0, 1, square), np.array([0.5, 128, 0.5, 0.5]) / 129.5)
