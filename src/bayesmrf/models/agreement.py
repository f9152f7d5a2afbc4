"""The model of Liu and Page (2013): one agreement parameter for each edge, and optional node fields."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graphs import Graph
from .pairwise import Pairwise, edge_statistics, pairwise


@dataclass(frozen=True, eq=False)
class Agreement:
    """Binary field in which edge c = (u, v) agrees with its own strength.

    .. math:: p(x \\mid \\theta) \\propto \\prod_c a_c^{[x_u = x_v]} (1 - a_c)^{[x_u \\ne x_v]} \\, e^{\\sum_u h_u x_u},

    (Liu and Page 2013, section 2), with agreement :math:`a_c = 1 / (1 + e^{-\\theta_c})`. Natural parameters are
    theta = (logit a_1, ..., logit a_r[, h_1, ..., h_d]) and the statistics are ([x_u = x_v] for each edge[, x_u in
    {-1, +1} for each node]). The normaliser belongs to exp(theta . s), that is without the constant factors 1 - a_c.

    Parameters
    ----------
    graph : Graph
    fields : bool
        Whether nodes have a field h_u of their own. Without, the model is symmetric under flipping all nodes.
    """

    graph: Graph
    fields: bool = False

    name = "agreement"

    @property
    def n_edges(self) -> int:
        """Number of edge features, which come first in theta."""
        return self.graph.n_edges

    @property
    def n_features(self) -> int:
        """Length of theta."""
        return self.graph.n_edges + (self.graph.n_nodes if self.fields else 0)

    @property
    def feature_names(self) -> list[str]:
        """``u-v`` for an edge, ``u`` for a node."""
        return self.graph.edge_names + (list(self.graph.names) if self.fields else [])

    @property
    def feature_low(self) -> np.ndarray:
        """Smaller of the two values of each feature; the larger is 1."""
        return np.concatenate([np.zeros(self.n_edges), np.full(self.n_features - self.n_edges, -1.0)])

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Mean statistics of ``states`` (n_samples, n_nodes) in {0, 1}, rows weighted by ``weights``."""
        agree, ones = edge_statistics(self.graph, states, weights)
        return np.concatenate([agree, 2 * ones - 1]) if self.fields else agree

    def pairwise(self, theta: np.ndarray) -> Pairwise:
        """Compiled form: [x_u = x_v] = (1 + x_u x_v) / 2, so the coupling is theta_c / 2."""
        half = theta[: self.n_edges] / 2
        field = theta[self.n_edges :] if self.fields else np.zeros(self.graph.n_nodes)
        return pairwise(self.graph, half, field, half.sum())

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Moments of the statistics from E[x_u x_v] and E[x_u]."""
        agree = (1 + pair) / 2
        return np.concatenate([agree, node]) if self.fields else agree
