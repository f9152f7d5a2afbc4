"""Persistent chains behind Langevin dynamics of edges: as bits for the Boltzmann machine, as tables for other models.

What the algorithm needs of either is the same: a sweep at theta, mean and variance of the feature of an edge or of a
parameter of a node over the chains, and a move of an edge. Of the Boltzmann machine the feature of an edge is the
product of its ends, as published, and a weight moves alone. Of other models the feature is that of a line
(`..conditionals.centred`), and the parameters of the ends move, too: products of scores are nearly sums of functions of
one end each, and weights would move slowly with the parameters of the nodes fixed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import leaf
from ..graphs import Graph
from ..posterior.conditionals.by_class import by_class
from ..posterior.conditionals.centred import CentredLines, line_values, move_edge, node_field
from ..states.edge_tables import TableGraph, TableParticles, UnpackedTableParticles, unpack
from ..states.persistent_chains import EdgeBlocks, count_both
from ..states.persistent_chains import sweep as sweep_bits
from ..states.table_sweeps import sweep as sweep_tables


class TableChains(NamedTuple):
    """Chains of any number of states a node, unpacked for sweeps."""

    graph: TableGraph
    unpacked: UnpackedTableParticles
    lines: CentredLines
    gains: np.ndarray  # (p,) values of the feature of an edge, less the smallest, but 0
    values: np.ndarray  # (n_edges, m^2) centred feature in the states 00, 01, ... of the ends
    node_of: np.ndarray  # (n_node_parameters,) node of each parameter
    ones: np.ndarray  # (n_node_parameters,) sum of the feature of each over the chains
    n_chains: int


def table_chains(model: Any, lines: CentredLines, particles: TableParticles) -> TableChains:
    """Return a working copy of the chains of a model along its lines."""
    f, m, r = model.edge_values, model.n_states, model.n_edges
    candidates: Graph = model.graph
    levels, category = np.unique(f, return_inverse=True)
    by_score = np.array_equal(f - levels[0], np.outer(range(m), range(m)))
    no_rivals = np.empty((r, 0), np.int32)
    graph = TableGraph(*candidates.rows, category.reshape(m, m).astype(np.int64), no_rivals, by_score)
    unpacked = unpack(particles, np.zeros((r, len(levels) - 1)), lines.base)
    return TableChains(
        graph, unpacked, lines, (levels - levels[0])[1:], line_values(model, lines),
        np.repeat(range(model.graph.n_nodes), np.diff(lines.starts)), np.zeros(len(lines.features)),
        particles.x.shape[1],
    )  # fmt: skip


@leaf
def _tables_swept(chains, rows, theta):
    unpacked, (n_nodes, m) = chains.unpacked, chains.unpacked.field.shape
    for e in range(len(rows.edges)):
        for x in range(len(chains.gains)):
            unpacked.potentials[e, x] = theta[e] * chains.gains[x]
    for i in range(n_nodes):
        for x in range(m):
            unpacked.field[i, x] = node_field(chains.lines, theta, i, x)
    sweep_tables(chains.graph, unpacked)
    for i in range(len(chains.ones)):
        chains.ones[i] = chains.n_chains * _node_moments(chains, i)[0]


@leaf
def _share_variance(f, n_chains):
    return f * (1 - f) * n_chains / (n_chains - 1)


@leaf
def _edge_of_bits(chains, rows, e):
    f = count_both(chains.words, rows.edges[e, 0], rows.edges[e, 1]) / chains.n_chains
    return f, _share_variance(f, chains.n_chains)


@leaf
def _node_of_bits(chains, i):
    return _share_variance(chains.ones[i] / chains.n_chains, chains.n_chains)


@leaf
def _counted_moments(counts, values, n_chains):
    mean = square = 0.0
    for x in range(len(counts)):
        mean += counts[x] * values[x]
        square += counts[x] * values[x] ** 2
    mean /= n_chains
    return mean, (square / n_chains - mean * mean) * n_chains / (n_chains - 1)


@leaf
def _edge_of_tables(chains, rows, e):
    x, m, counts = chains.unpacked.x, len(chains.lines.values), np.zeros(chains.values.shape[1])
    u, v = x[rows.edges[e, 0]], x[rows.edges[e, 1]]
    for c in range(chains.n_chains):
        counts[u[c] * m + v[c]] += 1
    return _counted_moments(counts, chains.values[e], chains.n_chains)


@leaf
def _node_moments(chains, i):
    x, counts = chains.unpacked.x[chains.node_of[i]], np.zeros(len(chains.lines.values))
    for c in range(chains.n_chains):
        counts[x[c]] += 1
    return _counted_moments(counts, chains.lines.features[i], chains.n_chains)


@leaf
def _node_of_tables(chains, i):
    return _node_moments(chains, i)[1]


@leaf
def _move_of_bits(chains, rows, e, theta, value):
    theta[e] = value


@leaf
def _move_of_tables(chains, rows, e, theta, value):
    move_edge(chains.lines, e, rows.edges[e, 0], rows.edges[e, 1], theta, value)


@leaf
def _pull_of_bits(chains, rows, e, own):
    return 0.0


@leaf
def _pull_of_tables(chains, rows, e, own):
    lines, total = chains.lines, 0.0
    for end in range(2):
        first, last = lines.starts[rows.edges[e, end]], lines.starts[rows.edges[e, end] + 1]
        for k in range(first, last):
            total += lines.pull[e, end, k - first] * own[k - len(rows.edges)]
    return total


@by_class({EdgeBlocks: sweep_bits, TableChains: _tables_swept}, place=0)
def swept(chains, rows, theta):
    """Scan all chains once at theta, and update ``chains.ones``, the sums of the features of nodes."""


@by_class({EdgeBlocks: _edge_of_bits, TableChains: _edge_of_tables}, place=0)
def edge_moments(chains, rows, e):
    """Return mean and variance of the feature of edge e over the chains."""


@by_class({EdgeBlocks: _node_of_bits, TableChains: _node_of_tables}, place=0)
def node_variance(chains, i):
    """Return the variance of the feature of the i-th parameter of nodes over the chains."""


@by_class({EdgeBlocks: _move_of_bits, TableChains: _move_of_tables}, place=0)
def move(chains, rows, e, theta, value):
    """Set the parameter of edge e, and those of its ends along its line."""


@by_class({EdgeBlocks: _pull_of_bits, TableChains: _pull_of_tables}, place=0)
def pull_on_ends(chains, rows, e, own):
    """Return the sum of the parameters ``own`` of the ends of edge e, times their change along its line."""
