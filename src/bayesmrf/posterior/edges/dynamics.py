r"""Langevin dynamics of all weights and biases between births and deaths of edges, along the lines of edges.

With C the diagonal of step sizes, the momenta p change by :math:`\tfrac12 C` times the slope, before and after

.. math:: x \leftarrow x + \tfrac12 C p, \qquad p \leftarrow \alpha p + \sqrt{1 - \alpha^2} \xi, \qquad
          x \leftarrow x + \tfrac12 C p

with standard normal :math:`\xi`. In this order (BAOAB, Leimkuhler and Matthews 2013) normal distributions of x are
exact with any stable step, and x and p are not correlated where edges are born and die.
"""

from __future__ import annotations

from math import sqrt

from ...compiled import leaf
from ...states.persistent_chains import count_both
from ..conditionals.slab_leaves import slab_slope
from .rival_moves import move_weights


@leaf
def kick(problem, rows, blocks, theta, momentum, precision):
    """Change the momenta by half a step along the slope of the posterior, from the moments of the chains."""
    r, n, n_chains = len(rows.edges), problem.lines.n, blocks.n_chains
    sums, ends, pull, coding = problem.sums, problem.ends, problem.lines.pull, problem.coding
    bias_precision = problem.prior.bias_precision
    for i in range(len(theta) - r):
        k = r + i
        excess = coding.node * (sums[k] - n * blocks.ones[i] / n_chains)
        momentum[k] += 0.5 * problem.step[k] * (excess - bias_precision * theta[k])
    for k in range(rows.n_present[0]):
        e = rows.present[k]
        i, j = rows.edges[e, 0], rows.edges[e, 1]
        k_i, k_j = ends[e, 0], ends[e, 1]
        excess = coding.edge * (
            sums[e] - k_i * sums[r + i] - k_j * sums[r + j]
            - n * (count_both(blocks.words, i, j) - k_i * blocks.ones[i] - k_j * blocks.ones[j]) / n_chains
        )  # fmt: skip
        prior = bias_precision * (pull[e, 0, 0] * theta[r + i] + pull[e, 1, 0] * theta[r + j])
        size = theta[e] * theta[e]
        prior -= slab_slope(problem.prior.slab, precision, size, precision * size, 1, problem.step[e]) * theta[e]
        momentum[e] += 0.5 * problem.step[e] * (excess + prior)


@leaf
def drift(rng, problem, rows, theta, weights, momentum):
    """Move all edges along their lines, and nodes; momenta are redrawn in the middle of the step.

    Returns the largest parameter.
    """
    r, furthest, fresh = len(rows.edges), 0.0, sqrt(1 - problem.momentum**2)
    pull, coding = problem.lines.pull, problem.coding
    for k in range(r, len(theta)):
        moved = _move(rng, problem, fresh, momentum, k)
        theta[k] += moved
        weights[k] += coding.node * moved
    for k in range(rows.n_present[0]):
        e = rows.present[k]
        i, j, moved = rows.edges[e, 0], rows.edges[e, 1], _move(rng, problem, fresh, momentum, e)
        theta[e] += moved
        theta[r + i] -= moved * pull[e, 0, 0]
        theta[r + j] -= moved * pull[e, 1, 0]
        move_weights(problem, e, i, j, theta[e], moved, weights)
        furthest = max(furthest, abs(theta[e]))
    for k in range(r, len(theta)):
        furthest = max(furthest, abs(theta[k]))
    return furthest


@leaf
def _move(rng, problem, fresh, momentum, k):
    """Redraw a part of a momentum; return the sum of the half steps before and after that."""
    old = momentum[k]
    momentum[k] = problem.momentum * old + fresh * rng.standard_normal()
    return 0.5 * problem.step[k] * (old + momentum[k])
