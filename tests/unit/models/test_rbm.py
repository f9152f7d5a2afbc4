"""Restricted Boltzmann machines: the model by enumeration, block Gibbs, learning by persistent chains, estimator."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp
from scipy.stats import chi2
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesmrf import RBM
from bayesmrf.base import LOG_Z
from bayesmrf.engines import Enumeration
from bayesmrf.errors import ConvergenceWarning, DataError, DivergenceError, OptionError, TooWideError
from bayesmrf.inference import annealed
from bayesmrf.inference.annealed import Annealed
from bayesmrf.learning.rbm_persistent import PersistentRBM
from bayesmrf.models import RestrictedBoltzmann
from bayesmrf.samplers import rbm_gibbs
from tests.oracle.bounds import P, assert_estimate
from tests.oracle.evidence import machine_likelihood
from tests.oracle.states import all_states, state_numbers
from tests.unit.estimators.test_estimators import signs

SIZES = [(1, 1), (4, 3), (2, 5), (3, 3)]


class Oracle:
    """Every joint state and its log weight, by the formula of the model alone."""

    def __init__(self, model, theta):
        d, k = model.n_visible, model.n_hidden
        w, alpha, beta = theta[: d * k].reshape(k, d), theta[d * k : d * k + d], theta[d * k + d :]
        self.pairs = [(np.array(x), np.array(z)) for x in itertools.product((0, 1), repeat=d)
                      for z in itertools.product((0, 1), repeat=k)]  # fmt: skip
        self.log_weight = np.array([z @ w @ x + beta @ z + alpha @ x for x, z in self.pairs])
        self.log_z = logsumexp(self.log_weight)
        self.statistics = np.array([np.concatenate([np.outer(z, x).ravel(), x, z]) for x, z in self.pairs])
        self.p = np.exp(self.log_weight - self.log_z)
        self.by_x = self.log_weight.reshape(2**d, 2**k)


@pytest.mark.parametrize("size", SIZES)
def test_model_is_enumeration(size, rng):
    model = RestrictedBoltzmann(*size)
    theta = rng.normal(0, 1.5, model.n_features)
    oracle, states = Oracle(model, theta), all_states(model.n_visible)
    found = model.exact(theta)
    assert found.log_z == pytest.approx(oracle.log_z, abs=1e-12)
    assert model.exact(theta, LOG_Z).moments is None
    np.testing.assert_allclose(found.moments, oracle.p @ oracle.statistics, atol=1e-12)
    np.testing.assert_allclose(-model.free_energy(theta, states), logsumexp(oracle.by_x, axis=1), atol=1e-12)
    z = all_states(model.n_hidden)
    given_x = np.exp(oracle.by_x - logsumexp(oracle.by_x, axis=1, keepdims=True))
    given_z = np.exp(oracle.by_x - logsumexp(oracle.by_x, axis=0)).T
    np.testing.assert_allclose(model.hidden_probabilities(theta, states), given_x @ z, atol=1e-12)
    w = model.split(theta)
    np.testing.assert_allclose(expit(z @ w.weights + w.visible), given_z @ states, atol=1e-12)
    # Statistics of data: the average of E[s | x].
    counts = rng.integers(0, 5, len(states)) + (np.arange(len(states)) == 0)
    expected = (counts / counts.sum()) @ (given_x[:, :, None] * oracle.statistics.reshape(len(states), len(z), -1)).sum(
        axis=1
    )
    np.testing.assert_allclose(model.statistics(theta, states, counts), expected, atol=1e-12)
    np.testing.assert_allclose(model.statistics(theta, np.repeat(states, counts, axis=0)), expected, atol=1e-12)
    joint = Enumeration().infer(model.joint, theta, None)
    assert joint.log_z == pytest.approx(oracle.log_z, abs=1e-12)
    np.testing.assert_allclose(joint.moments, found.moments, atol=1e-12)


def test_gradient_is_that_of_the_likelihood(rng):
    model = RestrictedBoltzmann(4, 3)
    theta, states = rng.normal(0, 1, model.n_features), rng.integers(0, 2, (30, 4))
    value, gradient = machine_likelihood(model, theta, states)
    by_row = -model.free_energy(theta, states) - Oracle(model, theta).log_z
    assert value == pytest.approx(by_row.sum())
    h = 1e-5 * np.eye(model.n_features)
    slopes = [
        (machine_likelihood(model, theta + e, states)[0] - machine_likelihood(model, theta - e, states)[0]) for e in h
    ]
    np.testing.assert_allclose(gradient, np.array(slopes) / 2e-5, atol=1e-6)
    again = machine_likelihood(model, theta, states[:10], np.full(10, 3))[0]
    assert again == pytest.approx(3 * by_row[:10].sum())


@pytest.mark.parametrize("size", [(16, 14), (14, 16)])
def test_log_z_of_more_states_than_a_block(size, rng):
    model = RestrictedBoltzmann(*size)
    theta = rng.normal(0, 0.7, model.n_features)
    numbers = np.arange(2 ** size[0])
    states = numbers[:, None] >> np.arange(size[0]) & 1
    assert model.exact(theta).log_z == pytest.approx(logsumexp(-model.free_energy(theta, states)), abs=1e-10)
    assert model.exact(np.zeros(model.n_features)).log_z == pytest.approx(30 * np.log(2))
    np.testing.assert_allclose(model.exact(np.zeros(model.n_features)).moments[: 16 * 14], 0.25)


def p_value(states, law):
    """Of the chi-squared statistic of visible states against their probabilities, states by number."""
    n = len(states)
    counts = np.bincount(state_numbers(states), minlength=len(law))
    order = np.argsort(law)
    groups = np.cumsum(law[order] * n) // 20  # expected counts of some 20 at least
    seen, wanted = (np.bincount(np.unique(groups, return_inverse=True)[1], a[order]) for a in (counts, law * n))
    return chi2.sf(((seen - wanted) ** 2 / wanted).sum(), max(1, len(seen) - 1))


@pytest.mark.parametrize("size", [(4, 3), (3, 5)])
def test_exact_samples(size, rng):
    model = RestrictedBoltzmann(*size)
    theta = rng.uniform(-0.6, 0.6, model.n_features)  # no unit is certain, so that any bias shows
    states = all_states(model.n_visible)
    drawn = model.sample(theta, 20_000, rng)
    assert p_value(drawn, np.exp(-model.free_energy(theta, states) - model.exact(theta).log_z)) > P
    other = theta + 0.7 * (np.arange(model.n_features) == model.n_features - model.n_hidden - 1)  # one visible bias
    assert p_value(drawn, np.exp(-model.free_energy(other, states) - model.exact(other).log_z)) < P


def test_a_sweep_has_its_law(rng):
    """From one state: sum over z of p(z | x) p(x' | z)."""
    model = RestrictedBoltzmann(4, 3)
    theta = rng.uniform(-0.7, 0.7, model.n_features)
    x, z, xs = rng.integers(0, 2, (1, 4)), all_states(3), all_states(4)

    def law(theta):
        w = model.split(theta)
        h, v = model.hidden_probabilities(theta, x), expit(z @ w.weights + w.visible)
        p_z = np.where(z == 1, h, 1 - h).prod(axis=1)
        return p_z @ np.where(xs[None] == 1, v[:, None], 1 - v[:, None]).prod(axis=2)

    drawn = rbm_gibbs.sweep(model.split(theta), np.repeat(x, 20_001, axis=0), 1, rbm_gibbs.generators(rng))
    assert p_value(drawn, law(theta)) > P
    other = theta + 0.7 * (np.arange(model.n_features) == 12)
    assert p_value(drawn, law(other)) < P


@pytest.mark.parametrize("shape", [(64, 3), (7, 5), (1, 1), (3, 200)])
def test_compiled_draws_are_those_of_python(shape, rng):
    field, bias = rng.normal(0, 3, shape).astype(np.float32), rng.normal(0, 1, shape[1]).astype(np.float32)
    lanes = rbm_gibbs.generators(rng)
    mean, drawn, found = field.copy(), np.empty_like(field), []
    rbm_gibbs.mean_units(mean, bias)
    np.testing.assert_allclose(mean, 1 / (1 + np.exp(-field.astype(float) - bias)), atol=1e-6)
    for function in (rbm_gibbs.draw_units, rbm_gibbs.draw_units.py_func):
        p, units, ours = field.copy(), drawn.copy(), lanes.copy()
        with np.errstate(over="ignore"):
            function(p, bias, ours, units)
        np.testing.assert_allclose(p, mean, atol=1e-6)
        found.append(units)
    np.testing.assert_array_equal(*found)


# ---- persistent contrastive divergence


RATES = np.linspace(0.5, 0, 10_000, endpoint=False)


def below(model, theta, exact, states, penalty):
    """How far the log likelihood less its penalty is at ``theta`` below that at ``exact``, in nats."""

    def value(t):
        return machine_likelihood(model, t, states)[0] - len(states) * penalty / 2 * t @ t

    return value(exact) - value(theta)


@pytest.mark.parametrize("penalty", [0.0, 1 / 2000])
def test_persistent_chains_climb_as_exact_ascent_does(penalty, rng):
    """From half the true weights and with the same rates, by chains and batches or by exact gradients over all rows.

    Small random weights may lead the two to different modes. 27 parameters of a likelihood leave 13.5 nats of noise,
    within which chains must come; 0 to 3.4 were seen, and hundreds for the controls.
    """
    model = RestrictedBoltzmann(6, 3)
    w = rng.normal(0, 2, (3, 6))
    theta = model.join(w, -w.sum(axis=0) / 2, -w.sum(axis=1) / 2)  # balanced: weights are what there is to learn
    states = model.sample(theta, 2000, rng)
    rows, counts = np.unique(states, axis=0, return_counts=True)
    learner = PersistentRBM(model, n_chains=500, batch_size=500, penalty=penalty)
    state = learner.start(states, rng)._replace(theta=theta / 2)
    theta, exact = learner.fit(state, states, RATES, rng).theta, state.theta
    for rate in RATES:
        exact = exact + rate * (machine_likelihood(model, exact, rows, counts)[1] / 2000 - penalty * exact)
    assert below(model, theta, exact, states, penalty) < 13.5
    assert below(model, state.theta, exact, states, penalty) > 13.5
    shrunk = PersistentRBM(model, n_chains=500, batch_size=500, penalty=0.05)
    assert below(model, shrunk.fit(state, states, RATES[::10], rng).theta, exact, states, penalty) > 13.5


def test_persistent_chains_start_again_where_they_were(rng):
    model = RestrictedBoltzmann(5, 2)
    states, learner = rng.integers(0, 2, (40, 5)).astype(np.int8), PersistentRBM(model, n_chains=10, batch_size=16)
    seed = int(rng.integers(2**31))
    found = []
    for parts in ((6,), (3, 3)):  # three batches are one pass
        generator = np.random.default_rng(seed)
        state = learner.start(states, generator)
        for n in parts:
            state = learner.fit(state, states, np.full(n, 0.1), generator)
        found.append(state.theta)
    # Between calls theta is float64 of the same float32 numbers.
    np.testing.assert_array_equal(*found)


# ---- the estimator

QUICK = {"n_hidden": 3, "n_steps": 50, "random_state": 0}


def table(rng, n, d):
    """Rows of unlike margins; no column is constant."""
    X = (rng.random((n, d)) < rng.random(d)).astype(int)
    X[0], X[1] = 0, 1
    return X


class RBMSigns(RBM):
    """scikit-learn's checks fit real numbers; the checks run on their signs."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(signs(X), sample_weight=sample_weight)

    def partial_fit(self, X, y=None):
        return super().partial_fit(signs(X))

    def transform(self, X):
        return super().transform(signs(X))

    def score_samples(self, X):
        return super().score_samples(signs(X))

    def score(self, X, y=None, sample_weight=None):
        return super().score(signs(X), sample_weight=sample_weight)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
@parametrize_with_checks(
    [RBMSigns(**QUICK)],
    expected_failed_checks=lambda _: {
        "check_dtype_object": "a cell that is no number is refused by a DataError that names it, not a TypeError",
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_attributes_and_answers(rng):
    X = pd.DataFrame(table(rng, 300, 6), columns=list("abcdef"))
    est = RBM(**QUICK).fit(X)
    assert est.components_.shape == (3, 6)
    assert (est.intercept_visible_.shape, est.intercept_hidden_.shape) == ((6,), (3,))
    np.testing.assert_array_equal(
        est.theta_, est.model_.join(est.components_, est.intercept_visible_, est.intercept_hidden_)
    )
    np.testing.assert_array_equal(est.transform(X), est.model_.hidden_probabilities(est.theta_, X.to_numpy()))
    assert list(est.get_feature_names_out()) == ["rbm0", "rbm1", "rbm2"]
    assert logsumexp(est.score_samples(all_states(6))) == pytest.approx(0)
    assert est.score(X) == pytest.approx(est.score_samples(X).mean())
    assert (est.log_z_, est.log_z_error_) == (est.model_.exact(est.theta_).log_z, 0)
    np.testing.assert_array_equal(RBM(**QUICK).fit(X).theta_, est.theta_)


def test_a_poor_normaliser_is_warned_of(rng, monkeypatch):
    """Few effective chains were dropped without a word, and every score with them."""
    est = RBM(n_hidden=20, n_steps=5, random_state=0).fit(rng.integers(0, 2, (40, 18)))
    poor = Annealed(-3.0, 0.9, 2.5, np.zeros(100), "only 2.5 of 100 chains count")
    monkeypatch.setattr(annealed, "forward", lambda *_, **__: poor)
    with pytest.warns(ConvergenceWarning, match="log_z_ is not known well: .* has 2.5 effective chains of 100"):
        assert est.log_z_ == -3.0
    est = RBM(n_hidden=20, n_steps=5, random_state=0).fit(rng.integers(0, 2, (40, 18)))
    monkeypatch.setattr(annealed, "forward", lambda *_, **__: replace(poor, status=""))
    assert est.log_z_ == -3.0  # and no warning, which would be an error


def two_camps(rng, n=1000, d=30):
    """Rows near all ones, seven of ten, or near all zeros."""
    return ((rng.random((n, 1)) < 0.7) ^ (rng.random((n, d)) < 0.03)).astype(int)


def test_a_fit_that_lost_a_mode_is_warned_of(rng):
    """Machines with a log likelihood below that of independent columns came without a word."""
    X = two_camps(rng)
    remedy = "use prior_scale=0.3 and n_chains=1000, and compare score"
    with pytest.warns(ConvergenceWarning, match=rf"has not converged: the means of \d+ of 30 columns .*; {remedy}"):
        lost = RBM(n_hidden=3, random_state=0).fit(X)
    p = X.mean(axis=0)
    found = RBM(n_hidden=3, prior_scale=0.3, n_chains=1000, random_state=0).fit(X)  # a warning would be an error here
    assert found.score(X) > max((p * np.log(p) + (1 - p) * np.log(1 - p)).sum(), lost.score(X)) + 8
    held = RBM(n_hidden=1, n_steps=20_000, prior_scale=0.01, learning_rate=0.01, random_state=0).fit(X[:200])
    assert np.abs(held.gibbs(X, 100).mean(axis=0) - p).min() > 0.1  # by the prior alone


def test_annealing_that_misses_a_mode_is_warned_of(rng, monkeypatch):
    """Chains were all in one mode: log Z was 16 nats too low, with a standard error of 0.02."""
    X = two_camps(rng, d=20)
    one_mode = Annealed(9.0, 0.02, 90.0, np.zeros(100), "", np.ones((100, 20), dtype=np.int8))
    monkeypatch.setattr(annealed, "forward", lambda *_, **__: one_mode)
    message = r"log_z_ misses a mode, or .*: the means of 20 of 20 columns .* n_hidden=16 at most"
    wide = {"n_hidden": 18, "n_steps": 5, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match=message):  # some only use transform
        RBM(**wide).fit(X)
    est = RBM(**wide).partial_fit(X)
    with pytest.warns(ConvergenceWarning, match=message):
        est.score(X)
    both = replace(one_mode, states=X[:100].astype(np.int8))
    monkeypatch.setattr(annealed, "forward", lambda *_, **__: both)
    RBM(n_hidden=18, n_steps=5, random_state=0).fit(X).score(X)


def test_saturated_units_are_warned_of(rng):
    """A large step left units that were on, or off, in all rows; machines and features had learnt nothing."""
    X = two_camps(rng)
    run = {"n_hidden": 3, "n_steps": 1000, "random_state": 0}
    with pytest.warns(
        ConvergenceWarning, match=r"^3 of 3 hidden units are on, or off, in all rows.*learning_rate=0.1 "
    ):
        large = RBM(learning_rate=100, **run).fit(X)
    assert np.ptp(large.transform(X), axis=0).max() < 1e-3
    assert np.ptp(RBM(learning_rate=0.1, **run).fit(X).transform(X), axis=0).min() > 0.9


def test_log_z_of_many_units_is_annealed(rng):
    X = table(rng, 200, 20)
    est = RBM(**QUICK | {"n_hidden": 17}).fit(X)
    truth = est.model_.exact(est.theta_).log_z
    assert est.log_z_error_ > 0
    assert_estimate(est.log_z_, truth, est.log_z_error_, bias=1e-4)
    before = est.log_z_
    assert est.log_z_ == before
    est.partial_fit(X)
    assert est.log_z_ != before


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (False, True)])
def test_gibbs_keeps_the_coding(low, high, rng):
    X = np.where(rng.random((50, 4)) < 0.5, low, high)
    est = RBM(**QUICK).fit(X)
    drawn = est.gibbs(X, random_state=1)
    assert drawn.dtype == X.dtype
    assert set(np.unique(drawn)) == {low, high}
    np.testing.assert_array_equal(drawn, est.gibbs(X, random_state=1))
    assert (drawn != est.gibbs(X, n_sweeps=2, random_state=1)).any()


def test_partial_fit_goes_on(rng):
    X = table(rng, 1000, 6)
    est = RBM(**QUICK)
    est.partial_fit(X[:100])
    first, values = est.score(X), []
    for _ in range(200):
        values.append(est.partial_fit(X).score(X))
    assert np.mean(values[-20:]) > first
    with pytest.raises(DataError, match="7 features"):
        est.partial_fit(np.zeros((3, 7)))


def test_counts_of_rows_stand_for_rows(rng):
    X = table(rng, 40, 5)
    counts = rng.integers(0, 4, 40) + (np.arange(40) < 2)
    weighted, repeated = RBM(**QUICK).fit(X, sample_weight=counts), RBM(**QUICK).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_array_equal(weighted.theta_, repeated.theta_)
    assert weighted.score(X, sample_weight=counts) == pytest.approx(weighted.score(np.repeat(X, counts, axis=0)))
    for call in (RBM(**QUICK).fit, weighted.score):
        with pytest.raises(DataError, match=r"sample_weight must have shape"):
            call(X, sample_weight=[1, 2])


@pytest.mark.parametrize("name", ["transform", "score_samples", "score", "gibbs"])
def test_a_machine_must_be_fitted(name):
    with pytest.raises(NotFittedError, match="This RBM instance is not fitted yet"):
        getattr(RBM(), name)(np.eye(4))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_hidden": 4}, "n_hidden must be that of the machine that is fitted, 3, got 4; fit again"),
        ({"n_chains": 7}, "n_chains must be that of the machine that is fitted, .*, got 7; fit again"),
        ({"learning_rate": -1.0}, "learning_rate must be .*, got -1"),
    ],
)
def test_options_that_are_changed_between_partial_fits(changed, message, rng):
    """They were ignored, or used without a check."""
    X = table(rng, 40, 5)
    est = RBM(**QUICK).fit(X).set_params(**changed)
    with pytest.raises(OptionError, match=message):
        est.partial_fit(X)


def test_prior_makes_it_climb_the_posterior(rng):
    """In 50 runs chains came within 0.01 nats of the mode; the likelihood's own was 64 nats below it at least."""
    X, model = table(rng, 60, 5), RestrictedBoltzmann(5, 3)
    X[:30, 1:] = X[:30, :1]  # something to learn, which the prior holds back

    def above(theta):
        value, slope = machine_likelihood(model, theta, X)
        return theta @ theta / (2 * 0.3**2) - value, theta / 0.3**2 - slope

    quick = QUICK | {"n_steps": 3000, "n_hidden": 3}
    posterior, likelihood = RBM(**quick, prior_scale=0.3).fit(X), RBM(**quick).fit(X)
    best = minimize(above, posterior.theta_, jac=True, method="L-BFGS-B").fun
    assert above(posterior.theta_)[0] - best < 3
    assert above(likelihood.theta_)[0] - best > 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_hidden": 0}, "n_hidden must be .*, got 0"),
        ({"n_steps": 0}, "n_steps must be .*, got 0"),
        ({"batch_size": 0}, "batch_size must be .*, got 0"),
        ({"n_chains": 1.5}, "n_chains must be .*, got 1.5"),
        ({"prior_scale": 0}, "prior_scale must be .*, got 0"),
        ({"learning_rate": 0}, "learning_rate must be .*, got 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(OptionError, match=message):
        RBM(**options).fit(np.eye(4))
    if "n_steps" not in options:
        with pytest.raises(OptionError, match=message):
            RBM(**options).partial_fit(np.eye(4))


def test_bad_input(rng):
    with pytest.raises(DataError, match="must be binary"):
        RBM().fit(np.array([[0, 2], [1, 1]]))
    with pytest.raises(DivergenceError, match="learning_rate must be smaller than"):
        RBM(learning_rate=1e38, n_steps=100).fit(np.eye(4))
    model = RestrictedBoltzmann(30, 25)
    with pytest.raises(TooWideError, match=r"30 visible and 25 hidden units is a sum of 2\^25 terms.*annealed"):
        model.exact(np.zeros(model.n_features))
    with pytest.raises(OptionError, match=r"theta must have shape \(805,\), .* got \(3,\)"):
        model.split(np.zeros(3))
    with pytest.raises(OptionError, match=r"n_visible must be .*, got 0"):
        RestrictedBoltzmann(0, 2)
    with pytest.raises(DataError, match=r"states must have shape \(n_samples, 30\) .* got \(2, 3\)"):
        model.free_energy(np.zeros(model.n_features), np.zeros((2, 3)))
