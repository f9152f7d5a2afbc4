"""Exact scans over several groups of observations, with a table of the weights of all states of each.

The full conditionals are those of `bayesmrf.posterior.conditionals.group_lines`.
"""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np

from ...compiled import strict_leaf
from .centred import node_line
from .group_lines import (
    BASELINE,
    DIFFERENCE,
    Pair,
    centred_values,
    coordinates,
    draw_group_scales,
    draw_prior,
    line_of,
    one_group,
    propose,
    set_weight,
    take_away,
    value_of,
)
from .group_swaps import swap_in_table
from .line import line_log_density, line_mode
from .log_concave import draw_around
from .spike import node_precision, visit_edge, visit_node
from .state_table import (
    edge_numbers,
    fill_table,
    move_node,
    node_sum,
    pair_sums,
    pairs_of_blocks,
    scale,
    scale_pair,
    sum_out,
)
from .student_t import propose_over


@strict_leaf
def scan_groups(rng, problem, theta, n_scans):
    """Redraw all parameters ``n_scans`` times; return p0 and the slab's precision of differences and of baselines, and
    log Z of each group.

    The table of each group is read in blocks of nodes as in `bayesmrf.posterior.conditionals.exact_scan.scan_table`.
    """
    n_groups, (n_nodes, m) = len(problem.lines.n), problem.lines.base.shape
    edge_of = edge_numbers(problem.lines.edges, n_nodes)
    n_blocks = min(4, n_nodes)
    bounds = np.array([b * n_nodes // n_blocks for b in range(n_blocks + 1)])
    tables, top = np.empty((n_groups, m**n_nodes)), np.empty(n_groups)
    for t in range(n_groups):
        tables[t], top[t] = fill_table(one_group(problem, t), theta.natural[t])
    drawn = np.zeros(4)
    for _ in range(n_scans):
        drawn[:] = draw_group_scales(rng, problem, theta)
        for b in range(n_blocks):
            for c in range(b + 1, n_blocks):
                members = np.append(np.arange(bounds[b], bounds[b + 1]), np.arange(bounds[c], bounds[c + 1]))
                small = np.zeros((n_groups, m ** len(members)))
                for t in range(n_groups):
                    sum_out(tables[t], small[t], m, bounds[b], bounds[b + 1], bounds[c], bounds[c + 1])
                old = small.copy()
                first, last = c == b + 1, c == n_blocks - 1 and b == n_blocks - 2
                _scan_blocks(
                    rng, problem, edge_of, theta, drawn, small, top,
                    members, bounds[b + 1] - bounds[b], first, last,
                )  # fmt: skip
                for t in range(n_groups):
                    for x in range(len(small[t])):
                        small[t, x] = small[t, x] / old[t, x] if old[t, x] > 0 else 1.0
                    scale(tables[t], small[t], m, bounds[b], bounds[b + 1], bounds[c], bounds[c + 1])
        for _ in range(n_nodes if len(problem.rivals) > 0 else 0):
            swap_in_table(rng, problem, tables, theta, drawn)
    for t in range(n_groups):
        top[t] += log(tables[t].sum())
    return drawn, top


@strict_leaf
def _scan_blocks(rng, problem, edge_of, theta, drawn, tables, top, members, n_first, first, last):
    """Visit the edges between the first ``n_first`` members and the others. If ``first`` or ``last``, the edges and
    nodes of these are visited, too. Adds to ``top`` the logs of factors of all weights that are not in the tables.
    """
    n_groups, m, starts = len(problem.lines.n), len(problem.lines.values), problem.lines.starts
    own = np.empty(m)
    cells, g, factors = np.empty((n_groups, m * m)), np.empty((n_groups, m * m)), np.empty(m * m)
    pairs = pairs_of_blocks(edge_of, members, n_first, first, last)
    for k in range(len(pairs)):
        u, v, e = pairs[k, 0], pairs[k, 1], pairs[k, 2]
        i, j = members[u], members[v]
        cells[:], before = 0.0, theta.natural[:, e].copy()
        centred_values(problem, e, i, j, g)
        for t in range(n_groups):
            pair_sums(tables[t], m, u, v, cells[t])
            cells[t] /= cells[t].sum()
        _visit(rng, problem, Pair(e, (i, j), g, cells, cells.copy(), before), theta, drawn)
        for t in range(n_groups):
            change = theta.natural[t, e] - before[t]
            for x in range(m * m):
                factors[x] = exp(change * g[t, x])
            scale_pair(tables[t], m, u, v, factors)
    for u in range(len(members)):
        if not ((u < n_first and first) or (u >= n_first and last)):
            continue
        if problem.n_spiked > len(problem.lines.edges):
            _visit_node(rng, problem, theta, drawn, tables, top, u, members[u])
        else:
            for t in range(n_groups):
                natural, precision, prior = theta.natural[t], theta.now[t], problem.baseline
                lines = one_group(problem, t)
                for k in range(starts[members[u]], starts[members[u] + 1]):
                    for x in range(m):
                        own[x] = node_sum(tables[t], m, u, x)
                    before, precision[k] = natural[k], node_precision(rng, prior, prior.bias_precision, natural[k])
                    natural[k] = visit_node(rng, node_line(lines, own, k, natural, precision))
                    top[t] += move_node(lines, tables[t], u, k, natural[k] - before)


@strict_leaf
def _visit_node(rng, problem, theta, drawn, tables, top, u, i):
    """Redraw the baselines and differences of the parameters of node i, which is node u of the tables."""
    lines, n_groups, m = problem.lines, len(problem.lines.n), len(problem.lines.values)
    for k in range(lines.starts[i], lines.starts[i + 1]):
        g, cells, before = np.zeros((n_groups, m)), np.zeros((n_groups, m)), theta.natural[:, k].copy()
        for t in range(n_groups):
            for x in range(m):
                g[t, x], cells[t, x] = lines.features[k - len(lines.edges), x], node_sum(tables[t], m, u, x)
            cells[t] /= cells[t].sum()
        _visit(rng, problem, Pair(k, (i, i), g, cells, cells.copy(), before), theta, drawn)
        for t in range(n_groups):
            top[t] += move_node(one_group(problem, t), tables[t], u, k, theta.natural[t, k] - before[t])


@strict_leaf
def _visit(rng, problem, pair, theta, drawn):
    """Redraw the baseline of a feature, then its difference: birth or death, and its value if present."""
    e, pairs, prior = pair.e, (pair,), draw_prior(rng, problem, pair, theta, drawn)
    line, a, birth = line_of(problem, pair, theta, prior, 0), theta.weights[0, e], prior.log_odds[BASELINE]
    new = visit_edge(rng, line, a, birth) if birth < np.inf else _redraw(rng, line, a)
    set_weight(problem, pairs, theta, 0, new)
    if prior.log_odds[DIFFERENCE] < np.inf:
        old = value_of(theta, e, DIFFERENCE)
        ratio, was_in = propose(rng, problem, pairs, theta, prior, DIFFERENCE, old), old.any()
        if was_in == (log1p(-rng.random()) < (-ratio if was_in else ratio)):
            take_away(problem, pairs, theta, DIFFERENCE)
            return
    # Also after a birth: otherwise the stationary distribution would be different.
    for k in coordinates(theta, DIFFERENCE):
        line = line_of(problem, pair, theta, prior, k)
        set_weight(problem, pairs, theta, k, _redraw(rng, line, theta.weights[k, e]))


@strict_leaf
def _redraw(rng, line, a):
    """Redraw a coordinate that is present: from its full conditional, or with overrelaxation."""
    mode, scale = line_mode(line)
    if rng.random() < 0.5:
        return draw_around(rng, line, mode, scale)
    new, ratio = propose_over(rng, a, mode, scale)
    ratio += line_log_density(new, line) - line_log_density(a, line)
    return new if log1p(-rng.random()) < ratio else a
