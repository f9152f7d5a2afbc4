"""Counts of the states of the ends of edges over chains: bits of 64 chains at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import uint64

from ..compiled import leaf
from ..compiled.lanes import popcount
from .gibbs import Chains, check_room


def pair_shares(chains: Chains, n_chains: int, edges: np.ndarray, states: Sequence[int]) -> np.ndarray:
    """Return the shares of the first ``n_chains`` chains in the states 00, 01, ... of the ends of each edge.

    Parameters
    ----------
    chains : Chains
    n_chains : int
    edges : (n_edges, 2) int array
    states : sequence of int
        Those of a node: 0, 1, ... of a categorical model, else -1 and +1.

    Returns
    -------
    (n_edges, n_states^2) array
    """
    check_room(chains, n_chains)
    n_nodes, n_states = chains.states.shape[1], len(states)
    words = np.empty((n_nodes, n_states, -(-n_chains // 64)), np.uint64)
    nodes, pairs = np.empty((n_nodes, n_states), np.int64), np.empty((len(edges), n_states, n_states), np.int64)
    _fill_words(chains.states, n_chains, np.array(states, np.int8), words)
    _count_words(words, nodes)
    _count_pairs(np.ascontiguousarray(edges), words, nodes, pairs)
    return pairs.reshape(len(edges), -1) / n_chains


@leaf
def _fill_words(states, n_chains, values, words):
    """Set bits of chains, (n_nodes, n_states, n_blocks), to whether a node is in a state."""
    n_nodes, n_states, n_blocks = words.shape
    for b in range(n_blocks):
        n_lanes = min(64, n_chains - 64 * b)
        for i in range(n_nodes):
            row = states[b, i]
            for k in range(n_states):
                state, word = values[k], uint64(0)
                for lane in range(n_lanes):
                    word |= uint64(row[lane] == state) << uint64(lane)
                words[i, k, b] = word


@leaf
def _number(words):
    """Count the bits of words."""
    total = uint64(0)
    for b in range(len(words)):
        total += popcount(words[b])
    return int(total)


@leaf
def _count_words(words, nodes):
    for i in range(nodes.shape[0]):
        for k in range(nodes.shape[1]):
            nodes[i, k] = _number(words[i, k])


@leaf
def _both(one, two):
    """Count the bits that are in both."""
    total = uint64(0)
    for b in range(len(one)):
        total += popcount(one[b] & two[b])
    return int(total)


@leaf
def _count_pairs(edges, words, nodes, pairs):
    """Set the numbers of chains in each pair of states: what is not counted follows from those of the nodes."""
    m = nodes.shape[1]
    for e in range(len(edges)):
        u, v = edges[e]
        for k in range(1, m):
            for j in range(1, m):
                pairs[e, k, j] = _both(words[u, k], words[v, j])
        for j in range(1, m):
            pairs[e, 0, j] = nodes[v, j] - pairs[e, 1:, j].sum()
        for k in range(m):
            pairs[e, k, 0] = nodes[u, k] - pairs[e, k, 1:].sum()
