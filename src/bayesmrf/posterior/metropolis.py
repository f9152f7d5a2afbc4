"""Random-walk Metropolis, one coordinate at a time (Murray and Ghahramani 2004, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import LOG_Z, MOMENTS
from ..likelihood import Likelihood
from ..priors import Prior


class MetropolisState(NamedTuple):
    """theta, what the engine said there, and the engine's memory."""

    theta: np.ndarray
    log_z: float | None
    moments: np.ndarray | None
    engine: Any


class MetropolisInfo(NamedTuple):
    """Draw, the share of accepted proposals, and the engine calls of the sweep."""

    theta: np.ndarray
    acceptance: float
    n_solves: int


@dataclass(frozen=True, eq=False)
class Metropolis:
    r"""A sweep proposes theta_j + N(0, step_size^2) for every coordinate in turn, and accepts by eq. (7).

    The ratio of normalisers comes from the engine in one of two ways: as log Z at both ends, or from the moment of the
    one feature that moves, by the identity of `Likelihood.coordinate_log_ratio`. With an exact engine both are exact,
    and the second costs a solve for each *accepted* proposal only; it is used there, and with engines that answer
    moments alone. Approximations that answer log Z (mean field, tree, Bethe) are used as in the paper, by log Z.

    The chain is as good as the engine: errors of log Z enter the acceptance multiplied by N.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``log_z`` or ``moments``.
    prior : Prior
    start : (n_features,) array
    step_size : float
        Standard deviation of a proposal; 0.1 in the paper.
    """

    likelihood: Likelihood
    prior: Prior
    start: np.ndarray
    step_size: float = 0.1

    name = "metropolis"
    dims = {"theta": ("feature",), "acceptance": (), "n_solves": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        if LOG_Z not in self.likelihood.engine.answers:
            self.likelihood.require(self.name, {MOMENTS})

    @property
    def _by_moments(self) -> bool:
        answers = self.likelihood.engine.answers
        return MOMENTS in answers and (self.likelihood.is_exact or LOG_Z not in answers)

    def init(self, rng: np.random.Generator) -> MetropolisState:
        """Start at ``start``."""
        return self._solve(self.start.astype(np.float64), self.likelihood.start(rng))

    def _solve(self, theta: np.ndarray, engine: Any) -> MetropolisState:
        found = self.likelihood.inference(theta, MOMENTS if self._by_moments else LOG_Z, engine)
        return MetropolisState(theta, found.log_z, found.moments, found.state)

    def step(self, rng: np.random.Generator, state: MetropolisState) -> tuple[MetropolisState, MetropolisInfo]:
        """One sweep."""
        n_features = len(state.theta)
        deltas = self.step_size * rng.standard_normal(n_features)
        thresholds = np.log1p(-rng.random(n_features))
        # Coordinate j moves once in a sweep, so what the prior says of its move is known beforehand.
        prior = self.prior.log_density(state.theta + deltas) - self.prior.log_density(state.theta)
        move = self._move_by_moments if self._by_moments else self._move_by_log_z
        accepted = n_solves = 0
        for j in range(n_features):
            state, moved, solves = move(state, j, float(deltas[j]), float(thresholds[j] - prior[j]))
            accepted += moved
            n_solves += solves
        return state, MetropolisInfo(state.theta, accepted / n_features, n_solves)

    def _move_by_moments(self, state, j, delta, threshold) -> tuple[MetropolisState, bool, int]:
        if self.likelihood.coordinate_log_ratio(state.moments[j], j, delta) <= threshold:
            return state, False, 0
        return self._solve(_moved(state.theta, j, delta), state.engine), True, 1

    def _move_by_log_z(self, state, j, delta, threshold) -> tuple[MetropolisState, bool, int]:
        new = self._solve(_moved(state.theta, j, delta), state.engine)
        likelihood = self.likelihood
        ratio = likelihood.n_samples * (delta * likelihood.s_bar[j] - (new.log_z - state.log_z))
        return (new, True, 1) if ratio > threshold else (state, False, 1)


def _moved(theta: np.ndarray, j: int, delta: float) -> np.ndarray:
    theta = theta.copy()
    theta[j] += delta
    return theta
