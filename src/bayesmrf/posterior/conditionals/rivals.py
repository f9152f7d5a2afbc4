"""Pairs of edges that may be swapped: u-v and u-w, where v and w are similar in the data."""

from __future__ import annotations

import numpy as np

from ...graphs import Graph

_N_ALIKE = 4  # similar nodes of a node
RIVAL, ALIKE = 0.3, 0.8  # how much nodes are alike at least, for swaps and for moves of almost equal nodes


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
    found = np.where((code[place] == wanted) & (other >= 0) & (other != stays), place, -1)
    return found.reshape(len(edges), 2 * _N_ALIKE).astype(np.int32)


def rival_pairs(graph: Graph, alike: np.ndarray, least: float) -> np.ndarray:
    """List pairs of rival edges, (n_pairs, 2), each once; v and w are alike by ``least`` at least."""
    found = rivals(graph, alike, least)
    pairs = np.stack([np.repeat(np.arange(len(found)), found.shape[1]), found.ravel()], axis=1)
    return np.unique(np.sort(pairs[pairs[:, 1] >= 0], axis=1), axis=0)
