r"""Distance of a posterior from the Gaussian at its mode, by importance sampling.

Draws from the Gaussian, half of them with 1.5 times its standard deviation, have weights
p(X | theta) p(theta) / q(theta), whose mean is the integral around the mode. Exchanging hidden units gives K! modes;
each has the part of the space in which its order of the units is the nearest. The part of one mode is integrated and
multiplied by K!. If few draws are effective, the posterior is far from normal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln, logsumexp

from .target import Target

_WIDE = 1.5  # scale of half of the draws, for posteriors with heavier tails
_BLOCK = 64  # draws whose likelihoods are computed at once
_NUDGE = 1e-6  # relative perturbation of units: equal ones have no order


class Normality(NamedTuple):
    """The log integral by importance sampling, its standard error, and the effective number of draws."""

    log_integral: float
    standard_error: float
    n_effective: float


def normality(target: Target, theta: np.ndarray, root: np.ndarray, rng: np.random.Generator, n_draws: int) -> Normality:
    """Draw ``n_draws`` around ``theta`` with covariance root root', and weight them by the exact posterior.

    Parameters
    ----------
    target : Target
        A target whose Z can be summed.
    theta : (n_features,) array
        The mode.
    root : (n_features, n_features) array
    rng : numpy.random.Generator
    n_draws : int
    """
    f = len(theta)
    wide = np.where(np.arange(n_draws) % 2, _WIDE, 1.0)
    u = wide[:, None] * rng.standard_normal((n_draws, f))
    square = (u**2).sum(axis=1)
    log_q = np.logaddexp(-square / 2, -square / (2 * _WIDE**2) - f * np.log(_WIDE)) - np.log(2)
    log_q -= f / 2 * np.log(2 * np.pi) + np.linalg.slogdet(root)[1]
    draws = theta + u @ root.T
    blocks = [draws[i : i + _BLOCK] for i in range(0, n_draws, _BLOCK)]
    log_weight = np.concatenate([target.log_likelihoods(block)[0] for block in blocks]) - log_q
    log_weight += target.prior.log_density(draws).sum(axis=1) + target.prior.log_constant(f)
    log_weight[~_in_order(draws, theta, target.units, rng)] = -np.inf
    log_sum = float(logsumexp(log_weight))
    if log_sum == -np.inf:  # with many hidden units perhaps no draw has them in order
        return Normality(-np.inf, np.inf, 0.0)
    weight = np.exp(log_weight - log_sum)
    kish = float(1 / (weight**2).sum())
    error = float(np.sqrt(max(n_draws / kish - 1, 0.0) / n_draws))
    return Normality(log_sum - float(np.log(n_draws)) + float(gammaln(len(target.units) + 1)), error, kish)


def _in_order(draws: np.ndarray, theta: np.ndarray, units: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Check whether hidden units are nearer to those of ``theta`` in this order than in any other."""
    if len(units) < 2:
        return np.ones(len(draws), dtype=bool)
    of_mode, of_draws = theta[units], draws[:, units]
    of_mode = of_mode + _NUDGE * (1 + np.abs(of_mode).max()) * rng.standard_normal(of_mode.shape)
    product = of_draws @ of_mode.T  # (n_draws, unit of the draw, unit of the mode); squares are the same in any order
    stand = np.arange(len(units))
    return np.array([(linear_sum_assignment(p, maximize=True)[1] == stand).all() for p in product])
