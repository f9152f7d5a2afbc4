"""Integral and exact draws of a log-concave density, that of one coordinate of theta given the others.

Three functions define the density: `log_density`, `tangent` and `peak`, which are compiled for the class of their
argument, `OneCoordinate`, `Line` or `SlabScale`.
"""

from __future__ import annotations

from math import exp, log, sqrt

from ...compiled import strict_leaf
from .by_class import by_class
from .line import Line, line_log_density, line_peak, line_tangent
from .one_coordinate import OneCoordinate, coordinate_log_density, coordinate_peak, coordinate_tangent
from .slab_scale import SlabScale, scale_log_density, scale_peak, scale_tangent

_BEND = sqrt(2)
_DROP = 42.0  # limits of the integral: where the integrand is exp(-42) of its peak, 6e-19
_TOLERANCE = 1e-11  # relative, of the quadrature
_ROUNDING = 1e-15  # of the log density, for each observation: the rounding error of sums


@by_class({Line: line_log_density, OneCoordinate: coordinate_log_density, SlabScale: scale_log_density})
def log_density(t, density):
    """Return the log density at t, up to a constant."""


@by_class({Line: line_tangent, OneCoordinate: coordinate_tangent, SlabScale: scale_tangent})
def tangent(t, density):
    """Return the log density at t, and its slope, a decreasing function."""


@by_class({Line: line_peak, OneCoordinate: coordinate_peak, SlabScale: scale_peak})
def peak(density):
    """Return the mode, minus the second derivative there (or a bound of it), and the number of observations."""


@strict_leaf
def find_drop(mode, curvature, density, drop, sign):
    """Find a point on one side (sign +-1) of the mode where the log density is lower by between drop and 1.2 drop."""
    top = log_density(mode, density)
    near, width = 0.0, sqrt(2 * drop / curvature)
    while top - log_density(mode + sign * width, density) < drop:
        near = width
        width *= 2
    far = width
    while top - log_density(mode + sign * far, density) > 1.2 * drop:
        middle = 0.5 * (near + far)
        if not near < middle < far:  # no number in between
            break
        if top - log_density(mode + sign * middle, density) < drop:
            near = middle
        else:
            far = middle
    return mode + sign * far


@strict_leaf
def log_integral(density):
    """Return the log of the integral of the density over the real line.

    The trapezoidal rule converges geometrically for an analytic integrand that vanishes at both ends; intervals are
    halved until two sums agree.
    """
    mode, curvature, n = peak(density)
    top = log_density(mode, density)
    low, high = find_drop(mode, curvature, density, _DROP, -1.0), find_drop(mode, curvature, density, _DROP, 1.0)
    n_intervals = 32
    h = (high - low) / n_intervals
    tolerance = max(_TOLERANCE, _ROUNDING * n)
    total = 0.0
    for i in range(1, n_intervals):
        total += exp(log_density(low + i * h, density) - top)
    while True:
        middle = 0.0
        for i in range(n_intervals):
            middle += exp(log_density(low + (i + 0.5) * h, density) - top)
        agreed = abs(middle - total) <= tolerance * total
        total += middle
        n_intervals *= 2
        h *= 0.5
        if agreed or n_intervals > 2**22:
            return top + log(total * h)


@strict_leaf
def draw_exactly(rng, density):
    """Draw exactly, by rejection under tangents where the log density is lower than at the mode by about 1."""
    mode, curvature, _ = peak(density)
    left, right = find_drop(mode, curvature, density, 1.0, -1.0), find_drop(mode, curvature, density, 1.0, 1.0)
    return draw_between(rng, density, mode, left, right)


@strict_leaf
def draw_between(rng, density, mode, left, right):
    """Draw exactly by rejection from an envelope: flat at the top, then the tangents at ``left`` and ``right``.

    It is an envelope for any two points, as the log density is concave.
    """
    top = log_density(mode, density)
    (at_left, rise), (at_right, fall) = tangent(left, density), tangent(right, density)
    descent = -fall
    # Where the tangents reach the top.
    l0 = left + (top - at_left) / rise
    r0 = right - (top - at_right) / descent
    areas = 1 / rise, r0 - l0, 1 / descent
    while True:
        u = rng.random() * (areas[0] + areas[1] + areas[2])
        e = -log(1 - rng.random())  # a standard exponential: length of a tail, before scaling
        if u < areas[0]:
            t, hat = l0 - e / rise, top - e
        elif u < areas[0] + areas[1]:
            t, hat = l0 + (u - areas[0]), top
        else:
            t, hat = r0 + e / descent, top - e
        if not log(1 - rng.random()) > log_density(t, density) - hat:  # NaN ends it
            return t


@strict_leaf
def draw_around(rng, density, mode, scale):
    """Draw as `draw_between` with tangents at sqrt(2) standard deviations from the mode, without a search."""
    return draw_between(rng, density, mode, mode - _BEND * scale, mode + _BEND * scale)
