"""Births and deaths near 0 by the pull and the curvature of the log posterior there: their ratios and proposals."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from ..compiled import leaf

_DEPTH = 45.0  # nats below its top at which an exponential is negligible
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@leaf
def jump_log_ratio(a, pull, precision, variance, n, n_chains, width, sign):
    r"""Return log Q* without p0 and the top of the slab; for a death with the sign -1.

    Q* is the ratio of Chen and Welling 2012 structure, eq. 8, with log Z to the second order by its mean and variance
    (eq. 9 and 10 there). With the optimal proposal h(a) / int h (eq. 12 and 13) the terms that depend on a cancel,
    which leaves the integral of

    .. math:: h(a) = \exp(a\,\mathrm{pull} - a^2 (\sigma_0^{-2} + N S^2) / 2)

    and the correction of the estimate's bias, (1 + N^2 a^2 S^2 / 2n)^(-1) on the ratio of both births and deaths.
    """
    correction = log(1 + (n * a) ** 2 * variance / (2 * n_chains))
    return log_jump_integral(pull, precision + n * variance, width) - sign * correction


@leaf
def _jump_range(pull, tau, width):
    """Return the top of a pull - a^2 tau / 2 on -width..width, and middle and half length of the range within 45 of it.

    Beyond, its exponential is below rounding, and pieces and proposals there would be a waste of time for wide jumps.
    """
    best = min(max(pull, -tau * width), tau * width) / tau
    slope = abs(pull - tau * best)
    reach = 2 * _DEPTH / (slope + sqrt(slope**2 + 2 * _DEPTH * tau))
    low, high = max(-width, best - reach), min(width, best + reach)
    return best * (pull - 0.5 * best * tau), 0.5 * (low + high), 0.5 * (high - low)


@leaf
def log_jump_integral(pull, tau, width):
    """Return the log integral of exp(a pull - a^2 tau / 2) over -width..width, by Gauss-Legendre quadrature."""
    top, centre, half = _jump_range(pull, tau, width)
    pieces = 1 + int(0.5 * half * (abs(pull - tau * centre) + tau * half))
    half, total = half / pieces, 0.0
    for k in range(pieces):
        middle = centre + (2 * k + 1 - pieces) * half
        for q in range(8):
            a = middle + half * _NODES[q]
            total += _WEIGHTS[q] * exp(a * (pull - 0.5 * a * tau) - top)
    return top + log(half * total)


@leaf
def draw_jump(rng, pull, tau, width):
    """Draw a normal of precision tau and mean pull / tau, truncated to -width..width, by rejection.

    With the pull and curvature of the log posterior at 0: Chen and Welling 2012 structure, eq. 13.
    """
    top, centre, half = _jump_range(pull, tau, width)
    while True:
        a = centre + half * (2 * rng.random() - 1)
        if not log(1 - rng.random()) > a * (pull - 0.5 * a * tau) - top:  # NaN ends it
            return a
