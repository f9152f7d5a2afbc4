"""Bounds from a stated false-alarm rate: whether means and shares of draws agree with exact values.

``assert_mean(draws, truth)`` fails by chance in a fraction ``p`` of runs, over all values together (Bonferroni).
Negative controls use the same bound from the other side: ``assert_other_mean``.

Draws are (n_chains, n_draws, ...). Where there are many chains, their means are the independent values. Where there
are few, each chain is cut into batches that are long compared with its autocorrelation time; too few draws for that
are an error. Independent values are chains of one draw: ``values[:, None]``.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import stats

P = 1e-6  # false-alarm rate of a test
LEAST_UNITS = 16  # independent values
_FAR = 1e6  # standard errors
LEAST_LENGTH = 10  # of a batch, in autocorrelation times


@dataclass
class Comparison:
    """Means and shares against exact values, added one family after another; ``p`` is the rate for all together."""

    p: float = P
    p_values: list = field(default_factory=list)  # two-sided, one a value
    worst: str = ""

    @property
    def holds(self):
        return self.p_value > self.p

    @property
    def p_value(self):
        """The smallest, times the number of values."""
        return min(1.0, min(self.p_values) * len(self.p_values))

    def means(self, draws, truth, bias=0.0, error=0.0, least=0.0):
        """Add the means of draws; returns self.

        Parameters
        ----------
        draws : (n_chains, n_draws, ...) array
        truth : (...) array
        bias : float
            Distance from the truth that is allowed.
        error : array
            Standard error of the truth.
        least : array
            Smallest standard error of a mean.
        """
        x = units(np.asarray(draws, dtype=float))
        x, truth = x.reshape(len(x), -1), np.broadcast_to(truth, x.shape[1:]).ravel()
        n, sd = len(x), x.std(axis=0, ddof=1)
        se = np.hypot(np.maximum(sd / np.sqrt(n), np.ravel(least)), np.ravel(error))
        away = x.mean(axis=0) - truth
        with np.errstate(invalid="ignore", divide="ignore"):
            skew = np.nan_to_num(((x - x.mean(axis=0)) ** 3).mean(axis=0) / sd**3)
        share = np.divide(sd, se * np.sqrt(n), out=np.zeros_like(sd), where=se > 0)  # of the error, that of the draws
        t = transformed(scores(away, se, bias), skew * share**3, n)
        return self._add(2 * stats.t.sf(np.abs(t), n - 1), away, se)

    def shares(self, there, truth, bias=0.0, error=0.0):
        """Add shares of draws in which events are ``there``, (n_chains, n_draws, ...) of bool; returns self.

        Events that no chain saw have no spread. So standard errors are never less than those of as many independent
        draws, sqrt(q (1 - q) / n), and one draw more: a single visit where few are expected is no alarm.
        """
        there = np.asarray(there)
        n, truth = there.shape[0] * there.shape[1], np.asarray(truth, dtype=float)
        least = (1 + np.sqrt(n * np.maximum(truth * (1 - truth), 0))) / n  # sums of probabilities exceed 1 by rounding
        return self.means(there, truth, bias, error, least=least)

    def counts(self, hits, n, truth):
        """Add counts of independent trials, by the binomial distribution; returns self."""
        hits, truth = np.broadcast_arrays(np.round(hits), np.clip(truth, 0, 1))
        tails = np.minimum(stats.binom.cdf(hits, n, truth), stats.binom.sf(hits - 1, n, truth))
        p_values = np.minimum(1, 2 * tails)
        return self._add(p_values.ravel(), np.ravel(hits / n - truth), np.ravel(np.sqrt(truth * (1 - truth) / n)))

    def estimates(self, found, truth, error, bias=0.0, df=np.inf):
        """Add estimates whose standard errors are known, or are themselves estimates of ``df`` degrees of freedom."""
        away, error = (a.ravel() for a in np.broadcast_arrays(np.subtract(found, truth), error))
        return self._add(2 * stats.t.sf(np.abs(scores(away, error, bias)), df), away, error)

    def _add(self, p_values, away, se):
        assert not np.isnan(p_values).any(), "draws, or what they are compared with, are NaN"
        if len(p_values) and p_values.min() < min(self.p_values, default=np.inf):
            i = np.argmin(p_values)
            self.worst = f"off by {away[i]:.4g}, with a standard error of {se[i]:.3g}"
        self.p_values += list(p_values)
        return self

    def __str__(self):
        return f"p-value {self.p_value:.2g} over {len(self.p_values)} values; the worst is {self.worst}"


def assert_mean(draws, truth, p=P, bias=0.0):
    """Check that means of draws are those given, at the false-alarm rate ``p``."""
    found = Comparison(p).means(draws, truth, bias)
    assert found.holds, str(found)


def assert_other_mean(draws, truth, p=P, bias=0.0):
    """Check that `assert_mean` would fail."""
    found = Comparison(p).means(draws, truth, bias)
    assert not found.holds, str(found)


def assert_share(hits, n, share, p=P):
    """Check that ``hits`` of ``n`` independent trials have the probability ``share``, at the false-alarm rate ``p``."""
    found = Comparison(p).counts(hits, n, share)
    assert found.holds, str(found)


def assert_other_share(hits, n, share, p=P):
    """Check that `assert_share` would fail."""
    found = Comparison(p).counts(hits, n, share)
    assert not found.holds, str(found)


def assert_estimate(found, truth, error, p=P, **options):
    """Check that estimates with these standard errors are those given, at the false-alarm rate ``p``."""
    compared = Comparison(p).estimates(found, truth, error, **options)
    assert compared.holds, str(compared)


def assert_other_estimate(found, truth, error, p=P, **options):
    """Check that `assert_estimate` would fail."""
    compared = Comparison(p).estimates(found, truth, error, **options)
    assert not compared.holds, str(compared)


def scores(away, error, bias):
    """Distances beyond the bias in standard errors; what has no error must be equal."""
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(np.abs(away) <= bias, 0.0, (away - bias * np.sign(away)) / error)
    return np.clip(z, -_FAR, _FAR)


def transformed(t, skew, n):
    """Hall's (1992) transformation of Student's t: symmetric where the values are skewed."""
    a = skew / np.sqrt(n)
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6


def units(draws):
    """Values that are nearly independent: means of chains, or of batches of a few chains."""
    n_chains, n_draws = draws.shape[:2]
    if n_chains >= LEAST_UNITS:
        return draws.mean(axis=1)
    n_batches = -(-LEAST_UNITS // n_chains)
    length = n_draws // n_batches
    needed = LEAST_LENGTH * autocorrelation_time(draws)
    assert length >= needed, f"{n_draws} draws of {n_chains} chains are too few: batches need {needed:.0f} draws"
    return draws[:, : n_batches * length].reshape(n_chains * n_batches, length, *draws.shape[2:]).mean(axis=1)


def autocorrelation_time(draws):
    """Integrated autocorrelation time of the slowest value, in draws, by Geyer's initial positive sequence."""
    x = draws.reshape(*draws.shape[:2], -1)
    x = x - x.mean(axis=(0, 1))
    n = x.shape[1]
    power = np.abs(np.fft.rfft(x, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(power, axis=1)[:, :n].mean(axis=0)
    correlation = covariance / np.maximum(covariance[0], 1e-300)
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    return max(1.0, float((2 * (pairs * positive).sum(axis=0) - 1).max()))
