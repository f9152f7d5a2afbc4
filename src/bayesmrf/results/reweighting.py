r"""Draws of several distributions joined, with weights for any other distribution near them.

Draws of J distributions :math:`q_j / c_j` with known :math:`q_j` are draws of their mixture, and have the weights

.. math:: w(x) \propto \frac{q(x)}{\sum_j n_j q_j(x) / c_j}

for another distribution q. The constants are those under which each sampled distribution has total weight 1 (Geyer
1994, reverse logistic regression; Shirts and Chodera 2008, the multistate Bennett acceptance ratio): the maximum of a
concave function.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

_TOLERANCE = 1e-8  # of the total weights


def log_constants(log_q: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the log constants of the sampled distributions, of which the first is 0.

    Parameters
    ----------
    log_q : (n_sampled, n_draws) array
        Log density of each draw under each distribution, unnormalised.
    n : (n_sampled,) array
        Number of draws from each.

    Returns
    -------
    (n_sampled,) array
    """
    share = n / n.sum()

    def loss(free: np.ndarray) -> tuple[float, np.ndarray]:
        logs = np.log(share)[:, None] + np.append(0.0, free)[:, None] + log_q
        top = logs.max(axis=0)
        each = np.exp(logs - top)
        total = each.sum(axis=0)
        mean = (each / total).mean(axis=1)
        return float((top + np.log(total)).mean() - share[1:] @ free), mean[1:] - share[1:]

    def curvature(free: np.ndarray) -> np.ndarray:
        logs = np.log(share)[:, None] + np.append(0.0, free)[:, None] + log_q
        p = np.exp(logs - logsumexp(logs, axis=0))[1:]
        return np.asarray(np.diag(p.mean(axis=1)) - p @ p.T / p.shape[1])

    if len(n) == 1:
        return np.zeros(1)
    minimum = minimize(loss, np.zeros(len(n) - 1), jac=True, hess=curvature, method="trust-exact",
                     options={"gtol": _TOLERANCE})  # fmt: skip
    return np.append(0.0, -minimum.x)


def log_mixture(log_q: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the log density of each draw under the mixture of all of them, up to a constant, (n_draws,)."""
    return np.asarray(logsumexp(log_q + (np.log(n) - log_constants(log_q, n))[:, None], axis=0))


def log_weights(log_target: np.ndarray, log_mixture: np.ndarray) -> np.ndarray:
    """Return log weights of draws of a mixture for each target; the weights of a target have the sum 1.

    Parameters
    ----------
    log_target : (n_targets, n_draws) array
    log_mixture : (n_draws,) array

    Returns
    -------
    (n_targets, n_draws) array
    """
    log_ratio = log_target - log_mixture
    return np.asarray(log_ratio - logsumexp(log_ratio, axis=1, keepdims=True))


def effective(weights: np.ndarray, worth: np.ndarray) -> np.ndarray:
    r"""Return the effective sample size of each row of weights, whose sum is 1: :math:`1 / \sum_i w_i^2 / g_i`.

    ``worth`` (n_draws,) has g, how many independent draws each is worth.
    """
    return np.asarray(1 / (weights**2 @ (1 / worth)))
