"""Langevin dynamics: uncorrected (Murray and Ghahramani 2004, eq. 9), with momentum, and Metropolis-adjusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from ...base import LOG_Z, MOMENTS
from ...declare.option import Checked, needs, option
from ...declare.rule import PRIOR, ROOT, STEP, instance, integer, optional
from ...errors import DivergenceError
from ...likelihood import Evaluation, Memory
from ...methods import Langevin
from ...priors import Prior
from .adaptation import StepSize, adapt, dispersed, langevin_target, times

_SHORTER, _RARELY = 0.98, 0.05  # factor of a step after which chains were late; share of such steps
_DIVERGED = 1e100  # well before squares overflow


class Differentiable(Protocol):
    """What Langevin dynamics use of a `bayesmrf.likelihood.Likelihood`; other targets may implement it."""

    def require(self, kernel: str, needs: Iterable[str]) -> None: ...  # noqa: D102
    def start(self, rng: np.random.Generator) -> Memory: ...  # noqa: D102
    def evaluate(self, theta: np.ndarray, want: str, memory: Memory) -> Evaluation: ...  # noqa: D102


class LangevinState(NamedTuple):
    """Position, momentum, gradient and (adjusted only) value of the log posterior, memory of the engines, and step
    size.
    """

    theta: np.ndarray
    momentum: np.ndarray
    gradient: np.ndarray
    log_posterior: float
    memory: Memory
    step: StepSize


class LangevinInfo(NamedTuple):
    """Draw, whether the move was accepted (always, when uncorrected), and epsilon. Of chains that keep their mode (see
    `bayesmrf.samplers.following`) the round trips of each so far, NaN if there are none, and whether they were late.
    """

    theta: np.ndarray
    accepted: bool
    step_size: float
    round_trips: float
    late: bool


@dataclass(frozen=True, eq=False)
class LangevinKernel(Checked):
    r"""Refresh the momentum partially, then make a leapfrog step of length epsilon (Horowitz 1991).

    .. math:: p &\leftarrow \alpha p + \sqrt{1 - \alpha^2}\, n, \qquad n \sim N(0, I) \\
              \theta' &= \theta + \tfrac{\epsilon^2}{2} M \nabla \log p(\theta \mid X) + \epsilon C p,
              \qquad M = C C^T

    The gradient is that of Murray and Ghahramani 2004, eq. 10. With :math:`\alpha = 0` and M = I this is eq. 9 there;
    the momentum is that of Chen and Welling 2012 structure, eq. 7. Without the accept step (``adjusted=False``) the
    posterior is invariant only in the limit of small epsilon and exact moments (see `stable_epsilon`); with it, and
    exact moments and log Z, for any epsilon.

    Parameters
    ----------
    likelihood : Differentiable
        A `bayesmrf.likelihood.Likelihood` with an engine that answers ``moments``, and ``log_z`` too if ``adjusted``.
    prior : Prior
    start : (n_features,) array
    options : Langevin
        Its ``epsilon`` must be given.
    scale : (n_features,) or (n_features, n_features) array or None
        C: a matrix, or its diagonal; None for the identity.
    spread : array or None
        How widely chains start around ``start`` (see `bayesmrf.posterior.parameters.adaptation.dispersed`).
    n_adapt : int
        Number of first steps in which epsilon is adapted: of adjusted dynamics to an
        acceptance of `bayesmrf.posterior.parameters.adaptation.langevin_target`, of others it is shortened where chains
        that keep their mode would be late (see `bayesmrf.samplers.following`).

    Raises
    ------
    DivergenceError
        If theta becomes non-finite; use a smaller epsilon.
    """

    likelihood: Differentiable
    prior: Prior = field(metadata=needs(PRIOR))
    start: np.ndarray
    options: Langevin = option(Langevin(epsilon=0.01), instance("methods", "Langevin"))
    scale: np.ndarray | None = option(None, optional(ROOT))
    spread: np.ndarray | None = None
    n_adapt: int = option(0, integer(0))

    name = "langevin"
    dims = {"theta": ("feature",), "accepted": (), "step_size": (), "round_trips": (), "late": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        super().__post_init__()
        STEP.check("epsilon", self.options.epsilon)
        self.likelihood.require(self.name, {MOMENTS, LOG_Z} if self.options.adjusted else {MOMENTS})

    def init(self, rng: np.random.Generator) -> LangevinState:
        """Start at ``start``, or around it, with a fresh momentum."""
        theta = dispersed(self.start, self.spread, rng)
        return self._at(theta, rng.standard_normal(len(theta)), self.likelihood.start(rng), StepSize(self._first))[0]

    @property
    def _first(self) -> float:
        assert self.options.epsilon is not None
        return self.options.epsilon

    def _at(
        self, theta: np.ndarray, momentum: np.ndarray, memory: Memory, step: StepSize
    ) -> tuple[LangevinState, Mapping[str, float]]:
        evaluation = self.likelihood.evaluate(theta, MOMENTS, memory)
        gradient = evaluation.score + self.prior.gradient(theta)
        log_posterior = 0.0
        if self.options.adjusted:
            log_posterior = evaluation.log_likelihood + float(self.prior.log_density(theta).sum())
        return LangevinState(theta, momentum, gradient, log_posterior, evaluation.memory, step), evaluation.stats

    def step(self, rng: np.random.Generator, state: LangevinState) -> tuple[LangevinState, LangevinInfo]:
        """Make one leapfrog step."""
        root, epsilon = np.ones(()) if self.scale is None else self.scale, state.step.size
        kept = self.options.momentum
        half_step = epsilon / 2 * root.T
        momentum = kept * state.momentum
        momentum += np.sqrt(1 - kept**2) * rng.standard_normal(len(momentum))
        middle = momentum + times(half_step, state.gradient)
        theta = state.theta + times(epsilon * root, middle)
        if not (np.abs(theta) < _DIVERGED).all():
            raise DivergenceError(option="epsilon", got=epsilon, expected=f"smaller, as theta exceeded {_DIVERGED:g}")
        new, stats = self._at(theta, middle, state.memory, state.step)
        followed = float(stats.get("round_trips", np.nan)), bool(stats.get("late", False))
        new = new._replace(momentum=middle + times(half_step, new.gradient))
        if not self.options.adjusted:
            new = new._replace(step=self._followed(state.step, followed[1]))
            return new, LangevinInfo(new.theta, True, epsilon, *followed)
        kinetic = (new.momentum @ new.momentum - momentum @ momentum) / 2
        gain = new.log_posterior - state.log_posterior - kinetic
        accepted = bool(np.log1p(-rng.random()) < gain)
        probability = float(np.exp(min(gain, 0.0))) if gain == gain else 0.0  # if it is NaN
        step = adapt(state.step, probability, target=langevin_target(kept), first=self._first, n_adapt=self.n_adapt)
        new = new if accepted else state._replace(momentum=-momentum)
        return new._replace(step=step), LangevinInfo(new.theta, accepted, epsilon, *followed)

    def _followed(self, step: StepSize, late: bool) -> StepSize:
        """Shorten the steps of warm-up with which chains are late, up to about one in twenty."""
        if step.n_updates >= self.n_adapt:
            return step
        size = step.size * _SHORTER if late else min(step.size / _SHORTER**_RARELY, self._first)
        return StepSize(size, step.n_updates + 1)


def is_stable(epsilon: float, stiffness: float) -> bool:
    r"""Return whether dynamics without an accept step have a stationary distribution at curvature ``stiffness``.

    Let lambda be an eigenvalue of the curvature of a normal posterior in the metric M, and x and p the position and
    momentum along its eigenvector. The leapfrog step conserves :math:`\lambda (1 - \epsilon^2 \lambda / 4) x^2 + p^2`,
    and the refreshment of p, for any :math:`\alpha`, leaves invariant the distribution

    .. math:: x \sim N\Big(0, \frac{1}{\lambda (1 - \epsilon^2 \lambda / 4)}\Big), \qquad p \sim N(0, 1).

    It exists if :math:`\epsilon^2 \lambda < 4`; otherwise x diverges. With :math:`\alpha = 0` this is the
    autoregression :math:`x' = (1 - \epsilon^2 \lambda / 2) x + \epsilon n`.
    """
    return epsilon**2 * stiffness < 4


def excess(epsilon: float, stiffness: float) -> float:
    """Return the factor by which the variance along that eigenvector is too large (see `is_stable`)."""
    return 1 / (1 - epsilon**2 * stiffness / 4)


def stable_epsilon(stiffness: float) -> float:
    """Return the step size at which the variance in the stiffest direction is 5 % too large: epsilon^2 lambda = 0.2.

    The step remains stable if the curvature is up to ten times as large away from the mode.
    """
    return float(np.sqrt(0.2 / stiffness))
