"""Posterior draws by Hamiltonian Monte Carlo with the exact likelihood, where Z can be summed.

The posterior is the stationary distribution for any step size, and the likelihood of each draw is known.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from ..blas import one_thread
from ..progress import track
from .hamiltonian import move, swarm_at
from .sampled import curvature_of_states
from .target import Target

_N_WARMUP = 200  # by default
_ACCEPTED = 0.85
_ADAPTATION = 0.3  # initial change of log step size for a unit of acceptance
_LEAPFROG = 10


@one_thread()
def exact_draws(
    target: Target,
    rng: np.random.Generator,
    start: np.ndarray,
    *,
    n_draws: int,
    n_warmup: int | None,
    thin: int | None,
    n_chains: int,
    progress: bool = False,
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Draw from the posterior by chains that start at one point, near a mode.

    The metric is the mean curvature N Cov[s] + Lambda, first at ``start``, and from the middle of the warm-up at the
    chains. Steps are adapted to an acceptance of 0.85 during the warm-up (200 trajectories by default) and then fixed.

    Returns
    -------
    theta : (n_chains, n_draws, n_features) array
    log_likelihood : (n_chains, n_draws) array
    epsilon, acceptance : float
        Step size, and the mean acceptance of its steps.
    """
    n_warmup = _N_WARMUP if n_warmup is None else n_warmup
    swarm = swarm_at(target, np.tile(start, (n_chains, 1)))
    log_size = float(np.log(0.5))
    root = _root(target, start[None], rng)
    for t in track(range(n_warmup), "posterior: warm-up", progress=progress):
        if t == n_warmup // 2:
            root = _root(target, swarm.theta, rng)
        swarm, acceptance = move(target, swarm, np.exp(log_size), root, _LEAPFROG, rng)
        # The gain decreases within each half, so that the last size is an average.
        gain = _ADAPTATION / np.sqrt(1 + t % max(1, n_warmup // 2) / 10)
        log_size = min(log_size + gain * (acceptance.mean() - _ACCEPTED), 1.0)
    theta = np.empty((n_chains, n_draws, target.n_features))
    log_likelihood, accepted = np.empty((n_chains, n_draws)), 0.0
    for t in track(range(n_draws), "posterior: draws", progress=progress):
        for _ in range(thin or 1):
            swarm, acceptance = move(target, swarm, np.exp(log_size), root, _LEAPFROG, rng)
        theta[:, t], log_likelihood[:, t] = swarm.theta, swarm.log_likelihood
        accepted += acceptance.mean() / n_draws
    return theta, log_likelihood, float(np.exp(log_size)), float(accepted)


def _root(target: Target, points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a square root of the inverse of the mean curvature at some points."""
    curvature = np.mean([curvature_of_states(target, theta, rng) for theta in points], axis=0)
    lower = np.linalg.cholesky(curvature)
    return solve_triangular(lower, np.eye(len(curvature)), lower=True, trans="T")
