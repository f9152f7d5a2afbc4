r"""Exact log likelihoods of restricted Boltzmann machines and their gradients, for many parameters at once.

.. math:: \log p(X \mid \theta) = \sum_n w_n \big(\alpha^T x_n + \sum_k \log(1 + e^{\beta_k + W_k x_n})\big)
          - N \log \sum_s e^{b^T s + \sum_l \log(1 + e^{c_l + s^T V_l})},

where s runs over the states of the smaller side, with biases b, and l over the units of the larger, with biases c.
The states are summed in blocks, with a running maximum, so that memory stays small.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np

from ..compiled import copy_to, leaf
from ..compiled.lanes import MOST, exp_rest, power_bits
from ..models.rbm import RestrictedBoltzmann
from ..threads import count_jobs

_BLOCK = 2**12  # fields in memory at once, which fit into the second-level cache
_WORTH = 2**21  # fields per thread that are worth starting it


def rbm_log_likelihoods(
    model: RestrictedBoltzmann, thetas: np.ndarray, states: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute log p(X | theta) and its gradient.

    Parameters
    ----------
    model : RestrictedBoltzmann
    thetas : (n, n_features) array
    states : (n_rows, n_visible) array in {0, 1}
    weights : (n_rows,) array
        How many times each row was observed.

    Returns
    -------
    values : (n,) array
    gradients : (n, n_features) array
    """
    x, thetas = np.ascontiguousarray(states, dtype=np.float64), np.ascontiguousarray(thetas, dtype=np.float64)
    d, k = model.n_visible, model.n_hidden
    values, gradients = np.empty(len(thetas)), np.empty_like(thetas)
    cost = len(thetas) * (max(d, k) * 2 ** min(d, k) + len(x) * k)
    n_threads = 1 if cost < _WORTH else count_jobs(None, min(len(thetas), 1 + cost // _WORTH))
    bounds = np.linspace(0, len(thetas), n_threads + 1).astype(int)
    parts = [(thetas[a:b], x, weights, d, k, values[a:b], gradients[a:b]) for a, b in pairwise(bounds)]
    if n_threads == 1:
        _log_likelihoods(*parts[0])
        return values, gradients
    with ThreadPoolExecutor(n_threads - 1) as pool:
        futures = [pool.submit(partial(_log_likelihoods, *part)) for part in parts[1:]]
        _log_likelihoods(*parts[0])
        for future in futures:
            future.result()
    return values, gradients


@leaf
def _log_likelihoods(thetas, x, weights, n_visible, n_hidden, values, gradients):
    d, k = n_visible, n_hidden
    total, sums = weights.sum(), weights @ x
    is_hidden_small = k <= d
    small, large = min(d, k), max(d, k)
    size = 1 << small
    while size > 1 and size * large > _BLOCK:
        size //= 2
    rows = np.empty((size, small + 1))  # states of the smaller side, and 1 for the biases of the larger
    rows[:, small] = 1.0
    field, mean = np.empty((size, large)), np.empty((size, large))
    given, share = np.empty((len(x), k)), np.empty((len(x), k))
    log_weight = np.empty(size)
    side, moment, part = np.empty((small + 1, large)), np.empty((small + 1, large)), np.empty((small + 1, large))
    bias, one = np.empty(small), np.empty(small)
    for c in range(len(thetas)):
        theta, gradient = thetas[c], gradients[c]
        w = theta[: k * d].reshape(k, d)
        alpha, beta = theta[k * d : k * d + d], theta[k * d + d :]
        # The data, with the hidden units summed out.
        np.dot(x, w.T, given)
        for n in range(len(x)):
            for j in range(k):
                given[n, j] += beta[j]
        _sigmoid(given, share)
        value = 0.0
        for j in range(k):
            gradient[k * d + d + j] = 0.0
        for n in range(len(x)):
            value += weights[n] * _softplus_sum(given[n], share[n])
            for j in range(k):
                share[n, j] *= weights[n]
                gradient[k * d + d + j] += share[n, j]
        np.dot(share.T, x, gradient[: k * d].reshape(k, d))
        for i in range(d):
            value += alpha[i] * sums[i]
        copy_to(gradient[k * d : k * d + d], sums)
        # The normaliser.
        for i in range(small):
            bias[i] = beta[i] if is_hidden_small else alpha[i]
            for j in range(large):
                side[i, j] = w[i, j] if is_hidden_small else w[j, i]
        for j in range(large):
            side[small, j] = alpha[j] if is_hidden_small else beta[j]
        top, z = 0.0, 0.0
        moment[:] = 0.0
        one[:] = 0.0
        for first in range(0, 1 << small, size):
            for s in range(size):
                for i in range(small):
                    rows[s, i] = (first + s) >> i & 1
            np.dot(rows, side, field)
            _sigmoid(field, mean)
            for s in range(size):
                log_weight[s] = _softplus_sum(field[s], mean[s])
                for i in range(small):
                    log_weight[s] += rows[s, i] * bias[i]
            highest = log_weight.max() if first == 0 else max(top, log_weight.max())
            fade = np.exp(top - highest) if first > 0 else 0.0
            top = highest
            z *= fade
            for i in range(small):
                one[i] *= fade
            for s in range(size):
                p = np.exp(log_weight[s] - top)
                z += p
                for j in range(large):
                    mean[s, j] *= p
                for i in range(small):
                    one[i] += p * rows[s, i]
            np.dot(rows.T, mean, part)
            for i in range(small + 1):
                for j in range(large):
                    moment[i, j] = fade * moment[i, j] + part[i, j]
        values[c] = value - total * (top + np.log(z))
        scale = total / z
        small_at, large_at = (k * d + d, k * d) if is_hidden_small else (k * d, k * d + d)
        for i in range(small):
            gradient[small_at + i] -= scale * one[i]
        for j in range(large):
            gradient[large_at + j] -= scale * moment[small, j]
            for i in range(small):
                gradient[i * d + j if is_hidden_small else j * d + i] -= scale * moment[i, j]


@leaf
def _sigmoid(field, mean):
    """Set ``mean`` to 1 / (1 + exp(-field)), with exp by the series of `bayesmrf.compiled.lanes`."""
    a, out = field.reshape(-1), mean.reshape(-1)
    power = out.view(np.int64)
    for i in range(len(a)):
        power[i] = power_bits(min(abs(a[i]), MOST))
    for i in range(len(a)):
        ratio = exp_rest(min(abs(a[i]), MOST)) * out[i]
        out[i] = (1.0 if a[i] > 0 else ratio) / (1 + ratio)


@leaf
def _softplus_sum(field, mean):
    """Return the sum of log(1 + exp(a)) = max(a, 0) - log max(p, 1 - p) over a row of fields a with sigmoids p.

    One logarithm is taken of the product of up to 512 factors, none below a half.
    """
    total = 0.0
    for first in range(0, len(field), 512):
        product = 1.0
        for j in range(first, min(first + 512, len(field))):
            total += max(field[j], 0.0)
            product *= max(mean[j], 1 - mean[j])
        total -= np.log(product)
    return total
