"""The pseudo-likelihood against brute-force conditionals, its gradient, and its maximum."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from bayesmrf import graphs
from bayesmrf.engines import PseudoLikelihood
from bayesmrf.errors import DataError, OptionError
from bayesmrf.learning.maximum_likelihood import maximum_likelihood
from bayesmrf.metrics import log_pseudo_likelihood
from bayesmrf.models import Agreement
from bayesmrf.models.linear_map import LinearMap


def brute_force(model, theta, states, weights):
    """Conditionals from the unnormalised probabilities of a state and of the state with one node flipped."""

    def log_p(x):
        s = [x[u] == x[v] for u, v in model.graph.edges]
        return np.dot(theta, [*s, *(2 * x - 1)] if model.fields else s)

    total = 0.0
    for x, w in zip(np.asarray(states, dtype=int), weights, strict=True):
        for i in range(len(x)):
            flipped = x.copy()
            flipped[i] = 1 - x[i]
            total -= w * np.logaddexp(0, log_p(flipped) - log_p(x))
    return total


def exact_sample(rng, model, theta, n_samples):
    """Exact samples by listing all states."""
    d = model.graph.n_nodes
    cells = ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(np.int8)
    log_p = np.array([theta @ model.statistics(c[None]) for c in cells])
    p = np.exp(log_p - log_p.max())
    return cells[rng.choice(len(cells), size=n_samples, p=p / p.sum())]


def maximum(model, states, weights=None, groups=None):
    """Maximum likelihood with the engine that turns the likelihood into the pseudo-likelihood."""
    r, n = model.n_edges, len(states) if weights is None else weights.sum()
    label = np.arange(r) if groups is None else np.unique(groups, return_inverse=True)[1]
    tie = np.concatenate([label, label.max() + 1 + np.arange(model.n_features - r)])
    curve = LinearMap.tied(tie, [str(i) for i in range(tie.max() + 1)])
    engine = PseudoLikelihood(states, weights)
    return maximum_likelihood(model, model.statistics(states, weights), n, engine, None, curve).theta


def problem(rng, fields):
    graph = graphs.Graph(6, np.array([(0, 1), (2, 1), (2, 3), (3, 0), (0, 2), (4, 3)]))  # a node without edges, too
    model = Agreement(graph, fields)
    return model, rng.normal(size=model.n_features), rng.integers(2, size=(20, 6), dtype=np.int8)


@pytest.mark.parametrize("fields", [False, True])
def test_log_pseudo_likelihood_is_the_product_of_conditionals(rng, fields):
    model, theta, states = problem(rng, fields)
    weights = rng.integers(0, 4, size=20)
    assert log_pseudo_likelihood(model, theta, states) == pytest.approx(
        brute_force(model, theta, states, np.ones(20)), rel=1e-12
    )
    assert log_pseudo_likelihood(model, theta, states, weights) == pytest.approx(
        brute_force(model, theta, states, weights), rel=1e-12
    )


def test_extreme_parameters_stay_finite(rng):
    model, theta, states = problem(rng, True)
    value = log_pseudo_likelihood(model, 1e4 * theta, states)
    assert value == pytest.approx(brute_force(model, 1e4 * theta, states, np.ones(20)), rel=1e-12)


@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_maximum_has_no_slope(rng, fields, tied):
    model, theta, _ = problem(rng, fields)
    states = exact_sample(rng, model, theta / 2, 400)
    groups = np.array([9, 9, 4, 4, 9, 4]) if tied else None
    found = maximum(model, states, groups=groups)
    label = np.arange(6) if groups is None else (groups == 9).astype(int)
    k = label.max() + 1
    phi = np.concatenate([[found[:6][label == j][0] for j in range(k)], found[6:]])

    def objective(p):
        return log_pseudo_likelihood(model, np.concatenate([p[:k][label], p[k:]]), states) / 400

    assert objective(phi) == pytest.approx(log_pseudo_likelihood(model, found, states) / 400, rel=1e-12)
    slope = approx_fprime(phi, objective, 1e-6)
    assert np.abs(slope).max() < 2e-5
    # Negative control: a step away from the maximum the slope shows.
    assert np.abs(approx_fprime(phi + 0.1, objective, 1e-6)).max() > 2e-5


def test_gradient_equals_finite_differences(rng):
    from bayesmrf.inference.pseudo_likelihood import value_and_scores

    model, theta, states = problem(rng, True)
    weights = rng.random(20)
    _, pair, node = value_and_scores(model.pairwise(theta), states, weights)
    numeric = approx_fprime(theta, lambda t: log_pseudo_likelihood(model, t, states, weights), 1e-6)
    np.testing.assert_allclose(np.concatenate([pair / 2, node]), numeric, atol=2e-4)
    compiled = value_and_scores.py_func(model.pairwise(theta), states, weights)
    np.testing.assert_allclose(compiled[1], pair, atol=1e-12)
    np.testing.assert_allclose(compiled[2], node, atol=1e-12)


def test_weights_are_repetitions(rng):
    model, theta, _ = problem(rng, True)
    states = exact_sample(rng, model, theta / 3, 200)
    distinct, times = np.unique(states, axis=0, return_counts=True)
    np.testing.assert_allclose(maximum(model, distinct, weights=times), maximum(model, states), atol=1e-4)


def test_wrong_arguments(rng):
    model, theta, states = problem(rng, False)
    with pytest.raises(OptionError, match=r"theta must be an array of shape \(6,\)"):
        log_pseudo_likelihood(model, theta[:-1], states)
    with pytest.raises(DataError, match=r"states must be an array of shape \(n_samples, .*got an array"):
        log_pseudo_likelihood(model, theta, states[:, :-1])
    with pytest.raises(DataError, match=r"weights must be .*got an array of shape \(3,\)"):
        log_pseudo_likelihood(model, theta, states, np.ones(3))


def test_a_graph_without_edges():
    model = Agreement(graphs.Graph(3, np.zeros((0, 2), dtype=int)))
    states = np.array([[0, 1, 1]])
    assert log_pseudo_likelihood(model, np.zeros(0), states) == pytest.approx(-3 * np.log(2))
