"""Random-walk Metropolis, one coordinate at a time (Murray and Ghahramani 2004, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base import LOG_Z, MOMENTS
from ..likelihood import Likelihood, Memory
from ..options import check_fields
from ..priors import Prior


class MetropolisState(NamedTuple):
    """theta, the log likelihood or the moments there, and the engines' memory."""

    theta: np.ndarray
    log_likelihood: float | None
    moments: np.ndarray | None
    memory: Memory


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
    moments alone, as long as nothing is hidden. Approximations that answer log Z (mean field, tree, Bethe) are used as
    in the paper, by log Z.

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
        check_fields(self)
        lik = self.likelihood
        if LOG_Z not in lik.engine.answers and lik.is_linear:
            lik.require(self.name, {MOMENTS})
        elif not self._by_moments:
            lik.require(self.name, {LOG_Z})

    @property
    def _by_moments(self) -> bool:
        lik = self.likelihood
        return lik.is_linear and MOMENTS in lik.engine.answers and (lik.is_exact or LOG_Z not in lik.engine.answers)

    def init(self, rng: np.random.Generator) -> MetropolisState:
        """Start at ``start``."""
        theta = self.start.astype(np.float64)
        memory = self.likelihood.start(rng)
        found = self.likelihood.evaluate(theta, MOMENTS if self._by_moments else LOG_Z, memory)
        return MetropolisState(theta, found.log_likelihood, found.moments, found.memory)

    def step(self, rng: np.random.Generator, state: MetropolisState) -> tuple[MetropolisState, MetropolisInfo]:
        """One sweep."""
        n_features = len(state.theta)
        deltas = self.step_size * rng.standard_normal(n_features)
        thresholds = np.log1p(-rng.random(n_features))
        # Coordinate j moves once in a sweep, so what the prior says of its move is known beforehand.
        thresholds -= self.prior.log_density(state.theta + deltas) - self.prior.log_density(state.theta)
        if self._by_moments:
            assert state.moments is not None
            theta, moments, accepted, memory = self.likelihood.walk(
                state.theta, state.moments, deltas, thresholds, state.memory
            )
            state, n_solves = MetropolisState(theta, None, moments, memory), accepted
        else:
            assert state.log_likelihood is not None
            theta, value, accepted, memory = self.likelihood.walk_by_log_z(
                state.theta, state.log_likelihood, deltas, thresholds, state.memory
            )
            state, n_solves = MetropolisState(theta, value, None, memory), n_features
        return state, MetropolisInfo(state.theta, accepted / n_features, n_solves)
