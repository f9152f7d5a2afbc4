"""The median probability model: the edges that exist, or differ between groups, with a probability above one half.

Where one model must be chosen, it often predicts best (Barbieri and Berger 2004, Annals of Statistics 32, 870-897).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import networkx as nx

INCLUSION = 0.5  # the probability that the edges of the median probability model exceed
ABOVE = f"inclusion above {INCLUSION:g}"
EDGES = f"edges with an {ABOVE}"
NO_EDGE = f"no edge has an {ABOVE}"


def in_median_model(inclusion: Any) -> np.ndarray:
    """Return which edges are in the median probability model, by their inclusion."""
    return np.asarray(inclusion) > INCLUSION


def median_network(network: nx.Graph) -> nx.Graph:
    """Remove the edges that the median probability model lacks from a network with the edge attribute ``inclusion``."""
    edges: Any = network.edges(data="inclusion")
    network.remove_edges_from([(u, v) for u, v, inclusion in edges if not in_median_model(inclusion)])
    return network


def certainty(inclusion: np.ndarray) -> np.ndarray:
    """Return how sure edges of the median probability model are: from 0 at the threshold to 1."""
    return np.asarray((inclusion - INCLUSION) / (1 - INCLUSION))
