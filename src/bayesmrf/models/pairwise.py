"""The compiled form of binary models: a pairwise field over x in {-1, +1}."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..graphs import Graph


class Pairwise(NamedTuple):
    """log p~(x) = offset + sum_e coupling_e x_u x_v + sum_i field_i x_i, x in {-1, +1}.

    ``starts``, ``neighbours`` and ``edge_of`` are the compressed rows of the graph (see `bayesmrf.graphs.Adjacency`).
    """

    edges: np.ndarray  # (n_edges, 2) int32
    starts: np.ndarray  # (n_nodes + 1,) int64
    neighbours: np.ndarray  # (2 n_edges,) int32
    edge_of: np.ndarray  # (2 n_edges,) int32
    coupling: np.ndarray  # (n_edges,) float64
    field: np.ndarray  # (n_nodes,) float64
    offset: float


def pairwise(graph: Graph, coupling: np.ndarray, field: np.ndarray, offset: float) -> Pairwise:
    """Collect the arrays and parameters of a graph."""
    return Pairwise(
        *graph.rows,
        np.ascontiguousarray(coupling, dtype=np.float64),
        np.ascontiguousarray(field, dtype=np.float64),
        float(offset),
    )


def log_potential(model: Pairwise, states: np.ndarray) -> np.ndarray:
    """Return the unnormalised log probability of each row of ``states`` (n_samples, n_nodes) in {0, 1}."""
    x = 2.0 * states - 1.0
    u, v = model.edges[:, 0], model.edges[:, 1]
    return model.offset + (x[:, u] * x[:, v]) @ model.coupling + x @ model.field


def edge_statistics(
    graph: Graph, states: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of (weighted) ``states`` in which the ends of each edge agree, and in which each node is 1."""
    # Sums of counts are exact in floating point, so that one division at the end stays in [0, 1].
    w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
    total = w.sum()
    columns = np.ascontiguousarray(states.T)
    u, v = graph.edges.T
    if 4 * graph.n_edges > graph.n_nodes**2 and (w == np.rint(w)).all():
        return _agreements(columns, w)[u, v] / total, columns @ w / total
    # One block of edges at a time: memory stays O(edges + states).
    block = max(1, 2**24 // max(1, len(states)))
    agree = [
        (columns[u[i : i + block]] == columns[v[i : i + block]]) @ w / total for i in range(0, graph.n_edges, block)
    ]
    return (np.concatenate(agree) if agree else np.zeros(0)), columns @ w / total


def _agreements(columns: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Count in how many rows each two of the ``columns`` (n_nodes, n_samples) agree, of which ``w`` are counts."""
    counts, block = np.zeros((len(columns), len(columns))), max(1, 2**24 // max(1, len(columns)))
    for a in range(0, len(w), block):
        rows = slice(a, a + block)
        for state in range(columns.min(), columns.max() + 1):
            in_state = (columns[:, rows] == state).astype(np.float64)
            counts += (in_state * w[rows]) @ in_state.T
    return counts


class FeatureForm(NamedTuple):
    """Features as polynomials in x: a + b x_u x_v + c (x_u + x_v) for an edge, p + q x_u for a node."""

    a: float
    b: float
    c: float
    p: float
    q: float
