"""The ordinal model: nodes with ordered categories, and edges that reward products of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base import TABLES
from ..errors import OptionError
from .categorical import NEVER, Categorical, ManyStateModel, categorical, node_statistics


@dataclass(frozen=True, eq=False)
class Ordinal(ManyStateModel):
    r"""Field over ordered categories (Anderson and Vermunt 2000; Marsman, van den Bergh and Haslbeck 2025).

    .. math:: p(x \mid \theta) \propto
              \exp\Big(\sum_{(u,v)} w_{uv} x_u x_v + \sum_i \sum_{k=1}^{m_i - 1} \mu_{ik} [x_i = k]\Big), \qquad
              x_i \in \{0, \dots, m_i - 1\},

    with theta = (w of each edge, then the thresholds :math:`\mu_{i1}, \dots, \mu_{i,m_i-1}` of each node). Category 0
    is the reference, whose threshold is 0. With two categories everywhere it is the Boltzmann machine.

    Parameters
    ----------
    graph : Graph
    n_states : int
        Largest number of categories of a node.
    fields : bool
        Whether nodes have thresholds.
    sizes : tuple of int or None
        Number m_i of categories of each node, from 2 to ``n_states``; None if all have ``n_states``.
    """

    sizes: Any = None

    name = "ordinal"
    family = TABLES

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sizes is not None and len(self.sizes) != self.graph.n_nodes:
            expected = f"{self.graph.n_nodes} numbers of categories, one for each node"
            raise OptionError(option="sizes", got=self.sizes, expected=expected)
        if self.sizes is not None and max(self.sizes, default=self.n_states) > self.n_states:
            expected = f"at most n_states = {self.n_states} categories of each node"
            raise OptionError(option="sizes", got=self.sizes, expected=expected)

    @cached_property
    def used(self) -> np.ndarray:
        """Whether a node has a category, (n_nodes, n_states)."""
        sizes = np.full(self.graph.n_nodes, self.n_states) if self.sizes is None else np.array(self.sizes, int)
        found: np.ndarray = np.arange(self.n_states) < sizes[:, None]
        return found

    @cached_property
    def node_starts(self) -> np.ndarray:
        """Place in theta of the first threshold of each node, and the length of theta, (n_nodes + 1,)."""
        counts = self.used[:, 1:].sum(axis=1) * int(self.fields)
        return self.n_edges + np.append(0, np.cumsum(counts))

    @property
    def n_features(self) -> int:
        """Length of theta."""
        return int(self.node_starts[-1])

    @property
    def feature_names(self) -> list[str]:
        """``u-v`` for an edge, ``u=1`` to ``u=m-1`` for a node."""
        own = [f"{self.graph.names[u]}={k + 1}" for u, k in np.argwhere(self.used[:, 1:])] if self.fields else []
        return self.graph.edge_names + own

    @property
    def category(self) -> np.ndarray:
        """Number of the feature of an edge among its values 0, 1, ..., (m, m)."""
        values = self.edge_values
        found: np.ndarray = np.searchsorted(np.unique(values), values)
        return found

    @property
    def feature_high(self) -> np.ndarray:
        """Largest value of each feature."""
        most = self.used.sum(axis=1) - 1
        u, v = self.graph.edges.T
        return np.concatenate([most[u] * most[v], np.ones(self.n_features - self.n_edges)]).astype(np.float64)

    @property
    def edge_values(self) -> np.ndarray:
        """Feature of an edge whose ends are in the states 0, ..., m - 1, (m, m)."""
        score = np.arange(self.n_states, dtype=np.float64)
        return np.outer(score, score)

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of weighted ``states`` (n_samples, n_nodes) in {0, ..., m - 1}."""
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        x, (u, v) = states.astype(np.float64), self.graph.edges.T
        # Sums of products of integers are exact.
        products = (w[:, None] * x).T @ x / w.sum()
        return self._features(products[u, v], node_statistics(states, self.n_states, weights))

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form, with a table for each edge; categories that a node does not have get `NEVER`."""
        field = np.where(self.used, 0.0, NEVER)
        if self.fields:
            field[:, 1:][self.used[:, 1:]] = theta[self.n_edges :]
        return categorical(self.graph, theta[: self.n_edges, None, None] * self.edge_values, field)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments of the statistics from P(x_u = k, x_v = l), (n_edges, m, m), and P(x_i = k)."""
        return self._features((pair * self.edge_values).sum(axis=(1, 2)), node)

    def _features(self, edge: np.ndarray, node: np.ndarray) -> np.ndarray:
        return np.concatenate([edge, node[:, 1:][self.used[:, 1:]]]) if self.fields else edge
