r"""Compiled leaves of the slabs of this package, and the constants of any slab.

A density with Cauchy tails of precision q is that at its top times the mean of :math:`e^{-\lambda a^2 / 2}` over
:math:`\lambda = 2 q g`, with g drawn from Gamma((n + k + 1) / 2), and times :math:`|a|^k` with k = 0, or 2 of
`bayesmrf.priors.Moment`.
"""

from __future__ import annotations

from math import exp, log, pi
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...priors import Cauchy, Gamma, Moment, Normal, Slab
from .log_concave import draw_exactly
from .slab_leaves import SlabLeaves, in_numpy, slope_of_wide_guide, wide_guide, with_leaves
from .slab_scale import SlabScale
from .taper import taper_precision

_LEAST = 1e-100  # draws of a Gamma variable of small shape round to 0, and the square of a small weight


class MixtureConstants(NamedTuple):
    """Constants of normal, Cauchy and moment slabs: they have one class, and so machine code is made once for all."""

    has_tails: bool  # of a Cauchy density
    is_learnt: bool  # whether the precision of a normal slab, or the scale of a Cauchy one, has a Gamma prior
    shape: float
    rate: float
    power: float  # k


@strict_leaf
def _taper(slab, precision, n_values):
    """Return the precision of the normal factor of a density with Cauchy tails: relative to its scale where this is
    learnt, so that the constant does not depend on it.
    """
    fixed = taper_precision(n_values, slab.power)
    return fixed * precision if slab.is_learnt else fixed


@strict_leaf
def _log_shape(slab, precision, size, n_values):
    if not slab.has_tails:
        return -0.5 * precision * size
    tails = (n_values + 1 + slab.power) * np.log1p(precision * size)
    return -0.5 * (_taper(slab, precision, n_values) * size + tails)


@strict_leaf
def _draw_mixture(rng, slab, precision, growth, n_values):
    if not slab.has_tails:
        return precision
    shape = 0.5 * (n_values + 1 + slab.power)
    return _taper(slab, precision, n_values) + 2 * precision * rng.standard_gamma(shape) / (1 + growth)


@strict_leaf
def _slope(slab, precision, size, growth, n_values, step):
    """That of |a|^k is infinite at 0. It is that of (a^2 + step^2)^(k / 2), so that no step is longer than others: the
    difference matters within a step of 0 only, where hardly any weight is.
    """
    if not slab.has_tails:
        return precision
    slope = _taper(slab, precision, n_values) + (n_values + 1 + slab.power) * precision / (1 + growth)
    return slope - slab.power / (size + step * step) if slab.power > 0 else slope


@strict_leaf
def _log_factor(slab, size):
    return 0.5 * slab.power * np.log(np.maximum(size, _LEAST)) if slab.power > 0 else 0.0


@strict_leaf
def _has_factor(slab):
    return slab.power > 0


@strict_leaf
def _log_top(slab, precision, n_values, constant):
    if not slab.has_tails:
        return 0.5 * n_values * log(precision / (2 * pi))
    return constant + 0.5 * n_values * log(precision) if slab.is_learnt else constant


@strict_leaf
def _draw_scale(rng, slab, precision, sizes, n_values):
    if not slab.is_learnt:
        return precision
    if slab.has_tails:
        return exp(-2 * draw_exactly(rng, SlabScale(sizes, n_values, slab.shape, slab.rate)))
    n, total = 0.0, 0.0
    for e in range(len(sizes)):
        total += sizes[e]
        if sizes[e] > 0:
            n += n_values[e]
    return max(rng.standard_gamma(slab.shape + 0.5 * n), _LEAST) / (slab.rate + 0.5 * total)


@strict_leaf
def _normal_part(slab, precision):
    return _taper(slab, precision, 1) if slab.has_tails else precision


@strict_leaf
def _guide(slab, precision, size, n_values, whole):
    """Return the log of the density itself, or of one with twice the scale where that is 0 at 0."""
    if slab.power == 0:
        return whole
    return -0.5 * _taper(slab, precision, n_values) * size + wide_guide(slab, precision, size, n_values, whole)


@strict_leaf
def _slope_of_guide(slab, precision, size, n_values):
    if not slab.has_tails:
        return precision
    taper = _taper(slab, precision, n_values)
    if slab.power > 0:
        return taper + slope_of_wide_guide(slab, precision, size, n_values)
    return taper + (n_values + 1) * precision / (1 + precision * size)


with_leaves(
    SlabLeaves(
        _log_shape, _draw_mixture, _slope, _log_factor, _log_top, _draw_scale, _normal_part, _guide, _slope_of_guide,
        _has_factor,
    )
)(MixtureConstants)  # fmt: skip


def _normal(slab: Normal) -> MixtureConstants:
    return MixtureConstants(False, False, 1.0, 1.0, 0.0)


def _normal_of_gamma(slab: Gamma) -> MixtureConstants:
    return MixtureConstants(False, True, float(slab.shape), float(slab.rate), 0.0)


def _cauchy(slab: Cauchy) -> MixtureConstants:
    scale = slab.scale if slab.is_learnt else Gamma()
    return MixtureConstants(True, slab.is_learnt, float(scale.shape), float(scale.rate), 0.0)


def _moment(slab: Moment) -> MixtureConstants:
    return MixtureConstants(True, False, 1.0, 1.0, float(slab.power))


# That of other slabs is `Slab.compiled`. Help texts need no numba.
_OF_PACKAGE: dict[type, Any] = {Normal: _normal, Gamma: _normal_of_gamma, Cauchy: _cauchy, Moment: _moment}


def constants_of(slab: Slab) -> Any:
    """Return the constants of a slab for compiled code."""
    make = _OF_PACKAGE.get(type(slab))
    return slab.compiled() if make is None else make(slab)


def log_densities(slab: Slab, precision: Any, squares: np.ndarray, n_values: int) -> Any:
    """Return the log densities of edges of some parameters, of the squared lengths of these.

    The scale is that of ``precision``.
    """
    constants = constants_of(slab)
    top = in_numpy(constants, "log_top")(constants, precision, n_values, slab.log_constant(n_values))
    factor = in_numpy(constants, "log_factor")(constants, squares)
    return top + factor + in_numpy(constants, "log_shape")(constants, precision, squares, n_values)
