"""Edges of pairwise models as tables of log potentials, which are linear in their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit


class EdgeTables:
    r"""Base of pairwise models whose edges all have the same features.

    An edge c = (u, v) with parameters :math:`\theta_{c1}, \dots, \theta_{cp}` has the table of log potentials

    .. math:: W_c(k, l) = \sum_j \theta_{cj} f_j(k, l),

    with the features :math:`f_j` of ``edge_features``, (p, m, m).
    """

    n_edges: Any
    edge_features: Any

    @property
    def agreement_contrast(self) -> np.ndarray:
        """Mean of each feature of an edge over the states that agree minus that over those that differ, (p,)."""
        alike = np.eye(self.edge_features.shape[-1], dtype=bool)
        return np.asarray(self.edge_features[:, alike].mean(axis=1) - self.edge_features[:, ~alike].mean(axis=1))

    def table(self, theta: np.ndarray) -> np.ndarray:
        """Return W of each edge, (..., n_edges, m, m)."""
        return np.tensordot(self._edges(theta), self.edge_features, 1)

    def agreement(self, theta: np.ndarray) -> np.ndarray:
        r"""Measure how strongly each edge rewards agreement of its ends, (..., n_edges), from 0 to 1; 0.5 is neutral.

        It is 1 / (1 + exp(-j)) with j the mean of W over pairs of states that agree minus that over pairs that differ.
        It does not depend on terms f(k) + f(l) of W, and for W(k, l) = J [k = l] it is 1 / (1 + exp(-J)).
        """
        return np.asarray(expit(self._edges(theta) @ self.agreement_contrast))

    def _edges(self, theta: np.ndarray) -> np.ndarray:
        """Return the parameters of each edge, (..., n_edges, p)."""
        r, p = self.n_edges, len(self.edge_features)
        return theta[..., : r * p].reshape(*theta.shape[:-1], r, p)
