r"""Particles as an importance sample: the mean of their weights, and systematic resampling.

When theta moves by delta, Z changes by the mean weight of the particles,

.. math:: \log Z(\theta + \delta) - \log Z(\theta) = \log \frac1m \sum_p \exp(\delta \cdot s(x_p)).
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from ..compiled import leaf, strict_leaf
from ..samplers.resampling import copy_columns, systematic

LEAST = 0.5  # share of effective particles below which they are resampled
START_SWEEPS = 20  # of new particles, before the first step


class LogMean(NamedTuple):
    """Log of the mean weight, and the variance of a weight over its squared mean."""

    value: float
    spread: float


@leaf
def redrawn_share(n_nodes, n_edges):
    """Return the share of the edges that stay absent whose ends a scan redraws, each node twice on average.

    With many more candidates than edges, particles need not be redrawn for each of them.
    """
    return n_nodes / max(n_edges, 1)


@strict_leaf
def log_mean_weight(log_weights):
    """Return the log of the mean of exp(log_weights), and the spread of the weights."""
    top, m = log_weights.max(), len(log_weights)
    mean, square = 0.0, 0.0
    for p in range(m):
        w = exp(log_weights[p] - top)
        mean += w
        square += w * w
    mean /= m
    return LogMean(top + log(mean), max(0.0, square / m / (mean * mean) - 1))


@leaf
def relative_moments(mean, square, cube):
    """Return the variance and the third central moment of weights, in units of powers of their mean.

    ``square`` and ``cube`` are the means of their powers.
    """
    square, cube = square / mean**2, cube / mean**3
    return max(square - 1, 0.0), cube - 3 * square + 2


@strict_leaf
def add_half_particle(found, row, size, value, delta):
    """Return the log mean weight with one more particle: half of it has one edge more in agreement, half one less.

    It matters if ``size`` edges always agree (T = size) or never agree in all particles; otherwise the two halves
    nearly cancel. Both are less where even independent edges with the former ``value`` would differ more rarely:
    otherwise moves away from a large value would seem to cost more than moves towards it.
    """
    m = len(row)
    n_top, n_bottom = 0, 0
    for p in range(m):
        n_top += int(row[p] == size)
        n_bottom += int(row[p] == 0)
    more = (1 - n_top / m) * min(0.5 / m, size / (1 + exp(-value)))
    less = (1 - n_bottom / m) * min(0.5 / m, size / (1 + exp(value)))
    up, down = exp(delta) - 1, exp(-delta) - 1
    return LogMean(
        found.value + log1p(max(more * up + less * down, -0.5)), found.spread + more * up * up + less * down * down
    )


@strict_leaf
def resample(rng, log_weights, x):
    """Resample the particles (columns of ``x``) systematically; return as `systematic` which became copies of which."""
    spare, dead = systematic(rng, np.exp(log_weights - log_weights.max()))
    copy_columns(x, spare, dead)
    log_weights[:] = 0.0
    return spare, dead
