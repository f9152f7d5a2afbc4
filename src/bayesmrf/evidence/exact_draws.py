"""Posterior draws by Hamiltonian dynamics with the exact likelihood, where Z can be summed.

The kernel is that of parameters (`bayesmrf.posterior.parameters.hamiltonian`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..base import Kernel
from ..likelihood import NO_MEMORY, Evaluation, Memory
from ..posterior.parameters.hamiltonian import HamiltonianKernel
from ..runs import run
from ..threads import one_thread
from .sampled import curvature_of_states
from .target import Target

_N_WARMUP = 200  # by default


@dataclass(frozen=True)
class ExactLikelihood:
    """The exact likelihood of a target, as kernels of parameters ask for it."""

    target: Target

    def require(self, kernel: str, needs: Iterable[str]) -> None:
        """Accept every kernel: there are values and gradients."""

    def start(self, rng: np.random.Generator) -> Memory:
        """Return no memory."""
        return NO_MEMORY

    def evaluate(self, theta: np.ndarray, want: str, memory: Memory) -> Evaluation:
        """Return the log likelihood and its gradient."""
        return Evaluation(*self.target.log_likelihood(theta), None, memory)


@one_thread()
def exact_draws(
    target: Target, rng: np.random.Generator, start: np.ndarray, *, n_warmup: int | None, progress: bool, **sizes: Any
) -> tuple[np.ndarray, float, float]:
    """Draw from the posterior by chains that start at one point, near a mode.

    The metric is at first the curvature N Cov[s] + Lambda at ``start``. The warm-up has 200 trajectories by default.

    Returns
    -------
    theta : (n_chains, n_draws, n_features) array
    epsilon, acceptance : float
        Mean step size, and mean acceptance of the steps.
    """
    lower = np.linalg.cholesky(curvature_of_states(target, start, rng))
    root = solve_triangular(lower, np.eye(len(lower)), lower=True, trans="T")
    n_adapt = _N_WARMUP if n_warmup is None else n_warmup
    kernel = HamiltonianKernel(ExactLikelihood(target), target.prior, start, scale=root, n_adapt=n_adapt)
    draws = run_whole(kernel, rng, progress, n_warmup=n_adapt, **sizes)
    return draws["theta"], float(draws["step_size"].mean()), float(draws["acceptance"].mean())


def run_whole(kernel: Kernel, rng: np.random.Generator, progress: bool, **sizes: Any) -> dict[str, np.ndarray]:
    """Return the draws of a run; an evidence of a part of them would look like that of all."""
    walk = run.sample(kernel, random_state=rng, progress=progress, **sizes)
    if not walk.complete:
        raise KeyboardInterrupt("the run was stopped before its last draw")
    return dict(walk.values)
