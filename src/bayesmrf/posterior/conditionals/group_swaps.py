"""Swaps of the differences, or of the baselines, of two rival edges between several groups of observations.

If v and w are similar in the data, a difference between groups in the edge u-v can take the place of one in u-w. Where
one of the two edges differs, the other's difference is born in the model without both, as a birth of
`bayesmrf.posterior.conditionals.group_lines`. The swap has the ratio of the two births: in each group it depends on the
other nodes through the joint distribution of u, v and w only. Baselines that may be absent are swapped likewise.
"""

from __future__ import annotations

from math import log1p

import numpy as np

from ...compiled import copy_to, strict_leaf
from .alike_nodes import add_pair_weights, follow_swap, triple_of
from .group_lines import BASELINE, DIFFERENCE, draw_prior, log_factors, look, new_pair, propose, take_away, value_of
from .state_table import triple_sums


@strict_leaf
def choose_swap(rng, problem, theta):
    """Choose two rival edges, and the part of them that may be swapped: the first has it, the other does not.

    The part is -1 if both have it, or neither.
    """
    k = int(rng.random() * len(problem.rivals))
    e, f = problem.rivals[k, 0], problem.rivals[k, 1]
    of_baselines = problem.n_absent == 0 or (problem.baseline.fixed < 1 and rng.random() < 0.5)
    part = BASELINE if of_baselines else DIFFERENCE
    at_e, at_f = value_of(problem, theta, e, part).any(), value_of(problem, theta, f, part).any()
    if at_e == at_f:
        return e, f, -1
    return (e, f, part) if at_e else (f, e, part)


@strict_leaf
def swap_ratio(rng, problem, of_e, of_f, theta, priors, old, new, part):
    """Give edge f, in place of e, a part with the value ``new``, proposed if that is 0; return the log ratio.

    ``of_e`` and ``of_f`` are pairs, as in `propose`, in the model without the part of both, which theta is.
    """
    ratio, pairs, values = 0.0, (of_e, of_f), (old, new)
    for k in range(2):  # the death of e, then the birth of f
        birth = propose(rng, problem, pairs[k], theta, priors[k], part, values[k])
        if k == 0:
            take_away(problem, of_e, theta, part)
        ratio += birth if k == 1 else -birth
    return ratio


@strict_leaf
def set_back(theta, weights, natural):
    """Restore the parameters of all edges and nodes."""
    for k in range(len(weights)):
        copy_to(theta.weights[k], weights[k])
    for t in range(len(natural)):
        copy_to(theta.natural[t], natural[t])


@strict_leaf
def swap_in_table(rng, problem, tables, theta, drawn):
    """Propose a swap of two rival edges; ``tables`` (G, m^n_nodes) have the weights of all states of each group."""
    e, f, part = choose_swap(rng, problem, theta)
    if part < 0:
        return
    n_groups, m, first = len(problem.lines.n), problem.lines.base.shape[1], problem.places
    (hub, v, w), places, nodes = triple_of(problem.lines.edges, first[e], first[f], m)
    of_e, of_f = new_pair(problem, theta, e, hub, v), new_pair(problem, theta, f, hub, w)
    priors = draw_prior(rng, problem, of_e, theta, drawn), draw_prior(rng, problem, of_f, theta, drawn)
    weights, natural, old = theta.weights.copy(), theta.natural.copy(), value_of(problem, theta, e, part)
    take_away(problem, (of_e,), theta, part)
    cells, log_e, log_f = np.empty((m, m * m)), np.empty(m * m), np.empty(m * m)
    of_e.cells[:] = 0.0
    of_f.cells[:] = 0.0
    for t in range(n_groups):
        triple_sums(tables[t], m, nodes, cells)
        log_factors(of_e, theta, t, of_e.before[t], log_e)
        add_pair_weights(cells.ravel(), places, m, log_e, 1.0, of_e.cells[t], of_f.cells[t])
    look(of_e, theta)
    look(of_f, theta)
    none = np.zeros((len(old), of_f.g.shape[1]))
    ratio = swap_ratio(rng, problem, (of_e,), (of_f,), theta, priors, old, none, part)
    if log1p(-rng.random()) >= ratio:
        set_back(theta, weights, natural)
        return
    for t in range(n_groups):
        log_factors(of_e, theta, t, natural[t, first[e] : first[e + 1]], log_e)
        log_factors(of_f, theta, t, natural[t, first[f] : first[f + 1]], log_f)
        follow_swap(tables[t], places, nodes, cells, log_e, 1.0, log_f, 1.0)
