r"""Draws of Polya-Gamma variables, which make a logistic-beta density a mixture of normal ones.

.. math:: \frac{e^{a t}}{(1 + e^t)^{a + b}} \propto e^{(a - b) t / 2} \int e^{-\omega t^2 / 2}\,
          \mathrm{PG}(\omega \mid a + b, 0)\, d\omega, \qquad \omega \mid t \sim \mathrm{PG}(a + b, t)

(Polson, Scott and Windle 2013).
"""

from __future__ import annotations

from math import cosh, pi, tanh

from ...compiled import strict_leaf

_TERMS = 8  # of the series that are drawn; the rest is Gamma distributed with its mean and variance
_SMALL = 0.5  # tilt below which the mean and the variance are series
_LARGE = 600.0  # tilt at which cosh overflows


@strict_leaf
def draw_polya_gamma(rng, shape, tilt):
    r"""Draw from PG(shape, tilt), :math:`\frac{1}{2 \pi^2} \sum_k g_k / ((k - 1/2)^2 + t^2 / 4 \pi^2)`, with
    :math:`g_k \sim \mathrm{Gamma}(\mathrm{shape}, 1)`.

    The relative error of the third cumulant is less than 1e-5; mean and variance are exact.
    """
    t = min(abs(tilt), _LARGE)
    if t < _SMALL:
        mean = 0.25 * (1 - t**2 / 12 + t**4 / 120 - 17 * t**6 / 20160)
        variance = 0.25 * (1 / 6 - t**2 / 30 + 17 * t**4 / 3360)
    else:
        mean = tanh(t / 2) / (2 * t)
        variance = (2 * tanh(t / 2) - t / cosh(t / 2) ** 2) / (4 * t**3)
    total = 0.0
    for k in range(_TERMS):
        weight = 0.5 / (pi**2 * (k + 0.5) ** 2 + t**2 / 4)
        total += weight * rng.standard_gamma(shape)
        mean -= weight
        variance -= weight**2
    return total + variance / mean * rng.standard_gamma(shape * mean**2 / variance)
