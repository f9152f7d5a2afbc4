r"""The likelihoods of single items, each with all else held fixed, by which splits and merges of groups are proposed.

Items of two values (`Trials`) have the likelihood of Bernoulli trials, those with several parameters (`Categories`)
that of draws of a category; the logarithm of that of a weight (`Parabolas`) is a parabola with the mode and the
curvature of its line (`bayesmrf.posterior.conditionals.line`).

Values of `Trials` and `Categories` are drawn from Student's t around the mode of the likelihood of the items of a part.
The features of two parts of ordered answers are correlated, so the sum of the parabolas of both is much wider than the
posterior of what they share. A split of `Parabolas` therefore draws the difference d of two values only, and leaves
their mean,

.. math:: \phi_1 = \phi + \frac{c_2}{c_1 + c_2} d, \qquad \phi_2 = \phi - \frac{c_1}{c_1 + c_2} d

with c the sums of the curvatures. A merge is the inverse, and the Jacobian is 1 (Richardson and Green 1997 split the
components of a mixture by moments in the same way).
"""

from __future__ import annotations

from math import log, sqrt
from typing import NamedTuple

import numpy as np

from ....compiled import strict_leaf
from ...conditionals.by_class import by_class
from ...conditionals.one_coordinate import log_beta, log_sigmoid, sigmoid
from ...conditionals.one_potential import draw_t_around, log_t_around
from ...conditionals.student_t import draw_t, log_t
from .category_fits import WIDER, Categories, base_of_categories, gain_of_categories, rows_of, value_of_categories


class Trials(NamedTuple):
    """Successes of n trials of each item at the logit phi + nu, and the Beta(a, b) base of phi."""

    successes: np.ndarray
    nu: np.ndarray
    n: float
    a: float
    b: float


class Parabolas(NamedTuple):
    """The log likelihood of each item, slope phi - curvature phi^2 / 2, and precision and log constant of the normal
    base of phi.
    """

    slope: np.ndarray
    curvature: np.ndarray
    kappa: float
    log_constant: float


@strict_leaf
def _value_of_trials(members, part, which, fits):
    a, b, rows = fits.a, fits.b, rows_of(members, part, which)
    total, count, shift = a, a + b, 0.0
    for i in rows:
        total += fits.successes[i]
        count += fits.n
        shift += fits.nu[i]
    value = log(total / (count - total)) - shift / max(len(rows), 1)
    curvature = 1.0
    for _ in range(50):
        slope = a * sigmoid(-value) - b * sigmoid(value)
        curvature = (a + b) * sigmoid(value) * sigmoid(-value)
        for i in rows:
            p = sigmoid(value + fits.nu[i])
            slope += fits.successes[i] - fits.n * p
            curvature += fits.n * p * (1 - p)
        step = min(max(slope / curvature, -1.0), 1.0)
        value += step
        if abs(step) < 1e-9:
            break
    return value, WIDER / sqrt(curvature)


@strict_leaf
def _sums(members, part, which, fits):
    slope, curvature = 0.0, 0.0
    for i in rows_of(members, part, which):
        slope += fits.slope[i]
        curvature += fits.curvature[i]
    return slope, curvature


@strict_leaf
def _value_of_parabolas(members, part, which, fits):
    slope, curvature = _sums(members, part, which, fits)
    return slope / (curvature + fits.kappa), WIDER / sqrt(curvature + fits.kappa)


@strict_leaf
def _gain_of_trials(i, first, second, fits):
    s, n, nu = fits.successes[i], fits.n, fits.nu[i]
    gain = s * (log_sigmoid(second + nu) - log_sigmoid(first + nu))
    gain += (n - s) * (log_sigmoid(-second - nu) - log_sigmoid(-first - nu))
    return gain


@strict_leaf
def _gain_of_parabolas(i, first, second, fits):
    return (second - first) * (fits.slope[i] - 0.5 * fits.curvature[i] * (first + second))


@strict_leaf
def _base_of_trials(value, fits):
    return fits.a * log_sigmoid(value) + fits.b * log_sigmoid(-value) - log_beta(fits.a, fits.b)


@strict_leaf
def _base_of_parabolas(value, fits):
    return fits.log_constant - 0.5 * fits.kappa * value * value


@by_class({Trials: _value_of_trials, Parabolas: _value_of_parabolas, Categories: value_of_categories})
def value_proposal(members, part, which, fits):
    """Return the mode and the scale of a value given the ``members`` with ``part`` = which (all, if < 0)."""


@by_class({Trials: draw_t, Parabolas: draw_t, Categories: draw_t_around}, passed=False)
def draw_around(rng, mode, scale, fits):
    """Draw a value from Student's t around the mode of `value_proposal`."""


@by_class({Trials: log_t, Parabolas: log_t, Categories: log_t_around}, passed=False)
def log_around(value, mode, scale, fits):
    """Return the log density of `draw_around`."""


@by_class({Trials: _gain_of_trials, Parabolas: _gain_of_parabolas, Categories: gain_of_categories})
def gain_of(i, first, second, fits):
    """Return the log ratio of the likelihoods of item i at the values ``second`` and ``first``."""


@by_class({Trials: _base_of_trials, Parabolas: _base_of_parabolas, Categories: base_of_categories})
def log_base(value, fits):
    """Return the log density of the base at a value."""


@strict_leaf
def _draw_each(rng, split, members, part, value, first, second, fits):
    mode, scale = value_proposal(members, part, -1, fits)
    mode_first, scale_first = value_proposal(members, part, 0, fits)
    mode_second, scale_second = value_proposal(members, part, 1, fits)
    if split:
        first = draw_around(rng, mode_first, scale_first, fits)
        second = draw_around(rng, mode_second, scale_second, fits)
    else:
        value = draw_around(rng, mode, scale, fits)
    log_split = log_around(first, mode_first, scale_first, fits) + log_around(second, mode_second, scale_second, fits)
    return value, first, second, log_around(value, mode, scale, fits), log_split


@strict_leaf
def _draw_of_parabolas(rng, split, members, part, value, first, second, fits):
    (slope_first, c_first), (slope_second, c_second) = _sums(members, part, 0, fits), _sums(members, part, 1, fits)
    share = c_second / (c_first + c_second)
    if not split:
        value = (1 - share) * first + share * second
    # The log density of the difference, with the base of both values, is a parabola, too.
    curvature = share * c_first + fits.kappa * (share**2 + (1 - share) ** 2)
    slope = share * (slope_first - fits.kappa * value) - (1 - share) * (slope_second - fits.kappa * value)
    mode, scale = slope / curvature, WIDER / sqrt(curvature)
    if split:
        difference = draw_t(rng, mode, scale)
        first, second = value + share * difference, value - (1 - share) * difference
    return value, first, second, 0.0, log_t(first - second, mode, scale)


@by_class({Trials: _draw_each, Parabolas: _draw_of_parabolas, Categories: _draw_each})
def draw_values(rng, split, members, part, value, first, second, fits):
    """Draw the values of two parts, given that of both together (``split``), or that of both given the two.

    Return (value, first, second), and the log densities with which a merge and a split draw them.
    """
