"""Random-walk Metropolis, one coordinate at a time (Murray and Ghahramani 2004, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base import LOG_Z, MOMENTS
from ..likelihood import Likelihood, Memory
from ..options import check_fields
from ..priors import Prior
from .adaptation import WALK_TARGET, StepSize, adapt, dispersed


class MetropolisState(NamedTuple):
    """theta, the log likelihood or the moments there, the engines' memory, and the step size."""

    theta: np.ndarray
    log_likelihood: float | None
    moments: np.ndarray | None
    memory: Memory
    step: StepSize


class MetropolisInfo(NamedTuple):
    """Draw, the share of accepted proposals, the engine calls of the sweep, and its step size."""

    theta: np.ndarray
    acceptance: float
    n_solves: int
    step_size: float


@dataclass(frozen=True, eq=False)
class Metropolis:
    r"""A sweep proposes theta_j + step_size scale_j N(0, 1) for every coordinate in turn, and accepts by eq. (7).

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
        Standard deviation of a proposal, in units of ``scale``; 0.1 in the paper.
    scale : (n_features,) array or None
        Unit of each coordinate's step, such as its conditional standard deviation; None for 1.
    spread : array or None
        How widely chains start around ``start`` (see `bayesmrf.posterior.adaptation.dispersed`).
    n_adapt : int
        Number of first steps in which the step size is adapted, from ``step_size`` on, to an acceptance of 0.44.
    """

    likelihood: Likelihood
    prior: Prior
    start: np.ndarray
    step_size: float = 0.1
    scale: np.ndarray | None = None
    spread: np.ndarray | None = None
    n_adapt: int = 0

    name = "metropolis"
    dims = {"theta": ("feature",), "acceptance": (), "n_solves": (), "step_size": ()}  # noqa: RUF012

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
        """Start at ``start``, or around it."""
        theta = dispersed(self.start, self.spread, rng)
        memory = self.likelihood.start(rng)
        found = self.likelihood.evaluate(theta, MOMENTS if self._by_moments else LOG_Z, memory)
        return MetropolisState(theta, found.log_likelihood, found.moments, found.memory, StepSize(self.step_size))

    def step(self, rng: np.random.Generator, state: MetropolisState) -> tuple[MetropolisState, MetropolisInfo]:
        """One sweep."""
        n_features, size = len(state.theta), state.step.size
        deltas = size * (1.0 if self.scale is None else self.scale) * rng.standard_normal(n_features)
        thresholds = np.log1p(-rng.random(n_features))
        # Coordinate j moves once in a sweep, so what the prior says of its move is known beforehand.
        thresholds -= self.prior.log_density(state.theta + deltas) - self.prior.log_density(state.theta)
        value = moments = None
        if self._by_moments:
            assert state.moments is not None
            theta, moments, accepted, memory = self.likelihood.walk(
                state.theta, state.moments, deltas, thresholds, state.memory
            )
            n_solves = accepted
        else:
            assert state.log_likelihood is not None
            theta, value, accepted, memory = self.likelihood.walk_by_log_z(
                state.theta, state.log_likelihood, deltas, thresholds, state.memory
            )
            n_solves = n_features
        share = accepted / n_features
        step = adapt(state.step, share, target=WALK_TARGET, first=self.step_size, n_adapt=self.n_adapt)
        return MetropolisState(theta, value, moments, memory, step), MetropolisInfo(theta, share, n_solves, size)
