"""Exact scans over several groups of observations, with a table of the weights of all states of each.

The full conditionals are those of `bayesmrf.posterior.conditionals.group_lines`. One group has a scan of its own
(`bayesmrf.posterior.conditionals.exact_scan`), whose lines are in registers; the tables, their blocks, the parameters
of nodes, and what a swap needs of three nodes are the same code. One loop for both was slower in draws and in the first
fit, and not shorter (docs/notes/moves_of_theta.md).
"""

from __future__ import annotations

from math import exp, log, log1p

import numpy as np

from ...compiled import strict_leaf
from .exact_scan import visit_parameters
from .group_lines import (
    BASELINE,
    coordinates,
    draw_group_scales,
    draw_prior,
    line_of,
    log_factors,
    log_factors_of_slabs,
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
from .slab_leaves import has_slab_factor
from .spike import visit_edge
from .state_table import fill_table, follow, move_node, node_sum, pair_sums, scale_pair, sum_out
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
                pair = new_pair(problem, theta, problem.n_edges + k - len(lines.edges), i, i)
                _visit_feature(rng, problem, theta, drawn, tables, top, u, u, pair)
            continue
        for t in range(len(tables)):
            of, natural, now = one_group(problem, t), theta.natural[t], theta.now[t]
            top[t] += visit_parameters(rng, problem.baseline, of, tables[t], u, i, natural, problem.scales, now)


@strict_leaf
def _visit_feature(rng, problem, theta, drawn, tables, top, u, v, pair):
    """Redraw the baseline and the difference of an edge of the nodes u and v of the tables, which follow."""
    m, factors = problem.lines.base.shape[1], np.empty(pair.g.shape[2])
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
        if u == v:
            change = theta.natural[t, pair.first] - pair.before[t, 0]
            top[t] += move_node(one_group(problem, t), tables[t], u, pair.first, change)
            continue
        log_factors(pair, theta, t, pair.before[t], factors)
        for x in range(m * m):
            factors[x] = exp(factors[x])
        scale_pair(tables[t], m, u, v, factors)


@strict_leaf
def _visit(rng, problem, pair, theta, drawn):
    """Redraw the baseline of an edge, then its difference: birth or death, and its values if present."""
    pairs, prior = (pair,), draw_prior(rng, problem, pair, theta, drawn)
    for part in range(2):  # one call: what is called in two places is compiled twice
        if part == BASELINE and pair.g.shape[1] == 1 and prior.log_odds[BASELINE] < np.inf:
            line = line_of(problem, pair, theta, prior, 0, 0)
            old = theta.weights[0, pair.first]
            set_weight(problem, pairs, theta, 0, 0, visit_edge(rng, line, old, prior.log_odds[0], problem.baseline))
        else:
            _visit_part(rng, problem, pairs, theta, prior, part)


@strict_leaf
def _visit_part(rng, problem, pairs, theta, prior, part):
    """Propose birth or death of a part of an edge, then redraw its values if it is present."""
    pair = pairs[0]
    if prior.log_odds[part] < np.inf:
        old = value_of(problem, theta, pair.e, part)
        ratio, was_in = propose(rng, problem, pairs, theta, prior, part, old), old.any()
        if was_in == (log1p(-rng.random()) < (-ratio if was_in else ratio)):
            take_away(problem, pairs, theta, part)
            return
    # Also after a birth: otherwise the stationary distribution would be different.
    for k in coordinates(theta, part):
        for place in range(pair.g.shape[1]):
            _redraw(rng, problem, pairs, theta, prior, k, place)


@strict_leaf
def _redraw(rng, problem, pairs, theta, prior, k, place):
    """Redraw a coordinate that is present; factors of slabs that are away from 0 decide whether it is taken."""
    a, before = theta.weights[k, pairs[0].first + place], log_factors_of_slabs(problem, theta, pairs[0].e)
    new = _move(rng, line_of(problem, pairs[0], theta, prior, k, place), a)
    set_weight(problem, pairs, theta, k, place, new)
    if not (has_slab_factor(problem.baseline.slab) or has_slab_factor(problem.prior.slab)):
        return
    if log1p(-rng.random()) >= log_factors_of_slabs(problem, theta, pairs[0].e) - before:
        set_weight(problem, pairs, theta, k, place, a)


@strict_leaf
def _move(rng, line, a):
    """Redraw a coordinate from its full conditional without these factors, or with overrelaxation."""
    mode, scale = line_mode(line)
    if rng.random() < 0.5:
        return draw_around(rng, line, mode, scale)
    new, ratio = propose_over(rng, a, mode, scale)
    ratio += line_log_density(new, line) - line_log_density(a, line)
    return new if log1p(-rng.random()) < ratio else a
