"""One-coordinate moves of theta, and a sweep of them with exact moments, compiled."""

from __future__ import annotations

import numpy as np

from ..compiled import strict_leaf
from .elimination.passes import moments_of


@strict_leaf
def shift(edges, form, coupling, field, j, delta):
    """Change the compiled form as theta_j changes by delta, except the offset."""
    if j < len(coupling):
        coupling[j] += form.b * delta
        field[edges[j, 0]] += form.c * delta
        field[edges[j, 1]] += form.c * delta
    else:
        field[j - len(coupling)] += form.q * delta


@strict_leaf
def walk(plan, edges, form, coupling, field, theta, moments, low, s_bar, n_samples, deltas, thresholds):
    """Try theta_j + deltas_j in turn, accept if the log likelihood increases by more than thresholds_j; count
    acceptances.

    The increase follows from the moment of feature j (`Likelihood.coordinate_log_ratio`), so only accepted moves need a
    solve. ``coupling``, ``field``, ``theta`` and ``moments`` are overwritten.
    """
    n_edges = len(coupling)
    accepted = 0
    for j in range(len(deltas)):
        delta = deltas[j]
        p = min(max((moments[j] - low[j]) / (1 - low[j]), 0.0), 1.0)
        top = max(delta, low[j] * delta)
        growth = p * np.exp(delta - top) + (1 - p) * np.exp(low[j] * delta - top)
        if not n_samples * (delta * s_bar[j] - top - np.log(growth)) > thresholds[j]:
            continue
        accepted += 1
        theta[j] += delta
        shift(edges, form, coupling, field, j, delta)
        _, pair, node = moments_of(plan, coupling, field)
        for e in range(n_edges):
            moments[e] = form.a + form.b * pair[e] + form.c * (node[edges[e, 0]] + node[edges[e, 1]])
        for i in range(len(theta) - n_edges):
            moments[n_edges + i] = form.p + form.q * node[i]
    return accepted
