"""Constants of an iteration of single-edge birth and death (`bayesmrf.posterior.edges.two_states`), from the data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...models.boltzmann import Coding
from ..conditionals.centred import CentredLines
from ..conditionals.spike import EdgePrior

_RARE = 8.0  # chains expected in a state; below, states are not counted
_POWER = 4  # of the correlation matrix of the data, from which sets of nodes are drawn


class TwoStatesProblem(NamedTuple):
    """Constants of an iteration."""

    prior: EdgePrior
    lines: CentredLines
    now: np.ndarray  # (n_features,) precision of a normal prior of each parameter, at present
    coding: Coding
    ends: np.ndarray  # (n_edges, 2), in the feature x_u x_v - k_u x_u - k_v x_v that changes with an edge
    counted: np.ndarray  # (n_edges,) bool, whether the chains in the states of the pair are counted
    share: np.ndarray  # (n_edges,) of draws with the edge, moderate
    rate: float  # proposals for an uncertain edge in an iteration, and of swaps to an edge that is certain
    joint_rate: float  # the same of two edges together
    pairs: np.ndarray  # (n_pairs, 2), rival edges
    joint: np.ndarray  # (n_joint, 2), those to nodes that are so similar that both edges are born and die together
    alike: np.ndarray  # (n_alike, 2), those to two nodes that are almost equal
    correlation: np.ndarray  # (n_nodes, n_nodes), a power of that of the data


class DataMoments(NamedTuple):
    """Means of nodes, and of products of the ends of edges, over {0, 1}."""

    centre: np.ndarray
    both: np.ndarray


def data_moments(model: Any, s_bar: np.ndarray, n: float) -> DataMoments:
    """Return the moments of n observations with mean statistics ``s_bar``."""
    r = model.n_edges
    sums = n * Coding.of(model).statistics(model, s_bar)
    # One observation is added, evenly over the states, so that a constant node has a line, too.
    return DataMoments((sums[r:] + 0.5) / (n + 1), (sums[:r] + 0.25) / (n + 1))


def together(edges: np.ndarray, moments: DataMoments) -> np.ndarray:
    """Return a power of the correlation matrix, (n_nodes, n_nodes), in which nodes that change together stand out."""
    centre, both = moments
    u, v = edges.T
    spread, correlations = np.sqrt(centre * (1 - centre)), np.eye(len(centre))
    correlations[u, v] = correlations[v, u] = (both - centre[u] * centre[v]) / (spread[u] * spread[v])
    return np.linalg.matrix_power(correlations, _POWER)


def pair_tables_of(moments: DataMoments, edges: np.ndarray) -> np.ndarray:
    """Return the shares of the data in the states of the ends of each edge, (n_edges, 2, 2).

    With missing answers means of nodes and of pairs are of different rows: no share is negative.
    """
    (c_u, c_v), both = moments.centre[edges.T], moments.both
    table = np.maximum([[1 - c_u - c_v + both, c_v - both], [c_u - both, both]], 0.0).transpose(2, 0, 1)
    return np.asarray(table / table.sum(axis=(1, 2), keepdims=True))


def has_rare_state(u: np.ndarray, v: np.ndarray, moments: DataMoments, n_chains: float) -> np.ndarray:
    """Return whether few of the chains are expected in a state of the pair, with its edge or without.

    The model with the edge is near the data, the one without it near independent nodes.
    """
    centre, both = moments
    c_u, c_v = centre[u], centre[v]
    cells = [both, c_u - both, c_v - both, 1 - c_u - c_v + both]
    cells += [c_u * c_v, c_u * (1 - c_v), (1 - c_u) * c_v, (1 - c_u) * (1 - c_v)]
    return np.min(cells, axis=0) * n_chains < _RARE
