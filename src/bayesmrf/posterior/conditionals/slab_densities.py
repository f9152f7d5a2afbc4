"""Log densities of slabs, of arrays: `bayesmrf.posterior.conditionals.spike.log_slab_density` in numpy."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from .spike import EdgePrior
from .taper import taper_precisions

_TINY = 1e-100  # squared length of an edge that exists, at least


def log_slab_densities(prior: EdgePrior, tops: Any, precision: np.ndarray, squares: np.ndarray, n_values: Any) -> Any:
    """Return the log densities of a slab, of arrays that broadcast.

    Parameters
    ----------
    prior : EdgePrior
    tops : array
        Log densities at 0 of slabs with Cauchy tails (`bayesmrf.posterior.conditionals.spike.log_top`).
    precision : array
        Scale^-2 of the slab.
    squares : array
        Squared lengths of the parameters of an edge.
    n_values : int or array
        How many parameters that are.
    """
    if not prior.cauchy:
        return 0.5 * n_values * np.log(precision / (2 * pi)) - 0.5 * precision * squares
    found = tops - 0.5 * tapers(prior, precision, n_values) * squares
    found = found - 0.5 * (n_values + 1 + prior.power) * np.log1p(precision * squares)
    if prior.power > 0:
        found = found + 0.5 * prior.power * np.log(np.maximum(squares, _TINY))
    return found + 0.5 * n_values * np.log(precision) if prior.precision == 0 else found


def tapers(prior: EdgePrior, precision: np.ndarray, n_values: Any) -> np.ndarray:
    """Return the precisions of the normal factors of slabs with Cauchy tails."""
    return taper_precisions(n_values, prior.power) * (precision if prior.precision == 0 else 1.0)
