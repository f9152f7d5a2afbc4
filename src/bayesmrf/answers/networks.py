"""Networks for networkx: edges and nodes with what was estimated of them as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs import Graph
from ..models.bases import edge_starts
from ..results.median_model import median_network

if TYPE_CHECKING:
    import networkx as nx


def with_attributes(
    graph: Graph,
    model: Any,
    theta: np.ndarray,
    edges: dict[str, Any] | None = None,
    nodes: dict[str, Any] | None = None,
) -> nx.Graph:
    """Return a graph with theta, and other arrays, as attributes of edges and nodes."""
    edges = {"weight": np.split(theta, edge_starts(model)[1:])[:-1]} | (edges or {})
    if model.fields:
        nodes = {"bias": np.split(theta, model.node_starts[:-1])[1:]} | (nodes or {})
    network = graph.to_networkx()
    for name, values in edges.items():
        for (u, v), value in zip(graph.edges, values, strict=True):
            network.edges[graph.names[u], graph.names[v]][name] = _plain(value)
    for name, values in (nodes or {}).items():
        for node, value in zip(graph.names, values, strict=True):
            network.nodes[node][name] = _plain(value)
    return network


def of_differences(graph: Graph, weights: np.ndarray, inclusion: np.ndarray) -> nx.Graph:
    """Return the edges in which groups of people differ with a probability above 0.5.

    Parameters
    ----------
    graph : Graph
    weights : (n_groups, n_nodes, n_nodes) array
    inclusion : (n_nodes, n_nodes) array
        Of the differences.
    """
    network, (first, *others) = graph.to_networkx(), weights
    for u, v in graph.edges:
        difference = np.array([w[u, v] - first[u, v] for w in others])
        network.edges[graph.names[u], graph.names[v]].update(
            inclusion=float(inclusion[u, v]),
            difference=float(difference[0]) if len(others) == 1 else difference,
        )
    return median_network(network)


def symmetric(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Return a value of each edge as a symmetric matrix."""
    matrix = np.zeros((graph.n_nodes, graph.n_nodes))
    u, v = graph.edges.T
    matrix[u, v] = matrix[v, u] = values
    return matrix


def _plain(value: Any) -> Any:
    """A number of Python where there is one, else the array."""
    return value.item() if np.size(value) == 1 else np.asarray(value)
