"""Estimates by persistent chains for any model; the posterior mode of tables by an exact engine, too."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from ..base import LOG_Z, MOMENTS, Engine, Model
from ..blas import one_thread
from ..inference.chains import Persistent
from ..likelihood import Likelihood
from ..models.linear_map import LinearMap
from ..models.symmetric import Symmetric
from ..priors import FIELD_SCALE

_N_STEPS = 1000  # iterations from theta = 0
_MAX_STEP = 0.5  # of a natural parameter in one iteration


def persistent_ascent(
    model: Model,
    s_bar: np.ndarray,
    n_samples: float,
    rng: np.random.Generator,
    penalty: np.ndarray,
    limit: np.ndarray,
    curve: LinearMap | None = None,
) -> np.ndarray:
    """Maximise N (theta . s_bar - log Z) - sum penalty theta^2 / 2 within +-limit by persistent chains.

    Persistent chains are those of Tieleman (2008). Steps are scaled by the running variance of each feature and
    decrease as j^(-2/3) in the second half, whose average is the estimate (Polyak and Juditsky 1992).

    Parameters
    ----------
    model : Model
    s_bar, penalty, limit : (n_features,) arrays
        Mean statistics of the data; quadratic penalty and bound of each parameter.
    n_samples : float
    rng : Generator
    curve : LinearMap, optional
        If parameters are tied.
    """
    engine, low, high = Persistent(n_chains=1024), model.feature_low, model.feature_high
    chains, theta, average = engine.start(model, rng), np.zeros(model.n_features), np.zeros(model.n_features)
    variance, weight, burn = np.zeros(model.n_features), 0.0, _N_STEPS // 2
    for j in range(_N_STEPS):
        found = engine.infer(model, theta, None, state=chains)
        q, chains = found.moments, found.state
        assert q is not None
        variance, weight = 0.9 * variance + 0.1 * (q - low) * (high - q), 0.9 * weight + 0.1
        gradient = s_bar - q - penalty * theta / n_samples
        late = (1 + max(0, j - burn)) ** (2 / 3)
        curvature = variance / weight + penalty / n_samples + 1e-3
        step = gradient / curvature
        if curve is not None:  # where the variances differ the mean of the separate steps is not 0 at the maximum
            step = curve.natural(curve.pull_back(theta, gradient) / curve.pull_back(theta, curvature))
        step = 0.5 * step / late
        theta = np.clip(theta + np.clip(step, -_MAX_STEP, _MAX_STEP), -limit, limit)
        if j >= burn:
            average += theta
    return average / (_N_STEPS - burn)


@one_thread()
def potential_mode(
    model: Symmetric, s_bar: np.ndarray, n_samples: float, engine: Engine, rng: np.random.Generator, base: np.ndarray
) -> np.ndarray:
    """Find the mode of the posterior if every edge has its own potential, N(0, base^-1), and fields their prior.

    The likelihood alone need not have a maximum: without fields, potentials of the edges of a cycle are not identified
    (see `bayesmrf.models.symmetric`). ``base`` is a precision (p, p). With an engine that answers log Z and moments the
    mode is found by L-BFGS, otherwise by persistent chains and the diagonal of ``base``.
    """
    r, p = model.n_edges, model.n_parameters
    loose = np.full(model.n_features - r * p, FIELD_SCALE**-2)
    if not {LOG_Z, MOMENTS} <= set(engine.answers):
        penalty = np.concatenate([np.tile(base.diagonal(), r), loose])
        return persistent_ascent(model, s_bar, n_samples, rng, penalty, np.full(model.n_features, np.inf))
    likelihood = Likelihood(model, s_bar, n_samples, engine)

    def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
        found = likelihood.inference(theta, MOMENTS)
        assert found.log_z is not None
        assert found.moments is not None
        held = np.concatenate([(theta[: r * p].reshape(r, p) @ base).ravel(), loose * theta[r * p :]])
        value = likelihood.log_likelihood(theta, found.log_z) - 0.5 * theta @ held
        return -value, n_samples * (found.moments - s_bar) + held

    options = {"ftol": 1e-14, "gtol": 1e-6, "maxiter": 2000, "maxcor": 30}
    return minimize(negative, np.zeros(model.n_features), jac=True, method="L-BFGS-B", options=options).x
