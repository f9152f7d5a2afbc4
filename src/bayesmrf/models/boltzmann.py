"""The Boltzmann machine: weights and biases over {0, 1}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import BINARY
from .bases import PairwiseModel
from .node_features import require_shape


@dataclass(frozen=True, eq=False)
class Boltzmann(PairwiseModel):
    r"""Binary field over s in {0, 1} (Murray and Ghahramani 2004, eq. 3, with biases).

    .. math:: p(s \mid W, b) \propto \exp\Big(\sum_{(i,j)} W_{ij} s_i s_j + \sum_i b_i s_i\Big)

    (Chen and Welling 2012 structure, eq. 1) with theta = (W of each edge[, b of each node]). By s = (1 + x) / 2 it is
    the Ising model with J = W / 4 and h_i = b_i / 2 + sum_j W_ij / 4. Parameters are those of `PairwiseModel`.
    """

    name = "boltzmann"
    about = "weights and biases over {0, 1}"
    edge_features = np.array([[[0.0, 0.0], [0.0, 1.0]]])
    node_features = np.array([[0.0, 1.0]])


def has_these_features(model: Any) -> bool:
    """Return whether a model has the form and the features of the Boltzmann machine, whatever its class."""
    same = model.family == BINARY and np.array_equal(model.edge_values, [[0.0, 0.0], [0.0, 1.0]])
    return same and model.node_values == (0.0, 1.0)


class Coding(NamedTuple):
    r"""How the parameters of a binary model are coded, relative to those of the Boltzmann machine.

    With f the feature of an edge, y that of a node, and :math:`s \in \{0, 1\}` the states of the nodes,

    .. math:: f(s_u, s_v) = \omega s_u s_v + \delta (s_u + s_v) + f(0, 0), \qquad y(s_u) = \eta s_u + y(0),

    so that the weights are :math:`W = \omega \theta_{uv}` and the biases :math:`b_u = \eta \theta_u + \delta \sum_v
    \theta_{uv}`. :math:`\omega` is 1 for the Boltzmann machine, 4 for the Ising model and 2 for logits of agreement.

    Parameters
    ----------
    edge, shift, node : float
        :math:`\omega`, :math:`\delta` and :math:`\eta`; for more than two states, those of the first two, but
        :math:`\omega` is positive, and of the first two states between which edges have log odds.
    """

    edge: float
    shift: float
    node: float

    @property
    def centre(self) -> float:
        r"""What is added to both states in the product that an edge rewards, :math:`\delta / \omega`."""
        return self.shift / self.edge

    @classmethod
    def of(cls, model: Any) -> Coding:
        """Return the coding of a model with ``edge_values`` and ``node_values``, or with tables of log odds ratios."""
        if model.n_parameters is None:
            return cls(1.0, 0.0, 1.0)
        f, (low, high) = model.edge_values, model.node_values
        edge = f[0, 0] - 2 * f[0, 1] + f[1, 1]
        if model.n_states > 2:
            odds = np.abs(f.diagonal()[:, None] - 2 * f + f.diagonal())[np.triu_indices(len(f), 1)]
            edge = next((value for value in odds if value > 0), 1.0)
        return cls(float(edge), float(f[0, 1] - f[0, 0]), float(high - low))

    def weights(self, model: Any, theta: np.ndarray) -> np.ndarray:
        """Return the weights and biases (n_features,) of the Boltzmann machine with the distribution of theta."""
        require_shape("theta", theta, (model.n_features,))
        edge, node = theta[: model.n_edges], theta[model.n_edges :]
        return np.concatenate([self.edge * edge, self.node * node + self.shift * _sums(model, edge)])

    def theta(self, model: Any, weights: np.ndarray) -> np.ndarray:
        """Return the parameters of ``model`` with the distribution of ``weights`` and biases; see `weights`."""
        require_shape("weights", weights, (model.n_features,))
        edge = weights[: model.n_edges] / self.edge
        return np.concatenate([edge, (weights[model.n_edges :] - self.shift * _sums(model, edge)) / self.node])

    def features(self, model: Any, s_bar: np.ndarray) -> np.ndarray:
        """Return the mean statistics of ``model`` for data with those of the Boltzmann machine; see `statistics`."""
        r, (low, _), (u, v) = model.n_edges, model.node_values, model.graph.edges.T
        node = s_bar[r:]
        edge = self.edge * s_bar[:r] + self.shift * (node[u] + node[v]) + model.edge_values[0, 0]
        return np.concatenate([edge, self.node * node + low])

    def statistics(self, model: Any, s_bar: np.ndarray) -> np.ndarray:
        """Return the mean statistics of the Boltzmann machine for data with those of ``model``."""
        r, (low, _) = model.n_edges, model.node_values
        u, v = model.graph.edges.T
        node = (s_bar[r:] - low) / self.node
        edge = (s_bar[:r] - model.edge_values[0, 0] - self.shift * (node[u] + node[v])) / self.edge
        return np.concatenate([edge, node])


def regression_on_ends(s_bar: np.ndarray, n_samples: float, edges: np.ndarray) -> np.ndarray:
    r"""Return the coefficients of x_u and x_v, (n_edges, 2), in the regression of x_u x_v on both in the data.

    One observation is added to those with the mean statistics ``s_bar``, evenly over the states. For independent ends
    the coefficients are the means of v and of u; for a rare node u, that of x_u is nearly the mean of x_v where
    :math:`x_u = 1`.
    """
    r, (u, v) = len(edges), edges.T
    both, p = (n_samples * s_bar[:r] + 0.25) / (n_samples + 1), (n_samples * s_bar[r:] + 0.5) / (n_samples + 1)
    p_u, p_v = p[u], p[v]
    shared, own_u, own_v = both - p_u * p_v, p_u * (1 - p_u), p_v * (1 - p_v)
    numerators = np.column_stack([(1 - p_u) * own_v - shared * (1 - p_v), (1 - p_v) * own_u - shared * (1 - p_u)])
    return numerators * (both / (own_u * own_v - shared**2))[:, None]


def _sums(model: Any, edge: np.ndarray) -> np.ndarray:
    """Sum a value of each edge over the edges of each node."""
    ends = model.graph.edges.T.ravel()
    return np.bincount(ends, np.tile(edge, 2), minlength=model.graph.n_nodes)
