"""Means over correlated draws on the log scale, with their errors and effective sample sizes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

FEW = 10.0  # effective sample size below which an estimate is dominated by a few draws


class Estimate(NamedTuple):
    """An estimate of the log evidence, its standard error, and its effective sample size."""

    value: float
    standard_error: float
    n_effective: float


def mean_of(log_terms: np.ndarray, chains: bool = True, log_square: float = -np.inf) -> tuple[float, float, float]:
    """Return the log of the mean of exp(``log_terms``), its variance, and the effective number of terms.

    Terms are (n_chains, n_draws) and correlated along the draws, or independent if not ``chains``. ``log_square`` is
    the log of another estimate of their mean square, which is used if it is larger than that of the terms.
    """
    mean = log_mean(log_terms)
    terms = np.exp(log_terms - mean)
    n = mean_ess(terms) if chains else float(terms.size)
    with np.errstate(over="ignore"):  # no effective terms then
        variance = max(terms.var(), np.exp(log_square - 2 * mean) - 1)
    return mean, float(variance / n), float(min(float(terms.size), n) / (1 + variance))


def log_mean(log_terms: np.ndarray) -> float:
    """Return the log of the mean of exp(``log_terms``)."""
    return float(logsumexp(log_terms) - np.log(log_terms.size))


def mean_ess(x: np.ndarray) -> float:
    """Return the effective sample size for the mean of ``x`` (n_chains, n_draws); NaN below four draws."""
    from arviz_stats import ess  # type: ignore[attr-defined]

    if x.shape[1] < 4:
        return np.nan
    return float(x.size if np.ptp(x) == 0 else ess(x, method="mean"))
