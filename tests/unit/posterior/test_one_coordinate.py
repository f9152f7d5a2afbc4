"""The exact conditional law of one coordinate: quadrature, exact draws, and the identity it rests on."""

import time

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln

from bayesmrf import graphs
from bayesmrf.models import Agreement
from bayesmrf.posterior.conditionals import log_concave
from bayesmrf.posterior.conditionals import one_coordinate as oc
from tests.oracle import states as oracle


def sides(law, drop):
    """The mode, and points on both sides of it where the log density has fallen by ``drop`` at least."""
    mode, curvature, _ = log_concave.peak(law)
    return mode, *(log_concave.find_drop(mode, curvature, law, drop, sign) for sign in (-1.0, 1.0))


def by_mpmath(s, n, eta, a, b):
    """Log of the integral of lambda^s (1 - lambda)^(n - s) over theta ~ Beta(a, b), to 20 digits."""
    with mpmath.workdps(20):
        nu = mpmath.log(eta) - mpmath.log1p(-mpmath.mpf(eta))

        def log_sigmoid(t):
            return -mpmath.log1p(mpmath.exp(-t))

        def g(t):
            prior = a * log_sigmoid(t - nu) + b * log_sigmoid(nu - t)
            return s * log_sigmoid(t) + (n - s) * log_sigmoid(-t) + prior

        p = oc.OneCoordinate(float(s), float(n), float(nu), float(a), float(b), 0.0)
        peak, *ends = sides(p, 60.0)
        points = np.concatenate([np.linspace(ends[0], peak, 9), np.linspace(peak, ends[1], 9)[1:]])
        top = g(mpmath.mpf(peak))
        pieces = [mpmath.mpf(x) for x in points]
        value = mpmath.quad(lambda t: mpmath.exp(g(t) - top), pieces, method="gauss-legendre")
        return float(top + mpmath.log(value) - mpmath.log(mpmath.beta(a, b)))


def log_marginal(s, n, eta, a=1.0, b=1.0):
    """Log of the integral of lambda^s (1 - lambda)^(n - s) over theta ~ Beta(a, b), eta = P(agree) without the edge."""
    p = oc.OneCoordinate(float(s), float(n), float(np.log(eta) - np.log1p(-eta)), float(a), float(b), 0.0)
    return log_concave.log_integral(p) + oc.saturated(p.s, p.n) - oc.log_beta(p.a, p.b)


@pytest.mark.parametrize("eta", [1e-12, 0.3, 0.5, 1 - 1e-10])
@pytest.mark.parametrize(("s", "n"), [(0, 1), (3, 10), (10, 10), (500_000, 10**6), (10**6 - 1, 10**6), (0, 10**6)])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (0.3, 2), (20, 5)])
def test_quadrature(s, n, eta, a, b):
    assert log_marginal(s, n, eta, a, b) == pytest.approx(by_mpmath(s, n, eta, a, b), abs=2e-9, rel=1e-15)


def test_quadrature_of_very_many_trials_ends(rng):
    # Rounding keeps its sums from agreeing more closely: it went on to four million points, a second for each call.
    begun = time.perf_counter()
    for n in (1e9, 1e12):
        for s in np.rint(n * rng.random(10)):
            found = log_marginal(s, n, 0.5)
            assert found == pytest.approx(betaln(s + 1, n - s + 1), abs=1e-14 * n, rel=1e-12)
    assert time.perf_counter() - begun < 5


def test_quadrature_closed_form_at_eta_one_half():
    expected = stats.betabinom(10**6, 2.0, 3.0).logpmf(321) - stats.binom(10**6, 0.5).logpmf(321) + 10**6 * np.log(0.5)
    assert log_marginal(321, 10**6, 0.5, 2.0, 3.0) == pytest.approx(expected, abs=1e-7)


def test_one_edge_likelihood_is_exact(rng):
    """Up to a constant, L(theta_c) is the likelihood of the whole model along one edge parameter."""
    model = Agreement(graphs.complete(4), True)
    theta, s_bar, n = rng.normal(size=10), rng.random(10), 30
    q = oracle.moments(model, theta)[2]
    nu = np.log(q / (1 - q)) - theta[2]
    difference = []
    for value in (-2.0, 0.1, 1.5):
        theta[2] = value
        whole = n * (theta @ s_bar - oracle.log_z(model, theta))
        difference.append(whole - oc.log_likelihood(value + nu, n * s_bar[2], float(n)))
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)


def test_one_field_likelihood_is_exact(rng):
    model = Agreement(graphs.complete(4), True)
    theta, s_bar, n = rng.normal(size=10), rng.uniform(-1, 1, size=10), 30
    p = (1 + oracle.moments(model, theta)[7]) / 2
    nu = np.log(p / (1 - p)) - 2 * theta[7]
    difference = []
    for value in (-2.0, 0.1, 1.5):
        theta[7] = value
        whole = n * (theta @ s_bar - oracle.log_z(model, theta))
        difference.append(whole - oc.log_likelihood(2 * value + nu, n * (1 + s_bar[7]) / 2, float(n)))
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)


CASES = [
    oc.OneCoordinate(3.0, 10.0, 0.7, 1.0, 1.0, 0.0),
    oc.OneCoordinate(50.0, 50.0, -3.0, 1.0, 1.0, 0.0),
    oc.OneCoordinate(0.0, 1.0, 5.0, 0.4, 2.0, 0.0),
    oc.OneCoordinate(700.0, 1000.0, 20.0, 1.0, 1.0, 0.0),
    oc.OneCoordinate(8.0, 8.0, 0.3, 0.0, 0.0, 1 / 400),
]


def ks(case, draws):
    """Kolmogorov-Smirnov p value of draws against the law of ``case``."""
    peak, low, high = sides(case, 40.0)
    grid = np.linspace(low, high, 20_001)
    density = np.exp([log_concave.log_density(t, case) - log_concave.log_density(peak, case) for t in grid])
    cdf = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return stats.kstest(draws, lambda t: np.interp(t, grid, cdf / cdf[-1])).pvalue


@pytest.mark.parametrize("case", CASES)
def test_draws(case, rng):
    draws = np.array([log_concave.draw_exactly(rng, case) for _ in range(20_000)])
    assert ks(case, draws) > 1e-6
    assert ks(case, draws + 0.15 * draws.std()) < 1e-6


@pytest.mark.parametrize("case", CASES)
def test_mode_and_integral_against_scipy(case):
    peak, low, high = sides(case, 42.0)
    assert log_concave.tangent(peak, case)[1] == pytest.approx(0, abs=1e-6 * (1 + case.n))
    parts = [
        quad(lambda t: np.exp(log_concave.log_density(t, case)), x, y, epsabs=0, limit=200)[0]
        for x, y in [(low, peak), (peak, high)]
    ]
    assert log_concave.log_integral(case) == pytest.approx(np.log(sum(parts)), abs=1e-8)


def test_compiled_equals_python(rng):
    case = CASES[1]
    for leaf in (oc.coordinate_log_density, oc.coordinate_slope):
        assert leaf(0.3, case) == pytest.approx(leaf.py_func(0.3, case), rel=1e-12)
    assert log_concave.log_integral(case) == pytest.approx(log_concave.log_integral.py_func(case), rel=1e-10)
    same = np.random.default_rng(1), np.random.default_rng(1)
    assert log_concave.draw_exactly(same[0], case) == pytest.approx(
        log_concave.draw_exactly.py_func(same[1], case), rel=1e-10
    )
