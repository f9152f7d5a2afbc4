"""Hamiltonian Monte Carlo with the exact likelihood, many chains at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .target import Target

_JITTER = 0.2  # relative half width of the random step sizes, which prevent periodic trajectories


class Swarm(NamedTuple):
    """Chains in parameter space."""

    theta: np.ndarray  # (n_chains, n_features)
    log_likelihood: np.ndarray  # (n_chains,)
    gradient: np.ndarray  # (n_chains, n_features), of the log likelihood


def swarm_at(target: Target, theta: np.ndarray) -> Swarm:
    """Return chains at the rows of ``theta``."""
    return Swarm(theta, *target.log_likelihoods(theta))


def slope(target: Target, swarm: Swarm, temperature: float = 1.0) -> np.ndarray:
    """Return the gradient of log p(theta) + temperature log p(X | theta) at each chain."""
    return temperature * swarm.gradient + target.prior.gradient(swarm.theta)


def move(
    target: Target,
    swarm: Swarm,
    size: float,
    root: np.ndarray,
    n_leapfrog: int,
    rng: np.random.Generator,
    temperature: float = 1.0,
) -> tuple[Swarm, np.ndarray]:
    """Move each chain by one trajectory; return the chains and their acceptance probabilities.

    Parameters
    ----------
    target : Target
    swarm : Swarm
    size : float
        Leapfrog step in coordinates u, theta = root u, in which momenta have unit variance.
    root : (n_features,) or (n_features, n_features) array
        Approximate square root of the covariance of the target distribution, or its diagonal.
    n_leapfrog : int
    rng : numpy.random.Generator
    temperature : float
        Power of the likelihood.
    """
    is_diagonal = root.ndim == 1

    def energy(at: Swarm, momentum: np.ndarray) -> np.ndarray:
        log_density = temperature * at.log_likelihood + target.prior.log_density(at.theta).sum(axis=1)
        return 0.5 * (momentum**2).sum(axis=1) - log_density

    def force(at: Swarm) -> np.ndarray:
        gradient = slope(target, at, temperature)
        return gradient * root if is_diagonal else gradient @ root

    n_chains = len(swarm.theta)
    step = size * rng.uniform(1 - _JITTER, 1 + _JITTER, (n_chains, 1))
    momentum = rng.standard_normal(swarm.theta.shape)
    before, new, push = energy(swarm, momentum), swarm, force(swarm)
    for _ in range(n_leapfrog):
        momentum = momentum + 0.5 * step * push
        new = swarm_at(target, new.theta + step * (momentum * root if is_diagonal else momentum @ root.T))
        push = force(new)
        momentum += 0.5 * step * push
    change = energy(new, momentum) - before
    acceptance = np.exp(-np.maximum(np.where(np.isfinite(change), change, np.inf), 0.0))
    taken = rng.random(n_chains) < acceptance
    theta, gradient = (
        np.where(taken[:, None], a, b) for a, b in ((new.theta, swarm.theta), (new.gradient, swarm.gradient))
    )
    return Swarm(theta, np.where(taken, new.log_likelihood, swarm.log_likelihood), gradient), acceptance
