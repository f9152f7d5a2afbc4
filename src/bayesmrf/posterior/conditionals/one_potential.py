r"""The full conditional of the potential of an edge.

An edge with p natural parameters W_1, ..., W_p is in one of p + 1 categories at a time, of which category 0 has W = 0
(see `bayesmrf.models.symmetric`). Z is linear in the exp(W_j). With q_j the probability of category j in the present
model, and W' a new potential,

.. math:: \log Z(W') - \log Z(W) = \log \sum_{j=0}^p q_j e^{W'_j - W_j},

and the likelihood of W given all else is that of n draws of a category,

.. math:: L(W) \propto \prod_{j=0}^p \lambda_j^{N_j}, \qquad \lambda_j \propto e^{W_j + \nu_j}, \qquad
          \nu_j = \log \frac{q_j}{q_0} - W_j,

with N_j the observations in category j and exp(nu_j) the odds of category j against 0 in the model *without* the edge.
It is log-concave. With one parameter, [x_u = x_v], it is that of `bayesmrf.posterior.conditionals.one_coordinate`.

"""

from __future__ import annotations

from math import exp, lgamma, log, log1p, pi, sqrt
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf

_DF = 6.0  # degrees of freedom of the t
_TINY = 1e-15


class OnePotential(NamedTuple):
    """Constants of the conditional: counts N_1..N_p of n observations, log odds nu, and those of the normal base."""

    counts: np.ndarray
    n: float
    nu: np.ndarray
    precision: np.ndarray  # (p, p)
    log_constant: float  # of the normal density


@strict_leaf
def log_odds(q, potential):
    """Compute nu from the probabilities of categories 1 to p in the model with the edge."""
    rest = max(1.0 - q.sum(), _TINY)
    return np.log(np.maximum(q, 1e-300) / rest) - potential


@strict_leaf
def categories(w, nu):
    """Return the probabilities of categories 1 to p at W = w, and log of 1 + sum exp(W + nu)."""
    p = len(w)
    q, top = np.empty(p), 0.0
    for j in range(p):
        top = max(top, w[j] + nu[j])
    total = exp(-top)
    for j in range(p):
        q[j] = exp(w[j] + nu[j] - top)
        total += q[j]
    return q / total, top + log(total)


@strict_leaf
def log_fit(w, conditional):
    """Return the log likelihood at W = w, up to a constant."""
    out = -conditional.n * categories(w, conditional.nu)[1]
    for j in range(len(w)):
        out += conditional.counts[j] * (w[j] + conditional.nu[j])
    return out


@strict_leaf
def log_base(w, precision, log_constant):
    """Return the log density of the base."""
    return log_constant - 0.5 * (w @ (precision @ w))


@strict_leaf
def information(q, n):
    """Return the Fisher information n (diag(q) - q q') of n draws of a category."""
    out = np.empty((len(q), len(q)))
    for j in range(len(q)):
        for k in range(len(q)):
            out[j, k] = -n * q[j] * q[k]
        out[j, j] += n * q[j]
    return out


@strict_leaf
def mode_of(conditional):
    """Find the mode of L times the base and the Cholesky factor of its curvature there, by damped Newton steps."""
    p = len(conditional.nu)
    rest = conditional.n - conditional.counts.sum()
    w = np.empty(p)
    for j in range(p):
        w[j] = log((conditional.counts[j] + 0.5) / (rest + 0.5)) - conditional.nu[j]
    value = log_fit(w, conditional) + log_base(w, conditional.precision, 0.0)
    zero = np.zeros(p)
    at_zero = log_fit(zero, conditional)
    if at_zero > value:
        w, value = zero, at_zero
    for _ in range(100):
        q, _total = categories(w, conditional.nu)
        curvature = information(q, conditional.n) + conditional.precision
        step = np.linalg.solve(curvature, conditional.counts - conditional.n * q - conditional.precision @ w)
        size = 1.0
        while size > 1e-9:
            trial = w + size * step
            new = log_fit(trial, conditional) + log_base(trial, conditional.precision, 0.0)
            if new >= value:
                break
            size *= 0.5
        if size <= 1e-9:
            break
        w, value = trial, new
        if size == 1.0 and np.abs(step).max() < 1e-8:
            break
    q, _total = categories(w, conditional.nu)
    return w, np.linalg.cholesky(information(q, conditional.n) + conditional.precision)


@strict_leaf
def solve_upper(lower, z):
    """Solve L' x = z for a lower triangular L."""
    p = len(z)
    x = np.empty(p)
    for j in range(p - 1, -1, -1):
        total = z[j]
        for k in range(j + 1, p):
            total -= lower[k, j] * x[k]
        x[j] = total / lower[j, j]
    return x


@strict_leaf
def draw_t_around(rng, mode, lower):
    """Draw from the multivariate t around a mode with curvature L L'."""
    z = rng.standard_normal(len(mode))
    return mode + solve_upper(lower, z) / sqrt(2 * rng.standard_gamma(0.5 * _DF) / _DF)


@strict_leaf
def log_t_around(w, mode, lower):
    """Return the log density of `draw_t_around`."""
    p = len(w)
    out = lgamma(0.5 * (_DF + p)) - lgamma(0.5 * _DF) - 0.5 * p * log(_DF * pi)
    square = 0.0
    for j in range(p):
        z = 0.0
        for k in range(j, p):
            z += lower[k, j] * (w[k] - mode[k])
        square += z * z
        out += log(lower[j, j])
    return out - 0.5 * (_DF + p) * log1p(square / _DF)
