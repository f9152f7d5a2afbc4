"""The exchange algorithm (Murray, Ghahramani and MacKay 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base import SAMPLE
from ..likelihood import Likelihood, Memory
from ..options import check_fields
from ..priors import Prior


class ExchangeState(NamedTuple):
    """theta, and what the sampler of hidden entries remembers."""

    theta: np.ndarray
    memory: Memory


class ExchangeInfo(NamedTuple):
    """Draw, and the share of accepted proposals."""

    theta: np.ndarray
    acceptance: float


@dataclass(frozen=True, eq=False)
class Exchange:
    r"""A sweep proposes theta_j + N(0, step_size^2) for every coordinate in turn, each with a fresh data set Y ~ p(.
    | theta').

    Offering the data to theta and Y to theta' cancels every normaliser from the acceptance ratio,

    .. math:: \frac{p(\theta')}{p(\theta)} \exp\big((\theta'_j - \theta_j) (S_j(X) - S_j(Y))\big).

    Exact when Y is drawn exactly; approximate with Gibbs runs. Hidden entries of X are drawn anew before each sweep, so
    that the chain runs on theta and them.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``sample``.
    prior : Prior
    start : (n_features,) array
    step_size : float
    """

    likelihood: Likelihood
    prior: Prior
    start: np.ndarray
    step_size: float = 0.1

    name = "exchange"
    dims = {"theta": ("feature",), "acceptance": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        check_fields(self)
        self.likelihood.require(self.name, {SAMPLE})

    def init(self, rng: np.random.Generator) -> ExchangeState:
        """Start at ``start``."""
        return ExchangeState(self.start.astype(np.float64), self.likelihood.start(rng))

    def step(self, rng: np.random.Generator, state: ExchangeState) -> tuple[ExchangeState, ExchangeInfo]:
        """One sweep."""
        lik, theta = self.likelihood, state.theta
        data, memory = lik.complete(theta, rng, state.memory)
        deltas = self.step_size * rng.standard_normal(len(theta))
        prior = self.prior.log_density(theta + deltas) - self.prior.log_density(theta)
        accepted = 0
        for j, delta in enumerate(deltas):
            new = theta.copy()
            new[j] += delta
            y = lik.auxiliary(new, rng)
            if np.log1p(-rng.random()) < prior[j] + lik.gain(theta, new, data - y):
                theta = new
                accepted += 1
        return ExchangeState(theta, memory), ExchangeInfo(theta, accepted / len(theta))
