r"""The full conditional of one scalar coordinate of theta: a line.

Along a coordinate a whose feature g has few values g_k, Z at any a' is a function of the probabilities p_k of these
values at one point,

.. math:: \frac{Z(a')}{Z(a)} = \sum_k p_k e^{(a' - a) g_k}.

With T samples, of n_t observations each, and a normal prior of precision kappa around mu,

.. math:: \log p(a \mid \mathrm{rest}) = a S - \sum_{t=1}^T n_t \log \sum_k p_{tk} e^{(a - a_t) g_{tk}}
          - \tfrac12 \kappa (a - \mu)^2 + \mathrm{const}

with S the data's sum of g. A logit and an agreement have two values of g, a product of two centred binary nodes four, a
product of nodes with m states m^2. The density is log-concave: `bayesmrf.posterior.conditionals.log_concave` computes
its integral and exact draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf

_LEAST = 1e-9  # share of the curvature of a line that is its likelihood's
_FAR, _NEAR, _MAX_NEWTON = 3.0, 1e-3, 100  # Newton steps: the longest, and the last one, in standard deviations


class LineSample(NamedTuple):
    """Probabilities and values of g at the point ``at``, and the number of observations.

    ``p`` and ``g`` are tuples if they are short, which is fastest, or arrays.
    """

    p: Any
    g: Any
    at: float
    n: float


class Line(NamedTuple):
    """Samples, the data's sum of g over all of them, and the precision and mean of the normal prior."""

    samples: Sequence[LineSample]
    score: float
    kappa: float
    mu: float


@strict_leaf
def growth(sample, a):
    """Return Z(a) / Z(``sample.at``)."""
    d, total = a - sample.at, 0.0
    for k in range(len(sample.p)):
        total += sample.p[k] * exp(d * sample.g[k])
    return total


@strict_leaf
def line_log_density(a, line):
    """Return the log density along the line, up to a constant."""
    out = a * line.score - 0.5 * line.kappa * (a - line.mu) ** 2
    for t in range(len(line.samples)):
        sample = line.samples[t]
        out -= sample.n * log(growth(sample, a))
    return out


@strict_leaf
def line_derivatives(a, line):
    """Return the slope of the log density and minus its second derivative."""
    slope, curvature = line.score - line.kappa * (a - line.mu), line.kappa
    for t in range(len(line.samples)):
        sample = line.samples[t]
        d, total, mean, square = a - sample.at, 0.0, 0.0, 0.0
        for k in range(len(sample.p)):
            g = sample.g[k]
            w = sample.p[k] * exp(d * g)
            total += w
            mean += w * g
            square += w * g * g
        mean /= total
        slope -= sample.n * mean
        curvature += sample.n * max(square / total - mean * mean, 0.0)
    return slope, curvature


@strict_leaf
def line_tangent(a, line):
    """Return the log density, as `line_log_density`, and its slope."""
    out = a * line.score - 0.5 * line.kappa * (a - line.mu) ** 2
    slope = line.score - line.kappa * (a - line.mu)
    for t in range(len(line.samples)):
        sample = line.samples[t]
        d, total, mean = a - sample.at, 0.0, 0.0
        for k in range(len(sample.p)):
            g = sample.g[k]
            w = sample.p[k] * exp(d * g)
            total += w
            mean += w * g
        out -= sample.n * log(total)
        slope -= sample.n * (mean / total)
    return out, slope


@strict_leaf
def bracketed(a, slope, step, low, high):
    """Return a Newton step from a, of moderate length, that stays in the bracket of a mode, which the slope narrows."""
    if slope > 0:
        low = a
    else:
        high = a
    new = a + min(max(step, -_FAR), _FAR)
    return new if low < new < high else 0.5 * (low + high), low, high


@strict_leaf
def line_mode(line):
    """Find the mode of the line and the standard deviation from its curvature, by bracketed Newton steps.

    It starts at 0 and does not depend on the present value of the coordinate, so that proposals around it are
    symmetric.
    """
    a, low, high, scale = 0.0, -np.inf, np.inf, 1.0
    for _ in range(_MAX_NEWTON):
        slope, curvature = line_derivatives(a, line)
        step, scale = slope / curvature, 1 / sqrt(curvature)
        if abs(step) < _NEAR * scale:
            return a + step, scale
        a, low, high = bracketed(a, slope, step, low, high)
    return a, scale


@strict_leaf
def line_parabola(line, kappa):
    """Return slope and curvature, at 0, of the parabola with the mode and the curvature of the line, without a normal
    prior of precision ``kappa`` around 0.
    """
    mode, scale = line_mode(line)
    whole = scale**-2.0
    return mode * whole, max(whole - kappa, _LEAST * whole)


@strict_leaf
def line_peak(line):
    """Return the mode, minus the second derivative there, and the number of observations."""
    n, (mode, scale) = 0.0, line_mode(line)
    for t in range(len(line.samples)):
        n += line.samples[t].n
    return mode, scale**-2.0, n
