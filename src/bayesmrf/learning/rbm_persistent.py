"""Restricted Boltzmann machines by persistent contrastive divergence (Tieleman 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from ..compiled import leaf
from ..declare.option import Checked, option
from ..declare.rule import STATES
from ..errors import DivergenceError
from ..models.rbm import RestrictedBoltzmann
from ..samplers.rbm_gibbs import draw_units, generators, mean_units
from ..threads import one_thread

_DIVERGED = 1e6
_START = 0.01  # standard deviation of the weights at the start: equal hidden units would stay equal


class RBMState(NamedTuple):
    """State between calls: the last estimate, the hidden units of the persistent chains, their generators."""

    theta: np.ndarray  # (n_features,)
    hidden: np.ndarray  # (n_chains, n_hidden) float32
    lanes: np.ndarray  # (4, 64) uint32


@dataclass(frozen=True)
class PersistentRBM(Checked):
    r"""Stochastic ascent of the likelihood, or of the posterior, with persistent block Gibbs chains.

    .. math:: \theta \leftarrow \theta + \gamma_t \Big(\frac1B \sum_n E[s \mid x_n] - \frac1C \sum_c E[s \mid x_c]
              - \lambda \theta\Big)

    over a batch of B rows and C chains, which take one sweep for each update.

    Parameters
    ----------
    model : RestrictedBoltzmann
    penalty : float
        lambda; 1 / (N sigma^2) makes the fixed point the mode of the posterior under the prior N(0, sigma^2).
    """

    model: RestrictedBoltzmann
    n_chains: int = option(100, STATES, "Persistent chains C.")
    batch_size: int = option(100, STATES, "Rows B of an update.")
    penalty: float = 0.0

    def start(self, states: np.ndarray, rng: np.random.Generator) -> RBMState:
        """Start from small random weights, visible biases that fit the margins of ``states``, and random chains."""
        model, n = self.model, len(states)
        weights = _START * rng.standard_normal((model.n_hidden, model.n_visible))
        visible = logit((states.sum(axis=0) + 0.5) / (n + 1))  # half an observation from the boundary
        hidden = rng.integers(0, 2, size=(self.n_chains, model.n_hidden)).astype(np.float32)
        return RBMState(model.join(weights, visible, np.zeros(model.n_hidden)), hidden, generators(rng))

    @one_thread()
    def fit(self, state: RBMState, states: np.ndarray, rates: np.ndarray, rng: np.random.Generator) -> RBMState:
        """Update once for each of ``rates``, on batches of rows of ``states`` that are shuffled in every pass.

        Chains are advanced in place.

        Raises
        ------
        DivergenceError
            If a parameter exceeds 1e6 in absolute value.
        """
        # Copies: the leaf overwrites them.
        w, alpha, beta = (np.array(part, np.float32) for part in self.model.split(state.theta))
        rates, done = np.asarray(rates, dtype=np.float32), 0
        n_batches = -(-len(states) // self.batch_size)
        while done < len(rates):
            part = rates[done : done + n_batches]
            order = rng.permutation(len(states))
            size, penalty = min(self.batch_size, len(states)), np.float32(self.penalty)
            _ascend(w, alpha, beta, state.hidden, state.lanes, states, order, size, part, penalty)
            done += len(part)
        theta = self.model.join(w, alpha, beta)
        if not (np.abs(theta) < _DIVERGED).all():
            raise DivergenceError(f"learning_rate must be smaller than {rates.max():g}: parameters exceeded "
                                  f"{_DIVERGED:g}; use a tenth of it.")  # fmt: skip
        return state._replace(theta=theta)


@leaf
def _ascend(w, alpha, beta, z, lanes, states, order, batch_size, rates, penalty):
    n_hidden, n_visible = w.shape
    n_chains = len(z)
    x = np.empty((batch_size, n_visible), np.float32)
    h = np.empty((batch_size, n_hidden), np.float32)
    field = np.empty((n_chains, n_visible), np.float32)
    v = np.empty_like(field)
    g = np.empty((n_chains, n_hidden), np.float32)
    positive, negative = np.empty_like(w), np.empty_like(w)
    for t in range(len(rates)):
        rows = order[t * batch_size : (t + 1) * batch_size]
        n = len(rows)
        for i in range(n):
            for d in range(n_visible):
                x[i, d] = states[rows[i], d]
        np.dot(x[:n], w.T, h[:n])
        mean_units(h[:n], beta)
        np.dot(h[:n].T, x[:n], positive)
        np.dot(z, w, field)
        draw_units(field, alpha, lanes, v)
        np.dot(v, w.T, g)
        draw_units(g, beta, lanes, z)
        np.dot(g.T, v, negative)
        a, b, c = rates[t] / np.float32(n), rates[t] / np.float32(n_chains), rates[t] * penalty
        for k in range(n_hidden):
            for d in range(n_visible):
                w[k, d] += a * positive[k, d] - b * negative[k, d] - c * w[k, d]
        _move(alpha, x[:n], v, a, b, c)
        _move(beta, h[:n], g, a, b, c)


@leaf
def _move(bias, data, model, a, b, c):
    for j in range(len(bias)):
        bias[j] -= c * bias[j]
    for i in range(len(data)):
        for j in range(len(bias)):
            bias[j] += a * data[i, j]
    for i in range(len(model)):
        for j in range(len(bias)):
            bias[j] -= b * model[i, j]
