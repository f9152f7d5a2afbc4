"""Chains of bytes, of any states and of several groups of people: what an iteration asks of them.

They are the memory of `bayesmrf.posterior.edges.iteration` for everything but yes/no answers of one group
(`bayesmrf.posterior.edges.bit_chains`).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ...compiled import leaf, strict_leaf
from ...states.edge_tables import TableGraph, UnpackedTableParticles, resample, set_edge
from ...states.level_flips import flip_levels
from ...states.table_sweeps import sweep
from ..conditionals.centred import feature_of, node_row
from ..conditionals.group_lines import one_group
from .chain_jumps import Visits, visit_all
from .chain_swaps import of_group, visit_rivals


class ByteChains(NamedTuple):
    """Chains of all groups, stacked, unpacked at the present parameters."""

    graph: TableGraph
    stacked: UnpackedTableParticles
    visits: Visits
    gains: np.ndarray  # log potentials of a parameter of an edge that is 1 (`bayesmrf.states.edge_tables.follow_edge`)
    share: np.ndarray  # (G, m, n_chains) float32, room for probabilities of states
    weights: np.ndarray  # (G, n_chains) float32, room for weights of chains


@strict_leaf
def refresh_bytes(rng, chains):
    """Flip clusters of nodes in the chains of each group, and sweep them.

    The chains would otherwise stay in their mode: theta runs ahead of the shares of chains in modes that single nodes
    do not reach.
    """
    for t in range(len(chains.stacked.x)):
        flip_levels(rng, chains.graph, of_group(chains.stacked, t))
        sweep(chains.graph, of_group(chains.stacked, t))


@strict_leaf
def visit_in_bytes(rng, chains, problem, theta, momentum, has, drawn):
    """Propose births, deaths and swaps; return how many were accepted. ``has`` is as of `find_parts`."""
    graph, stacked, visits, gains, weights = chains.graph, chains.stacked, chains.visits, chains.gains, chains.weights
    n = visit_all(rng, graph, stacked, problem, visits, gains, theta, momentum, has, drawn, chains.share, weights)
    n += visit_rivals(rng, graph, stacked, problem, visits, gains, theta, momentum, has, drawn, weights)
    for t in range(len(stacked.x) if n > 0 else 0):
        for first in (0, stacked.x.shape[2] >> 1):
            resample(rng, of_group(stacked, t), first)
    return n


@strict_leaf
def follow_in_bytes(chains, problem, theta):
    """Let potentials and fields be those of the present parameters."""
    stacked, places = chains.stacked, problem.places
    for t in range(len(stacked.x)):
        unpacked, field, own = of_group(stacked, t), stacked.field[t], one_group(problem, t)
        for e in range(problem.n_edges):
            set_edge(unpacked, chains.gains, e, places[e], theta.natural[t, places[e] : places[e + 1]])
        for i in range(len(field)):
            field[i] = node_row(own, theta.natural[t], i)


@leaf
def _count(x, counts):
    counts[:] = 0.0
    for c in range(len(x)):
        counts[x[c]] += 1


@leaf
def _product(x, y):
    total = np.float32(0)
    for c in range(len(x) >> 6 << 6):
        total += x[c] * y[c]
    return total


@leaf
def _copied(x, out):
    for c in range(len(x) >> 6 << 6):
        out[c] = np.float32(x[c])


@leaf
def _count_pairs(x, y, m, counts):
    counts[:] = 0.0
    for c in range(len(x)):
        counts[x[c] * m + y[c]] += 1


@leaf
def _mean(n_chains, values, counts):
    """Return the mean over the chains of a feature, by the ``counts`` (m^2,) of pairs of states."""
    m, total = len(values), 0.0
    for s in range(m * m):
        total += counts[s] * values[s // m, s % m]
    return total / n_chains


@strict_leaf
def means_of_bytes(chains, problem, has, out):
    """Set ``out`` (G, F) to the means over the chains of the features of nodes, and of present edges on their lines."""
    graph, stacked, lines = chains.graph, chains.stacked, problem.lines
    n_groups, n_nodes, n_chains = stacked.x.shape
    m, r, places = lines.base.shape[1], len(lines.edges), problem.places
    counts, scores = np.empty(m * m), np.empty((n_nodes if graph.by_score else 0, n_chains), np.float32)
    for t in range(n_groups):
        x = stacked.x[t]
        for i in range(len(scores)):  # as numbers whose products vectorise
            _copied(x[i], scores[i])
        for i in range(n_nodes):
            _count(x[i], counts[:m])
            for k in range(lines.starts[i], lines.starts[i + 1]):
                out[t, k] = np.dot(counts[:m], lines.features[k - r]) / n_chains
        for e in range(problem.n_edges):
            if not (has[0, e] or has[1, e]):
                continue
            i, j = lines.edges[places[e], 0], lines.edges[places[e], 1]
            if not graph.by_score:
                _count_pairs(x[i], x[j], m, counts)
            for p in range(places[e], places[e + 1]):
                if graph.by_score:
                    mean = _product(scores[i], scores[j]) / n_chains
                else:
                    mean = _mean(n_chains, feature_of(lines, p, i), counts)
                for end in range(2):
                    first = lines.starts[lines.edges[p, end]]
                    for k in range(first, lines.starts[lines.edges[p, end] + 1]):
                        mean -= lines.pull[t, p, end, k - first] * out[t, k]
                out[t, p] = mean


@leaf
def covariances_of_bytes(chains, lines, values, present, direction, out):
    """Set ``out`` (G, F) to the covariances over the chains of each feature with the sum of features by ``direction``.

    Those of edges are on their lines; 0 of those that are not ``present``.
    """
    x, n_chains = chains.stacked.x, chains.stacked.x.shape[2]
    out[:] = 0.0
    for t in range(len(x)):
        total = np.zeros(n_chains)
        add_features(x[t], lines, values[t], present, direction[t], total)
        total -= total.sum() / n_chains
        add_products(x[t], lines, values[t], present, total, out[t])
    out /= n_chains


@leaf
def add_features(x, lines, values, present, direction, total):
    """Add the sum of features by ``direction`` (F,), of the states ``x`` (n_nodes, n), to ``total`` (n,)."""
    m, r = lines.base.shape[1], len(lines.edges)
    table = np.empty(m)
    for i in range(len(x)):
        table[:] = 0.0
        for k in range(lines.starts[i], lines.starts[i + 1]):
            for s in range(m):
                table[s] += direction[k] * lines.features[k - r, s]
        _add(x[i], table, total)
    for e in range(r):
        if present[e]:
            _add_pair(x[lines.edges[e, 0]], x[lines.edges[e, 1]], values[e], direction[e], total)


@leaf
def add_products(x, lines, values, present, total, out):
    """Add the sums of each feature times ``total`` (n,) to ``out`` (F,), of edges that are ``present``."""
    m, r = lines.base.shape[1], len(lines.edges)
    table = np.empty(m)
    for i in range(len(x)):
        table[:] = 0.0
        for c in range(len(total)):
            table[x[i, c]] += total[c]
        for k in range(lines.starts[i], lines.starts[i + 1]):
            out[k] += np.dot(table, lines.features[k - r])
    for e in range(r):
        if present[e]:
            out[e] += _dot_pair(x[lines.edges[e, 0]], x[lines.edges[e, 1]], values[e], total)


@leaf
def _add(x, table, out):
    for c in range(len(out)):
        out[c] += table[x[c]]


@leaf
def _add_pair(x, y, values, factor, out):
    m = int(sqrt(len(values)) + 0.5)
    for c in range(len(out)):
        out[c] += factor * values[x[c] * m + y[c]]


@leaf
def _dot_pair(x, y, values, weights):
    m, total = int(sqrt(len(values)) + 0.5), 0.0
    for c in range(len(weights)):
        total += values[x[c] * m + y[c]] * weights[c]
    return total
