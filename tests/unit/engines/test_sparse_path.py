"""L1 paths: optimality conditions of every point, scikit-learn's regression, cross-validation."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from bayesmrf import MaximumLikelihoodMRF, graphs
from bayesmrf.data.states import ColumnLevels, check_states
from bayesmrf.engines import Enumeration
from bayesmrf.errors import ConstantColumnWarning, DataError, OptionError
from bayesmrf.learning.sparse import _L1, learn_graph
from bayesmrf.learning.sparse_path import cross_validated, log_conditionals, pseudo_likelihood_path, wainwright
from bayesmrf.models import Boltzmann, Ordinal

D = 6
PAIRS = np.triu_indices(D, 1)


def sample(rng, n=200, strength=1.5):
    model = Boltzmann(graphs.complete(D))
    weights = strength * rng.normal(size=15) * (rng.random(15) < 0.4)
    bias = -np.bincount(np.concatenate(PAIRS), np.tile(weights, 2), D) / 2  # both states alike
    theta = np.concatenate([weights, bias])
    states = Enumeration().sample(model, theta, None, n, rng)
    states[0], states[1] = 0, 1  # so that no column is constant
    return check_states(states), theta


def matrix(theta):
    w = np.zeros((D, D))
    w[PAIRS] = theta[:15]
    return w + w.T


def test_pseudo_likelihood_is_optimal(rng):
    """The gradient is lambda where a weight is positive, -lambda where negative, between them where it is 0."""
    states, _ = sample(rng)
    x = states.values
    path = pseudo_likelihood_path(states, n_path=8)
    assert (path.density[0], path.theta.shape) == (0, (8, 21))
    assert path.density[-1] > 0.5
    for penalty, theta in zip(path.penalty, path.theta, strict=True):
        error = x - expit(x @ matrix(theta) + theta[15:])
        slope = (error.T @ x + x.T @ error)[PAIRS] / len(x)
        weights = theta[:15]
        assert np.abs(error.mean(axis=0)).max() < 2e-5
        np.testing.assert_allclose(slope[weights != 0], penalty * np.sign(weights[weights != 0]), atol=2e-5)
        assert (np.abs(slope[weights == 0]) <= penalty + 2e-5).all()
    # Negative control: the conditions tell a penalty from the next one.
    error = x - expit(x @ matrix(path.theta[-1]) + path.theta[-1, 15:])
    slope = (error.T @ x + x.T @ error)[PAIRS] / len(x)
    assert np.abs(np.abs(slope) - path.penalty[-2])[path.theta[-1, :15] != 0].min() > 2e-5


@pytest.mark.parametrize("rule", ["max", "min"])
def test_wainwright_is_a_logistic_regression_a_node(rng, rule):
    states, _ = sample(rng, 60, 1.0)
    x = states.values
    path = wainwright(states, rule, n_path=5)
    differs = []
    for k in (1, 4):
        w = np.zeros((D, D))
        for i in range(D):
            model = LogisticRegression(
                C=1 / (len(x) * path.penalty[k]), solver="saga", tol=1e-9, max_iter=100_000, **_L1
            ).fit(np.delete(x, i, axis=1), x[:, i])
            w[i] = np.insert(model.coef_[0], i, 0)
        larger = np.abs(w) >= np.abs(w.T)
        wanted = np.where(larger if rule == "max" else ~larger, w, w.T)[PAIRS]
        np.testing.assert_allclose(path.theta[k, :15], wanted, atol=2e-3, rtol=2e-3)
        other = np.where(~larger if rule == "max" else larger, w, w.T)[PAIRS]
        differs.append(np.abs(path.theta[k, :15] - other).max())
    assert max(differs) > 1e-2  # negative control: the other rule


SIZES = (4, 2, 3, 3)


def ordered(rng, n=400):
    """Two pairs of nodes that depend on each other, of several numbers of categories."""
    model = Ordinal(graphs.complete(4), 4, True, SIZES)
    theta = np.concatenate([[1.0, 0, 0, 0, 0, 0.8], np.zeros(model.n_features - 6)])
    return check_states(Enumeration().sample(model, theta, None, n, rng), n_states="keep")


def test_paths_of_ordered_categories_are_optimal(rng):
    """The conditions of optimality, from the conditional probabilities of each category, in scores from 0 to 1."""
    states = ordered(rng)
    x, pairs, span = states.values, np.triu_indices(4, 1), np.array(states.sizes) - 1.0
    scale = np.outer(span, span)[pairs]
    path = pseudo_likelihood_path(states, n_path=5)
    assert (path.density[0], path.theta.shape) == (0, (5, 14))
    assert path.theta[-1, 0] > 0.3
    starts = 6 + np.append(0, np.cumsum(span)).astype(int)

    def slopes(theta):
        w = np.zeros((4, 4))
        w[pairs] = theta[:6]
        field, errors, own, log_p = x @ (w + w.T), np.zeros(x.shape), [], np.zeros(len(x))
        for i, m in enumerate(states.sizes):
            energy = np.arange(m) * field[:, [i]] + np.append(0, theta[starts[i] : starts[i + 1]])
            p = np.exp(energy) / np.exp(energy).sum(axis=1, keepdims=True)
            errors[:, i] = x[:, i] - p @ np.arange(m)
            own += [(x[:, i] == k).mean() - p[:, k].mean() for k in range(1, m)]
            log_p += np.log(p[np.arange(len(x)), x[:, i]])
        np.testing.assert_allclose(log_conditionals(theta, x, states.sizes), log_p)
        return (errors.T @ x + x.T @ errors)[pairs] / len(x) / scale, np.array(own)

    for penalty, theta in zip(path.penalty, path.theta, strict=True):
        slope, own = slopes(theta)
        weights = theta[:6]
        assert np.abs(own).max() < 2e-5
        np.testing.assert_allclose(slope[weights != 0], penalty * np.sign(weights[weights != 0]), atol=2e-5)
        assert (np.abs(slope[weights == 0]) <= penalty + 2e-5).all()
    wrong = path.theta[-1] + np.append(np.zeros(6), np.full(8, 0.1))  # negative control
    assert np.abs(slopes(wrong)[1]).max() > 2e-5
    best, _ = cross_validated(states, pseudo_likelihood_path, n_folds=3, random_state=1, n_path=5)
    assert best[0] > 0.3


def test_two_ordered_categories_are_yes_and_no(rng):
    states, _ = sample(rng, 100)
    same = type(states)(states.values, states.names, None, ColumnLevels(((0, 1),) * D))
    wider = type(states)(np.column_stack([states.values, np.arange(100) % 3]), (*states.names, "6"), None,
                         ColumnLevels((*((0, 1),) * D, (0, 1, 2))))  # fmt: skip
    for fit in (wainwright, pseudo_likelihood_path):
        penalty = fit(states, n_path=3).penalty
        a, b, c = (fit(s, penalty=penalty).theta for s in (states, same, wider))
        np.testing.assert_array_equal(a, b)
        w = np.zeros((D + 1, D + 1))
        w[np.triu_indices(D + 1, 1)] = c[0, :21]  # no weight, and so none of the new node
        assert not w.any()
        np.testing.assert_allclose(c[0, 21:27], a[0, 15:], atol=1e-4)


def test_a_graph_of_ordered_categories_is_learnt(rng):
    """Both weights are ten standard errors and more from zero, those that are absent about one.

    Control: columns shuffled one by one. They may have the same two edges of six by chance, in a tenth of shuffles, but
    not in all of six.
    """
    states = ordered(rng, 800)
    for rule in ("max", "min"):
        assert learn_graph(states, 2, rule).edges.tolist() == [[0, 1], [2, 3]]

    def shuffled():
        values = rng.permuted(states.values, axis=0)
        return learn_graph(type(states)(values, states.names, None, states.coding), 2).edges.tolist()

    assert any(shuffled() != [[0, 1], [2, 3]] for _ in range(6))
    est = MaximumLikelihoodMRF("learn:2", model="ordinal").fit(states.values)
    assert est.edges_.tolist() == [[0, 1], [2, 3]]


def test_weights_are_repetitions(rng):
    states, _ = sample(rng, 80)
    counts = rng.integers(0, 4, size=80)
    for fit in (wainwright, pseudo_likelihood_path):
        weighted = fit(check_states(states.values, sample_weight=counts), n_path=4)
        repeated = fit(check_states(np.repeat(states.values, counts, axis=0)), n_path=4)
        np.testing.assert_allclose(weighted.theta, repeated.theta, atol=1e-3)


def test_density_and_cross_validation(rng):
    states, theta = sample(rng, 400, 2.5)
    path = pseudo_likelihood_path(states)
    chosen = path.at_density(0.4)
    assert abs((chosen[:15] != 0).mean() - 0.4) <= np.abs(path.density - 0.4).min() + 1e-12
    fresh = Enumeration().sample(Boltzmann(graphs.complete(D)), theta, None, 20_000, rng)
    for fit in (wainwright, pseudo_likelihood_path):
        best, penalty = cross_validated(states, fit, n_folds=4, random_state=int(rng.integers(2**31)), n_path=15)
        ends = fit(states, n_path=15).theta[0]
        assert log_conditionals(best, fresh).mean() > log_conditionals(ends, fresh).mean()
        assert penalty in fit(states, n_path=15).penalty
    # Negative control: columns shuffled one by one hold nothing that helps with left-out rows.
    shuffled = check_states(rng.permuted(states.values, axis=0))
    best, _ = cross_validated(shuffled, pseudo_likelihood_path, n_folds=4, n_path=15)
    assert np.abs(best[:15]).max() < np.abs(chosen[:15]).max()


def test_constant_columns_get_no_weights(rng):
    x = sample(rng)[0].values.copy()
    x[:, 2] = 1
    with pytest.warns(ConstantColumnWarning):
        states = check_states(x)
    for fit in (wainwright, pseudo_likelihood_path):
        path = fit(states, n_path=5)
        assert np.isfinite(path.theta).all()
        assert not path.theta[:, :15][:, (PAIRS[0] == 2) | (PAIRS[1] == 2)].any()
        assert (path.theta[:, 17] > 4).all()


def test_bad_input(rng):
    states, _ = sample(rng, 30)
    with pytest.raises(OptionError, match=r"rule must be .*, got 'or'"):
        wainwright(states, "or")
    with pytest.raises(OptionError, match="n_path and ratio must"):
        pseudo_likelihood_path(states, n_path=0)
    with pytest.raises(OptionError, match=r"density must be .*, got 2"):
        pseudo_likelihood_path(states, n_path=2).at_density(2)
    with pytest.raises(OptionError, match=r"n_folds must be .*, got 31"):
        cross_validated(states, wainwright, n_folds=31)
    missing = states.values.copy()
    missing[0, 0] = -1
    with pytest.raises(DataError, match="must not have missing values"):
        wainwright(type(states)(missing, states.names, None, "01"))
