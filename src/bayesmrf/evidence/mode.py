r"""The mode of a posterior and its curvature there: steps 1 to 3 of Chen and Welling 2012 evidence, Algorithm 1.

1. Persistent contrastive divergence (Tieleman 2008), with steps that decrease as 1 / t, moves near a mode lambda_0.
2. States x(1), ..., x(T) are drawn from the model at lambda_0.
3. L-BFGS maximises the log posterior estimated from these states (`SampledPosterior`) while at least 90 % of them are
   effective. When it leaves that region, it continues with fresh states, until it converges with the states it started
   with. There the second derivative is positive definite.

If Z(lambda) can be summed, the exact log posterior is maximised instead, and no states are drawn.

With hidden units the gradient also vanishes at saddle points, such as a unit without weights. If the least eigenvalue
of minus the second derivative is negative, the search continues from the highest of some points along its eigenvector,
on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import OptimizeResult, minimize

from ..declare.option import option
from ..declare.rule import COUNT, FLAG, STATES, choice, integer, optional
from ..learning.maximum_likelihood import bound
from ..progress import track
from ..threads import one_thread
from .method import Work
from .sampled import BATCHES, SHARE, Hessian, SampledPosterior, fixed_curvature, log_prior
from .target import Target

_STATES = 20_000  # default minimum
_STATES_EACH = 30  # per parameter: a covariance of F features needs many times F states
_STATES_ROW = 50  # per observation: the noise of the second derivative is N times theirs
_MOST_STATES = 2**20  # limit of the number per observation
_BISECTIONS = 20
_FLAT = 0.05  # gradient, in nats per unit of a parameter
_LBFGS = {"maxiter": 5000, "maxfun": 10_000, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-3}
_SADDLES = 20  # left in one search
_STRIDES = 2.0 ** np.arange(3, -13, -1)  # steps away from a saddle, in units of a parameter


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of the posterior (or the likelihood), and the posterior around it."""

    target: Target
    theta: np.ndarray  # (n_features,)
    penalised: bool  # false for a mode of the likelihood
    # States drawn at the mode, or so near that at least 90 % of them are effective there. None if the exact log
    # posterior was maximised.
    states: SampledPosterior | None = field(repr=False)
    n_rounds: int  # number of sets of states
    status: str  # empty if the search has converged

    @cached_property
    def hessian(self) -> Hessian | None:
        """Minus the second derivative of the log posterior by batches of states; None without states."""
        return None if self.states is None else self.states.hessian(self.theta)

    @cached_property
    def curvature(self) -> np.ndarray:
        """Minus the second derivative of the log posterior, (n_features, n_features)."""
        if self.hessian is not None:
            return self.hessian.without()
        covariance = self.target.covariance(self.theta)
        return self.target.n_samples * covariance + fixed_curvature(self.target, self.theta, self.penalised)

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Return the log posterior up to a constant, its gradient, and the share of effective states (1 if exact)."""
        if self.states is not None:
            return self.states.slope(theta)
        value, gradient = self.target.log_likelihood(theta)
        value += log_prior(self.target, theta, self.penalised)
        return value, gradient + self.target.prior.gradient(theta) if self.penalised else gradient, 1.0

    def density(self, theta: np.ndarray) -> tuple[float, float]:
        """Return the log posterior up to a constant, and the share of effective states."""
        if self.states is not None:
            return self.states.density(theta)
        log_likelihood = self.target.positive(theta) - self.target.n_samples * self.target.log_z(theta)
        return log_likelihood + log_prior(self.target, theta, self.penalised), 1.0


@dataclass(frozen=True, kw_only=True)
class ModeSearch(Work):
    """Search for a mode by persistent chains with fine-tuning; the call returns a `Mode`.

    Parameters
    ----------
    n_states
        By default the largest of 20,000, 30 per parameter, and 50 per observation (at most 2^20).
    penalised
        That is half an observation from the boundary, since the maximum is often at infinity. The status gives the
        number of parameters at the bound.
    """

    n_steps: int = option(20_000, integer(1, 10**8), "Updates of persistent contrastive divergence.")
    n_states: int | None = option(None, optional(STATES), "Number T of states for the sampled posterior.")
    penalised: bool = option(True, FLAG, "False maximises the likelihood, with parameters bounded by +-log(2 N - 1).")
    log_z: str = option(
        "auto",
        choice("auto", "exact", "ais"),
        '"exact" maximises the exact log posterior after persistent chains, "ais" the sampled one, "auto" the first if '
        "Z can be summed.",
    )
    max_rounds: int = option(50, COUNT, "Maximum number of sets of states.")

    decides = "log_z"

    def is_exact(self, target: Target) -> bool:
        """Whether Z is summed for this target."""
        return self.log_z == "exact" or (self.log_z == "auto" and target.can_sum)

    def __call__(self, target: Target, rng: np.random.Generator, *, progress: bool = False) -> Mode:
        """Find a mode.

        Raises
        ------
        TooWideError
            For ``log_z="exact"`` if Z cannot be summed.
        """
        self.require(target)
        n_states = self.n_states
        if n_states is None:
            n_states = max(
                _STATES, _STATES_EACH * target.n_features, min(_STATES_ROW * int(target.n_samples), _MOST_STATES)
            )
        n_states = max(n_states, BATCHES)
        limits = np.full(target.n_features, np.inf) if self.penalised else target.limits(bound(target.n_samples))
        theta = np.clip(target.climb(rng, self.n_steps, self.penalised), -limits, limits)
        mode = Mode(target, theta, self.penalised, None, 0, "")
        if self.is_exact(target):
            return _fine_tune(mode, limits)
        rounds = track(range(1, self.max_rounds + 1), "fine-tuning the mode", progress=progress)
        with one_thread():
            for n_rounds in rounds:
                states = SampledPosterior.draw(target, mode.theta, n_states, rng, self.penalised)
                mode, work = _ascend(replace(mode, states=states, n_rounds=n_rounds), limits)
                if work is not None:
                    break
        return _with_status(mode, limits, f"{self.max_rounds} sets of {n_states} states" if work is None else work)


def climb_exactly(target: Target, theta: np.ndarray) -> Mode:
    """Find the mode of the exact log posterior by ascent from ``theta``."""
    return _fine_tune(Mode(target, theta, True, None, 0, ""), np.full(len(theta), np.inf))


def _fine_tune(mode: Mode, limits: np.ndarray) -> Mode:
    """Maximise the exact log posterior (or likelihood) from ``mode``."""
    with one_thread():
        mode, work = _ascend(mode, limits)
    return _with_status(mode, limits, f"{_LBFGS['maxiter']} steps of L-BFGS" if work is None else work)


def _with_status(mode: Mode, limits: np.ndarray, work: str) -> Mode:
    """Set the status of ``mode``; ``work`` describes what was done without convergence."""
    notes = (
        [f"the search for the mode has not converged after {work}; in Python, raise n_steps or n_states of ModeSearch"]
        if work
        else []
    )
    bounded = np.abs(mode.theta) >= limits
    if bounded.any():
        at = " or ".join(f"{limit:.3g}" for limit in np.unique(limits[bounded]))
        notes.append(f"the maximum of the likelihood is at infinity: {bounded.sum()} of {len(limits)} parameters were "
                     f"bounded at +-{at}")  # fmt: skip
    return replace(mode, status="; ".join(notes)) if notes else mode  # the same object keeps its cached curvature


def _ascend(mode: Mode, limits: np.ndarray) -> tuple[Mode, str | None]:
    """Maximise from ``mode`` within +-limits, past saddle points.

    Returns
    -------
    mode : Mode
    work : str or None
        Empty at a maximum, what was tried at a saddle point, None if the search has not converged.
    """
    n_saddles = 0
    while True:
        theta, converged = _climb(mode.slope, mode.theta, limits)
        mode = replace(mode, theta=theta)
        higher = _beside(mode, limits) if converged else None
        if higher is None:
            return mode, "" if converged else None
        if n_saddles == _SADDLES:
            return mode, f"{n_saddles} steps away from saddles"
        n_saddles += 1
        mode = replace(mode, theta=higher)


def _beside(mode: Mode, limits: np.ndarray) -> np.ndarray | None:
    """Find the highest point along the eigenvector of the least eigenvalue, if that is negative.

    Points need enough effective states. None at a maximum: no eigenvalue is negative, or no point is higher.
    """
    if not mode.target.has_hidden:
        return None
    free = np.flatnonzero(np.abs(mode.theta) < limits)
    curvature = mode.curvature[np.ix_(free, free)]
    try:
        np.linalg.cholesky(curvature)  # a hundred times faster than eigenvalues
        return None
    except np.linalg.LinAlgError:
        direction = np.zeros(len(mode.theta))
        direction[free] = eigh(curvature, subset_by_index=[0, 0])[1][:, 0]
    top = mode.density(mode.theta)[0]
    top += _LBFGS["ftol"] * abs(top)
    best = None
    for stride in np.concatenate([_STRIDES, -_STRIDES]):
        theta = np.clip(mode.theta + stride * direction, -limits, limits)
        value, share = mode.density(theta)
        if value > top and share >= SHARE:
            top, best = value, theta
    return best


def _climb(
    slope: Callable[[np.ndarray], tuple[float, np.ndarray, float]], theta: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Maximise by L-BFGS within +-limits, in the region of enough effective states; return whether it converged.

    If a step leaves that region, the search ends at the boundary.
    """
    shares: dict[bytes, float] = {}
    inside, left = theta, False

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, shares[x.tobytes()] = slope(x)
        return -value, -gradient

    def watch(intermediate_result: OptimizeResult) -> None:
        nonlocal inside, left
        x = intermediate_result.x
        share = shares.get(x.tobytes())
        shares.clear()
        if (slope(x)[2] if share is None else share) >= SHARE:
            inside = x.copy()
            return
        near, far = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (near + far) / 2
            near, far = (middle, far) if slope(inside + middle * (x - inside))[2] >= SHARE else (near, middle)
        inside, left = inside + near * (x - inside), True
        raise StopIteration

    box = np.stack([-limits, limits], axis=1)
    optimum = minimize(negative, theta, jac=True, method="L-BFGS-B", bounds=box, callback=watch, options=_LBFGS)
    if left:
        return inside, False
    # A line search that fails at the rounding of the objective has converged.
    return optimum.x, bool(optimum.success or np.abs(optimum.jac).max() < _FLAT)
