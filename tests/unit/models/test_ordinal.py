"""The ordinal model against an enumeration from its definition; its estimators, and tables of ordered levels."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, MaximumLikelihoodMRF, SpikeSlabMRF, families, graphs
from bayesmrf.data.states import check_states, decode
from bayesmrf.engines import Elimination, Enumeration, Gibbs, Persistent, Tempered
from bayesmrf.errors import DataError, FieldsWarning, LevelsWarning, OptionError
from bayesmrf.estimators import starts
from bayesmrf.inference import annealed
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Boltzmann, Ordinal
from bayesmrf.models.bases import WithPairs
from bayesmrf.models.categorical import log_potential
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.posterior.conditionals.polya_gamma import draw_polya_gamma
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.priors import LogisticBeta, Normal, SpikeSlab
from bayesmrf.runs import run
from tests.long import LONG
from tests.oracle.bounds import assert_estimate, assert_mean, assert_other_estimate, assert_other_mean
from tests.oracle.ranks import few_draws, p_value, rank

SIZES = (2, 4, 3)
MODEL = Ordinal(graphs.Graph(3, np.array([[0, 1], [2, 1], [0, 2]]), ("a", "b", "c")), 4, True, SIZES)
STATES = np.array(list(np.ndindex(SIZES)), np.int8)
FEATURES = np.array([[a * b, c * b, a * c, a == 1, *(b == k for k in (1, 2, 3)), c == 1, c == 2] for a, b, c in STATES])
QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "progress": False, "random_state": 1}


def features(x):
    """Of each row of x."""
    return FEATURES[np.ravel_multi_index(x.T, SIZES)].astype(float)


def law(theta):
    energy = FEATURES @ theta
    log_z = np.logaddexp.reduce(energy)
    return log_z, np.exp(energy - log_z)


def test_statistics_and_potential_are_the_definition(rng):
    theta, weights = rng.normal(size=9), rng.integers(0, 5, len(STATES))
    assert MODEL.feature_names == ["a-b", "c-b", "a-c", "a=1", "b=1", "b=2", "b=3", "c=1", "c=2"]
    np.testing.assert_allclose(MODEL.statistics(STATES, weights), weights @ FEATURES / weights.sum())
    np.testing.assert_allclose(log_potential(MODEL.categorical(theta), STATES), FEATURES @ theta)
    np.testing.assert_array_equal(MODEL.feature_high, FEATURES.max(axis=0))


@pytest.mark.parametrize("engine", [Enumeration(), Elimination()], ids=lambda e: e.name)
def test_log_z_and_moments_are_the_enumerated_ones(engine, rng):
    for scale in (0.3, 3.0):
        theta = rng.normal(0, scale, 9)
        (log_z, p), found = law(theta), engine.infer(MODEL, theta, engine.prepare(MODEL))
        assert found.log_z == pytest.approx(log_z, rel=1e-12)
        np.testing.assert_allclose(found.moments, p @ FEATURES, atol=1e-12)
        joint = [[p @ ((STATES[:, u] == k) & (STATES[:, v] == j)) for k in range(4) for j in range(4)]
                 for u, v in MODEL.graph.edges]  # fmt: skip
        own = [p @ (STATES[:, i] == k) for i in range(3) for k in range(4)]
        pairs = engine.infer(WithPairs(MODEL), theta, engine.prepare(MODEL)).moments
        np.testing.assert_allclose(pairs, [*np.ravel(joint), *own], atol=1e-12)


@pytest.mark.parametrize("engine", [Elimination(), Gibbs(), Tempered()], ids=lambda e: e.name)
def test_samples_have_the_moments_and_no_category_that_a_node_lacks(engine, rng):
    theta = rng.normal(0, 0.4, 9)
    x = engine.sample(MODEL, theta, engine.prepare(MODEL), 10_000, rng)
    assert (x < np.array(SIZES)).all()
    assert_mean(features(x)[:, None], law(theta)[1] @ FEATURES)
    assert_other_mean(features(x)[:, None], law(theta + 0.2)[1] @ FEATURES)


def test_annealing_starts_in_no_category_that_a_node_lacks(rng):
    theta = rng.normal(0, 0.4, 9)
    found = annealed.forward(MODEL, theta, rng, 256, 200)
    assert (found.states < np.array(SIZES)).all()
    assert_estimate(found.log_z, law(theta)[0], found.standard_error, bias=1e-6)
    assert_other_estimate(found.log_z, law(theta + 0.2)[0], found.standard_error)


def test_two_categories_are_the_boltzmann_machine(rng):
    graph = graphs.complete(4)
    one, two, theta = Ordinal(graph, 2), Boltzmann(graph), rng.normal(size=10)
    a, b = (Elimination().infer(m, theta, Elimination().prepare(m)) for m in (one, two))
    assert a.log_z == pytest.approx(b.log_z, rel=1e-12)
    np.testing.assert_allclose(a.moments, b.moments, atol=1e-12)


def test_two_categories_have_the_draws_of_the_boltzmann_machine(rng):
    X = rng.integers(0, 2, (60, 3))
    X[:40, 1] = X[:40, 0]
    one, two = (SpikeSlabMRF(model=name, method="exact", **QUICK).fit(X) for name in ("ordinal", "boltzmann"))
    np.testing.assert_allclose(one.posterior_["posterior"]["theta"], two.posterior_["posterior"]["theta"], atol=1e-8)
    np.testing.assert_allclose(one.score_samples(X), two.score_samples(X), atol=1e-8)
    np.testing.assert_allclose(one.predict_conditional(X, [1]), two.predict_conditional(X, [1]), atol=1e-8)


# Estimators


def test_maximum_likelihood_has_the_moments_of_the_data(rng):
    X = STATES[rng.integers(0, len(STATES), 500)]
    est = MaximumLikelihoodMRF(graph=MODEL.graph, model="ordinal").fit(pd.DataFrame(X, columns=list("abc")))
    np.testing.assert_allclose(law(est.theta_)[1] @ FEATURES, features(X).mean(axis=0), atol=1e-4)


def test_nodes_of_the_network_have_their_thresholds(rng):
    X = STATES[rng.integers(0, len(STATES), 100)]
    est = MaximumLikelihoodMRF(model="ordinal").fit(X)
    biases = dict(est.graph_.nodes(data="bias"))
    assert np.ndim(biases["0"]) == 0
    assert [len(biases[name]) for name in "12"] == [3, 2]
    np.testing.assert_array_equal(np.hstack(list(biases.values())), est.theta_[3:])


@pytest.mark.parametrize("tied", [False, True])
def test_wide_tables_start_at_the_mode(rng, monkeypatch, tied):
    """By chains; the curvature there is that of the model."""
    X = STATES[rng.integers(0, len(STATES), 500)]
    X = X[(X[:, 0] == 0) | (X[:, 1] < 2)]
    monkeypatch.setattr(starts, "is_cheap", lambda *_: False)
    curve = LinearMap.tied(np.array([0, 0, 0, *range(1, 7)]), list("abcdefg")) if tied else None
    s_bar, zeros = MODEL.statistics(X), np.zeros(7 if tied else 9)
    found, exact = (Likelihood(MODEL, s_bar, len(X), e, None, curve) for e in (Persistent(), Elimination()))
    start = starts.find_start(found, Normal(1.0), check_states(X, n_states="keep"))
    mode = starts.find_mode(exact, Normal(1.0), zeros)
    natural = mode if curve is None else curve.natural(mode)
    p = law(natural)[1]
    covariance = np.cov(FEATURES.T.astype(float), aweights=p, ddof=0)
    if curve is not None:
        covariance = curve.matrix.T @ covariance @ curve.matrix
    sd = np.sqrt(np.diag(np.linalg.inv(len(X) * covariance + np.eye(len(mode)))))
    assert (np.abs(start.theta - mode) < 0.6 * sd).all()
    np.testing.assert_allclose(start.curvature, len(X) * covariance + np.eye(len(mode)), rtol=0.2, atol=8)


def test_few_chains_start_at_rows_of_the_whole_table(rng, monkeypatch):
    """Rows with weights start the same chains as repeated rows."""
    rows, weights = STATES, rng.integers(1, 40, len(STATES)).astype(float)
    monkeypatch.setattr(starts, "is_cheap", lambda *_: False)
    monkeypatch.setattr(starts, "_DENSE", 0)
    monkeypatch.setattr(starts, "_FEW_STATES", 64)
    monkeypatch.setattr(starts, "sweep", lambda *_: None)
    s_bar, diagonal = MODEL.statistics(rows, weights), []
    likelihood = Likelihood(MODEL, s_bar, weights.sum(), Persistent())
    for data in ((rows, weights), (np.repeat(rows, weights.astype(int), axis=0), None)):
        start = starts.find_start(likelihood, Normal(1.0), check_states(*data, n_states="keep"))
        diagonal.append(np.diag(start.curvature @ np.eye(MODEL.n_features)))
    np.testing.assert_allclose(*diagonal)
    features = FEATURES.astype(float)
    variance = np.average((features - s_bar) ** 2, axis=0, weights=weights)
    np.testing.assert_allclose(diagonal[0], weights.sum() * variance + 1, rtol=0.15)


def on_grid(X, states, features, axis):
    """Parameters on a grid, and their posterior probabilities with standard normal priors."""
    f, counts = np.array(features, float), np.array([(s == X).all(axis=1).sum() for s in states])
    theta = np.stack([g.ravel() for g in np.meshgrid(*[axis] * f.shape[1], indexing="ij")], axis=1)
    energy = theta @ f.T
    log_p = energy @ counts - counts.sum() * np.logaddexp.reduce(energy, axis=1) - (theta**2).sum(axis=1) / 2
    return theta, np.exp(log_p - np.logaddexp.reduce(log_p))


@pytest.mark.parametrize("kernel", ["gibbs", "hamiltonian"])
def test_posterior_of_a_pair_is_that_by_quadrature(kernel, rng):
    """Of two nodes with three and two categories: mean and square of four parameters, on a grid."""
    X = np.array([[0, 0]] * 9 + [[1, 0]] * 6 + [[1, 1]] * 4 + [[2, 1]] * 8 + [[2, 0]] * 3)
    states = np.array(list(np.ndindex(3, 2)))
    theta, p = on_grid(X, states, [[a * b, a == 1, a == 2, b] for a, b in states], np.linspace(-4.5, 4.5, 31))
    options = {"n_draws": 150, "n_warmup": 150, "n_chains": 16, "progress": False, "random_state": rng}
    est = BayesianMRF(model="ordinal", kernel=kernel, **options).fit(X)
    draws = est.posterior_["posterior"]["theta"].values
    values, exact = np.concatenate([draws, draws**2], axis=2), p @ np.concatenate([theta, theta**2], axis=1)
    assert_mean(values, exact)
    assert_other_mean(values, p @ np.concatenate([2 * theta, 4 * theta**2], axis=1))  # another coding of the weights


def test_edges_under_a_logistic_beta_prior_of_thresholds(rng):
    """P(edge) and the mean of theta of two nodes with three and two categories, on a grid."""
    X = np.array([[0, 0]] * 9 + [[1, 0]] * 6 + [[1, 1]] * 4 + [[2, 1]] * 8 + [[2, 0]] * 3)
    states, biases = np.array(list(np.ndindex(3, 2))), LogisticBeta(0.5, 1.5)
    f = np.array([[a * b, a == 1, a == 2, b] for a, b in states], float)
    counts = np.array([(s == X).all(axis=1).sum() for s in states])
    axis = np.linspace(-6, 6, 31)

    def weigh(theta):
        energy, own = theta @ f.T, theta[:, 1:]
        log_prior = (0.5 * own - 2.0 * np.logaddexp(0, own)).sum(axis=1)  # up to a constant
        return energy @ counts - counts.sum() * np.logaddexp.reduce(energy, axis=1) + log_prior

    own = np.stack([g.ravel() for g in np.meshgrid(*[axis] * 3, indexing="ij")], axis=1)
    without = np.exp(weigh(np.insert(own, 0, 0.0, axis=1)) + 20)
    theta = np.concatenate([np.insert(own, 0, w, axis=1) for w in axis])
    slab = np.exp(-0.5 * theta[:, 0] ** 2) / np.sqrt(2 * np.pi) * (axis[1] - axis[0])
    present = np.exp(weigh(theta) + 20) * slab
    total = without.sum() + present.sum()
    exact = np.append(present.sum(), present @ theta + np.append(0, without @ own)) / total
    for method in ("exact", "reversible-jump"):
        prior = SpikeSlab(0.5, Normal(1.0), biases=biases)
        est = SpikeSlabMRF(model="ordinal", method=method, prior=prior, progress=False)
        kernel = est._prepare(X)[2]
        values = run.sample(kernel, n_draws=100, n_warmup=30, n_chains=24, random_state=rng, progress=False).values
        draws = np.concatenate([values["included"], values["theta"]], axis=2)
        assert_mean(draws, exact)
        assert_other_mean(draws, exact + np.array([0.1, 0, 0, 0, 0.3]))
    with pytest.raises(
        OptionError, match="'exact' for a logistic-beta prior of the biases with model='boltzmann', got"
    ):
        SpikeSlabMRF(prior=prior, method="reversible-jump", **QUICK).fit(X > 0)


def test_polya_gamma_has_its_mean_and_variance(rng):
    for shape, tilt in ((1.0, 0.0), (0.7, 0.4), (2.5, -6.0)):
        t = max(abs(tilt), 1e-4)
        x = np.array([draw_polya_gamma.py_func(rng, shape, tilt) for _ in range(4000)])
        mean, variance = np.tanh(t / 2) / (2 * t), (np.sinh(t) - t) / (4 * t**3 * np.cosh(t / 2) ** 2)
        variance = 1 / 24 if tilt == 0 else variance
        assert_mean(np.stack([x, (x - shape * mean) ** 2], axis=1)[:, None], [shape * mean, shape * variance])
        assert_other_mean(x[:, None], shape * mean * 1.2)


# Tables


def test_each_column_has_its_own_levels():
    X = pd.DataFrame({"a": [1, 5, 3, 2, 4], "b": [0, 1, 0, 1, 1], "c": [-2, 0, -1, 0, -2]})
    states = check_states(X, n_states="keep")
    assert states.sizes == (5, 2, 3)
    np.testing.assert_array_equal(states.values, [[0, 0, 0], [4, 1, 2], [2, 0, 1], [1, 1, 2], [3, 1, 0]])
    np.testing.assert_array_equal(decode(states.values, states.coding), X)
    mood = pd.Categorical(["low", "high", "low", "mid", "high"], ["low", "mid", "high"], ordered=True)
    states = check_states(X.assign(c=mood), n_states="keep")
    assert states.coding.columns[2] == ("low", "mid", "high")
    assert decode(states.values, states.coding)[1].tolist() == [5, 1, "high"]


@pytest.mark.parametrize("categories", [["1", "10", "2"], [0, 2, 1]])
def test_ordered_categories_that_are_numbers_in_another_order(categories):
    """As texts are sorted, or in the order in which they occur; an order that falls is meant."""
    X = pd.DataFrame({"a": categories}).apply(lambda c: pd.Categorical(c, categories, ordered=True))
    with pytest.warns(LevelsWarning, match=r"categories of column 'a' are numbers, but not in their order \("):
        assert check_states(X, n_states="keep").values[:, 0].tolist() == [0, 1, 2]
    down = sorted(categories, key=float, reverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_states(X.apply(lambda c: c.cat.reorder_categories(down)), n_states="keep")


def test_levels_that_never_occur_are_kept_with_a_warning_or_merged():
    X = np.array([[1, 0], [2, 1], [4, 1]])
    with pytest.warns(LevelsWarning, match=r"1 level\(s\) of column '0' never occur \(3\)"):
        assert check_states(X, n_states="keep").sizes == (4, 2)
    states = check_states(X, n_states="merge")
    assert states.coding.columns == ((1, 2, 4), (0, 1))
    assert states.values[:, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("categories", [False, True])
def test_a_level_in_rows_of_weight_0_never_occurs(categories):
    X, weights = pd.DataFrame({"a": [0, 1, 2, 3, 1], "b": [0, 1, 0, 1, 0]}), [2, 1, 1, 0, 3]
    if categories:
        X["a"] = pd.Categorical(X["a"], ordered=True)
    with pytest.warns(LevelsWarning, match=r"1 level\(s\) of column 'a' never occur \(3\)"):
        assert check_states(X, weights, n_states="keep").sizes == (4, 2)
    states = check_states(X, weights, n_states="merge")
    assert states.sizes == (3, 2)
    assert states.values[[0, 1, 2, 4], 0].tolist() == [0, 1, 2, 1]
    with pytest.warns(LevelsWarning, match=r"1 level\(s\) of X are in rows of weight 0 only \(3\)"):
        assert check_states(X.astype(int), weights, n_states="auto").n_states == 4


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([3, 3, 3, 3], "column 'x' must have at least two levels, got 1"),
        ([None, np.nan, np.nan, np.nan], "'x' must have at least two levels, but all its values are missing; drop it"),
        (["low", "mid", "low", "high"], "'x' must contain numbers, got 'high', and texts have no order"),
        (pd.Categorical(["low", "mid", "low", "high"]), "'x' must have ordered categories; order them"),
        ([1, 2, 3, np.inf], "'x' must contain finite levels"),
        ([1, np.nan, 2, 3], "must not have missing values"),
    ],
)
def test_columns_without_order(column, message):
    with pytest.raises(DataError, match=message):
        check_states(pd.DataFrame({"x": column, "y": [0, 1, 0, 1]}), n_states="keep")


def test_too_many_levels():
    with pytest.raises(DataError, match="'x' must have at most 12 ordered levels, got 30"):
        check_states(pd.DataFrame({"x": np.arange(30)}), n_states="keep")


def test_models_that_are_none():
    with pytest.raises(OptionError, match="one for each node"):
        Ordinal(graphs.path(3), 4, True, (2, 2))
    with pytest.raises(OptionError, match="at most n_states = 3 categories"):
        Ordinal(graphs.path(2), 3, True, (2, 4))
    with pytest.raises(OptionError, match="unused must be"):
        families.Ordinal(unused="drop")


def test_columns_are_balanced_by_their_own_levels(rng):
    X = np.column_stack([rng.permutation(np.tile([0, 1], 100)), rng.permutation(np.tile(range(5), 40))])
    MaximumLikelihoodMRF(model="ordinal", fields=False).fit(X)  # without a warning
    X[:, 0] = np.arange(200) < 20
    with pytest.warns(FieldsWarning, match=r"in 1 of 2 columns some answers dominate \('0'\)"):
        MaximumLikelihoodMRF(model="ordinal", fields=False).fit(X)


# Neutral categories

NEUTRAL = families.Ordinal(neutral={"0": 1})


@pytest.mark.parametrize("scores", [None, (0, 1, 3, 7)])
def test_a_line_and_a_parabola_around_a_neutral_category(scores, rng):
    model = Ordinal(MODEL.graph, 4, True, SIZES, (None, 3, 0.5), scores)
    assert model.feature_names[3:] == ["a=1", "b:linear", "b:quadratic", "c:linear", "c:quadratic"]
    a, b, c = np.array(scores or range(4))[STATES.T]
    f = np.stack([a * b, c * b, a * c, a, b, (b - 3) ** 2 - 9, c, (c - 0.5) ** 2 - 0.25], axis=1)
    theta, weights = rng.normal(size=8), rng.integers(0, 5, len(STATES))
    np.testing.assert_allclose(log_potential(model.categorical(theta), STATES), f @ theta)
    np.testing.assert_allclose(model.features(STATES), f)
    np.testing.assert_allclose(model.statistics(STATES, weights), weights @ f / weights.sum())
    np.testing.assert_array_equal([model.feature_low, model.feature_high], [f.min(axis=0), f.max(axis=0)])
    log_weight = f @ theta
    found = Elimination().infer(model, theta, Elimination().prepare(model))
    assert found.log_z == pytest.approx(np.logaddexp.reduce(log_weight), rel=1e-12)
    np.testing.assert_allclose(found.moments, np.exp(log_weight - found.log_z) @ f, atol=1e-12)


def test_posterior_with_a_neutral_category_is_that_by_quadrature(rng):
    """Of two nodes with four and two categories: mean and square of four parameters, on a grid."""
    X = np.array([[0, 0]] * 9 + [[1, 0]] * 6 + [[1, 1]] * 4 + [[2, 1]] * 8 + [[2, 0]] * 3 + [[3, 1]] * 5)
    states, axis = np.array(list(np.ndindex(4, 2))), np.linspace(-4, 4, 33)
    phi, p = on_grid(X, states, [[a * b, a, (a - 1) ** 2, b] for a, b in states], axis)
    est = BayesianMRF(model=NEUTRAL, n_draws=400, n_chains=16, progress=False, random_state=rng).fit(X)
    assert est.parameter_names_ == ["0-1", "0:linear", "0:quadratic", "1=1"]
    draws = est.posterior_["posterior"]["theta"].values
    values, exact = np.concatenate([draws, draws**2], axis=2), p @ np.concatenate([phi, phi**2], axis=1)
    assert_mean(values, exact)
    # Free thresholds of the same prior, and another neutral category, are other models.
    _, q = on_grid(X, states, [[a * b, a, (a - 2) ** 2, b] for a, b in states], axis)
    assert_other_mean(values, q @ np.concatenate([phi, phi**2], axis=1))


def test_maximum_likelihood_with_a_neutral_category_has_its_moments(rng):
    X = STATES[rng.integers(0, len(STATES), 500)]
    est = MaximumLikelihoodMRF(model=families.Ordinal(neutral={"1": 2})).fit(X)
    assert list(est.feature_names_[3:]) == ["0=1", "1:linear", "1:quadratic", "2=1", "2=2"]
    linear, quadratic = est.theta_[4:6]
    b = [linear * k + quadratic * ((k - 2) ** 2 - 4) for k in (1, 2, 3)]
    p = law(np.array([*est.theta_[[0, 2, 1, 3]], *b, *est.theta_[6:]]))[1]
    gap = features(X).mean(axis=0) - p @ FEATURES
    k = np.arange(1, 4)
    np.testing.assert_allclose([*gap[:4], gap[4:7] @ k, gap[4:7] @ ((k - 2) ** 2 - 4), *gap[7:]], 0, atol=1e-4)
    assert np.abs(gap[4:7]).max() > 1e-3  # that of a free threshold


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: BayesianMRF(model=m({"0": 1}), ties="all"), "'edges' or labels of edges with neutral .* got 'all'"),
        (
            lambda m: BayesianMRF(model=m({"9": 1})),
            r"neutral must be scores by the names of columns \('0', '1'\), got '9'; there is no column '9'",
        ),
        (lambda m: BayesianMRF(model=m({"0": 3})), "neutral must be a score from 0 to 2 for column '0', got 3"),
        (
            lambda m: BayesianMRF(model=m({"1": 1})),
            "neutral must be names of columns with three levels or more, got '1'",
        ),
        (lambda m: m({"0": -1}), "neutral must be None, or a mapping of names of columns to scores >= 0, got"),
    ],
)
def test_neutral_categories_that_cannot_be(make, message):
    X = np.array([[0, 0], [1, 1], [2, 0], [0, 1]])
    with pytest.raises(OptionError, match=message):
        make(lambda neutral: families.Ordinal(neutral=neutral)).fit(X)


def test_ties_of_nodes_with_different_numbers_of_thresholds(rng):
    X = np.column_stack([rng.integers(0, 2, 60), rng.integers(0, 5, 60)])
    est = MaximumLikelihoodMRF(model="ordinal", ties="all").fit(X)
    assert est.theta_[1] == est.theta_[2] != est.theta_[3]


# ---- other scores


def test_other_scores_are_the_definition(rng):
    """Statistics, log Z and moments by a sum over all states; scores 0, 1, 2, ... are none."""
    scores, theta = np.array([0, 1, 3, 7.0]), 0.1 * rng.normal(size=9)
    model, f = Ordinal(MODEL.graph, 4, True, SIZES, None, (0, 1, 3, 7)), FEATURES.astype(float)
    a, b, c = scores[STATES].T
    f[:, :3] = np.stack([a * b, c * b, a * c], axis=1)
    np.testing.assert_allclose(model.statistics(STATES), f.mean(axis=0))
    np.testing.assert_allclose(model.features(STATES), f)
    np.testing.assert_array_equal(model.feature_high, f.max(axis=0))
    p = np.exp(f @ theta)
    found = Elimination().infer(model, theta, Elimination().prepare(model))
    assert found.log_z == pytest.approx(np.log(p.sum()), rel=1e-12)
    np.testing.assert_allclose(found.moments, p @ f / p.sum(), atol=1e-12)
    assert abs(Elimination().infer(MODEL, theta, Elimination().prepare(MODEL)).log_z - found.log_z) > 0.01
    same = Ordinal(MODEL.graph, 4, True, SIZES, None, (0, 1, 2, 3, 4))
    np.testing.assert_array_equal(same.edge_values, MODEL.edge_values)


def test_posteriors_with_other_scores(rng):
    """Doubled scores have weights of a quarter; of others, P(edge) and the mean of theta are those on a grid."""
    X = np.array([[0, 0]] * 9 + [[1, 0]] * 6 + [[1, 1]] * 4 + [[2, 1]] * 8 + [[2, 0]] * 3)
    thetas = [MaximumLikelihoodMRF(model=families.Ordinal(scores=s)).fit(X).theta_ for s in ((0, 1, 2), (0, 2, 4))]
    np.testing.assert_allclose(thetas[1] * [4, 1, 1, 1], thetas[0], rtol=1e-6)

    def draws(model, slab):
        prior = SpikeSlab(0.5, Normal(slab), bias_scale=1.0)
        est = SpikeSlabMRF(model=model, method="exact", prior=prior, progress=False)
        kernel = est._prepare(X)[2]
        values = run.sample(kernel, n_draws=100, n_warmup=20, n_chains=24, random_state=3, progress=False).values
        return np.concatenate([values["included"], values["theta"]], axis=2)

    plain = draws("ordinal", 1.0)
    np.testing.assert_array_equal(draws(families.Ordinal(scores=(0, 1, 2)), 1.0), plain)
    doubled = draws(families.Ordinal(scores=(0, 2, 4)), 0.25)
    np.testing.assert_allclose(doubled[:, :20] * [1, 4, 1, 1, 1], plain[:, :20], atol=1e-6)
    axis = np.linspace(-4, 4, 33)
    theta = np.stack([g.ravel() for g in np.meshgrid(axis, *[axis] * 3, indexing="ij")], axis=1)

    def exact(scores):
        f = np.array([[scores[a] * scores[b], a == 1, a == 2, b] for a, b in np.ndindex(3, 2)], float)
        counts = np.array([(np.array(s) == X).all(axis=1).sum() for s in np.ndindex(3, 2)])
        energy = theta @ f.T
        log_p = energy @ counts - counts.sum() * np.logaddexp.reduce(energy, axis=1)
        log_p -= 0.5 * (theta[:, 1:] ** 2).sum(axis=1)
        present = np.exp(log_p + 20 - 0.5 * theta[:, 0] ** 2) / np.sqrt(2 * np.pi) * (axis[1] - axis[0])
        without = np.exp(log_p + 20) * (theta[:, 0] == 0)
        mean = present @ theta + np.append(0, without @ theta[:, 1:])
        return np.append(present.sum(), mean) / (present.sum() + without.sum())

    found = draws(families.Ordinal(scores=(0, 1, 4)), 1.0)
    assert_mean(found, exact((0, 1, 4)))
    assert_other_mean(found, exact((0, 1, 2)))
    assert_mean(plain, exact((0, 1, 2)))


@pytest.mark.parametrize("scores", [(1, 2, 3), (0, 2, 1), (0, 1), "abc"])
def test_scores_that_cannot_be(scores, rng):
    X = rng.integers(0, 3, (30, 2))
    with pytest.raises(OptionError, match=r"^scores must be (at least 3 )?increasing numbers from 0") as e:
        MaximumLikelihoodMRF(model=families.Ordinal(scores=scores)).fit(X)
    assert "\n" not in str(e.value)


# ---- calibration


def ranks(n_simulations, rng, factor=1.0):
    """Ranks of parameters of truths from the prior among 9 draws, ties at random; weights are times ``factor``."""
    prior, found = SpikeSlab(0.5, Normal(0.5), bias_scale=1.0), []
    for _ in range(n_simulations):
        theta = np.concatenate([0.5 * rng.normal(size=3) * (rng.random(3) < 0.5), rng.normal(size=6)])
        s_bar = MODEL.statistics(Enumeration().sample(MODEL, theta, None, 100, rng))
        kernel = SpikeSlabExact(Likelihood(MODEL, s_bar, 100, Elimination()), prior, None, 20)
        theta[:3] *= factor
        found.append(rank(few_draws(kernel, rng, warmup=5)["theta"], theta, rng))
    return np.array(found)


@pytest.mark.parametrize("n_simulations", [200, pytest.param(2000, marks=[LONG])])
def test_edges_are_calibrated(n_simulations, rng):
    """Simulation-based calibration; the negative control has bgms's factor 2 in the weights."""
    for factor, holds in ((1.0, True), (2.0, False)):
        assert (p_value(ranks(n_simulations, rng, factor)) > 1e-6) == holds
