"""Draws that the samplers of groups share."""

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, expit, gammaln

from bayesmrf import GroupedMRF
from bayesmrf.errors import GraphError, OptionError
from bayesmrf.graphs import cycle, path
from bayesmrf.posterior.groups import dirichlet_process as dp
from bayesmrf.priors import Beta, DirichletProcess, Gamma
from bayesmrf.published import conjugate
from bayesmrf.published.tree import GroupedTree
from tests.oracle.bounds import Comparison


def test_initial_grouping_is_k_means_with_floor_alpha_log_r(rng):
    agreement = np.concatenate([np.full(30, 0.2), np.full(30, 0.8)]) + rng.normal(size=60) * 0.01
    for alpha, k in [(1.0, 4), (0.5, 2), (0.1, 1)]:  # ln 60 = 4.09
        g = dp.initial_grouping(agreement, DirichletProcess(alpha), rng)
        assert len(g.values) == k
        assert g.groups.max() == k - 1
    two = dp.initial_grouping(agreement, DirichletProcess(0.5), rng)
    np.testing.assert_allclose(1 / (1 + np.exp(-two.values)), [0.2, 0.8], atol=0.01)
    always = dp.initial_grouping(np.ones(5), DirichletProcess(1.0), rng)
    assert np.isfinite(always.values).all()


def test_compact_orders_by_first_appearance():
    g = dp.compact(dp.Grouping(np.array([3, 3, 0, 5], np.int32), np.arange(6.0), 1.0))
    assert list(g.groups) == [0, 0, 1, 2]
    assert list(g.values) == [3.0, 0.0, 5.0]


def alpha_p_value(rng, prior, k, r, factor=1.0):
    """Kolmogorov-Smirnov of a long chain of `draw_alpha`, thinned, against p(alpha | k, r) on a grid."""
    alpha, chain = 1.0, []
    for i in range(20_000):
        alpha = dp.draw_alpha(rng, alpha, prior, k, r)
        if i % 10 == 0:
            chain.append(alpha * factor)
    grid = np.linspace(1e-4, 40, 40_001)
    log_p = (prior.alpha.shape - 1 + k) * np.log(grid) - prior.alpha.rate * grid + gammaln(grid) - gammaln(grid + r)
    cdf = np.cumsum(np.exp(log_p - log_p.max()))
    return stats.kstest(chain, lambda x: np.interp(x, grid, cdf / cdf[-1])).pvalue


def test_alpha_has_its_conditional_law(rng):
    prior = DirichletProcess(Gamma(2.0, 1.0))
    assert alpha_p_value(rng, prior, 5, 24) > 1e-6
    assert alpha_p_value(rng, prior, 5, 24, factor=1.2) < 1e-6


@pytest.mark.parametrize("shape", [1e-6, 1e-3])
def test_alpha_is_above_0_where_its_prior_is_concentrated_there(shape, rng):
    prior = DirichletProcess(Gamma(shape, 1.0))
    for k, r in ((0, 0), (1, 1), (1, 24)):
        assert all(dp.draw_alpha(rng, 1e-300, prior, k, r) > 0 for _ in range(100))


def test_an_edge_comes_back_whatever_the_prior_of_alpha(rng):
    """Of a single candidate: its probability does not depend on alpha."""
    n, s = 6, 3
    X = np.zeros((n, 2), dtype=int)
    X[:s, 1] = 1
    prior = DirichletProcess(Gamma(1e-3, 1.0), density=0.5)
    options = {"n_draws": 1000, "n_chains": 2, "progress": False, "random_state": int(rng.integers(2**31))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a column is constant
        est = GroupedMRF([(0, 1)], fields=False, prior=prior, method="exact", **options).fit(X)
    odds = np.exp(betaln(1 + s, 1 + n - s) + n * np.log(2))
    included = est.posterior_["posterior"]["included"].values
    assert Comparison().shares(included, odds / (1 + odds)).holds
    # What a concentration of 0 gave: once absent, the edge never came back.
    assert not Comparison().shares(np.minimum.accumulate(included, axis=1), odds / (1 + odds)).holds


def test_fixed_alpha_stays(rng):
    assert dp.draw_alpha(rng, 1.7, DirichletProcess(1.7), 5, 24) == 1.7


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.01, 0.02), (300.0, 2.0)])
def test_logit_beta_variate(a, b, rng):
    draws = np.array([dp.logit_beta_variate(rng, a, b) for _ in range(5000)])
    assert np.isfinite(draws).all()

    def cdf(t):  # of the logit, from the tail that does not round to 0 or 1
        return np.where(t < 0, stats.beta(a, b).cdf(expit(t)), stats.beta(b, a).sf(expit(-t)))

    assert stats.kstest(draws, cdf).pvalue > 1e-6
    assert stats.kstest(draws + 0.5 * draws.std(), cdf).pvalue < 1e-6


def test_choose_frequencies(rng):
    weights, last = np.array([0.0, 2.0, 1.0, 0.0]), 1.0
    counts = np.bincount([dp.choose(rng, weights, 4, last) for _ in range(8000)], minlength=5)
    assert counts[0] == counts[3] == 0
    assert stats.chisquare(counts[[1, 2, 4]], 8000 * np.array([0.5, 0.25, 0.25])).pvalue > 1e-6


def test_scan_compiled_equals_python():
    successes = np.array([3.0, 3.0, 9.0, 5.0, 0.0, 10.0])
    order = np.argsort(successes, kind="stable")
    found = []
    for scan in (conjugate.conjugate_scan, conjugate.conjugate_scan.py_func):
        rng = np.random.default_rng(7)
        groups, values = np.zeros(6, np.int32), np.zeros(1)
        for _ in range(20):
            groups, values = scan(rng, groups.copy(), values, order, successes, 10.0, 1.5, 1.0, 1.0)
        found.append((groups, values))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1])


def test_scan_survives_an_extreme_prior(rng):
    """A base distribution far from the data underflows without the common factor taken out."""
    groups, values = conjugate.conjugate_scan(
        rng, np.zeros(4, np.int32), np.array([20.0]), np.arange(4), np.zeros(4), 10_000.0, 1.0, 5000.0, 1.0
    )
    assert np.isfinite(values).all()
    assert groups.min() >= 0


def test_tree_refuses_a_cycle():
    with pytest.raises(
        GraphError, match="method must be 'exact', 'particle' or 'stripped-beta' for a graph with a cycle"
    ):
        GroupedTree(cycle(3), np.zeros(3), 10.0, DirichletProcess())


def test_tree_with_a_thousand_to_one_sizes(rng):
    """Two well separated groups of edges are found, and nothing else, by data that tell them apart."""
    truth = np.repeat([0.2, 0.8], 100)
    kernel = GroupedTree(path(201), rng.binomial(2000, truth).astype(float), 2000.0, DirichletProcess(0.01))
    state = kernel.init(rng)
    for _ in range(2000):  # a group that split off by chance is given up edge by edge, which takes a while
        state, info = kernel.step(rng, state)
    assert len(np.unique(info.groups[:100])) == len(np.unique(info.groups[100:])) == 1
    assert info.groups[0] != info.groups[-1]


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, "one"])
def test_priors_refuse(bad):
    with pytest.raises(OptionError, match="alpha"):
        DirichletProcess(bad)
    with pytest.raises(OptionError, match=r"a must be .* in Beta\(a, b\)"):
        Beta(bad, 1.0)
    with pytest.raises(OptionError, match="rate"):
        Gamma(1.0, bad)
