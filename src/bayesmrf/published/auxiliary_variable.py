"""The single auxiliary variable method (Moeller, Pettitt, Reeves and Berthelsen 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base import SAMPLE
from ..declare.option import option
from ..declare.rule import instance
from ..estimators.parameter_kernels import Problem
from ..likelihood import Memory
from ..methods.rows import Built
from ..posterior.parameters.adaptation import RandomWalk, WalkInfo, dispersed, displacements
from .options import AuxiliaryVariable


class AuxiliaryVariableState(NamedTuple):
    """theta, the summed statistics of the auxiliary data set Y, and the memory of the sampler of hidden entries."""

    theta: np.ndarray
    y: np.ndarray
    memory: Memory


@dataclass(frozen=True, eq=False)
class AuxiliaryVariableKernel(RandomWalk):
    r"""Propose theta_j + step_size scale_j N(0, 1) for every coordinate in turn, with Y' ~ p(. | theta').

    The state is (theta, Y), where Y ~ p(. | theta~) for a fixed theta~, the reference; the ratio

    .. math:: \frac{p(\theta')}{p(\theta)} \exp\big((\theta' - \theta) \cdot S(X) + (\tilde\theta - \theta') \cdot S(Y')
              - (\tilde\theta - \theta) \cdot S(Y)\big)

    contains no normaliser, unlike that of Liu and Page 2013, eq. 2. The chain is exact when Y' is drawn exactly, and
    approximate with Gibbs runs. The exchange algorithm needs no reference and accepts more often.

    The step is not adapted: the ratio contains the noise of S(Y') and S(Y) for any step, so that even a step of length
    zero is accepted with a probability of about :math:`2 \Phi(-\sqrt{p / 2})` only, for p parameters. In a normal
    posterior the expected squared jump is largest at 2.4 conditional standard deviations without that noise, and at
    :math:`\sqrt 8` where it dominates.

    Parameters
    ----------
    likelihood, prior, start
        As in `bayesmrf.published.exchange.ExchangeKernel`; ``start`` is also the reference, such
        as a maximum likelihood estimate.
    options : AuxiliaryVariable
    scale, spread
        As in `bayesmrf.posterior.parameters.metropolis.MetropolisKernel`.
    """

    options: AuxiliaryVariable = option(AuxiliaryVariable(), instance("published.options", "AuxiliaryVariable"))

    name = "auxiliary-variable"
    needs = frozenset({SAMPLE})

    def init(self, rng: np.random.Generator) -> AuxiliaryVariableState:
        """Start at the reference, or around it, with Y drawn at the reference."""
        theta = dispersed(self.start, self.spread, rng)
        return AuxiliaryVariableState(theta, self.likelihood.auxiliary(self.start, rng), self.likelihood.start(rng))

    def step(self, rng: np.random.Generator, state: AuxiliaryVariableState) -> tuple[AuxiliaryVariableState, WalkInfo]:
        """Make one sweep."""
        lik, reference = self.likelihood, self.start
        theta, y, memory = state
        data, memory = lik.complete(theta, rng, memory)
        noise, accepted = self.first * rng.standard_normal(len(theta)), 0
        for move in displacements(noise, self.scale):
            new = theta + move
            y_new = lik.auxiliary(new, rng)
            prior = (self.prior.log_density(new) - self.prior.log_density(theta)).sum()
            ratio = prior + lik.gain(theta, new, data) + lik.gain(new, reference, y_new)
            ratio -= lik.gain(theta, reference, y)
            if np.log1p(-rng.random()) < ratio:
                theta, y = new, y_new
                accepted += 1
        info = WalkInfo(theta, accepted / len(theta), self.first)
        return AuxiliaryVariableState(theta, y, memory), info


def build(options: AuxiliaryVariable, p: Problem) -> Built:
    """Build the kernel around its reference."""
    # The reference must be in the posterior, with chains near it, or nearly all proposals are rejected.
    scale = p.at.root if options.step_size is None else None
    spread = None if options.start == "zero" else p.at.root
    return Built(AuxiliaryVariableKernel(p.likelihood, p.prior, p.at.theta, options, scale, spread))
