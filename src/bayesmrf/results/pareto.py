"""The shape of the generalized Pareto distribution of the largest of many numbers (Zhang and Stephens 2009).

It says whether the mean of the numbers has a standard error (Vehtari, Simpson, Gelman, Yao and Gabry 2024).
`arviz_stats`, the reference in the tests, has the same formulas, but processes columns one by one, a millisecond each.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

_ALL = 225  # numbers up to which a fifth of them are the largest
_SCALE, _SHAPE = 3.0, 10.0  # of the priors of scale, and of a shape of one half, in numbers
_NEGLIGIBLE = 10 * np.finfo(float).eps
_BLOCK = 2**20  # numbers that are an array at a time


def pareto_k(logs: np.ndarray) -> np.ndarray:
    """Return the shape of the largest numbers of each column, whose logs are given, (n, n_columns).

    It is NaN of fewer than 25 numbers, and where the largest are equal; infinite where a quarter of them are nothing
    next to the largest.
    """
    n = len(logs)
    n_tail = int(3 * n**0.5 if n > _ALL else n / 5)
    tail_shapes = np.full(logs.shape[1], np.nan)
    if n_tail < 5:
        return tail_shapes
    width = max(1, _BLOCK // (n_tail * (30 + int(n_tail**0.5))))
    for i in range(0, len(tail_shapes), width):
        columns = logs[:, i : i + width]
        largest = np.sort(np.partition(columns - columns.max(axis=0), n - n_tail - 1, axis=0)[n - n_tail - 1 :], axis=0)
        largest = np.exp(largest)
        excess = (largest[1:] - largest[0]).T
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            shapes = _shapes(excess)
        tail_shapes[i : i + width] = np.where(np.isnan(shapes) & (excess[:, -1] > excess[:, 0]), np.inf, shapes)
    return tail_shapes


def _shapes(excess: np.ndarray) -> np.ndarray:
    """Estimate the posterior mean shape of each row of excesses over a threshold (n_columns, n), which increase."""
    n = excess.shape[1]
    m = 30 + int(n**0.5)
    b = (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (_SCALE * excess[:, [int(n / 4 + 0.5) - 1]])
    b += 1 / excess[:, [-1]]
    k = np.log1p(-b[:, :, None] * excess[:, None, :]).mean(axis=2)
    log_weight = n * (np.log(-b / k) - k - 1)
    weight = np.exp(log_weight - logsumexp(log_weight, axis=1, keepdims=True))
    weight[weight < _NEGLIGIBLE] = 0.0
    mean = np.where(weight > 0, b * weight, 0.0).sum(axis=1) / weight.sum(axis=1)
    shape: np.ndarray = np.log1p(-mean[:, None] * excess).mean(axis=1)
    return (n * shape + 0.5 * _SHAPE) / (n + _SHAPE)
