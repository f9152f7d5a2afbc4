r"""Overlapping modes and equivalent modes (Chen and Welling 2012, sections 3.1.3 and 3.1.4).

**Overlapping modes.** If the curvature of a log posterior along an eigenvector v is below that of the prior, the normal
approximation is too wide, or undefined. The integral of the density along v, relative to the mode, is then that of a
trapezoid, t_r - t_l, between the points on either side at which the density is half of that at the mode. They are found
by doubling the step until the density has dropped so far, or fewer than 90 % of the states are effective, and then by
Brent's method on the square of the distance, with a third of the density evaluations of a bisection.
Along a normal density the trapezoid is 2 sqrt(2 log 2) standard deviations wide instead of sqrt(2 pi): an error of
-0.0625 in the log.

**Equivalent modes.** Exchanging hidden units gives the same model, and K! modes of equal height. Modes that overlap are
counted once. Two units are in a group if

.. math:: \exp\Big(-\tfrac12 \frac{(\lambda - \lambda_{ij})^T}2 \Sigma^{-1} \frac{\lambda - \lambda_{ij}}2 \Big)
          > \tfrac12,

where lambda_ij has the parameters of the two exchanged: midway between the modes the density is more than half of that
at the mode. Groups are the connected components of these pairs. R groups of K_1, ..., K_R units have
K! / (K_1! ... K_R!) distinct modes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln, logsumexp

from .sampled import SHARE
from .target import Target

_HALF = np.log(0.5)
_PRECISION = 1e-3  # of a half width, relative
_MIRRORED = 12  # hidden units whose values are exchanged in all combinations
_FAR = 10.0  # nats; lower densities are not distinguished


class Trapezoid(NamedTuple):
    """Points along a direction through the mode, at 0, at which the density has dropped to a half."""

    left: float  # < 0
    right: float
    by_states: bool  # whether an end is where too few states were effective


def trapezoid(
    density: Callable[[np.ndarray], tuple[float, float]],
    mode: np.ndarray,
    direction: np.ndarray,
    step: float,
    top: float | None = None,
) -> Trapezoid:
    """Find the two ends of a trapezoid.

    Parameters
    ----------
    density : function
        Log density up to a constant at a point, and the share of effective states there.
    mode, direction : (n_features,) arrays
    step : float
        First step: the approximate scale at which the density drops.
    top : float, optional
        Log density at the mode. By default it is computed.
    """
    height = density(mode)[0] if top is None else top
    ends, by_states = [], False
    for side in (-1, 1):
        margins = {0.0: (-float(_HALF), False)}

        def left(square: float, side: int = side, margins: dict[float, tuple[float, bool]] = margins) -> float:
            """Return a positive number while the density is above a half and enough states are effective."""
            if square not in margins:
                value, share = density(mode + side * np.sqrt(square) * direction)
                by_density, by_share = value - height - _HALF, np.log(share / SHARE)
                least = np.clip(np.nan_to_num(min(by_density, by_share), nan=-_FAR), -_FAR, _FAR)
                margins[square] = float(least), bool(by_share < by_density)
            return margins[square][0]

        near, far = 0.0, step**2
        while left(far) > 0:
            near, far = far, 4 * far
        end = brentq(left, near, far, xtol=np.finfo(float).tiny, rtol=2 * _PRECISION)
        ends.append(side * float(np.sqrt(end)))
        by_states |= margins[min(margins, key=lambda square: abs(square - end))][1]
    return Trapezoid(ends[0], ends[1], by_states)


def groups_of_units(theta: np.ndarray, hessian: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return the group of each hidden unit, (n_hidden,), 0 to R - 1.

    Parameters
    ----------
    theta : (n_features,) array
        The mode.
    hessian : (n_features, n_features) array
        Minus the second derivative of the log posterior there.
    units : (n_hidden, m) int array
        Parameters of each unit, in the same order.
    """
    k = len(units)
    same = np.eye(k, dtype=bool)
    for i in range(k):
        for j in range(i):
            half = (theta[units[i]] - theta[units[j]]) / 2
            place, move = np.concatenate([units[i], units[j]]), np.concatenate([half, -half])
            same[i, j] = -0.5 * move @ hessian[np.ix_(place, place)] @ move > _HALF
    return connected_components(same, directed=False)[1]


def log_equivalent_modes(groups: np.ndarray) -> float:
    """Return log(K! / (K_1! ... K_R!)) for the groups with these labels."""
    return float(gammaln(len(groups) + 1) - gammaln(np.bincount(groups) + 1).sum()) if len(groups) else 0.0


def log_mirrored_modes(target: Target, theta: np.ndarray, hessian: np.ndarray) -> float:
    r"""Return the log weight, relative to the mode, of all modes with exchanged values of hidden units.

    The likelihood is the same at all of them, but the prior is not: the weight is the sum of its ratios, 1 for the mode
    itself. A unit has no second mode if the density does not drop to a half on the way. The modes are near these
    points, not at them, so that the weight is approximate.
    """
    single = target.mirrored(theta, np.eye(len(target.units), dtype=bool))
    if not len(single):
        return 0.0
    half = (single - theta) / 2
    apart = -0.5 * ((half @ hessian) * half).sum(axis=1) < _HALF
    height = target.prior.log_density(theta).sum()
    gain = np.where(apart, target.prior.log_density(single).sum(axis=1) - height, -np.inf)
    units = np.argsort(-gain)[: min(_MIRRORED, int(apart.sum()))]
    bits = np.arange(2 ** len(units))[:, None] >> np.arange(len(units)) & 1
    swapped = np.zeros((len(bits), len(single)), dtype=bool)
    swapped[:, units] = bits
    heights = [target.prior.log_density(target.mirrored(theta, s[None]))[0].sum() for s in swapped]
    return float(logsumexp(np.array(heights) - height))
