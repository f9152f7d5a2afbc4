r"""Draws of values shared by many edges or nodes, with particles of x as an importance sample.

When the values of groups move by delta, Z changes by the mean over the particles of a weight (Murray and Ghahramani
2004, eq. 8),

.. math:: \log Z(\theta + \delta) - \log Z(\theta) = \log \frac1m \sum_p \exp \sum_g \delta_g T_{gp},

with T_gp the number of edges of group g whose ends agree in particle p. A move by one posterior standard deviation has
log weights with standard deviation n^(-1/2), so the weights are nearly even. Groups are visited one after another, each
with the weights of the moves before it; in the end the particles are resampled to the new values.
"""

from __future__ import annotations

from math import exp, log1p, sqrt

import numpy as np

from ....compiled import copy_to, leaf, strict_leaf
from ....samplers.resampling import copy_columns
from ....states.importance import LEAST, add_half_particle, log_mean_weight, resample
from ...conditionals.one_coordinate import log_sigmoid, sigmoid

_REACH = 1.0  # largest standard deviation of the log weights of one move


@leaf
def group_counts(edges, members, label, k, x):
    """Count the edges of ``members`` in each group whose ends agree, in each particle: (k, n_particles) float32."""
    m = x.shape[1] >> 6 << 6
    out = np.zeros((k, m), np.float32)
    for e in members:
        u, v, row = x[edges[e, 0]], x[edges[e, 1]], out[label[e]]
        for lane in range(m):
            row[lane] += np.float32(u[lane] == v[lane])
    return out


@leaf
def group_products(edges, members, label, k, x, score, mean):
    """Sum the products of the scores of the ends of the edges of each group, in each particle, as `group_counts`.

    ``score`` (m,) are those of the states. They are centred on the scores ``mean`` of the nodes, up to a constant.
    """
    m = x.shape[1] >> 6 << 6
    out = np.zeros((k, m), np.float32)
    for e in members:
        u, v, row = x[edges[e, 0]], x[edges[e, 1]], out[label[e]]
        a, b = mean[edges[e, 0]], mean[edges[e, 1]]
        for lane in range(m):
            one, two = score[u[lane]], score[v[lane]]
            row[lane] += one * two - a * two - b * one
    return out


@leaf
def node_counts(label, k, x):
    """Count the nodes of each group in state 1, in each particle: (k, n_particles) float32."""
    m = x.shape[1] >> 6 << 6
    out = np.zeros((k, m), np.float32)
    for u in range(len(label)):
        state, row = x[u], out[label[u]]
        for lane in range(m):
            row[lane] += np.float32(state[lane] > 0)
    return out


@strict_leaf
def _log_prior(value, prior):
    return prior.a * log_sigmoid(value) + prior.b * log_sigmoid(-value) - 0.5 * prior.kappa * value * value


@strict_leaf
def move_values(rng, counts, sizes, top, successes, values, n, prior, x):
    r"""Redraw the value of every group with more than one edge, in random order, in place; particles follow.

    ``top`` is the largest value of the feature of an edge.

    Given the particles, the target of a move delta of group g is exp(n (delta s / n - log mean weight)) times the
    prior. Its centre has the error of the mean of T_g, whose variance is n / m of the posterior's: the variance of the
    draw is smaller by as much, so that both together have the posterior's variance (if m > 2 n).

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
            copy_columns(counts, *resample(rng, log_weights, x))
            now = log_mean_weight(log_weights)
        mean, square, at_end = 0.0, 0.0, 0.0
        for p in range(m):
            w = exp(log_weights[p] - now.value) / m
            mean += w * row[p]
            square += w * row[p] * row[p]
            at_end += int(row[p] == 0) - int(row[p] == top * sizes[g])
        variance = max(0.0, square - mean * mean) + 1 / m
        mean += 0.5 * at_end / m / m
        sharper = 1 / (1 - min(0.5, n * (1 + now.spread) / m))
        reach = _REACH / max(sqrt(variance), _REACH)
        # Newton's method on the quadratic form of the target, within limits.
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
        change = add_half_particle(log_mean_weight(trial), row, top * sizes[g], value, new).value - now.value
        ratio = sharper * (new * successes[g] - n * change)
        ratio += _log_prior(value + new, prior) - _log_prior(value, prior)
        ratio += 0.5 * (((new - delta) / scale) ** 2 - (delta / scale) ** 2)
        if log1p(-rng.random()) < ratio:
            values[g] = value + new
            copy_to(log_weights, trial)
            n_accepted += 1
    resample(rng, log_weights, x)
    return n_accepted / max(1, n_tried)
