"""The compiled form of binary models: a pairwise field over x in {-1, +1}."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from ..base import BINARY
from ..data.states import check_codes
from ..graphs import Graph
from .edge_tables import EdgeTables
from .shapes import require_shape


class Pairwise(NamedTuple):
    """log p~(x) = offset + sum_e coupling_e x_u x_v + sum_i field_i x_i, x in {-1, +1}.

    ``starts``, ``neighbours`` and ``edge_of`` are the compressed rows of the graph (see `bayesmrf.graphs.Adjacency`).
    """

    edges: np.ndarray  # (n_edges, 2) int32
    starts: np.ndarray  # (n_nodes + 1,) int64
    neighbours: np.ndarray  # (2 n_edges,) int32
    edge_of: np.ndarray  # (2 n_edges,) int32
    coupling: np.ndarray  # (n_edges,) float64
    field: np.ndarray  # (n_nodes,) float64
    offset: float


def pairwise(graph: Graph, coupling: np.ndarray, field: np.ndarray, offset: float) -> Pairwise:
    """Collect the arrays and parameters of a graph."""
    return Pairwise(
        *graph.rows,
        np.ascontiguousarray(coupling, dtype=np.float64),
        np.ascontiguousarray(field, dtype=np.float64),
        float(offset),
    )


def log_potential(model: Pairwise, states: np.ndarray) -> np.ndarray:
    """Return the unnormalised log probability of each row of ``states`` (n_samples, n_nodes) in {0, 1}."""
    x = 2.0 * states - 1.0
    u, v = model.edges[:, 0], model.edges[:, 1]
    return model.offset + (x[:, u] * x[:, v]) @ model.coupling + x @ model.field


def edge_statistics(
    graph: Graph, states: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of (weighted) ``states`` in which the ends of each edge agree, and in which each node is 1."""
    # Sums of counts are exact in floating point, so that one division at the end stays in [0, 1].
    w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
    total = w.sum()
    columns = np.ascontiguousarray(states.T)
    u, v = graph.edges.T
    # One block of edges at a time: memory stays O(edges + states).
    block = max(1, 2**24 // max(1, len(states)))
    agree = [
        (columns[u[i : i + block]] == columns[v[i : i + block]]) @ w / total for i in range(0, graph.n_edges, block)
    ]
    return (np.concatenate(agree) if agree else np.zeros(0)), columns @ w / total


class FeatureForm(NamedTuple):
    """Features as polynomials in x: a + b x_u x_v + c (x_u + x_v) for an edge, p + q x_u for a node."""

    a: float
    b: float
    c: float
    p: float
    q: float


@dataclass(frozen=True, eq=False)
class PairwiseModel(EdgeTables):
    """Base class of binary models with a parameter for each edge[, and one for each node].

    They differ in the `FeatureForm` alone; the larger value of each feature is 1. theta has edges first, then nodes.

    Parameters
    ----------
    graph : Graph
    fields : bool
        Whether nodes have parameters (fields or biases). Without, the models of x in {-1, +1} are symmetric under
        flipping all nodes.
    """

    graph: Graph
    fields: bool = True

    name: ClassVar[str]
    form: ClassVar[FeatureForm]
    family: ClassVar[str] = BINARY
    n_states: ClassVar[int] = 2
    n_parameters: ClassVar[int] = 1  # of an edge
    is_product: ClassVar[bool] = False  # see `bayesmrf.models.categorical.ManyStateModel`

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

    @cached_property
    def feature_low(self) -> np.ndarray:
        """Smaller of the two values of each feature; the larger is 1."""
        f = self.form
        return np.repeat([f.a - f.b, f.p - f.q], [self.n_edges, self.n_features - self.n_edges])

    @property
    def feature_high(self) -> np.ndarray:
        """Larger of the two values of each feature."""
        return np.ones(self.n_features)

    @property
    def node_starts(self) -> np.ndarray:
        """Place in theta of the parameter of each node, and the length of theta, (n_nodes + 1,)."""
        return self.n_edges + int(self.fields) * np.arange(self.graph.n_nodes + 1)

    @property
    def edge_values(self) -> np.ndarray:
        """Feature of an edge whose ends are in the states 0 and 1, (2, 2)."""
        f, x = self.form, np.array([-1.0, 1.0])
        return f.a + f.b * np.outer(x, x) + f.c * (x[:, None] + x)

    @property
    def edge_features(self) -> np.ndarray:
        """The one feature of an edge, (1, 2, 2)."""
        return self.edge_values[None]

    @property
    def node_values(self) -> tuple[float, float]:
        """Smaller and larger value of the feature of a node."""
        return self.form.p - self.form.q, self.form.p + self.form.q

    @property
    def node_states(self) -> np.ndarray:
        """State in which the feature of each node is larger, (n_nodes,), or none."""
        return np.ones(self.n_features - self.n_edges, np.int64)

    @property
    def node_features(self) -> np.ndarray:
        """Feature of each node in its two states, (n_nodes, 2), or none."""
        return np.array(self.node_values)[None].repeat(self.n_features - self.n_edges, axis=0)

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of ``states`` (n_samples, n_nodes) in {0, 1}, rows weighted by ``weights``."""
        check_codes(states, 2)
        agree, ones = edge_statistics(self.graph, states, weights)
        return self.moments(2 * agree - 1, 2 * ones - 1)

    def pairwise(self, theta: np.ndarray) -> Pairwise:
        """Return the compiled form: log potential theta . s(x) as a polynomial in x."""
        require_shape("theta", theta, (self.n_features,))
        f, edge, node = self.form, theta[: self.n_edges], theta[self.n_edges :]
        n = self.graph.n_nodes
        field = f.q * node if self.fields else np.zeros(n)
        if f.c:
            u, v = self.graph.edges.T
            field = field + np.bincount(u, f.c * edge, minlength=n) + np.bincount(v, f.c * edge, minlength=n)
        offset = (f.a * edge.sum() if f.a else 0.0) + (f.p * node.sum() if f.p else 0.0)  # 0 times infinity is NaN
        return pairwise(self.graph, f.b * edge, field, offset)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments of the statistics from E[x_u x_v] and E[x_u]."""
        f = self.form
        edge = f.a + f.b * pair
        if f.c:
            u, v = self.graph.edges.T
            edge += f.c * (node[u] + node[v])
        return np.concatenate([edge, f.p + f.q * node]) if self.fields else edge
