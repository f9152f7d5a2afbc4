"""Chains of bits, of yes/no answers of one group: what an iteration asks of them.

They are those of the Boltzmann machine with the distribution of theta (`bayesmrf.models.boltzmann.Coding`), whose
centred features are those of any binary model, up to a factor.

* Whole clusters of nodes are flipped in the chains, which would otherwise stay in their first mode: some drawn by the
  weights, and some by the correlations of the data. If rows follow a few patterns, weights that are each moderate hold
  all nodes together, and the first are rarely all nodes that differ. The shares of chains in the modes would then lag
  behind the weights, errors of moments would last from one iteration to the next, and there would be too many edges.
* Proposals are made where they are accepted. With o the odds of the share s of draws of warm-up with an edge, an
  iteration proposes its birth with probability v min(1, o), its death with v min(1, 1 / o), and the ratio of a birth is
  divided by o. A birth of an edge that is in 1 % of the draws is thus proposed 100 times less often than its death, but
  accepted as often. A swap to an edge that is in a share s is proposed with probability v s. With a larger v visits
  would see the same chains with the same errors, which would give too many edges.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np

from ...compiled import copy_to, leaf
from ...states.chain_flips import flip_clusters, flip_correlated
from ...states.persistent_chains import EdgeBlocks, EdgeRows, count_both, sweep
from ..conditionals.centred import feature_of
from ..conditionals.spike import slab_top
from .byte_chains import add_features, add_products
from .edge_jumps import jump
from .rival_moves import visit_rivals
from .two_states_problem import TwoStatesProblem

_FLIPS = 2  # sets of nodes that are flipped in an iteration


class BitChains(NamedTuple):
    """Chains, the rows of present edges, and the weights of the Boltzmann machine of the chains."""

    of: TwoStatesProblem
    rows: EdgeRows
    blocks: EdgeBlocks
    weights: np.ndarray  # (F,)


@leaf
def refresh_bits(rng, chains):
    """Flip clusters of nodes, and sweep the chains."""
    blocks, rows, weights = chains.blocks, chains.rows, chains.weights
    flip_clusters(rng, blocks, rows, weights)
    for _ in range(_FLIPS):
        flip_correlated(rng, blocks, rows, weights, chains.of.correlation)
    sweep(blocks, rows, weights)


@leaf
def means_of_bits(chains, problem, has, out):
    """Set ``out`` (1, F) to the means over the chains of the features of nodes, and of present edges on their lines."""
    lines, blocks, rows = chains.of.lines, chains.blocks, chains.rows
    r, n = len(rows.edges), blocks.n_chains
    for k in range(r, out.shape[1]):
        f = lines.features[k - r]
        out[0, k] = f[0] + (f[1] - f[0]) * blocks.ones[k - r] / n
    for k in range(rows.n_present[0]):
        e = rows.present[k]
        i, j, f = rows.edges[e, 0], rows.edges[e, 1], feature_of(lines, e, rows.edges[e, 0])
        only_i, only_j = f[1, 0] - f[0, 0], f[0, 1] - f[0, 0]
        both = (f[1, 1] - f[0, 0] - only_i - only_j) * count_both(blocks.words, i, j)
        mean = f[0, 0] + (both + only_i * blocks.ones[i] + only_j * blocks.ones[j]) / n
        out[0, e] = mean - lines.pull[e, 0, 0] * out[0, r + i] - lines.pull[e, 1, 0] * out[0, r + j]


@leaf
def visit_in_bits(rng, chains, problem, theta, momentum, has, drawn):
    """Propose births, deaths and moves of two edges; return how many were accepted."""
    of, rows, blocks, weights = chains.of, chains.rows, chains.blocks, chains.weights
    parameters, own, precision, n = theta.natural[0], momentum.weights[0], drawn[3], 0
    log_slab = slab_top(of.prior, precision)
    for e in range(len(rows.edges)):
        if not of.prior.free[e]:
            continue
        odds = of.share[e] / (1 - of.share[e])
        if rng.random() >= of.rate * min(1.0, odds if rows.place[e] < 0 else 1 / odds):
            continue
        log_birth = of.prior.log_odds[e] + log_slab - log(odds)
        if jump(rng, of, rows, blocks, parameters, weights, e, log_birth, precision):
            own[e] = rng.standard_normal()
            n += 1
    n += visit_rivals(rng, of, rows, blocks, parameters, weights, own, precision, log_slab)
    if n > 0:
        copy_to(theta.weights[0], parameters[: len(rows.edges)])
        for e in range(len(rows.edges)):
            has[0, e] = rows.place[e] >= 0
    return n


@leaf
def follow_in_bits(chains, problem, theta):
    """Let the weights be those of the present parameters."""
    rows, weights, coding, parameters = chains.rows, chains.weights, chains.of.coding, theta.natural[0]
    r = len(rows.edges)
    for k in range(r, len(weights)):
        weights[k] = coding.node * parameters[k]
    for k in range(rows.n_present[0]):
        e = rows.present[k]
        weights[e] = coding.edge * parameters[e]
        weights[r + rows.edges[e, 0]] += coding.shift * parameters[e]
        weights[r + rows.edges[e, 1]] += coding.shift * parameters[e]


@leaf
def covariances_of_bits(chains, lines, values, present, direction, out):
    """Set ``out`` (1, F) to the covariances over the chains of each feature with the sum of features by ``direction``.

    Those of edges are on their lines; 0 of those that are not ``present``.
    """
    states, total = chains.blocks.states, np.zeros((len(chains.blocks.states), chains.blocks.states.shape[2]))
    for b in range(len(states)):
        add_features(states[b], lines, values[0], present, direction[0], total[b])
    total -= total.sum() / total.size
    out[:] = 0.0
    for b in range(len(states)):
        add_products(states[b], lines, values[0], present, total[b], out[0])
    out /= total.size
