r"""Directions along which the tables of edges move together with the fields of their ends.

The counterpart of `bayesmrf.posterior.conditionals.centred` for edges with several parameters: when the parameter of
the feature f_j of an edge grows by delta, the fields of its ends change such that the feature that changes is

.. math:: g_j(x_u, x_v) = f_j(x_u, x_v) - \mu_u(x_u) - \mu_v(x_v),

with :math:`\mu_u(x_u)` the mean of f_j over the states of the other end in the data, and the same for v. Else the
entries of a table move as slowly as the fields with which they are correlated.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class CentredTables(NamedTuple):
    """How fields move with tables, and the covariance of the features that change if ends are independent."""

    edges: np.ndarray  # (r, 2)
    pull: np.ndarray  # (r, 2, m - 1, p), how far the fields of both ends move down
    covariance: np.ndarray  # (r, p, p)

    def of_fields(self, members: np.ndarray, n_nodes: int) -> np.ndarray:
        """Return the change of the fields with the parameters that ``members`` share, (n_nodes (m - 1), p)."""
        change = np.zeros((n_nodes, *self.pull.shape[2:]))
        np.subtract.at(change, self.edges[members], self.pull[members])
        return change.reshape(-1, self.pull.shape[3])


def centred_tables(model: Any, share: np.ndarray, n: float) -> CentredTables:
    """Return how fields move, for n observations of which a ``share`` has each feature at its larger value.

    One observation is added to these, evenly over the states.
    """
    f, m, (low, high) = model.edge_features, model.n_states, model.node_values
    others = (n * share[model.n_edges * model.n_parameters :].reshape(-1, m - 1) + 1 / m) / (n + 1)
    p, q = np.column_stack([1 - others.sum(axis=1), others])[model.graph.edges.T]
    mean_u, mean_v = np.einsum("el,jkl->ekj", q, f), np.einsum("ek,jkl->elj", p, f)
    g = np.moveaxis(f, 0, 2) - mean_u[:, :, None] - mean_v[:, None]
    weight = p[:, :, None] * q[:, None]
    g = g - np.einsum("ekl,eklj->ej", weight, g)[:, None, None]
    pull = np.stack([mean_u[:, 1:] - mean_u[:, :1], mean_v[:, 1:] - mean_v[:, :1]], axis=1) / (high - low)
    return CentredTables(model.graph.edges, pull, np.einsum("ekl,ekli,eklj->eij", weight, g, g))
