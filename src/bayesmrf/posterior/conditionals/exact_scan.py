"""Exact scans over theta: every edge along its centred line, then every parameter of a node, from full conditionals.

Up to 2^20 states a scan is compiled, with the weights of all states in a table. On larger graphs the engine computes
moments after each change.
"""

from __future__ import annotations

from math import log, log1p
from typing import Any, NamedTuple

import numpy as np

from ...base import MOMENTS
from ...compiled import copy_to, strict_leaf
from ...errors import OptionError, argument
from ...likelihood import Likelihood
from ...models.bases import has_lines
from .alike_nodes import add_pair_weights, follow_swap, triple_of, visit_alike
from .centred import (
    CentredLines,
    centred_lines,
    edge_line,
    move_edge,
    node_line,
    node_shares,
    own_line,
    pair_cells,
    pair_values,
)
from .line import Line, line_mode
from .rivals import alike_in
from .slab_leaves import log_slab_factor
from .spike import (
    EdgePrior,
    birth_log_ratio,
    draw_hyper,
    node_precision,
    normal_precision,
    require_finite,
    slab_top,
    visit_edge,
    visit_node,
)
from .state_table import (
    BlockOrder,
    block_order,
    fill_table,
    follow,
    move_node,
    move_pair,
    node_sum,
    pair_sums,
    sum_out,
    triple_sums,
)
from .student_t import draw_t

MAX_STATES = 2**20  # of a table: 8 MiB


_NO_PAIRS = np.empty((0, 2), np.int64)


class ScanProblem(NamedTuple):
    """Constants of a scan."""

    lines: CentredLines
    prior: EdgePrior
    scales: np.ndarray  # (n_features,), scale^-2 of the prior of each parameter, unless drawn
    order: BlockOrder
    pairs: np.ndarray  # (n_pairs, 2), edges that may be swapped
    alike: np.ndarray  # (n_alike, 3), as of `alike_in`, redrawn together where there is a table


def scan_problem(
    likelihood: Likelihood, prior: EdgePrior, scales: np.ndarray, pairs: np.ndarray = _NO_PAIRS
) -> ScanProblem:
    """Return the constants of scans of a posterior; almost equal nodes are chosen by the data (`alike_in`)."""
    of = likelihood.model, likelihood.s_bar, likelihood.n_samples
    lines = centred_lines(*of, prior.tilt)
    return ScanProblem(lines, prior, scales, block_order(lines.edges, len(lines.base)), pairs, alike_in(*of))


def require_exact(likelihood: Likelihood, kernel: str) -> None:
    """Check that a scan can be exact.

    Raises
    ------
    OptionError
    """
    likelihood.require(kernel, {MOMENTS})
    if not likelihood.is_exact:
        expected = f"an exact engine for {kernel!r}, 'elimination' or 'enumeration'"
        raise OptionError(option="engine", got=likelihood.engine.name, expected=expected)
    if not has_lines(likelihood.model):
        raise OptionError(
            option="model",
            got=likelihood.model.name,
            expected=f"one with edge_values and node_values for {kernel!r}: boltzmann, ising, agreement, potts or "
            "ordinal",
        )
    model: Any = likelihood.model
    moves_alone = len(np.unique(model.edge_values)) == 2 and (model.node_states > 0).all()
    if not moves_alone and model.n_states**model.graph.n_nodes > MAX_STATES:
        raise OptionError(
            option="model",
            got=f"{model.name} with {model.n_states}^{model.graph.n_nodes} joint states",
            expected=f"one with at most 2^20 joint states of ordered categories for {kernel!r}",
            remedy=f"use {argument('method', 'particle')}",
        )
    if likelihood.curve is not None or likelihood.others:
        raise OptionError(
            option="kernel",
            got=kernel,
            expected="one that supports tied parameters and several samples",
            remedy=f"use {argument('kernel', 'auto')}",
        )


def scan(
    rng: np.random.Generator, likelihood: Likelihood, problem: ScanProblem, theta: np.ndarray, n_scans: int
) -> tuple[float, float, float]:
    """Change theta in place by exact scans, and the log odds of edges in the problem's prior (`own_odds`).

    Returns
    -------
    density, precision, log_z : float
        p0, the slab's precision, and log Z at the end.

    Raises
    ------
    DivergenceError
        If a parameter becomes non-finite.
    """
    model: Any = likelihood.model
    if model.n_states**model.graph.n_nodes <= MAX_STATES:
        pairs = problem.pairs if len(problem.pairs) > 0 else None
        alike = problem.alike if len(problem.alike) > 0 else None
        result = scan_table(rng, problem, pairs, alike, theta, n_scans)
        require_finite(theta)
        return result
    walk = _EngineScan(rng, likelihood, problem, theta)
    for _ in range(n_scans):
        density, precision, log_slab = draw_scales(rng, problem.prior, walk.scales, theta, len(problem.lines.edges))
        walk.visit_all(log_slab)
        if problem.prior.fixed < 1:
            for k in rng.integers(len(problem.pairs), size=swaps_in_scan(model.graph.n_nodes, len(problem.pairs))):
                walk.swap(*problem.pairs[k])
    return density, precision, likelihood.log_z(theta)


class _EngineScan:
    """Scans with moments of the engine, if there are too many states for a table."""

    def __init__(
        self, rng: np.random.Generator, likelihood: Likelihood, problem: ScanProblem, theta: np.ndarray
    ) -> None:
        self.rng, self.likelihood, self.theta = rng, likelihood, theta
        self.lines, self.prior = problem.lines, problem.prior
        self.scales, self.now = problem.scales.copy(), problem.scales.copy()
        self.model: Any = likelihood.model
        # Moments do not determine the joint distribution of nodes with many states or without parameters: edges move
        # alone.
        self.is_alone = self.lines.pull.shape[2] != 1
        self._look()

    def _look(self) -> None:
        self.moments = self.likelihood.moments(self.theta)
        self.share = node_shares(self.model, self.moments)

    def _line(self, e: int) -> Line:
        """Compute the line of edge e."""
        if self.is_alone:
            low, high = self.model.feature_low[e], self.model.feature_high[e]
            p = min(max((self.moments[e] - low) / (high - low), 0.0), 1.0)
            return own_line(self.lines, p, 1 - p, e, low, high - low, self.theta, self.now)
        cells = pair_cells(self.model, self.moments, self.share, e)
        return edge_line(self.lines, cells, cells.sum(), e, *self.lines.edges[e], self.theta, self.now)

    def _move(self, e: int, value: float) -> None:
        if self.is_alone:
            self.theta[e] = value
        else:
            move_edge(self.lines, e, *self.lines.edges[e], self.theta, value)
        self._look()

    def visit_all(self, log_slab: float) -> None:
        """Redraw every edge, then every parameter of a node."""
        rng, prior, lines, theta, now = self.rng, self.prior, self.lines, self.theta, self.now
        low, high = self.model.node_values
        for e, (i, j) in enumerate(lines.edges):
            normal_prior(rng, prior, lines, e, i, j, theta, self.scales, now)
            new = visit_edge(rng, self._line(e), theta[e], prior.log_odds[e] + log_slab, prior)
            if new != theta[e]:
                self._move(e, new)
        for k in range(len(lines.edges), len(theta)):
            now[k] = node_precision(rng, prior, self.scales[k], theta[k])
            p = min(max((self.moments[k] - low) / (high - low), 0.0), 1.0)
            theta[k] = visit_node(rng, own_line(lines, p, 1 - p, k, low, high - low, theta, now))
            self._look()

    def swap(self, e: int, f: int) -> None:
        """Propose to swap two rival edges; see `_swap`."""
        if (self.theta[e] != 0) == (self.theta[f] != 0):
            return
        if self.theta[e] == 0:
            e, f = f, e
        for edge in (e, f):
            i, j = self.lines.edges[edge]
            normal_prior(self.rng, self.prior, self.lines, edge, i, j, self.theta, self.scales, self.now)
        before, moments, a = self.theta.copy(), self.moments, self.theta[e]
        self._move(e, 0.0)
        b, ratio = propose_swap(self.rng, self._line(e), self._line(f), a, self.prior)
        if log1p(-self.rng.random()) >= ratio + self.prior.log_odds[f] - self.prior.log_odds[e]:
            self.theta[:], self.moments, self.share = before, moments, node_shares(self.model, moments)
        else:
            self._move(f, b)


@strict_leaf
def draw_scales(rng, prior, scales, theta, r):
    """Draw p0 and the slab's precision, and write the latter into ``scales``; return both, and the log of the slab's
    top. The log odds of edges follow.
    """
    density, precision = draw_hyper(rng, prior, theta[:r] != 0, theta[:r])
    if prior.precision == 0:
        scales[:r] = precision
    return density, precision, slab_top(prior, precision)


@strict_leaf
def swaps_in_scan(n_nodes, n_pairs):
    """Return how many swaps are proposed in a scan; more would take longer than they mix better."""
    return min(n_pairs, (n_nodes + 1) // 2)


@strict_leaf
def normal_prior(rng, prior, lines, e, i, j, theta, scales, now):
    """Write into ``now`` the precisions of normal priors conditional on the parameters of edge e and its nodes."""
    now[e] = normal_precision(rng, prior, scales[e], theta[e])
    for node in (i, j):
        for k in range(lines.starts[node], lines.starts[node + 1]):
            now[k] = node_precision(rng, prior, scales[k], theta[k])


@strict_leaf
def scan_table(rng, problem, pairs, alike, theta, n_scans):
    """Scan with the weights of all states in a table; return p0, the slab's precision and log Z.

    ``pairs`` and ``alike`` are those of the problem, or None: their moves are compiled only for data that have any.

    Nodes are in four blocks. The edges and node parameters of two blocks depend on the others only through the sums of
    weights for the states of the two blocks, a small table, so that the large one is read and written once for each
    pair of blocks.
    """
    lines, prior, order, scales = problem.lines, problem.prior, problem.order, problem.scales.copy()
    now, r, (n_nodes, m) = scales.copy(), len(lines.edges), lines.base.shape
    table, top = fill_table(lines, theta)
    density = precision = 0.0
    for _ in range(n_scans):
        density, precision, log_slab = draw_scales(rng, prior, scales, theta, r)
        for k in range(len(order.blocks)):
            small = sum_out(table, m, order.blocks[k])
            old = small.copy()
            top += _scan_blocks(rng, prior, lines, theta, scales, now, log_slab, small, order, k)
            follow(table, m, order.blocks[k], small, old)
        if pairs is not None:
            for _ in range(swaps_in_scan(n_nodes, len(pairs)) if prior.fixed < 1 else 0):
                k = int(rng.random() * len(pairs))
                _swap(rng, prior, lines, table, pairs[k, 0], pairs[k, 1], theta, scales, now)
        if alike is not None:
            for _ in range(n_nodes):
                k = int(rng.random() * len(alike))
                e, f, between = alike[k, 0], alike[k, 1], alike[k, 2]
                visit_alike(rng, prior, lines, table, e, f, between, theta, scales, log_slab)
    return density, precision, top + log(table.sum())


@strict_leaf
def _scan_blocks(rng, prior, lines, theta, scales, now, log_slab, table, order, pair):
    """Redraw edges and nodes of a pair of blocks; return the log of a factor of all weights, as `move_node`."""
    m, offset = len(lines.values), 0.0
    cells, edges, nodes = np.empty(m * m), order.edges, order.nodes
    for k in range(order.edge_starts[pair], order.edge_starts[pair + 1]):
        u, v, i, j, e = edges[k, 0], edges[k, 1], edges[k, 2], edges[k, 3], edges[k, 4]
        cells[:] = 0.0
        pair_sums(table, m, u, v, cells)
        normal_prior(rng, prior, lines, e, i, j, theta, scales, now)
        before, line = theta[e], edge_line(lines, cells, cells.sum(), e, i, j, theta, now)
        move_edge(lines, e, i, j, theta, visit_edge(rng, line, before, prior.log_odds[e] + log_slab, prior))
        if theta[e] != before:
            move_pair(table, m, u, v, pair_values(lines, e, i, j), theta[e] - before)
    for k in range(order.node_starts[pair], order.node_starts[pair + 1]):
        offset += visit_parameters(rng, prior, lines, table, nodes[k, 0], nodes[k, 1], theta, scales, now)
    return offset


@strict_leaf
def visit_parameters(rng, prior, lines, table, u, i, theta, scales, now):
    """Redraw the parameters of node i, which is node u of a table; return the log of a factor, as `move_node`."""
    own, offset = np.empty(lines.base.shape[1]), 0.0
    for k in range(lines.starts[i], lines.starts[i + 1]):
        now[k] = node_precision(rng, prior, scales[k], theta[k])
        for x in range(len(own)):
            own[x] = node_sum(table, len(own), u, x)
        before = theta[k]
        theta[k] = visit_node(rng, node_line(lines, own, k, theta, now))
        offset += move_node(lines, table, u, k, theta[k] - before)
    return offset


@strict_leaf
def swap_lines(lines, weights, places, e, f, nodes, theta, now, a):
    """Return the lines of two edges in the model without both, which theta is.

    ``weights`` (m^3,) are those of the states of their three nodes (`triple_of`) with the weight a of edge e.
    """
    m, (hub, v, w) = len(lines.values), nodes
    of_e, of_f, g_e = np.zeros(m * m), np.zeros(m * m), pair_values(lines, e, hub, v)
    add_pair_weights(weights, places, m, g_e, -a, of_e, of_f)
    return (
        edge_line(lines, of_e, of_e.sum(), e, hub, v, theta, now),
        edge_line(lines, of_f, of_f.sum(), f, hub, w, theta, now),
    )


@strict_leaf
def propose_swap(rng, line_e, line_f, a, prior):
    """Propose the swap of edge e, with weight a, for edge f; return the weight of f and the log acceptance ratio.

    The lines are those of the model without both edges, in which either is born as in `visit_edge`: the acceptance
    ratio is that of the two births.
    """
    (mode_e, scale_e), (mode_f, scale_f) = line_mode(line_e), line_mode(line_f)
    b = draw_t(rng, mode_f, scale_f)
    ratio = birth_log_ratio(line_f, b, mode_f, scale_f) - birth_log_ratio(line_e, a, mode_e, scale_e)
    return b, ratio + log_slab_factor(prior.slab, b * b) - log_slab_factor(prior.slab, a * a)


@strict_leaf
def _swap(rng, prior, lines, table, e, f, theta, scales, now):
    """Propose to swap two edges that share a node, one present and one absent.

    It depends on the other nodes through the joint distribution of their three nodes only.
    """
    if (theta[e] != 0) == (theta[f] != 0):
        return
    if theta[e] == 0:
        e, f = f, e
    m, a = len(lines.values), theta[e]
    (hub, v, w), places, nodes = triple_of(lines.edges, e, f, m)
    normal_prior(rng, prior, lines, e, hub, v, theta, scales, now)
    normal_prior(rng, prior, lines, f, hub, w, theta, scales, now)
    cells = np.empty((m, m * m))
    triple_sums(table, m, nodes, cells)
    before = theta.copy()
    move_edge(lines, e, hub, v, theta, 0.0)
    line_e, line_f = swap_lines(lines, cells.ravel(), places, e, f, (hub, v, w), theta, now, a)
    b, ratio = propose_swap(rng, line_e, line_f, a, prior)
    if log1p(-rng.random()) >= ratio + prior.log_odds[f] - prior.log_odds[e]:
        copy_to(theta, before)
        return
    move_edge(lines, f, hub, w, theta, b)
    g_e, g_f = pair_values(lines, e, hub, v), pair_values(lines, f, hub, w)
    follow_swap(table, places, nodes, cells, g_e, -a, g_f, b)
