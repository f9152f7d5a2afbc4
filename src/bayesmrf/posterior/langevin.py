"""Langevin dynamics: uncorrected (Murray and Ghahramani 2004, eq. 9), with momentum, and Metropolis-adjusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..base import LOG_Z, MOMENTS
from ..errors import DivergenceError
from ..likelihood import Evaluation, Memory
from ..options import check_fields
from ..priors import Prior

_DIVERGED = 1e100  # well before squares overflow


class Differentiable(Protocol):
    """What Langevin dynamics ask of a `bayesmrf.likelihood.Likelihood`, and others may answer too."""

    def require(self, kernel: str, needs: Iterable[str]) -> None: ...  # noqa: D102
    def start(self, rng: np.random.Generator) -> Memory: ...  # noqa: D102
    def evaluate(self, theta: np.ndarray, want: str, memory: Memory) -> Evaluation: ...  # noqa: D102


class LangevinState(NamedTuple):
    """Position, momentum, gradient of the log posterior there, its value (adjusted only), and the engines' memory."""

    theta: np.ndarray
    momentum: np.ndarray
    gradient: np.ndarray
    log_posterior: float
    memory: Memory


class LangevinInfo(NamedTuple):
    """Draw, and whether the move was accepted (always, when uncorrected)."""

    theta: np.ndarray
    accepted: bool


@dataclass(frozen=True, eq=False)
class Langevin:
    r"""One leapfrog step of length epsilon after a partial refreshment of the momentum (Horowitz 1991).

    .. math:: p &\leftarrow \alpha p + \sqrt{1 - \alpha^2}\, n, \qquad n \sim N(0, I) \\
              \theta' &= \theta + \tfrac{\epsilon^2}{2} M \nabla \log p(\theta \mid X) + \epsilon M^{1/2} p

    With alpha = 0 and M = I this is eq. (9) of the paper. Without the accept step (``adjusted=False``) it is right in
    the limit of small epsilon and exact moments only; with it, and exact answers, the posterior is invariant for any
    epsilon.

    Parameters
    ----------
    likelihood : Differentiable
        A `bayesmrf.likelihood.Likelihood` with an engine that answers ``moments``, and ``log_z`` too if ``adjusted``.
    prior : Prior
    start : (n_features,) array
    epsilon : float
    alpha : float
        Share of the momentum kept, in [0, 1).
    scale : (n_features,) array or None
        Square root of the diagonal M; None for the identity.
    adjusted : bool
        Accept or reject by Metropolis; the momentum is reversed on rejection.

    Raises
    ------
    DivergenceError
        In a step that leaves the finite numbers; the message names a smaller epsilon as the remedy.
    """

    likelihood: Differentiable
    prior: Prior
    start: np.ndarray
    epsilon: float = 0.01
    alpha: float = 0.0
    scale: np.ndarray | None = None
    adjusted: bool = False

    name = "langevin"
    dims = {"theta": ("feature",), "accepted": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        check_fields(self)
        self.likelihood.require(self.name, {MOMENTS, LOG_Z} if self.adjusted else {MOMENTS})

    def init(self, rng: np.random.Generator) -> LangevinState:
        """Start at ``start`` with a fresh momentum."""
        theta = self.start.astype(np.float64)
        return self._at(theta, rng.standard_normal(len(theta)), self.likelihood.start(rng))

    def _at(self, theta: np.ndarray, momentum: np.ndarray, memory: Memory) -> LangevinState:
        found = self.likelihood.evaluate(theta, MOMENTS, memory)
        assert found.score is not None
        gradient = found.score + self.prior.gradient(theta)
        log_posterior = 0.0
        if self.adjusted:
            assert found.log_likelihood is not None
            log_posterior = found.log_likelihood + float(self.prior.log_density(theta).sum())
        return LangevinState(theta, momentum, gradient, log_posterior, found.memory)

    def step(self, rng: np.random.Generator, state: LangevinState) -> tuple[LangevinState, LangevinInfo]:
        """One leapfrog step."""
        root = 1.0 if self.scale is None else self.scale
        half_step = self.epsilon / 2 * root
        momentum = self.alpha * state.momentum
        momentum += np.sqrt(1 - self.alpha**2) * rng.standard_normal(len(momentum))
        middle = momentum + half_step * state.gradient
        theta = state.theta + self.epsilon * root * middle
        if not (np.abs(theta) < _DIVERGED).all():
            raise DivergenceError(
                f"epsilon: theta left the finite numbers with epsilon = {self.epsilon:g}; give a smaller epsilon"
            )
        new = self._at(theta, middle, state.memory)
        new = new._replace(momentum=middle + half_step * new.gradient)
        if self.adjusted:
            kinetic = (new.momentum @ new.momentum - momentum @ momentum) / 2
            if not np.log1p(-rng.random()) < new.log_posterior - state.log_posterior - kinetic:
                return state._replace(momentum=-momentum), LangevinInfo(state.theta, False)
        return new, LangevinInfo(new.theta, True)
