"""The Potts model: nodes with m states, and edges that reward agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from ..errors import OptionError
from ..graphs import Graph
from .categorical import MANY_STATES, Categorical, categorical
from .pairwise import edge_statistics


@dataclass(frozen=True, eq=False)
class Potts:
    r"""Field over states {0, ..., m - 1} (Potts 1952, with fields).

    .. math:: p(x \mid \theta) \propto
              \exp\Big(\sum_{(u,v)} J_{uv} [x_u = x_v] + \sum_i \sum_{k=1}^{m-1} h_{ik} [x_i = k]\Big)

    with theta = (J of each edge, then h_{i1}, ..., h_{i,m-1} of each node). State 0 is the reference, whose field is 0.
    Every feature is 0 or 1, so that one moment gives the change of log Z under any change of one parameter.

    Parameters
    ----------
    graph : Graph
    n_states : int
        Number m of states of each node.
    """

    graph: Graph
    n_states: int

    name = "potts"
    fields = True

    def __post_init__(self) -> None:
        if not isinstance(self.n_states, int | np.integer) or not 2 <= self.n_states <= 127:
            raise OptionError(f"n_states: {self.n_states!r} came, a whole number from 2 to 127 is wanted")

    @property
    def n_edges(self) -> int:
        """Number of edge features, which come first in theta."""
        return self.graph.n_edges

    @property
    def n_features(self) -> int:
        """Length of theta."""
        return self.graph.n_edges + self.graph.n_nodes * (self.n_states - 1)

    @property
    def feature_names(self) -> list[str]:
        """``u-v`` for an edge, ``u=1`` to ``u=m-1`` for a node."""
        return self.graph.edge_names + [f"{u}={k}" for u in self.graph.names for k in range(1, self.n_states)]

    @property
    def feature_low(self) -> np.ndarray:
        """Smaller of the two values of each feature; the larger is 1."""
        return np.zeros(self.n_features)

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Mean statistics of ``states`` (n_samples, n_nodes) in {0, ..., m - 1}, rows weighted by ``weights``."""
        agree, _ = edge_statistics(self.graph, states, weights)
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        node = np.stack([w @ (states == k) for k in range(self.n_states)], axis=1) / w.sum()
        return self.moments(agree, node)

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Compiled form."""
        field = np.zeros((self.graph.n_nodes, self.n_states))
        field[:, 1:] = theta[self.n_edges :].reshape(self.graph.n_nodes, self.n_states - 1)
        return categorical(self.graph, theta[: self.n_edges], field)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Moments of the statistics from P(x_u = x_v) of each edge and P(x_i = k), (n_nodes, m)."""
        return np.concatenate([pair, node[:, 1:].ravel()])

    def pairwise(self, theta: np.ndarray) -> NoReturn:
        """Refuse, on behalf of all that works on binary models only."""
        raise OptionError(f"model 'potts': nodes have {self.n_states} states, and this is for binary models; engines "
                          f"that take many states: {', '.join(MANY_STATES)}")  # fmt: skip
