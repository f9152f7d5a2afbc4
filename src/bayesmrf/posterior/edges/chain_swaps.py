"""Swaps of rival edges, by the persistent chains of each group.

They are those of `bayesmrf.posterior.conditionals.group_swaps`, by the joint distribution of three nodes given the rest
of each chain. The half of the chains that proposes the value may find the swap hopeless, before the other half is
asked (delayed acceptance).
"""

from __future__ import annotations

from math import log, log1p
from typing import Any

import numpy as np

from ...compiled import strict_leaf
from ...states.edge_tables import UnpackedTableParticles, edge_cells, follow_edge, follow_weights, spreads
from ...states.table_sweeps import redraw_ends, sweep
from ...states.table_triples import grown_jointly, rival_cells
from ..conditionals.alike_nodes import triple_of
from ..conditionals.centred import CentredLines, line_values, node_row, smoothed_shares
from ..conditionals.group_lines import draw_prior, log_factors, look, new_pair, one_group, take_away, value_of
from ..conditionals.group_swaps import set_back, swap_ratio
from ..conditionals.penalty import penalty

_REACH = 15.0  # standard deviations of a weight between independent nodes, beyond which an edge is not swapped
SURE = 8.0  # edges whose share of absent draws is below the inverse are seldom swapped for others
_SLACK = 3.0  # how far a log ratio by the particles that propose is below 0 before the others look at it


def reach_of(model: Any, lines: CentredLines, s_bar: np.ndarray, n_samples: float) -> np.ndarray:
    """Return the largest weight of each edge that may be swapped, which depends on the data alone."""
    share, (u, v) = smoothed_shares(model, s_bar, n_samples), model.graph.edges.T
    p = (share[u, :, None] * share[v, None, :]).reshape(len(u), -1)
    g = line_values(model, lines)
    variance = (p * g**2).sum(axis=1) - (p * g).sum(axis=1) ** 2
    return _REACH / np.sqrt((n_samples + 1) * variance)


@strict_leaf
def of_group(stacked, t):
    """Return the particles of group t of several whose arrays are stacked."""
    return UnpackedTableParticles(
        stacked.x[t], stacked.lanes[t], stacked.potentials[t], stacked.field[t], stacked.at_u[t], stacked.at_v[t],
        stacked.weights[t],
    )  # fmt: skip


@strict_leaf
def visit_rivals(rng, graph, stacked, problem, visits, gains, theta, momentum, has, drawn, weights):
    """Propose swaps of pairs of rivals; return how many were accepted. ``weights`` is room for those of the particles.

    A swap of e for f is proposed in proportion to the shares of draws with f and without e; the ratio allows for it.
    """
    n_swaps, rivals, always = 0, problem.rivals, problem.baseline.fixed == 1
    for part in range(1 if always else 0, 2 if len(theta.weights) > 1 else 1):
        share, rate, n_edges = visits.share[part], visits.swaps[part], problem.n_edges
        n_free = n_edges if part == 0 else min(n_edges, problem.n_absent)
        pair = _next(rng, rivals, share, rate, has[part], 0, n_free)
        while pair < len(rivals):
            e, f = rivals[pair, 0], rivals[pair, 1]
            if has[part, f]:
                e, f = f, e
            rates = log(swap_rate(share, f, e) / swap_rate(share, e, f))
            if np.abs(value_of(problem, theta, e, part)).max() < visits.reach[e] and _swap(
                rng, graph, stacked, problem, visits.reach[f], gains, theta, drawn, e, f, part, rates, weights
            ):
                n_swaps += 1
                has[part, e], has[part, f] = False, True
                for k in range(part, 1 if part == 0 else len(theta.weights)):
                    for p in range(problem.places[f], problem.places[f + 1]):
                        momentum.weights[k, p] = rng.standard_normal()
            pair = _next(rng, rivals, share, rate, has[part], pair + 1, n_free)
    return n_swaps


@strict_leaf
def _next(rng, rivals, share, rate, has, first, n_free):
    """Return the next pair from ``first`` on for which a swap is proposed, or their number."""
    for pair in range(first, len(rivals)):
        e, f = rivals[pair, 0], rivals[pair, 1]
        if has[e] != has[f] and max(e, f) < n_free:
            if has[f]:
                e, f = f, e
            if rng.random() < rate * swap_rate(share, e, f):
                return pair
    return len(rivals)


@strict_leaf
def swap_rate(share, e, f):
    """Return how often a swap of edge e for f is proposed: seldom if f is rarely present, or e nearly always."""
    return share[f] * min(1.0, SURE * (1 - share[e]))


@strict_leaf
def _swap(rng, graph, stacked, problem, reach, gains, theta, drawn, e, f, part, log_rates, weights):
    """Propose that edge f has a part, a difference or a baseline, of at most ``reach``, in place of edge e."""
    (n_groups, _, n_particles), m = stacked.x.shape, problem.lines.base.shape[1]
    half, first_of = n_particles >> 1, problem.places
    nodes, _, _ = triple_of(problem.lines.edges, first_of[e], first_of[f], m)
    of_e = new_pair(problem, theta, e, nodes[0], nodes[1]), new_pair(problem, theta, e, nodes[0], nodes[1])
    of_f = new_pair(problem, theta, f, nodes[0], nodes[2]), new_pair(problem, theta, f, nodes[0], nodes[2])
    priors = draw_prior(rng, problem, of_e[0], theta, drawn), draw_prior(rng, problem, of_f[0], theta, drawn)
    before, natural, old = theta.weights.copy(), theta.natural.copy(), value_of(problem, theta, e, part)
    joint, factors = np.empty((n_groups, m * m, n_particles), np.float32), np.empty(m * m)
    take_away(problem, of_e, theta, part)
    _cells(graph, stacked, nodes, of_e[0], of_f[0], theta, natural, 0, half, joint)
    one_e, one_f = (of_e[0], of_e[0]), (of_f[0], of_f[0])
    none = np.zeros((len(old), of_f[0].g.shape[1]))
    first = swap_ratio(rng, problem, one_e, one_f, theta, priors, old, none, part)
    new = value_of(problem, theta, f, part)
    # Delayed acceptance: if the first half finds the swap hopeless, the other is not asked.
    if not (np.abs(new).max() < reach and log1p(-rng.random()) < first + _SLACK):
        set_back(theta, before, natural)
        return False
    take_away(problem, of_f, theta, part)
    _cells(graph, stacked, nodes, of_e[1], of_f[1], theta, natural, half, n_particles, joint)
    ratio = swap_ratio(rng, problem, of_e, of_f, theta, priors, old, new, part)
    ratio += log_rates + min(0.0, _SLACK - first) - min(0.0, _SLACK + first) - log1p(-rng.random())
    for t in range(n_groups if ratio > 0 else 0):  # before the penalty, which is never negative
        log_factors(of_f[0], theta, t, natural[t, first_of[f] : first_of[f + 1]], factors)
        grown_jointly(of_group(stacked, t), nodes[0], nodes[2], joint[t], factors, weights[t])
        others, own = spreads(stacked.weights[t], weights[t])
        ratio -= penalty(problem.lines.n[t], own, others, half)
    if not ratio > 0:
        set_back(theta, before, natural)
        return False
    for t in range(n_groups):
        unpacked, one, own = of_group(stacked, t), one_group(problem, t), theta.natural[t]
        follow_weights(rng, unpacked, weights[t])
        for edge in (e, f):
            at, values = first_of[edge], own[first_of[edge] : first_of[edge + 1]]
            i, j = problem.lines.edges[at, 0], problem.lines.edges[at, 1]
            follow_edge(unpacked, gains, edge, at, values, i, node_row(one, own, i), j, node_row(one, own, j))
        for edge in (e, f):
            edge_cells(graph, unpacked, edge, 0, n_particles, of_e[0].cells[t])
            redraw_ends(graph, unpacked, edge)
        sweep(graph, unpacked)
    return True


@strict_leaf
def _cells(graph, stacked, nodes, of_e, of_f, theta, natural, start, stop, joint):
    """Compute the probabilities of the ends of both edges where the parameters are now; ``natural`` were those before.

    They are averaged over particles start..stop-1; see `rival_cells` for ``joint`` (G, m^2, n_particles).
    """
    factors = np.empty(of_e.g.shape[2])
    for t in range(len(natural)):
        log_factors(of_e, theta, t, natural[t, of_e.first : of_e.first + of_e.g.shape[1]], factors)
        rival_cells(
            graph, of_group(stacked, t), nodes, of_e.e, of_f.e, factors, start, stop, of_e.cells[t], of_f.cells[t],
            joint[t],
        )  # fmt: skip
    look(of_e, theta)
    look(of_f, theta)
