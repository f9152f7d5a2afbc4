"""Births and deaths of edges of one or several groups of people, with moments from persistent chains of any states.

Each group has chains of its own. A baseline, or a difference, has its full conditional
(`bayesmrf.posterior.conditionals.group_lines`) from the joint distribution of the ends of its edge, which is averaged
over chains given their other nodes (`bayesmrf.states.edge_tables`): over one half of them to propose a value, over the
other to accept it, so that the two errors are independent. The error of the log ratio has its penalty
(`..conditionals.penalty`). Then the chains are weighted by the ratio of the two densities, and both ends are redrawn in
each of them; they are resampled at the end of the visits. The edges of one group are baselines that may be absent,
without differences.

Visits are in proportion to doubt, as in `bayesmrf.posterior.edges.bit_chains`.
"""

from __future__ import annotations

from math import log, log1p
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...states.edge_tables import edge_cells, follow_edge, follow_weights, grown_weights, spreads
from ...states.table_features import follow_feature, grown_by_feature, mean_shares, shares_of_states
from ...states.table_sweeps import redraw_ends, redraw_node, weigh_node
from ..conditionals.centred import node_row
from ..conditionals.group_lines import (
    Prior,
    draw_prior,
    log_factors,
    new_pair,
    one_group,
    propose,
    restore,
    take_away,
    value_of,
)
from ..conditionals.penalty import penalty
from .chain_swaps import of_group


class Visits(NamedTuple):
    """How often baselines and differences are visited."""

    share: np.ndarray  # (2, n_spiked) of draws with the baseline, and with the difference, moderate
    rate: np.ndarray  # (2,) proposals for an uncertain one in an iteration
    swaps: np.ndarray  # (2,) proposals of a swap to an edge that is certain
    reach: np.ndarray  # (n_edges,) largest value of an edge that is swapped


@strict_leaf
def visit_all(rng, graph, stacked, problem, visits, gains, theta, momentum, has, drawn, share, weights):
    """Propose births and deaths in proportion to doubt; return how many were accepted.

    ``gains`` are those of `bayesmrf.posterior.edges.byte_chains`, ``has`` is as of `find_parts`; ``share`` and
    ``weights`` are room for probabilities of states, and for weights.
    """
    n_jumps, r, always = 0, problem.n_edges, problem.baseline.fixed == 1
    for part in range(2 if len(theta.weights) > 1 else 1):
        stop = (0 if always else r) if part == 0 else problem.n_absent
        e = _next(rng, visits.share[part], visits.rate[part], has[part], 0, stop)
        while e < stop:
            log_odds = log(visits.share[part, e] / (1 - visits.share[part, e]))
            if _jump(rng, graph, stacked, problem, gains, theta, momentum, drawn, e, part, log_odds, share, weights):
                has[part, e] = not has[part, e]
                n_jumps += 1
            e = _next(rng, visits.share[part], visits.rate[part], has[part], e + 1, stop)
    return n_jumps


@strict_leaf
def _next(rng, share, rate, has, first, stop):
    """Return the next feature from ``first`` on whose birth or death is proposed, or ``stop``."""
    for e in range(first, stop):
        odds = share[e] / (1 - share[e])
        if rng.random() < rate * min(1.0, 1 / odds if has[e] else odds):
            return e
    return stop


@strict_leaf
def _jump(rng, graph, stacked, problem, gains, theta, momentum, drawn, e, part, log_odds, share, weights):
    """Propose the birth or death of a part of edge e, or of a parameter of a node; return whether it was accepted.

    ``log_odds`` are those of a proposal of its birth.
    """
    (n_groups, _, n_chains), lines = stacked.x.shape, problem.lines
    half, first_of, last_of = n_chains >> 1, problem.places[e], problem.places[e + 1]
    if e < problem.n_edges:
        i, j = lines.edges[first_of, 0], lines.edges[first_of, 1]
    else:
        i = j = np.searchsorted(lines.starts, first_of, side="right") - 1
    pairs = new_pair(problem, theta, e, i, j), new_pair(problem, theta, e, i, j)
    for t in range(n_groups):
        unpacked = of_group(stacked, t)
        if i == j:
            weigh_node(graph, unpacked, i)
            shares_of_states(unpacked, share[t])
        for side in range(2):
            pair, first = pairs[side], side * half
            if i == j:
                mean_shares(unpacked, i, pair.g[t, 0], share[t], first, first + half, pair.cells[t])
            else:
                edge_cells(graph, unpacked, e, first, first + half, pair.cells[t])
            pair.now[t] = pair.cells[t]
    prior = draw_prior(rng, problem, pairs[0], theta, drawn)
    of_baseline, of_difference = prior.log_odds
    prior = Prior(prior.precision, (of_baseline - log_odds, of_difference - log_odds))
    old, before = value_of(problem, theta, e, part), theta.weights[:, first_of:last_of].copy()
    ratio = propose(rng, problem, pairs, theta, prior, part, old)
    if old.any():
        ratio = -ratio
        take_away(problem, pairs, theta, part)
    ratio -= log1p(-rng.random())
    for t in range(n_groups if ratio > 0 else 0):  # before the penalty, which is never negative
        unpacked, factors = of_group(stacked, t), pairs[0].now[t]
        if i == j:
            change = theta.natural[t, first_of] - pairs[0].before[t, 0]
            grown_by_feature(unpacked, pairs[0].g[t, 0], change, share[t], weights[t])
        else:
            log_factors(pairs[0], theta, t, pairs[0].before[t], factors)
            grown_weights(graph, unpacked, e, factors, weights[t])
        others, own = spreads(unpacked.weights, weights[t])
        ratio -= penalty(lines.n[t], own, others, half)
    if not ratio > 0:
        restore(problem, pairs, theta, before)
        return False
    for t in range(n_groups):
        unpacked, one, natural = of_group(stacked, t), one_group(problem, t), theta.natural[t]
        if i == j:
            follow_feature(unpacked, i, pairs[0].g[t, 0], natural[first_of] - pairs[0].before[t, 0])
            follow_weights(rng, unpacked, weights[t])
            redraw_node(unpacked, i)
        else:
            follow_weights(rng, unpacked, weights[t])
            values = natural[first_of:last_of]
            follow_edge(
                unpacked, gains, e, first_of, values, i, node_row(one, natural, i), j, node_row(one, natural, j)
            )
            redraw_ends(graph, unpacked, e)
    for k in range(part, 1 if part == 0 else len(theta.weights)):
        for p in range(first_of, last_of):
            momentum.weights[k, p] = rng.standard_normal()
    return True
