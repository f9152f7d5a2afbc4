r"""Particles of m states a node that follow theta edge by edge: categories of an edge, and redraws of its two ends.

The counterpart of `bayesmrf.states.refresh` for m states. Let A_k and B_l be the weights of the states of the two
ends of an edge given the rest of a particle, without the edge. Given all other nodes,

.. math:: P(x_u = k, x_v = l) \propto A_k B_l \, e^{W(k, l)},

summed over the pairs of states in a category (`bayesmrf.models.symmetric`; agreement is the one category of the Potts
model, and those of the ordinal model are the values of a product of scores) and averaged over the particles this is an
estimate of the category's probability. Both ends are redrawn jointly, under a new W, before the next edge is visited.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float32

from ..compiled import copy_to, leaf, strict_leaf
from ..compiled.lanes import exp_rows_f
from ..graphs import Graph
from ..models.bases import edge_starts, has_lines
from ..models.categorical import NEVER
from ..rng import lane_generators
from ..samplers.resampling import copy_columns, systematic
from .importance import LEAST, relative_moments
from .memory import TILE


class TableGraph(NamedTuple):
    """The graph's compressed rows (see `bayesmrf.graphs.Adjacency`), and the category of each pair of states."""

    edges: np.ndarray  # (n_edges, 2) int32
    starts: np.ndarray  # (n_nodes + 1,) int64
    neighbours: np.ndarray  # (2 n_edges,) int32
    edge_of: np.ndarray  # (2 n_edges,) int32
    category: np.ndarray  # (m, m) int64
    rivals: np.ndarray  # (n_edges, k) int32, edges with which each may be swapped; -1 for none
    by_score: bool  # whether W(k, l) = w k l


class TableParticles(NamedTuple):
    """Packed particles, between steps."""

    x: np.ndarray  # (n_nodes, n_particles) int8 in {0, ..., m - 1}
    lanes: np.ndarray  # (n_particles / 64, 4, 64) uint32, one xoshiro128++ generator for each particle


class UnpackedTableParticles(NamedTuple):
    """Unpacked particles and their theta."""

    x: np.ndarray
    lanes: np.ndarray
    potentials: np.ndarray  # (n_edges, p)
    field: np.ndarray  # (n_nodes, m)
    at_u: np.ndarray  # (m, n_particles) float32, weights of the states of the ends of the current edge
    at_v: np.ndarray
    weights: np.ndarray  # (n_particles,) float32, of the particles in all means; of mean 1


def table_graph(model: Any, rivals: np.ndarray | None = None) -> TableGraph:
    """Return the rows of the model's graph."""
    graph: Graph = model.graph
    rivals = np.empty((graph.n_edges, 0), np.int32) if rivals is None else rivals
    by_score = model.is_product and np.array_equal(model.score, np.arange(model.n_states))
    return TableGraph(*graph.rows, model.category, rivals, by_score)


def start_particles(n_particles: int, n_nodes: int, n_states: int, rng: np.random.Generator) -> TableParticles:
    """Start particles at uniform random states, their number rounded up to a multiple of 64."""
    n_words = -(-n_particles // 64)
    x = rng.integers(0, n_states, size=(n_nodes, 64 * n_words), dtype=np.int8)
    return TableParticles(x, lane_generators(rng, n_words, 64))


def unpack(particles: TableParticles, potentials: np.ndarray, field: np.ndarray) -> UnpackedTableParticles:
    """Return a working copy of the particles."""
    m = particles.x.shape[1]
    at_u, at_v = np.empty((2, field.shape[1], m), np.float32)
    copies = particles.x.copy(), particles.lanes.copy(), potentials.copy(), field.copy()
    return UnpackedTableParticles(*copies, at_u, at_v, np.ones(m, np.float32))


def potentials_of(model: Any, theta: np.ndarray) -> np.ndarray:
    """Return the log potentials of each edge at theta, (n_edges, n), as chains keep them."""
    starts = edge_starts(model)
    return np.add.reduceat(theta[: starts[-1], None] * gains_of(model), starts[:-1])


def gains_of(model: Any) -> np.ndarray:
    """Return the log potentials of each parameter of an edge, (r, n), or of all, (1, n), as chains keep them."""
    return model.gains[None] if has_lines(model) else model.edge_features.reshape(len(model.edge_features), -1)


@strict_leaf
def log_potential(graph, unpacked, e, i, k, y):
    """Return W of edge e where its end i is in state k, and the other in y."""
    j = graph.category[k, y] if graph.edges[e, 0] == i else graph.category[y, k]
    return unpacked.potentials[e, j - 1] if j > 0 else 0.0


@leaf
def weigh(graph, unpacked, i, without, also, first, last, out):
    """Compute the weights of the states of node i given its neighbours except across two edges; largest 1.

    States that the node does not have get exactly 0, so that no move of an edge can make them probable.
    """
    m, size = len(graph.category), (last - first) >> 6 << 6
    for k in range(m):
        row, own = out[k, first:last], float32(unpacked.field[i, k])
        for lane in range(size):
            row[lane] = own
    top, scale = np.zeros(size, np.float32), np.empty(size, np.float32)
    for a in range(graph.starts[i], graph.starts[i + 1]):
        e = graph.edge_of[a]
        if e in (without, also):
            continue
        other = unpacked.x[graph.neighbours[a], first:last]
        if graph.by_score:  # the sum of w y over the neighbours is the same for all states of the node
            w = float32(unpacked.potentials[e, 0])
            if w != 0:
                for lane in range(size):
                    top[lane] += w * float32(other[lane])
            continue
        for lane in range(size):
            scale[lane] = float32(other[lane])  # of the width of the weights, which vectorises
        for k in range(m):
            row = out[k, first:last]
            for y in range(m):
                w, state = float32(log_potential(graph, unpacked, e, i, k, y)), float32(y)
                if w != 0:
                    for lane in range(size):
                        row[lane] += w if scale[lane] == state else float32(0)
    if graph.by_score:
        for k in range(1, m):
            row = out[k, first:last]
            for lane in range(size):
                row[lane] += float32(k) * top[lane]
    exp_rows_f(out, first, last, top, scale)
    for k in range(m):
        if unpacked.field[i, k] <= NEVER:
            out[k, first:last] = float32(0)


@leaf
def edge_table(graph, unpacked, i):
    """Compute exp(W) of the edge for each pair of states, relative to the largest, as `relative_weights`."""
    m = len(graph.category)
    table = np.zeros((m, m))
    for k in range(m):
        for y in range(m):
            table[k, y] = log_potential(graph, unpacked, i, graph.edges[i, 0], k, y)
    return relative_weights(unpacked, graph.edges[i, 0], graph.edges[i, 1], table)


@leaf
def relative_weights(unpacked, u, v, logs):
    """Return exp(``logs``) (m, m), relative to the largest in states that nodes u and v have, and 1 at most in others.

    Others, with larger scores, may have logs far above all of these.
    """
    top = logs[0, 0]
    for k in range(len(logs)):
        for y in range(len(logs)):
            if unpacked.field[u, k] > NEVER and unpacked.field[v, y] > NEVER:
                top = max(top, logs[k, y])
    return np.exp(np.minimum(logs - top, 0.0)).astype(np.float32)


@leaf
def edge_categories(graph, unpacked, i):
    """Return the probabilities of categories 0 to p of edge i, and the share of their variance between particles.

    That share is the largest over the categories. One particle is added whose ends have no other neighbours (nor
    fields): a category without particles may have a small probability. The weights in ``at_u`` are divided as in
    `edge_cells`.
    """
    m, n_particles, p = len(graph.category), unpacked.x.shape[1], unpacked.potentials.shape[1]
    table = edge_table(graph, unpacked, i)
    total, square = np.zeros(p + 1), np.zeros(p + 1)
    each = np.empty((p + 2, min(n_particles, TILE)), np.float32)
    for first in range(0, n_particles, TILE):
        last = min(first + TILE, n_particles)
        size = (last - first) >> 6 << 6
        weigh(graph, unpacked, graph.edges[i, 0], i, -1, first, last, unpacked.at_u)
        weigh(graph, unpacked, graph.edges[i, 1], i, -1, first, last, unpacked.at_v)
        each[:] = float32(0)
        for k in range(m):
            a = unpacked.at_u[k, first:last]
            for y in range(m):
                b, w, row = unpacked.at_v[y, first:last], table[k, y], each[graph.category[k, y]]
                for lane in range(size):
                    row[lane] += w * a[lane] * b[lane]
        whole, weights = each[p + 1], unpacked.weights[first:last]
        for j in range(p + 1):
            row = each[j]
            for lane in range(size):
                whole[lane] += row[lane]
        for j in range(p + 1):
            row, s, s2 = each[j], float32(0), float32(0)
            for lane in range(size):
                q = row[lane] / whole[lane]
                s += weights[lane] * q
                s2 += weights[lane] * q * q
            total[j] += s
            square[j] += s2
        for k in range(m):
            a = unpacked.at_u[k, first:last]
            for lane in range(size):
                a[lane] *= weights[lane] / whole[lane]
    between, alone = 0.0, np.zeros(p + 1)
    for k in range(m):
        for y in range(m):
            alone[graph.category[k, y]] += table[k, y]
    alone /= alone.sum()
    for j in range(p + 1):
        mean = total[j] / n_particles
        variance = square[j] / n_particles - mean * mean
        between = max(between, variance / max(mean * (1 - mean), 1e-9))
        total[j] = (total[j] + alone[j]) / (n_particles + 1)
    return total, between


@leaf
def edge_cells(graph, unpacked, i, start, stop, cells):
    """Fill ``cells`` (m^2,) with the probabilities of the states 00, 01, ... of the ends of edge i.

    They are averaged over particles start..stop-1 (multiples of 64) given their other nodes; the weights in ``at_u``
    are divided by their sums over the states of both ends, and multiplied by those of the particles.
    """
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        weigh(graph, unpacked, graph.edges[i, 0], i, -1, first, last, unpacked.at_u)
        weigh(graph, unpacked, graph.edges[i, 1], i, -1, first, last, unpacked.at_v)
    cells_again(graph, unpacked, i, start, stop, cells)


@leaf
def cells_again(graph, unpacked, i, start, stop, cells):
    """Fill ``cells`` as `edge_cells`, which has been called before edge i moved."""
    m = len(graph.category)
    table, room = edge_table(graph, unpacked, i), np.empty((2, min(stop - start, TILE)), np.float32)
    cells[:] = 0.0
    for first in range(start, stop, TILE):
        last = min(first + TILE, stop)
        size = (last - first) >> 6 << 6
        share, weights = room[0, :size], unpacked.weights[first:last]
        _sum_ends(table, unpacked, first, share, room[1, :size])
        for lane in range(size):
            share[lane] = weights[lane] / share[lane]
        for k in range(m):
            a = unpacked.at_u[k, first:last]
            for lane in range(size):
                a[lane] *= share[lane]
            for y in range(m):
                b, total = unpacked.at_v[y, first:last], float32(0)
                for lane in range(size):
                    total += a[lane] * b[lane]
                cells[k * m + y] += table[k, y] * total
    cells /= cells.sum()


@leaf
def _sum_ends(table, unpacked, first, out, room):
    """Sum ``at_u`` times ``table`` times ``at_v`` over the states of both ends, into ``out``."""
    m, size = len(table), len(out) >> 6 << 6
    out[:] = float32(0)
    for k in range(m):
        a = unpacked.at_u[k, first : first + size]
        room[:] = float32(0)
        for y in range(m):
            b, w = unpacked.at_v[y, first : first + size], table[k, y]
            for lane in range(size):
                room[lane] += w * b[lane]
        for lane in range(size):
            out[lane] += a[lane] * room[lane]


@leaf
def grown_weights(graph, unpacked, i, log_factors, out):
    """Set ``out`` to the weights of the particles after edge i has moved, up to a factor.

    They grow by the mean of exp(``log_factors``) (m^2,) over the states 00, 01, ... of the ends given the other nodes.
    `edge_cells` must have been called for all particles, or `edge_categories`.
    """
    m, room = len(graph.category), np.empty(TILE, np.float32)
    table = edge_table(graph, unpacked, i)
    table *= relative_weights(unpacked, graph.edges[i, 0], graph.edges[i, 1], log_factors.reshape(m, m))
    for first in range(0, len(out), TILE):
        each = out[first : first + TILE]
        _sum_ends(table, unpacked, first, each, room[: len(each)])


@leaf
def spread_of_growth(before, after):
    r"""Return `relative_moments` of the growth of weights: the error of its mean is that of w g / \bar g - w."""
    n, sums, room = len(before), np.zeros(3), np.empty(TILE, np.float32)
    scale = float32(before.sum() / after.sum())
    for first in range(0, n, TILE):
        size, old, new = min(n - first, TILE) >> 6 << 6, before[first : first + TILE], after[first : first + TILE]
        for lane in range(size):
            room[lane] = float32(1) + scale * new[lane] - old[lane]
        add_moments(room[:size], sums)
    return relative_moments(sums[0] / n, sums[1] / n, sums[2] / n)


@leaf
def spreads(before, after):
    """Return `spread_of_growth` of the half of the particles that proposes, and of that which accepts."""
    half = len(before) >> 1
    return spread_of_growth(before[:half], after[:half]), spread_of_growth(before[half:], after[half:])


@strict_leaf
def follow_weights(rng, unpacked, weights):
    """Set the weights of the particles, of mean 1 in each half; resample a half of which few have most of the weight.

    The weights of the states of the current ends follow.
    """
    half = len(weights) >> 1
    for first in (0, half):
        new = unpacked.weights[first : first + half]
        copy_to(new, weights[first : first + half])
        new *= float32(half / new.sum())
        if half < LEAST * (new * new).sum():
            resample(rng, unpacked, first)


@strict_leaf
def resample(rng, unpacked, first):
    """Resample the half of the particles that begins with ``first``."""
    own = slice(first, first + (len(unpacked.weights) >> 1))
    spare, dead = systematic(rng, unpacked.weights[own])
    for rows in (unpacked.at_u, unpacked.at_v):
        copy_columns(rows[:, own], spare, dead)
    copy_columns(unpacked.x[:, own], spare, dead)
    unpacked.weights[own] = float32(1)


@leaf
def add_moments(values, sums):
    """Add to ``sums`` (3,) those of the values, of their squares and of their cubes."""
    s, s2, s3, size = float32(0), float32(0), float32(0), len(values) >> 6 << 6
    for lane in range(size):
        square = values[lane] * values[lane]
        s += values[lane]
        s2 += square
        s3 += square * values[lane]
    sums[0] += s
    sums[1] += s2
    sums[2] += s3


@leaf
def move_field(unpacked, i, values, at):
    """Set the fields of the states of node i, and update its weights ``at`` (m, n_particles)."""
    for k in range(len(values)):
        if values[k] != unpacked.field[i, k]:  # that of state 0 never changes, where its features are 0
            factor = float32(np.exp(values[k] - unpacked.field[i, k]))
            unpacked.field[i, k] = values[k]
            row = at[k]
            for lane in range(len(row)):
                row[lane] *= factor


@strict_leaf
def set_edge(unpacked, gains, e, first, values):
    """Set the parameters of edge e, the first of which is parameter ``first`` of all edges.

    ``gains`` are the log potentials of each parameter that is 1, (n_parameters, p), or of all, (1, p).
    """
    for x in range(gains.shape[1]):
        found = 0.0
        for k in range(len(values)):
            found += values[k] * gains[first + k if len(gains) > 1 else 0, x]
        unpacked.potentials[e, x] = found


@strict_leaf
def follow_edge(unpacked, gains, e, first, values, i, field_i, j, field_j):
    """Set the parameters of edge e = ij (`set_edge`) and the fields of its ends; update the weights of their states."""
    set_edge(unpacked, gains, e, first, values)
    move_field(unpacked, i, field_i, unpacked.at_u)
    move_field(unpacked, j, field_j, unpacked.at_v)
