"""What the tests of the Potts model share: its law by enumeration, written from the definition."""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2

from bayesmrf.models import Agreement, Potts
from tests.oracle.states import normalised, random_graph


def all_states(d, m):
    return np.array(list(itertools.product(range(m), repeat=d)), dtype=np.int8).reshape(m**d, d)


def features(model):
    """Every state and its statistics, by loops over the definition."""
    d, m = model.graph.n_nodes, model.n_states
    states = all_states(d, m)
    columns = [states[:, u] == states[:, v] for u, v in model.graph.edges]
    columns += [states[:, i] == k for i in range(d) for k in range(1, m)]
    return states, np.array(columns, dtype=float).reshape(len(columns), len(states)).T


def law(model, theta):
    """Log Z, and the probability of each state."""
    return normalised(features(model)[1] @ theta)


def infer(engine, model, theta):
    return engine.infer(model, theta, engine.prepare(model))


def assert_same(found, model, theta):
    log_z, p = law(model, theta)
    assert found.log_z == pytest.approx(log_z, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(found.moments, p @ features(model)[1], rtol=0, atol=1e-11)


def p_value(model, states, probabilities):
    """Pearson's chi-squared test of states against a law on all of them; rare states are pooled."""
    d, m = model.graph.n_nodes, model.n_states
    number = states.astype(np.int64) @ (m ** np.arange(d)[::-1])
    order = np.argsort(probabilities)
    seen = np.bincount(number, minlength=len(probabilities))[order]
    expected = len(states) * probabilities[order]
    cells = np.unique((np.cumsum(expected) - expected) // 100, return_inverse=True)[1]
    seen, expected = np.bincount(cells, seen), np.bincount(cells, expected)
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1)


def problem(rng, d=5, m=3, low=-0.8):
    model = Potts(random_graph(rng, d, 0.7), m)
    theta = rng.uniform(-0.6, 0.6, model.n_features)
    theta[: model.n_edges] = rng.uniform(low, 0.8, model.n_edges)
    return model, theta


def as_potts(binary, theta):
    """The Potts model with two states that is the same law, its theta, and how much larger the binary log Z is."""
    graph = binary.graph
    edge, node = theta[: graph.n_edges], theta[graph.n_edges :]
    if isinstance(binary, Agreement):  # h x = 2 h [x = 1] - h
        return Potts(graph, 2), np.concatenate([edge, 2 * node]), -node.sum()
    # 2 s_u s_v = [s_u = s_v] - 1 + s_u + s_v
    own = node + sum(np.bincount(end, edge / 2, minlength=graph.n_nodes) for end in graph.edges.T)
    return Potts(graph, 2), np.concatenate([edge / 2, own]), -edge.sum() / 2
