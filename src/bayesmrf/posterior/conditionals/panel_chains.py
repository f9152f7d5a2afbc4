r"""One scan over the parameters of a panel whose rows have too many states for a table: chains of each row before.

The scan is that of `bayesmrf.posterior.conditionals.panel_scan`, and all that it needs of Z are the probabilities of an
item, or of a pair of items, in each distinct row before, which here are averages over chains of that row given their
other items (`bayesmrf.states.row_chains`). The chains follow once, after all visits of an item, which is a Gibbs sweep
in the course of a scan. One half of the chains of a row proposes, the other half decides
(`bayesmrf.posterior.conditionals.row_line`).
"""

from __future__ import annotations

from math import log

import numpy as np

from ...compiled import strict_leaf
from ...states.row_chains import (
    averages,
    conditionals_of,
    draw_code,
    fill_odds,
    fill_pair,
    flip_clusters,
    follow,
    follow_odds,
    multiply,
    redraw,
)
from .panel_scan import draw_thresholds, item_line, visit_item, visit_pair
from .row_line import Decision, move_rows, row_log_density, row_penalty


@strict_leaf
def split(q, first):
    """Return the averages of q by which proposals are made, and what decides about them."""
    p = averages(q, first)
    return p[0], Decision(p[1], q, p[1].copy(), first)


@strict_leaf
def scan_chains(rng, tables, chains, prior, theta, people):
    """Visit all parameters once, in place, and the chains with them; return NaN for the log likelihood."""
    d, (_, n), first, none = len(tables.sizes), chains.x.shape, chains.first, np.empty((0, 0))
    draw_thresholds(rng, tables, prior, theta)
    flip_clusters(rng, chains, tables, theta, people.values)
    for i in range(d):
        q = conditionals_of(chains, tables, theta, people.values, i)
        p, decision = split(q, first)
        visit_item(rng, tables, prior, theta, i, p, decision, people)
        follow(rng, chains, decision, none)
        redraw(rng, chains.x[i], q)
    z, weights = np.empty((d, n)), theta[d * d : tables.starts[0]]
    fill_odds(z, chains, tables, theta, people.values)
    for e in range(len(tables.pairs)):
        u, v = tables.pairs[e]
        m, w, at = tables.sizes[u], tables.sizes[v], weights[e]
        q = np.empty((n, m * w))
        fill_pair(q, z, chains.x, u, v, theta[tables.starts[u] : tables.starts[u + 1]],
                  theta[tables.starts[v] : tables.starts[v + 1]], at)  # fmt: skip
        p, decision = split(q, first)
        if not visit_pair(rng, tables, prior, theta, e, p, decision):
            continue
        follow(rng, chains, decision, z)
        before = chains.x[u].copy(), chains.x[v].copy()
        multiply(z[u], weights[e] - at, before[1], w)
        multiply(z[v], weights[e] - at, before[0], m)
        for c in range(n):
            code = draw_code(rng, q[c])
            chains.x[u, c], chains.x[v, c] = code // w, code % w
        follow_odds(z, tables, weights, u, before[0], chains.x[u])
        follow_odds(z, tables, weights, v, before[1], chains.x[v])
    return np.nan


@strict_leaf
def scale_by_chains(rng, tables, chains, i, theta, own, factor, log_ratio):
    """Multiply the intercepts of item i by a factor, or not; return which. ``log_ratio`` is that of the prior."""
    q = conditionals_of(chains, tables, theta, own, i)
    _, decision = split(q, chains.first)
    line = item_line(tables, i, decision.p, own)
    log_ratio += row_log_density(factor, line) - row_log_density(1.0, line) - row_penalty(factor, line, decision)
    if not log(1 - rng.random()) < log_ratio:
        return False
    move_rows(line, factor)
    own[:, i] *= factor
    follow(rng, chains, decision, np.empty((0, 0)))
    redraw(rng, chains.x[i], q)
    return True
