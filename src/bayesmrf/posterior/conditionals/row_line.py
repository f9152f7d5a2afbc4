r"""The full conditional of a coordinate that many samples share, each with a covariate: a line over rows.

Row r has :math:`n_r` observations of a variable with K values, whose probabilities :math:`p_{rk}` at the point ``at``
change by :math:`e^{(a - at) v_r g_k}`, with a covariate :math:`v_r` and :math:`g_0 = 0`. With the data's sum S of
:math:`v_r g_k` and a normal prior of precision kappa around mu,

.. math:: \log p(a \mid \mathrm{rest}) = a S - \sum_r n_r \log \sum_k p_{rk} e^{(a - at) v_r g_k}
          - \tfrac12 \kappa (a - \mu)^2 + \mathrm{const}.

It is that of `bayesmrf.posterior.conditionals.line.Line` with a sample for each row, as arrays: a logistic regression
(K = 2), one with adjacent categories, or the edge of fields that differ between rows.

Where the probabilities are averages over chains of each row, one half of them proposes a value and the other half
decides (`Decision`), so that the two errors are independent. The log ratio has an error of variance about
:math:`s^2 = \sum_r n_r^2 v_r / c_r`, with the relative variance :math:`v_r` over chains of what is averaged, and
:math:`c_r` of them; it is too large by :math:`\tfrac12 \sum_r n_r v_r / c_r`, as a logarithm is concave. This and half
of :math:`s^2` are subtracted: `bayesmrf.posterior.conditionals.penalty` to second order, as no row has many transitions
for each of its chains.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from .line import bracketed
from .slab_leaves import log_slab_factor
from .student_t import draw_t, log_t

_NEAR, _MAX_NEWTON = 0.1, 100  # the last Newton step, in standard deviations
_LEAST = 0.01  # probability of a proposal without, and with the coordinate, at least
_LOG_ROOT = 0.5 * log(2 * np.pi)


class RowLine(NamedTuple):
    """Probabilities (n_rows, K) at ``at``, numbers and covariates of rows, values g of the feature, and the rest."""

    p: np.ndarray
    n: np.ndarray
    v: np.ndarray
    g: np.ndarray
    at: float
    score: float
    kappa: float
    mu: float


class Decision(NamedTuple):
    """What decides about a proposal: probabilities of rows, and of the chains that these are averages over, if any."""

    p: np.ndarray  # (n_rows, K); of the line itself where this is exact
    q: np.ndarray  # (n_chains, K) of each chain; without rows where p is exact
    start: np.ndarray  # (n_rows, K), the average of q over the half of the chains that decide
    first: np.ndarray  # (n_rows + 1,) where the chains of each row begin; the second half of them decide


@strict_leaf
def exactly(p):
    """Return the decision by the probabilities of the line itself."""
    none = np.empty((0, 0))
    return Decision(p, none, none, np.empty(0, np.int64))


@strict_leaf
def deciding(line, decision):
    """Return the line with the probabilities that decide."""
    return RowLine(decision.p, line.n, line.v, line.g, line.at, line.score, line.kappa, line.mu)


@strict_leaf
def row_log_density(a, line):
    """Return the log density along the line, up to a constant."""
    d, out = a - line.at, a * line.score - 0.5 * line.kappa * (a - line.mu) ** 2
    if d == 0:
        return out
    for r in range(len(line.n)):
        x, total = d * line.v[r], line.p[r, 0]
        for k in range(1, len(line.g)):
            total += line.p[r, k] * exp(x * line.g[k])
        out -= line.n[r] * log(total)
    return out


@strict_leaf
def row_derivatives(a, line):
    """Return the log density, its slope, and minus its second derivative."""
    out = a * line.score - 0.5 * line.kappa * (a - line.mu) ** 2
    slope, curvature, d = line.score - line.kappa * (a - line.mu), line.kappa, a - line.at
    for r in range(len(line.n)):
        v, n = line.v[r], line.n[r]
        x, total, mean, square = d * v, line.p[r, 0], 0.0, 0.0
        for k in range(1, len(line.g)):
            g = line.g[k]
            w = line.p[r, k] * exp(x * g)
            total += w
            mean += w * g
            square += w * g * g
        mean /= total
        out -= n * log(total)
        slope -= n * v * mean
        curvature += n * v * v * max(square / total - mean * mean, 0.0)
    return out, slope, curvature


@strict_leaf
def row_fit(line):
    """Return the log density at 0, about that at the mode, the mode, and the standard deviation from its curvature.

    Bracketed Newton steps from 0 end near the mode. As they do not depend on the present value of the coordinate,
    proposals around it are those of an independence sampler.
    """
    a, low, high = 0.0, -np.inf, np.inf
    zero, slope, curvature = row_derivatives(0.0, line)
    top = zero
    for _ in range(_MAX_NEWTON):
        step, scale = slope / curvature, 1 / sqrt(curvature)
        if abs(step) < _NEAR * scale:
            break
        a, low, high = bracketed(a, slope, step, low, high)
        top, slope, curvature = row_derivatives(a, line)
    step = slope / curvature
    return zero, top + 0.5 * step * slope, a + step, 1 / sqrt(curvature)


@strict_leaf
def row_penalty(a, line, decision):
    """Return what is subtracted from the log ratio of a to ``line.at``, by the chains that decide."""
    d, k_of, total = a - line.at, len(line.g), 0.0
    factor, first = np.empty(k_of), decision.first
    for r in range(len(line.n)):
        for k in range(k_of):
            started = decision.start[r, k]
            factor[k] = exp(d * line.v[r] * line.g[k]) * line.p[r, k] / started if started > 0 else 0.0
        middle = (first[r] + first[r + 1]) // 2
        for low, high in ((first[r], middle), (middle, first[r + 1])):
            mean = square = 0.0
            for c in range(low, high):
                w = 0.0
                for k in range(k_of):
                    w += decision.q[c, k] * factor[k]
                mean += w
                square += w * w
            size = high - low
            mean /= size
            v = max(square / size / mean**2 - 1, 0.0) * size / (size - 1)
            total += 0.25 * line.n[r] * (line.n[r] + 1) * v / size  # the mean of both halves
    return total


@strict_leaf
def visit_row_line(rng, line, decision, log_slab, slab):
    """Return a new value of the coordinate, 0 if it is absent; ``line.at`` is the present one.

    Where it is present, the density has the factor of a slab that is 0 at 0.

    The proposal is nearly the full conditional, by Laplace's method: absent or not, and if not, a t around the mode. A
    Metropolis-Hastings step makes it exact. A coordinate that is always present has an infinite ``log_slab``.
    """
    zero, top, mode, scale = row_fit(line)
    is_free = log_slab == np.inf
    share = 1.0
    if not is_free:
        about = log_slab + log_slab_factor(slab, max(mode * mode, scale * scale))
        share = 1 / (1 + exp(min(max(zero - top - about - _LOG_ROOT - log(scale), -700.0), 700.0)))
        share = min(max(share, _LEAST), 1 - _LEAST)
    new = draw_t(rng, mode, scale) if rng.random() < share else 0.0
    old = line.at
    if new == old:
        return old
    other = deciding(line, decision)
    ratio = 0.0
    for a, sign in ((new, 1.0), (old, -1.0)):
        ratio += sign * row_log_density(a, other)
        if a == 0 and not is_free:
            ratio -= sign * log(1 - share)
        else:
            present = 0.0 if is_free else log_slab - log(share) + log_slab_factor(slab, a * a)
            ratio += sign * (present - log_t(a, mode, scale))
    decided = log(1 - rng.random())
    if decided < ratio and len(decision.q):
        ratio -= row_penalty(new, other, decision)
    return new if decided < ratio else old


@strict_leaf
def move_line(line, decision, a):
    """Change the probabilities of a line, and those that decide, from ``line.at`` to a, in place."""
    move_rows(line, a)
    if len(decision.q):
        move_rows(deciding(line, decision), a)


@strict_leaf
def move_rows(line, a):
    """Change the probabilities of the line from ``line.at`` to a, in place."""
    d = a - line.at
    for r in range(len(line.n)):
        x, total = d * line.v[r], line.p[r, 0]
        for k in range(1, len(line.g)):
            line.p[r, k] *= exp(x * line.g[k])
            total += line.p[r, k]
        for k in range(len(line.g)):
            line.p[r, k] /= total
