"""Samplers of theta against the posterior on a grid: means and second moments over independent chains."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.base import LOG_Z, MOMENTS
from bayesmrf.engines import Bethe, Brief, Elimination, Enumeration, Gibbs, Persistent, PseudoLikelihood
from bayesmrf.errors import DivergenceError, OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import AuxiliaryVariable, Exchange, Langevin, Metropolis
from bayesmrf.metrics import log_pseudo_likelihood
from bayesmrf.models import Agreement, Boltzmann, Ising, Potts
from bayesmrf.posterior.conditionals import exact_scan
from bayesmrf.posterior.parameters.coordinate_gibbs import CoordinateGibbs
from bayesmrf.posterior.parameters.hamiltonian import HamiltonianKernel
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.priors import Cauchy, LogisticBeta, Normal
from bayesmrf.published.auxiliary_variable import AuxiliaryVariableKernel
from bayesmrf.published.exchange import ExchangeKernel
from bayesmrf.runs import run
from tests.oracle import states as oracle
from tests.oracle.bounds import assert_mean, assert_other_mean

PAIR = graphs.path(2)
N = 15


class ByLogZ(Elimination):
    """Exact log Z alone, so that Metropolis takes its other way."""

    answers = frozenset({LOG_Z})


class OneByOne(Elimination):
    """Without the compiled sweep."""

    walk = None


def features(model):
    states = oracle.all_states(model.graph.n_nodes)
    return np.array([model.statistics(s[None]) for s in states])


def grid_posterior(model, s_bar, prior, width=7.0, points=61):
    """Mean and second moments of theta by the trapezoidal rule on a cube around 0."""
    s, k = features(model), model.n_features
    axis = np.linspace(-width, width, points)
    theta = np.stack(np.meshgrid(*[axis] * k, indexing="ij"), axis=-1).reshape(-1, k)
    log_p = N * (theta @ s_bar - np.logaddexp.reduce(theta @ s.T, axis=1)) + prior.log_density(theta).sum(axis=1)
    w = np.exp(log_p - log_p.max())
    w /= w.sum()
    return np.concatenate([w @ theta, w @ theta**2])


def moments(kernel, rng, n_chains=64, n_draws=100, n_warmup=20):
    """Draws of theta and of its square."""
    draws = run.sample(
        kernel, n_draws=n_draws, n_warmup=n_warmup, n_chains=n_chains, random_state=rng, progress=False
    ).values["theta"]
    return np.concatenate([draws, draws**2], axis=2)


# Fewer draws of kernels whose steps take long.
FEW = {"n_chains": 48, "n_draws": 30, "n_warmup": 20}
SIZES = {"hamiltonian": FEW, "exchange": FEW, "auxiliary variable": {"n_draws": 50}}
MODELS = {"agreement": Agreement(PAIR), "ising": Ising(PAIR), "boltzmann": Boltzmann(PAIR)}
KERNELS = {
    "metropolis, by moments": lambda lik, prior, start: MetropolisKernel(
        lik(Elimination()), prior, start, Metropolis(0.8)
    ),
    "metropolis, enumeration": lambda lik, prior, start: MetropolisKernel(
        lik(Enumeration()), prior, start, Metropolis(0.8)
    ),
    "metropolis, by moments one by one": lambda lik, prior, start: MetropolisKernel(
        lik(OneByOne()), prior, start, Metropolis(0.8)
    ),
    "metropolis, by log_z": lambda lik, prior, start: MetropolisKernel(lik(ByLogZ()), prior, start, Metropolis(0.8)),
    "gibbs": lambda lik, prior, start: CoordinateGibbs(lik(Elimination()), prior, start),
    "exchange": lambda lik, prior, start: ExchangeKernel(lik(Elimination()), prior, start, Exchange(0.8)),
    "auxiliary variable": lambda lik, prior, start: AuxiliaryVariableKernel(
        lik(Elimination()), prior, start, AuxiliaryVariable(0.5)
    ),
    "hamiltonian": lambda lik, prior, start: HamiltonianKernel(
        lik(Elimination()), prior, start, scale=np.triu(np.full((len(start),) * 2, 0.4)), step_size=0.9
    ),
    "adjusted Langevin": lambda lik, prior, start: LangevinKernel(
        lik(Elimination()), prior, start, Langevin(0.6, adjusted=True)
    ),
    "adjusted Langevin with momentum and scale": lambda lik, prior, start: LangevinKernel(
        lik(Elimination()), prior, start, Langevin(0.9, momentum=0.7, adjusted=True), np.linspace(0.5, 0.8, len(start))
    ),
}


def problem(model, rng):
    states = rng.integers(0, 2, size=(N, 2))
    states[: N // 2, 1] = states[: N // 2, 0]
    s_bar = model.statistics(states)
    return s_bar, lambda engine: Likelihood(model, s_bar, N, engine)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_exact_kernels_match_the_grid(name, model, rng):
    s_bar, lik = problem(model, rng)
    prior = Normal(np.linspace(0.8, 1.2, model.n_features))
    exact = grid_posterior(model, s_bar, prior)
    start = exact[: model.n_features]  # a good reference for the auxiliary variable, whose chain sticks with a bad one
    assert_mean(moments(KERNELS[name](lik, prior, start), rng, **SIZES.get(name, {})), exact)


class BetheOneByOne(Bethe):
    """Without the compiled sweep."""

    walks_by = None


@pytest.mark.parametrize("family", [Ising, Boltzmann, lambda g: Agreement(g, fields=True)])
@pytest.mark.parametrize(
    ("compiled", "plain"), [(Elimination(), OneByOne()), (Bethe(), BetheOneByOne())], ids=["elimination", "bethe"]
)
def test_compiled_sweeps_make_the_same_moves(family, compiled, plain, rng):
    model = family(graphs.cycle(5))
    s_bar = model.statistics(rng.integers(0, 2, size=(30, 5)))
    seed, draws = int(rng.integers(2**32)), []
    for engine in (compiled, plain):
        kernel = MetropolisKernel(Likelihood(model, s_bar, 30, engine), Normal(), np.zeros(10), Metropolis(0.6))
        draws.append(run.sample(kernel, n_draws=40, n_chains=1, random_state=seed, progress=False).values)
    np.testing.assert_allclose(draws[0]["theta"], draws[1]["theta"], atol=1e-9)
    assert 0.1 < draws[0]["acceptance"].mean() < 0.95


def test_another_prior(rng):
    model = MODELS["agreement"]
    s_bar, lik = problem(model, rng)
    exact = grid_posterior(model, s_bar, Cauchy(0.5), width=20, points=4001)
    assert_mean(moments(MetropolisKernel(lik(Elimination()), Cauchy(0.5), np.zeros(1), Metropolis(0.8)), rng), exact)
    kernel = LangevinKernel(lik(Elimination()), Cauchy(0.5), np.zeros(1), Langevin(0.6, adjusted=True))
    assert_mean(moments(kernel, rng), exact)
    assert_other_mean(
        moments(MetropolisKernel(lik(Elimination()), Normal(0.2), np.zeros(1), Metropolis(0.8)), rng), exact
    )


class AtZero(Elimination):
    """Samples and moments at theta = 0, whatever was asked."""

    walk = None

    def infer(self, model, theta, plan, want=MOMENTS, state=None):
        return super().infer(model, np.zeros_like(theta), plan, want, state)

    def sample(self, model, theta, plan, n_samples, rng):
        return super().sample(model, np.zeros_like(theta), plan, n_samples, rng)


@pytest.mark.parametrize("name", ["metropolis", "gibbs", "exchange", "auxiliary variable", "langevin", "hamiltonian"])
def test_an_engine_that_is_wrong_is_caught(name, rng, monkeypatch):
    monkeypatch.setattr(exact_scan, "MAX_STATES", 0)  # gibbs asks the engine
    model = MODELS["ising"]
    s_bar, lik = problem(model, rng)
    prior, start = Normal(1.0), np.zeros(3)
    kernel = {
        "metropolis": lambda: MetropolisKernel(lik(AtZero()), prior, start, Metropolis(0.8)),
        "gibbs": lambda: CoordinateGibbs(lik(AtZero()), prior, start),
        "exchange": lambda: ExchangeKernel(lik(AtZero()), prior, start, Exchange(0.8)),
        "auxiliary variable": lambda: AuxiliaryVariableKernel(lik(AtZero()), prior, start, AuxiliaryVariable(0.5)),
        "langevin": lambda: LangevinKernel(lik(AtZero()), prior, start, Langevin(0.6, adjusted=True)),
        "hamiltonian": lambda: HamiltonianKernel(lik(AtZero()), prior, start),
    }[name]()
    size = FEW if name == "gibbs" else SIZES.get(name, {})
    assert_other_mean(moments(kernel, rng, **size), grid_posterior(model, s_bar, prior))


def potts_problem(rng):
    """Three states at two nodes, six parameters less one field; the grid is over five."""
    model = Potts(PAIR, 3)
    states = rng.integers(0, 3, size=(N, 2))
    states[: N // 2, 1] = states[: N // 2, 0]
    return model, Likelihood(model, model.statistics(states), N, Enumeration())


def potts_posterior(model, s_bar, prior):
    states = np.array([(a, b) for a in range(3) for b in range(3)])
    s = np.array([model.statistics(x[None]) for x in states])
    axis = np.linspace(-5, 5, 17)
    theta = np.stack(np.meshgrid(*[axis] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    log_p = N * (theta @ s_bar - np.logaddexp.reduce(theta @ s.T, axis=1)) + prior.log_density(theta).sum(axis=1)
    w = np.exp(log_p - log_p.max())
    return np.concatenate([w @ theta, w @ theta**2]) / w.sum()


@pytest.mark.parametrize("by_engine", [False, True])
def test_gibbs_with_many_states(by_engine, rng, monkeypatch):
    if by_engine:
        monkeypatch.setattr(exact_scan, "MAX_STATES", 0)
    model, lik = potts_problem(rng)
    prior = Normal(np.linspace(0.8, 1.2, 5))
    exact = potts_posterior(model, lik.s_bar, prior)
    size = {"n_chains": 32, "n_draws": 60, "n_warmup": 10} if by_engine else {}
    draws = moments(CoordinateGibbs(lik, prior, np.zeros(5)), rng, **size)
    assert_mean(draws, exact)
    assert_other_mean(draws, potts_posterior(model, lik.s_bar, Normal(2.0)))


@pytest.mark.parametrize(("family", "by_engine"), [(Ising, True), (Boltzmann, False)])
def test_gibbs_with_a_cauchy_prior(family, by_engine, rng, monkeypatch):
    if by_engine:
        monkeypatch.setattr(exact_scan, "MAX_STATES", 0)
    model = family(PAIR)
    s_bar, lik = problem(model, rng)
    exact, other = (grid_posterior(model, s_bar, p, width=12, points=101) for p in (Cauchy(0.5), Normal(2.0)))
    size = {"n_chains": 32, "n_draws": 100, "n_warmup": 10} if by_engine else {}
    draws = moments(CoordinateGibbs(lik(Enumeration()), Cauchy(0.5), np.zeros(3)), rng, **size)
    assert_mean(draws, exact)
    assert_other_mean(draws, other)


@pytest.mark.parametrize("prior", [LogisticBeta(), Normal(1e3), Cauchy(np.array([1.0, 1.0, 1e3]))], ids=str)
def test_priors_that_gibbs_does_not_take(prior, rng):
    _, lik = problem(MODELS["ising"], rng)
    with pytest.raises(OptionError, match=r"prior must be priors.Normal or priors.Cauchy with scales <= 100"):
        CoordinateGibbs(lik(Enumeration()), prior, np.zeros(3))


def test_uncorrected_langevin_is_biased_for_a_large_epsilon_only(rng):
    model = MODELS["agreement"]
    s_bar, lik = problem(model, rng)
    prior = Normal(1.0)
    exact = grid_posterior(model, s_bar, prior, points=2001)
    assert_other_mean(moments(LangevinKernel(lik(Elimination()), prior, np.zeros(1), Langevin(1.0)), rng), exact)
    scaled = LangevinKernel(lik(Elimination()), prior, np.zeros(1), Langevin(0.15, momentum=0.9))
    assert_mean(moments(scaled, rng, n_draws=200, n_warmup=150), exact)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_one_moment_gives_the_ratio_along_a_coordinate(model, rng):
    _, lik = problem(model, rng)
    likelihood = lik(Elimination())
    theta = rng.normal(size=model.n_features)
    moments = likelihood.moments(theta)
    for j in range(model.n_features):
        for delta in (-3.0, 0.01, 2.0, 40.0):
            new = theta.copy()
            new[j] += delta
            expected = likelihood.log_ratio(theta, new)
            assert likelihood.coordinate_log_ratio(moments[j], j, delta) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("engine", [Persistent(n_chains=640, n_sweeps=5), "brief"], ids=["persistent", "brief"])
def test_langevin_with_chains_comes_near(engine, rng):
    """Chains give noisy moments: the mean stays within 0.3 posterior standard deviations of the exact one here."""
    model = MODELS["boltzmann"]
    states = rng.integers(0, 2, size=(N, 2))
    s_bar = model.statistics(states)
    prior = Normal(1.0)
    exact = grid_posterior(model, s_bar, prior)
    if engine == "brief":
        engine = Brief(states, n_chains=640, n_sweeps=5)
    kernel = LangevinKernel(Likelihood(model, s_bar, N, engine), prior, np.zeros(3), Langevin(0.3))
    draws = run.sample(kernel, n_draws=800, n_warmup=50, n_chains=8, random_state=rng, progress=False).values["theta"]
    sd = np.sqrt(exact[3:] - exact[:3] ** 2)
    assert (np.abs(draws.mean(axis=(0, 1)) - exact[:3]) / sd).max() < 0.3


@pytest.mark.parametrize(
    ("kernel", "engine", "message"),
    [
        (
            MetropolisKernel,
            Gibbs(),
            "got 'gibbs'; 'metropolis' needs moments, use one of enumeration",
        ),
        (LangevinKernel, Gibbs(), "'langevin' needs moments"),
        (ExchangeKernel, Persistent(), "got 'persistent'; 'exchange' needs sample"),
        (AuxiliaryVariableKernel, Persistent(), "'auxiliary-variable' needs sample"),
    ],
)
def test_illegal_pairs_name_the_engines_that_would_do(kernel, engine, message, rng):
    _, lik = problem(MODELS["ising"], rng)
    with pytest.raises(OptionError, match=message):
        kernel(lik(engine), Normal(), np.zeros(3))


def test_adjusted_langevin_needs_log_z(rng):
    _, lik = problem(MODELS["ising"], rng)
    with pytest.raises(OptionError, match="needs log_z"):
        LangevinKernel(lik(Persistent()), Normal(), np.zeros(3), Langevin(0.01, adjusted=True))


def test_divergence_keeps_the_draws_and_names_the_remedy(rng):
    _, lik = problem(MODELS["ising"], rng)
    kernel = LangevinKernel(lik(Elimination()), Normal(1e-3), np.zeros(3), Langevin(1.0))
    with pytest.raises(DivergenceError, match=r"epsilon must be smaller, .*, got 1") as caught:
        run.sample(kernel, n_draws=5000, n_chains=1, random_state=rng, progress=False)
    assert caught.value.draws.n_draws > 0


@pytest.mark.parametrize(("options", "message"), [({"epsilon": 0}, "epsilon"), ({"momentum": 1.0}, "momentum")])
def test_bad_langevin_options(options, message, rng):
    _, lik = problem(MODELS["ising"], rng)
    with pytest.raises(OptionError, match=message):
        LangevinKernel(lik(Elimination()), Normal(), np.zeros(3), Langevin(**options))


def test_pseudo_likelihood_engine(rng):
    """Its log Z makes the likelihood the pseudo-likelihood, its moments are the gradient, and its posterior is
    another one."""
    states = rng.integers(0, 2, size=(40, 4))
    weights = rng.integers(1, 4, size=40)
    model = Boltzmann(graphs.cycle(4))
    s_bar, n = model.statistics(states, weights), float(weights.sum())
    likelihood = Likelihood(model, s_bar, n, PseudoLikelihood(states, weights))
    theta = rng.normal(size=8)
    found = likelihood.inference(theta)
    expected = log_pseudo_likelihood(model, theta, states, weights)
    assert likelihood.log_likelihood(theta, found.log_z) == pytest.approx(expected)
    eye = 1e-5 * np.eye(8)
    numeric = [(likelihood.log_z(theta + e) - likelihood.log_z(theta - e)) / 2e-5 for e in eye]
    np.testing.assert_allclose(found.moments, numeric, atol=1e-7)
    exact = Likelihood(model, s_bar, n, Elimination())
    assert abs(exact.log_ratio(theta, theta / 2) - likelihood.log_ratio(theta, theta / 2)) > 1e-3


def test_gibbs_where_states_are_rare(rng):
    """Without data theta has its prior, so wide that a state of a node is 1e20 times as likely as the other."""
    likelihood = Likelihood(Boltzmann(graphs.path(3)), np.full(5, 0.5), 0, Elimination())
    kernel = CoordinateGibbs(likelihood, Normal(40.0), np.zeros(5))
    options = {"n_draws": 500, "n_warmup": 10, "n_chains": 4, "progress": False}
    squares = (run.sample(kernel, random_state=rng, **options).values["theta"] / 40) ** 2
    assert_mean(squares, np.ones(5))
    assert_other_mean(squares, np.full(5, 1.6))
