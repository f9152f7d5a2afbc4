"""The likelihoods of items with p parameters, by which splits and merges of groups of potentials are proposed.

The items' likelihoods, with log odds nu held fixed, are those of n draws of a category
(`bayesmrf.posterior.conditionals.one_potential`). Values are proposed from Student's t around the mode of the joint
likelihood of the items of a part. `bayesmrf.posterior.groups.moves.fits` has those of items with one parameter.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from ....compiled import strict_leaf
from ...conditionals.one_potential import OnePotential, log_base, log_fit

_MAX_NEWTON, _NEAR = 100, 1e-3  # steps to the mode, and the length at which they end
WIDER = 1.2  # scale of the proposal of a value, relative to the items' likelihood


class Categories(NamedTuple):
    """Counts of the categories 1 to p in n observations of each item, log odds nu, and precision and log constant of
    the normal base.
    """

    counts: np.ndarray
    nu: np.ndarray
    n: float
    precision: np.ndarray
    log_constant: float


@strict_leaf
def _derivatives(w, rows, total, fits, slope, curvature, q):
    """Compute the log likelihood of ``rows``, whose counts sum to ``total``, at a shared value, and log of its base.

    ``slope`` and minus the second derivative, ``curvature``, are filled; ``q`` is work space.
    """
    p, out, nu, n, precision = len(w), 0.0, fits.nu, fits.n, fits.precision
    for j in range(p):
        slope[j] = total[j]
        for k in range(p):
            slope[j] -= precision[j, k] * w[k]
            curvature[j, k] = precision[j, k]
        out += 0.5 * w[j] * (slope[j] + total[j])
    for i in rows:
        top = 0.0
        for j in range(p):
            top = max(top, w[j] + nu[i, j])
        whole = exp(-top)
        for j in range(p):
            q[j] = exp(w[j] + nu[i, j] - top)
            whole += q[j]
        out -= n * (top + log(whole))
        for j in range(p):
            q[j] /= whole
        for j in range(p):
            slope[j] -= n * q[j]
            curvature[j, j] += n * q[j]
            for k in range(p):
                curvature[j, k] -= n * q[j] * q[k]
    return out


@strict_leaf
def rows_of(members, part, which):
    """Return the ``members`` with ``part`` = which; all, if < 0."""
    out = np.empty(len(members), np.int64)
    size = 0
    for i in members:
        if which < 0 or part[i] == which:
            out[size] = i
            size += 1
    return out[:size]


@strict_leaf
def value_of_categories(members, part, which, fits):
    """Return the mode of a value shared by the ``members`` with ``part`` = which (all, if < 0), and the Cholesky factor
    of the curvature there.
    """
    rows, p = rows_of(members, part, which), len(fits.precision)
    total, w, slope, q = np.zeros(p), np.zeros(p), np.empty(p), np.empty(p)
    curvature = np.empty((p, p))
    for i in rows:
        for j in range(p):
            total[j] += fits.counts[i, j]
    value = _derivatives(w, rows, total, fits, slope, curvature, q)
    for _ in range(_MAX_NEWTON):
        step, size = np.linalg.solve(curvature, slope), 1.0
        furthest = np.abs(step).max()
        while True:
            trial = w + size * step
            new = _derivatives(trial, rows, total, fits, slope, curvature, q)
            if new >= value - 1e-9 * abs(value) or size < 1e-6:
                break
            size *= 0.5
        w, value = trial, new
        if size * furthest < _NEAR:
            break
    return w, np.linalg.cholesky(curvature) / WIDER


@strict_leaf
def gain_of_categories(i, first, second, fits):
    """Return the log ratio of the likelihoods of item i at the values ``second`` and ``first``."""
    conditional = OnePotential(fits.counts[i], fits.n, fits.nu[i], fits.precision, 0.0)
    return log_fit(second, conditional) - log_fit(first, conditional)


@strict_leaf
def base_of_categories(value, fits):
    """Return the log density of the base at a value."""
    return log_base(value, fits.precision, fits.log_constant)
