"""Scores at one point: the log posterior at its mode, and BIC at the maximum of the likelihood.

They are the first three and the first four terms of Chen and Welling 2012 evidence, eq. 5: what is left of Laplace's
approximation without the volume of the posterior.
"""

from __future__ import annotations

import numpy as np

from .laplace import evaluate
from .mode import Mode, own_mode
from .target import Evidence, Target


def map_score(
    target: Target,
    rng: np.random.Generator,
    *,
    mode: Mode | None = None,
    log_z: str = "auto",
    n_steps: int = 20_000,
    n_states: int | None = None,
    n_chains: int = 100,
    temperatures: int = 1000,
    progress: bool = False,
) -> Evidence:
    """Log p(X | theta) + log p(theta) at the mode of the posterior.

    Parameters
    ----------
    target, rng, mode, log_z, n_steps, n_states, n_chains, temperatures, progress
        As in `laplace`.

    Returns
    -------
    Evidence
        ``standard_error`` is that of log Z. The terms are ``data``, ``log_z`` and ``log_prior``.
    """
    mode = own_mode(mode, target, rng, n_steps=n_steps, n_states=n_states, log_z=log_z, progress=progress)
    return _score("map", target, mode, {}, rng, log_z, n_chains, temperatures)


def bic(
    target: Target,
    rng: np.random.Generator,
    *,
    mode: Mode | None = None,
    log_z: str = "auto",
    n_steps: int = 20_000,
    n_states: int | None = None,
    n_chains: int = 100,
    temperatures: int = 1000,
    progress: bool = False,
) -> Evidence:
    """Bayesian information criterion with the prior, log p(X | theta) + log p(theta) - F/2 log N.

    It is taken at the maximum of the likelihood. Schwarz's own has no prior: leave out the term ``log_prior``.

    Parameters
    ----------
    mode : Mode, optional
        From ``find_mode(target, rng, penalised=False)``; found here when absent.
    target, rng, log_z, n_steps, n_states, n_chains, temperatures, progress
        As in `laplace`.

    Returns
    -------
    Evidence
        ``standard_error`` is that of log Z. The terms are ``data``, ``log_z``, ``log_prior`` and ``dimension``.
    """
    mode = own_mode(
        mode, target, rng, penalised=False, n_steps=n_steps, n_states=n_states, log_z=log_z, progress=progress
    )
    dimension = {"dimension": -target.n_features / 2 * np.log(target.n_samples)}
    return _score("bic", target, mode, dimension, rng, log_z, n_chains, temperatures)


def _score(
    method: str,
    target: Target,
    mode: Mode,
    more: dict[str, float],
    rng: np.random.Generator,
    log_z: str,
    n_chains: int,
    temperatures: int,
) -> Evidence:
    n = target.n_samples
    point = evaluate(target, mode.theta, rng, log_z, n_chains, temperatures)
    parts = point.parts | more
    status = "; ".join(s for s in (mode.status, point.status) if s)
    return Evidence(
        float(sum(parts.values())),
        n * point.error,
        method,
        n,
        target.n_features,
        parts,
        status,
        arrays={"theta": mode.theta},
    )
