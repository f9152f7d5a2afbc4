r"""The full conditional of the log of the scale s of a Cauchy slab that has a Gamma prior.

Given the squared lengths :math:`|d_e|^2` of the edges that exist, of :math:`n_e` coordinates each, the log density of t
= log s is

.. math:: c t - r e^t - \sum_e \left( n_e t + \frac{x_e}{2 \tau_{n_e}^2} + \frac{n_e + 1}{2} \log(1 + x_e) \right),
          \qquad x_e = |d_e|^2 e^{-2 t},

up to a constant, with the prior Gamma(c, r) of s and :math:`\tau_n` of `bayesmrf.posterior.conditionals.taper`. It is
concave, as all terms are: :math:`\log(1 + e^z)` is convex.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from .line import bracketed
from .taper import taper_precision

_NEAR, _MAX_NEWTON = 1e-3, 100  # the last Newton step, in standard deviations


class SlabScale(NamedTuple):
    """Squared lengths (n,), 0 for absent edges, numbers of coordinates (n,), and the constants of the prior."""

    sizes: np.ndarray
    n_values: np.ndarray
    shape: float
    rate: float


@strict_leaf
def scale_log_density(t, scale):
    """Return the log density at t, up to a constant."""
    out, factor = scale.shape * t - scale.rate * exp(t), exp(-2 * t)
    for e in range(len(scale.sizes)):
        if scale.sizes[e] > 0:
            n, x = scale.n_values[e], scale.sizes[e] * factor
            out -= n * t + 0.5 * taper_precision(n, 0.0) * x + 0.5 * (n + 1) * log1p(x)
    return out


@strict_leaf
def scale_derivatives(t, scale):
    """Return the slope of the log density and minus its second derivative."""
    curvature, factor = scale.rate * exp(t), exp(-2 * t)
    slope = scale.shape - curvature
    for e in range(len(scale.sizes)):
        if scale.sizes[e] > 0:
            n, x = scale.n_values[e], scale.sizes[e] * factor
            slope += taper_precision(n, 0.0) * x + (n + 1) * x / (1 + x) - n
            curvature += 2 * taper_precision(n, 0.0) * x + 2 * (n + 1) * x / (1 + x) ** 2
    return slope, curvature


@strict_leaf
def scale_tangent(t, scale):
    """Return the log density at t, and its slope."""
    slope, _ = scale_derivatives(t, scale)
    return scale_log_density(t, scale), slope


@strict_leaf
def scale_peak(scale):
    """Return the mode, minus the second derivative there, and 1: rounding is that of one observation."""
    t, low, high, curvature = log(scale.shape / scale.rate), -np.inf, np.inf, 1.0
    for _ in range(_MAX_NEWTON):
        slope, curvature = scale_derivatives(t, scale)
        if abs(slope) < _NEAR * curvature**0.5:
            break
        t, low, high = bracketed(t, slope, slope / curvature, low, high)
    return t, curvature, 1.0
