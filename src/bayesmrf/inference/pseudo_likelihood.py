r"""The pseudo-likelihood (Besag 1975) in place of the likelihood, in the form of an engine.

.. math:: \log PL(\theta) = \sum_n \sum_i \log P(x_i^{(n)} \mid x_{-i}^{(n)})
          \quad\text{is written}\quad N (\theta \cdot \bar s - \log Z_{PL}(\theta)),

which defines a log Z that depends on the data, and moments that are its gradient. Samplers that use log Z or moments
then sample the pseudo-posterior, which is *not* the posterior: its standard deviations are too small by a factor of
about 0.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..base import BINARY, LOG_Z, MOMENTS, Inference, Kind, Model, Stateless
from ..compiled import strict_leaf
from ..data.states import States
from ..errors import DataError
from ..models.categorical import binary_form


@dataclass(frozen=True, eq=False)
class PseudoLikelihood(Stateless):
    """Engine whose log Z turns the likelihood into the pseudo-likelihood of its data.

    Parameters
    ----------
    states : (n_samples, n_nodes) array in {0, 1}
        The data of the likelihood; estimators set them.
    weights : (n_samples,) array, optional
        Counts of the rows.
    """

    states: np.ndarray | None = field(default=None, repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)

    name = "pseudo-likelihood"
    answers = frozenset({LOG_Z, MOMENTS})
    families = frozenset({BINARY})
    kind = Kind.APPROXIMATE

    def given(self, states: States) -> PseudoLikelihood:
        """Return the engine with its data."""
        return replace(self, states=states.values, weights=states.weights)

    def prepare(self, model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Merge equal rows into one with a weight, and compute the mean statistics."""
        states = np.asarray(self.states)
        if states.ndim != 2 or states.shape[1] != model.graph.n_nodes or not len(states):
            raise DataError(f"states must be an array of shape (n_samples, {model.graph.n_nodes}), got "
                            f"{'None' if self.states is None else states.shape}.")  # fmt: skip
        rows, index = np.unique(states.astype(np.int8), axis=0, return_inverse=True)
        w = np.bincount(index.ravel(), self.weights, minlength=len(rows)).astype(np.float64)
        return rows, w, model.statistics(rows, w)

    def infer(self, model: Model, theta: np.ndarray, plan: Any, want: str = MOMENTS, state: Any = None) -> Inference:
        """Compute log Z and moments as defined in the module."""
        rows, w, s_bar = plan
        value, by_pair, by_node = value_and_scores(binary_form(model, theta), rows, w)
        n = w.sum()
        # The statistics are affine in (x_u x_v, x_u), and so are moments; their linear part carries derivatives to
        # theta.
        zero = model.moments(np.zeros_like(by_pair), np.zeros_like(by_node))
        score = model.moments(by_pair, by_node) - zero
        return Inference(log_z=float(theta @ s_bar - value / n), moments=s_bar - score / n)


@strict_leaf
def value_and_scores(model, states, weights):
    """Return the log pseudo-likelihood and its derivatives with respect to the couplings and the fields.

    With m_i = h_i + sum_j J_ij x_j the derivative with respect to h_i is x_i - tanh(m_i), and that with respect to J_uv
    is (x_u - tanh m_u) x_v + (x_v - tanh m_v) x_u.
    """
    n_samples, n_nodes = states.shape
    n_edges = len(model.edges)
    value = 0.0
    by_pair = np.zeros(n_edges)
    by_node = np.zeros(n_nodes)
    x = np.empty(n_nodes)
    m = np.empty(n_nodes)
    for s in range(n_samples):
        weight = weights[s]
        for i in range(n_nodes):
            x[i] = 2.0 * states[s, i] - 1.0
            m[i] = model.field[i]
        for e in range(n_edges):
            u, v = model.edges[e, 0], model.edges[e, 1]
            m[u] += model.coupling[e] * x[v]
            m[v] += model.coupling[e] * x[u]
        for i in range(n_nodes):
            z = 2.0 * x[i] * m[i]
            tail = np.exp(-abs(z))
            value -= weight * (np.log1p(tail) + max(0.0, -z))
            # x - tanh(m) = 2 x sigmoid(-z), without cancellation
            m[i] = weight * 2.0 * x[i] * (tail if z > 0 else 1.0) / (1.0 + tail)
            by_node[i] += m[i]
        for e in range(n_edges):
            u, v = model.edges[e, 0], model.edges[e, 1]
            by_pair[e] += m[u] * x[v] + m[v] * x[u]
    return value, by_pair, by_node
