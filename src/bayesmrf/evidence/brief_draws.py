r"""Posterior draws by Langevin dynamics with contrastive divergence, where Z is infeasible.

This is the method of Chen and Welling (2012, section 3.2). It has two errors: the gradients of brief chains are biased
towards the data (Murray and Ghahramani 2004), and there is no accept step.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

from ..base import Kernel
from ..methods import Langevin
from ..posterior.parameters.langevin import Differentiable, LangevinKernel
from .exact_draws import run_whole
from .sampled import curvature_of_states
from .target import Target

_N_WARMUP, _THIN = 10_000, 50  # by default
_STAGES = 5  # of the pilot chain
_POINTS = 5  # of the pilot chain, at which each stage computes the curvature
_TOO_STIFF = 1.0  # eps^2 lambda at which the variance is a third too large; above 4 the dynamics diverge


def brief_draws(
    target: Target,
    rng: np.random.Generator,
    start: np.ndarray,
    *,
    n_draws: int,
    n_warmup: int | None,
    thin: int | None,
    n_chains: int,
    n_sweeps: int,
    stiffness: float,
    progress: bool = False,
) -> tuple[np.ndarray, float, str]:
    r"""Draw from the posterior by chains that start at the end of a pilot chain of ``n_warmup`` steps (10,000).

    The metric M is the inverse of the diagonal of the curvature :math:`H = N \mathrm{Cov}_\theta[s] + \Lambda` of the
    posterior (without the term of the hidden units, which would reduce it). The step size follows from
    :math:`\epsilon^2 \lambda_{\max}(M^{1/2} H M^{1/2})` = ``stiffness``: without an accept step the variance of a
    normal distribution is too large by the factor :math:`1 / (1 - \epsilon^2 \lambda / 4)` in a direction of scaled
    curvature lambda, here by 5 % in the stiffest. The curvature may be ten times as large far from the mode, so the
    pilot chain runs in five stages, each with the mean metric and the largest lambda of the stage before.

    Returns
    -------
    theta : (n_chains, n_draws, n_features) array
    epsilon : float
        Step size.
    status : str
        A sentence if steps are too long for the curvature at the last draws, else empty.
    """
    n_warmup = _N_WARMUP if n_warmup is None else n_warmup
    brief, points = target.brief(n_sweeps), start[None]
    for _ in range(_STAGES):
        scale, epsilon = _metric(target, points, stiffness, rng)
        pilot = _kernel(target, brief, points[-1], scale, epsilon)
        stride = max(1, n_warmup // (_STAGES * _POINTS))
        points = run_whole(pilot, rng, progress, n_draws=_POINTS, thin=stride, n_chains=1)["theta"][0]
    scale, epsilon = _metric(target, points, stiffness, rng)
    kernel = _kernel(target, brief, points[-1], scale, epsilon)
    sizes = {"n_draws": n_draws, "n_warmup": n_warmup, "thin": _THIN if thin is None else thin, "n_chains": n_chains}
    theta = run_whole(kernel, rng, progress, **sizes)["theta"]
    return theta, epsilon, _stability(target, theta[:, -1], scale, epsilon, rng.spawn(1)[0])


def _stability(target: Target, points: np.ndarray, scale: np.ndarray, epsilon: float, rng: np.random.Generator) -> str:
    """Return a sentence if steps are too long for the curvature at some draws, else an empty string."""
    reached = epsilon**2 * np.array(
        [_largest_eigenvalue(curvature_of_states(target, theta, rng) * scale * scale[:, None], rng) for theta in points]
    )
    worst, n_bad = reached.max(), int((reached > _TOO_STIFF).sum())
    if not n_bad:
        return ""
    effect = f"the variance there is {1 / (1 - worst / 4):.2g} times too large" if worst < 4 else "they diverge there"
    return (f"Langevin steps are too long for the curvature at {n_bad} of {len(points)} draws: {effect}; "
            "give a smaller stiffness")  # fmt: skip


def _kernel(target: Target, brief: Differentiable, start: np.ndarray, scale: np.ndarray, epsilon: float) -> Kernel:
    return LangevinKernel(brief, target.prior, start, Langevin(epsilon), scale)


def _metric(target: Target, points: np.ndarray, stiffness: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Return the square root of the metric, and the step size."""
    curvatures = [curvature_of_states(target, theta, rng) for theta in points]
    scale = 1 / np.sqrt(np.mean([np.diag(c) for c in curvatures], axis=0))
    stiffest = max(_largest_eigenvalue(c * scale * scale[:, None], rng) for c in curvatures)
    return scale, float(np.sqrt(stiffness / stiffest))


def _largest_eigenvalue(matrix: np.ndarray, rng: np.random.Generator) -> float:
    if len(matrix) == 1:
        return float(matrix[0, 0])
    start = rng.standard_normal(len(matrix))
    return float(eigsh(matrix, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[0])
