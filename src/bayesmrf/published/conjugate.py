"""Gibbs sampling of groups with Beta conditionals (Neal 2000, Algorithm 2; Liu and Page 2013, eq. 4)."""

from __future__ import annotations

from math import exp, log

import numpy as np

from ..compiled import strict_leaf
from ..posterior.conditionals.one_coordinate import log_beta, log_likelihood, saturated
from ..posterior.groups.dirichlet_process import (
    Grouping,
    choose,
    compact,
    draw_alpha,
    logit_beta_variate,
    open_group,
    open_urn,
    put,
    take_out,
)
from ..priors import DirichletProcess


def conjugate_step(
    rng: np.random.Generator,
    state: Grouping,
    order: np.ndarray,
    successes: np.ndarray,
    n: float,
    prior: DirichletProcess,
) -> Grouping:
    """Reassign all edges by `conjugate_scan`, and number their groups."""
    base = prior.base
    groups, values = conjugate_scan(rng, state.groups, state.values, order, successes, n, state.alpha, base.a, base.b)
    return compact(Grouping(groups, values, state.alpha))


def conjugate_values(
    rng: np.random.Generator, grouping: Grouping, trials: np.ndarray, successes: np.ndarray, prior: DirichletProcess
) -> Grouping:
    """Redraw alpha and the value of each group, the logit of a Beta(a + successes, b + trials - successes) variable."""
    a, b = prior.base.a, prior.base.b
    values = [logit_beta_variate(rng, a + s, b + m - s) for s, m in zip(successes, trials, strict=True)]
    alpha = draw_alpha(rng, grouping.alpha, prior, len(values), len(grouping.groups))
    return Grouping(grouping.groups, np.array(values, dtype=np.float64), alpha)


@strict_leaf
def conjugate_scan(rng, groups, values, order, successes, n, alpha, a, b):
    """Reassign every edge once (Liu and Page 2013, eq. 4).

    The likelihood of edge i is theta^S_i (1 - theta)^(n - S_i). The integral over G0 = Beta(a, b) is a Beta function
    and a new value is a Beta(a + S, b + n - S) draw. ``order`` sorts the edges by S, so that edges with equal counts
    share a row of likelihoods: the cost is a multiply-add for each edge and group. Returns (groups, values) with empty
    groups left in place.
    """
    urn, row = open_urn(groups, values, None), np.nan
    for i in order:
        s = successes[i]
        if s != row:
            row = s
            fresh = log(alpha) + log_beta(a + s, b + n - s) - log_beta(a, b) - saturated(s, n)
            likelihood, fresh = _relative_likelihoods(urn.values[: urn.k[0]], s, n, fresh)
            weights = np.empty(len(likelihood))
        take_out(urn, i)
        for c in range(len(weights)):
            weights[c] = urn.sizes[c] * likelihood[c]
        chosen = choose(rng, weights, len(weights), fresh)
        if chosen == len(weights):
            chosen = open_group(urn, logit_beta_variate(rng, a + s, b + n - s))
            row = np.nan  # the row of likelihoods lacks the new group
        put(urn, i, chosen)
    return urn.groups, urn.values[: urn.k[0]]


@strict_leaf
def _relative_likelihoods(values, s, n, log_new):
    """Compute the likelihood of an edge in each group and in a new one, relative to the largest to avoid overflow."""
    out = np.empty(len(values))
    peak = log_new
    for c in range(len(values)):
        out[c] = log_likelihood(values[c], s, n)
        peak = max(peak, out[c])
    for c in range(len(values)):
        out[c] = exp(out[c] - peak)
    return out, exp(log_new - peak)
