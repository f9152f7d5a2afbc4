"""The single auxiliary variable method (Moeller, Pettitt, Reeves and Berthelsen 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base import SAMPLE
from ..likelihood import Likelihood, Memory
from ..options import check_fields
from ..priors import Prior


class AuxiliaryVariableState(NamedTuple):
    """theta, the summed statistics of the auxiliary data set Y, and what the sampler of hidden entries remembers."""

    theta: np.ndarray
    y: np.ndarray
    memory: Memory


class AuxiliaryVariableInfo(NamedTuple):
    """Draw, and the share of accepted proposals."""

    theta: np.ndarray
    acceptance: float


@dataclass(frozen=True, eq=False)
class AuxiliaryVariable:
    r"""A sweep proposes theta_j + N(0, step_size^2) for every coordinate in turn, with Y' ~ p(. | theta').

    The state is (theta, Y), where Y has the law p(. | reference) for a fixed theta~, the reference; the ratio

    .. math:: \frac{p(\theta')}{p(\theta)} \exp\big((\theta' - \theta) \cdot S(X) + (\tilde\theta - \theta') \cdot S(Y')
              - (\tilde\theta - \theta) \cdot S(Y)\big)

    holds no normaliser. Exact when Y' is drawn exactly; approximate with Gibbs runs. The exchange algorithm needs no
    reference and accepts more often.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``sample``.
    prior : Prior
    start : (n_features,) array
        Also the reference: a maximum likelihood estimate, say.
    step_size : float
    """

    likelihood: Likelihood
    prior: Prior
    start: np.ndarray
    step_size: float = 0.1

    name = "auxiliary-variable"
    dims = {"theta": ("feature",), "acceptance": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        check_fields(self)
        self.likelihood.require(self.name, {SAMPLE})

    def init(self, rng: np.random.Generator) -> AuxiliaryVariableState:
        """Start at the reference, with Y from its own law."""
        theta = self.start.astype(np.float64)
        return AuxiliaryVariableState(theta, self.likelihood.auxiliary(theta, rng), self.likelihood.start(rng))

    def step(
        self, rng: np.random.Generator, state: AuxiliaryVariableState
    ) -> tuple[AuxiliaryVariableState, AuxiliaryVariableInfo]:
        """One sweep."""
        lik, reference = self.likelihood, self.start
        theta, y, memory = state
        data, memory = lik.complete(theta, rng, memory)
        deltas = self.step_size * rng.standard_normal(len(theta))
        prior = self.prior.log_density(theta + deltas) - self.prior.log_density(theta)
        accepted = 0
        for j, delta in enumerate(deltas):
            new = theta.copy()
            new[j] += delta
            y_new = lik.auxiliary(new, rng)
            ratio = prior[j] + lik.gain(theta, new, data) + lik.gain(new, reference, y_new)
            ratio -= lik.gain(theta, reference, y)
            if np.log1p(-rng.random()) < ratio:
                theta, y = new, y_new
                accepted += 1
        return AuxiliaryVariableState(theta, y, memory), AuxiliaryVariableInfo(theta, accepted / len(theta))
