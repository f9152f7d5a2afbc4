"""Birth and death of an edge at any weight, with Z along its line from persistent chains.

* One half of the chains is used to propose the weight, the other to accept it, so that the two errors are independent.
  Both average the distributions of the pair given the other nodes of each chain (`bayesmrf.states.chain_pairs`).
  Between nodes of a camp, each almost equal to at least three others, the chains in each state are counted, unless one
  is rare: given the rest of its camp, a node is as good as certain in every chain, and the error would seem small.
* The error of the log ratio has its penalty, which restores detailed balance
  (`bayesmrf.posterior.conditionals.penalty`).
* When an edge jumps, each chain is weighted by the ratio of the two densities, which depends on the states of the pair,
  and the chains are resampled, so that they follow the new weights.
"""

from __future__ import annotations

from math import exp, log1p

import numpy as np

from ...compiled import leaf
from ...states.chain_pairs import (
    conditional_cells,
    conditional_spread,
    counted_cells,
    counted_spread,
    ends_without_edge,
)
from ...states.persistent_chains import add_edge, remove_edge, resample
from ..conditionals.centred import edge_line, move_edge
from ..conditionals.line import line_mode
from ..conditionals.penalty import penalty
from ..conditionals.slab_leaves import log_slab_factor
from ..conditionals.spike import birth_log_ratio, normal_precision
from ..conditionals.student_t import draw_t
from .rival_moves import move_weights


@leaf
def jump(rng, problem, rows, blocks, theta, weights, e, log_slab, precision):
    """Propose the birth or death of edge e; return whether it was accepted.

    ``log_slab`` are the prior log odds of the edge, less those of a proposal of its birth.
    """
    half, lines, now = 32 * blocks.words.shape[1], problem.lines, problem.now
    i, j, counted = rows.edges[e, 0], rows.edges[e, 1], problem.counted[e]
    ends = np.empty((2, 0 if counted else 2 * half), np.float32)
    if not counted:
        ends_without_edge(blocks, rows, weights, e, ends)
    a = theta[e]
    absent = rows.place[e] < 0  # compiled comparisons of theta may be wrong where it has diverged
    now[e] = normal_precision(rng, problem.prior, precision, a)
    first = _cells(blocks, i, j, counted, ends, weights[e], 0)
    line = edge_line(lines, first, 1.0, e, i, j, theta, now)
    mode, scale = line_mode(line)
    new = draw_t(rng, mode, scale) if absent else a
    change = new if absent else -a
    g = line.samples[0].g
    factors = exp(change * g[0]), exp(change * g[1]), exp(change * g[2]), exp(change * g[3])
    second = _cells(blocks, i, j, counted, ends, weights[e], half)
    line = edge_line(lines, second, 1.0, e, i, j, theta, now)
    ratio = log_slab + birth_log_ratio(line, new, mode, scale) + log_slab_factor(problem.prior.slab, new * new)
    ratio = (ratio if absent else -ratio) - log1p(-rng.random())
    if not ratio > 0:  # before the penalty, which is never negative
        return False
    others = _spread(counted, ends, 0, half, weights[e], first, factors)
    own = _spread(counted, ends, half, 2 * half, weights[e], second, factors)
    if not ratio > penalty(lines.n, own, others, half):
        return False
    if absent:
        add_edge(rows, e)
    else:
        remove_edge(rows, e)
    move_edge(lines, e, i, j, theta, new if absent else 0.0)
    move_weights(problem, e, i, j, theta[e], change, weights)
    resample(rng, blocks, (i, j), factors, 0, half)
    resample(rng, blocks, (i, j), factors, half, 2 * half)
    return True


@leaf
def _cells(blocks, i, j, counted, ends, weight, first):
    """Return the probabilities of the states of nodes i and j by the half of the chains that begins with ``first``."""
    half = 32 * blocks.words.shape[1]
    if counted:
        return counted_cells(blocks.words[:, first >> 6 : (first + half) >> 6], i, j)
    return conditional_cells(ends, first, first + half, weight)


@leaf
def _spread(counted, ends, first, last, weight, cells, factors):
    """Return variance and third central moment of a chain's factor, for `penalty`."""
    if counted:
        return counted_spread(cells, factors)
    return conditional_spread(ends, first, last, weight, cells, factors)
