"""Weights of all states of a small pairwise model in a table: exact pair marginals, and updates.

The state of node i is digit i of the index of a state, to base m.
"""

from __future__ import annotations

from math import exp

import numpy as np

from ...compiled import leaf, strict_leaf
from ...lanes import MOST, exp_rest, power_bits
from .centred import node_field


@strict_leaf
def fill_table(lines, theta):
    """Fill the weights of all states at theta, relative to the largest; return the log of the largest."""
    r, (n_nodes, m) = len(lines.edges), lines.base.shape
    coupling = np.zeros((n_nodes, n_nodes))
    for e in range(r):
        i, j = lines.edges[e, 0], lines.edges[e, 1]
        coupling[max(i, j), min(i, j)] = theta[e]
    table, local = np.zeros(m**n_nodes), np.empty(m ** (n_nodes - 1))
    size = 1
    for i in range(n_nodes):
        for x in range(m - 1, -1, -1):
            local[0], block = node_field(lines, theta, i, x), 1
            for j in range(i):
                for y in range(m - 1, -1, -1):
                    gain = coupling[i, j] * lines.values[x, y]
                    for s in range(block):
                        local[y * block + s] = local[s] + gain
                block *= m
            for s in range(size):
                table[x * size + s] = table[s] + local[s]
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


@strict_leaf
def edge_numbers(edges, n_nodes):
    """Return the number of the edge between each two nodes, (n_nodes, n_nodes); -1 where there is none."""
    numbers = np.full((n_nodes, n_nodes), -1)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        numbers[i, j] = numbers[j, i] = e
    return numbers


@strict_leaf
def pairs_of_blocks(edge_of, members, n_first, first, last):
    """Return the places u < v in ``members`` of the ends of each edge, and the edge, (n_pairs, 3).

    They are the edges between the first ``n_first`` members and the others and, if ``first`` or ``last``, inside these.
    """
    found, k = np.empty((len(members) * len(members), 3), np.int64), 0
    for v in range(len(members)):
        for u in range(v):
            e = edge_of[members[u], members[v]]
            if e >= 0 and (v >= n_first or first) and (u < n_first or last):
                found[k, 0], found[k, 1], found[k, 2] = u, v, e
                k += 1
    return found[:k]


@leaf
def sum_out(table, small, m, b0, b1, c0, c1):
    """Sum the weights over all digits but b0..b1-1 and c0..c1-1, into ``small``."""
    low_b, high_b, low_c, high_c = m**b0, m**b1, m**c0, m**c1
    n_b, n_c = m ** (b1 - b0), m ** (c1 - c0)
    for high in range(0, len(table), high_c):
        for y in range(n_c):
            out, start = y * n_b, high + y * low_c
            for middle in range(start, start + low_c, high_b):
                if b0 == 0:
                    for x in range(n_b):
                        small[out + x] += table[middle + x]
                else:
                    for x in range(n_b):
                        total = 0.0
                        for k in range(middle + x * low_b, middle + (x + 1) * low_b):
                            total += table[k]
                        small[out + x] += total


@leaf
def scale(table, factors, m, b0, b1, c0, c1):
    """Multiply the weights by a factor for each value of the digits b0..b1-1 and c0..c1-1."""
    low_b, high_b, low_c, high_c = m**b0, m**b1, m**c0, m**c1
    n_b, n_c = m ** (b1 - b0), m ** (c1 - c0)
    for high in range(0, len(table), high_c):
        for y in range(n_c):
            out, start = y * n_b, high + y * low_c
            for middle in range(start, start + low_c, high_b):
                if b0 == 0:
                    for x in range(n_b):
                        table[middle + x] *= factors[out + x]
                else:
                    for x in range(n_b):
                        factor = factors[out + x]
                        for k in range(middle + x * low_b, middle + (x + 1) * low_b):
                            table[k] *= factor


@leaf
def pair_sums(table, m, u, v, cells):
    """Add the summed weights of the states of nodes u < v to ``cells`` (m^2,), first those with x_u = 0."""
    one_u, one_v = m**u, m**v
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
    one_u, one_v = m**u, m**v
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
    one, total = m**i, 0.0
    for high in range(x * one, len(table), m * one):
        for k in range(high, high + one):
            total += table[k]
    return total


@leaf
def scale_node(table, m, i, x, factor):
    """Multiply the weights of the states with x_i = x."""
    one = m**i
    for high in range(x * one, len(table), m * one):
        for k in range(high, high + one):
            table[k] *= factor


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
    one = m ** nodes[2]
    cells[:] = 0.0
    for x in range(m):
        for first in range(x * one, len(table), m * one):
            pair_sums(table[first : first + one], m, nodes[0], nodes[1], cells[x])


@strict_leaf
def scale_triple(table, m, nodes, factors):
    """Multiply the weights by a factor for each of the states of three nodes, in the order of `triple_sums`."""
    one = m ** nodes[2]
    for x in range(m):
        for first in range(x * one, len(table), m * one):
            scale_pair(table[first : first + one], m, nodes[0], nodes[1], factors[x])
