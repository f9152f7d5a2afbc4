"""Probabilities of the states of a pair: counted, and from what each chain says given the rest of it."""

import numpy as np
import pytest
from scipy.special import expit

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.states import persistent_chains as edge_chains
from bayesmrf.states.chain_pairs import (
    conditional_cells,
    conditional_spread,
    counted_cells,
    counted_spread,
    ends_without_edge,
)
from tests.oracle.bounds import assert_estimate, assert_other_estimate
from tests.oracle.states import all_states

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


def ends_of(blocks, rows, theta, e):
    ends = np.empty((2, blocks.n_chains), np.float32)
    ends_without_edge(blocks, rows, theta, e, ends)
    return ends


@pytest.mark.parametrize("e", [0, 3, 5])
def test_what_each_chain_says(e, rng):
    """Probabilities, and moments of a factor of the states."""
    _, theta, states, rows, blocks = problem(rng, 384)
    ends, factors = ends_of(blocks, rows, theta, e), rng.uniform(0.5, 2, 4)

    def moments(own):
        d = own @ factors / (own @ factors).mean() - 1
        return [(d**2).mean(), (d**3).mean()]

    for first, last in ((0, 384), (64, 384), (192, 384), (0, 192), (64, 128)):
        own = own_cells(theta, states[first:last], rows.edges, e)
        cells = conditional_cells(ends, first, last, theta[e])
        np.testing.assert_allclose(cells, own.mean(axis=0), atol=2e-5)
        found = conditional_spread(ends, first, last, theta[e], cells, tuple(factors))
        np.testing.assert_allclose(found, moments(own), rtol=1e-3, atol=1e-7)
    i, j = rows.edges[e]
    own = np.array([[x[i] == a and x[j] == b for a, b in STATES] for x in states], float)
    counts = np.maximum(own.sum(axis=0), 0.5)
    cells = counted_cells(blocks.words, i, j)
    np.testing.assert_allclose(cells, counts / counts.sum())
    if (own.sum(axis=0) > 0).all():
        np.testing.assert_allclose(counted_spread(cells, tuple(factors)), moments(own))


@pytest.mark.parametrize("e", [1, 5])
def test_both_are_the_models_probabilities(e, rng):
    """And the asked chains spread less."""
    model, theta, _, rows, blocks = problem(rng)
    exact, wrong = enumerated(model, theta, e), enumerated(model, theta + np.repeat([0, 1], [6, 4]), e)
    errors = []
    for cells, spread in both(blocks, rows, theta, e):
        error = np.sqrt([cells[k] ** 2 * spread(tuple(np.eye(4)[k]))[0] / N_CHAINS for k in range(4)])
        assert_estimate(cells, exact, np.maximum(error, 1 / N_CHAINS))
        assert_other_estimate(cells, wrong, np.maximum(error, 1 / N_CHAINS))
        errors.append(error)
    assert (errors[0] < errors[1] + 1e-6).all()


def both(blocks, rows, theta, e):
    """Cells by each estimator, and its spread of a factor."""
    ends = ends_of(blocks, rows, theta, e)
    asked, counted = conditional_cells(ends, 0, blocks.n_chains, theta[e]), counted_cells(blocks.words, *rows.edges[e])
    yield np.array(asked), lambda factors: conditional_spread(ends, 0, blocks.n_chains, theta[e], asked, factors)
    yield np.array(counted), lambda factors: counted_spread(counted, factors)


def enumerated(model, theta, e):
    x = all_states(4)
    p = np.exp([model.statistics(s[None]) @ theta for s in x])
    i, j = model.graph.edges[e]
    return np.array([p[(x[:, i] == a) & (x[:, j] == b)].sum() for a, b in STATES]) / p.sum()


def test_the_data_say_which_pairs_are_counted(rng):
    """Those in a camp of four, but for states that are in 3 of 1,000 rows: rare among 512 chains that decide."""
    for stray, counted in ((3, False), (30, True)):
        x = np.repeat(rng.random((1000, 1)) < 0.5, 5, axis=1)
        x[:, 4] = rng.random(1000) < 0.5
        for node in range(4):
            x[node * stray : (node + 1) * stray, node] ^= True
        model = Boltzmann(graphs.complete(5))
        kernel = SpikeSlabTwoStates(model, model.statistics(x.astype(np.int8)), 1000.0, options=ReversibleJump(1024))
        found = kernel.design.memory.counted
        assert found.tolist() == [counted and bool(v < 4) for _, v in model.graph.edges]


def test_where_no_chain_is(rng):
    """A state that the data and the chains are never in has the probability that the chains give it, not 0 or 1/2."""
    theta = np.array([0.0, -3.0, 1.0])
    model = Boltzmann(graphs.path(2))
    rows = edge_chains.start_rows(model.graph, np.zeros(1, bool))
    blocks = chains_in(np.tile([0, 1], (128, 1)), rng)
    p, q = expit(theta[1:])
    cells = conditional_cells(ends_of(blocks, rows, theta, 0), 0, 128, 0.0)
    np.testing.assert_allclose(cells, [(1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q], rtol=1e-4)
    theta[0] = 500.0  # an edge as strong as can be: no chain doubts it, and nothing is infinite
    rows = edge_chains.start_rows(model.graph, np.ones(1, bool))
    cells = conditional_cells(ends_of(blocks, rows, theta, 0), 0, 128, 500.0)
    np.testing.assert_allclose(cells, [0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(counted_cells(blocks.words, 0, 1), np.array([0.5, 128, 0.5, 0.5]) / 129.5)
