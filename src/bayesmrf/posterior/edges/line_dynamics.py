r"""Langevin dynamics of the parameters of one or several groups of people between births and deaths, on chains.

All coordinates that are present move together: baselines and differences along their lines
(`bayesmrf.posterior.conditionals.group_lines`), and the parameters of each node as one block, scaled by the Cholesky
factor of their posterior covariance without edges. In these coordinates z the posterior is nearly independent; its
slope comes from the moments of the chains of each group. With C the diagonal of step sizes, the momenta p change by
:math:`\tfrac12 C` times the slope, before and after

.. math:: z \leftarrow z + \tfrac12 C p, \qquad p \leftarrow \alpha p + \sqrt{1 - \alpha^2} \xi, \qquad
          z \leftarrow z + \tfrac12 C p

with standard normal :math:`\xi`. In this order (BAOAB, Leimkuhler and Matthews 2013) normal distributions of z are
exact with any stable step, and z and p are not correlated where edges are born and die.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...compiled import strict_leaf
from ..conditionals.group_lines import BASELINE, DIFFERENCE, size_of
from ..conditionals.slab_leaves import slab_slope
from ..conditionals.spike import node_precision


@strict_leaf
def draw_node_precisions(rng, problem, theta, precision):
    """Draw the normal densities that represent the priors of the parameters of nodes.

    Those of baselines are in ``precision`` (F,), those of free parameters in ``theta.now``.
    """
    r, prior = len(problem.lines.edges), problem.baseline
    for k in range(r, theta.natural.shape[1]):
        if k < problem.n_spiked:
            precision[k] = node_precision(rng, prior, problem.scales[k], theta.weights[0, k])
        else:
            for t in range(len(theta.natural)):
                theta.now[t, k] = node_precision(rng, prior, problem.scales[k], theta.natural[t, k])


@strict_leaf
def find_parts(problem, theta, has):
    """Set ``has`` (2, n) to whether each edge, and each parameter of a node, has a baseline, and a difference."""
    weights, always = theta.weights, problem.baseline.fixed == 1
    for e in range(len(problem.places) - 1):
        has[0, e], has[1, e] = always or e >= problem.n_edges, e >= problem.n_absent and len(weights) > 1
        for p in range(problem.places[e], problem.places[e + 1]):
            has[0, e] = has[0, e] or weights[0, p] != 0
            for k in range(1, len(weights)):
                has[1, e] = has[1, e] or weights[k, p] != 0


@strict_leaf
def kick(problem, steps, theta, momentum, means, has, precision, drawn):
    """Change the momenta by half a step along the slope of the posterior, from the ``means`` of the chains."""
    lines, weights, natural, now, contrast = problem.lines, theta.weights, theta.natural, theta.now, problem.contrast
    (n_weights, n), n_groups, edges, starts, pull = weights.shape, len(natural), lines.edges, lines.starts, lines.pull
    r, q, half, excess = len(edges), n_weights - 1, 0.5 * steps.epsilon, np.empty(n_groups)
    for e in range(len(problem.places) - 1):
        if not (has[0, e] or has[1, e]):
            continue
        n_parameters = problem.places[e + 1] - problem.places[e]
        scale, size = steps.scale[int(has[0, e])], size_of(problem, theta, e, BASELINE)
        step = steps.epsilon * scale[0, problem.places[e]]
        stiff = slab_slope(problem.baseline.slab, drawn[3], size, drawn[3] * size, n_parameters, step)
        apart = 0.0
        if q > 0:
            size, step = size_of(problem, theta, e, DIFFERENCE), steps.epsilon * scale[q, problem.places[e]]
            apart = slab_slope(problem.prior.slab, drawn[1], size, drawn[1] * size, q * n_parameters, step)
        for p in range(problem.places[e], problem.places[e + 1]):
            for t in range(n_groups):
                excess[t] = steps.sums[t, p] - lines.n[t] * means[t, p]
                for end in range(2 if p < r else 0):
                    first = starts[edges[p, end]]
                    for place in range(first, starts[edges[p, end] + 1]):
                        excess[t] += pull[t, p, end, place - first] * now[t, place] * natural[t, place]
            b = weights[0, p]
            held = (stiff if p < r else precision[p]) * b
            for k in range(n_weights):
                if not has[min(k, 1), e]:
                    continue
                drift = problem.drift[k] if has[0, e] else 0.0
                slope = ((k == 0) - drift) * (problem.baseline.tilt * (p >= r) - held)
                if k > 0:
                    slope -= apart * weights[k, p]
                for t in range(n_groups):
                    slope += (contrast[t, k] - drift) * excess[t]
                momentum.weights[k, p] += half * steps.scale[int(has[0, e]), k, p] * slope
    for t in range(n_groups if n == r else 0):
        for i in range(len(starts) - 1):
            first, last = starts[i], starts[i + 1]
            for a in range(first, last):
                slope = 0.0
                for k in range(a, last):  # the transposed factor
                    own = steps.sums[t, k] - lines.n[t] * means[t, k] - now[t, k] * natural[t, k]
                    slope += steps.factor[t, i, k - first, a - first] * own
                momentum.own[t, a - r] += half * slope


@strict_leaf
def drift(rng, problem, steps, theta, momentum, has):
    """Move all coordinates; momenta are redrawn in the middle of the step. Return the largest parameter."""
    lines, weights, natural, contrast = problem.lines, theta.weights, theta.natural, problem.contrast
    (n_weights, n), n_groups, edges, starts, pull = weights.shape, len(natural), lines.edges, lines.starts, lines.pull
    r, kept, fresh, half, furthest = len(edges), steps.momentum, sqrt(1 - steps.momentum**2), 0.5 * steps.epsilon, 0.0
    for t in range(n_groups if n == r else 0):
        for i in range(len(starts) - 1):
            first, last = starts[i], starts[i + 1]
            for a in range(first, last):
                old = momentum.own[t, a - r]
                new = kept * old + fresh * rng.standard_normal()
                momentum.own[t, a - r] = new
                for k in range(a, last):
                    natural[t, k] += steps.factor[t, i, k - first, a - first] * half * (old + new)
    for e in range(len(problem.places) - 1):
        if not (has[0, e] or has[1, e]):
            continue
        for p in range(problem.places[e], problem.places[e + 1]):
            for k in range(n_weights):
                if not has[min(k, 1), e]:
                    continue
                back, old = problem.drift[k] if has[0, e] else 0.0, momentum.weights[k, p]
                new = kept * old + fresh * rng.standard_normal()
                momentum.weights[k, p] = new
                moved = half * (old + new) * steps.scale[int(has[0, e]), k, p]
                weights[k, p] += moved
                weights[0, p] -= back * moved
                for t in range(n_groups):
                    change = (contrast[t, k] - back) * moved
                    natural[t, p] += change
                    for end in range(2 if p < r else 0):
                        first = starts[edges[p, end]]
                        for place in range(first, starts[edges[p, end] + 1]):
                            natural[t, place] -= change * pull[t, p, end, place - first]
    for t in range(n_groups):
        for k in range(natural.shape[1]):
            furthest = max(furthest, abs(natural[t, k]))
    return furthest
