"""The bounds of the tests: false alarms are as rare as stated, and small errors are seen."""

import numpy as np
import pytest
from scipy import signal, stats

from tests.oracle.bounds import (
    Comparison,
    assert_estimate,
    assert_mean,
    assert_other_estimate,
    assert_other_mean,
    assert_other_share,
    assert_share,
    autocorrelation_time,
    units,
)

RATE, N_RUNS = 0.01, 1000


def autoregression(rng, n_chains, n_draws, a, n_values=1):
    noise = np.sqrt(1 - a**2) * rng.standard_normal((n_chains, n_draws, n_values))
    noise[:, 0] /= np.sqrt(1 - a**2)  # stationary from the start
    return signal.lfilter([1], [1, -a], noise, axis=1)


def sticky(rng, n_chains, n_draws, share, stay):
    """Chains of an event that is rare and stays for long."""
    there = rng.random(n_chains) < share
    out = np.empty((n_chains, n_draws), bool)
    for t in range(n_draws):
        out[:, t] = there
        there = np.where(rng.random(n_chains) < stay, there, rng.random(n_chains) < share)
    return out


def batches(rng, n_batches, size, truth):
    x = rng.standard_normal((n_batches, size)).mean(axis=1)
    return x.mean(), truth, x.std(ddof=1) / np.sqrt(n_batches)


def alarms(draw, truth):
    return sum(not draw(Comparison(RATE), truth).holds for _ in range(N_RUNS))


def at_most(count):
    """Whether so few alarms are likely at the rate stated, with half as much again for approximations."""
    return stats.binom.sf(count - 1, N_RUNS, 1.5 * RATE) > 1e-6


CASES = {
    "many chains": lambda rng: lambda c, t: c.means(autoregression(rng, 24, 20, 0.8, 3), t),
    "few chains": lambda rng: lambda c, t: c.means(autoregression(rng, 4, 480, 0.5), t),
    "independent values": lambda rng: lambda c, t: c.means(rng.standard_normal((40, 1, 5)), t),
    "skewed values": lambda rng: lambda c, t: c.means(rng.exponential(size=(60, 1)) - 1, t),
    "rare events": lambda rng: lambda c, t: c.shares(sticky(rng, 96, 60, 0.05, 0.8), t + 0.05),
    "estimates": lambda rng: lambda c, t: c.estimates(rng.standard_normal(4) / 4, t, 1 / 4),
    "estimates of few batches": lambda rng: lambda c, t: c.estimates(*batches(rng, 10, 12, t), df=9),
    "counts": lambda rng: lambda c, t: c.counts(rng.binomial(80, 0.1, 4), 80, t + 0.1),
}


@pytest.mark.parametrize("name", CASES)
def test_false_alarms_are_as_rare_as_stated(name, rng):
    assert at_most(alarms(CASES[name](rng), 0.0))


@pytest.mark.parametrize("name", CASES)
def test_errors_are_seen(name, rng):
    assert alarms(CASES[name](rng), 0.85) > 0.9 * N_RUNS


def test_errors_that_ignore_autocorrelation_raise_too_many_alarms(rng):
    """Control: the same chains as if their draws were independent."""
    count = sum(
        not Comparison(RATE).means(autoregression(rng, 4, 480, 0.5).reshape(-1, 1), 0.0).holds for _ in range(N_RUNS)
    )
    assert not at_most(count)


def test_alarms_at_the_default_rate(rng):
    draws = rng.standard_normal((100, 30, 2))
    assert_mean(draws, [0, 0])
    assert_other_mean(draws, [0, 0.2])
    assert_mean(draws, [0, 0.2], bias=0.2)
    assert_estimate(0.4, 0, 0.1)
    assert_other_estimate([0.4, 0.6], 0, 0.1)
    assert_estimate([0.4, 0.6], 0, 0.1, bias=0.2)
    assert_estimate([0.4, 0.6], 0, 0.1, df=5)
    assert_share(10, 100, 0.1)
    assert_other_share(10, 100, 0.6)
    for check in (assert_mean, assert_share):
        with pytest.raises(AssertionError, match="the worst is off by"):
            check(draws, [0, 1]) if check is assert_mean else check(10, 100, 0.7)
    with pytest.raises(AssertionError, match="p-value"):
        assert_other_mean(draws, [0, 0])


def test_events_that_never_come_are_no_alarm_where_few_are_expected():
    nothing = np.zeros((32, 100), bool)
    assert Comparison().shares(nothing, 1e-4).holds
    assert not Comparison().shares(nothing, 0.05).holds
    always = np.ones((32, 100))
    assert Comparison().means(always, 1.0).holds
    assert not Comparison().means(always, 1.1).holds


def test_what_is_not_finite_is_refused():
    for draws in (np.full((32, 100), np.nan), np.repeat([[1.0, np.nan]], 32, axis=0)):
        for truth in (0.0, np.nan):
            with pytest.raises(AssertionError, match="are NaN"):
                Comparison().means(draws, truth)


def test_sums_of_probabilities_exceed_one_by_rounding():
    assert Comparison().shares(np.ones((32, 100), bool), 1 + 1e-15).holds


def test_the_error_of_the_truth_counts(rng):
    draws = rng.standard_normal((64, 100))
    assert not Comparison().means(draws, 0.5).holds
    assert Comparison().means(draws, 0.5, error=0.25).holds


def test_chains_that_are_too_short_for_batches_are_refused(rng):
    with pytest.raises(AssertionError, match="too few"):
        units(autoregression(rng, 2, 200, 0.95))
    assert len(units(autoregression(rng, 2, 4000, 0.8))) == 16
    for a in (0.0, 0.8):
        time = autocorrelation_time(autoregression(rng, 8, 5000, a))
        assert time == pytest.approx((1 + a) / (1 - a), rel=0.3)
