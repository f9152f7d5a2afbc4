r"""The log posterior and its second derivative, estimated from states drawn from the model.

From states x(1), ..., x(T) drawn at lambda_0 the log posterior is, up to a constant,

.. math:: -\ell(\lambda) = \sum_n \log Z(x_n, \lambda) - N \log \frac1T \sum_t \tilde w_t + \log p(\lambda), \qquad
          \tilde w_t = \frac{Z(x(t), \lambda)}{Z(x(t), \lambda_0)}

(Chen and Welling 2012 evidence, eq. 6, with the sign of a log density). It is used while the effective sample size of
the weights is at least 0.9 T. Its second derivative (eq. 7 there) is

.. math:: \frac{\partial^2 \ell}{\partial \lambda^2} = N \Big(\sum_t w_t (C_t + m_t m_t^T) - m m^T\Big)
          - \sum_n C_{x_n} + \Lambda^{-1}, \qquad m_t = E[s \mid x(t)], \quad m = \sum_t w_t m_t,

with weights w that sum to 1 and C_t = Cov[s given x(t)]. The bracket is the covariance of the features over visible and
hidden units together, as in eq. 3 there. The printed eq. 7 has the sum of w_t C_t only, without the covariance of m_t,
and is not the derivative.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from .target import Blocks, Target

SHARE = 0.9  # least share of effective states at which weights are used
BATCHES = 10  # of states, whose differences estimate the error
_STATES = 1000  # from which a curvature is estimated


@dataclass(frozen=True, eq=False)
class SampledPosterior:
    """The log posterior up to a constant, estimated from states drawn at one point."""

    target: Target
    penalised: bool  # false omits the prior
    states: np.ndarray  # (n_rows, n_visible), distinct states
    counts: np.ndarray  # (n_rows, BATCHES), how often each state occurs in each batch
    log_weights: np.ndarray  # (n_rows,), log Z(x, lambda_0) of each state

    @classmethod
    def draw(
        cls, target: Target, theta: np.ndarray, n_states: int, rng: np.random.Generator, penalised: bool = True
    ) -> SampledPosterior:
        """Draw T states at ``theta``."""
        drawn = target.sample(theta, n_states, rng)
        two = target.n_states == 2
        packed = np.packbits(drawn.astype(bool), axis=1) if two else drawn  # bits are eight times faster to sort
        _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        counts = np.zeros((len(first), BATCHES))
        np.add.at(counts, (inverse.ravel(), np.arange(n_states) * BATCHES // n_states), 1.0)
        states = drawn[first]
        return cls(target, penalised, states, counts, Blocks(target, states).log_weights(theta))

    @cached_property
    def blocks(self) -> Blocks:
        """Blocks of ``states``."""
        return Blocks(self.target, self.states)

    @property
    def n_states(self) -> float:
        """Number T of states drawn."""
        return float(self.counts.sum())

    @cached_property
    def _total(self) -> np.ndarray:
        return self.counts.sum(axis=1)

    def _ratios(self, log_weights: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Return the log of the mean weight, the weights w of distinct states (with sum 1), and ESS / T."""
        log_ratio = log_weights - self.log_weights
        n = self._total.sum()
        log_mean = float(logsumexp(log_ratio, b=self._total) - np.log(n))
        each = np.exp(log_ratio - log_mean) / n
        return log_mean, each * self._total, float(1 / (n * (self._total @ each**2)))

    def density(self, theta: np.ndarray) -> tuple[float, float]:
        """Return the log density up to a constant, and the share ESS / T of effective states."""
        log_mean, _, share = self._ratios(self.blocks.log_weights(theta))
        return self.target.positive(theta) - self.target.n_samples * log_mean + log_prior(
            self.target, theta, self.penalised
        ), share

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Return the log density up to a constant, its gradient, and the share ESS / T of effective states."""
        # One pass over the states: sums are rescaled when a block has a larger weight than those before it.
        log_weights, top = np.empty(len(self.states)), -np.inf
        model = np.zeros(self.target.n_features)
        for rows, hidden in self.blocks.given(theta):
            log_weights[rows] = hidden.log_weights
            log_ratio = log_weights[rows] - self.log_weights[rows]
            highest = max(top, float(log_ratio.max()))
            model *= np.exp(top - highest)
            model += hidden.sum(self._total[rows] * np.exp(log_ratio - highest))
            top = highest
        log_mean, _, share = self._ratios(log_weights)
        model *= np.exp(top - log_mean) / self.n_states
        n, (value, statistics) = self.target.n_samples, self.target.sums(theta)
        value += log_prior(self.target, theta, self.penalised) - n * log_mean
        return value, self._penalise(theta, statistics - n * model), share

    def slopes(self, theta: np.ndarray) -> np.ndarray:
        """Return the gradient of the log density from each batch of states, (BATCHES, n_features)."""
        _, weights, _ = self._ratios(self.blocks.log_weights(theta))
        each = self.counts * (weights / self._total)[:, None]
        each /= each.sum(axis=0)
        model = np.zeros((BATCHES, self.target.n_features))
        for rows, hidden in self.blocks.given(theta):
            model += [hidden.sum(w) for w in each[rows].T]
        return self._penalise(theta, self.target.sums(theta)[1] - self.target.n_samples * model)

    def _penalise(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Add the gradient of the prior to ``gradient`` of the log likelihood."""
        return gradient + self.target.prior.gradient(theta) if self.penalised else gradient

    def hessian(self, theta: np.ndarray) -> Hessian:
        """Return the second derivative of l (see above) by batches of states."""
        target, f = self.target, self.target.n_features
        _, weights, _ = self._ratios(self.blocks.log_weights(theta))
        # Features are centred to avoid cancellation.
        centre = self.blocks.sums(theta, weights)[1]
        sums, shares = np.zeros((BATCHES, f)), np.zeros(BATCHES)
        squares = np.zeros((BATCHES, f, f), dtype=np.float32)
        for b in range(BATCHES):
            rows = np.flatnonzero(self.counts[:, b])
            w = weights[rows] * self.counts[rows, b] / self._total[rows]
            squares[b], sums[b] = Blocks(target, self.states[rows]).scatter(theta, w, centre)
            shares[b] = w.sum()
        return Hessian(target.n_samples, fixed_curvature(target, theta, self.penalised), squares, sums, shares)


@dataclass(frozen=True, eq=False)
class Hessian:
    """The matrix N Cov[s] - sum_n C_xn + curvature of the prior, with Cov[s] from batches of states."""

    n_samples: float
    fixed: np.ndarray = field(repr=False)  # (F, F), the terms that do not depend on the states
    squares: np.ndarray = field(repr=False)  # (BATCHES, F, F)
    sums: np.ndarray = field(repr=False)  # (BATCHES, F)
    # (BATCHES,), weighted sums over each batch of C_t + m_t m_t', of m_t (both centred at their mean) and of 1
    shares: np.ndarray = field(repr=False)

    def without(self, batch: int | None = None) -> np.ndarray:
        """Return the matrix from all batches, or from all but one."""
        left = [b for b in range(BATCHES) if b != batch]
        share = self.shares[left].sum()
        mean = self.sums[left].sum(axis=0) / share
        matrix = np.zeros(self.fixed.shape)
        for b in left:
            matrix += self.squares[b]
        matrix *= self.n_samples / share
        matrix -= self.n_samples * np.outer(mean, mean)
        matrix += self.fixed
        return matrix


def log_prior(target: Target, theta: np.ndarray, penalised: bool) -> float:
    """Return the log density of the prior; 0 if not ``penalised``."""
    return target.log_prior(theta) if penalised else 0.0


def fixed_curvature(target: Target, theta: np.ndarray, penalised: bool) -> np.ndarray:
    """Return the terms of the data and of the prior in minus the second derivative."""
    matrix = np.zeros((target.n_features, target.n_features))
    if target.has_hidden:
        for rows, hidden in target.blocks.given(theta):
            matrix -= hidden.covariance(target.weights[rows])
    if penalised:
        matrix[np.diag_indices(len(matrix))] += target.prior.curvature(theta)
    return matrix


def curvature_of_states(target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Estimate N Cov_theta[s] plus the curvature of the prior from states of the model; positive definite."""
    states = Blocks(target, target.sample(theta, _STATES, rng))
    square, mean = states.scatter(theta, np.ones(_STATES), np.zeros(target.n_features))
    matrix = target.n_samples * (square / _STATES - np.outer(mean, mean) / _STATES**2)
    matrix[np.diag_indices_from(matrix)] += target.prior.curvature(theta)
    return matrix
