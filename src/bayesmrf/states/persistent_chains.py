"""Persistent chains of x on a graph with changing edges, as part of the State of kernels.

Blocks of 128 chains are contiguous in memory, one byte for each node during sweeps, one bit otherwise: the states of a
node are a row of 64-bit words, so that the chains in which two nodes are both 1 are counted by popcount. In the row of
a node the present neighbours come first, so that a sweep visits no others. Memory is O(candidate edges + chains x
nodes).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float32, int8, uint64

from ..compiled import leaf
from ..compiled.lanes import HALF, popcount, symmetric_uniform, tanh_ratio
from ..graphs import Graph
from ..rng import lane_generators, next_uint32
from ..samplers.resampling import systematic

LANES = 128
_PACK = np.uint64(0x0102040810204080)  # multiplication by it gathers the lowest bits of eight bytes in the top one


class EdgeChains(NamedTuple):
    """Packed chains: chain c is bit c % 64 of word c // 64; chains beyond ``n_chains`` are not counted."""

    words: np.ndarray  # (n_nodes, n_words) uint64
    lanes: np.ndarray  # (n_blocks, 4, LANES) uint32, one xoshiro128++ generator for each chain


class EdgeRows(NamedTuple):
    """Candidate edges as compressed rows in which the present neighbours come first."""

    edges: np.ndarray  # (n_candidates, 2) int32
    starts: np.ndarray  # (n_nodes + 1,) int64
    neighbours: np.ndarray  # (2 n_candidates,) int32
    edge_of: np.ndarray  # (2 n_candidates,) int32
    degree: np.ndarray  # (n_nodes,) int64, present neighbours
    slot: np.ndarray  # (n_candidates, 2) int64, position of the edge in the rows of its two ends
    present: np.ndarray  # (n_candidates,) int32, the present edges first
    place: np.ndarray  # (n_candidates,) int64, position of an edge in ``present``; -1 if it is absent
    n_present: np.ndarray  # (1,) int64, number of present edges


class EdgeBlocks(NamedTuple):
    """Chains unpacked for sweeps."""

    states: np.ndarray  # (n_blocks, n_nodes, LANES) int8 in {0, 1}
    lanes: np.ndarray
    words: np.ndarray
    ones: np.ndarray  # (n_nodes,) int64, chains in which a node is 1
    n_chains: int


def start_chains(n_chains: int, n_nodes: int, rng: np.random.Generator) -> EdgeChains:
    """Start chains at uniform random states."""
    n_blocks = -(-n_chains // LANES)
    words = rng.integers(0, 2**64, size=(n_nodes, n_blocks * LANES // 64), dtype=np.uint64)
    return EdgeChains(words, lane_generators(rng, n_blocks, LANES))


def start_rows(graph: Graph, included: np.ndarray) -> EdgeRows:
    """Return the rows in which the included edges are present, in their order."""
    a, r = graph.adjacency, graph.n_edges
    rows = EdgeRows(
        graph.edges, a.starts, a.neighbours.copy(), a.edge_of.copy(), np.zeros(graph.n_nodes, np.int64),
        np.empty((r, 2), np.int64), np.empty(r, np.int32), np.full(r, -1), np.zeros(1, np.int64),
    )  # fmt: skip
    _start_rows(rows, included)
    return rows


def unpack(chains: EdgeChains, n_chains: int) -> EdgeBlocks:
    """Return a working copy of the chains."""
    n_nodes = len(chains.words)
    bits = np.unpackbits(chains.words.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    states = np.ascontiguousarray(bits.reshape(n_nodes, -1, LANES).transpose(1, 0, 2)).view(np.int8)
    return EdgeBlocks(states, chains.lanes.copy(), chains.words.copy(), np.zeros(n_nodes, np.int64), n_chains)


@leaf
def _start_rows(rows, included):
    for i in range(len(rows.starts) - 1):
        for k in range(rows.starts[i], rows.starts[i + 1]):
            e = rows.edge_of[k]
            rows.slot[e, 0 if rows.edges[e, 0] == i else 1] = k
    for e in range(len(included)):
        if included[e]:
            add_edge(rows, e)


@leaf
def _swap(rows, k, m):
    """Exchange two entries of a node's row."""
    for place in (k, m):
        other = m if place == k else k
        e = rows.edge_of[place]
        rows.slot[e, 0 if rows.slot[e, 0] == place else 1] = other
    rows.neighbours[k], rows.neighbours[m] = rows.neighbours[m], rows.neighbours[k]
    rows.edge_of[k], rows.edge_of[m] = rows.edge_of[m], rows.edge_of[k]


@leaf
def add_edge(rows, e):
    """Add an absent edge, as the last of ``present``."""
    for end in range(2):
        i = rows.edges[e, end]
        first_absent = rows.starts[i] + rows.degree[i]
        if rows.slot[e, end] != first_absent:
            _swap(rows, rows.slot[e, end], first_absent)
        rows.degree[i] += 1
    rows.place[e] = rows.n_present[0]
    rows.present[rows.n_present[0]] = e
    rows.n_present[0] += 1


@leaf
def remove_edge(rows, e):
    """Remove a present edge; the last of ``present`` moves to its position."""
    for end in range(2):
        i = rows.edges[e, end]
        rows.degree[i] -= 1
        last_present = rows.starts[i] + rows.degree[i]
        if rows.slot[e, end] != last_present:
            _swap(rows, rows.slot[e, end], last_present)
    rows.n_present[0] -= 1
    last = rows.present[rows.n_present[0]]
    rows.present[rows.place[e]] = last
    rows.place[last] = rows.place[e]
    rows.place[e] = -1


@leaf
def sweep(blocks, rows, theta):
    """Scan all chains once at theta (weights of the candidates, then biases), and update their words."""
    n_blocks, n_nodes, n_lanes = blocks.states.shape
    n_lanes = n_lanes >> 6 << 6  # a multiple of 64 for the compiler; a constant would be unrolled
    r = len(rows.edges)
    h = np.empty(n_lanes, np.float32)
    for i in range(n_nodes):
        blocks.ones[i] = 0
    for b in range(n_blocks):
        x, generators = blocks.states[b], blocks.lanes[b]
        for i in range(n_nodes):
            bias = HALF * float32(theta[r + i])  # P(x_i = 1) = (1 + tanh(h / 2)) / 2
            for lane in range(n_lanes):
                h[lane] = bias
            stop = rows.starts[i] + rows.degree[i]
            for k in range(rows.starts[i], stop, 2):
                j, w = rows.neighbours[k], HALF * float32(theta[rows.edge_of[k]])
                j2, w2 = j, float32(0)
                if k + 1 < stop:
                    j2, w2 = rows.neighbours[k + 1], HALF * float32(theta[rows.edge_of[k + 1]])
                for lane in range(n_lanes):
                    h[lane] += w * float32(x[j, lane]) + w2 * float32(x[j2, lane])
            for lane in range(n_lanes):
                p, q = tanh_ratio(h[lane])
                x[i, lane] = int8(symmetric_uniform(next_uint32(generators, lane)) * q < p)
            _pack(blocks, b, i)


@leaf
def _pack(blocks, b, i):
    """Pack the bytes of node i in block b into words, and add their ones to ``ones``."""
    eight, per_block = blocks.states[b, i].view(np.uint64), blocks.states.shape[2] >> 6
    for k in range(per_block):
        word = uint64(0)
        for byte in range(8):
            word |= ((eight[8 * k + byte] * _PACK) >> uint64(56)) << uint64(8 * byte)
        counted = blocks.n_chains - 64 * (b * per_block + k)
        if counted < 64:
            word &= (uint64(1) << uint64(counted)) - uint64(1) if counted > 0 else uint64(0)
        blocks.words[i, b * per_block + k] = word
        blocks.ones[i] += int(popcount(word))


@leaf
def count_both(words, i, j):
    """Count the chains in which two nodes are both 1, or, if the two are the same, in which it is 1."""
    total = uint64(0)
    for k in range(words.shape[1]):
        total += popcount(words[i, k] & words[j, k])
    return int(total)


@leaf
def resample(rng, blocks, nodes, weights, first, last):
    """Resample chains first..last-1 systematically by weights of the states 00, 01, 10 and 11 of two nodes, or of more.

    The weights are the ratio of the densities at two values of theta, which depends on ``nodes`` alone if only edges
    between them and their biases have changed. Chains that are not drawn become copies of those drawn twice.
    """
    n_lanes, each, c = blocks.states.shape[2], np.empty(last - first), 0
    of_state = np.empty(len(weights))  # an entry of a tuple would be chosen by branches, for each chain
    for state in range(len(weights)):
        of_state[state] = weights[state]
    for b in range(first // n_lanes, (last - 1) // n_lanes + 1):
        x = blocks.states[b]
        for lane in range(max(0, first - b * n_lanes), min(n_lanes, last - b * n_lanes)):
            state = 0
            for i in nodes:
                state = 2 * state + x[i, lane]
            each[c] = of_state[state]
            c += 1
    spare, dead = systematic(rng, each)
    for k in range(len(dead)):
        source, target = first + spare[k], first + dead[k]
        b, lane, b2, lane2 = source // n_lanes, source % n_lanes, target // n_lanes, target % n_lanes
        word, bit = target >> 6, uint64(1) << uint64(target & 63)
        for node in range(blocks.states.shape[1]):
            new, change = blocks.states[b, node, lane], blocks.states[b, node, lane] ^ blocks.states[b2, node, lane2]
            blocks.states[b2, node, lane2] = new
            blocks.words[node, word] ^= bit * uint64(change)  # without a branch, which would be mispredicted
            blocks.ones[node] += 2 * new * change - change
