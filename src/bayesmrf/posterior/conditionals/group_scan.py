r"""Exact scans over several groups of observations whose weights differ, with a spike and a slab on each difference.

.. math:: w_{tuv} = b_{uv} + c_t \cdot d_{uv}

is the weight of edge uv in group t: a baseline b, and the q = G - 1 coordinates d of the differences between G groups,
with the rows :math:`c_t` of a matrix of contrasts. All coordinates of an edge are lines over the samples of all groups
(`bayesmrf.posterior.conditionals.line`), whose pair marginals come from a table of all states of each group. They are
centred on the data of each group (`bayesmrf.posterior.conditionals.centred`), and a difference moves the baseline so
that the mean weight over all observations stays the same: then neither has to wait for the other.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...priors import CAUCHY_TAPER
from .centred import CentredLines, node_line, node_sample, pair_values
from .line import Line, LineSample, line_mode
from .log_concave import draw_around
from .spike import EdgePrior, birth_log_ratio, draw_hyper, log_slab_odds, normal_precision, visit_edge, visit_node
from .state_table import edge_numbers, fill_table, move_node, node_sum, pair_sums, scale, scale_pair, sum_out
from .student_t import draw_t

_TAPER = CAUCHY_TAPER**-2  # precision of the normal factor of a Cauchy slab


class GroupProblem(NamedTuple):
    """Constants of a scan; G groups, F features.

    ``form``, ``values``, ``edges``, ``starts``, ``base``, ``features`` and ``column`` are those of `CentredLines`.
    """

    form: Any
    values: np.ndarray
    edges: np.ndarray
    n: np.ndarray  # (G,), observations
    sums: np.ndarray  # (G, F), of the data
    pull: np.ndarray  # (G, n_nodes, m - 1)
    starts: np.ndarray
    base: np.ndarray
    features: np.ndarray
    column: np.ndarray
    contrast: np.ndarray  # (G, q), rows c_t
    drift: np.ndarray  # (q,), mean of the contrasts over all observations
    prior: EdgePrior  # of the differences
    log_top: float  # log density of a Cauchy slab of q coordinates at 0
    baseline: EdgePrior
    n_spiked: int  # the first features, edges first, that may differ or not; the others always do


class GroupTheta(NamedTuple):
    """Parameters, changed in place."""

    baseline: np.ndarray  # (n_spiked,)
    difference: np.ndarray  # (q, n_spiked), 0 if the groups do not differ
    natural: np.ndarray  # (G, F), those of the model in each group


class _Pair(NamedTuple):
    """Feature e of an edge ij, or of a node i = j, during a visit: what its full conditionals depend on."""

    e: int
    ends: tuple[int, int]
    g: np.ndarray  # (G, m^2), values of the centred feature; (G, m) of a node
    cells: np.ndarray  # probabilities of these values before the visit
    now: np.ndarray  # now
    before: np.ndarray  # (G,), its parameters before the visit


@strict_leaf
def group_lines(problem, t):
    """Return the lines of one group."""
    return CentredLines(
        problem.form, problem.values, problem.edges, problem.n[t], problem.sums[t], problem.pull[t], problem.starts,
        problem.base, problem.features, problem.column,
    )  # fmt: skip


@strict_leaf
def scan_groups(rng, problem, theta, n_scans):
    """Redraw all parameters ``n_scans`` times; return p0 and the slab's precision of differences and of baselines, and
    log Z of each group.

    The table of each group is read in blocks of nodes as in `bayesmrf.posterior.conditionals.exact_scan.scan_table`.
    """
    n_groups, n_nodes, _ = problem.pull.shape
    m = len(problem.values)
    edge_of = edge_numbers(problem.edges, n_nodes)
    n_blocks = min(4, n_nodes)
    bounds = np.array([b * n_nodes // n_blocks for b in range(n_blocks + 1)])
    tables, top = np.empty((n_groups, m**n_nodes)), np.empty(n_groups)
    for t in range(n_groups):
        tables[t], top[t] = fill_table(group_lines(problem, t), theta.natural[t])
    drawn = np.zeros(4)
    for _ in range(n_scans):
        drawn[:2] = _hyper(rng, problem.prior, theta.difference)
        drawn[2:] = _hyper(rng, problem.baseline, theta.baseline[: len(problem.edges)].reshape(1, -1))
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
    for t in range(n_groups):
        top[t] += log(tables[t].sum())
    return drawn, top


@strict_leaf
def _hyper(rng, prior, values):
    """Draw p0 and the slab's precision given the coordinates (q, r), unless fixed."""
    q, r = values.shape
    n_included, squares = 0, 0.0
    for e in range(r):
        size = 0.0
        for k in range(q):
            size += values[k, e] ** 2
        n_included += size > 0
        squares += size
    density, precision = draw_hyper(rng, prior, n_included, r, squares)
    if prior.precision == 0 and q > 1:  # each of the q coordinates is a value of the slab
        precision = rng.standard_gamma(prior.shape + 0.5 * q * n_included) / (prior.rate + 0.5 * squares)
    return density, precision


@strict_leaf
def _scan_blocks(rng, problem, edge_of, theta, drawn, tables, top, members, n_first, first, last):
    """Visit the edges between the first ``n_first`` members and the others. If ``first`` or ``last``, the edges and
    nodes of these are visited, too. Adds to ``top`` the logs of factors of all weights that are not in the tables.
    """
    n_groups, m = len(problem.n), len(problem.values)
    cells, factors, own = np.empty((n_groups, m * m)), np.empty(m * m), np.empty(m)
    precision = np.full(theta.natural.shape[1], problem.baseline.bias_precision)
    for v in range(len(members)):
        for u in range(v):
            i, j = members[u], members[v]
            e = edge_of[i, j]
            if e < 0 or (v < n_first and not first) or (u >= n_first and not last):
                continue
            cells[:] = 0.0
            g, before = np.empty((n_groups, m * m)), theta.natural[:, e].copy()
            for t in range(n_groups):
                pair_sums(tables[t], m, u, v, cells[t])
                values = pair_values(group_lines(problem, t), i, j)
                for x in range(m * m):
                    g[t, x] = values[x]
                cells[t] /= cells[t].sum()
            _visit(rng, problem, _Pair(e, (i, j), g, cells, cells.copy(), before), theta, drawn)
            for t in range(n_groups):
                change = theta.natural[t, e] - before[t]
                for x in range(m * m):
                    factors[x] = exp(change * g[t, x])
                scale_pair(tables[t], m, u, v, factors)
    for u in range(len(members)):
        if not ((u < n_first and first) or (u >= n_first and last)):
            continue
        if problem.n_spiked > len(problem.edges):
            _visit_node(rng, problem, theta, drawn, tables, top, u, members[u])
        else:
            for t in range(n_groups):
                natural, lines = theta.natural[t], group_lines(problem, t)
                for k in range(problem.starts[members[u]], problem.starts[members[u] + 1]):
                    for x in range(m):
                        own[x] = node_sum(tables[t], m, u, x)
                    before = natural[k]
                    natural[k] = visit_node(rng, node_line(lines, own, k, natural, precision))
                    top[t] += move_node(lines, tables[t], u, k, natural[k] - before)


@strict_leaf
def _visit_node(rng, problem, theta, drawn, tables, top, u, i):
    """Redraw the baselines and differences of the parameters of node i, which is node u of the tables."""
    n_groups, m, own = len(problem.n), len(problem.values), np.empty(len(problem.values))
    for k in range(problem.starts[i], problem.starts[i + 1]):
        g, cells, before = np.zeros((n_groups, m)), np.zeros((n_groups, m)), theta.natural[:, k].copy()
        for t in range(n_groups):
            for x in range(m):
                own[x] = node_sum(tables[t], m, u, x)
            sample = node_sample(group_lines(problem, t), own, k, before[t])
            for x in range(len(sample.p)):
                g[t, x] = sample.g[x] + problem.features[k - len(problem.edges), 0]
                cells[t, x] = sample.p[x]
        _visit(rng, problem, _Pair(k, (i, i), g, cells, cells.copy(), before), theta, drawn)
        for t in range(n_groups):
            top[t] += move_node(group_lines(problem, t), tables[t], u, k, theta.natural[t, k] - before[t])


@strict_leaf
def _visit(rng, problem, pair, theta, drawn):
    """Redraw the baseline of a feature, then its difference: birth or death, and its value if present."""
    e, (q, _) = pair.e, theta.difference.shape
    prior, baseline = problem.prior, problem.baseline
    everywhere = np.ones(len(problem.n))
    kappa, log_slab = baseline.bias_precision, np.inf
    if e < len(problem.edges):
        kappa = normal_precision(rng, baseline.cauchy, drawn[3], theta.baseline[e])
        log_slab = log_slab_odds(baseline, drawn[2], drawn[3]) if baseline.fixed < 1 else np.inf
    line = _direction(problem, pair, theta, everywhere, theta.baseline[e], kappa, 0.0, 0.0)
    theta.baseline[e] = visit_edge(rng, line, theta.baseline[e], log_slab)
    _follow(problem, pair, theta)

    old, squares = theta.difference[:, e].copy(), 0.0
    for k in range(q):
        squares += old[k] ** 2
    was_in = squares > 0
    own = drawn[1]  # precision of the normal density that represents the slab, as in `normal_precision`
    if prior.cauchy:
        own = _TAPER + 2 * own * rng.standard_gamma(0.5 * (q + 1)) / (1 + own * squares)
    # An absent baseline stays absent.
    drift = problem.drift if theta.baseline[e] != 0 else np.zeros(q)
    ratio = log(drawn[0]) - log1p(-drawn[0])
    ratio += problem.log_top if prior.cauchy else 0.5 * q * log(drawn[1] / (2 * np.pi))
    _set(problem, pair, theta, drift, np.zeros(q))
    for k in range(q):
        rates = problem.contrast[:, k] - drift[k]
        line = _direction(problem, pair, theta, rates, 0.0, own, -drift[k], kappa)
        mode, sd = line_mode(line)
        value = old[k] if was_in else draw_t(rng, mode, sd)
        ratio += birth_log_ratio(line, value, mode, sd)
        _set_one(problem, pair, theta, drift, k, value)
    if was_in == (log1p(-rng.random()) < (-ratio if was_in else ratio)):
        _set(problem, pair, theta, drift, np.zeros(q))
        return
    # Also after a birth: otherwise the stationary distribution would be different.
    for k in range(q):
        rates = problem.contrast[:, k] - drift[k]
        line = _direction(problem, pair, theta, rates, theta.difference[k, e], own, -drift[k], kappa)
        mode, sd = line_mode(line)
        _set_one(problem, pair, theta, drift, k, draw_around(rng, line, mode, sd))


@strict_leaf
def _direction(problem, pair, theta, rates, at, own, drift, kappa):
    """Return the line of a coordinate with the value ``at`` and a normal prior of precision ``own``.

    The weights change at ``rates`` (G,), and the baseline, of precision ``kappa``, at the rate ``drift``; the
    parameters of the nodes follow as in `bayesmrf.posterior.conditionals.centred`, unless their differences have a
    spike: then ``pull`` is 0.
    """
    i, j = pair.ends
    score, precision = 0.0, own + kappa * drift**2
    mu = kappa * drift * (drift * at - theta.baseline[pair.e])
    for t in range(len(rates)):
        score += rates[t] * problem.sums[t, pair.e]
        for node, other in ((i, j), (j, i)):
            for place in range(problem.starts[node], problem.starts[node + 1]):
                rate = -rates[t] * problem.pull[t, other, problem.column[place - len(problem.edges)]]
                score += rate * problem.sums[t, place]
                precision += problem.baseline.bias_precision * rate**2
                mu += problem.baseline.bias_precision * rate * (rate * at - theta.natural[t, place])
    samples = [LineSample(pair.now[t], rates[t] * pair.g[t], at, problem.n[t]) for t in range(len(rates))]
    return Line(samples, score, precision, mu / precision)


@strict_leaf
def _set(problem, pair, theta, drift, values):
    """Set the coordinates of a difference; the baseline drifts."""
    for k in range(len(values)):
        theta.baseline[pair.e] -= drift[k] * (values[k] - theta.difference[k, pair.e])
        theta.difference[k, pair.e] = values[k]
    _follow(problem, pair, theta)


@strict_leaf
def _set_one(problem, pair, theta, drift, k, value):
    """Set one coordinate of a difference; see `_set`."""
    values = theta.difference[:, pair.e].copy()
    values[k] = value
    _set(problem, pair, theta, drift, values)


@strict_leaf
def _follow(problem, pair, theta):
    """Compute the weights of an edge in all groups, the parameters of its nodes, and the probabilities of its ends."""
    e, (i, j) = pair.e, pair.ends
    for t in range(len(problem.n)):
        weight = theta.baseline[e]
        for k in range(len(theta.difference)):
            weight += problem.contrast[t, k] * theta.difference[k, e]
        step = weight - theta.natural[t, e]
        theta.natural[t, e] = weight
        for node, other in ((i, j), (j, i)):
            for place in range(problem.starts[node], problem.starts[node + 1]):
                theta.natural[t, place] -= step * problem.pull[t, other, problem.column[place - len(problem.edges)]]
        change, top, total = weight - pair.before[t], -np.inf, 0.0
        for x in range(pair.g.shape[1]):
            if pair.cells[t, x] > 0:
                top = max(top, change * pair.g[t, x])
        for x in range(pair.g.shape[1]):
            pair.now[t, x] = pair.cells[t, x] * exp(change * pair.g[t, x] - top) if pair.cells[t, x] > 0 else 0.0
            total += pair.now[t, x]
        for x in range(pair.g.shape[1]):
            pair.now[t, x] /= total
