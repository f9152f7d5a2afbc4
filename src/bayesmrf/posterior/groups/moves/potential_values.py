r"""Draws of potentials shared by many edges, with particles of x as an importance sample.

The counterpart of `bayesmrf.posterior.groups.moves.values` for several parameters: when the potential of group g moves
by delta,

.. math:: \log Z(\theta + \delta) - \log Z(\theta) = \log \frac1m \sum_p \exp \sum_j \delta_j T_{jp},

with T_jp the number of edges of the group that are in category j in particle p. Where the fields of nodes are separate
they move with the tables (`bayesmrf.posterior.conditionals.centred_tables`), and T is that of the centred features.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.linalg import cholesky, solve

from ....compiled import leaf
from ....states.importance import LEAST, add_half_particle, log_mean_weight, resample
from ...conditionals.centred_tables import CentredTables


@leaf
def category_counts(edges, category, members, p, x):
    """Count the edges of ``members`` in each of the categories 1 to p in each particle, (p, n_particles)."""
    out = np.zeros((p + 1, x.shape[1]), np.float32)
    for e in members:
        u, v = x[edges[e, 0]], x[edges[e, 1]]
        for lane in range(x.shape[1]):
            out[category[u[lane], v[lane]], lane] += np.float32(1)
    return out[1:]


@leaf
def state_counts(nodes, p, x):
    """Count the ``nodes`` in each of the states 1 to p in each particle, (p, n_particles)."""
    out = np.zeros((p + 1, x.shape[1]), np.float32)
    for u in nodes:
        for lane in range(x.shape[1]):
            out[x[u, lane], lane] += np.float32(1)
    return out[1:]


class MovedFields(NamedTuple):
    """Fields that move with the tables of edges."""

    lines: CentredTables
    values: np.ndarray  # (n_nodes, m - 1), of states 1 to m - 1; changed in place
    counts: np.ndarray  # (n_nodes, m - 1), observations in these states
    kappa: float  # precision of their normal prior


@leaf
def _add_states(change, x, t):
    """Add to ``t`` (p, n_particles) the ``change`` (n_nodes, m - 1, p) of each node's state in each particle."""
    for u in range(len(x)):
        if not change[u].any():
            continue
        for j in range(len(t)):
            for lane in range(x.shape[1]):
                if x[u, lane] > 0:
                    t[j, lane] += np.float32(change[u, x[u, lane] - 1, j])


def move_potentials(
    rng: np.random.Generator,
    counts_of: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    groups: np.ndarray,
    values: np.ndarray,
    counts: np.ndarray,
    n: float,
    precision: np.ndarray,
    fields: MovedFields | None = None,
) -> float:
    """Redraw the value of every group with more than one edge, in random order; values and particles change in place.

    Those of groups with one edge, too, where ``fields`` move with the values: alone they are redrawn elsewhere.

    The proposal is a normal approximation of the target at its mode, accepted by Metropolis-Hastings with the particles
    held fixed. The error of the mean of T adds n / m of the posterior's variance, which is subtracted from that of the
    proposal. ``counts_of`` gives the statistics of a group's members in each particle. Returns the share of proposals
    accepted.
    """
    m, p = x.shape[1], len(precision)
    log_weights, sizes = np.zeros(m), np.bincount(groups[groups >= 0], minlength=len(values))
    several = np.flatnonzero(sizes > (0 if fields else 1))
    n_accepted = 0
    for g in rng.permutation(several):
        now = log_mean_weight(log_weights)
        if now.spread > 1 / LEAST - 1:
            resample(rng, log_weights, x)
            now = log_mean_weight(log_weights)
        members, value = np.flatnonzero(groups == g), values[g]
        count = counts_of(members)
        t, total, held, slope = count, counts[members].sum(axis=0), precision, np.zeros(p)
        if fields is not None:
            move = fields.lines.of_fields(members, len(x))
            t = count.copy()
            _add_states(move.reshape(len(x), -1, p), x, t)
            total = total + move.T @ fields.counts.ravel()
            held, slope = precision + fields.kappa * move.T @ move, fields.kappa * move.T @ fields.values.ravel()
        weights = np.exp(log_weights - now.value) / m
        mean = t @ weights
        covariance = (t * weights) @ t.T - np.outer(mean, mean) + np.eye(p) / m
        mean = mean + 0.5 * ((count == 0).sum(axis=1) - (count == sizes[g]).sum(axis=1)) / m / m
        sharper = 1 / (1 - min(0.5, n * (1 + now.spread) / m))
        slope = slope + precision @ value  # of minus the log prior density
        curvature = sharper * n * covariance + held
        centre = solve(curvature, sharper * (total - n * mean) - slope)
        # Moves are limited so that weights of particles vary by a factor of about e.
        centre = centre / max(1.0, sqrt(centre @ covariance @ centre), np.abs(centre).max())
        lower = cholesky(curvature)
        delta = centre + solve(lower.T, rng.standard_normal(p))
        trial = log_weights + delta @ t
        after = log_mean_weight(trial)
        for row, old, step in zip(count, value, delta, strict=True):
            after = add_half_particle(after, row, sizes[g], old, step)
        ratio = sharper * (delta @ total - n * (after.value - now.value))
        ratio -= slope @ delta + 0.5 * delta @ held @ delta
        ratio += 0.5 * (np.square(lower.T @ (delta - centre)).sum() - np.square(lower.T @ centre).sum())
        if log(1 - rng.random()) < ratio:
            values[g], log_weights = value + delta, trial
            if fields is not None:
                fields.values[...] += (move @ delta).reshape(fields.values.shape)
            n_accepted += 1
    resample(rng, log_weights, x)
    return n_accepted / max(1, len(several))
