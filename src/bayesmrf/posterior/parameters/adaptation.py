r"""Step sizes that are adapted during warm-up, by dual averaging (Hoffman and Gelman 2014, section 3.2).

After step t, with acceptance :math:`a_t` and the target :math:`\delta`,

.. math:: \bar H_t &= \Big(1 - \frac{1}{t + t_0}\Big) \bar H_{t-1} + \frac{1}{t + t_0} (\delta - a_t), \\
          \log \epsilon_{t+1} &= \mu - \frac{\sqrt t}{\gamma} \bar H_t, \qquad
          \log \bar\epsilon_{t+1} = t^{-\kappa} \log \epsilon_{t+1} + (1 - t^{-\kappa}) \log \bar\epsilon_t,

with gamma = 0.05, t_0 = 10 and kappa = 0.75, as in the paper. Here mu is the log of the first step size, which comes
from the curvature of the posterior; the paper takes ten times it. After warm-up the step size is fixed at the average
:math:`\bar\epsilon`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, log, sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...declare.option import Checked, needs, option
from ...declare.rule import PRIOR, ROOT, optional
from ...likelihood import Likelihood
from ...priors import Prior

_GAMMA, _T0, _KAPPA = 0.05, 10, 0.75
_FARTHEST = 10.0  # of the log of a step size from that of the first
WALK_TARGET = 0.44  # of a random walk in one coordinate (Gelman, Roberts and Gilks 1996)
WALK_FIRST = 2.4  # its step there, in conditional standard deviations of a normal posterior (ibid.)
_INDEPENDENT = 0.2  # share of the draws of a warm-up that count for a covariance
_DIAGONAL = 5  # draws which each variance of a diagonal metric counts for when it is changed (Stan's number)


class StepSize(NamedTuple):
    """A step size and the state of its adaptation, part of a kernel's State."""

    size: float
    n_updates: int = 0
    log_average: float = 0.0
    error: float = 0.0


class WalkInfo(NamedTuple):
    """Draw, the share of accepted proposals, and the step size of the sweep."""

    theta: np.ndarray
    acceptance: float
    step_size: float


@dataclass(frozen=True, eq=False)
class RandomWalk(Checked):
    """Fields of the kernels that propose one step after another along coordinates (see `displacements`)."""

    likelihood: Likelihood
    prior: Prior = field(metadata=needs(PRIOR))
    start: np.ndarray
    options: Any  # with ``step_size``
    scale: np.ndarray | None = option(None, optional(ROOT))
    spread: np.ndarray | None = None

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()  # what the engine must compute
    dims = {"theta": ("feature",), "acceptance": (), "step_size": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        super().__post_init__()
        self.likelihood.require(self.name, self.needs)

    @property
    def first(self) -> float:
        """The first step size, in units of ``scale``."""
        return WALK_FIRST if self.options.step_size is None else self.options.step_size


def adapt(step: StepSize, acceptance: float, *, target: float, first: float, n_adapt: int) -> StepSize:
    """Update the step size after one step.

    Parameters
    ----------
    step : StepSize
    acceptance : float
        Probability (or share) of acceptance in this step.
    target : float
        The acceptance to reach.
    first : float
        The first step size.
    n_adapt : int
        Number of steps that adapt; after them ``step`` is returned unchanged.
    """
    if step.n_updates >= n_adapt:
        return step
    t = step.n_updates + 1
    error = step.error + (target - acceptance - step.error) / (t + _T0)
    away = min(max(-sqrt(t) / _GAMMA * error, -_FARTHEST), _FARTHEST)
    weight = t**-_KAPPA
    log_average = weight * (log(first) + away) + (1 - weight) * step.log_average
    return StepSize(exp(log_average if t == n_adapt else log(first) + away), t, log_average, error)


def displacements(noise: np.ndarray, scale: np.ndarray | None) -> Iterator[np.ndarray]:
    """Iterate over the proposals of a random-walk sweep, each as the displacement of theta (n_features,).

    Parameters
    ----------
    noise : (n_features,) array
        Length of each step.
    scale : (n_features,) or (n_features, n_features) array or None
        Units of the coordinates, or a root of the posterior's covariance, whose columns are then the directions of the
        steps; None for units of 1.
    """
    if scale is not None and scale.ndim == 2:
        yield from (length * column for length, column in zip(noise, scale.T, strict=True))
        return
    for j, length in enumerate(noise if scale is None else noise * scale):
        move = np.zeros(len(noise))
        move[j] = length
        yield move


def langevin_target(momentum: float) -> float:
    """Return the optimal acceptance of adjusted Langevin dynamics: 0.574 without momentum (Roberts and Rosenthal 1998).

    With momentum a rejection reverses the chain. To keep the number of rejections per persistence time of the momentum,
    1 / (1 - momentum) steps, their rate is lower by the factor 1 - momentum.
    """
    return 1 - (1 - 0.574) * (1 - momentum)


def dispersed(start: np.ndarray, spread: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Draw where a chain starts: N(start, spread spread^T).

    Parameters
    ----------
    start : (n_features,) array
    spread : (n_features,) or (n_features, n_features) array or None
        Standard deviations, or a root of the covariance; None starts at ``start`` itself.
    """
    theta = start.astype(np.float64)
    if spread is None:
        return theta
    return theta + times(spread, rng.standard_normal(len(theta)))


def times(root: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Multiply a root of a covariance (a matrix, its diagonal, or a number) by a vector."""
    return root @ vector if root.ndim == 2 else root * vector


def adapted_root(root: np.ndarray, n: int, total: np.ndarray, squares: np.ndarray) -> np.ndarray:
    r"""Estimate a root of the covariance from draws, where they contradict the present one.

    In coordinates in which ``root`` is the identity, only eigenvalues of the sample covariance count that lie outside
    of those that noise has there, :math:`(1 \pm \sqrt \gamma)^2` with gamma parameters a draw (Marchenko and Pastur
    1967), less their bias (Baik and Silverstein 2006, theorem 1.1). A draw counts for a fifth, as squares of parameters
    are correlated between draws, and fewer draws than parameters change nothing. Of a diagonal, each variance is
    averaged with 5 such draws of the present one.

    Parameters
    ----------
    root : (n_features,) or (n_features, n_features) array
    n : int
        Number of draws.
    total : (n_features,) array
        Their sum.
    squares : array of the shape of ``root``
        The sum of their squares, or outer products.
    """
    mean, n_own = total / n, n * _INDEPENDENT
    if root.ndim == 1:
        variance = np.maximum(squares / n - mean**2, 0.0)
        return np.sqrt((n_own * variance + _DIAGONAL * root**2) / (n_own + _DIAGONAL))
    if n < len(mean):
        return root
    half = np.linalg.solve(root, squares / n - np.outer(mean, mean))
    s = np.linalg.solve(root, half.T)
    values, vectors = np.linalg.eigh((s + s.T) / 2)
    gamma, level = len(mean) / n_own, values.mean()
    values = np.maximum(values / level, 0.0)
    lowest, highest = (1 - min(gamma, 1.0) ** 0.5) ** 2, (1 + gamma**0.5) ** 2
    sign = np.where(values > highest, 1, np.where(values < lowest, -1, 0))
    middle = values + 1 - gamma
    spikes = (middle + sign * np.sqrt(np.maximum(middle**2 - 4 * values, 0.0))) / 2
    lower: np.ndarray = np.linalg.cholesky(level * (vectors * np.where(sign == 0, 1, spikes)) @ vectors.T)
    return np.asarray(root @ lower)
