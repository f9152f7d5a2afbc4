r"""The mode of a posterior and its curvature there: steps 1 to 3 of Chen and Welling 2012 evidence, Algorithm 1.

1. Persistent contrastive divergence (Tieleman 2008), with steps that fall as 1 / t, comes near a mode.
2. States x(1), ..., x(T) are drawn from the model there, at lambda_0 say.
3. L-BFGS climbs the log posterior as these states see it (`SampledPosterior`) for as long as at least 90 % of
   them count, and goes on from fresh states where it was stopped, until it converges among the states that it started
   with. There the second derivative is positive definite.

Where Z(lambda) can be summed, the log posterior itself and its second derivative are at hand, the limit of many states:
nothing has to be drawn, stopped or repeated.

With hidden units the slope also vanishes at saddles: of a unit without weights the data say in which direction it
should grow, but nothing pushes it. Where the least eigenvalue of the second derivative is negative, the climb goes on
from the highest of some points along its eigenvector, on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import OptimizeResult, minimize
from threadpoolctl import threadpool_limits

from ..learning.maximum_likelihood import bound
from ..progress import track
from .method import Work
from .sampled import BATCHES, SHARE, Hessian, SampledPosterior, fixed_curvature, log_prior
from .target import Target

_STATES = 20_000  # at least so many by default,
_STATES_EACH = 30  # and for each parameter: a covariance of F features needs many times F states,
_STATES_ROW = 50  # and for each observation: N times their noise is that of the second derivative,
_MOST_STATES = 2**20  # but no more
_BISECTIONS = 20
_FLAT = 0.05  # slope, in nats for a unit of a parameter
_LBFGS = {"maxiter": 5000, "maxfun": 10_000, "maxcor": 20, "ftol": 1e-11, "gtol": 1e-3}
_SADDLES = 20  # left on one climb
_STRIDES = 2.0 ** np.arange(3, -13, -1)  # away from a saddle, in units of a parameter


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of the posterior (or the likelihood), and the posterior around it.

    Attributes
    ----------
    target : Target
    theta : (n_features,) array
    penalised : bool
        False for a mode of the likelihood.
    states : SampledPosterior or None
        States drawn at the mode, or so near that at least 90 % of them count there. None where the exact log posterior
        was climbed.
    n_rounds : int
        Sets of states that were climbed on.
    status : str
        Empty when the climb has converged.
    """

    target: Target
    theta: np.ndarray
    penalised: bool
    states: SampledPosterior | None = field(repr=False)
    n_rounds: int
    status: str

    @cached_property
    def hessian(self) -> Hessian | None:
        """Minus the second derivative of the log posterior, by batches of states where there are any."""
        return None if self.states is None else self.states.hessian(self.theta)

    @cached_property
    def curvature(self) -> np.ndarray:
        """Minus the second derivative of the log posterior, (n_features, n_features)."""
        if self.hessian is not None:
            return self.hessian.without()
        covariance = self.target.covariance(self.theta)
        return self.target.n_samples * covariance + fixed_curvature(self.target, self.theta, self.penalised)

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray, float]:
        """Log posterior up to a constant, its gradient, and the share of states that count: 1 where it is exact."""
        if self.states is not None:
            return self.states.slope(theta)
        value, gradient = self.target.log_likelihood(theta)
        value += log_prior(self.target, theta, self.penalised)
        return value, gradient + self.target.prior.gradient(theta) if self.penalised else gradient, 1.0

    def density(self, theta: np.ndarray) -> tuple[float, float]:
        """The same without the gradient."""
        if self.states is not None:
            return self.states.density(theta)
        log_likelihood = self.target.positive(theta) - self.target.n_samples * self.target.log_z(theta)
        return log_likelihood + log_prior(self.target, theta, self.penalised), 1.0


@dataclass(frozen=True, kw_only=True)
class ModeSearch(Work):
    """Find a mode by persistent chains, and fine-tune it; the call returns a `Mode`.

    Parameters
    ----------
    n_steps : int
        Updates of persistent contrastive divergence.
    n_states : int, optional
        States T at the mode, where the sampled posterior is climbed; by default 20,000, or 30 for each parameter, or 50
        for each observation (but no more than 2^20), whatever is most.
    penalised : bool
        False climbs the likelihood alone, in a box: parameters are kept within +-log(2 N - 1), half an observation from
        the boundary, since the maximum often lies at infinity. The status of the mode says how many are there.
    log_z : {"auto", "exact", "ais"}
        "exact" climbs the exact log posterior after persistent chains, "ais" the sampled one, "auto" the first where Z
        can be summed.
    max_rounds : int
        Maximum number of sets of states.
    """

    n_steps: int = 20_000
    n_states: int | None = None
    penalised: bool = True
    log_z: str = "auto"
    max_rounds: int = 50

    def is_exact(self, target: Target) -> bool:
        """Whether Z is summed for this target."""
        return self.log_z == "exact" or (self.log_z == "auto" and target.can_sum)

    def require(self, target: Target) -> None:
        """Refuse ``log_z="exact"`` where Z cannot be summed."""
        if self.log_z == "exact":
            target.require_exact("log_z='exact'")

    def __call__(self, target: Target, rng: np.random.Generator, *, progress: bool = False) -> Mode:
        """Find a mode.

        Raises
        ------
        TooWideError
            For ``log_z="exact"`` where Z cannot be summed.
        """
        self.require(target)
        n_states = self.n_states
        if n_states is None:
            n_states = max(
                _STATES, _STATES_EACH * target.n_features, min(_STATES_ROW * int(target.n_samples), _MOST_STATES)
            )
        n_states = max(n_states, BATCHES)
        limit = np.inf if self.penalised else bound(target.n_samples)
        theta = np.clip(target.climb(rng, self.n_steps, self.penalised), -limit, limit)
        mode = Mode(target, theta, self.penalised, None, 0, "")
        if self.is_exact(target):
            return _fine_tune(mode, limit)
        rounds = track(range(1, self.max_rounds + 1), "fine-tuning the mode", progress=progress)
        with threadpool_limits(limits=1, user_api="blas"):  # threads wait for each other in products of this size
            for n_rounds in rounds:
                states = SampledPosterior.draw(target, mode.theta, n_states, rng, self.penalised)
                mode, work = _ascend(replace(mode, states=states, n_rounds=n_rounds), limit)
                if work is not None:
                    break
        return _with_status(mode, limit, f"{self.max_rounds} sets of {n_states} states" if work is None else work)


def climb_exactly(target: Target, theta: np.ndarray) -> Mode:
    """The mode of the exact log posterior that is reached from ``theta``."""
    return _fine_tune(Mode(target, theta, True, None, 0, ""), np.inf)


def _fine_tune(mode: Mode, limit: float) -> Mode:
    """Climb the exact log posterior (or likelihood) from ``mode``."""
    with threadpool_limits(limits=1, user_api="blas"):
        mode, work = _ascend(mode, limit)
    return _with_status(mode, limit, f"{_LBFGS['maxiter']} steps of L-BFGS" if work is None else work)


def _with_status(mode: Mode, limit: float, work: str) -> Mode:
    """``mode``, saying whether it converged and where it lies; ``work`` is what was done without convergence."""
    status = _status(mode.theta, limit, work)
    return replace(mode, status=status) if status else mode  # as it is it knows its curvature


def _status(theta: np.ndarray, limit: float, work: str) -> str:
    """What is to be said after this ``work`` without convergence."""
    found = [f"the climb to the mode has not converged after {work}: give more n_steps or n_states"] if work else []
    if n_bounded := int((np.abs(theta) >= limit).sum()):
        found.append(f"the maximum of the likelihood lies at infinity: {n_bounded} of {len(theta)} parameters were "
                     f"bounded at +-{limit:.3g}")  # fmt: skip
    return "; ".join(found)


def _ascend(mode: Mode, limit: float) -> tuple[Mode, str | None]:
    """Climb from ``mode`` within +-limit, past saddles.

    Returns
    -------
    mode : Mode
    work : str or None
        Empty at a maximum, what was tried in vain at a saddle, None where the climb has not converged.
    """
    n_saddles = 0
    while True:
        theta, converged = _climb(mode.slope, mode.theta, limit)
        mode = replace(mode, theta=theta)
        higher = _beside(mode, limit) if converged else None
        if higher is None:
            return mode, "" if converged else None
        if n_saddles == _SADDLES:
            return mode, f"{n_saddles} steps away from saddles"
        n_saddles += 1
        mode = replace(mode, theta=higher)


def _beside(mode: Mode, limit: float) -> np.ndarray | None:
    """The highest point along the eigenvector of the least eigenvalue, where that is negative and enough states count.

    None at a maximum: no eigenvalue is negative, or none of the points is higher beyond rounding.
    """
    if not mode.target.has_hidden:
        return None
    free = np.flatnonzero(np.abs(mode.theta) < limit)
    curvature = mode.curvature[np.ix_(free, free)]
    try:
        np.linalg.cholesky(curvature)  # a hundredth of the work of eigenvalues
        return None
    except np.linalg.LinAlgError:
        direction = np.zeros(len(mode.theta))
        direction[free] = eigh(curvature, subset_by_index=[0, 0])[1][:, 0]
    top = mode.density(mode.theta)[0]
    top += _LBFGS["ftol"] * abs(top)
    found = None
    for stride in np.concatenate([_STRIDES, -_STRIDES]):
        theta = np.clip(mode.theta + stride * direction, -limit, limit)
        value, share = mode.density(theta)
        if value > top and share >= SHARE:
            top, found = value, theta
    return found


def _climb(
    slope: Callable[[np.ndarray], tuple[float, np.ndarray, float]], theta: np.ndarray, limit: float
) -> tuple[np.ndarray, bool]:
    """Maximise by L-BFGS within +-limit, where enough states count; whether it converged there.

    Where a step leaves that region, the point on it at which it is left is taken.
    """
    seen: dict[bytes, float] = {}
    inside, left = theta, False

    def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, seen[x.tobytes()] = slope(x)
        return -value, -gradient

    def watch(intermediate_result: OptimizeResult) -> None:
        nonlocal inside, left
        x = intermediate_result.x
        share = seen.get(x.tobytes())
        seen.clear()
        if (slope(x)[2] if share is None else share) >= SHARE:
            inside = x.copy()
            return
        near, far = 0.0, 1.0
        for _ in range(_BISECTIONS):
            middle = (near + far) / 2
            near, far = (middle, far) if slope(inside + middle * (x - inside))[2] >= SHARE else (near, middle)
        inside, left = inside + near * (x - inside), True
        raise StopIteration

    box = [(-limit, limit)] * len(theta)
    found = minimize(negative, theta, jac=True, method="L-BFGS-B", bounds=box, callback=watch, options=_LBFGS)
    if left:
        return inside, False
    # A line search that fails at the rounding of the objective is as far as it goes.
    return found.x, bool(found.success or np.abs(found.jac).max() < _FLAT)
