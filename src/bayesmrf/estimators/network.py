"""The network of a fitted model, for networkx and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..graphs import Graph
from .fitted import Fitted

if TYPE_CHECKING:
    import networkx as nx

# Attributes of edges and of nodes of ``graph_``, and those of the estimator that they come from, where it has them.
_OF_EDGES = {"agreement": "agreement_", "group": "groups_", "potential": "potential_"}
_OF_NODES = {"group": "field_groups_"}


class Network(Fitted):
    """``graph_``, ``edges_`` and ``feature_names_``, the same of all estimators.

    ``edges_``, (n_edges, 2), has the numbers of the ends of each edge; its order is that of all arrays of edges.
    """

    theta_: np.ndarray
    edges_: np.ndarray
    _graph: Graph
    _model: Callable[..., Any]  # returns the model on a graph, or on that of the data

    @property
    def _inclusion(self) -> np.ndarray | None:
        """Inclusion of each edge (n_edges,); None if no edge may be absent."""
        found = self._of_fit.get("inclusion_")
        return None if found is None else found[tuple(self.edges_.T)]

    def _symmetric(self, values: np.ndarray) -> np.ndarray:
        """Return a value of each edge as a symmetric matrix."""
        found = np.zeros((self._graph.n_nodes, self._graph.n_nodes))
        u, v = self._graph.edges.T
        found[u, v] = found[v, u] = values
        return found

    @property
    def feature_names_(self) -> np.ndarray:
        """Names of the entries of ``theta_``: ``u-v`` for an edge, ``u`` for a node; (n_features,) array of str."""
        check_is_fitted(self)
        return np.array(self._model().feature_names, dtype=object)

    @property
    def graph_(self) -> nx.Graph:
        """The network: edges and nodes with what was estimated of them as attributes.

        Where edges may be absent, it has those with an inclusion above 0.5. Edges carry ``index`` (their row in
        ``edges_``), ``weight`` (that of ``theta_``, an array where an edge has several parameters) and, where the
        estimator has them, ``inclusion``, ``agreement``, ``group`` and ``potential``. Nodes carry ``bias`` where there
        are fields (an array where nodes have more than two states), and ``group`` where fields are grouped.
        """
        check_is_fitted(self)
        found, inclusion = self._of_fit, self._inclusion
        edges, nodes = ({k: found[v] for k, v in of.items() if v in found} for of in (_OF_EDGES, _OF_NODES))
        if inclusion is not None:
            edges["inclusion"] = inclusion
        network = self._network(self.theta_, edges, nodes)
        if inclusion is not None:
            weak = [(u, v) for u, v, share in network.edges(data="inclusion") if share <= 0.5]
            network.remove_edges_from(weak)
        return network

    def _network(
        self, theta: np.ndarray, edges: dict[str, np.ndarray] | None = None, nodes: dict[str, Any] | None = None
    ) -> nx.Graph:
        """Return the graph with theta, and other arrays, as attributes of edges and nodes."""
        model, graph = self._model(), self._graph
        own = model.n_parameters * model.n_edges
        edges = {"weight": theta[:own].reshape(model.n_edges, model.n_parameters)} | (edges or {})
        if model.fields:
            nodes = {"bias": np.split(theta, model.node_starts[:-1])[1:]} | (nodes or {})
        network = graph.to_networkx()
        for name, values in edges.items():
            for (u, v), value in zip(self.edges_, values, strict=True):
                network.edges[graph.names[u], graph.names[v]][name] = _plain(value)
        for name, values in (nodes or {}).items():
            for node, value in zip(graph.names, values, strict=True):
                network.nodes[node][name] = _plain(value)
        return network


def _plain(value: Any) -> Any:
    """A number of Python where there is one, else the array."""
    return value.item() if np.size(value) == 1 else np.asarray(value)
