r"""A check of draws by approximate engines: are they those of the posterior?

Under the posterior p of phi, and under no other distribution, Stein's identities hold,

.. math:: E[\nabla \log p(\phi)] = 0, \qquad E[-\nabla \log p(\phi) (\phi - E \phi)^T] = I.

The gradient is known without the approximation: from exact moments, or those of states drawn by parallel tempering. If
draws have the covariance matrix S, S times the mean gradient is Newton's step from their mean to that of the posterior,
and the trace of the second mean, times S, is p times the ratio of their variances to those of the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import root

from ..base import EVERY_FAMILY, MOMENTS, Inference, Kind, Model, Stateless
from ..errors import ApproximatePosteriorWarning
from ..findings import BAD, tell
from ..inference.auto import is_cheap
from ..inference.elimination.engine import Elimination
from ..likelihood import Likelihood
from ..models.categorical import states_of
from ..names import shown
from ..priors import Prior
from ..results.convergence import FAR
from ..rng import OTHER, descendant
from ..samplers.tempered import RENEWED, Tempered

_CHECKED = 256  # draws, at most
_FEWEST = 32  # draws
_TEMPERED, _STATES = 64, 256  # draws, at most, if moments are by parallel tempering, and states of the model at each
_SURE = 5.0  # standard errors
_SHIFT, _RATIO = 1.0, 1.5  # standard deviations, and ratio of variances, of which fewer are not told
_MOVED, _EVALUATIONS, _NEAR = 32, 12, 0.3  # draws, evaluations and length of the gradient of the search for a shift


@dataclass(frozen=True)
class _Tempering(Stateless):
    """Engine of moments of states drawn by parallel tempering."""

    rng: np.random.Generator

    name = "tempering"
    answers = frozenset({MOMENTS})
    kind = Kind.RANDOM
    families = EVERY_FAMILY

    def infer(self, model: Model, theta: np.ndarray, plan: None, want: str = MOMENTS, state: Any = None) -> Inference:
        states, renewed = Tempered().draw(model, theta, _STATES, self.rng)
        return Inference(moments=model.statistics(states), stats={"renewed": renewed})


class Gaps(NamedTuple):
    """How far draws are from the posterior."""

    shift: np.ndarray  # (n_parameters,), from draws to the posterior, in standard deviations of the draws; 0 if unsure
    ratio: float  # of the variance of the draws to that of the posterior, on average; 1 if unsure, or if draws are far
    is_exact: bool  # whether exact moments are cheap


def gaps(likelihood: Likelihood, prior: Prior, draws: np.ndarray, seeds: np.random.SeedSequence) -> Gaps | None:
    """Compare draws with the posterior.

    S is estimated from the first half of each chain, and the means are taken over draws of the second.

    Parameters
    ----------
    likelihood : Likelihood
        With the approximate engine.
    prior : Prior
    draws : (n_chains, n_draws, n_parameters) array
    seeds : numpy.random.SeedSequence
        Of the run, whose own random numbers do not change.

    Returns
    -------
    Gaps or None
        None if draws are few or all equal, if no engine of the package supports the model, if hidden entries have an
        approximate engine, too, or if parallel tempering does not renew its states.
    """
    hidden, model, half = likelihood.hidden, likelihood.model, draws.shape[1] // 2
    first, second = (part.reshape(-1, draws.shape[2]) for part in (draws[:, :half], draws[:, half:]))
    is_custom = model.family not in EVERY_FAMILY  # a user's, of which the given engine alone knows
    if is_custom and not (likelihood.is_exact and MOMENTS in likelihood.engine.answers):
        return None
    if len(first) < _FEWEST or (hidden is not None and hidden.engine.kind is not Kind.EXACT):
        return None
    covariance = np.atleast_2d(np.cov(first.T))
    sd = np.sqrt(covariance.diagonal())
    is_exact = is_custom or is_cheap(model.graph, states_of(model))
    n = min(_CHECKED if is_exact else _TEMPERED, len(second))
    at = second[np.linspace(0, len(second) - 1, n).astype(int)]
    if not sd.all() or not at.std(axis=0).all():
        return None
    rng = descendant(seeds, OTHER + 1)
    engine = likelihood.engine if is_custom else Elimination() if is_exact else _Tempering(rng)
    truth = Likelihood(model, likelihood.s_bar, likelihood.n_samples, engine, hidden, likelihood.curve)
    evaluations = [truth.evaluate(phi) for phi in at]
    if min(f.stats.get("renewed", 1.0) for f in evaluations) < RENEWED:
        return None
    steps = (np.array([f.score for f in evaluations]) + [prior.gradient(phi) for phi in at]) @ covariance / sd
    shift, error = _mean(steps)
    if (np.abs(shift) - _SURE * error > _SHIFT).any():
        return Gaps(_moved(truth, prior, at[:: max(1, n // _MOVED)], covariance) / sd, 1.0, is_exact)
    ratio, error = _mean(((shift - steps) * (at - at.mean(axis=0)) / sd).mean(axis=1))
    is_sure = ratio > 0 and abs(np.log(ratio)) - _SURE * error / ratio > np.log(_RATIO)
    return Gaps(np.zeros(len(sd)), float(ratio) if is_sure else 1.0, is_exact)


def _moved(truth: Likelihood, prior: Prior, at: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Find the vector that, added to the draws, makes their mean gradient zero."""
    values, vectors = np.linalg.eigh(covariance)
    scale = vectors * np.sqrt(np.maximum(values, 0.0))

    def slope(z: np.ndarray) -> np.ndarray:
        moved = at + scale @ z
        return np.mean([truth.score(phi) + prior.gradient(phi) for phi in moved], axis=0) @ scale

    start = np.zeros(len(values))
    # Without derivatives, and with few evaluations: each is a mean over draws.
    solution = root(slope, start, method="df-sane", options={"maxfev": _EVALUATIONS, "fatol": _NEAR})
    moved: np.ndarray = scale @ solution.x
    return moved


def _mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means along the first axis, and their standard errors."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def warn_of_draws(
    likelihood: Likelihood, prior: Prior, draws: np.ndarray, names: list[str], seeds: np.random.SeedSequence
) -> None:
    """Tell how far draws are from the posterior, if they surely are; see `remark_on_draws`."""
    if remark := remark_on_draws(likelihood, prior, draws, names, seeds):
        tell(remark, ApproximatePosteriorWarning, BAD)


def remark_on_draws(
    likelihood: Likelihood, prior: Prior, draws: np.ndarray, names: list[str], seeds: np.random.SeedSequence
) -> str:
    """Return how far draws are from the posterior, and what to do; empty if they are not surely far from it.

    ``names`` are those of the parameters; for the others see `gaps`.
    """
    deviation = gaps(likelihood, prior, draws, seeds)
    if deviation is None:
        return ""
    far, worst = np.abs(deviation.shift), int(np.abs(deviation.shift).argmax())
    if far[worst] > _SHIFT:
        n = int((far > _SHIFT).sum()) - 1
        others = f" (that of {n} other{'s' * (n > 1)} by more than {_SHIFT:.0f})" if n else ""
        side = "large" if deviation.shift[worst] < 0 else "small"
        gap = f"the mean of {shown(names[worst])} is too {side} by about {far[worst]:.0f} of its standard deviations"
        gap += others
    elif deviation.ratio != 1:
        side, factor = ("large", deviation.ratio) if deviation.ratio > 1 else ("small", 1 / deviation.ratio)
        gap = f"standard deviations are too {side} by a factor of about {factor**0.5:.1f}"
    else:
        return ""
    if deviation.is_exact:
        remedy = "use the automatic kernel with the exact engine"
    elif likelihood.engine.name == "tempered":
        remedy = "use more sweeps of the engine"
    else:
        remedy = "use the kernel 'exchange' with the engine 'tempered'"
    return f"{FAR} ({likelihood.engine.name}): {gap}; {remedy}."
