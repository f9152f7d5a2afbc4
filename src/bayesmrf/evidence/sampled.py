r"""The log posterior and its second derivative as states of the model see them (Chen and Welling 2012, eq. 6 and 7).

From states x(1), ..., x(T) that were drawn at lambda_0 the log posterior is, up to a constant,

.. math:: -\ell(\lambda) = \sum_n \log Z(x_n, \lambda) - N \log \frac1T \sum_t \tilde w_t + \log p(\lambda), \qquad
          \tilde w_t = \frac{Z(x(t), \lambda)}{Z(x(t), \lambda_0)}

(eq. 6, here with the sign of a log density), to be trusted while the effective sample size of the weights is at least
0.9 T. Its second derivative is

.. math:: \frac{\partial^2 \ell}{\partial \lambda^2} = N \Big(\sum_t w_t (C_t + m_t m_t^T) - m m^T\Big)
          - \sum_n C_{x_n} + \Lambda^{-1}, \qquad m_t = E[s \mid x(t)], \quad m = \sum_t w_t m_t,

with weights w that sum to 1 and C_t = Cov[s given x(t)]. In brackets is the covariance of the features over visible and
hidden units together, which eq. 3 asks for. The sum of w_t C_t alone, which eq. 7 has in print, lacks the covariance of
m_t, and is not the derivative.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from .target import Target

SHARE = 0.9  # effective states, of all, below which weights are not trusted
BATCHES = 10  # of states, whose differences tell the error of what is computed of them


@dataclass(frozen=True, eq=False)
class SampledPosterior:
    """Eq. 6: the log posterior up to a constant, as states drawn at one point see it.

    Attributes
    ----------
    target : Target
    penalised : bool
        False leaves the prior out.
    states : (n_rows, n_visible) int8 array
        Distinct states.
    counts : (n_rows, BATCHES) float array
        How often each came in each batch.
    log_weights : (n_rows,) array
        log Z(x, lambda_0) of each.
    """

    target: Target
    penalised: bool
    states: np.ndarray
    counts: np.ndarray
    log_weights: np.ndarray

    @classmethod
    def draw(
        cls, target: Target, theta: np.ndarray, n_states: int, rng: np.random.Generator, penalised: bool = True
    ) -> SampledPosterior:
        """Draw T states at ``theta``."""
        drawn = target.sample(theta, n_states, rng)
        packed = np.packbits(drawn.astype(bool), axis=1)  # sorted in an eighth of the time
        _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        counts = np.zeros((len(first), BATCHES))
        np.add.at(counts, (inverse.ravel(), np.arange(n_states) * BATCHES // n_states), 1.0)
        states = drawn[first]
        return cls(target, penalised, states, counts, _log_weights(target, theta, states))

    @property
    def n_states(self) -> float:
        """States drawn, T."""
        return float(self.counts.sum())

    @cached_property
    def _total(self) -> np.ndarray:
        return self.counts.sum(axis=1)

    def _ratios(self, theta: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Log of the mean weight; the weights w, with sum 1 and added up over equal states; ESS / T."""
        log_ratio = _log_weights(self.target, theta, self.states) - self.log_weights
        n = self._total.sum()
        log_mean = float(logsumexp(log_ratio, b=self._total) - np.log(n))
        each = np.exp(log_ratio - log_mean) / n
        return log_mean, each * self._total, float(1 / (n * (self._total @ each**2)))

    def density(self, theta: np.ndarray) -> tuple[float, float]:
        """Log density up to a constant, and the share ESS / T of states that count."""
        log_mean, _, share = self._ratios(theta)
        return self.target.positive(theta) - self.target.n_samples * log_mean + log_prior(
            self.target, theta, self.penalised
        ), share

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray, float]:
        """The same, with the gradient between them."""
        log_mean, weights, share = self._ratios(theta)
        n = self.target.n_samples
        value = self.target.positive(theta) - n * log_mean + log_prior(self.target, theta, self.penalised)
        model = _expected_sum(self.target, theta, self.states, weights)
        gradient = self.target.statistics(theta) - n * model
        return value, gradient + self.target.prior.gradient(theta) if self.penalised else gradient, share

    def slopes(self, theta: np.ndarray) -> np.ndarray:
        """Gradient of the log density by each batch of states alone, (BATCHES, n_features)."""
        _, weights, _ = self._ratios(theta)
        each = self.counts * (weights / self._total)[:, None]
        model = np.array([_expected_sum(self.target, theta, self.states, c) for c in (each / each.sum(axis=0)).T])
        gradient = self.target.statistics(theta) - self.target.n_samples * model
        return gradient + self.target.prior.gradient(theta) if self.penalised else gradient

    def hessian(self, theta: np.ndarray) -> Hessian:
        """The second derivative of l (see above), and what each batch of states adds to it."""
        target, f = self.target, self.target.n_features
        _, weights, _ = self._ratios(theta)
        # Features are centred first: a difference of large squares would lose digits.
        centre = _expected_sum(target, theta, self.states, weights)
        sums, shares = np.zeros((BATCHES, f)), np.zeros(BATCHES)
        squares = np.zeros((BATCHES, f, f), dtype=np.float32)
        for b in range(BATCHES):
            rows = np.flatnonzero(self.counts[:, b])
            w = weights[rows] * self.counts[rows, b] / self._total[rows]
            square, shares[b] = np.zeros((f, f)), w.sum()
            for part in _blocks(target, len(rows)):
                states, share = self.states[rows[part]], w[part]
                square += target.conditional_covariance(theta, states, share)
                mean = target.expected(theta, states) - centre
                sums[b] += share @ mean
                mean *= np.sqrt(share)[:, None]
                square += mean.T @ mean
            squares[b] = square
        return Hessian(target.n_samples, fixed_curvature(target, theta, self.penalised), squares, sums, shares)


@dataclass(frozen=True, eq=False)
class Hessian:
    """N Cov[s] - sum_n C_xn + curvature of the prior, with Cov[s] from batches of states.

    Attributes
    ----------
    n_samples : float
    fixed : (F, F) array
        What does not depend on the states.
    squares : (BATCHES, F, F) float32 array
    sums : (BATCHES, F) array
    shares : (BATCHES,) array
        Weighted sums over each batch of C_t + m_t m_t', of m_t (both centred at their mean) and of 1.
    """

    n_samples: float
    fixed: np.ndarray = field(repr=False)
    squares: np.ndarray = field(repr=False)
    sums: np.ndarray = field(repr=False)
    shares: np.ndarray = field(repr=False)

    def without(self, batch: int | None = None) -> np.ndarray:
        """The matrix, from all batches or all but one."""
        left = [b for b in range(BATCHES) if b != batch]
        share = self.shares[left].sum()
        mean = self.sums[left].sum(axis=0) / share
        found = np.zeros(self.fixed.shape)
        for b in left:
            found += self.squares[b]
        found *= self.n_samples / share
        found -= self.n_samples * np.outer(mean, mean)
        found += self.fixed
        return found


def log_prior(target: Target, theta: np.ndarray, penalised: bool) -> float:
    """Log density of the prior; 0 where it is left out."""
    return target.log_prior(theta) if penalised else 0.0


def fixed_curvature(target: Target, theta: np.ndarray, penalised: bool) -> np.ndarray:
    """What the second derivative has of the data and the prior."""
    found = np.zeros((target.n_features, target.n_features))
    for part in _blocks(target, len(target.states)):
        found -= target.conditional_covariance(theta, target.states[part], target.weights[part])
    if penalised:
        found[np.diag_indices(len(found))] += target.prior.curvature(theta)
    return found


def _blocks(target: Target, n_rows: int) -> Iterator[slice]:
    """Rows in blocks whose features are few enough to be in memory."""
    for first in range(0, n_rows, target.rows_at_once):
        yield slice(first, first + target.rows_at_once)


def _log_weights(target: Target, theta: np.ndarray, states: np.ndarray) -> np.ndarray:
    return np.concatenate([target.log_weights(theta, states[part]) for part in _blocks(target, len(states))])


def _expected_sum(target: Target, theta: np.ndarray, states: np.ndarray, weights: np.ndarray) -> np.ndarray:
    found = np.zeros(target.n_features)
    for part in _blocks(target, len(states)):
        found += target.expected_sum(theta, states[part], weights[part])
    return found


def curvature_of_states(target: Target, theta: np.ndarray, n_states: int, rng: np.random.Generator) -> np.ndarray:
    """N Cov_theta[s] plus the prior's curvature, from ``n_states`` samples of the model: positive definite."""
    states = target.sample(theta, n_states, rng)
    square, mean = np.zeros((target.n_features, target.n_features)), np.zeros(target.n_features)
    for part in np.array_split(states, -(-n_states // target.rows_at_once)):
        given = target.expected(theta, part)
        square += target.conditional_covariance(theta, part, np.ones(len(part))) + given.T @ given
        mean += given.sum(axis=0)
    found = target.n_samples * (square / n_states - np.outer(mean, mean) / n_states**2)
    found[np.diag_indices_from(found)] += target.prior.curvature(theta)
    return found
