r"""Moves of two edges to a common node, with Z from persistent chains: of rivals, and of alike nodes.

Rivals swap, or are born and die together (`bayesmrf.posterior.conditionals.plane`). The other moves are those of
`bayesmrf.posterior.conditionals.exact_scan` and `bayesmrf.posterior.conditionals.alike_nodes`. All need the joint
distribution of three nodes only. As in a birth, one half of the chains proposes, the other accepts: Z changes by the
mean of the eight factors :math:`f_s` of the states, each chain gives their mean given its other nodes
(`bayesmrf.states.chain_triples`), and the error of the log ratio has its penalty
(`bayesmrf.posterior.conditionals.penalty`).

There are no such moves between nodes of a camp, each almost equal to at least three others. They would make states
probable in which a part of the camp differs from the rest: these are more than three nodes away from the states of all
chains, which do not see them.
"""

from __future__ import annotations

from math import log, log1p

import numpy as np

from ...compiled import leaf
from ...graphs import edge_between
from ...states.chain_triples import triple_cells
from ...states.importance import relative_moments
from ...states.persistent_chains import add_edge, remove_edge, resample
from ..conditionals.alike_nodes import pair_states, ridge, ridge_factor, ridge_line, ridge_prior, triple_of
from ..conditionals.centred import end_of, move_edge, pair_values
from ..conditionals.exact_scan import swap_lines
from ..conditionals.line import line_log_density, line_mode
from ..conditionals.log_concave import draw_around
from ..conditionals.one_potential import draw_t_around, log_t_around
from ..conditionals.penalty import penalty
from ..conditionals.plane import plane_log_density, plane_of, plane_peak, plane_values
from ..conditionals.slab_leaves import log_slab_factor
from ..conditionals.spike import birth_log_ratio, normal_precision
from ..conditionals.student_t import draw_t, log_t
from .chain_swaps import swap_rate

_PLACES = 4, 2, 1  # of the three nodes in the number of a state
_WAYS = 4
_FARTHEST = 40.0  # largest log of a factor of a state


@leaf
def move_weights(problem, e, i, j, value, change, weights):
    """Let the chains' weights follow the move of edge e = ij by ``change`` to ``value``, along its line."""
    r, moved = len(problem.lines.edges), problem.coding.edge * change
    weights[e] = problem.coding.edge * value
    end = end_of(problem.lines, e, i)
    weights[r + i] -= moved * problem.ends[e, end]
    weights[r + j] -= moved * problem.ends[e, 1 - end]


@leaf
def visit_rivals(rng, problem, rows, blocks, theta, weights, momentum, precision, log_slab):
    """Propose moves of pairs of edges to nodes that are similar; return how many were accepted.

    ``log_slab`` is the log of the slab's top.

    A swap of e for f is proposed in proportion to the shares of draws with f and without e, and the ratio allows for
    it. Both are born or die together as single edges are (`bayesmrf.posterior.edges.two_states`), by the smaller of
    their shares.
    """
    n_moved, n_alike = 0, len(problem.alike)
    for k in range(len(problem.pairs)):
        e, f = problem.pairs[k, 0], problem.pairs[k, 1]
        if theta[e] == 0:
            e, f = f, e
        if theta[f] == 0 and theta[e] != 0 and rng.random() < problem.rate * swap_rate(problem.share, e, f):
            n_moved += _swap(rng, problem, rows, blocks, theta, weights, momentum, e, f, precision)
    for k in range(len(problem.joint)):
        e, f = problem.joint[k, 0], problem.joint[k, 1]
        share = min(problem.share[e], problem.share[f])
        odds, absent = share / (1 - share), theta[e] == 0
        if absent == (theta[f] == 0) and rng.random() < problem.joint_rate * min(1.0, odds if absent else 1 / odds):
            log_slabs = problem.prior.log_odds[e] + problem.prior.log_odds[f] + 2 * log_slab - log(odds)
            n_moved += _both(rng, problem, rows, blocks, theta, weights, momentum, e, f, precision, log_slabs)
    for _ in range(-(-n_alike // len(rows.degree))):
        k = int(rng.random() * n_alike)
        e, f = problem.alike[k, 0], problem.alike[k, 1]
        n_moved += _share(rng, problem, rows, blocks, theta, weights, momentum, e, f, precision, log_slab)
    return n_moved


@leaf
def _swap(rng, problem, rows, blocks, theta, weights, momentum, e, f, precision):
    """Propose to swap edge e for the absent f; return whether it was accepted."""
    half, lines, now, prior = 32 * blocks.words.shape[1], problem.lines, problem.now, problem.prior
    r, a, cells, factors = len(lines.edges), theta[e], np.empty(8), np.ones(8)
    nodes, _, _ = triple_of(lines.edges, e, f, 2)
    hub, v, w = nodes
    g_e, g_f = pair_values(lines, e, hub, v), pair_values(lines, f, hub, w)
    now[e] = normal_precision(rng, prior, precision, a)
    now[f] = normal_precision(rng, prior, precision, 0.0)
    before = theta[r + hub], theta[r + v]
    move_edge(lines, e, hub, v, theta, 0.0)
    triple_cells(blocks, rows, weights, nodes, factors, 0, half, cells)
    line_e, line_f = swap_lines(lines, cells, _PLACES, e, f, nodes, theta, now, a)
    (mode_e, scale_e), (mode_f, scale_f) = line_mode(line_e), line_mode(line_f)
    b = draw_t(rng, mode_f, scale_f)
    for s in range(8):
        k, j = pair_states(s, _PLACES, 2)
        factors[s] = b * g_f[j] - a * g_e[k]
    ratio, own = -1e300, (0.0, 0.0)
    if _exponentials(factors):
        own = _spread(blocks, rows, weights, nodes, factors, half, 2 * half, cells)
        line_e, line_f = swap_lines(lines, cells, _PLACES, e, f, nodes, theta, now, a)
        ratio = birth_log_ratio(line_f, b, mode_f, scale_f) - birth_log_ratio(line_e, a, mode_e, scale_e)
        ratio += log_slab_factor(prior.slab, b * b) - log_slab_factor(prior.slab, a * a)
        ratio += log(swap_rate(problem.share, f, e) / swap_rate(problem.share, e, f))
        ratio += prior.log_odds[f] - prior.log_odds[e]
    ratio -= log1p(-rng.random())
    if ratio > 0:  # before the penalty, which is never negative
        others = _spread(blocks, rows, weights, nodes, factors, 0, half, cells)
        ratio -= penalty(lines.n, own, others, half)
    if not ratio > 0:
        theta[e], theta[r + hub], theta[r + v] = a, before[0], before[1]
        return False
    move_edge(lines, f, hub, w, theta, b)
    move_weights(problem, e, hub, v, 0.0, -a, weights)
    move_weights(problem, f, hub, w, b, b, weights)
    _follow(rng, rows, blocks, nodes, factors, theta, momentum, e, f)
    return True


@leaf
def _both(rng, problem, rows, blocks, theta, weights, momentum, e, f, precision, log_slabs):
    """Propose the birth or death of edges e and f together; return whether it was accepted.

    ``log_slabs`` are the prior log odds of both, less those of a proposal of their birth.
    """
    half, lines, now, prior = 32 * blocks.words.shape[1], problem.lines, problem.now, problem.prior
    r, values, cells, factors = len(lines.edges), np.array([theta[e], theta[f]]), np.empty(8), np.ones(8)
    absent = values[0] == 0
    nodes, _, _ = triple_of(lines.edges, e, f, 2)
    hub, v, w = nodes
    g = plane_values(lines, _PLACES, e, f, nodes)
    if _are_far(g @ values):  # a death that would be refused, after exponentials of any size
        return False
    now[e] = normal_precision(rng, prior, precision, values[0])
    now[f] = normal_precision(rng, prior, precision, values[1])
    before = theta[r + hub], theta[r + v], theta[r + w]
    move_edge(lines, e, hub, v, theta, 0.0)
    move_edge(lines, f, hub, w, theta, 0.0)
    triple_cells(blocks, rows, weights, nodes, factors, 0, half, cells)
    plane = plane_of(lines, cells, g, e, f, nodes, theta, now, values)
    mode, lower = plane_peak(plane)
    new = draw_t_around(rng, mode, lower) if absent else values
    for s in range(8):
        factors[s] = (g[s] @ new) * (1 if absent else -1)
    ratio, own = -1e300, (0.0, 0.0)
    if _exponentials(factors):
        own = _spread(blocks, rows, weights, nodes, factors, half, 2 * half, cells)
        plane = plane_of(lines, cells, g, e, f, nodes, theta, now, values)
        ratio = log_slabs + plane_log_density(new, plane) - log_t_around(new, mode, lower)
        ratio += log_slab_factor(prior.slab, new[0] ** 2) + log_slab_factor(prior.slab, new[1] ** 2)
        ratio = (ratio if absent else -ratio) - log1p(-rng.random())
    if ratio > 0:  # before the penalty, which is never negative
        others = _spread(blocks, rows, weights, nodes, factors, 0, half, cells)
        ratio -= penalty(lines.n, own, others, half)
    if not ratio > 0:
        theta[e], theta[f], theta[r + hub], theta[r + v], theta[r + w] = values[0], values[1], *before
        return False
    if absent:
        move_edge(lines, e, hub, v, theta, new[0])
        move_edge(lines, f, hub, w, theta, new[1])
    move_weights(problem, e, hub, v, theta[e], theta[e] - values[0], weights)
    move_weights(problem, f, hub, w, theta[f], theta[f] - values[1], weights)
    _follow(rng, rows, blocks, nodes, factors, theta, momentum, e, f)
    return True


@leaf
def _share(rng, problem, rows, blocks, theta, weights, momentum, e, f, precision, log_slab):
    """Propose a move of edges e and f, or of their ends, along one ridge; return whether it was accepted."""
    half, lines, now = 32 * blocks.words.shape[1], problem.lines, problem.now
    k, c, g, cells, factors = np.empty(3, np.int64), np.empty(3), np.empty(8), np.empty(8), np.ones(8)
    nodes, _, _ = triple_of(lines.edges, e, f, 2)
    between = edge_between(rows, nodes[1], nodes[2])
    kind, base = ridge(lines, theta, e, f, nodes[1], nodes[2], _PLACES, between, int(rng.random() * _WAYS), k, c, g)
    if kind < 0:
        return False
    for i in range(3):
        if k[i] < len(lines.edges):
            now[k[i]] = precision
    t, whole = theta[k[1]], theta[e] + theta[f]
    score, kappa, mu = ridge_prior(rng, problem.prior, lines, theta, now, k, c, base)
    triple_cells(blocks, rows, weights, nodes, factors, 0, half, cells)
    line = ridge_line(lines, cells, g, t, score, kappa, mu)
    mode, scale = line_mode(line)
    # As in `visit_share`: t = 0 and t = whole stand for sets of edges.
    odds = problem.prior.log_odds
    log_prior = -odds[f] - log_slab, -odds[e] - log_slab, 0.0
    old = new = 2
    if kind == 0:
        old, new = 0 if t == 0 else 1 if t == whole else 2, int(3 * rng.random())
    if old == new and new < 2:
        return False
    to, ratio = 0.0 if new == 0 else whole, log_prior[new] - log_prior[old]
    if new == 2 and old == 2:
        to = draw_around(rng, line, mode, scale)
        ratio += line_log_density(t, line) - line_log_density(to, line)
    elif new == 2:
        to = draw_t(rng, mode, scale)
        ratio -= log_t(to, mode, scale)
    elif old == 2:
        ratio += log_t(t, mode, scale)
    for s in range(8):
        factors[s] = (to - t) * g[s]
    if not _exponentials(factors):
        return False
    own = _spread(blocks, rows, weights, nodes, factors, half, 2 * half, cells)
    line = ridge_line(lines, cells, g, t, score, kappa, mu)
    ratio += line_log_density(to, line) - line_log_density(t, line) - log1p(-rng.random())
    ratio += ridge_factor(problem.prior, kind, to, whole) - ridge_factor(problem.prior, kind, t, whole)
    if not ratio > 0:  # before the penalty, which is never negative
        return False
    others = _spread(blocks, rows, weights, nodes, factors, 0, half, cells)
    if not ratio > penalty(lines.n, own, others, half):
        return False
    if kind == 0:
        _set(problem, e, whole - to, theta, weights)
        _set(problem, f, to, theta, weights)
    else:
        for i in range(3):
            _set(problem, k[i], theta[k[i]] + c[i] * (to - t), theta, weights)
    _follow(rng, rows, blocks, nodes, factors, theta, momentum, e, f)
    return True


@leaf
def _spread(blocks, rows, weights, nodes, factors, first, last, cells):
    """Set ``cells`` by chains first..last-1; return variance and third central moment of a chain's mean factor."""
    square, cube = triple_cells(blocks, rows, weights, nodes, factors, first, last, cells)
    return relative_moments((cells * factors).sum(), square, cube)


@leaf
def _exponentials(factors):
    """Replace logs by exponentials, 1 at most; return whether all are moderate, as are those of the move back."""
    if _are_far(factors):
        return False
    factors[:] = np.exp(factors - factors.max())
    return True


@leaf
def _are_far(logs):
    """Return whether a factor with one of these logs is not moderate."""
    return np.abs(logs).max() > _FARTHEST


@leaf
def _set(problem, k, value, theta, weights):
    """Set one parameter, and the chains' weights."""
    r, coding, change = len(problem.lines.edges), problem.coding, value - theta[k]
    theta[k] = value
    if k >= r:
        weights[k] += coding.node * change
        return
    weights[k] = coding.edge * value
    weights[r + problem.lines.edges[k, 0]] += coding.shift * change
    weights[r + problem.lines.edges[k, 1]] += coding.shift * change


@leaf
def _follow(rng, rows, blocks, nodes, factors, theta, momentum, e, f):
    """Let rows and chains follow a move of edges e and f."""
    half = 32 * blocks.words.shape[1]
    for edge in (e, f):
        if theta[edge] == 0 and rows.place[edge] >= 0:
            remove_edge(rows, edge)
        elif theta[edge] != 0 and rows.place[edge] < 0:
            add_edge(rows, edge)
            momentum[edge] = rng.standard_normal()
    resample(rng, blocks, nodes, factors, 0, half)
    resample(rng, blocks, nodes, factors, half, 2 * half)
