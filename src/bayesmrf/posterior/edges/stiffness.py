r"""The largest stable Langevin step on persistent chains.

Steps of size :math:`\epsilon` in the coordinates of the dynamics are stable while :math:`\epsilon^2 \lambda < 4`. Here
:math:`\lambda` is the largest eigenvalue of :math:`C H C`, with H the covariance of the features over the chains, times
the number of observations, and C the scales of the coordinates. It is of order 1 if edges are nearly independent, and
of the order of their number if their nodes flip together, such as parties in a parliament. It is updated by one step of
the power method on the current chains.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...compiled import strict_leaf
from ..conditionals.by_class import by_class
from .bit_chains import BitChains, covariances_of_bits
from .byte_chains import ByteChains, covariances_of_bytes
from .line_dynamics import find_parts


@by_class({BitChains: covariances_of_bits, ByteChains: covariances_of_bytes}, place=0)
def line_covariances(chains, lines, values, present, direction, out):
    """Set ``out`` (G, F) to the covariances over the chains of each feature with the sum of features by ``direction``.

    Those of edges are on their lines; 0 of those that are not ``present``.
    """


@strict_leaf
def stiffness(problem, steps, chains, theta, direction):
    r"""Return the Rayleigh quotient :math:`\lambda` of ``direction``, and move it towards the eigenvector."""
    lines, (n_weights, n), natural = problem.lines, theta.weights.shape, theta.natural
    has, back = np.empty((2, len(problem.places) - 1), np.bool_), np.empty(natural.shape)
    along, quotient, size, length = np.zeros(natural.shape), 0.0, 0.0, 0.0
    present = np.zeros(len(lines.edges), np.bool_)
    find_parts(problem, theta, has)
    for e in range(problem.n_edges):
        present[problem.places[e] : problem.places[e + 1]] = has[0, e] or has[1, e]
    for e in range(len(problem.places) - 1):
        for k in range(n_weights):
            for p in range(problem.places[e] if has[min(k, 1), e] else problem.places[e + 1], problem.places[e + 1]):
                moved = steps.scale[int(has[0, e]), k, p] * direction.weights[k, p]
                for t in range(len(natural)):
                    along[t, p] += _rate(problem, has, e, t, k) * moved
    for t in range(len(natural) if n == len(lines.edges) else 0):
        for i in range(len(lines.starts) - 1):
            first, last = lines.starts[i], lines.starts[i + 1]
            for a in range(first, last):
                for place in range(a, last):
                    along[t, place] += (
                        steps.factor[t, i, place - first, a - first] * direction.own[t, a - len(lines.edges)]
                    )
    line_covariances(chains, lines, steps.values, present, along, back)
    for e in range(len(problem.places) - 1):
        for k in range(n_weights):
            for p in range(problem.places[e], problem.places[e + 1]):
                old, new = direction.weights[k, p], 0.0
                if has[min(k, 1), e]:
                    for t in range(len(natural)):
                        new += _rate(problem, has, e, t, k) * lines.n[t] * back[t, p]
                    new *= steps.scale[int(has[0, e]), k, p]
                    quotient, size = quotient + old * new, size + old**2
                direction.weights[k, p] = new
                length += new**2
    for t in range(len(natural) if n == len(lines.edges) else 0):
        for i in range(len(lines.starts) - 1):
            first, last = lines.starts[i], lines.starts[i + 1]
            for a in range(first, last):
                old, new = direction.own[t, a - len(lines.edges)], 0.0
                for place in range(a, last):
                    new += steps.factor[t, i, place - first, a - first] * lines.n[t] * back[t, place]
                quotient, size, length = quotient + old * new, size + old**2, length + new**2
                direction.own[t, a - len(lines.edges)] = new
    direction.weights[:] /= sqrt(length) + 1e-300
    direction.own[:] /= sqrt(length) + 1e-300
    return quotient / max(size, 1e-300)


@strict_leaf
def _rate(problem, has, e, t, k):
    """Return how far a parameter of group t moves with coordinate k of a part."""
    return problem.contrast[t, k] - (problem.drift[k] if has[0, e] else 0.0)
