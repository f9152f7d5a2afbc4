r"""Hamiltonian dynamics with the no-U-turn criterion, and a metric that is adapted during warm-up."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, inf, log1p
from typing import NamedTuple

import numpy as np

from ...base import LOG_Z, MOMENTS
from ...declare.option import Checked, needs, option
from ...declare.rule import PRIOR, ROOT, STEP, instance, integer, optional
from ...likelihood import Memory
from ...methods import Hamiltonian
from ...priors import Prior
from .adaptation import StepSize, adapt, adapted_root, dispersed, times
from .langevin import Differentiable

_DIVERGED = 1000.0  # error of the energy beyond which a trajectory ends (Stan's)
_FARTHEST = 1e100  # of a parameter: well before squares overflow
_WINDOWS = (0.1, 0.2, 0.4, 0.85)  # shares of warm-up at whose ends the metric (from the second on) changes
_FIRST = 2**0.5  # step size times n_features^(1/4) at which a normal posterior has an acceptance of 0.8
_FEWEST = 50  # steps of a warm-up in which the metric is adapted


class HamiltonianState(NamedTuple):
    """Draw, log posterior and gradient there, memory of the engines, and what is adapted.

    ``root`` is a root of the covariance (the inverse of the mass matrix) or its diagonal. ``n_seen``, ``total`` and
    ``squares`` are the number, sum, and sum of squares (or outer products) of the draws of the present window, less
    ``start``.
    """

    theta: np.ndarray
    log_posterior: float
    gradient: np.ndarray
    memory: Memory
    step: StepSize
    root: np.ndarray
    n_steps: int
    n_seen: int
    total: np.ndarray
    squares: np.ndarray


class HamiltonianInfo(NamedTuple):
    """Draw, mean acceptance along the trajectory, its leapfrog steps, whether it diverged, and the step size."""

    theta: np.ndarray
    acceptance: float
    n_solves: int
    diverging: bool
    step_size: float


@dataclass(frozen=True, eq=False)
class HamiltonianKernel(Checked):
    r"""Sample theta by trajectories of Hamiltonian dynamics that stop where they would turn back.

    With :math:`\theta = C u` and momenta :math:`p \sim N(0, I)` of u, leapfrog steps of the length epsilon

    .. math:: p &\leftarrow p + \tfrac{\epsilon}{2} C^T \nabla \log p(\theta \mid X), \qquad
              \theta \leftarrow \theta + \epsilon C p, \qquad
              p \leftarrow p + \tfrac{\epsilon}{2} C^T \nabla \log p(\theta \mid X)

    follow the energy :math:`H = \tfrac12 p^T p - \log p(\theta \mid X)` forward or backward in time, in trajectories
    that double (Hoffman and Gelman 2014) until the momentum at either end points against the sum of all momenta
    (Betancourt 2017, appendix A.4.2). The draw is a point of the trajectory with probability proportional to exp(-H),
    biased towards the last doubling (A.3.2). A step takes 2^depth - 1 solves of the engine at most.

    The posterior is that of the engine's log Z, whatever its moments are: errors of the gradient cost acceptance only.

    Parameters
    ----------
    likelihood : Differentiable
        A `bayesmrf.likelihood.Likelihood` with an engine that answers ``log_z`` and ``moments``.
    prior : Prior
    start : (n_features,) array
    options : Hamiltonian
    scale : (n_features,) or (n_features, n_features) array or None
        The first C: a root of the covariance at the mode, or the diagonal of one; None for the identity. It remains a
        matrix, or diagonal.
    spread : array or None
        How widely chains start around ``start`` (see `bayesmrf.posterior.parameters.adaptation.dispersed`).
    n_adapt : int
        Number of first steps in which the step size and C are adapted. C changes at the ends of three windows, from
        the draws of each.
    step_size : float or None
        The first epsilon; None for (4 / n_features)^(1/4), where a normal posterior has an acceptance of 0.8.
    """

    likelihood: Differentiable
    prior: Prior = field(metadata=needs(PRIOR))
    start: np.ndarray
    options: Hamiltonian = option(Hamiltonian(), instance("methods", "Hamiltonian"))
    scale: np.ndarray | None = option(None, optional(ROOT))
    spread: np.ndarray | None = None
    n_adapt: int = option(0, integer(0))
    step_size: float | None = option(None, optional(STEP))

    name = "hamiltonian"
    dims = {"theta": ("feature",), "acceptance": (), "n_solves": (), "diverging": (), "step_size": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        super().__post_init__()
        self.likelihood.require(self.name, {LOG_Z, MOMENTS})

    def init(self, rng: np.random.Generator) -> HamiltonianState:
        """Start at ``start``, or around it."""
        theta = dispersed(self.start, self.spread, rng)
        n = len(theta)
        root = np.ones(n) if self.scale is None else np.asarray(self.scale, dtype=np.float64)
        memory = self.likelihood.start(rng)
        value, gradient = self._posterior(theta, memory)
        return HamiltonianState(theta, value, gradient, memory, StepSize(self._first), root, 0, 0, np.zeros(n),
                                np.zeros(root.shape))  # fmt: skip

    @property
    def _first(self) -> float:
        return _FIRST * len(self.start) ** -0.25 if self.step_size is None else self.step_size

    def _posterior(self, theta: np.ndarray, memory: Memory) -> tuple[float, np.ndarray]:
        """Log posterior and its gradient: one call of the engine."""
        evaluation = self.likelihood.evaluate(theta, MOMENTS, memory)
        value = evaluation.log_likelihood + float(self.prior.log_density(theta).sum())
        return value, evaluation.score + self.prior.gradient(theta)

    def step(self, rng: np.random.Generator, state: HamiltonianState) -> tuple[HamiltonianState, HamiltonianInfo]:
        """Draw a momentum, follow the trajectory both ways, and draw a point of it."""
        path = _Trajectory(self, rng, state)
        new = path.draw()
        acceptance = path.acceptance / path.n_solves
        info = HamiltonianInfo(new.theta, acceptance, path.n_solves, path.diverging, state.step.size)
        state = state._replace(theta=new.theta, log_posterior=new.log_posterior, gradient=new.gradient)
        return (self._adapted(state, acceptance) if state.n_steps < self.n_adapt else state), info

    def _adapted(self, state: HamiltonianState, acceptance: float) -> HamiltonianState:
        """Update the step size and, at the end of a window, C."""
        t = state.n_steps + 1
        windows = _WINDOWS if self.n_adapt >= _FEWEST else ()
        ends = [round(share * self.n_adapt) for share in windows] + [self.n_adapt]
        begin = max([0, *(end for end in ends if end < t)])
        length = min(end for end in ends if end >= t) - begin
        step = adapt(state.step, acceptance, target=self.options.target, first=self._first, n_adapt=length)
        away = state.theta - self.start
        outer = np.outer(away, away) if state.root.ndim == 2 else away**2
        state = state._replace(step=step, n_steps=t, n_seen=state.n_seen + 1, total=state.total + away,
                               squares=state.squares + outer)  # fmt: skip
        if t not in ends:
            return state
        # The first window is on its way to the posterior, and the last one only for the step size.
        if ends[0] < t < self.n_adapt:
            state = state._replace(root=adapted_root(state.root, state.n_seen, state.total, state.squares))
        if t < self.n_adapt:
            state = state._replace(step=StepSize(self._first))
        return state._replace(n_seen=0, total=0 * state.total, squares=0 * state.squares)


class _Point(NamedTuple):
    """A point of a trajectory; ``slope`` is the gradient by u."""

    theta: np.ndarray
    momentum: np.ndarray
    log_posterior: float
    gradient: np.ndarray
    slope: np.ndarray


class _Tree(NamedTuple):
    """A stretch of a trajectory: its ends (the first is nearer to where it grows from), and a point drawn from it."""

    first: _Point
    last: _Point
    total: np.ndarray  # of the momenta
    log_weight: float  # log sum exp(H_0 - H)
    drawn: _Point


class _Trajectory:
    """One trajectory on its way."""

    def __init__(self, kernel: HamiltonianKernel, rng: np.random.Generator, state: HamiltonianState) -> None:
        self.kernel, self.rng, self.memory = kernel, rng, state.memory
        self.epsilon, self.root = state.step.size, state.root
        momentum = rng.standard_normal(len(state.theta))
        slope = times(self.root.T, state.gradient)
        self.begin = _Point(state.theta, momentum, state.log_posterior, state.gradient, slope)
        self.energy = momentum @ momentum / 2 - state.log_posterior
        self.acceptance, self.n_solves, self.diverging = 0.0, 0, False

    def draw(self) -> _Point:
        """Double until the trajectory turns back, diverges or is as long as it may be, and draw a point."""
        whole, forward = _Tree(self.begin, self.begin, self.begin.momentum, 0.0, self.begin), True
        for depth in range(self.kernel.options.max_depth):
            if (self.rng.random() < 0.5) != forward:
                whole, forward = whole._replace(first=whole.last, last=whole.first), not forward
            grown = self._grow(whole.last, self.epsilon if forward else -self.epsilon, depth)
            if grown is None:
                break
            taken = log1p(-self.rng.random()) < grown.log_weight - whole.log_weight
            whole, goes_on = _joined(whole, grown, taken)
            if not goes_on:
                break
        return whole.drawn

    def _grow(self, end: _Point, epsilon: float, depth: int) -> _Tree | None:
        """Find the next 2^depth points after ``end``; None if they turn back or diverge."""
        if depth == 0:
            return self._leapfrog(end, epsilon)
        one = self._grow(end, epsilon, depth - 1)
        two = None if one is None else self._grow(one.last, epsilon, depth - 1)
        if one is None or two is None:
            return None
        share = two.log_weight - float(np.logaddexp(one.log_weight, two.log_weight))
        whole, goes_on = _joined(one, two, log1p(-self.rng.random()) < share)
        return whole if goes_on else None

    def _leapfrog(self, at: _Point, epsilon: float) -> _Tree | None:
        self.n_solves += 1
        middle = at.momentum + epsilon / 2 * at.slope
        theta = at.theta + times(self.root, epsilon * middle)
        gain = -inf
        if (np.abs(theta) < _FARTHEST).all():
            value, gradient = self.kernel._posterior(theta, self.memory)
            slope = times(self.root.T, gradient)
            momentum = middle + epsilon / 2 * slope
            gain = float(self.energy + value - momentum @ momentum / 2)
        if not gain > -_DIVERGED:  # or NaN
            self.diverging = True
            return None
        self.acceptance += exp(min(gain, 0.0))
        point = _Point(theta, momentum, value, gradient, slope)
        return _Tree(point, point, momentum, gain, point)


def _joined(one: _Tree, two: _Tree, taken: bool) -> tuple[_Tree, bool]:
    """Join a stretch with the next, and return whether the trajectory continues.

    Ends are compared with the sum of the momenta of the whole, and of each part with the nearest point of the other,
    without which a trajectory can step over its turn.
    """
    total = one.total + two.total
    goes_on = (
        _straight(one.first, two.last, total)
        and _straight(one.first, two.first, one.total + two.first.momentum)
        and _straight(one.last, two.last, one.last.momentum + two.total)
    )
    weight = float(np.logaddexp(one.log_weight, two.log_weight))
    return _Tree(one.first, two.last, total, weight, two.drawn if taken else one.drawn), goes_on


def _straight(a: _Point, b: _Point, total: np.ndarray) -> bool:
    return bool(a.momentum @ total > 0 and b.momentum @ total > 0)
