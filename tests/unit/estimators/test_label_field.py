"""Labels on points: the curve's gradient, the posterior of log sigma against the grid, predictions, bad input."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf.engines import Elimination, Persistent, SwendsenWang
from bayesmrf.errors import DataError, OptionError, PriorWarning
from bayesmrf.likelihood import Hidden, Likelihood
from bayesmrf.methods import Exchange, Langevin, Metropolis
from bayesmrf.models.clamped import Clamped
from bayesmrf.models.label_field import LabelField
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.priors import Normal
from bayesmrf.published.exchange import ExchangeKernel
from bayesmrf.runs import run
from tests.helpers.flat import label_field
from tests.long import few
from tests.oracle import states as oracle
from tests.oracle.bounds import assert_mean, assert_other_mean

LABELS = np.array([0, 0, -1, -1, -1, 1, 1], dtype=np.int8)


@pytest.fixture
def points(rng):
    """Two groups apart in x, hidden points between and above."""
    place = [[-1.5, 0], [-1, 0.5], [-0.5, 0], [0.3, 0.2], [-1, 2], [1, 0.5], [1.5, 0]]
    return np.array(place) + 0.1 * rng.normal(size=(7, 2))


def log_seen(points, theta, labels):
    """log p(seen labels | sigma) and P(label = 1) of each point, by the sum over all 2^7 labellings; theta (..., 2)."""
    u, v = np.triu_indices(len(points), 1)
    w = np.exp(-0.5 * (np.exp(-2 * theta) @ ((points[u] - points[v]) ** 2).T))
    s = oracle.all_states(len(points))
    energy = w @ (s[:, u] == s[:, v]).T
    fits = ((s == labels) | (labels < 0)).all(axis=1)
    seen = np.logaddexp.reduce(energy[..., fits], axis=-1)
    return seen - np.logaddexp.reduce(energy, axis=-1), np.exp(energy[..., fits] - seen[..., None]) @ s[fits]


def grid_posterior(points, labels, scale=1.0, n=41):
    axis = np.linspace(-4.5, 4.5, n)
    theta = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    log_p, labelled = log_seen(points, theta, labels)
    log_p = log_p - 0.5 * ((theta / scale) ** 2).sum(axis=1)
    w = np.exp(log_p - log_p.max())
    w /= w.sum()
    return np.concatenate([w @ theta, w @ theta**2]), w @ labelled


def likelihood(points, engine, positive):
    field = LabelField(points, ("x", "y"))
    hidden = Hidden(Clamped(field.base, LABELS[None]), positive)
    return Likelihood(field.base, np.zeros(field.base.n_features), 1, engine, hidden, field)


def draws_of(kernel, rng, n_draws=90):
    draws = run.sample(kernel, n_draws=n_draws, n_warmup=30, n_chains=48, random_state=rng, progress=False)
    theta = draws.values["theta"]
    return np.concatenate([theta, theta**2], axis=2)


def test_likelihood_and_gradient(points, rng):
    lik = likelihood(points, Elimination(), Elimination())
    theta = rng.normal(size=2)
    assert lik.evaluate(theta).log_likelihood == pytest.approx(log_seen(points, theta, LABELS)[0])
    numeric = [(log_seen(points, theta + e, LABELS)[0] - log_seen(points, theta - e, LABELS)[0]) / 2e-5
               for e in 1e-5 * np.eye(2)]  # fmt: skip
    np.testing.assert_allclose(lik.score(theta), numeric, atol=1e-6)


CASES = {
    "metropolis": lambda lik: MetropolisKernel(
        lik(Elimination(), Elimination()), Normal(), np.zeros(2), Metropolis(1.2)
    ),
    "adjusted Langevin": lambda lik: LangevinKernel(
        lik(Elimination(), Elimination()), Normal(), np.zeros(2), Langevin(1.2, adjusted=True)
    ),
    "exchange": lambda lik: ExchangeKernel(lik(Elimination(), Elimination()), Normal(), np.zeros(2), Exchange(1.2)),
    "exchange, chains of labels": lambda lik: ExchangeKernel(
        lik(Elimination(), Persistent(1, 1, "swendsen-wang")), Normal(), np.zeros(2), Exchange(1.2)
    ),
    "exchange, 20 sweeps": lambda lik: ExchangeKernel(
        lik(SwendsenWang(20), Persistent(1, 1, "swendsen-wang")), Normal(), np.zeros(2), Exchange(1.2)
    ),
}


@pytest.mark.parametrize("name", few(CASES, "exchange, 20 sweeps"))
def test_posterior_of_the_scales_is_the_grid_posterior(name, points, rng):
    exact = grid_posterior(points, LABELS)[0]
    assert_mean(draws_of(CASES[name](lambda *engines: likelihood(points, *engines)), rng), exact)


def test_the_test_notices_other_labels(points, rng):
    """Two neighbours with unlike labels speak for short scales."""
    other = LABELS.copy()
    other[[1, 5]] = 1, 0
    exact = grid_posterior(points, other)[0]
    kernel = CASES["metropolis"](lambda *engines: likelihood(points, *engines))
    assert_other_mean(draws_of(kernel, rng, n_draws=200), exact)


QUICK = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "progress": False, "random_state": 0}


@pytest.mark.parametrize(
    ("kernel", "engine"),
    [
        ("exchange", "swendsen-wang"),
        ("exchange", "exact"),
        ("langevin", "brief"),
        ("langevin", "persistent"),
        ("langevin", "exact"),
        ("langevin", "bethe"),
        ("metropolis", "exact"),
        ("metropolis", "mean-field"),
        ("metropolis", "tree"),
        ("metropolis", "bethe"),
    ],
)
def test_every_legal_pair(kernel, engine, points):
    est = label_field(kernel=kernel, engine=engine, **QUICK).fit(points, LABELS)
    assert est.posterior_["posterior"]["theta"].sizes == {"chain": 2, "draw": 20, "feature": 2}
    assert list(est.posterior_["posterior"]["feature"].values) == ["log_sigma_x", "log_sigma_y"]
    np.testing.assert_allclose(est.label_distributions_.sum(axis=1), 1)
    assert (est.transduction_[LABELS >= 0] == LABELS[LABELS >= 0]).all()
    expected = "exact" if (kernel, engine) in {("exchange", "exact"), ("metropolis", "exact")} else "approximate"
    assert est.posterior_.attrs["kind"].startswith(expected)
    table = est.interval(0.5)
    assert list(table.index) == ["sigma_x", "sigma_y"]
    assert (table["lower"] <= table["upper"]).all()


def test_predictions_average_over_the_posterior(points):
    est = label_field(kernel="metropolis", engine="exact", step_size=1.2, **QUICK | {"n_draws": 2000})
    found = est.fit(points, LABELS).label_distributions_[:, 1]
    expected = grid_posterior(points, LABELS)[1]
    assert np.abs(found - expected).max() < 0.05  # 7 standard errors: sd over sigma below 0.15, 500 effective draws
    best = log_seen(points, est.theta_, LABELS)[1]  # the mean scales alone predict otherwise somewhere
    assert np.abs(best - expected).max() > 0.005


def test_labels_of_any_numbers_and_names(points):
    frame = pd.DataFrame(points, columns=["east", "north"])
    y = np.where(LABELS < 0, -1, np.where(LABELS == 1, 7, 3))
    est = label_field(**QUICK).fit(frame, y)
    assert list(est.classes_) == [3, 7]
    assert set(est.transduction_) <= {3, 7}
    assert list(est.posterior_["posterior"]["feature"].values) == ["log_sigma_east", "log_sigma_north"]


def test_masked_labels_are_hidden_and_masked_places_refused(points):
    y = np.ma.masked_array(np.where(LABELS < 0, 1, LABELS), LABELS < 0)
    est, plain = (label_field(**QUICK).fit(points, labels) for labels in (y, LABELS))
    np.testing.assert_array_equal(est.theta_, plain.theta_)
    with pytest.raises(DataError, match="X: Input contains NaN"):
        label_field(**QUICK).fit(np.ma.masked_array(points, points > 1), LABELS)
    with pytest.raises(DataError, match="X: two coordinates have the same name"):
        label_field(**QUICK).fit(pd.DataFrame(points, columns=["a", "a"]), LABELS)


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (1e3, r"of 'y' is determined by the prior, .*from 0.05 to 20, .* divide it by its standard"),
        (1e-3, "of 'y' is .* divide it by its standard deviation"),
        (0, "of 'y' is .* the standard deviation 0; drop it"),
    ],
)
def test_coordinates_beyond_the_prior_are_named(factor, message, points):
    """Labels of points a thousand times as far apart had a probability of a half, without a word."""
    with pytest.warns(PriorWarning, match=message):
        label_field(engine="exact", **QUICK).fit(points * [1, factor], LABELS)
    for prior, width in ((Normal(3.0), 1e3), (Normal(1e-3), 1.0)):  # wide, and one that is meant to be tight
        label_field(engine="exact", prior=prior, **QUICK).fit(points * [1, width], LABELS)


@pytest.mark.parametrize("engine", ["swendsen-wang", "exact"])
def test_all_labels_seen(points, engine):
    y = np.maximum(LABELS, 0)
    est = label_field(engine=engine, **QUICK).fit(points, y)
    assert (est.transduction_ == y).all()


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (
            [[0.0, 1], [np.nan, 0]],
            [0, 1],
            DataError,
            "X: Input contains NaN, the first in row 1, column 'x'; give coord",
        ),
        ([[0.0, np.inf], [1, 0]], [0, 1], DataError, "X: Input contains infinity, the first in row 0, column 'y'"),
        (
            [0.0] * 50,
            [0, 1] * 25,
            DataError,
            r"X must be a table \(n_points, n_coordinates\), got .*; Reshape your data",
        ),
        (np.full((50, 2), 1j), [0, 1] * 25, DataError, "^X: Complex data not supported.{1,175}$"),
        ([[0.0, 1], [1, 0]], [0, 1e30], DataError, "y must be an array of integers, .*, got .*float64"),
        ([[0.0, 1], [1, 0]], [0, np.inf], DataError, "y must be an array of integers, .*, got .*float64"),
        ([[0.0, 1], [1, 0]], [0, -1], DataError, r"y must be labels of two classes, .*, got .*1 class\(es\) \(0\)"),
        ([[0.0, 1], [1, 0]], [1, -1], DataError, r"y must be .*\(-1 is a hidden label, not a class\), got .*1 class"),
        ([[0.0, 1], [1, 0]], [0.5, 1.0], DataError, "y must be an array of integers, .*, got .*float64"),
        ([[0.0, 1], [1, 0]], [0], DataError, r"y must be an array of shape \(2,\), .*, got .*shape \(1,\)"),
        (
            pd.DataFrame({"x": [0.0, 0.5, 1], "point_id": [7, 3, 9]}),
            [0, 1, 1],
            DataError,
            "X must contain coordinates only, and column 'point_id' looks like an identifier; drop it, or give",
        ),
        (
            pd.DataFrame([[0.0, 1], [1, 0]]),
            pd.Series([1, 0], index=[1, 0]),
            DataError,
            r"y must have the index of X, in the same order, got another one; give y.reindex\(X.index\)",
        ),
    ],
)
def test_bad_data(X, y, error, message):
    with pytest.raises(error, match=message):
        label_field(**QUICK).fit(X, y)


@pytest.mark.parametrize("columns", [["id"], ["row", "column"], ["x", "grid_id"]])
def test_coordinates_that_are_named_like_identifiers(columns, points):
    label_field(**QUICK).fit(pd.DataFrame(points[:, : len(columns)] // 0.4, columns=columns), LABELS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "magic"}, "kernel must be .*, got 'magic'"),
        ({"engine": "magic"}, "engine must be .*, got 'magic'"),
        ({"kernel": "exchange", "engine": "bethe"}, "got 'bethe'; 'exchange' needs sample"),
        ({"kernel": "langevin", "engine": "swendsen-wang"}, "'langevin' needs moments"),
    ],
)
def test_bad_options(options, message, points):
    with pytest.raises(OptionError, match=message):
        label_field(**QUICK | options).fit(points, LABELS)
