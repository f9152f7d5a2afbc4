"""The Boltzmann machine: weights and biases over {0, 1}."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graphs import Graph
from .pairwise import Pairwise, edge_statistics, pairwise


@dataclass(frozen=True, eq=False)
class Boltzmann:
    r"""Binary field over s in {0, 1} (Murray and Ghahramani 2004, section 2, with biases).

    .. math:: p(s \mid W, b) \propto \exp\Big(\sum_{(i,j)} W_{ij} s_i s_j + \sum_i b_i s_i\Big)

    with theta = (W of each edge, b of each node).

    Parameters
    ----------
    graph : Graph
    """

    graph: Graph

    name = "boltzmann"
    fields = True

    @property
    def n_edges(self) -> int:
        """Number of edge features, which come first in theta."""
        return self.graph.n_edges

    @property
    def n_features(self) -> int:
        """Length of theta."""
        return self.graph.n_edges + self.graph.n_nodes

    @property
    def feature_names(self) -> list[str]:
        """``u-v`` for an edge, ``u`` for a node."""
        return self.graph.edge_names + list(self.graph.names)

    @property
    def feature_low(self) -> np.ndarray:
        """Smaller of the two values of each feature; the larger is 1."""
        return np.zeros(self.n_features)

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Mean statistics of ``states`` (n_samples, n_nodes) in {0, 1}, rows weighted by ``weights``."""
        agree, ones = edge_statistics(self.graph, states, weights)
        return self.moments(2 * agree - 1, 2 * ones - 1)

    def pairwise(self, theta: np.ndarray) -> Pairwise:
        """Compiled form, by s = (1 + x) / 2: J = W / 4 and h_i = b_i / 2 + sum_j W_ij / 4."""
        quarter, half = theta[: self.n_edges] / 4, theta[self.n_edges :] / 2
        u, v = self.graph.edges.T
        n = self.graph.n_nodes
        field = half + np.bincount(u, quarter, minlength=n) + np.bincount(v, quarter, minlength=n)
        return pairwise(self.graph, quarter, field, quarter.sum() + half.sum())

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Moments of the statistics from E[x_u x_v] and E[x_u]: E[s_i s_j] = (1 + E x_i + E x_j + E x_i x_j) / 4."""
        u, v = self.graph.edges.T
        return np.concatenate([(1 + node[u] + node[v] + pair) / 4, (1 + node) / 2])
