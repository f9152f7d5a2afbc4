"""Evidence from posterior draws: Langevin draws, their checks, harmonic means, bridges, DIC."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.special import betaln, digamma, expit, logit, logsumexp
from scipy.stats import binom, chi2, norm

from bayesmrf import graphs
from bayesmrf.errors import DataError, OptionError, TooWideError
from bayesmrf.evidence import brief_draws as brief_module
from bayesmrf.evidence import posterior_draws as module
from bayesmrf.evidence import sampled
from bayesmrf.evidence.bridge import BridgeSampling, bridge_ratio
from bayesmrf.evidence.means import mean_ess
from bayesmrf.evidence.methods import evaluate
from bayesmrf.evidence.posterior_draws import PosteriorSampler, describe, log_likelihoods, scale_reduction
from bayesmrf.learning.rbm_brief import BriefRBM
from bayesmrf.models import Agreement, Ising, RestrictedBoltzmann
from bayesmrf.priors import LogisticBeta, Normal
from bayesmrf.published.dic import DIC
from bayesmrf.published.harmonic import HarmonicMean, harmonic_mean, mixture_mean
from tests.long import few
from tests.oracle import evidence as oracle
from tests.oracle.bounds import Comparison, P, assert_estimate, assert_mean, assert_other_estimate, assert_other_mean

FEW = 39  # degrees of freedom of errors from 40 chains


# Gaussian toy: theta ~ N(0, 1) in each of d coordinates, log likelihood -b (theta - x)^2 / 2.


class Toy:
    """Draws and log likelihoods; the evidence in closed form."""

    def __init__(self, d, b, x):
        self.d, self.b, self.x = d, b, x
        self.sd, self.mean = (1 + b) ** -0.5, b * x / (1 + b)
        self.log_evidence = d * (-0.5 * np.log(1 + b) - 0.5 * b * x**2 / (1 + b))

    def log_likelihood(self, theta):
        return -0.5 * self.b * ((theta - self.x) ** 2).sum(axis=-1)

    def posterior(self, rng, n_chains, n_draws, correlation=0.0, shift=0.0):
        """Chains of an autoregression that leaves the posterior invariant."""
        u = rng.standard_normal((n_chains, n_draws, self.d))
        for t in range(1, n_draws):
            u[:, t] = correlation * u[:, t - 1] + (1 - correlation**2) ** 0.5 * u[:, t]
        return self.mean + shift + self.sd * u

    def prior(self, rng, n):
        return rng.standard_normal((n, self.d))


def worst_spread(z):
    """How far squares of scores are from their law, in tails of 1e-7 with a tenth for errors of the errors."""
    total = (z**2).sum()
    return chi2.ppf(1e-7, len(z)) / 1.2, total, 1.3 * chi2.ppf(1 - 1e-7, len(z))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_harmonic_mean_has_the_error_that_it_states(rng, correlation):
    toy = Toy(2, 0.2, 0.7)  # the likelihood is wide: moments of its inverse exist
    z, naive = [], []
    for _ in range(40):
        log_likelihood = toy.log_likelihood(toy.posterior(rng, 10, 500, correlation))
        found = harmonic_mean(log_likelihood)
        error = found.value - toy.log_evidence
        z.append(error / found.standard_error)
        weight = np.exp(-log_likelihood)
        naive.append(error / (weight.std() / weight.mean() / weight.size**0.5))
    low, total, high = worst_spread(np.array(z))
    assert low < total < high
    if correlation:  # as if correlated draws were independent
        assert (np.array(naive) ** 2).sum() > high


def test_harmonic_mean_needs_draws_of_the_posterior(rng):
    toy = Toy(2, 0.2, 0.7)
    good = harmonic_mean(toy.log_likelihood(toy.posterior(rng, 10, 4000)))
    assert_estimate(good.value, toy.log_evidence, good.standard_error)
    for wrong in (toy.posterior(rng, 10, 4000, shift=0.3), toy.prior(rng, 40_000).reshape(10, 4000, 2)):
        found = harmonic_mean(toy.log_likelihood(wrong))
        assert_other_estimate(found.value, toy.log_evidence, found.standard_error)
    log_likelihood = toy.log_likelihood(toy.posterior(rng, 10, 4000))
    assert_other_estimate(logsumexp(log_likelihood) - np.log(40_000), toy.log_evidence, good.standard_error)


def test_mixture_mean_solves_the_equation_of_newton_and_raftery(rng):
    log_likelihood = rng.normal(-3, 2, (4, 50))

    def once(p, delta):
        likelihood, share = np.exp(log_likelihood), delta * log_likelihood.size / (1 - delta)
        q = delta * p + (1 - delta) * likelihood
        return (share + (likelihood / q).sum()) / (share / p + (1 / q).sum())

    p = np.exp(mixture_mean(log_likelihood).value)
    assert once(p, 0.01) == pytest.approx(p, rel=1e-8)
    assert once(p, 0.02) != pytest.approx(p, rel=1e-3)
    # Their iteration ends there, from afar.
    far = p * 1e-3
    for _ in range(3000):
        far = once(far, 0.01)
    assert far == pytest.approx(p, rel=1e-6)
    # Nothing overflows: likelihoods are multiplied by e^-5000.
    assert mixture_mean(log_likelihood - 5000).value == pytest.approx(np.log(p) - 5000, abs=1e-6)


def test_mixture_mean_tends_to_its_limit_with_the_error_that_it_states(rng):
    toy = Toy(1, 3.0, 1.0)

    def limit(delta):
        theta = toy.mean + toy.sd * np.linspace(-10, 10, 4001)[:, None]
        density = norm.pdf(theta[:, 0], toy.mean, toy.sd)

        def excess(log_p):
            r = np.exp(toy.log_likelihood(theta) - log_p)
            return density @ ((r - 1) / (delta + (1 - delta) * r))

        return brentq(excess, -60.0, 0.0)

    right, wrong = limit(0.01), limit(0.1)
    z, others = [], []
    for _ in range(40):
        found = mixture_mean(toy.log_likelihood(toy.posterior(rng, 10, 1000, 0.5)))
        z.append((found.value - right) / found.standard_error)
        others.append((found.value - wrong) / found.standard_error)
    low, total, high = worst_spread(np.array(z))
    assert low < total < high
    assert (np.array(others) ** 2).sum() > high
    assert right > toy.log_evidence  # the bias upwards that the documentation speaks of


@pytest.mark.parametrize("variant", ["geometric", "optimal"])
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_bridges_have_the_errors_that_they_state(rng, variant, correlation):
    toy = Toy(3, 2.0, 1.0)
    z, swapped = [], []
    for _ in range(40):
        posterior = toy.log_likelihood(toy.posterior(rng, 10, 300, correlation))
        prior = toy.log_likelihood(toy.prior(rng, 2000))
        found, _ = bridge_ratio(posterior, prior, variant)
        z.append((found.value - toy.log_evidence) / found.standard_error)
        other, _ = bridge_ratio(prior.reshape(10, 200), posterior.ravel(), variant)
        swapped.append((other.value - toy.log_evidence) / other.standard_error)
    low, total, high = worst_spread(np.array(z))
    assert low < total < high
    assert (np.array(swapped) ** 2).sum() > high


@pytest.mark.parametrize("variant", ["geometric", "optimal"])
def test_bridges_state_no_error_where_draws_of_the_prior_miss_the_posterior(variant, rng):
    """Their own terms vary little then: the geometric bridge had errors of up to six of its standard errors."""
    toy, stated = Toy(6, 20.0, 1.0), Comparison()
    for _ in range(60):
        posterior = toy.log_likelihood(toy.posterior(rng, 10, 1000))
        found, n_posterior = bridge_ratio(posterior, toy.log_likelihood(toy.prior(rng, 10_000)), variant)
        if min(found.n_effective, n_posterior) >= 10:
            stated.estimates(found.value, toy.log_evidence, found.standard_error)
    assert len(stated.p_values) > 20 or variant == "geometric"
    assert not stated.p_values or stated.holds


def test_bridges_need_draws_of_the_posterior(rng):
    toy = Toy(3, 2.0, 1.0)
    prior = toy.log_likelihood(toy.prior(rng, 20_000))
    for variant in ("geometric", "optimal"):
        for shift, check in ((0.0, assert_estimate), (0.2, assert_other_estimate)):
            found, _ = bridge_ratio(toy.log_likelihood(toy.posterior(rng, 10, 2000, shift=shift)), prior, variant)
            check(found.value, toy.log_evidence, found.standard_error)


def test_optimal_bridge_is_the_fixed_point_of_meng_and_wong_and_no_worse(rng):
    toy = Toy(3, 4.0, 1.5)
    posterior = toy.log_likelihood(toy.posterior(rng, 10, 200))
    prior = toy.log_likelihood(toy.prior(rng, 5000))
    found, _ = bridge_ratio(posterior, prior, "optimal")
    n = mean_ess(posterior)

    def once(r, n):
        above = np.mean(np.exp(prior) / (n * np.exp(prior) + 5000 * r))
        return above / np.mean(1 / (n * np.exp(posterior) + 5000 * r))

    r = np.exp(found.value)
    assert once(r, n) == pytest.approx(r, rel=1e-8)
    assert once(r, n / 3) != pytest.approx(r, rel=1e-6)
    far = 1e-3 * r
    for _ in range(1000):
        far = once(far, n)
    assert far == pytest.approx(r, rel=1e-6)
    geometric, _ = bridge_ratio(posterior, prior, "geometric")
    assert found.standard_error < geometric.standard_error
    shifted, _ = bridge_ratio(posterior - 5000, prior - 5000, "optimal")
    assert shifted.value == pytest.approx(found.value - 5000, abs=1e-6)


def test_effective_draws_tell_of_prior_and_posterior_that_do_not_meet(rng):
    toy = Toy(100, 10.0, 1.0)
    posterior = toy.log_likelihood(toy.posterior(rng, 10, 200))
    for variant in ("geometric", "optimal"):
        found, _ = bridge_ratio(posterior, toy.log_likelihood(toy.prior(rng, 2000)), variant)
        assert found.n_effective < 10


# The scale reduction.


def test_scale_reduction_is_the_largest_ratio_of_variances(rng):
    m, n, f = 4, 30, 3
    draws = rng.standard_normal((m, n, f)) @ rng.standard_normal((f, f)) + rng.standard_normal((m, 1, f))
    within = np.mean([np.cov(chain.T) for chain in draws], axis=0)
    between = np.cov(draws.mean(axis=1).T)  # B / n
    total = (n - 1) / n * within + (m + 1) / m * between
    found = scale_reduction(draws)
    assert found == pytest.approx(eigh(total, within, eigvals_only=True)[-1], rel=1e-9)
    assert found != pytest.approx(eigh(total - between / m, within, eigvals_only=True)[-1], rel=1e-3)
    assert scale_reduction(draws @ rng.standard_normal((f, f)) + 5) == pytest.approx(found, rel=1e-6)
    # No direction has a larger ratio.
    for a in rng.standard_normal((200, f)):
        assert a @ total @ a / (a @ within @ a) <= found * (1 + 1e-9)


def test_scale_reduction_tells_stuck_chains_from_mixed_ones(rng):
    draws = rng.standard_normal((10, 400, 3))
    # (m - 1) n lambda_1 is at most the trace, chi-squared with 27 degrees of freedom (a tenth for W in the place of V).
    bound = 1 + 1.1 * 1.1 * chi2.ppf(1 - 1e-7, 27) / (9 * 400)
    assert scale_reduction(draws) < bound < module.THRESHOLD
    assert scale_reduction(draws + 0.7 * rng.standard_normal((10, 1, 3))) > bound
    rotated = draws.copy()
    rotated[..., 1] = rotated[..., 0] + 1e-3 * rotated[..., 1]
    rotated[:5, :, 1] += 2e-3  # each coordinate alone looks mixed
    assert scale_reduction(rotated) > module.THRESHOLD
    assert scale_reduction(rotated[..., :1]) < bound


def test_scale_reduction_says_where_it_is_not_known(rng):
    draws = rng.standard_normal((3, 10, 4))
    assert np.isnan(scale_reduction(draws[:1]))
    assert np.isnan(scale_reduction(draws[:, :2]))
    draws[..., 1] = np.arange(3)[:, None]
    assert scale_reduction(draws) == np.inf


# Gradients of brief chains.


def brief_expectation(model, theta, states, n_sweeps):
    """The mean of the gradient by enumeration."""
    w = model.split(theta)
    xs = np.array(list(itertools.product((0, 1), repeat=model.n_visible)), dtype=float)
    zs = np.array(list(itertools.product((0, 1), repeat=model.n_hidden)), dtype=float)

    def law(units, p):
        return np.prod(np.where(units[None] == 1, p[:, None], 1 - p[:, None]), axis=2)

    forth = law(zs, expit(xs @ w.weights.T + w.hidden))
    back = law(xs, expit(zs @ w.weights + w.visible))
    moved = np.linalg.matrix_power(forth @ back, n_sweeps)
    mean = expit(xs @ w.weights.T + w.hidden)
    s = np.hstack([(mean[:, :, None] * xs[:, None]).reshape(len(xs), -1), xs, mean])
    number = states @ (1 << np.arange(model.n_visible)[::-1])
    return (s[number] - moved[number] @ s).sum(axis=0)


def test_brief_gradient_is_that_of_chains_from_the_data(rng):
    model = RestrictedBoltzmann(4, 3)
    states = oracle.rows(50, 4, rng).astype(np.int64)
    theta = 1.5 * rng.standard_normal(model.n_features)
    for n_sweeps, other_sweeps in ((1, 2), (3, 1)):
        brief = BriefRBM(model, states, n_sweeps)
        memory = brief.start(rng)
        scores = np.array([brief.evaluate(theta, memory=memory).score for _ in range(4000)])[:, None]
        assert_mean(scores, brief_expectation(model, theta, states, n_sweeps))
        assert_other_mean(scores, brief_expectation(model, theta, states, other_sweeps))
    assert brief_expectation(model, theta, states, 500) == pytest.approx(
        oracle.machine_likelihood(model, theta, states)[1]
    )


def test_brief_gradient_knows_no_log_z(rng):
    brief = BriefRBM(RestrictedBoltzmann(2, 1), np.zeros((3, 2)))
    with pytest.raises(OptionError, match="log_z"):
        brief.require("langevin", {"log_z", "moments"})
    with pytest.raises(OptionError, match="n_sweeps"):
        BriefRBM(RestrictedBoltzmann(2, 1), np.zeros((3, 2)), 0)


# Bethe likelihoods.


def test_bethe_likelihood_is_exact_on_trees_alone(rng):
    for name in ("rbm 3x1", "two edges", "hidden node"):
        target = oracle.TINY[name](rng)
        thetas = 2 * rng.standard_normal((50, target.n_features))
        found, n_astray = log_likelihoods(target, thetas, is_exact=False)
        assert n_astray == 0
        assert found == pytest.approx(oracle.log_likelihoods(target, thetas), abs=1e-4)
    target = oracle.target_of(RestrictedBoltzmann(4, 3), oracle.rows(30, 4, rng))
    thetas = 2 * rng.standard_normal((50, target.n_features))
    found, _ = log_likelihoods(target, thetas, is_exact=False)
    errors = found - oracle.log_likelihoods(target, thetas)
    assert abs(errors).max() > 0.1
    draws = describe(target, thetas.reshape(2, 25, -1), is_exact=False)
    assert draws.bethe_bias == pytest.approx(errors.mean(), abs=1e-6)
    assert draws.log_likelihood.ravel() == pytest.approx(found)


# Draws against the posterior.


def posterior_moments(target, rng, n=200_000):
    """Mean and sd of each parameter by importance sampling, to about 1 % of the sd."""
    centre, root = oracle._coordinates(target, rng)
    u = rng.standard_t(5, (n, len(centre)))
    theta = centre + 1.2 * u @ root.T
    log_weight = oracle.log_posteriors(target, theta) + 3 * np.log1p(u**2 / 5).sum(axis=1)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    assert 1 / (weight**2).sum() > 10_000
    mean = weight @ theta
    return mean, np.sqrt(weight @ (theta - mean) ** 2)


BIAS = 0.1  # of means and of log sds, in sds: steps without an accept step, chains of 10 sweeps


def compared(theta, moments, bias=BIAS):
    """Compare means and spreads of chains with the posterior's."""
    mean, sd = moments
    u = (theta - mean) / sd
    return Comparison().means(u, 0.0, bias).means((u**2 - 1) / 2, 0.0, bias)


@pytest.mark.parametrize("name", ["rbm 2x1", "pair", "tied", "triangle"])
def test_exact_draws_are_those_of_the_posterior(rng, name):
    """To within the importance sample's 1 %, where brief Langevin is let off with ten times that."""
    target = oracle.TINY[name](rng)
    moments = posterior_moments(target, rng)
    draws = PosteriorSampler(n_draws=100, n_warmup=100, n_chains=40)(target, rng)
    assert draws.is_exact
    assert draws.log_likelihood.ravel() == pytest.approx(oracle.log_likelihoods(target, draws.theta.reshape(4000, -1)))
    assert compared(draws.theta, moments, 0.03).holds
    assert 0.7 < draws.acceptance < 0.97
    mean, sd = moments
    assert not compared(draws.theta, (mean + 0.3 * sd, sd), 0.03).holds
    assert not compared(draws.theta, (mean, sd / 1.3), 0.03).holds


def frustrated(rng):
    """Three nodes with a negative coupling of each pair: belief propagation is far off."""
    model = Ising(graphs.complete(3), fields=False)
    states = oracle.target_of(model, oracle.rows(2, 3, rng)).sample(np.full(3, -0.8), 60, rng)
    return oracle.target_of(model, states)


@pytest.mark.parametrize("method", ["bridge-optimal", "bridge-geometric"])
def test_enumerable_models_take_the_exact_normaliser(rng, method):
    """The reproduction: -122.36 +- 0.06 where -121.92 is right, without a word; with it, belief propagation says so."""
    target = frustrated(rng)
    right = oracle.log_evidence(target, rng)
    sampler = PosteriorSampler(n_draws=200, n_warmup=200)
    bridge = BridgeSampling(sampler=sampler, variant=method[7:], n_prior=10_000)
    found = next(evaluate(target, [bridge], rng))
    assert "belief" not in found.status
    assert_estimate(found.log_evidence, right, found.standard_error, bias=oracle.PRECISION)
    assert found.standard_error < 0.5
    exact = sampler(target, rng)
    brief = describe(target, exact.theta, is_exact=False)
    wrong = bridge(target, rng, brief)
    assert re.search(
        r"belief propagation, which shifts log likelihoods.* by [+-]\d+\.\d\d nats on average", wrong.status
    )
    assert abs(brief.bethe_bias) > 3
    assert_other_estimate(wrong.log_evidence, right, found.standard_error, bias=1)
    assert wrong.parts["is_exact_likelihood"] == 0


def test_bias_of_belief_propagation_is_told_where_nothing_is_exact(rng):
    """Against the sum over 2^15 states that a machine refuses for its methods."""
    target = oracle.target_of(RestrictedBoltzmann(16, 15), oracle.rows(40, 16, rng))
    # Equal weights, and biases against them: a magnet near the point at which it is magnetised.
    middle = target.model.join(np.full((15, 16), 0.2), np.full(16, -1.5), np.full(15, -1.6))
    theta = middle + 0.05 * rng.standard_normal((2, 3, target.n_features))
    draws = describe(target, theta, rng)
    assert not draws.is_exact
    flat = theta.reshape(6, -1)[[0, 1, 3, 5]]
    exact = [oracle.machine_likelihood(target.model, t, target.states, target.weights)[0] for t in flat]
    right = np.mean(draws.log_likelihood.ravel()[[0, 1, 3, 5]] - exact)
    assert 0 < draws.bethe_bias_error < 0.5 < draws.bethe_bias
    assert_estimate(draws.bethe_bias, right, draws.bethe_bias_error)
    assert_other_estimate(draws.bethe_bias, -right, draws.bethe_bias_error)  # control: the other sign
    assert f"shifts log likelihoods, and so the estimate, by {draws.bethe_bias:+.2f} ± " in draws.status


@pytest.mark.parametrize(
    ("model", "quick"),
    [
        (Ising(graphs.complete(17)), True),
        (Ising(graphs.complete(18)), False),
        (Ising(graphs.grid(4, 8)), True),
        (RestrictedBoltzmann(14, 30), True),
        (RestrictedBoltzmann(15, 15), False),
    ],
)
def test_exact_dynamics_where_they_take_minutes(rng, model, quick):
    """Where a sum takes longer, but can be had, it tells what belief propagation does to the draws."""
    d = model.n_visible if isinstance(model, RestrictedBoltzmann) else model.graph.n_nodes
    target = oracle.target_of(model, oracle.rows(8, d, rng))
    assert target.is_quick == quick
    if isinstance(model, Ising) and d == 18:
        theta = 0.3 * rng.standard_normal((2, 2, target.n_features))
        draws = describe(target, theta)
        assert not draws.is_exact
        assert draws.bethe_bias_error == 0
        right = [target.log_likelihood(t)[0] for t in theta.reshape(4, -1)]
        assert draws.bethe_bias == pytest.approx(np.mean(draws.log_likelihood.ravel() - right))


@pytest.mark.parametrize(("stiffness", "unstable"), [(0.2, False), (3.9, True)])
def test_unstable_steps_are_told(rng, stiffness, unstable):
    """Near the limit of 4 the variance is tens of times too large, or the dynamics diverge."""
    target = oracle.TINY["pair"](rng)
    options = {"dynamics": "brief", "n_draws": 20, "n_warmup": 100, "thin": 2, "n_chains": 8}
    draws = PosteriorSampler(**options, stiffness=stiffness)(target, rng)
    assert ("Langevin steps are too long for the curvature at" in draws.status) == unstable


@pytest.mark.parametrize("name", few(["rbm 2x1", "pair", "tied", "hidden node"], "tied", "hidden node"))
def test_draws_are_those_of_the_posterior(rng, name):
    target = oracle.TINY[name](rng)
    moments = posterior_moments(target, rng)
    options = {"n_draws": 60, "n_warmup": 1000, "thin": 4, "n_chains": 40, "n_sweeps": 10}
    draws = PosteriorSampler(dynamics="brief", **options, stiffness=0.3)(target, rng)
    assert compared(draws.theta, moments).holds
    mean, sd = moments
    assert not compared(draws.theta, (mean, sd / 2)).holds  # as of four times the data


@pytest.mark.parametrize("name", ["rbm 3x1", "pair", "tied", "hidden node"])
def test_steps_fit_the_stiffest_direction(rng, monkeypatch, name):
    monkeypatch.setattr(sampled, "_STATES", 100_000)  # covariances to about 1 %
    target = oracle.TINY[name](rng)
    theta = rng.standard_normal(target.n_features)
    s = oracle.features(target).reshape(-1, target.n_features)
    p = np.exp(s @ theta - logsumexp(s @ theta))
    covariance = (s * p[:, None]).T @ s - np.outer(p @ s, p @ s)

    def step(curvature):
        scale = np.diag(curvature) ** -0.5
        return scale, (0.3 / np.linalg.eigvalsh(curvature * scale * scale[:, None])[-1]) ** 0.5

    def differs(found, right):
        return max(abs(np.log(f / r)).max() for f, r in zip(found, right, strict=True)) > 0.03

    found = brief_module._metric(target, theta[None], 0.3, rng)
    right = target.n_samples * covariance + np.diag(target.prior.curvature(theta))
    assert not differs(found, step(right))
    assert differs(found, step(1.2 * right))
    assert differs(found, step(np.diag(np.diag(right))))


def test_draws_of_a_tiny_machine_give_its_evidence(rng):
    target = oracle.TINY["rbm 2x1"](rng)
    draws = PosteriorSampler(dynamics="brief", n_draws=150, n_warmup=1000, thin=20, n_sweeps=10, stiffness=0.5)(
        target, rng
    )
    assert draws.parts["bethe_bias"] == pytest.approx(0, abs=1e-5)
    found = BridgeSampling(n_prior=5000)(target, rng, draws)
    right = oracle.log_evidence(target, rng)
    assert_estimate(found.log_evidence, right, found.standard_error, bias=0.1)
    wrong = BridgeSampling(n_prior=5000)(replace(target, prior=Normal(3.0)), rng, draws)
    assert_other_estimate(wrong.log_evidence, right, wrong.standard_error, bias=0.1)


def test_equal_seeds_give_equal_draws():
    target = oracle.TINY["rbm 2x1"](np.random.default_rng(1))
    options = {"n_draws": 20, "n_warmup": 100, "thin": 2, "n_chains": 3}
    one, two, three = (PosteriorSampler(**options)(target, np.random.default_rng(s)).theta for s in (5, 5, 6))
    assert (one == two).all()
    assert (one != three).any()


# A forest of agreements: the posterior is drawn exactly, and the evidence is in closed form.


class Forest:
    """Three nodes on a path, Beta(1, 1) agreements."""

    def __init__(self, rng, n=30, n_draws=50):
        self.target = oracle.target_of(Agreement(graphs.path(3)), oracle.rows(n, 3, rng), LogisticBeta(1.0, 1.0))
        states, weights = self.target.states, self.target.weights
        agree = weights @ (states[:, :2] == states[:, 1:])
        self.n, self.a, self.b = n, 1 + agree, 1 + n - agree
        self.log_evidence = betaln(self.a, self.b).sum() - n * np.log(2)
        self.theta = logit(rng.beta(self.a, self.b, (40, n_draws, 2)))


@pytest.fixture
def forest(rng):
    return Forest(rng)


@pytest.mark.parametrize("variant", ["geometric", "optimal"])
def test_bridge_finds_the_evidence_of_a_forest(rng, forest, variant):
    draws = describe(forest.target, forest.theta)
    found = BridgeSampling(variant=variant)(forest.target, rng, draws)
    assert found.status == ""
    assert found.method == f"bridge-{variant}"
    assert found.parts["n_prior"] == 2000
    assert_estimate(found.log_evidence, forest.log_evidence, found.standard_error, df=FEW)
    moved = BridgeSampling(variant=variant)(forest.target, rng, describe(forest.target, forest.theta + 0.8))
    if not np.isnan(moved.standard_error):  # few draws are effective
        assert_other_estimate(moved.log_evidence, forest.log_evidence, moved.standard_error, df=FEW)


def test_dic_of_a_forest(rng, forest):
    found = DIC()(forest.target, rng, describe(forest.target, forest.theta))
    a, b, n = forest.a, forest.b, forest.n
    mean = digamma(a) - digamma(b)
    log_likelihood = ((a - 1) * digamma(a) + (b - 1) * digamma(b) - n * digamma(a + b)).sum() - n * np.log(2)
    at_mean = ((a - 1) * np.log(expit(mean)) + (b - 1) * np.log(expit(-mean))).sum() - n * np.log(2)
    assert_estimate(found.log_evidence, 2 * log_likelihood - at_mean, found.standard_error, df=FEW)
    assert_other_estimate(found.log_evidence, log_likelihood, found.standard_error, df=FEW)  # p_D once
    assert found.log_evidence == pytest.approx(-found.parts["dic"] / 2)
    p_d = (found.parts["mean_deviance"] - found.parts["deviance_at_mean"]) / 2
    assert found.parts["n_effective_parameters"] == pytest.approx(2 * p_d)
    assert 1 < found.parts["n_effective_parameters"] < 2.5  # two parameters, mostly the data's


def test_harmonic_mean_of_a_forest_says_how_few_draws_it_rests_on(rng):
    many = Forest(rng, n=3000, n_draws=25)
    found = HarmonicMean()(many.target, rng, describe(many.target, many.theta))
    assert found.method == "harmonic-1"
    if found.parts["n_effective"] < 10:
        assert "effective draws" in found.status
        assert np.isnan(found.standard_error)
    fourth = HarmonicMean(variant=4)(many.target, rng, describe(many.target, many.theta))
    assert "effective draws" not in fourth.status
    assert fourth.log_evidence > many.log_evidence


@pytest.mark.parametrize("variant", [1, 4])
def test_harmonic_means_say_that_the_prior_is_not_reached(rng, variant):
    """Their estimates are too high by about -log of the prior's mass that was reached; not so with little data.

    The first estimate varies with its smallest likelihoods, but is within a nat in four of five data sets and more.
    Control: the estimates themselves.
    """
    excess, least = np.empty(20), np.empty(20)
    for i in range(20):
        many = Forest(rng, n=300)
        found = HarmonicMean(variant=variant)(many.target, rng, describe(many.target, many.theta))
        excess[i], least[i] = found.log_evidence - many.log_evidence, -np.log(found.parts["prior_reached"])
        said = rf"the estimate is probably too high by (about|more than) {least[i]:.1f} nats"
        assert re.search(said, found.status)
        assert np.isnan(found.standard_error)
    assert binom.cdf((np.abs(excess - least) < 1).sum(), 20, 0.8) > P
    assert binom.cdf((np.abs(excess) < 1).sum(), 20, 0.8) < P
    few = Forest(rng, n=1, n_draws=400)
    near = HarmonicMean(variant=variant)(few.target, rng, describe(few.target, few.theta))
    assert near.status == ""
    assert near.parts["prior_reached"] > 0.8  # 0.96 in the median
    assert abs(near.log_evidence - few.log_evidence) < 0.5


# What the user is told.


def test_status_of_chains_that_differ(rng, forest):
    stuck = forest.theta + np.linspace(-3, 3, 40)[:, None, None]
    draws = describe(forest.target, stuck)
    assert "scale reduction" in draws.status
    for found in (HarmonicMean()(forest.target, rng, draws), DIC()(forest.target, rng, draws)):
        assert "scale reduction" in found.status
    assert "use more chains or draws" in describe(forest.target, forest.theta[:1, :50]).status
    assert np.isnan(DIC()(forest.target, rng, describe(forest.target, forest.theta[:1, :50])).standard_error)


def test_bad_options(rng, forest):
    target = forest.target
    for match, call in {
        "variant must be .*, got 2": lambda: HarmonicMean(variant=2),
        "variant must be .*, got 'best'": lambda: BridgeSampling(variant="best"),
        "n_prior": lambda: BridgeSampling(n_prior=0),
        "stiffness must be .*, got 4.0": lambda: PosteriorSampler(stiffness=4.0),
        "n_chains": lambda: PosteriorSampler(n_chains=0),
        "n_draws": lambda: PosteriorSampler(n_draws=0),
        "n_sweeps": lambda: PosteriorSampler(n_sweeps=0),
    }.items():
        with pytest.raises(OptionError, match=match):
            call()
    with pytest.raises(DataError, match="must contain integers"):
        PosteriorSampler(dynamics="brief")(replace(target, weights=target.weights + 0.5), rng)
    with pytest.raises(OptionError, match="dynamics must be one of 'auto', 'exact', 'brief', got 'hmc'"):
        PosteriorSampler(dynamics="hmc")(target, rng)
    wide = oracle.target_of(RestrictedBoltzmann(16, 15), oracle.rows(5, 16, rng))
    with pytest.raises(TooWideError, match=r"dynamics='exact'.* needs the exact Z"):
        PosteriorSampler(dynamics="exact")(wide, rng)
