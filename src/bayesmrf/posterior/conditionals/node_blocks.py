r"""Blocks of nodes, and the probabilities of edges within and between them, given the edges.

An edge between blocks r and s exists with probability q_rs, which has a Beta prior. The block of each node is redrawn
in turn given the others and the edges, with all q_rs integrated out: a block c has the weight of its prior
(`bayesmrf.partitions.blocks`) times, over all blocks s,

.. math:: B(a + m_{cs}, b + n_{cs} - m_{cs}) / B(a, b),

for :math:`m_{cs}` edges of :math:`n_{cs}` candidates. Single nodes seldom divide a large block, so that splits and
merges of whole blocks are proposed, too. Then q_rs is drawn given blocks and edges.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...graphs import Graph
from ...priors import Blocks

_N_SPLITS = 3  # proposals of a split or a merge, for each time that all nodes are redrawn
_LEAST, _MOST = 1e-300, 1 - 1e-16  # of a probability, so that log odds are finite


class BlockPrior(NamedTuple):
    """Constants of `bayesmrf.priors.Blocks` on the candidates, and the present blocks."""

    edges: np.ndarray  # (n_edges, 2)
    starts: np.ndarray  # (n_nodes + 1,), of the candidates of each node
    neighbours: np.ndarray  # (2 n_edges,)
    edge_of: np.ndarray  # (2 n_edges,)
    log_v: np.ndarray  # (n_nodes + 2,), by number of blocks
    log_size: np.ndarray  # (n_nodes + 1,), by size of a block
    beta: np.ndarray  # (2, 2), constants of the Beta priors between blocks, and within one
    labels: np.ndarray  # (n_nodes,), of the present blocks, from 0 in the order of their first nodes


class NoBlocks(NamedTuple):
    """What stands for a prior without blocks, for which code that draws them is not compiled."""

    labels: np.ndarray = np.empty(0, np.int64)


def block_prior(prior: Blocks, graph: Graph) -> BlockPrior:
    """Return the constants, with all nodes in one block."""
    edges, starts, neighbours, edge_of = (np.asarray(a, dtype=np.int64) for a in graph.rows)
    beta = np.array([[p.a, p.b] for p in (prior.between, prior.within)], dtype=float)
    labels = np.zeros(graph.n_nodes, np.int64)
    return BlockPrior(edges, starts, neighbours, edge_of, *prior.log_weights(graph.n_nodes), beta, labels)


@strict_leaf
def draw_blocks(rng, blocks, has, log_odds):
    """Redraw the blocks and their probabilities given which candidates exist; return the mean probability of these.

    ``blocks.labels`` and ``log_odds`` (n_edges,) are changed in place.
    """
    z, n = blocks.labels, len(blocks.labels)
    for _ in range(_N_SPLITS if n > 2 else 0):
        _split_or_merge(rng, blocks, has)
    present, pairs, sizes = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n, np.int64)
    _count_all(blocks, has, z, present, pairs, sizes)
    own, n_own = np.empty(n), np.empty(n)
    for i in range(n):
        _redraw(rng, blocks, has, i, present, pairs, sizes, own, n_own)
    _relabel(z)
    return _draw_probabilities(rng, blocks, has, log_odds)


@strict_leaf
def _count(present, pairs, r, s, n_present, n_pairs):
    """Add edges and candidates between two blocks."""
    present[r, s] += n_present
    pairs[r, s] += n_pairs
    if r != s:
        present[s, r] += n_present
        pairs[s, r] += n_pairs


@strict_leaf
def _count_all(blocks, has, z, present, pairs, sizes):
    """Count nodes, edges and candidates of blocks ``z``, which are -1 for nodes that are left out."""
    for i in range(len(z)):
        if z[i] >= 0:
            sizes[z[i]] += 1
    for e in range(len(has)):
        r, s = z[blocks.edges[e, 0]], z[blocks.edges[e, 1]]
        if r >= 0 and s >= 0:
            _count(present, pairs, r, s, 1.0 * has[e], 1.0)


@strict_leaf
def _count_own(blocks, has, z, i, n, own, n_own):
    """Count edges and candidates of node i to each of n blocks."""
    own[:n] = 0.0
    n_own[:n] = 0.0
    for k in range(blocks.starts[i], blocks.starts[i + 1]):
        s = z[blocks.neighbours[k]]
        if s >= 0:
            n_own[s] += 1
            own[s] += has[blocks.edge_of[k]]


@strict_leaf
def _move(present, pairs, sizes, c, n, own, n_own, sign):
    """Put a node into block c (sign 1), or take it out (-1)."""
    sizes[c] += int(sign)
    for s in range(n):
        if n_own[s] > 0:
            _count(present, pairs, c, s, sign * own[s], sign * n_own[s])


@strict_leaf
def _log_beta(beta, n_present, n_pairs):
    """Return log B(a + m, b + n - m), less that without edges."""
    a, b = beta[0], beta[1]
    more = lgamma(a + n_present) + lgamma(b + n_pairs - n_present) - lgamma(a + b + n_pairs)
    return more - lgamma(a) - lgamma(b) + lgamma(a + b)


@strict_leaf
def _gain(blocks, present, pairs, sizes, c, n, own, n_own):
    """Return the log weight of a node in block c: of its size, and of the edges of the node."""
    gain = blocks.log_size[sizes[c] + 1] - blocks.log_size[sizes[c]]
    for s in range(n):
        if n_own[s] > 0:
            beta = blocks.beta[int(s == c)]
            gain += _log_beta(beta, present[c, s] + own[s], pairs[c, s] + n_own[s])
            gain -= _log_beta(beta, present[c, s], pairs[c, s])
    return gain


@strict_leaf
def _redraw(rng, blocks, has, i, present, pairs, sizes, own, n_own):
    """Redraw the block of node i given those of the others; ``own`` and ``n_own`` are room."""
    z = blocks.labels
    n = min(z.max() + 2, len(z))  # places of blocks, of which one is empty when the node has left its block
    _count_own(blocks, has, z, i, n, own, n_own)
    _move(present, pairs, sizes, z[i], n, own, n_own, -1.0)
    n_blocks, free = 0, -1
    for c in range(n):
        n_blocks += sizes[c] > 0
        if sizes[c] == 0 and free < 0:
            free = c
    log_p = np.full(n, -np.inf)
    for c in range(n):
        if sizes[c] > 0 or c == free:
            gain = _gain(blocks, present, pairs, sizes, c, n, own, n_own)
            log_p[c] = blocks.log_v[n_blocks + (c == free)] + gain
    weights = np.exp(log_p - log_p.max())
    u, new = rng.random() * weights.sum(), -1
    for c in range(n):
        if weights[c] > 0:
            new = c
            u -= weights[c]
            if u < 0:
                break
    z[i] = new
    _move(present, pairs, sizes, new, n, own, n_own, 1.0)


@strict_leaf
def _log_target(blocks, has, z):
    """Return the log probability of blocks and edges."""
    k = z.max() + 1
    present, pairs, sizes, n_blocks, total = np.zeros((k, k)), np.zeros((k, k)), np.zeros(k, np.int64), 0, 0.0
    _count_all(blocks, has, z, present, pairs, sizes)
    for r in range(k):
        n_blocks += sizes[r] > 0
        total += blocks.log_size[sizes[r]]
        for s in range(r, k):
            total += _log_beta(blocks.beta[int(r == s)], present[r, s], pairs[r, s])
    return total + blocks.log_v[n_blocks]


@strict_leaf
def _split_or_merge(rng, blocks, has):
    """Propose to divide the block of two nodes, or to join those of both (Dahl 2003, sequential allocation).

    The other nodes of the block are placed one after the other, in a random order, next to one of the two, by their
    edges to nodes that have a place. A merge has the probability with which that order would have made the two blocks.
    """
    z, n = blocks.labels, len(blocks.labels)
    i, j = int(rng.random() * n), int(rng.random() * (n - 1))
    j += j >= i
    is_split = z[i] == z[j]
    members = np.flatnonzero((z == z[i]) | (z == z[j]))
    for m in range(len(members) - 1, 0, -1):
        other = int(rng.random() * (m + 1))
        members[m], members[other] = members[other], members[m]
    _relabel(z)
    first, second = z[i], z.max() + 1 if is_split else z[j]
    k, w = z.max() + 1 + int(is_split), z.copy()
    w[members] = -1
    w[i], w[j] = first, second
    present, pairs, sizes, own, n_own = (
        np.zeros((k, k)),
        np.zeros((k, k)),
        np.zeros(k, np.int64),
        np.empty(k),
        np.empty(k),
    )
    _count_all(blocks, has, w, present, pairs, sizes)
    log_proposal = 0.0
    for node in members:
        if node in (i, j):
            continue
        _count_own(blocks, has, w, node, k, own, n_own)
        log_ratio = _gain(blocks, present, pairs, sizes, second, k, own, n_own)
        log_ratio -= _gain(blocks, present, pairs, sizes, first, k, own, n_own)
        to_second = z[node] == second
        if is_split:
            to_second = rng.random() * (1 + exp(-log_ratio)) < 1
        log_proposal -= log1p(exp(-log_ratio if to_second else log_ratio))
        w[node] = second if to_second else first
        _move(present, pairs, sizes, w[node], k, own, n_own, 1.0)
    if is_split:
        ratio = _log_target(blocks, has, w) - _log_target(blocks, has, z) - log_proposal
    else:
        w[members] = first
        ratio = _log_target(blocks, has, w) - _log_target(blocks, has, z) + log_proposal
    if log1p(-rng.random()) < ratio:
        z[:] = w
        _relabel(z)


@strict_leaf
def _relabel(z):
    """Number blocks in the order of their first nodes."""
    known, n_known = np.full(len(z), -1), 0
    for i in range(len(z)):
        if known[z[i]] < 0:
            known[z[i]] = n_known
            n_known += 1
        z[i] = known[z[i]]


@strict_leaf
def _draw_probabilities(rng, blocks, has, log_odds):
    """Draw the probability of each pair of blocks given its edges; set the log odds of edges, and return their mean."""
    z, k, mean = blocks.labels, blocks.labels.max() + 1, 0.0
    present, pairs, q = np.zeros((k, k)), np.zeros((k, k)), np.empty((k, k))
    _count_all(blocks, has, z, present, pairs, np.zeros(k, np.int64))
    for r in range(k):
        for s in range(r, k):
            a, b = blocks.beta[int(r == s)]
            drawn = rng.beta(a + present[r, s], b + pairs[r, s] - present[r, s])
            q[r, s] = q[s, r] = min(max(drawn, _LEAST), _MOST)
    for e in range(len(has)):
        p = q[z[blocks.edges[e, 0]], z[blocks.edges[e, 1]]]
        log_odds[e] = log(p) - log1p(-p)
        mean += p / len(has)
    return mean
