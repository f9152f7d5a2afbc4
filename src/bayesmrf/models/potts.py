"""The Potts model: nodes with m states, and edges that reward agreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base import POTTS
from .categorical import Categorical, ManyStateModel, categorical, node_statistics
from .pairwise import edge_statistics
from .shapes import require_shape


@dataclass(frozen=True, eq=False)
class Potts(ManyStateModel):
    r"""Field over states {0, ..., m - 1} (Potts 1952, with fields).

    .. math:: p(x \mid \theta) \propto
              \exp\Big(\sum_{(u,v)} J_{uv} [x_u = x_v] + \sum_i \sum_{k=1}^{m-1} h_{ik} [x_i = k]\Big)

    with theta = (J of each edge, then h_{i1}, ..., h_{i,m-1} of each node). State 0 is the reference, whose field is 0.
    Every feature is 0 or 1, so its moment gives the change of log Z under any change of its parameter. Parameters are
    those of `ManyStateModel`.
    """

    name = "potts"
    family = POTTS

    @property
    def category(self) -> np.ndarray:
        """1 for the pairs of states that agree, else 0, (m, m)."""
        return np.eye(self.n_states, dtype=np.int64)

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of weighted ``states`` (n_samples, n_nodes) in {0, ..., m - 1}."""
        shares = node_statistics(states, self.n_states, weights)
        return self.moments(edge_statistics(self.graph, states, weights)[0], shares)

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form."""
        require_shape("theta", theta, (self.n_features,))
        return categorical(self.graph, theta[: self.n_edges], self.field_table(theta[self.n_edges :]))

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments of the statistics from P(x_u = x_v) of each edge and P(x_i = k), (n_nodes, m)."""
        return self._features(pair, node)
