r"""A check of draws by approximate engines: are they those of the posterior?

Under the posterior p of phi, and under no other distribution, Stein's identities hold,

.. math:: E[\nabla \log p(\phi)] = 0, \qquad E[-\nabla \log p(\phi) (\phi - E \phi)^T] = I.

The gradient is known without the approximation: from exact moments, or those of states drawn by parallel tempering. If
draws have the covariance matrix S, S times the mean gradient is how far the posterior is from them (Newton's step), and
the second identity, times S / S_ii, gives the ratios of their variances to those of the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import EVERY_FAMILY, MOMENTS, Inference, Kind, Model, Stateless
from ..convergence import FAR
from ..errors import argument
from ..inference.auto import is_cheap
from ..inference.elimination.two_states import Elimination
from ..likelihood import Likelihood
from ..models.categorical import states_of
from ..names import shown
from ..priors import Prior
from ..samplers.tempered import RENEWED, Tempered

_CHECKED = 256  # draws, at most
_FEWEST = 32  # draws
_TEMPERED, _STATES = 64, 256  # draws, at most, if moments are by parallel tempering, and states of the model at each
_SURE = 5.0  # standard errors
_SHIFT, _RATIO = 1.0, 2.0  # standard deviations, and ratio of variances, that are told if they are surely more
_KEY = 2**31 + 1  # of the check's seed; that of the search for modes is 2^31


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


def remark_on_draws(
    likelihood: Likelihood, prior: Prior, draws: np.ndarray, names: list[str], seeds: np.random.SeedSequence
) -> str:
    """Return how far draws are from the posterior, and what to do; empty if they are not surely far from it.

    S is estimated from the first half of each chain, and the means are taken over draws of the second. Nothing is said
    where the hidden entries have an approximate engine, too, or where parallel tempering does not renew its states.

    Parameters
    ----------
    likelihood : Likelihood
        With the approximate engine.
    prior : Prior
    draws : (n_chains, n_draws, n_parameters) array
    names : list of str
        Of the parameters.
    seeds : numpy.random.SeedSequence
        Of the run, whose own random numbers do not change.
    """
    hidden, model, half = likelihood.hidden, likelihood.model, draws.shape[1] // 2
    first, second = (part.reshape(-1, draws.shape[2]) for part in (draws[:, :half], draws[:, half:]))
    if len(first) < _FEWEST or (hidden is not None and hidden.engine.kind is not Kind.EXACT):
        return ""
    covariance = np.atleast_2d(np.cov(first.T))
    sd = np.sqrt(covariance.diagonal())
    is_exact = model.family in Elimination.families and is_cheap(model.graph, states_of(model))
    n = min(_CHECKED if is_exact else _TEMPERED, len(second))
    at = second[np.linspace(0, len(second) - 1, n).astype(int)]
    if not sd.all() or not at.std(axis=0).all():
        return ""  # chains that never moved
    rng = np.random.default_rng(np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, _KEY)))
    engine = Elimination() if is_exact else _Tempering(rng)
    truth = Likelihood(model, likelihood.s_bar, likelihood.n_samples, engine, hidden, likelihood.curve)
    found = [truth.evaluate(phi) for phi in at]
    if min(f.stats.get("renewed", 1.0) for f in found) < RENEWED:
        return ""
    gradients = np.array([f.score for f in found]) + [prior.gradient(phi) for phi in at]
    steps = gradients @ covariance / sd
    shift, shift_error = _mean(steps)
    ratio, ratio_error = _mean((shift - steps) * (at - at.mean(axis=0)) / sd)
    far = np.abs(shift) - _SURE * shift_error > _SHIFT
    log_ratio = np.log(np.maximum(ratio, np.finfo(float).tiny))
    wide = np.abs(log_ratio) - _SURE * ratio_error / np.abs(ratio) > np.log(_RATIO)
    said = []
    if far.any():
        worst = int(np.where(far, np.abs(shift), 0).argmax())
        said.append(
            f"the mean of {shown(names[worst])} is too {'large' if shift[worst] < 0 else 'small'} by about "
            f"{abs(shift[worst]):.0f} of its standard deviations{_others(far)}"
        )
    if wide.any():
        worst = int(np.where(wide, np.abs(log_ratio), 0).argmax())
        said.append(
            f"the standard deviation of {shown(names[worst])} is too {'large' if ratio[worst] > 1 else 'small'} by a "
            f"factor of about {np.exp(abs(log_ratio[worst]) / 2):.1f}{_others(wide)}"
        )
    if not said:
        return ""
    if is_exact:
        remedy = f"use {argument('kernel', 'auto')} with {argument('engine', 'exact')}"
    elif likelihood.engine.name == "tempered":
        remedy = f"use an engine Tempered with a larger {argument('n_sweeps')}"
    else:
        remedy = f"use {argument('kernel', 'exchange')} with {argument('engine', 'tempered')}"
    return f"{FAR} ({likelihood.engine.name}): {', and '.join(said)}; {remedy}."


def _mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means along the first axis, and their standard errors."""
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def _others(these: np.ndarray) -> str:
    """Return how many parameters but the one named are concerned."""
    n = int(these.sum()) - 1
    return f" (and {n} more parameter{'s' * (n > 1)})" if n else ""
