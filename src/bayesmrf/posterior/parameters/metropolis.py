"""Random-walk Metropolis, one coordinate at a time (Murray and Ghahramani 2004, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base import LOG_Z, MOMENTS
from ...declare.option import option
from ...declare.rule import instance, integer
from ...likelihood import Evaluation, Memory
from ...methods import Metropolis
from .adaptation import WALK_TARGET, RandomWalk, StepSize, adapt, dispersed, displacements


class MetropolisState(NamedTuple):
    """theta, the log likelihood or the moments there, the memory of the engines, and the step size."""

    theta: np.ndarray
    log_likelihood: float | Any
    moments: np.ndarray | Any
    memory: Memory
    step: StepSize


class MetropolisInfo(NamedTuple):
    """Draw, the share of accepted proposals, the engine calls of the sweep, and its step size."""

    theta: np.ndarray
    acceptance: float
    n_solves: int
    step_size: float


@dataclass(frozen=True, eq=False)
class MetropolisKernel(RandomWalk):
    r"""Propose theta_j + step_size scale_j N(0, 1) for every coordinate in turn.

    Proposals are accepted by the ratio of posterior densities (Murray and Ghahramani 2004, eq. 7).

    The engine gives the ratio of normalisers in one of two ways: by log Z at both ends, or by the moment of the one
    feature that moves (see `Likelihood.coordinate_log_ratio`). The second needs a solve for each *accepted* proposal
    only; it is used with exact engines and with engines that compute moments alone, unless entries are hidden.
    Approximations of log Z (mean field, tree, Bethe) are used as in the paper, by log Z.

    Errors of log Z enter the acceptance multiplied by N.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``log_z`` or ``moments``.
    prior : Prior
    start : (n_features,) array
    options : Metropolis
        Its step size is the standard deviation of a proposal, in units of ``scale``; None starts at 2.4 of these.
    scale : (n_features,) or (n_features, n_features) array or None
        Unit of each coordinate's step, such as its conditional standard deviation; None for 1. With a matrix, a root of
        the posterior's covariance, steps go along its columns, which needs an engine that computes ``log_z``.
    spread : array or None
        How widely chains start around ``start`` (see `bayesmrf.posterior.parameters.adaptation.dispersed`).
    n_adapt : int
        Number of first steps in which the step size is adapted, to an acceptance of 0.44.
    """

    options: Metropolis = option(Metropolis(), instance("methods", "Metropolis"))
    n_adapt: int = option(0, integer(0))

    name = "metropolis"
    dims = {"theta": ("feature",), "acceptance": (), "n_solves": (), "step_size": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        super().__post_init__()
        lik = self.likelihood
        if LOG_Z not in lik.engine.answers and lik.is_linear and not self._is_oblique:
            lik.require(self.name, {MOMENTS})
        elif not self._by_moments:
            lik.require(self.name, {LOG_Z})

    @property
    def _is_oblique(self) -> bool:
        return self.scale is not None and np.ndim(self.scale) == 2

    @property
    def _by_moments(self) -> bool:
        lik = self.likelihood
        if self._is_oblique:
            return False
        return lik.is_linear and MOMENTS in lik.engine.answers and (lik.is_exact or LOG_Z not in lik.engine.answers)

    def init(self, rng: np.random.Generator) -> MetropolisState:
        """Start at ``start``, or around it."""
        theta = dispersed(self.start, self.spread, rng)
        memory = self.likelihood.start(rng)
        evaluation = self.likelihood.evaluate(theta, MOMENTS if self._by_moments else LOG_Z, memory)
        moments = evaluation.moments if self._by_moments else None
        return MetropolisState(theta, evaluation.log_likelihood, moments, evaluation.memory, StepSize(self.first))

    def step(self, rng: np.random.Generator, state: MetropolisState) -> tuple[MetropolisState, MetropolisInfo]:
        """Make one sweep."""
        n_features, size = len(state.theta), state.step.size
        noise, thresholds = size * rng.standard_normal(n_features), np.log1p(-rng.random(n_features))
        if self._is_oblique:
            return self._finish(*self._walk_along(state, noise, thresholds), n_features)
        deltas = noise if self.scale is None else self.scale * noise
        # Coordinate j moves once in a sweep, so the prior's log ratio of its move is known beforehand.
        thresholds -= self.prior.log_density(state.theta + deltas) - self.prior.log_density(state.theta)
        at = Evaluation(state.log_likelihood, None, state.moments, state.memory)
        theta, at, accepted = self.likelihood.walk(state.theta, at, deltas, thresholds)
        moments = at.moments if self._by_moments else None
        new = MetropolisState(theta, at.log_likelihood, moments, at.memory, state.step)
        return self._finish(new, accepted, accepted if self._by_moments else n_features)

    def _walk_along(
        self, state: MetropolisState, noise: np.ndarray, thresholds: np.ndarray
    ) -> tuple[MetropolisState, int]:
        """Try each column of ``scale`` in turn, with log Z at both ends; count the moves made."""
        theta, value, memory, accepted = state.theta, state.log_likelihood, state.memory, 0
        log_prior = self.prior.log_density(theta).sum()
        for move, threshold in zip(displacements(noise, self.scale), thresholds, strict=True):
            new = theta + move
            evaluation, new_prior = self.likelihood.evaluate(new, LOG_Z, memory), self.prior.log_density(new).sum()
            if evaluation.log_likelihood - value + new_prior - log_prior > threshold:
                theta, value, memory, log_prior = new, evaluation.log_likelihood, evaluation.memory, new_prior
                accepted += 1
        return MetropolisState(theta, value, None, memory, state.step), accepted

    def _finish(self, state: MetropolisState, accepted: int, n_solves: int) -> tuple[MetropolisState, MetropolisInfo]:
        """Adapt the step size, and return State and Info."""
        share = accepted / len(state.theta)
        step = adapt(state.step, share, target=WALK_TARGET, first=self.first, n_adapt=self.n_adapt)
        return state._replace(step=step), MetropolisInfo(state.theta, share, n_solves, state.step.size)
