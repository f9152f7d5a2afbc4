"""Weights of all states of a small pairwise model in a table: exact pair marginals, and updates.

The state of node i is digit i of the index of a state, to base m. Sums of indices of large tables are unsigned: an
index that might be negative, and count from the end, would prevent vector instructions.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np
from numba import uint64

from ...compiled import leaf, strict_leaf
from ...compiled.lanes import MOST, exp_rest, power_bits
from .centred import feature_of, node_field


@strict_leaf
def n_states(m, n_nodes):
    """Return m^n, which numba would compile as a power in each leaf."""
    n = 1
    for _ in range(n_nodes):
        n *= m
    return n


@strict_leaf
def fill_table(lines, theta):
    """Fill the weights of all states at theta, relative to the largest; return the log of the largest."""
    n_nodes, m = lines.base.shape
    coupling = np.zeros((n_nodes, n_nodes, m, m))
    for e in range(len(lines.edges)):
        i, j = lines.edges[e, 0], lines.edges[e, 1]
        f = feature_of(lines, e, max(i, j))
        for x in range(m):
            for y in range(m):
                coupling[max(i, j), min(i, j), x, y] += theta[e] * f[x, y]
    table, local = np.zeros(n_states(m, n_nodes)), np.empty(n_states(m, n_nodes - 1))
    size = 1
    for i in range(n_nodes):
        for x in range(m - 1, -1, -1):
            local[0], block = node_field(lines, theta, i, x), 1
            for j in range(i):
                for y in range(m - 1, -1, -1):
                    gain = coupling[i, j, x, y]
                    for s in range(block):
                        local[uint64(y * block + s)] = local[s] + gain
                block *= m
            for s in range(size):
                table[uint64(x * size + s)] = table[s] + local[s]
        size *= m
    return table, _exp_all(table)


@leaf
def _exp_all(table):
    """Replace logs of weights by the weights relative to the largest; return the log of the largest."""
    top, power = table[0], np.empty(len(table))
    for s in range(len(table)):
        top = max(top, table[s])
    bits = power.view(np.int64)
    for s in range(len(table)):
        table[s] = min(top - table[s], MOST)
        bits[s] = power_bits(table[s])
    for s in range(len(table)):
        table[s] = exp_rest(table[s]) * power[s]
    return top


class BlockOrder(NamedTuple):
    """Pairs of at most four blocks of nodes, and the edges and nodes that a scan visits with each, all once.

    Those of the k-th pair are ``edges[edge_starts[k]:edge_starts[k + 1]]`` and
    ``nodes[node_starts[k]:node_starts[k + 1]]``.
    """

    blocks: np.ndarray  # (n_pairs, 4), first node of a block and the one after its last, and these of another block
    edges: np.ndarray  # (n_edges, 5), the places u < v of the ends in the table of the two blocks, the ends, the edge
    edge_starts: np.ndarray  # (n_pairs + 1,)
    nodes: np.ndarray  # (n_nodes, 2), place in the table, and node
    node_starts: np.ndarray  # (n_pairs + 1,)


def block_order(edges: np.ndarray, n_nodes: int) -> BlockOrder:
    """Return the order in which a scan visits a graph."""
    n_blocks = min(4, n_nodes)
    bounds = np.arange(n_blocks + 1) * n_nodes // max(n_blocks, 1)
    block_of = np.repeat(np.arange(n_blocks), np.diff(bounds))
    i, j = np.sort(edges, axis=1).T.astype(np.int64)
    pairs = [(b, c) for b in range(n_blocks) for c in range(b + 1, n_blocks)]
    edge_rows, node_rows = [np.empty((0, 5), np.int64)], [np.empty((0, 2), np.int64)]
    for b, c in pairs:
        inside = [x for x, is_visited in ((b, c == b + 1), (c, b == n_blocks - 2)) if is_visited]
        place = np.arange(n_nodes) - bounds[b]
        place[bounds[c] :] += bounds[b + 1] - bounds[c]
        of_i, of_j = block_of[i], block_of[j]
        e = np.flatnonzero(((of_i == b) & (of_j == c)) | ((of_i == of_j) & np.isin(of_i, inside)))
        e = e[np.lexsort((i[e], j[e]))]
        edge_rows.append(np.stack([place[i[e]], place[j[e]], i[e], j[e], e], axis=1))
        nodes = np.flatnonzero(np.isin(block_of, inside))
        node_rows.append(np.stack([place[nodes], nodes], axis=1))
    blocks = np.array([(*bounds[b : b + 2], *bounds[c : c + 2]) for b, c in pairs], np.int64).reshape(-1, 4)
    edge_starts, node_starts = (np.cumsum([len(x) for x in rows]) for rows in (edge_rows, node_rows))
    return BlockOrder(blocks, np.concatenate(edge_rows), edge_starts, np.concatenate(node_rows), node_starts)


@leaf
def sum_out(table, m, block):
    """Return the weights of the states of two blocks of nodes, summed over all other nodes."""
    b0, b1, c0, c1 = block[0], block[1], block[2], block[3]
    small = np.zeros(n_states(m, b1 - b0 + c1 - c0))
    low_b, high_b, low_c, high_c = n_states(m, b0), n_states(m, b1), n_states(m, c0), n_states(m, c1)
    n_b, n_c = n_states(m, b1 - b0), n_states(m, c1 - c0)
    for high in range(0, len(table), high_c):
        for y in range(n_c):
            out, start = y * n_b, high + y * low_c
            for middle in range(start, start + low_c, high_b):
                if b0 == 0:
                    for x in range(n_b):
                        small[uint64(out + x)] += table[uint64(middle + x)]
                else:
                    for x in range(n_b):
                        total = 0.0
                        for k in range(middle + x * low_b, middle + (x + 1) * low_b):
                            total += table[uint64(k)]
                        small[uint64(out + x)] += total
    return small


@strict_leaf
def follow(table, m, block, small, old):
    """Let the weights follow those of two blocks, which were ``old`` and are ``small``; this is overwritten."""
    for x in range(len(small)):
        small[x] = small[x] / old[x] if old[x] > 0 else 1.0
    _scale(table, small, m, block[0], block[1], block[2], block[3])


@leaf
def _scale(table, factors, m, b0, b1, c0, c1):
    """Multiply the weights by a factor for each value of the digits b0..b1-1 and c0..c1-1."""
    low_b, high_b, low_c, high_c = n_states(m, b0), n_states(m, b1), n_states(m, c0), n_states(m, c1)
    n_b, n_c = n_states(m, b1 - b0), n_states(m, c1 - c0)
    for high in range(0, len(table), high_c):
        for y in range(n_c):
            out, start = y * n_b, high + y * low_c
            for middle in range(start, start + low_c, high_b):
                if b0 == 0:
                    for x in range(n_b):
                        table[uint64(middle + x)] *= factors[uint64(out + x)]
                else:
                    for x in range(n_b):
                        factor = factors[uint64(out + x)]
                        for k in range(middle + x * low_b, middle + (x + 1) * low_b):
                            table[uint64(k)] *= factor


@leaf
def pair_sums(table, m, u, v, cells):
    """Add the summed weights of the states of nodes u < v to ``cells`` (m^2,), first those with x_u = 0."""
    one_u, one_v = n_states(m, u), n_states(m, v)
    if m == 2:  # in one pass
        neither = only_u = only_v = both = 0.0
        for high in range(0, len(table), 2 * one_v):
            for middle in range(high, high + one_v, 2 * one_u):
                for k in range(middle, middle + one_u):
                    neither += table[k]
                    only_u += table[k + one_u]
                    only_v += table[k + one_v]
                    both += table[k + one_u + one_v]
        cells[0] += neither
        cells[1] += only_v
        cells[2] += only_u
        cells[3] += both
        return
    for x in range(m):
        for y in range(m):
            total = 0.0
            for high in range(x * one_u + y * one_v, len(table), m * one_v):
                for middle in range(high, high + one_v, m * one_u):
                    for k in range(middle, middle + one_u):
                        total += table[k]
            cells[x * m + y] += total


@leaf
def scale_pair(table, m, u, v, factors):
    """Multiply the weights by a factor (m^2,) for each of the states of nodes u < v."""
    one_u, one_v = n_states(m, u), n_states(m, v)
    if m == 2:  # in one pass
        neither, only_v, only_u, both = factors[0], factors[1], factors[2], factors[3]
        for high in range(0, len(table), 2 * one_v):
            for middle in range(high, high + one_v, 2 * one_u):
                for k in range(middle, middle + one_u):
                    table[k] *= neither
                    table[k + one_u] *= only_u
                    table[k + one_v] *= only_v
                    table[k + one_u + one_v] *= both
        return
    for x in range(m):
        for y in range(m):
            factor = factors[x * m + y]
            for high in range(x * one_u + y * one_v, len(table), m * one_v):
                for middle in range(high, high + one_v, m * one_u):
                    for k in range(middle, middle + one_u):
                        table[k] *= factor


@leaf
def node_sum(table, m, i, x):
    """Sum the weights of the states with x_i = x."""
    one, total = n_states(m, i), 0.0
    for high in range(x * one, len(table), m * one):
        for k in range(high, high + one):
            total += table[k]
    return total


@leaf
def scale_node(table, m, i, x, factor):
    """Multiply the weights of the states with x_i = x."""
    one = n_states(m, i)
    for high in range(x * one, len(table), m * one):
        for k in range(high, high + one):
            table[k] *= factor


@strict_leaf
def move_pair(table, m, u, v, g, change):
    """Let a table follow a change of the weight of its nodes u < v, whose feature has the values ``g`` (m^2,)."""
    factors = np.empty(m * m)
    for x in range(m * m):
        factors[x] = exp(change * g[x])
    scale_pair(table, m, u, v, factors)


@strict_leaf
def move_node(lines, table, u, k, change):
    """Let a table follow a change of parameter k of its node u; return the log of a factor of all weights."""
    f = lines.features[k - len(lines.edges)]
    for x in range(1, len(f)):
        if f[x] != f[0]:
            scale_node(table, len(f), u, x, exp(change * (f[x] - f[0])))
    return change * f[0]


@strict_leaf
def triple_sums(table, m, nodes, cells):
    """Sum the weights for the states of three nodes in increasing order: ``cells`` (m, m^2), the last node first."""
    one = n_states(m, nodes[2])
    cells[:] = 0.0
    for x in range(m):
        for first in range(x * one, len(table), m * one):
            pair_sums(table[first : first + one], m, nodes[0], nodes[1], cells[x])


@strict_leaf
def scale_triple(table, m, nodes, factors):
    """Multiply the weights by a factor for each of the states of three nodes, in the order of `triple_sums`."""
    one = n_states(m, nodes[2])
    for x in range(m):
        for first in range(x * one, len(table), m * one):
            scale_pair(table[first : first + one], m, nodes[0], nodes[1], factors[x])
