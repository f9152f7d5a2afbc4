"""Pairs of edges that may be swapped: u-v and u-w, where v and w are similar in the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...graphs import Graph
from ...models.bases import has_lines
from .centred import edge_correlations, node_shares, pair_cells, smoothed_shares

_N_ALIKE = 4  # similar nodes of a node
RIVAL, ALIKE = 0.3, 0.8  # how much nodes are alike at least, for swaps and for moves of almost equal nodes
_SURE = 5.0  # standard errors of a partial correlation, from which an edge is taken to be needed next to its rival
_MOST = 1 - 1e-9  # largest correlation


def rivals(graph: Graph, alike: np.ndarray, least: float = 0.0) -> np.ndarray:
    """List for each edge (u, v) the edges (u, w) and (w, v), w the four nodes most similar to v, or u, in the data.

    The choice depends on the data alone, so moves of such pairs leave the posterior invariant.

    Parameters
    ----------
    graph : Graph
    alike : (n_edges,) array
        Similarity of the ends of each edge; nodes without an edge between them are not compared.
    least : float
        Least similarity of v and w.

    Returns
    -------
    (n_edges, 8) int array
        -1 if there is no such edge.
    """
    edges, a = graph.edges.astype(np.int64), graph.adjacency
    top = np.full((graph.n_nodes, _N_ALIKE), -1)
    for i in range(graph.n_nodes):
        row = slice(a.starts[i], a.starts[i + 1])
        best = np.argsort(-alike[a.edge_of[row]], kind="stable")[:_N_ALIKE]
        best = best[alike[a.edge_of[row]][best] >= least]
        top[i, : len(best)] = a.neighbours[row][best]
    code = edges.min(axis=1) * graph.n_nodes + edges.max(axis=1)
    order = np.argsort(code)
    ends = np.concatenate([edges, edges[:, ::-1]], axis=1).reshape(-1, 2)  # (stays, leaves) twice for each edge
    stays, other = np.broadcast_arrays(ends[:, :1], top[ends[:, 1]])
    wanted = np.minimum(stays, other) * graph.n_nodes + np.maximum(stays, other)
    place = order[np.searchsorted(code, wanted, sorter=order).clip(max=max(0, len(code) - 1))]
    numbers = np.where((code[place] == wanted) & (other >= 0) & (other != stays), place, -1)
    return numbers.reshape(len(edges), 2 * _N_ALIKE).astype(np.int32)


def rival_pairs(graph: Graph, alike: np.ndarray, least: float) -> np.ndarray:
    """List pairs of rival edges, (n_pairs, 2), each once and in order; v and w are alike by ``least`` at least."""
    rivals_of = rivals(graph, alike, least)
    edge, place = np.nonzero(rivals_of >= 0)
    other = rivals_of[edge, place]
    n = len(rivals_of)
    return np.stack(np.divmod(np.unique(np.minimum(edge, other) * n + np.maximum(edge, other)), n), axis=1)


def likeness(model: Any, s_bar: np.ndarray, n_samples: float) -> np.ndarray:
    """Compute the absolute value of Cohen's kappa of the ends of each edge, (n_edges,); 0 without observations.

    Of ordered categories it is that of the correlation, and of edges with several parameters Cramer's V.

    Parameters
    ----------
    model : TwoArrays
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    """
    if n_samples == 0:
        return np.zeros(model.n_edges)
    if not has_lines(model):
        return _association(model, s_bar, n_samples)
    if model.n_states > 2 and not np.array_equal(model.edge_values, np.eye(model.n_states)):
        return np.abs(edge_correlations(model, s_bar))
    share, agree, (u, v) = node_shares(model, s_bar), s_bar[: model.n_edges], model.graph.edges.T
    if model.n_states == 2:
        agree = pair_cells(model, s_bar, share, np.arange(model.n_edges))[[0, 3]].sum(axis=0)
    chance = (share[u] * share[v]).sum(axis=1)
    return np.abs(agree - chance) / np.maximum(1 - chance, 1e-9)


def _association(model: Any, s_bar: np.ndarray, n_samples: float) -> np.ndarray:
    r"""Compute the root mean square of the canonical correlations of what an edge sees of its ends (Cramer's V)."""
    share, starts, correlations = smoothed_shares(model, s_bar, n_samples), model.edge_starts, np.empty(model.n_edges)
    means = [rows @ p for rows, p in zip(model.edge_rows, share, strict=True)]
    precisions = [
        np.linalg.pinv((rows * p) @ rows.T - np.outer(mean, mean))
        for rows, p, mean in zip(model.edge_rows, share, means, strict=True)
    ]
    for e, (u, v) in enumerate(model.graph.edges):
        both = s_bar[starts[e] : starts[e + 1]].reshape(model.shapes[e]) - np.outer(means[u], means[v])
        square = np.trace(precisions[u] @ both @ precisions[v] @ both.T)
        correlations[e] = np.sqrt(np.clip(square / model.shapes[e].min(), 0.0, 1.0))
    return correlations


def rivals_in(model: Any, s_bar: np.ndarray, n_samples: float, least: float = RIVAL) -> np.ndarray:
    """List pairs of rival edges, (n_pairs, 2), whose other ends have a `likeness` of ``least`` at least."""
    if model.n_edges < 2:
        return np.empty((0, 2), np.int64)
    return rival_pairs(model.graph, likeness(model, s_bar, n_samples), least)


def swaps_in(model: Any, s_bar: np.ndarray, n_samples: float) -> np.ndarray:
    r"""List the pairs of `rivals_in` of which neither edge is surely needed next to the other.

    The edge u-v is surely needed next to u-w if u and v are correlated given w: the partial correlation is more than
    five standard errors from zero, :math:`\sqrt{n} |\operatorname{artanh} \rho_{uv \cdot w}| > 5`. Swaps of it for u-w
    are seldom accepted: only where other edges explain what it does, and there it dies alone as well.

    Parameters
    ----------
    model, s_bar, n_samples
        As of `rivals_in`.
    """
    pairs = rivals_in(model, s_bar, n_samples)
    edges, between = model.graph.edges, np.zeros((model.graph.n_nodes, model.graph.n_nodes))
    r = edge_correlations(model, s_bar).clip(-_MOST, _MOST)
    between[edges[:, 0], edges[:, 1]] = between[edges[:, 1], edges[:, 0]] = r
    v, w = other_ends(edges, pairs).T
    correlation, rival, between = r[pairs], r[pairs[:, ::-1]], between[v, w, None]
    partial = (correlation - rival * between) / np.sqrt((1 - rival**2) * (1 - between**2))
    z = np.sqrt(n_samples) * np.abs(np.arctanh(partial.clip(-_MOST, _MOST)))
    return pairs[(z < _SURE).all(axis=1)]


def other_ends(edges: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the two nodes, (n_pairs, 2), that two edges with a common node do not share."""
    ends = np.sort(edges[pairs].reshape(-1, 4), axis=1)
    common = ends[:, 1:][ends[:, 1:] == ends[:, :-1]][:, None]
    return ends[ends != common].reshape(-1, 2)


def alike_in(model: Any, s_bar: np.ndarray, n_samples: float) -> np.ndarray:
    """List pairs of edges to almost equal nodes, as in `rivals_in`, and the edge between these nodes (-1 if none).

    There are none, (0, 3), unless the features of edges have two values only.
    """
    if len(np.unique(model.edge_values)) > 2:
        return np.empty((0, 3), np.int64)
    pairs, n, (i, j) = rivals_in(model, s_bar, n_samples, ALIKE), model.graph.n_nodes, model.graph.edges.T
    numbers = np.full((n, n), -1)
    numbers[i, j] = numbers[j, i] = np.arange(len(i))
    return np.column_stack([pairs, numbers[tuple(other_ends(model.graph.edges, pairs).T)]])
