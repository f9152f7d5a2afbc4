"""The exchange algorithm (Murray, Ghahramani and MacKay 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base import SAMPLE
from ..declare.option import option
from ..declare.rule import instance, integer
from ..estimators.parameter_kernels import Problem
from ..likelihood import Memory
from ..methods.rows import Built
from ..posterior.parameters.adaptation import (
    WALK_TARGET,
    RandomWalk,
    StepSize,
    WalkInfo,
    adapt,
    dispersed,
    displacements,
)
from .options import Exchange


class ExchangeState(NamedTuple):
    """theta, the memory of the sampler of hidden entries, and the step size."""

    theta: np.ndarray
    memory: Memory
    step: StepSize


@dataclass(frozen=True, eq=False)
class ExchangeKernel(RandomWalk):
    r"""Propose theta_j + step_size scale_j N(0, 1) for every coordinate in turn, with auxiliary data Y ~ p(. | theta').

    Exchanging the data X and Y between theta and theta' cancels the normalisers in the acceptance ratio,

    .. math:: \frac{p(\theta')}{p(\theta)} \exp\big((\theta'_j - \theta_j) (S_j(X) - S_j(Y))\big).

    The chain is exact when Y is drawn exactly, and approximate with Gibbs runs. Hidden entries of X are redrawn before
    each sweep, as part of the chain.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``sample``.
    prior : Prior
    start : (n_features,) array
    options : Exchange
    scale, spread, n_adapt
        As in `bayesmrf.posterior.parameters.metropolis.MetropolisKernel`.
    """

    options: Exchange = option(Exchange(), instance("published.options", "Exchange"))
    n_adapt: int = option(0, integer(0))

    name = "exchange"
    needs = frozenset({SAMPLE})

    def init(self, rng: np.random.Generator) -> ExchangeState:
        """Start at ``start``, or around it."""
        theta = dispersed(self.start, self.spread, rng)
        return ExchangeState(theta, self.likelihood.start(rng), StepSize(self.first))

    def step(self, rng: np.random.Generator, state: ExchangeState) -> tuple[ExchangeState, WalkInfo]:
        """Make one sweep."""
        lik, theta, size = self.likelihood, state.theta, state.step.size
        data, memory = lik.complete(theta, rng, state.memory)
        noise, accepted = size * rng.standard_normal(len(theta)), 0
        for move in displacements(noise, self.scale):
            new = theta + move
            y = lik.auxiliary(new, rng)
            prior = (self.prior.log_density(new) - self.prior.log_density(theta)).sum()
            if np.log1p(-rng.random()) < prior + lik.gain(theta, new, data - y):
                theta = new
                accepted += 1
        share = accepted / len(theta)
        step = adapt(state.step, share, target=WALK_TARGET, first=self.first, n_adapt=self.n_adapt)
        return ExchangeState(theta, memory, step), WalkInfo(theta, share, size)


def build(options: Exchange, p: Problem) -> Built:
    """Build the kernel, whose steps are along uncorrelated combinations of the parameters."""
    return p.walk(ExchangeKernel, options, p.at.root)
