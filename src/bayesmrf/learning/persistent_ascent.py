"""Estimates by persistent chains for any model; the posterior mode of tables by an exact engine, too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from ..base import LOG_Z, MOMENTS, Engine, Model
from ..inference.chains import Persistent
from ..likelihood import Hidden, Likelihood
from ..models.linear_map import LinearMap
from ..priors import FIELD_SCALE
from ..threads import one_thread

_N_STEPS, _MOST_STEPS = 500, 5000  # iterations from theta = 0, at least and at most
_N_AVERAGED = 500  # iterations after them
_LENGTH = 10.0  # sum of the rates of the former, at least
_RATE, _MAX_STEP = 0.5, 0.5  # of a Newton step, and of a natural parameter in one iteration, at most
_SLOWER, _FASTER = 0.9, 1.02  # factors of the rate
# Beyond these a step is too long: cosine with the last step, and its square relative to the least, most of which is
# kept in each iteration.
_TURN, _GROWTH, _KEPT = -0.2, 4.0, 0.98


def persistent_ascent(
    model: Model,
    s_bar: np.ndarray,
    n_samples: float,
    rng: np.random.Generator,
    penalty: np.ndarray,
    limit: np.ndarray,
    curve: LinearMap | None = None,
    held: Callable[[np.ndarray], np.ndarray] | None = None,
) -> np.ndarray:
    """Maximise N (theta . s_bar - log Z) - sum penalty theta^2 / 2 within +-limit by persistent chains.

    Persistent chains are those of Tieleman (2008). Steps are Newton's with the running variance of each feature, times
    a rate. Features that are correlated make the likelihood stiff in some directions: with steps that are too long for
    these theta swings, and grows modes that the data do not have. So the rate falls where a step turns back, or is much
    longer than before, unless it is about as short as the noise of the chains; otherwise it rises. Then it decreases as
    j^(-2/3), and the average is the estimate (Polyak and Juditsky 1992).

    Parameters
    ----------
    model : Model
    s_bar, penalty, limit : (n_features,) arrays
        Mean statistics of the data; quadratic penalty and bound of each parameter.
    n_samples : float
    rng : Generator
    curve : LinearMap, optional
        If parameters are tied.
    held : callable, optional
        Gradient of another quadratic penalty, whose diagonal is ``penalty``.
    """
    engine, low, high = Persistent(n_chains=1024), model.feature_low, model.feature_high
    chains, variance, weight, noise = engine.start(model, rng), np.zeros(model.n_features), 0.0, 0.0

    def newton(theta: np.ndarray) -> np.ndarray:
        nonlocal chains, variance, weight, noise
        inference = engine.infer(model, theta, None, state=chains)
        q, chains = inference.moments, inference.state
        variance, weight = 0.9 * variance + 0.1 * (q - low) * (high - q), 0.9 * weight + 0.1
        gradient = s_bar - q - (penalty * theta if held is None else held(theta)) / n_samples
        curvature = variance / weight + penalty / n_samples + 1e-3
        noise = float((variance / weight / curvature**2).sum()) / engine.n_chains  # square of a step of noise alone
        if curve is None:
            return gradient / curvature
        # Where the variances differ the mean of the separate steps is not 0 at the maximum.
        return curve.natural(curve.pull_back(theta, gradient) / curve.pull_back(theta, curvature))

    def moved(theta: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.clip(theta + np.clip(step, -_MAX_STEP, _MAX_STEP), -limit, limit)

    theta, before, average = np.zeros((3, model.n_features))
    rate, length, least = _RATE, 0.0, np.inf
    for j in range(_MOST_STEPS):
        step = newton(theta)
        square = step @ step
        least = min(least / _KEPT, square)
        turns = step @ before < _TURN * np.sqrt(square * (before @ before))
        if square > _GROWTH * noise and (turns or square > _GROWTH * least):
            rate *= _SLOWER
        else:
            rate = min(rate * _FASTER, _RATE)
        theta, before, length = moved(theta, rate * step), step, length + rate
        if j >= _N_STEPS and length >= _LENGTH:
            break
    for j in range(1, _N_AVERAGED + 1):
        theta = moved(theta, rate * newton(theta) / j ** (2 / 3))
        average += theta
    return average / _N_AVERAGED


@one_thread()
def potential_mode(
    model: Model,
    s_bar: np.ndarray,
    n_samples: float,
    engine: Engine,
    rng: np.random.Generator,
    base: np.ndarray,
    hidden: Hidden | None = None,
) -> np.ndarray:
    """Find the mode of the posterior if every edge has its own potential, N(0, base^-1), and fields their prior.

    The likelihood alone need not have a maximum: without fields, potentials of the edges of a cycle are not identified
    (see `bayesmrf.models.symmetric`). ``base`` is a precision (p, p). With an engine that answers log Z and moments the
    mode is found by L-BFGS, otherwise by persistent chains. ``hidden`` are missing entries, with exact engines.
    """

    def slope(theta: np.ndarray) -> np.ndarray:
        return prior_slope(model, base, theta)

    if not {LOG_Z, MOMENTS} <= set(engine.answers):
        diagonal = prior_slope(model, np.diag(base.diagonal()), np.ones(model.n_features))
        free = np.full(model.n_features, np.inf)
        return persistent_ascent(model, s_bar, n_samples, rng, diagonal, free, held=slope)
    likelihood = Likelihood(model, s_bar, n_samples, engine, hidden)

    def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
        held = slope(theta)
        if hidden is not None:
            summed, score, *_ = likelihood.evaluate(theta)
            return 0.5 * theta @ held - summed, held - score
        inference = likelihood.inference(theta, MOMENTS)
        value = likelihood.log_likelihood(theta, inference.log_z) - 0.5 * theta @ held
        return -value, n_samples * (inference.moments - s_bar) + held

    options = {"ftol": 1e-14, "gtol": 1e-6, "maxiter": 2000, "maxcor": 30}
    return minimize(negative, np.zeros(model.n_features), jac=True, method="L-BFGS-B", options=options).x


def prior_slope(model: Model, base: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return minus the gradient of the log prior: of potentials with the precision ``base`` (p, p), and of fields."""
    r, p = model.n_edges, model.n_parameters
    return np.concatenate([(theta[: r * p].reshape(r, p) @ base).ravel(), FIELD_SCALE**-2 * theta[r * p :]])
