r"""The full conditional of the weights a, b of two edges to a common node: a plane.

With the probabilities p_s of the states of the three nodes in the model without both edges, and the edges' features g
and h in these states,

.. math:: \log p(a, b \mid \mathrm{rest}) = a S_g + b S_h - n \log \sum_s p_s e^{a g_s + b h_s} + \log p(a, b)

up to a constant, with a normal prior. It is concave. Where the other ends are similar the data determine a + b well,
and two edges of opposite signs may be probable though neither is alone.
"""

from __future__ import annotations

from math import exp, log
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from .alike_nodes import pair_states
from .centred import edge_line, end_of, pair_values

_FAR, _NEAR, _MAX_NEWTON, _MAX_HALVINGS = 3.0, 1e-6, 50, 20  # longest step; gain of the last one


class Plane(NamedTuple):
    """Constants of the log density, which is 0 at the origin."""

    p: np.ndarray  # (m^3,)
    g: np.ndarray  # (m^3, 2)
    slope: np.ndarray  # (2,) of the part that is linear
    precision: np.ndarray  # (2, 2) of the prior
    n: float


@strict_leaf
def plane_values(lines, places, e, f, nodes):
    """Return the centred features (m^3, 2) of edges e and f in the states of their three nodes (`triple_of`)."""
    m, (hub, v, w) = len(lines.values), nodes
    g = np.empty((m**3, 2))
    g_e, g_f = pair_values(lines, e, hub, v), pair_values(lines, f, hub, w)
    for s in range(m**3):
        k, j = pair_states(s, places, m)
        g[s, 0], g[s, 1] = g_e[k], g_f[j]
    return g


@strict_leaf
def plane_of(lines, weights, g, e, f, nodes, theta, now, values):
    """Return the plane of edges e and f, which theta is without.

    ``weights`` (m^3,) are those of the states of their three nodes where both have their ``values`` (2,), and ``g``
    their `plane_values`.
    """
    m, (hub, v, w), p = len(lines.values), nodes, np.empty(len(g))
    for s in range(len(g)):
        p[s] = weights[s] * exp(-values[0] * g[s, 0] - values[1] * g[s, 1])
    cells, first, mixed = np.ones(m * m), lines.starts[hub], 0.0
    line_e = edge_line(lines, cells, 1.0, e, hub, v, theta, now)
    line_f = edge_line(lines, cells, 1.0, f, hub, w, theta, now)
    for place in range(first, lines.starts[hub + 1]):
        pull = lines.pull[e, end_of(lines, e, hub), place - first]
        mixed += now[place] * pull * lines.pull[f, end_of(lines, f, hub), place - first]
    slope = np.array([line_e.score + line_e.kappa * line_e.mu, line_f.score + line_f.kappa * line_f.mu])
    precision = np.array([[line_e.kappa, mixed], [mixed, line_f.kappa]])
    return Plane(p / p.sum(), g, slope, precision, lines.n)


@strict_leaf
def plane_log_density(t, plane):
    """Return the log density at t (2,)."""
    total = 0.0
    for s in range(len(plane.p)):
        total += plane.p[s] * exp(t[0] * plane.g[s, 0] + t[1] * plane.g[s, 1])
    return t @ (plane.slope - 0.5 * (plane.precision @ t)) - plane.n * log(total)


@strict_leaf
def plane_peak(plane):
    """Find the mode, and the Cholesky factor of the curvature there, by Newton steps from the origin.

    A step is halved where the density would fall.
    """
    t, top, curvature, mean = np.zeros(2), 0.0, np.empty((2, 2)), np.empty(2)
    for _ in range(_MAX_NEWTON):
        total, curvature[:], mean[:] = 0.0, 0.0, 0.0
        for s in range(len(plane.p)):
            q = plane.p[s] * exp(t[0] * plane.g[s, 0] + t[1] * plane.g[s, 1])
            total += q
            for i in range(2):
                mean[i] += q * plane.g[s, i]
                for j in range(2):
                    curvature[i, j] += q * plane.g[s, i] * plane.g[s, j]
        mean /= total
        for i in range(2):
            for j in range(2):
                curvature[i, j] = plane.precision[i, j] + plane.n * (curvature[i, j] / total - mean[i] * mean[j])
        slope = plane.slope - plane.precision @ t - plane.n * mean
        step = np.linalg.solve(curvature, slope)
        if slope @ step < _NEAR:
            break
        step *= min(1.0, _FAR / np.abs(step).max())
        new = plane_log_density(t + step, plane)
        for _ in range(_MAX_HALVINGS):
            if new > top:
                break
            step *= 0.5
            new = plane_log_density(t + step, plane)
        if not new > top:
            break
        t, top = t + step, new
    return t, np.linalg.cholesky(curvature)
