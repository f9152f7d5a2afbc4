"""The Potts model: nodes with m states, and edges that reward agreement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bases import ManyStateModel


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

    @property
    def without_order(self) -> np.ndarray:
        """Whether the names and the order of the categories of a node have no meaning, (n_nodes,)."""
        return np.ones(self.graph.n_nodes, bool)

    @property
    def edge_features(self) -> np.ndarray:
        """1 for the pairs of states that agree, else 0, (1, m, m)."""
        return np.eye(self.n_states)[None]
