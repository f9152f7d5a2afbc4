r"""The pseudo-likelihood (Besag 1975) in the place of the likelihood, as if an engine had said so.

.. math:: \log PL(\theta) = \sum_n \sum_i \log P(x_i^{(n)} \mid x_{-i}^{(n)})
          \quad\text{is written}\quad N (\theta \cdot \bar s - \log Z_{PL}(\theta)),

which defines a log Z that depends on the data, and moments that are its gradient. Every sampler that works with log Z
or moments then samples the pseudo-posterior, which is *not* the posterior: its standard deviations are too small, by
about 0.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base import LOG_Z, MOMENTS, Inference, Kind, Model
from ..compiled import strict_leaf
from ..errors import DataError, OptionError
from ..models.categorical import refuse_categorical


@dataclass(frozen=True, eq=False)
class PseudoLikelihood:
    """Engine whose log Z turns the likelihood into the pseudo-likelihood of the data it holds.

    Parameters
    ----------
    states : (n_samples, n_nodes) array in {0, 1}
        The very data that the likelihood is of.
    weights : (n_samples,) array, optional
        How many times each row counts.
    """

    states: np.ndarray = field(repr=False)
    weights: np.ndarray | None = field(default=None, repr=False)

    name = "pseudo-likelihood"
    answers = frozenset({LOG_Z, MOMENTS})
    kind = Kind.APPROXIMATE

    def prepare(self, model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Equal rows merged into one with a weight, and the mean statistics; categorical models are refused."""
        refuse_categorical(self.name, model)
        if np.ndim(self.states) != 2 or np.shape(self.states)[1] != model.graph.n_nodes or not len(self.states):
            raise DataError(f"states: shape {np.shape(self.states)} came, (n_samples, {model.graph.n_nodes}) is wanted")
        rows, index = np.unique(np.asarray(self.states, dtype=np.int8), axis=0, return_inverse=True)
        w = np.bincount(index.ravel(), self.weights, minlength=len(rows)).astype(np.float64)
        return rows, w, model.statistics(rows, w)

    def start(self, model: Model, rng: np.random.Generator) -> None:
        """No memory."""

    def infer(self, model: Model, theta: np.ndarray, plan: Any, want: str = MOMENTS, state: Any = None) -> Inference:
        """Log Z and moments in the sense of the module."""
        rows, w, s_bar = plan
        value, by_pair, by_node = value_and_scores(model.pairwise(theta), rows, w)
        n = w.sum()
        # The statistics are affine in (x_u x_v, x_u), and so are moments; their linear part carries derivatives to
        # theta.
        zero = model.moments(np.zeros_like(by_pair), np.zeros_like(by_node))
        score = model.moments(by_pair, by_node) - zero
        return Inference(log_z=float(theta @ s_bar - value / n), moments=s_bar - score / n)

    def sample(
        self, model: Model, theta: np.ndarray, plan: Any, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Refuse: a pseudo-likelihood is no law of states."""
        raise OptionError("engine 'pseudo-likelihood': 'sample' was asked, only 'log_z' and 'moments' are answered; "
                          "take an engine that answers 'sample', such as 'elimination' or 'gibbs'")  # fmt: skip


@strict_leaf
def value_and_scores(model, states, weights):
    """Log pseudo-likelihood and its derivatives by the couplings and the fields.

    With m_i = h_i + sum_j J_ij x_j the derivative by h_i is x_i - tanh(m_i), that by J_uv is
    (x_u - tanh m_u) x_v + (x_v - tanh m_v) x_u.
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
