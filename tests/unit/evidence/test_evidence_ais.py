"""Annealed importance sampling of the evidence, against quadrature of tiny models.

Chains are independent, and the mean of their weights over the evidence is 1.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.errors import OptionError, TooWideError
from bayesmrf.evidence import annealed
from bayesmrf.evidence.annealed import AIS
from bayesmrf.evidence.conjugate import Conjugate
from bayesmrf.models import Agreement, Boltzmann, Ising, RestrictedBoltzmann
from bayesmrf.priors import LogisticBeta, Normal
from tests.long import few
from tests.oracle.bounds import Comparison, assert_estimate, assert_mean, assert_other_mean
from tests.oracle.evidence import PRECISION, TINY, log_evidence, rows, target_of

LADDER = np.linspace(0, 1, 61) ** 3


def compared(found, log_evidence):
    return Comparison().means(np.exp(found.arrays["log_weights"] - log_evidence)[:, None], 1.0, bias=PRECISION)


def run(target, rng, temperatures=LADDER):
    return AIS(n_chains=400, temperatures=temperatures)(target, rng)


@pytest.mark.parametrize("name", TINY)
def test_within_its_error_of_quadrature(name, rng):
    target = TINY[name](rng)
    truth = log_evidence(target, rng)
    found = run(target, rng)
    assert compared(found, truth).holds
    weights = np.exp(found.arrays["log_weights"] - found.log_evidence)
    assert weights.mean() == pytest.approx(1)
    assert 0.1 > found.standard_error == pytest.approx(weights.std() / 20, rel=0.01)
    assert found.status == ""
    assert found.method == "ais"
    assert (found.n_samples, found.n_features) == (target.weights.sum(), target.n_features)
    assert found.parts["effective_chains"] > 100
    assert 0.82 < found.parts["acceptance"] < 0.97
    assert 0.7 < found.parts["lowest_acceptance"] <= found.parts["acceptance"]
    assert found.arrays["theta"].shape == (400, target.n_features)
    assert found.arrays["log_weights"].shape == (400,)
    # Observations half as many again, and a prior without what makes it integrate to 1.
    more = replace(target, weights=1.5 * target.weights)
    assert not compared(AIS(temperatures=LADDER)(more, rng), truth).holds
    assert not compared(found, truth - target.prior.log_constant(target.n_features)).holds


class Agreeable:
    """A generator with which every step is accepted."""

    def __init__(self, rng):
        self._rng = rng

    def __getattr__(self, name):
        return getattr(self._rng, name)

    def random(self, n):
        return np.full(n, -1.0)


@pytest.mark.parametrize("name", ["rbm 2x1", "triangle"])
def test_steps_of_any_size_will_do_but_not_without_an_accept_step(name, rng, monkeypatch):
    target = TINY[name](rng)
    truth = log_evidence(target, rng)
    monkeypatch.setattr(annealed, "_ACCEPTED", 0.4)
    ladder = np.linspace(0, 1, 101) ** 3
    found = run(target, rng, ladder)
    assert found.parts["acceptance"] < 0.6
    assert compared(found, truth).holds
    assert not compared(run(target, Agreeable(rng), ladder), truth).holds


@pytest.mark.parametrize("name", ["rbm 2x1", "tied"])
def test_single_chains_are_below_on_average(name, rng, monkeypatch):
    """Jensen's inequality, on a ladder so coarse that the gap shows; one that ends too soon is found out."""
    target = TINY[name](rng)
    truth = log_evidence(target, rng)

    def gaps(temperatures):
        return run(target, rng, temperatures).arrays["log_weights"][:, None] - truth

    coarse = gaps(np.linspace(0, 1, 11))
    assert_other_mean(coarse, 0)
    assert coarse.mean() < 0
    monkeypatch.setattr(annealed, "ladder_of", lambda temperatures: np.linspace(0, 0.8, temperatures + 1))
    short = gaps(100)
    assert_other_mean(short, 0)
    assert short.mean() > 0


def independent(rng):
    return target_of(Boltzmann(graphs.from_edges([], "abcd")), rows(40, 4, rng), Normal(1.5))


def test_chains_must_start_from_the_prior(rng):
    class Narrow(Normal):
        def sample(self, *arguments):
            return 0.3 * super().sample(*arguments)

    target = independent(rng)
    truth = Conjugate()(target, rng).log_evidence
    found = [
        AIS(n_chains=2000, temperatures=10, ladder="linear")(replace(target, prior=p), rng)
        for p in (target.prior, Narrow(1.5))
    ]
    assert compared(found[0], truth).holds
    assert not compared(found[1], truth).holds


CLOSED = {
    "nodes": independent,
    "tree": lambda rng: target_of(Agreement(graphs.binary_tree(2)), rows(40, 7, rng), LogisticBeta(2.0, 3.0)),
    "path": lambda rng: target_of(Ising(graphs.path(5), fields=False), rows(40, 5, rng)),
    "eleven nodes": lambda rng: target_of(Agreement(graphs.path(11)), rows(20, 11, rng)),  # by elimination
}


@pytest.mark.parametrize("name", few(CLOSED, "eleven nodes"))
def test_conjugate_models(name, rng):
    target = CLOSED[name](rng)
    truth = Conjugate()(target, rng).log_evidence
    found = run(target, rng)
    assert compared(found, truth).holds
    more = replace(target, weights=target.weights + (np.arange(len(target.weights)) == 0))
    assert not compared(found, Conjugate()(more, rng).log_evidence).holds


def test_machine_of_five_words(rng):
    """Two runs on ladders of their own agree; 23 parameters, equivalent modes."""
    target = target_of(RestrictedBoltzmann(5, 3), rows(100, 5, rng))
    a, b = (AIS(temperatures=np.linspace(0, 1, 151) ** power)(target, rng) for power in (3, 4))
    error = np.hypot(a.standard_error, b.standard_error)
    count = min(a.parts["effective_chains"], b.parts["effective_chains"])
    assert_estimate(a.log_evidence, b.log_evidence, error, df=count - 1)
    # Of 100 weights, 17 to 45 count, over data sets. The error is then 0.2 nats, give or take a fifth.
    assert error < 0.2 * 1.2**6
    for found in (a, b):
        assert 0.85 < found.parts["acceptance"] < 0.95
        assert found.parts["temperatures"] == 150


def test_the_draws_are_those_of_the_posterior(rng):
    """Weighted, their mean is that of the posterior, here of independent nodes: by quadrature in one dimension."""
    target = independent(rng)
    found = run(target, rng)
    grid = np.linspace(-12, 12, 4001)[:, None]
    ones = target.weights @ target.states
    log_density = ones * grid - target.n_samples * np.logaddexp(0, grid) - grid**2 / 4.5
    weight = np.exp(log_density - log_density.max(axis=0))
    mean = (grid * weight).sum(axis=0) / weight.sum(axis=0)

    weights = np.exp(found.arrays["log_weights"] - found.log_evidence)[:, None]
    assert_mean((weights * (found.arrays["theta"] - mean))[:, None], 0)
    assert_other_mean((weights * (found.arrays["theta"] + 0.3 - mean))[:, None], 0)


def test_equal_generators_give_equal_answers(rng):
    target = TINY["rbm 2x1"](rng)
    found = [AIS(n_chains=10, temperatures=5)(target, np.random.default_rng(7)) for _ in range(2)]
    assert found[0] == found[1]


def test_steps_are_interpolated():
    steps = annealed.Steps(np.array([0.0, 0.5, 1.0]), np.log([1.0, 4.0, 4.0]), np.log([[1.0], [1.0], [9.0]]))
    size, mass = steps.at(0.25)
    assert size == pytest.approx(2)
    assert mass == pytest.approx([1])
    size, mass = steps.at(0.75)
    assert size == pytest.approx(4)
    assert mass == pytest.approx([3])


def test_ladders(rng, monkeypatch):
    """Steps are equal ones to a power, and a ladder that is given stays as it is."""
    target, seen = TINY["rbm 2x1"](rng), []
    monkeypatch.setattr(annealed, "consecutive", lambda path: seen.append(path) or itertools.pairwise(path))
    given = np.array([0, 0.3, 1])
    for temperatures, options in ((4, {}), (4, {"ladder": "linear"}), (4, {"ladder": 2}), (given, {})):
        AIS(n_chains=2, temperatures=temperatures, **options)(target, rng)
    equal = np.linspace(0, 1, 5)
    for path, wanted in zip(seen, (equal**3, equal, equal**2, given), strict=True):
        np.testing.assert_array_equal(path, wanted)


def test_the_cubic_ladder_keeps_more_chains_than_the_linear_one(rng):
    """Variances of the log weights of 200 chains: their ratio was above 3 in 50 runs, and is F-distributed at 1.

    The 1e-6 quantile of F(199, 199) is 1.98.
    """
    target = target_of(RestrictedBoltzmann(4, 2), rows(200, 4, rng))
    linear, cubic, again = (
        AIS(n_chains=200, temperatures=60, ladder=ladder)(target, rng).arrays["log_weights"].var()
        for ladder in ("linear", "cubic", "cubic")
    )
    assert linear / cubic > 2
    assert 0.5 < again / cubic < 2


def test_few_effective_chains_are_told(rng):
    target = target_of(RestrictedBoltzmann(5, 3), rows(3000, 5, rng))
    found = AIS(n_chains=20, temperatures=1)(target, rng)
    assert found.parts["effective_chains"] < 10
    assert "of 20 chains count: give more temperatures" in found.status
    assert np.isnan(found.parts["acceptance"])
    assert "cubic" not in found.status
    linear = AIS(n_chains=20, temperatures=1, ladder="linear")(target, rng)
    assert "give more temperatures, or the ladder 'cubic'" in linear.status


def test_bad_input(rng):
    target = TINY["rbm 2x1"](rng)
    with pytest.raises(OptionError, match=r"n_chains must be an integer from 2 .*, got 1;"):
        AIS(n_chains=1)(target, rng)
    with pytest.raises(OptionError, match=r"temperatures must be .*, got 0"):
        AIS(temperatures=0)(target, rng)
    with pytest.raises(OptionError, match="rise from 0 to 1, got"):
        AIS(temperatures=np.array([0, 0.5]))(target, rng)
    with pytest.raises(OptionError, match=r"n_leapfrog must be .*, got 0"):
        AIS(n_leapfrog=0)(target, rng)
    for ladder in ("quartic", 0, -1.0, 11, np.nan, True, None):
        with pytest.raises(OptionError, match=r"ladder must be 'cubic', 'linear' or a power in \(0, 10\], got"):
            AIS(ladder=ladder)(target, rng)
    wide = target_of(RestrictedBoltzmann(16, 15), rows(30, 16, rng))
    with pytest.raises(TooWideError, match=r"method='ais' needs the exact Z.* 2\^15 = 32768 .*use method='laplace'"):
        AIS()(wide, rng)
    grid = target_of(Agreement(graphs.grid(30, 30)), rows(5, 900, rng))
    with pytest.raises(TooWideError, match=r"method='ais' needs the exact Z.* 900 nodes .*use method='laplace'"):
        AIS()(grid, rng)
