"""Maximum likelihood: closed form, exact, persistent chains, tied, and at the boundary."""

import re
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

from bayesmrf import GroupedMRF, MaximumLikelihoodMRF, families, graphs
from bayesmrf.engines import Elimination, Persistent, Tempered
from bayesmrf.errors import BoundaryWarning, ConstantColumnWarning, ConvergenceWarning
from bayesmrf.learning.maximum_likelihood import bound, maximum_likelihood
from bayesmrf.learning.persistent import PersistentMLE, summed_statistics
from bayesmrf.learning.persistent_ascent import potential_mode
from bayesmrf.methods import Particle
from bayesmrf.models import Agreement, Boltzmann, Ising, Symmetric
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.priors import FIELD_SCALE, DirichletProcess, MultivariateNormal
from bayesmrf.report import sections
from bayesmrf.results.summary import GroupedSummary
from bayesmrf.samplers import gibbs
from tests.oracle import states as oracle
from tests.oracle.bounds import assert_estimate, assert_other_estimate
from tests.oracle.potts import infer

ENGINE = Elimination()


def data(model, theta, n, rng):
    return model.statistics(ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng))


def tied(model, groups):
    """Edges share parameters, nodes do not."""
    label = np.concatenate([groups, groups.max() + 1 + np.arange(model.n_features - len(groups))])
    return LinearMap.tied(label, [str(k) for k in range(label.max() + 1)])


def fisher(model, theta):
    """Covariance of the statistics, by finite differences of the moments of the independent enumeration."""
    eye = 1e-5 * np.eye(len(theta))
    return np.array([(oracle.moments(model, theta + e) - oracle.moments(model, theta - e)) / 2e-5 for e in eye])


def error_of(information, n_equivalent):
    """Standard errors of an average over ``n_equivalent`` independent states."""
    return np.sqrt(np.diag(np.linalg.inv(information)) / n_equivalent)


@pytest.mark.parametrize("fields", [False, True])
def test_exact_matches_the_moments(fields, rng):
    model = Agreement(graphs.grid(3, 3), fields)
    theta = rng.normal(size=model.n_features)
    s_bar = oracle.moments(model, theta)
    found = maximum_likelihood(model, s_bar, 10**6, ENGINE, rng)
    assert found.method == "exact"
    np.testing.assert_allclose(found.theta, theta, atol=1e-4)


def test_exact_tied_matches_the_summed_moments(rng):
    model, groups = Agreement(graphs.grid(3, 3), True), np.arange(12) % 3
    s_bar = data(model, rng.normal(size=model.n_features) / 2, 500, rng)
    found = maximum_likelihood(model, s_bar, 500, ENGINE, rng, tied(model, groups))
    gradient = s_bar - oracle.moments(model, found.theta)
    np.testing.assert_allclose(np.bincount(groups, gradient[:12]), 0, atol=1e-6)
    np.testing.assert_allclose(gradient[12:], 0, atol=1e-6)
    assert np.abs(gradient[:12]).max() > 1e-3  # tied: the edges one by one do not match
    assert len(np.unique(found.theta[:12])) == 3


def test_forest_is_closed_form_and_equals_the_exact_search(rng):
    model = Agreement(graphs.binary_tree(2))
    s_bar = data(model, rng.normal(size=6), 200, rng)
    found = maximum_likelihood(model, s_bar, 200, Persistent(), rng)
    assert found.method == "closed form"
    np.testing.assert_allclose(1 / (1 + np.exp(-found.theta)), s_bar)
    np.testing.assert_allclose(oracle.moments(model, found.theta), s_bar)
    groups = np.array([0, 0, 1, 1, 1, 0])
    found = maximum_likelihood(model, s_bar, 200, Persistent(), rng, tied(model, groups)).theta
    np.testing.assert_allclose(1 / (1 + np.exp(-found[groups == 1])), s_bar[groups == 1].mean())


@pytest.mark.parametrize("fields", [False, True])
def test_persistent_matches_exact(fields, rng):
    """1,000 iterations of 1,024 chains, half of them averaged: the worth of at least 20,000 independent states."""
    model = Agreement(graphs.grid(3, 3), fields)
    theta = rng.uniform(-1, 1, size=model.n_features)
    s_bar = data(model, theta, 1000, rng)
    exact = maximum_likelihood(model, s_bar, 1000, ENGINE, rng).theta
    found = maximum_likelihood(model, s_bar, 1000, Persistent(), rng)
    assert found.method == "persistent"
    information = fisher(model, exact)
    error = error_of(information, 20_000)
    assert_estimate(found.theta, exact, error)
    # control: the same iterations towards statistics that are off by two standard errors of the data
    wrong = s_bar + 2 * np.sqrt(np.diag(information) / 1000)
    estimator = PersistentMLE(model, wrong, bound(1000))
    assert_other_estimate(estimator.fit(estimator.start(rng), 1000).theta, exact, error)


def test_persistent_with_diagonal_rates_matches_exact(rng, monkeypatch):
    """The rule for many parameters, made to run on few."""
    monkeypatch.setattr("bayesmrf.learning.persistent._MAX_NEWTON", 0)
    model = Agreement(graphs.grid(3, 3))
    s_bar = data(model, rng.uniform(-1, 1, size=12), 1000, rng)
    exact = maximum_likelihood(model, s_bar, 1000, ENGINE, rng).theta
    found = maximum_likelihood(model, s_bar, 1000, Persistent(), rng).theta
    assert_estimate(found, exact, error_of(fisher(model, exact), 10_000))


def test_persistent_tied_matches_exact(rng):
    model, groups = Agreement(graphs.grid(3, 3)), np.arange(12) % 4
    s_bar = data(model, rng.uniform(-1, 1, size=4)[groups], 1000, rng)
    exact = maximum_likelihood(model, s_bar, 1000, ENGINE, rng, tied(model, groups)).theta
    found = maximum_likelihood(model, s_bar, 1000, Persistent(), rng, tied(model, groups)).theta
    tie = np.eye(4)[groups]
    information = tie.T @ fisher(model, exact) @ tie
    assert_estimate(found[:4], exact[:4], error_of(information, 20_000))


def test_summed_statistics(rng):
    model = Agreement(graphs.grid(3, 3))
    chains = gibbs.start(100, 9, rng)
    groups = rng.integers(3, size=12).astype(np.int32)
    states = gibbs.to_states(chains, 100)
    agree = states[:, model.graph.edges[:, 0]] == states[:, model.graph.edges[:, 1]]
    expected = np.array([agree[:, groups == c].sum(axis=1) for c in range(3)])
    args = model.graph.edges, groups, 3, True, chains.states
    for function in (summed_statistics, summed_statistics.py_func):
        found = function(*args).reshape(12, -1)[:, :100]
        np.testing.assert_array_equal(found[:3], expected)
        np.testing.assert_array_equal(found[3:], 2 * states.T - 1)


@pytest.mark.parametrize("engine", [Elimination(), Persistent()])
def test_edges_that_always_or_never_agree_are_bounded_and_named(engine, rng):
    graph = graphs.Graph(4, graphs.cycle(4).edges, ("left", "top", "right", "bottom"))
    model = Agreement(graph)
    s_bar = np.array([1.0, 0.6, 0.5, 0.6])
    with pytest.warns(BoundaryWarning, match="left-top"):
        found = maximum_likelihood(model, s_bar, 50, engine, rng)
    assert list(found.at_bound) == [0]
    assert np.isfinite(found.theta).all()
    assert 1 / (1 + np.exp(-found.theta[0])) == pytest.approx(0.99)  # 1 - 1 / 2n


def test_persistent_continues_where_it_left(rng):
    """One more iteration from a fitted state stays near the optimum; from a cold start it moves by 0.5 at most."""
    model = Agreement(graphs.grid(3, 3))
    s_bar = data(model, rng.choice([-1.5, 1.5], size=12), 1000, rng)
    estimator = PersistentMLE(model, s_bar, bound(1000))
    exact = maximum_likelihood(model, s_bar, 1000, ENGINE, rng).theta
    warm = estimator.fit(estimator.fit(estimator.start(rng), 300), 1).theta
    cold = estimator.fit(estimator.start(rng), 1).theta
    assert np.abs(warm - exact).max() < 0.5 * np.abs(cold - exact).max()


# All models


@pytest.mark.parametrize("ties", [None, "all", "edges"])
@pytest.mark.parametrize("name", ["agreement", "boltzmann", "ising", "potts", "symmetric"])
def test_every_model_matches_the_moments(name, ties, rng):
    """At the maximum of the likelihood, the sums of the moments over what is tied are those of the data."""
    n_states = 3 if name in ("potts", "symmetric") else 2
    X = rng.integers(0, n_states, size=(300, 4))
    X[:, 1] = np.where(rng.random(300) < 0.6, X[:, 0], X[:, 1])
    est = MaximumLikelihoodMRF(graphs.cycle(4), model=name, ties=ties).fit(X)
    model = est._model()
    gap = infer(ENGINE, model, est.theta_).moments - model.statistics(X)
    p = model.n_parameters
    edges, nodes = np.split(gap, [4 * p])
    edges = edges.reshape(4, p).sum(axis=0) if ties else edges
    nodes = nodes.reshape(4, -1).sum(axis=0) if ties == "all" else nodes
    assert est.method_ == "exact"
    np.testing.assert_allclose(np.concatenate([edges, nodes]), 0, atol=1e-5)
    if ties:
        assert np.abs(gap).max() > 1e-3  # one by one they do not match


def test_binary_codings_are_one_likelihood(rng):
    X = rng.integers(0, 2, size=(200, 4))
    codings = ("agreement", "boltzmann", "ising")
    scores = [MaximumLikelihoodMRF("complete", model=name).fit(X).score(X) for name in codings]
    np.testing.assert_allclose(scores, scores[0], atol=1e-8)
    assert abs(MaximumLikelihoodMRF("complete", ties="all").fit(X).score(X) - scores[0]) > 1e-4


@pytest.mark.parametrize("build", [Ising, Boltzmann])
def test_persistent_ascent_of_other_codings_matches_exact(build, rng):
    model = build(graphs.grid(3, 3))
    n = 1000
    s_bar = data(model, rng.uniform(-0.5, 0.5, size=model.n_features), n, rng)
    one = LinearMap.tied(np.repeat([0, 1], [12, 9]), ["edges", "nodes"])

    def loss(curve, shift=0.0):
        exact, found = (maximum_likelihood(model, s_bar, n, e, rng, curve).theta for e in (ENGINE, Persistent()))
        likelihood = [n * (t @ s_bar - infer(ENGINE, model, t).log_z) for t in (exact, found + shift)]
        return likelihood[0] - likelihood[1]

    assert loss(None) < 0.5
    assert loss(one) < 0.5
    assert loss(one, shift=0.2) > 0.5


def test_closed_form_of_ising_and_models_of_your_own(rng):
    X = rng.integers(0, 2, size=(100, 3))
    graph = graphs.path(3)
    ising = MaximumLikelihoodMRF(graph, model="ising", fields=False).fit(X)
    agreement = MaximumLikelihoodMRF(graph, fields=False).fit(X)
    assert ising.method_ == agreement.method_ == "closed form"
    np.testing.assert_allclose(ising.theta_, agreement.theta_ / 2)
    boltzmann = MaximumLikelihoodMRF(graph, model=lambda g: Boltzmann(g, fields=False)).fit(X)
    assert boltzmann.method_ == "exact"
    three = MaximumLikelihoodMRF(graph, model=families.Symmetric(3), fields=False).fit(rng.integers(0, 3, (200, 3)))
    assert isinstance(three._model(), Symmetric)


def test_thresholds_go_as_far_as_edges_take_them(recwarn):
    """The bound of weights is 4.8, and that of thresholds was 13: too close, so that weights were too small."""
    rng = np.random.default_rng(63)
    X = np.where(rng.random((60, 3)) < 0.9, rng.integers(0, 5, (60, 1)), rng.integers(0, 5, (60, 3)))
    est = MaximumLikelihoodMRF(model="ordinal").fit(X)
    model = est._model()
    assert np.abs(infer(ENGINE, model, est.theta_).moments - model.statistics(X)).max() < 1e-5
    assert np.abs(est.theta_).max() > 15
    assert not recwarn.list


@pytest.mark.parametrize("model", ["agreement", "boltzmann", "ising"])
@pytest.mark.filterwarnings("ignore:combinations that never occur")
def test_states_that_never_occur_together_are_named(model, rng):
    """By persistent chains the edge had a weight of -4.7, or a coupling of -1.2, without a word."""
    X = (rng.random((300, 26)) < 0.3).astype(int)
    X[:, 1] &= 1 - X[:, 0]
    with pytest.warns(BoundaryWarning, match=r"of 1 edge\(s\) is infinite.*: 0-1$"):
        est = MaximumLikelihoodMRF(model=model, random_state=0).fit(X)
    assert est.method_ == "persistent"
    X[:2, :2] = 1
    MaximumLikelihoodMRF(model=model, random_state=0).fit(X)  # a warning would be an error here


def test_infinite_estimates_reach_the_bound_and_are_named():
    """A run of the optimiser may end just before the bound, so that nothing was said."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.where(rng.random((20, 3)) < 0.9, rng.integers(0, 2, (20, 1)), rng.integers(0, 2, (20, 3)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            est = MaximumLikelihoodMRF().fit(X)
        model = est._model()
        assert told or np.abs(infer(ENGINE, model, est.theta_).moments - model.statistics(X)).max() < 1e-5


def test_states_that_never_occur_at_a_node_are_named():
    """Also those of a constant column, which no prior determines here."""
    constant = pd.DataFrame({"first": [0, 1, 0, 1], "second": [1, 1, 1, 1]})
    with pytest.warns(ConstantColumnWarning, match="'second'; .*infinite by maximum likelihood"):
        MaximumLikelihoodMRF([]).fit(constant)
    X = np.array([[0, 0], [1, 1], [2, 0], [0, 1], [1, 0], [2, 1], [0, 0], [1, 1]])
    with pytest.warns(BoundaryWarning, match=r"1 parameter\(s\) of nodes is infinite, .*never or always.*: second=2"):
        MaximumLikelihoodMRF(model="potts").fit(pd.DataFrame(X, columns=["first", "second"]))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"model": "boltzmann"}, None),
        ({"model": "agreement"}, None),
        ({"model": "potts"}, None),
        ({"model": "agreement", "fields": False}, r"\d{3} of 780 statistics"),
    ],
)
def test_persistent_chains_match_the_data_or_say_so(options, match, rng):
    """Nearly all columns are alike: steps that are too long grow modes that the data do not have.

    Then the means of all statistics of the model were 0.998, and its estimates went on.
    """
    z = rng.integers(0, 2, (400, 1))
    X = np.where(rng.random((400, 40)) < 0.8, z, rng.integers(0, 2, (400, 40)))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        est = MaximumLikelihoodMRF(random_state=1, **options).fit(X)
    assert est.method_ == "persistent"
    assert [w.category for w in told] == ([ConvergenceWarning] if match else [])
    assert not match or re.search(match, str(told[0].message))


@pytest.mark.parametrize("share", [0.8, 0.2])
def test_estimates_of_groups_match_the_data_or_say_so(share, rng):
    """As above: with 0.8 edges without fields do not, and the estimate was called the maximum likelihood."""
    X = np.where(rng.random((400, 40)) < share, rng.integers(0, 2, (400, 1)), rng.integers(0, 2, (400, 40)))
    short = {"n_draws": 5, "n_warmup": 1, "n_chains": 1, "progress": False, "random_state": 1}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        est = GroupedMRF(fields=False, method="stripped-beta", **short).fit(X)
    far = [str(w.message) for w in told if "mle_ is not the maximum likelihood estimate" in str(w.message)]
    assert len(far) == (share == 0.8)
    assert GroupedSummary(est.posterior_).mle_name == "maximum likelihood" + " (not converged)" * len(far)


@pytest.mark.parametrize("shortens", [True, False])
def test_persistent_ascent_finds_camps(shortens, rng, monkeypatch):
    """Two camps that disagree on each of 60 questions; the control keeps the rate of the steps.

    All statistics depend on the shares of the camps, so that their errors are one error, whose square is given in
    squares of the standard error of the data. In 25 runs it was 2.2 at most, and that of the control 40 at least.
    """
    camp, side = rng.integers(0, 2, (500, 1)), rng.integers(0, 2, 60)
    X = np.where(rng.random((500, 60)) < 0.7, camp ^ side, rng.integers(0, 2, (500, 60)))
    if not shortens:
        monkeypatch.setattr("bayesmrf.learning.persistent_ascent._SLOWER", 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = MaximumLikelihoodMRF(model="boltzmann", random_state=1).fit(X)
    model = est._model()
    states, _ = Tempered().draw(model, est.theta_, 2048, rng)
    share, found = model.statistics(X), model.statistics(states)
    z = (found - share) / np.sqrt(np.maximum(share * (1 - share), 1e-3) * (1 / 2048 + 1 / 500))
    assert (np.square(z).mean() < 9) == shortens


@pytest.mark.parametrize("name", ["agreement", "ordinal", "potts", "symmetric"])
def test_missing_values_are_summed_over(name, rng):
    """The first column decides whether the second is missing: means of complete pairs are biased."""
    level = rng.integers(0, 3, 300)
    X = np.stack([level, np.where(rng.random(300) < 0.4, level, rng.integers(0, 3, 300)), rng.integers(0, 3, 300)], 1)
    X = (X > 0).astype(float) if name == "agreement" else X.astype(float)
    X[(X[:, 0] > 0) & (rng.random(300) < 0.8), 1] = np.nan
    X[rng.random(300) < 0.1, 2] = np.nan
    short = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "progress": False, "random_state": 1}
    est = GroupedMRF(model=name, method="exact", **short).fit(X)
    model, mle = est._model(), est.posterior_["constant_data"]["mle"].values
    states = np.array(list(product(range(2 if name == "agreement" else 3), repeat=3)))
    features = np.array([model.statistics(s[None].astype(np.int8)) for s in states])
    fits = np.array([((states == row) | np.isnan(row)).all(axis=1) for row in X])
    p = np.exp(features @ mle)
    given = fits * p / (fits @ p)[:, None]
    score = (given @ features).sum(axis=0) - len(X) * (p @ features) / p.sum()
    if name == "symmetric":
        r = model.n_edges * model.n_parameters
        score -= np.concatenate([mle[:r], mle[r:] / FIELD_SCALE**2])
    np.testing.assert_allclose(score, 0, atol=0.02)
    np.testing.assert_allclose(GroupedSummary(est.posterior_).edge_table["mle"], est.mle_)


def test_a_posterior_mode_by_chains_is_checked(rng, monkeypatch):
    """Nothing compared tables by persistent chains with the data: states with the share 0.77 had 0.41."""
    monkeypatch.setattr("bayesmrf.estimators.grouped.choose", lambda *_, **__: Persistent(n_chains=64))
    run = {"model": "symmetric", "method": Particle(n_particles=512), "n_draws": 5, "n_warmup": 2, "n_chains": 1}
    run |= {"progress": False, "random_state": 1}
    X, cov = rng.integers(0, 3, (200, 3)), 0.05 * np.eye(3) + 0.05
    X[:100, 1] = X[:100, 0]
    tight = GroupedMRF(prior=DirichletProcess(base=MultivariateNormal(cov)), **run)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Not converged|.*fewer than four draws")  # of draws
        assert GroupedSummary(tight.fit(X).posterior_).mle_name == "posterior mode"  # though the prior holds it back
    model, precision = tight._model(), np.linalg.inv(cov)
    data = model, model.statistics(X), 200
    exact, alone = (potential_mode(*data, Elimination(), rng, p) for p in (precision, np.diag(precision.diagonal())))
    found = potential_mode(*data, Persistent(), rng, precision)
    np.testing.assert_allclose(found, exact, atol=0.03)
    assert np.abs(alone - exact).max() > 0.1  # control: without correlations
    wrong = lambda *args: potential_mode(*args) + 3  # noqa: E731
    monkeypatch.setattr("bayesmrf.estimators.grouped_start.potential_mode", wrong)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        est = tight.fit(X)
    assert any("mle_ is not the posterior mode, as persistent" in str(w.message) for w in said)
    assert GroupedSummary(est.posterior_).mle_name == "posterior mode (not converged)"


def test_estimates_that_ignore_groups_are_named(rng, monkeypatch):
    X = rng.integers(0, 2, (60, 3)).astype(float)
    short = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "progress": False, "random_state": 1}
    named = lambda est: GroupedSummary(est.posterior_).mle_name  # noqa: E731
    assert named(GroupedMRF(**short).fit(X)) == "maximum likelihood"
    assert named(GroupedMRF(model="symmetric", **short).fit(X)) == "posterior mode"
    X[0, 0] = np.nan
    assert named(GroupedMRF(**short).fit(X)) == "maximum likelihood"
    monkeypatch.setattr("bayesmrf.estimators.grouped.choose", lambda *_, **__: Persistent(n_chains=64))
    est = GroupedMRF(method=Particle(n_particles=256), **short).fit(X)
    assert named(est) == "maximum likelihood of complete pairs"
    assert "maximum likelihood of complete pairs" in str(sections(GroupedSummary(est.posterior_)))


@pytest.mark.filterwarnings("ignore:columns 'a' and 'b' of X determine each other")
def test_bound_of_a_weight_of_ordered_levels_is_named(rng):
    """The agreement of an ordinal edge is that of half its weight."""
    level = rng.integers(0, 3, 200)
    X = pd.DataFrame({"a": level, "b": level, "c": rng.integers(0, 3, 200)})
    with pytest.warns(BoundaryWarning, match=rf"bounded at {bound(200):.4g} \(or minus it\): a-b"):
        est = MaximumLikelihoodMRF().fit(X)
    assert est.theta_[0] == pytest.approx(bound(200))
