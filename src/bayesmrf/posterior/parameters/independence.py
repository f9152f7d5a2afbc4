"""Independent proposals around the mode of the posterior (Tierney 1994, section 2.3.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...base import LOG_Z
from ...declare.option import Checked, needs
from ...likelihood import Likelihood
from ...priors import PRIOR, Prior

_DF = 5.0  # degrees of freedom of the proposals


class IndependenceState(NamedTuple):
    """theta, and the log of the posterior density over that of the proposals."""

    theta: np.ndarray
    log_weight: float


class IndependenceInfo(NamedTuple):
    """Draw, and whether it is a new one."""

    theta: np.ndarray
    acceptance: float


@dataclass(frozen=True, eq=False)
class IndependenceKernel(Checked):
    r"""Propose :math:`\theta'` from Student's t around the mode, with 5 degrees of freedom and density q.

    It is accepted with probability :math:`\min(1, w(\theta') / w(\theta))`, where w is the posterior density over
    q. Each step needs log Z once. Proposals do not depend on the present draw, so that autocorrelation is that of
    rejections alone: with few parameters and many observations, posteriors are nearly normal, and few are rejected.
    Where the tails of the posterior are not heavier than those of q, as with a normal prior, w is bounded and the chain
    is uniformly ergodic.

    Parameters
    ----------
    likelihood, prior
        As in `bayesmrf.posterior.parameters.metropolis.MetropolisKernel`, with an engine that answers ``log_z``.
    start : (n_features,) array
        The mode.
    root : (n_features, n_features) array
        A root of the covariance there.
    """

    likelihood: Likelihood
    prior: Prior = field(metadata=needs(PRIOR))
    start: np.ndarray
    root: np.ndarray

    name = "independence"
    dims = {"theta": ("feature",), "acceptance": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        super().__post_init__()
        self.likelihood.require(self.name, {LOG_Z})

    def init(self, rng: np.random.Generator) -> IndependenceState:
        """Start at a proposal."""
        return self._proposal(rng)

    def step(self, rng: np.random.Generator, state: IndependenceState) -> tuple[IndependenceState, IndependenceInfo]:
        """Make one proposal."""
        new = self._proposal(rng)
        accepted = new.log_weight - state.log_weight > np.log1p(-rng.random())
        state = new if accepted else state
        return state, IndependenceInfo(state.theta, float(accepted))

    def _proposal(self, rng: np.random.Generator) -> IndependenceState:
        p = len(self.start)
        z = rng.standard_normal(p) / np.sqrt(rng.chisquare(_DF) / _DF)
        theta = self.start + self.root @ z
        value = self.likelihood.evaluate(theta, LOG_Z).log_likelihood
        log_q = -0.5 * (_DF + p) * np.log1p(z @ z / _DF)
        return IndependenceState(theta, float(value + self.prior.log_density(theta).sum() - log_q))
