"""Every binary model against its own formula, and the conversions between them."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Enumeration
from bayesmrf.models import Agreement, Boltzmann, Ising
from bayesmrf.models.pairwise import log_potential
from tests.oracle.states import all_states

GRAPH = graphs.Graph(5, np.array([[0, 1], [0, 2], [1, 2], [3, 2]]))
MODELS = [Agreement(GRAPH), Agreement(GRAPH, True), Ising(GRAPH), Ising(GRAPH, False), Boltzmann(GRAPH)]


def features(model, states):
    """Statistics of each state, from the definition of each model."""
    u, v = model.graph.edges.T
    x = 2 * states.astype(float) - 1
    if isinstance(model, Agreement):
        edge, node = (states[:, u] == states[:, v]).astype(float), x
    elif isinstance(model, Ising):
        edge, node = x[:, u] * x[:, v], x
    else:
        edge, node = (states[:, u] * states[:, v]).astype(float), states.astype(float)
    return np.concatenate([edge, node], axis=1) if model.fields else edge


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}-{m.fields}")
def test_statistics_potential_and_moments(model, rng):
    states = all_states(5)
    s, theta = features(model, states), rng.normal(size=model.n_features)
    for row, expected in zip(states, s, strict=True):
        np.testing.assert_allclose(model.statistics(row[None]), expected, atol=1e-12)
    weights = rng.integers(0, 5, size=32)
    np.testing.assert_allclose(model.statistics(states, weights), weights @ s / weights.sum())
    np.testing.assert_allclose(log_potential(model.pairwise(theta), states), s @ theta, atol=1e-12)
    p = np.exp(s @ theta - np.logaddexp.reduce(s @ theta))
    x = 2.0 * states - 1
    u, v = GRAPH.edges.T
    np.testing.assert_allclose(model.moments(p @ (x[:, u] * x[:, v]), p @ x), p @ s, atol=1e-12)
    found = Enumeration().infer(model, theta, None)
    np.testing.assert_allclose(found.moments, p @ s, atol=1e-12)
    assert found.log_z == pytest.approx(np.logaddexp.reduce(s @ theta))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}-{m.fields}")
def test_each_feature_takes_two_values(model):
    s = features(model, all_states(5))
    np.testing.assert_array_equal(s.min(axis=0), model.feature_low)
    np.testing.assert_array_equal(s.max(axis=0), 1)
    assert len(model.feature_names) == model.n_features
