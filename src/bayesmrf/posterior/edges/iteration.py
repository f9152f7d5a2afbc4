"""An iteration of reversible jumps on persistent chains, whatever the chains are kept in.

The chains take a Gibbs sweep; all parameters get half a kick of Langevin dynamics by the moments of the chains; edges
are born, die and swap, and the chains follow; after the other half of the kick all parameters move
(`bayesmrf.posterior.edges.line_dynamics`). What depends on how states are kept is chosen by the class of the chains,
which are bits (`bayesmrf.posterior.edges.bit_chains`) or bytes (`bayesmrf.posterior.edges.byte_chains`): sharing
more than this is no use, as yes/no answers take a third of the time as bits (docs/notes/moves_of_theta.md).
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...compiled import strict_leaf
from ..conditionals.by_class import by_class
from ..conditionals.group_lines import draw_group_scales
from .bit_chains import BitChains, covariances_of_bits, follow_in_bits, means_of_bits, refresh_bits, visit_in_bits
from .byte_chains import (
    ByteChains,
    covariances_of_bytes,
    follow_in_bytes,
    means_of_bytes,
    refresh_bytes,
    visit_in_bytes,
)
from .line_dynamics import draw_node_precisions, drift, find_parts, kick
from .spike_slab import DIVERGED


@by_class({BitChains: refresh_bits, ByteChains: refresh_bytes}, place=1)
def refresh(rng, chains):
    """Flip clusters of nodes, and sweep the chains of all groups."""


@by_class({BitChains: means_of_bits, ByteChains: means_of_bytes}, place=0)
def chain_means(chains, problem, has, out):
    """Set ``out`` (G, F) to the means over the chains of the features of nodes, and of present edges on their lines."""


@by_class({BitChains: visit_in_bits, ByteChains: visit_in_bytes}, place=1)
def visit(rng, chains, problem, theta, momentum, has, drawn):
    """Propose births, deaths and swaps, which chains and ``has`` follow; return how many were accepted."""


@by_class({BitChains: follow_in_bits, ByteChains: follow_in_bytes}, place=0)
def follow(chains, problem, theta):
    """Let the chains' weights be those of the present parameters."""


@by_class({BitChains: covariances_of_bits, ByteChains: covariances_of_bytes}, place=0)
def line_covariances(chains, lines, values, present, direction, out):
    """Set ``out`` (G, F) to the covariances over the chains of each feature with the sum of features by ``direction``.

    Those of edges are on their lines; 0 of those that are not ``present``.
    """


@strict_leaf
def stiffness(problem, steps, chains, theta, direction):
    r"""Return the Rayleigh quotient :math:`\lambda` of ``direction``, and move it towards the eigenvector.

    Steps of size :math:`\epsilon` in the coordinates of the dynamics are stable while :math:`\epsilon^2 \lambda < 4`,
    with :math:`\lambda` the largest eigenvalue of :math:`C H C`, where H is the covariance of the features over the
    chains, times the number of observations, and C the scales of the coordinates. It is of order 1 if edges are nearly
    independent, and of the order of their number if their nodes flip together. This is a step of the power method.
    """
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


@strict_leaf
def iterate(rng, chains, problem, steps, theta, momentum, n_iterations):
    """Make iterations; return p0 and precision of the slabs, and the number of births, deaths and swaps."""
    means, drawn, n_moves = np.zeros(theta.natural.shape), np.zeros(4), 0
    has, precision = np.empty((2, len(problem.places) - 1), np.bool_), np.empty(theta.natural.shape[1])
    find_parts(problem, theta, has)
    follow(chains, problem, theta)
    for _ in range(n_iterations):
        drawn[:] = draw_group_scales(rng, problem, theta)
        refresh(rng, chains)
        chain_means(chains, problem, has, means)
        draw_node_precisions(rng, problem, theta, precision)
        kick(problem, steps, theta, momentum, means, has, precision, drawn)
        n = visit(rng, chains, problem, theta, momentum, has, drawn)
        if n > 0:
            chain_means(chains, problem, has, means)
        draw_node_precisions(rng, problem, theta, precision)
        kick(problem, steps, theta, momentum, means, has, precision, drawn)
        n_moves += n
        if not drift(rng, problem, steps, theta, momentum, has) < DIVERGED:
            break  # before it becomes non-finite, which compiled code does not handle
        follow(chains, problem, theta)
    return drawn, n_moves
