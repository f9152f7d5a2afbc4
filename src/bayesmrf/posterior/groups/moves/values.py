r"""Values shared by many edges, or by many nodes, drawn with particles of x as an importance sample.

When the values of groups move by delta, Z changes by the mean over the particles of a weight (Murray and Ghahramani
2004, eq. 8),

.. math:: \log Z(\theta + \delta) - \log Z(\theta) = \log \frac1m \sum_p \exp \sum_g \delta_g T_{gp},

with T_gp the number of edges of group g whose ends agree in particle p. A move by one posterior standard deviation
has log weights with standard deviation n^(-1/2), so that the weights are nearly even. Groups are visited one after
another, each with the weights of the moves before it, and the particles are resampled at the end: they are then at
the new values.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from ....compiled import leaf, strict_leaf
from ....particles.importance import systematic
from ...conditionals.one_coordinate import log_sigmoid, sigmoid

_REACH = 1.0  # largest standard deviation of the log weights of one move
LEAST = 0.5  # share of effective particles below which they are resampled at once


class LogMean(NamedTuple):
    """Log of the mean weight, and the variance of a weight over its squared mean."""

    value: float
    spread: float


@leaf
def group_counts(edges, members, label, k, x):
    """Edges of each group whose ends agree, in each particle: (k, n_particles) float32, over the edges ``members``."""
    m = x.shape[1] >> 6 << 6
    out = np.zeros((k, m), np.float32)
    for e in members:
        u, v, row = x[edges[e, 0]], x[edges[e, 1]], out[label[e]]
        for lane in range(m):
            row[lane] += np.float32(u[lane] == v[lane])
    return out


@leaf
def node_counts(label, k, x):
    """Nodes of each group that are up, in each particle: (k, n_particles) float32."""
    m = x.shape[1] >> 6 << 6
    out = np.zeros((k, m), np.float32)
    for u in range(len(label)):
        state, row = x[u], out[label[u]]
        for lane in range(m):
            row[lane] += np.float32(state[lane] > 0)
    return out


@strict_leaf
def log_mean_weight(log_weights):
    """Log of the mean of exp(log_weights), with the spread of the weights."""
    top, m = log_weights.max(), len(log_weights)
    mean, square = 0.0, 0.0
    for p in range(m):
        w = exp(log_weights[p] - top)
        mean += w
        square += w * w
    mean /= m
    return LogMean(top + log(mean), max(0.0, square / m / (mean * mean) - 1))


@strict_leaf
def add_half_particle(found, row, size, delta):
    """The log mean weight with half a particle more that has an edge more that agrees, and half one that has one less.

    Where all particles say that ``size`` edges always agree (T = size), or never, they do not know by how much.
    Elsewhere the two cancel.
    """
    m = len(row)
    n_top, n_bottom = 0, 0
    for p in range(m):
        n_top += int(row[p] == size)
        n_bottom += int(row[p] == 0)
    more, less = (0.5 - 0.5 * n_top / m) / m, (0.5 - 0.5 * n_bottom / m) / m
    up, down = exp(delta) - 1, exp(-delta) - 1
    return LogMean(
        found.value + log1p(max(more * up + less * down, -0.5)), found.spread + more * up * up + less * down * down
    )


@strict_leaf
def resample(rng, log_weights, x, counts):
    """Systematic resampling of the particles (columns of ``x`` and ``counts``); those not drawn become copies."""
    spare, dead = systematic(rng, np.exp(log_weights - log_weights.max()))
    for i in range(len(x)):
        for j in range(len(dead)):
            x[i, dead[j]] = x[i, spare[j]]
    for g in range(len(counts)):
        for j in range(len(dead)):
            counts[g, dead[j]] = counts[g, spare[j]]
    log_weights[:] = 0.0


@strict_leaf
def _log_prior(value, prior):
    return prior.a * log_sigmoid(value) + prior.b * log_sigmoid(-value) - 0.5 * prior.kappa * value * value


@strict_leaf
def move_values(rng, counts, sizes, successes, values, n, prior, x):
    r"""Redraw the value of every group with more than one edge, in random order; particles follow, values change in
    place.

    Given the particles, the target of a move delta of group g is exp(n (delta s / n - log mean weight)) times the
    prior. Its centre carries the error of the mean of T_g, whose variance is n / m of the posterior's: the draw is
    made narrower by as much, so that both together have the posterior's spread (as long as m > 2 n).

    Returns the share of proposals accepted.
    """
    k, m = counts.shape
    log_weights, trial = np.zeros(m), np.empty(m)
    n_tried, n_accepted = 0, 0
    for g in rng.permutation(k):
        if sizes[g] < 2:
            continue
        row = counts[g]
        now = log_mean_weight(log_weights)
        if now.spread > 1 / LEAST - 1:
            resample(rng, log_weights, x, counts)
            now = log_mean_weight(log_weights)
        mean, square, at_end = 0.0, 0.0, 0.0
        for p in range(m):
            w = exp(log_weights[p] - now.value) / m
            mean += w * row[p]
            square += w * row[p] * row[p]
            at_end += int(row[p] == 0) - int(row[p] == sizes[g])
        variance = max(0.0, square - mean * mean) + 1 / m
        mean += 0.5 * at_end / m / m
        sharper = 1 / (1 - min(0.5, n * (1 + now.spread) / m))
        reach = _REACH / max(sqrt(variance), _REACH)
        # Newton's method on the quadratic form of the target, within reach.
        value, delta, curvature = values[g], 0.0, 1.0
        for _ in range(8):
            here = value + delta
            slope = sharper * (successes[g] - n * (mean + variance * delta)) - prior.kappa * here
            slope += prior.a * sigmoid(-here) - prior.b * sigmoid(here)
            curvature = sharper * n * variance + prior.kappa + (prior.a + prior.b) * sigmoid(here) * sigmoid(-here)
            delta = min(max(delta + slope / curvature, -reach), reach)
        scale = 1 / sqrt(curvature)
        new = delta + scale * rng.standard_normal()
        n_tried += 1
        for p in range(m):
            trial[p] = log_weights[p] + new * row[p]
        change = add_half_particle(log_mean_weight(trial), row, sizes[g], new).value - now.value
        ratio = sharper * (new * successes[g] - n * change)
        ratio += _log_prior(value + new, prior) - _log_prior(value, prior)
        ratio += 0.5 * (((new - delta) / scale) ** 2 - (delta / scale) ** 2)
        if log1p(-rng.random()) < ratio:
            values[g] = value + new
            log_weights[:] = trial
            n_accepted += 1
    resample(rng, log_weights, x, counts)
    return n_accepted / max(1, n_tried)
