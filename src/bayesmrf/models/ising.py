"""The Ising model: couplings and fields over {-1, +1}."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..graphs import Graph
from .pairwise import Pairwise, edge_statistics, pairwise


@dataclass(frozen=True, eq=False)
class Ising:
    r"""Binary field over x in {-1, +1}.

    .. math:: p(x \mid \theta) \propto \exp\Big(\sum_{(u,v)} J_{uv} x_u x_v + \sum_u h_u x_u\Big)

    with theta = (J of each edge[, h of each node]).

    Parameters
    ----------
    graph : Graph
    fields : bool
        Whether nodes have a field h_u of their own.
    """

    graph: Graph
    fields: bool = True

    name = "ising"

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
        return np.full(self.n_features, -1.0)

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Mean statistics of ``states`` (n_samples, n_nodes) in {0, 1}, rows weighted by ``weights``."""
        agree, ones = edge_statistics(self.graph, states, weights)
        return np.concatenate([2 * agree - 1, 2 * ones - 1]) if self.fields else 2 * agree - 1

    def pairwise(self, theta: np.ndarray) -> Pairwise:
        """Compiled form."""
        field = theta[self.n_edges :] if self.fields else np.zeros(self.graph.n_nodes)
        return pairwise(self.graph, theta[: self.n_edges], field, 0.0)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Moments of the statistics from E[x_u x_v] and E[x_u]."""
        return np.concatenate([pair, node]) if self.fields else pair
