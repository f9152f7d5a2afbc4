"""The most likely forest of edges for nodes with many states (Chow and Liu 1968), and the mode on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.special import xlogy

from ..graphs import Graph
from ..inference.elimination.engine import Elimination
from .maximum_likelihood import maximum_likelihood
from .persistent_ascent import potential_mode


def forest_start(
    model: Any, values: np.ndarray, weights: np.ndarray | None, base: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """Return theta at the mode on the most likely forest; 0 for all other edges.

    The forest has the candidate edges with the largest mutual information, if N times it exceeds (m - 1)^2 log(N) / 2
    (BIC).

    Parameters
    ----------
    model : TwoArrays
        Its graph is the candidate edges.
    values : (n_samples, n_nodes) int array
        States 0, ..., m - 1; -1 where missing.
    weights : (n_samples,) array or None
    base : (p, p) array or None
        Precision of the normal base of tables; None for the maximum likelihood estimate on the forest.
    rng : Generator
    """
    graph, m = model.graph, model.n_states
    w = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    gain = np.array([_gain(values[:, u], values[:, v], w, m) for u, v in graph.edges])
    informative = np.flatnonzero(gain > 0)
    u, v = graph.edges[informative].T
    tree = minimum_spanning_tree(coo_array((-gain[informative], (u, v)), shape=(graph.n_nodes,) * 2).tocsr()).tocoo()
    number = {(int(a), int(b)): e for e, (a, b) in enumerate(graph.edges)}
    kept = np.sort([number[int(a), int(b)] for a, b in zip(tree.row, tree.col, strict=True)]).astype(np.int64)
    forest = replace(model, graph=Graph(graph.n_nodes, graph.edges[kept], graph.names))
    whole = (values >= 0).all(axis=1)
    s_bar, n = forest.statistics(values[whole], w[whole]), float(w[whole].sum())
    if base is None:
        fitted = maximum_likelihood(forest, s_bar, n, Elimination(), rng).theta
    else:
        fitted = potential_mode(forest, s_bar, n, Elimination(), rng, base)
    r, p = len(kept), model.n_parameters
    edges = np.zeros((graph.n_edges, p))
    edges[kept] = fitted[: r * p].reshape(r, p)
    return np.concatenate([edges.ravel(), fitted[r * p :]])


def _gain(x: np.ndarray, y: np.ndarray, w: np.ndarray, m: int) -> float:
    """Return N times the mutual information of two nodes, minus the penalty."""
    both = (x >= 0) & (y >= 0)
    table = np.bincount(x[both].astype(np.int64) * m + y[both], w[both], minlength=m * m).reshape(m, m)
    n = table.sum()
    if n <= 1:
        return 0.0
    whole = xlogy(table, table).sum() + xlogy(n, n)
    information = whole - sum(xlogy(s, s).sum() for s in (table.sum(axis=0), table.sum(axis=1)))
    return float(information - 0.5 * (m - 1) ** 2 * np.log(n))
