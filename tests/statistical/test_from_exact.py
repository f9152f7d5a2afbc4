"""Moments from fresh exact samples: no bias, the right spread, fresh in every call, and the same once more on resuming.

False alarms are 1e-6 a test, and every statistical check has a control that must fail it.
"""

import numpy as np
import pytest
from scipy.stats import chi2

from bayesmrf import graphs
from bayesmrf.base import Kind
from bayesmrf.engines import Bethe, CouplingFromThePast, Elimination, Enumeration, FromExact, Gibbs, Persistent
from bayesmrf.errors import OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import Langevin
from bayesmrf.models import Agreement, Boltzmann, Potts
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.priors import Normal
from bayesmrf.runs import run
from tests.oracle.bounds import P, assert_estimate, assert_mean, assert_other_estimate

GRAPH = graphs.cycle(4)
CELLS = {
    "elimination-agreement": (Elimination(), Agreement(GRAPH, True)),
    "elimination-potts": (Elimination(), Potts(GRAPH, 3)),
    "enumeration-boltzmann": (Enumeration(), Boltzmann(GRAPH)),
    "enumeration-potts": (Enumeration(), Potts(GRAPH, 3)),
    "cftp-boltzmann": (CouplingFromThePast(), Boltzmann(GRAPH)),
}
by_cell = pytest.mark.parametrize(("sampler", "model"), CELLS.values(), ids=CELLS.keys())


def answers(engine, model, theta, rng, n_calls, forgets=False):
    """Moments of calls in a row."""
    plan, state = engine.prepare(model), engine.start(model, rng)
    found = []
    for _ in range(n_calls):
        answer = engine.infer(model, theta, plan, "moments", state)
        state = state if forgets else answer.state
        found.append(answer.moments)
    return np.array(found)


def truth(model, theta):
    """Moments, and the variance of each feature, which takes two values."""
    mean = Enumeration().infer(model, theta, None).moments
    return mean, (1 - mean) * (mean - model.feature_low)


@by_cell
def test_moments_have_no_bias(sampler, model, rng):
    theta = rng.uniform(-0.7, 0.7, model.n_features)
    n = 40_000
    found = answers(FromExact(sampler, n // 4), model, theta, rng, 4).mean(axis=0)
    for at, check in ((theta, assert_estimate), (theta + 0.2, assert_other_estimate)):
        mean, variance = truth(model, at)
        check(found, mean, np.sqrt(variance / n))


@by_cell
def test_calls_are_independent_and_have_the_spread_of_their_samples(sampler, model, rng):
    theta = rng.uniform(-0.7, 0.7, model.n_features)
    n_samples, n_calls = 50, 400
    mean, variance = truth(model, theta)

    def is_right(found, n_samples):
        z2 = ((found - mean) ** 2 / (variance / n_samples)).sum(axis=0)  # chi-squared with n_calls degrees
        lower, upper = chi2.ppf([P / 2 / len(mean), 1 - P / 2 / len(mean)], n_calls)
        # The law of a mean of 50 is not quite normal: a twentieth is given away.
        return (z2 > 0.95 * lower).all() and (z2 < 1.05 * upper).all()

    found = answers(FromExact(sampler, n_samples), model, theta, rng, n_calls)
    assert is_right(found, n_samples)
    assert not is_right(found, 2 * n_samples)
    assert not is_right(answers(FromExact(sampler, n_samples), model, theta, rng, n_calls, forgets=True), n_samples)
    # Neighbouring calls: products of independent errors have mean zero.
    z = (found - mean) / np.sqrt(variance / n_samples)
    assert_mean((z[1:] * z[:-1])[:, None], 0)


def test_equal_memories_give_equal_moments(rng):
    model, engine = Boltzmann(GRAPH), FromExact(Elimination(), 30)
    theta = rng.normal(size=8)
    plan, state = engine.prepare(model), engine.start(model, rng)
    before = state.copy()
    one, two = (engine.infer(model, theta, plan, "moments", state) for _ in range(2))
    np.testing.assert_array_equal(state, before)
    np.testing.assert_array_equal(one.moments, two.moments)
    np.testing.assert_array_equal(one.state, two.state)
    assert one.stats == {"n_samples": 30}
    assert one.log_z is None
    assert (engine.start(model, rng) != before).any()


def kernel(model, s_bar, engine, epsilon=0.35):
    return LangevinKernel(
        Likelihood(model, s_bar, 30, engine), Normal(1.0), np.zeros(model.n_features), Langevin(epsilon)
    )


def test_a_resumed_run_makes_the_draws_of_an_uninterrupted_one(rng, tmp_path):
    model = Potts(GRAPH, 3)
    s_bar = model.statistics(rng.integers(0, 3, (30, 4)))
    seed = int(rng.integers(2**32))
    made = kernel(model, s_bar, FromExact(Elimination(), 20), 0.05)
    options = {"n_warmup": 3, "n_chains": 2, "progress": False}
    whole = run.sample(made, n_draws=25, random_state=seed, **options).values["theta"]
    run.sample(made, n_draws=10, random_state=seed, checkpoint=tmp_path / "run", **options)
    resumed = run.sample(made, n_draws=25, checkpoint=tmp_path / "run", **options).values["theta"]
    np.testing.assert_array_equal(whole, resumed)
    # Control: an engine that starts anew.
    fresh = run.sample(made, n_draws=25, random_state=seed + 1, **options).values["theta"]
    assert (fresh != whole).any()


class AtHalf(Elimination):
    def sample(self, model, theta, plan, n_samples, rng):
        return super().sample(model, theta / 2, plan, n_samples, rng)


def test_langevin_with_exact_samples_comes_near(rng):
    """The mean of 16 chains errs by 0.05 posterior standard deviations, and by less for the finite epsilon."""
    model = Boltzmann(graphs.path(2))
    s_bar = model.statistics(np.repeat([[1, 1], [0, 0], [1, 0], [0, 1]], [20, 6, 2, 2], axis=0))
    axis = np.linspace(-6, 6, 81)
    theta = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    s = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 1, 1]], dtype=float)
    log_p = 30 * (theta @ s_bar - np.logaddexp.reduce(theta @ s.T, axis=1)) - (theta**2).sum(axis=1) / 2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = p @ theta
    sd = np.sqrt(p @ theta**2 - mean**2)

    def distance(sampler):
        made = kernel(model, s_bar, FromExact(sampler, 200))
        draws = run.sample(made, n_draws=400, n_warmup=50, n_chains=16, random_state=rng, progress=False)
        return (np.abs(draws.values["theta"].mean(axis=(0, 1)) - mean) / sd).max()

    assert distance(Elimination()) < 0.4
    assert distance(AtHalf()) > 0.4


def test_what_is_refused(rng):
    for sampler in (Gibbs(), Persistent(), Bethe(), "elimination"):
        with pytest.raises(OptionError, match=r"sampler must be an engine that draws exact samples, got .*; give an"):
            FromExact(sampler)
    for n in (0, -2, 1.5):
        with pytest.raises(OptionError, match=f"n_samples must be .*, got {n}"):
            FromExact(Elimination(), n)
    model, engine = Boltzmann(GRAPH), FromExact(Elimination())
    plan = engine.prepare(model)
    with pytest.raises(OptionError, match=r"state must be the memory of the engine 'from-exact', got None; make it"):
        engine.infer(model, np.zeros(8), plan)
    with pytest.raises(OptionError, match=r"for the model 'potts' with 3 states a node, got 'from-exact'"):
        Likelihood(Potts(GRAPH, 3), np.zeros(14), 10, FromExact(CouplingFromThePast()))
    assert (engine.name, engine.answers, engine.kind) == ("from-exact", {"moments"}, Kind.RANDOM)
