"""Exact scans over several groups of observations, with a table of the weights of all states of each.

The full conditionals are those of `bayesmrf.posterior.conditionals.group_lines`. One group has a scan of its own
(`bayesmrf.posterior.conditionals.exact_scan`), whose lines are in registers; the tables, their blocks, the parameters
of nodes, and what a swap needs of three nodes are the same code. One loop for both was slower in draws and in the first
fit, and not shorter (docs/notes/moves_of_theta.md).
"""

from __future__ import annotations

from math import log, log1p

import numpy as np

from ...compiled import strict_leaf
from .exact_scan import visit_parameters
from .group_lines import (
    BASELINE,
    DIFFERENCE,
    coordinates,
    draw_group_scales,
    draw_prior,
    line_of,
    look,
    new_pair,
    one_group,
    propose,
    set_weight,
    take_away,
    value_of,
)
from .group_swaps import swap_in_table
from .line import line_log_density, line_mode
from .log_concave import draw_around
from .spike import visit_edge
from .state_table import (
    fill_table,
    follow,
    move_node,
    move_pair,
    node_sum,
    pair_sums,
    sum_out,
)
from .student_t import propose_over


@strict_leaf
def scan_groups(rng, problem, order, theta, n_scans):
    """Redraw all parameters ``n_scans`` times; return p0 and the slab's precision of differences and of baselines, and
    log Z of each group.

    The table of each group is read in blocks of nodes (`bayesmrf.posterior.conditionals.state_table.block_order`) as in
    `bayesmrf.posterior.conditionals.exact_scan.scan_table`.
    """
    n_groups, (n_nodes, m) = len(theta.natural), problem.lines.base.shape
    tables, top = np.empty((n_groups, m**n_nodes)), np.empty(n_groups)
    for t in range(n_groups):
        tables[t], top[t] = fill_table(one_group(problem, t), theta.natural[t])
    drawn = np.zeros(4)
    for _ in range(n_scans):
        drawn[:] = draw_group_scales(rng, problem, theta)
        for k in range(len(order.blocks)):
            block = order.blocks[k]
            small = np.empty((n_groups, m ** (block[1] - block[0] + block[3] - block[2])))
            for t in range(n_groups):
                small[t] = sum_out(tables[t], m, block)
            old = small.copy()
            _scan_blocks(rng, problem, theta, drawn, small, top, order, k)
            for t in range(n_groups):
                follow(tables[t], m, block, small[t], old[t])
        for _ in range(n_nodes if len(problem.rivals) > 0 else 0):
            swap_in_table(rng, problem, tables, theta, drawn)
    for t in range(n_groups):
        top[t] += log(tables[t].sum())
    return drawn, top


@strict_leaf
def _scan_blocks(rng, problem, theta, drawn, tables, top, order, pair):
    """Redraw edges and nodes of a pair of blocks; add to ``top`` the log of a factor of each table (`move_node`)."""
    lines, edges, nodes = problem.lines, order.edges, order.nodes
    for row in range(order.edge_starts[pair], order.edge_starts[pair + 1]):
        u, v, i, j, e = edges[row, 0], edges[row, 1], edges[row, 2], edges[row, 3], edges[row, 4]
        _visit_feature(rng, problem, theta, drawn, tables, top, u, v, new_pair(problem, theta, e, i, j))
    for row in range(order.node_starts[pair], order.node_starts[pair + 1]):
        u, i = nodes[row, 0], nodes[row, 1]
        if problem.n_spiked > len(lines.edges):
            for k in range(lines.starts[i], lines.starts[i + 1]):
                _visit_feature(rng, problem, theta, drawn, tables, top, u, u, new_pair(problem, theta, k, i, i))
            continue
        for t in range(len(tables)):
            of, natural, now = one_group(problem, t), theta.natural[t], theta.now[t]
            top[t] += visit_parameters(rng, problem.baseline, of, tables[t], u, i, natural, problem.scales, now)


@strict_leaf
def _visit_feature(rng, problem, theta, drawn, tables, top, u, v, pair):
    """Redraw the baseline and the difference of a feature of the nodes u and v of the tables, which follow."""
    m = len(problem.lines.values)
    for t in range(len(tables)):
        if u == v:
            for x in range(m):
                pair.cells[t, x] = node_sum(tables[t], m, u, x)
        else:
            pair.cells[t] = 0.0
            pair_sums(tables[t], m, u, v, pair.cells[t])
    look(pair, theta)
    _visit(rng, problem, pair, theta, drawn)
    for t in range(len(tables)):
        change = theta.natural[t, pair.e] - pair.before[t]
        if u == v:
            top[t] += move_node(one_group(problem, t), tables[t], u, pair.e, change)
            continue
        move_pair(tables[t], m, u, v, pair.g[t], change)


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
