r"""Lines of edges whose ends depend on each other, from the shares of the data in each pair of states.

`bayesmrf.posterior.conditionals.centred.residual_pull` knows the moments of the features only, and takes the ends for
normal. Where two columns with many levels are almost equal, its lines leave much of an edge's feature to those of its
ends, and edge and thresholds walk along a ridge: on 17 items of `bayesmrf.datasets.wenchuan` the slowest parameter had
a sixth of the effective draws. From the table of a pair the coefficients are those of the regression of the feature on
those of both ends, as for two states. The data choose the lines, which changes no posterior.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.bases import edge_of, has_lines
from .centred import by_node, smoothed_shares

_EDGES = 2**14  # of a block
_FIRM = 1e-9  # added to the variances of features, relative to the largest


def pair_tables(model: Any, values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the shares of each pair of states in each candidate edge, (n_edges, m, m).

    One observation is added, as if the ends were independent, and every state as likely.

    Parameters
    ----------
    model : TwoArrays
    values : (n_samples, n_nodes) int array
        States; -1 where a value is missing.
    weights : (n_samples,) array or None
    """
    m, n_nodes = model.n_states, model.graph.n_nodes
    weights = np.ones(len(values)) if weights is None else weights
    is_state = (values[:, :, None] == np.arange(m)).reshape(len(values), -1).astype(np.float64)
    counts = (is_state.T * weights) @ is_state
    counts = counts.reshape(n_nodes, m, n_nodes, m).transpose(0, 2, 1, 3)
    u, v = model.graph.edges.T
    used = model.used / model.used.sum(axis=1, keepdims=True)
    totals: np.ndarray = counts[u, v] + used[u][:, :, None] * used[v][:, None]
    return totals / totals.sum(axis=(1, 2), keepdims=True)


def independent_tables(model: Any, s_bar: np.ndarray, n: float) -> np.ndarray:
    """Return shares of pairs of states as if ends were independent, from n observations with the mean statistics."""
    share = np.where(model.used, smoothed_shares(model, s_bar, n), 0.0)
    p, q = (share / share.sum(axis=1, keepdims=True))[model.graph.edges.T]
    return np.asarray(p[:, :, None] * q[:, None])


def regression_pull(model: Any, tables: np.ndarray) -> np.ndarray:
    """Return how far the parameters of both ends move with each of an edge, (r, 2, most parameters of a node).

    They are the coefficients of the features of both ends in the regression of that of the edge, weighted by
    ``tables`` (n_edges, m, m).
    """
    of, rows = edge_of(model), by_node(model, model.node_rows)
    f = model.edge_values if has_lines(model) else model.edge_features
    f = np.broadcast_to(f, (len(of), *tables.shape[1:]))
    # Some edges at a time: all of a wide table take gigabytes.
    blocks = [slice(a, a + _EDGES) for a in range(0, max(1, len(of)), _EDGES)]
    return np.concatenate([_pull(rows[model.graph.edges[of[b]]], tables[of[b]], f[b]) for b in blocks])


def _pull(y: np.ndarray, tables: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Compute the `regression_pull` of features ``f`` of edges (r, m, m) on those of nodes, (r, 2, k, m)."""
    r, _, k, m = y.shape
    columns = np.ones((r, 1 + 2 * k, m, m))
    columns[:, 1 : 1 + k], columns[:, 1 + k :] = y[:, 0, :, :, None], y[:, 1, :, None, :]
    weighted = columns * tables[:, None]
    gram = np.einsum("ecij,edij->ecd", weighted, columns)
    gram += _FIRM * gram.max(axis=(1, 2))[:, None, None] * np.eye(1 + 2 * k)
    coefficients = np.linalg.solve(gram, np.einsum("ecij,eij->ec", weighted, f)[..., None])[:, 1:, 0]
    return coefficients.reshape(r, 2, k)


def line_variance(values: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return the variance of the features ``values`` (r, m^2) in pairs of states with shares ``tables`` (r, m, m)."""
    p = tables.reshape(len(tables), -1)
    return np.asarray((p * values**2).sum(axis=1) - (p * values).sum(axis=1) ** 2)
