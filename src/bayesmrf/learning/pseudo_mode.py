"""The mode of the pseudo-likelihood (Besag 1975) with normal priors, for nodes of any number of states."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from ..models.bases import edge_of

_MOST, _ENOUGH = 200, 1e-7  # iterations, and relative change of the last


def pseudo_mode(model: Any, states: np.ndarray, weights: np.ndarray | None, precision: np.ndarray) -> np.ndarray:
    r"""Maximise the log pseudo-likelihood less :math:`\tfrac12 \sum_k \kappa_k \theta_k^2`.

    Parameters
    ----------
    model : NodeFeatures
    states : (n, n_nodes) int array
    weights : (n,) array, optional
        How often each row was seen.
    precision : (n_features,) array

    Returns
    -------
    (n_features,) array
    """
    w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
    (n, n_nodes), m, r = states.shape, model.used.shape[1], int(model.edge_starts[-1])
    hot = (states[:, :, None] == np.arange(m)).reshape(n, -1).astype(np.float64)
    each = np.asarray(model.edge_features)
    features = each if model.n_parameters is None else np.tile(each, (model.n_edges, 1, 1))
    (u, v), ends = model.graph.edges.T, model.graph.edges[edge_of(model)].T
    node = np.repeat(np.arange(n_nodes), np.diff(model.node_starts))

    def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
        potentials, table = np.zeros((n_nodes, m, n_nodes, m)), model.table(theta[:r])
        potentials[u, :, v], potentials[v, :, u] = table, table.transpose(0, 2, 1)
        logits = (hot @ potentials.reshape(n_nodes * m, -1)).reshape(n, n_nodes, m) + model.field_table(theta[r:])
        logits -= logits.max(axis=2, keepdims=True)
        p = np.exp(logits)
        total = p.sum(axis=2, keepdims=True)
        value = w @ ((hot.reshape(logits.shape) * logits).sum(axis=2) - np.log(total[:, :, 0])).sum(axis=1)
        left = w[:, None] * (hot - (p / total).reshape(n, -1))
        joint, alone = (hot.T @ left).reshape(n_nodes, m, n_nodes, m), left.sum(axis=0).reshape(n_nodes, m)
        both = joint[ends[1], :, ends[0]].transpose(0, 2, 1) + joint[ends[0], :, ends[1]]
        slope = np.concatenate([(features * both).sum(axis=(1, 2)), (model.node_rows * alone[node]).sum(axis=1)])
        return 0.5 * precision @ theta**2 - value, precision * theta - slope

    start = np.zeros(model.n_features)
    optimum = minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": _MOST, "ftol": _ENOUGH})
    return np.asarray(optimum.x)
