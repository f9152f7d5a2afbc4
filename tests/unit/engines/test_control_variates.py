"""Moments with control variates, against enumeration."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.errors import OptionError
from bayesmrf.inference.control_variates import _Controls, controlled_moments
from bayesmrf.models import Boltzmann, Ising, Nominal, Ordinal, Potts
from tests.oracle.potts import all_states

COMPLETE = graphs.complete(4)
MODELS = {
    "ising": Ising(COMPLETE),
    "boltzmann": Boltzmann(COMPLETE),
    "potts": Potts(COMPLETE, 3),
    "ordinal": Ordinal(COMPLETE, 3),
    "unequal": Nominal(COMPLETE, 4, sizes=(3, 2, 4, 3), ordered=(True, True, False, False)),
}


def law(model, theta):
    """All states that the model has, their probabilities, and their features."""
    m = model.used.shape[1]
    states = all_states(4, m).astype(np.int64)
    states = states[model.used[np.arange(4), states].all(axis=1)]
    f = model.features(states)
    p = np.exp(f @ theta - (f @ theta).max())
    return states, p / p.sum(), f


def theta_of(model, rng, size=0.5):
    return size * rng.normal(size=model.n_features)


def drawn(states, p, rng, shape):
    return states[rng.choice(len(p), size=shape, p=p)]


@pytest.mark.parametrize("name", MODELS)
def test_the_mean_of_each_control_is_0_at_this_theta_only(name, rng):
    model = MODELS[name]
    theta = theta_of(model, rng)
    states, p, _ = law(model, theta)
    u = _Controls(model, theta).at(states)
    assert u.shape[1] == model.edge_starts[-1] + model.n_features + 8
    np.testing.assert_allclose(p @ u, 0, atol=1e-12 * np.abs(u).max())
    other = _Controls(model, theta + 0.2).at(states)
    assert np.abs(p @ other).max() > 0.01


def scores_of(model, theta, rng, n_times, at):
    """Errors of moments over their standard errors, of 40 sets of states at theta, and ratios to plain errors."""
    states, p, f = law(model, theta)
    moments = [controlled_moments(model, at, drawn(states, p, rng, (n_times, 100))) for _ in range(40)]
    scores = np.array([(each.mean - p @ f) / each.error for each in moments])
    return scores, np.median([each.error / each.plain for each in moments])


def one_sidedness(scores):
    """Largest share of errors of one sign, of a feature: above 35 of 40 by chance in less than one of 10^4 tests."""
    positive = (scores > 0).mean(axis=0)
    return np.maximum(positive, 1 - positive).max()


@pytest.mark.parametrize("n_times", [8, 60], ids=["few", "many"])
@pytest.mark.parametrize("name", MODELS)
def test_moments_are_those_of_enumeration_with_smaller_errors(name, n_times, rng):
    """Few states have the controls of each feature alone."""
    model = MODELS[name]
    theta = theta_of(model, rng)
    scores, ratio = scores_of(model, theta, rng, n_times, theta)
    assert one_sidedness(scores) <= 35 / 40
    assert 0.4 < np.median(np.abs(scores)) < 1.4  # of 19 degrees of freedom 0.69
    assert ratio < 0.8


@pytest.mark.parametrize("name", MODELS)
def test_states_of_another_theta_are_wrong(name, rng):
    """Control: the scores of these states have another mean."""
    model = MODELS[name]
    theta = theta_of(model, rng)
    scores, _ = scores_of(model, theta, rng, 60, theta + 0.2)
    assert one_sidedness(scores) > 35 / 40
    assert np.median(np.abs(scores)) > 5


def test_too_few_states_have_no_controls(rng):
    model = MODELS["ordinal"]
    theta = theta_of(model, rng)
    states, p, _ = law(model, theta)
    moments = controlled_moments(model, theta, drawn(states, p, rng, (1, 40)))
    np.testing.assert_array_equal(moments.error, moments.plain)


def test_errors_need_20_chains(rng):
    model = MODELS["ising"]
    theta = theta_of(model, rng)
    states, p, _ = law(model, theta)
    with pytest.raises(OptionError, match=r"at least 20 chains, got '?19 chains"):
        controlled_moments(model, theta, drawn(states, p, rng, (10, 19)))
