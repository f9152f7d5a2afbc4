r"""The restricted Boltzmann machine: visible and hidden units over {0, 1}, with edges between the two kinds only.

.. math:: p(x, z) \propto \exp(z^T W x + \beta^T z + \alpha^T x)

(Chen and Welling 2012 evidence, eq. 8). Hidden units are independent given the visible ones and vice versa, so that Z
is a sum over the states of the smaller side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from ..base import LOG_Z, MOMENTS, RBM, Inference
from ..data.states import check_codes
from ..declare.option import Checked, needs
from ..declare.rule import integer
from ..errors import DataError, TooWideError
from ..graphs import Graph
from .boltzmann import Boltzmann
from .categorical import draw_numbers, normalised
from .node_features import require_shape

_ROWS = 2**13  # states of the smaller side that are in memory at once


class RBMWeights(NamedTuple):
    """theta by its parts."""

    weights: np.ndarray  # (n_hidden, n_visible), W
    visible: np.ndarray  # (n_visible,), alpha
    hidden: np.ndarray  # (n_hidden,), beta


@dataclass(frozen=True, eq=False)
class HiddenGivenVisible:
    """Hidden units given some rows x of the visible ones, independent of each other.

    The statistics are s(x, z) = (z_k x_d row by row, x_d, z_k).

    Parameters
    ----------
    states : (n, n_visible) float array
    fields : (n, n_hidden) array
        beta_k + W_k x, the log odds of z_k = 1.
    visible : (n_visible,) array
        alpha.
    """

    states: np.ndarray
    fields: np.ndarray
    visible: np.ndarray

    @property
    def log_weights(self) -> np.ndarray:
        """Log of the sum over z of exp(theta . s(x, z)), for each row."""
        return self.states @ self.visible + np.logaddexp(0, self.fields).sum(axis=1)

    @cached_property
    def probabilities(self) -> np.ndarray:
        """P(z_k = 1 | x) of each row, (n, n_hidden)."""
        return expit(self.fields)

    def mean(self) -> np.ndarray:
        """Return E[s(x, z) | x] of each row, (n, n_features)."""
        x, z = self.states, self.probabilities
        return np.hstack([(z[:, :, None] * x[:, None, :]).reshape(len(x), -1), x, z])

    def sum(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of these means, (n_features,), without an array of n F numbers."""
        x, z = self.states, self.probabilities
        return np.concatenate([((z * weights[:, None]).T @ x).ravel(), weights @ x, weights @ z])

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of Cov[s(x, z) | x], (n_features, n_features).

        It has a block for each hidden unit, the sum of p_k (1 - p_k) x x' with x = (x_1, ..., x_D, 1).
        """
        (n, d), k = self.states.shape, self.fields.shape[1]
        x = np.column_stack([self.states, np.ones(n)])
        total = np.zeros((k * d + d + k,) * 2)
        for i, z in enumerate(self.probabilities.T):
            place = np.append(np.arange(i * d, (i + 1) * d), k * d + d + i)
            total[np.ix_(place, place)] = (x * (weights * z * (1 - z))[:, None]).T @ x
        return total


_HIDDEN = integer(1, 10**5, "without hidden units the model is 'independent'")


@dataclass(frozen=True)
class RestrictedBoltzmann(Checked):
    """Visible units x and hidden units z, with theta = (W row by row, alpha, beta)."""

    n_visible: int = field(metadata=needs(integer(1, 10**5), "Number of visible units."))
    n_hidden: int = field(metadata=needs(_HIDDEN, "Number of hidden units."))

    name = family = RBM

    @property
    def n_features(self) -> int:
        """Length of theta."""
        return self.n_visible * self.n_hidden + self.n_visible + self.n_hidden

    @cached_property
    def joint(self) -> Boltzmann:
        """The same model of (x, z), a Boltzmann machine on the complete bipartite graph, with the same theta."""
        k, d = np.divmod(np.arange(self.n_visible * self.n_hidden), self.n_visible)
        names = [f"x{i}" for i in range(self.n_visible)] + [f"z{i}" for i in range(self.n_hidden)]
        return Boltzmann(
            Graph(self.n_visible + self.n_hidden, np.column_stack([d, self.n_visible + k]), tuple(names)), fields=True
        )

    def split(self, theta: np.ndarray) -> RBMWeights:
        """Split theta into its parts."""
        theta = np.asarray(theta, dtype=np.float64)
        parts = f"{self.n_hidden} x {self.n_visible} weights and a bias for each visible and hidden unit"
        require_shape("theta", theta, (self.n_features,), parts)
        n = self.n_visible * self.n_hidden
        return RBMWeights(
            theta[:n].reshape(self.n_hidden, self.n_visible), theta[n : n + self.n_visible], theta[n + self.n_visible :]
        )

    def join(self, weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Join the parts of theta, with the shapes of `RBMWeights`.

        Raises
        ------
        OptionError
            For other shapes, such as that of W transposed.
        """
        require_shape("weights", weights, (self.n_hidden, self.n_visible), "a row for each hidden unit")
        require_shape("visible", visible, (self.n_visible,), "a bias for each visible unit")
        require_shape("hidden", hidden, (self.n_hidden,), "a bias for each hidden unit")
        return np.concatenate([np.ravel(weights), visible, hidden]).astype(np.float64)

    def given(self, theta: np.ndarray, states: np.ndarray) -> HiddenGivenVisible:
        """Return the hidden units given each of ``states`` (n_samples, n_visible) in {0, 1}."""
        w, x = self.split(theta), self._visible(states)
        return HiddenGivenVisible(x, x @ w.weights.T + w.hidden, w.visible)

    def free_energy(self, theta: np.ndarray, states: np.ndarray) -> np.ndarray:
        r"""Return minus the log of the unnormalised probability of each of ``states`` (n_samples, n_visible) in {0, 1}.

        .. math:: F(x) = -\alpha^T x - \sum_k \log(1 + e^{\beta_k + W_k x})
        """
        return -self.given(theta, states).log_weights

    def hidden_probabilities(self, theta: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return P(z_k = 1 | x) of each row, (n_samples, n_hidden)."""
        return self.given(theta, states).probabilities

    def statistics(self, theta: np.ndarray, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean over (weighted) ``states`` of E[s(x, z) | x], s = (z_k x_d, x_d, z_k): the positive phase."""
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        return self.given(theta, states).sum(w / w.sum())

    def exact(self, theta: np.ndarray, want: str = MOMENTS, max_units: int = 20) -> Inference:
        """Compute log Z and, unless ``want`` is "log_z", the moments E[s(x, z)], by the sum over the smaller side.

        Parameters
        ----------
        theta : (n_features,) array
        want : {"moments", "log_z"}
        max_units : int
            Largest number of units on the smaller side.

        Raises
        ------
        TooWideError
            If the sum has more than 2^max_units terms.
        """
        small, large, weights = self._sides(theta, max_units)
        probability, log_z = normalised(_log_weights(small, large, weights))
        if want == LOG_Z:
            return Inference(log_z=log_z)
        pair, one, other, done = np.zeros(weights.shape), np.zeros(len(small)), np.zeros(len(large)), 0
        for rows in _binary(len(small)):
            share = probability[done : done + len(rows)]
            mean = expit(rows @ weights + large)
            pair += (rows * share[:, None]).T @ mean
            one += share @ rows
            other += share @ mean
            done += len(rows)
        if self._hidden_is_small:
            return Inference(log_z=log_z, moments=self.join(pair, other, one))
        return Inference(log_z=log_z, moments=self.join(pair.T, one, other))

    def sample(self, theta: np.ndarray, n_samples: int, rng: np.random.Generator, max_units: int = 20) -> np.ndarray:
        """Sample exact independent states of the visible units, (n_samples, n_visible) int8 in {0, 1}.

        Raises
        ------
        TooWideError
            As in `exact`.
        """
        small, large, weights = self._sides(theta, max_units)
        rows = _digits(draw_numbers(_log_weights(small, large, weights), n_samples, rng), len(small))
        if not self._hidden_is_small:
            return rows.astype(np.int8)
        return (rng.random((n_samples, self.n_visible)) < expit(rows @ weights + large)).astype(np.int8)

    @property
    def _hidden_is_small(self) -> bool:
        return self.n_hidden <= self.n_visible

    def _sides(self, theta: np.ndarray, max_units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Select the biases of the smaller and the larger side, and the weights (smaller, larger)."""
        units = min(self.n_visible, self.n_hidden)
        if units > max_units:
            raise TooWideError(
                f"n_hidden: the exact log Z of {self.n_visible} visible and {self.n_hidden} hidden units is a sum of "
                f"2^{units} terms, more than the 2^{max_units} allowed; estimate it by "
                "bayesmrf.inference.annealed.forward, or use a larger max_units"
            )
        w = self.split(theta)
        return (w.hidden, w.visible, w.weights) if self._hidden_is_small else (w.visible, w.hidden, w.weights.T)

    def _visible(self, states: np.ndarray) -> np.ndarray:
        x = np.asarray(states, dtype=np.float64)
        if x.ndim != 2 or len(x) == 0 or x.shape[1] != self.n_visible:
            raise DataError(f"states must have shape (n_samples, {self.n_visible}) and at least one row, got "
                            f"{x.shape}.")  # fmt: skip
        check_codes(x, 2)
        return x


def _log_weights(small: np.ndarray, large: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Compute the unnormalised log probability of each state of the smaller side, summed over the larger."""
    return np.concatenate([r @ small + np.logaddexp(0, r @ weights + large).sum(axis=1) for r in _binary(len(small))])


def _digits(number: np.ndarray, n_units: int) -> np.ndarray:
    """Make the states with these numbers, unit i being bit i."""
    return (number[:, None] >> np.arange(n_units) & 1).astype(np.float64)


def _binary(n_units: int) -> Iterator[np.ndarray]:
    """Iterate over all states of some units, a block of rows at a time."""
    for first in range(0, 2**n_units, _ROWS):
        yield _digits(np.arange(first, min(first + _ROWS, 2**n_units)), n_units)
