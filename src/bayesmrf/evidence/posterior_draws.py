r"""Posterior draws and their likelihoods, for `HarmonicMean`, `BridgeSampling` and `DIC`.

If Z can be summed, both are exact (`bayesmrf.evidence.exact_draws`). Otherwise they are approximated as in Chen and
Welling (2012, section 3.2): Langevin dynamics with contrastive divergence (`bayesmrf.evidence.brief_draws`), and
likelihoods with Bethe's approximation of Z by belief propagation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..base import LOG_Z
from ..declare.option import option
from ..declare.rule import COUNT, MOST_CHAINS, MOST_DRAWS, choice, instance, integer, number, optional
from ..inference.bethe.engine import Bethe
from ..progress import track
from ..threads import count_jobs
from .brief_draws import brief_draws
from .exact_draws import exact_draws
from .method import Method, Work
from .target import Evidence, Target

THRESHOLD = 1.1  # of the scale reduction, as in Chen and Welling (2012)
_CLIMB = 2000  # steps to the neighbourhood of a mode
_CHECKED = 100  # draws at which Bethe's likelihood is compared with the exact one
_ANNEALED = 4  # draws at which it is compared with annealed importance sampling, if Z is not exact
_SMALL = 0.05  # bias in nats that is not reported
_BLOCK = 16  # draws in a block of likelihoods


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Posterior draws with their diagnostics."""

    theta: np.ndarray = field(repr=False)  # (n_chains, n_draws, n_features)
    log_likelihood: np.ndarray = field(repr=False)  # (n_chains, n_draws)
    is_exact: bool  # whether log Z is exact; otherwise it is by belief propagation
    scale_reduction: float  # see `scale_reduction`; NaN for one chain, or fewer draws than parameters
    epsilon: float  # step size, in units of the metric
    acceptance: float  # rate of acceptance of the steps; 1 without an accept step
    n_astray: int  # draws at which belief propagation did not converge
    # Mean error of ``log_likelihood`` over some of the draws, and its standard error; 0 if exact, NaN if unknown.
    bethe_bias: float
    bethe_bias_error: float
    status: str  # problems, with remedies; empty if there are none

    @property
    def parts(self) -> dict[str, float]:
        """Numbers for `Evidence.parts`."""
        n_chains, n_draws = self.log_likelihood.shape
        parts = {
            "n_chains": n_chains,
            "n_draws": n_draws,
            "epsilon": self.epsilon,
            "scale_reduction": self.scale_reduction,
            "is_exact_likelihood": float(self.is_exact),
        }
        if self.is_exact:
            return parts | {"acceptance": self.acceptance}
        return parts | {
            "bethe_bias": self.bethe_bias,
            "bethe_bias_error": self.bethe_bias_error,
            "bethe_not_converged": self.n_astray / self.log_likelihood.size,
        }


@dataclass(frozen=True, kw_only=True)
class PosteriorSampler(Work):
    r"""Sampler of the posterior; the call returns `PosteriorDraws`.

    The chains start at one point near a mode: exchanging hidden units gives other modes, and chains in different modes
    would not mix. The scale reduction therefore cannot detect modes that no chain has visited.

    Parameters
    ----------
    n_sweeps
        With one sweep, as in the paper, the model may put mass on states that no sweep reaches. On 100 documents of 100
        words and 9 hidden units the mean log likelihood of the draws was about -1,950 with one sweep, and -1,475 with
        ten and with exact dynamics.
    """

    dynamics: str = option(
        "auto",
        choice("auto", "exact", "brief"),
        '"exact" is Hamiltonian Monte Carlo with exact likelihoods; "brief" is the paper\'s Langevin dynamics with '
        'gradients by contrastive divergence and likelihoods by belief propagation; "auto" takes "exact" if Z is '
        "summed within milliseconds (17 nodes, 14 units on the smaller side of a machine).",
    )
    n_draws: int = option(1000, integer(1, MOST_DRAWS), "Posterior draws per chain.", label="draws")
    n_warmup: int | None = option(
        None,
        optional(integer(0, MOST_DRAWS)),
        'Steps before the first draw: by default 200 trajectories ("exact"), or 10,000 Langevin steps ("brief").',
    )
    thin: int | None = option(
        None, optional(integer(1, MOST_DRAWS)), 'Steps per draw: by default 1 ("exact"), or 50 ("brief").'
    )
    n_chains: int = option(10, integer(1, MOST_CHAINS), "Chains of MCMC.", label="chains")
    n_sweeps: int = option(
        1, COUNT, 'Gibbs sweeps from the data for each gradient of "brief"; more sweeps cost more and have less bias.'
    )
    stiffness: float = option(
        0.2,
        number(0, 4, good=(0.2,)),
        'Step size of "brief" relative to the curvature, in (0, 4); the dynamics are unstable above 4.',
    )

    decides = "dynamics"

    def is_exact(self, target: Target) -> bool:
        """Whether the likelihood is exact for this target."""
        return self.dynamics == "exact" or (self.dynamics == "auto" and target.is_quick)

    def __call__(self, target: Target, rng: np.random.Generator, *, progress: bool = False) -> PosteriorDraws:
        """Draw from the posterior.

        Raises
        ------
        TooWideError
            For ``dynamics="exact"`` if Z cannot be summed.
        DataError
            If weights of observations are not integers, and chains start from the observations.
        """
        self.require(target)
        start = target.climb(rng, _CLIMB)
        run: dict[str, Any] = {name: getattr(self, name) for name in ("n_draws", "n_warmup", "n_chains")}
        if self.is_exact(target):
            theta, *steps = exact_draws(target, rng, start, **run, thin=self.thin or 1, progress=progress)
            draws = describe(target, theta, is_exact=True, epsilon=steps[0], progress=progress)
            return replace(draws, acceptance=steps[1])
        theta, epsilon, status = brief_draws(
            target, rng, start, **run, thin=self.thin, n_sweeps=self.n_sweeps, stiffness=self.stiffness,
            progress=progress,
        )  # fmt: skip
        return describe(target, theta, rng, is_exact=False, epsilon=epsilon, status=status, progress=progress)


@dataclass(frozen=True, eq=False, kw_only=True)
class FromDraws(Method):
    """Base of methods that need posterior draws; ``arrays`` of the result has their ``theta`` and likelihoods."""

    sampler: PosteriorSampler = option(
        PosteriorSampler(), instance("evidence.posterior_draws", "PosteriorSampler"), "Sampler of the draws."
    )

    @property
    def work(self) -> PosteriorSampler:
        """``sampler``."""
        return self.sampler

    def _result(
        self,
        target: Target,
        draws: PosteriorDraws,
        value: float,
        error: float,
        parts: dict[str, float],
        remarks: Iterable[str],
        **arrays: np.ndarray,
    ) -> Evidence:
        """Return an estimate with the numbers and the status of the draws."""
        arrays = {"theta": draws.theta, "log_likelihood": draws.log_likelihood, **arrays}
        return target.evidence(self.name, value, error, draws.parts | parts, [draws.status, *remarks], arrays)


def describe(
    target: Target,
    theta: np.ndarray,
    rng: np.random.Generator | None = None,
    *,
    is_exact: bool | None = None,
    epsilon: float = np.nan,
    status: str = "",
    progress: bool = False,
) -> PosteriorDraws:
    """Compute likelihoods and diagnostics of given draws (n_chains, n_draws, n_features).

    Likelihoods are exact, or by belief propagation; if ``is_exact`` is None, as in `PosteriorSampler`.
    """
    is_exact = target.is_quick if is_exact is None else is_exact
    flat = theta.reshape(-1, theta.shape[-1])
    log_likelihood, n_astray = log_likelihoods(target, flat, is_exact, progress)
    reduction = scale_reduction(theta)
    remarks = [*([status] if status else []), *_mixing(reduction)]
    if n_astray:
        remarks.append(f"belief propagation did not converge at {n_astray} of {len(flat)} draws, where log Z is that "
                       "of its last sweep")  # fmt: skip
    bias, error = 0.0, 0.0
    if not is_exact:
        bias, error = _bethe_bias(target, flat, log_likelihood, np.random.default_rng(rng))
        remarks += _biased(bias, error)
    return PosteriorDraws(theta, log_likelihood.reshape(theta.shape[:2]), is_exact, reduction, float(epsilon), 1.0,
                          n_astray, bias, error, "; ".join(remarks))  # fmt: skip


def log_likelihoods(
    target: Target, thetas: np.ndarray, is_exact: bool, progress: bool = False
) -> tuple[np.ndarray, int]:
    """Return log p(X | theta) for each row of ``thetas``, and at how many belief propagation has not converged.

    Unless ``is_exact``, log Z is Bethe's approximation.
    """
    blocks = [thetas[i : i + _BLOCK] for i in range(0, len(thetas), _BLOCK)]
    if is_exact:
        values = [target.log_likelihoods(b)[0] for b in track(blocks, "log likelihoods", len(blocks), progress)]
        return np.concatenate(values), 0
    engine = Bethe()
    plan = engine.prepare(target.joint)

    def look(block: np.ndarray) -> list[tuple[float, bool]]:
        answers = []
        for theta in block:
            inference = engine.infer(target.joint, target.natural(theta), plan, LOG_Z)
            answers.append((target.positive(theta) - target.n_samples * inference.log_z, bool(inference.status)))
        return answers

    # Compiled code releases the interpreter lock, so threads suffice.
    answers = Parallel(n_jobs=count_jobs(None, len(blocks)), require="sharedmem", return_as="generator")(
        delayed(look)(block) for block in blocks
    )
    pairs = [a for part in track(answers, "log likelihoods", len(blocks), progress) for a in part]
    return np.array([f[0] for f in pairs]), sum(f[1] for f in pairs)


def scale_reduction(draws: np.ndarray) -> float:
    r"""Compute the multivariate potential scale reduction factor of draws (n_chains, n_draws, n_features).

    .. math:: \hat R^p = \max_a \frac{a^T \hat V a}{a^T W a} = \frac{n - 1}{n} + \frac{m + 1}{m} \lambda_1,

    with lambda_1 the largest eigenvalue of W^-1 B / n, W the mean covariance within the m chains of n draws and B / n
    that of their means (Brooks and Gelman 1998, section 4.1): a ratio of variances, not of standard deviations.

    It is NaN for one chain or fewer draws than parameters, and infinite if a parameter varies only between chains.
    """
    m, n, n_features = draws.shape
    if m < 2 or m * (n - 1) < n_features:
        return np.nan
    means = draws.mean(axis=1)
    inside = (draws - means[:, None]).reshape(m * n, n_features)
    spread = np.sqrt((inside**2).sum(axis=0) / (m * (n - 1)))
    if (spread == 0).any():
        return np.inf
    inside /= spread
    between = (means - means.mean(axis=0)) / spread / np.sqrt(m - 1)
    try:
        root = np.linalg.cholesky(inside.T @ inside / (m * (n - 1)))
    except np.linalg.LinAlgError:
        return np.inf
    largest = np.linalg.norm(np.linalg.solve(root, between.T), ord=2) ** 2
    return float((n - 1) / n + (m + 1) / m * largest)


def _mixing(reduction: float) -> list[str]:
    if reduction > THRESHOLD:
        return [f"the chains differ: their multivariate scale reduction is {reduction:.3g}, more than {THRESHOLD}; "
                "use more draws or, in Python, a larger thin or n_warmup"]  # fmt: skip
    if np.isnan(reduction):
        return ["whether the chains have mixed is unknown: the multivariate scale reduction needs two chains and "
                "more draws than parameters; use more chains or draws"]  # fmt: skip
    return []


def _bethe_bias(
    target: Target, thetas: np.ndarray, log_likelihood: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Estimate the mean error of Bethe's log likelihoods (exact, or by annealed importance sampling) and its error."""
    feasible = target.can_sum
    checked = np.linspace(0, len(thetas) - 1, min(_CHECKED if feasible else _ANNEALED, len(thetas))).astype(int)
    if feasible:
        return float(np.mean(log_likelihood[checked] - target.log_likelihoods(thetas[checked])[0])), 0.0
    estimates = [target.anneal(thetas[i], rng, 100, 1000) for i in checked]
    if any(f.status for f in estimates):
        return np.nan, np.nan
    n = target.n_samples
    truth = np.array([target.positive(thetas[i]) - n * f.log_z for i, f in zip(checked, estimates, strict=True)])
    error = n * np.sqrt(sum(f.standard_error**2 for f in estimates)) / len(checked)
    return float(np.mean(log_likelihood[checked] - truth)), float(error)


def _biased(bias: float, error: float) -> list[str]:
    """Return a remark on the bias of belief propagation in the log likelihoods."""
    if np.isnan(bias):
        return ["log Z is by belief propagation, and its bias is unknown, as too few chains of annealed importance "
                "sampling are effective; use 'laplace'"]  # fmt: skip
    if abs(bias) + 2 * error < _SMALL:
        return []
    shown = f"{bias:+.2f}" + (f" ± {error:.2f}" if error else "")
    remedy = "use 'laplace'" + ("" if error else " or, in Python, dynamics='exact'")
    return [f"log Z is by belief propagation, which shifts log likelihoods, and so the estimate, by {shown} nats on "
            f"average; {remedy}"]  # fmt: skip
