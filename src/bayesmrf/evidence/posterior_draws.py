r"""Draws from the posterior by brief Langevin dynamics, with Bethe's approximation of their likelihoods.

This is what Chen and Welling (2012, section 3.2) put in the place of exact draws and likelihoods, which estimators of
the evidence from posterior draws ask for: `bayesmrf.evidence.harmonic`, `bayesmrf.evidence.bridge`,
`bayesmrf.evidence.dic`. Three errors come with it: gradients that brief chains bias towards the data (Murray and
Ghahramani 2004), steps without an accept step, and Z by belief propagation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, cpu_count, delayed
from scipy.sparse.linalg import eigsh

from .. import run
from ..base import LOG_Z
from ..errors import TooWideError
from ..inference.bethe import Bethe
from ..options import check
from ..posterior.langevin import Differentiable, Langevin
from ..progress import track
from .target import Target

THRESHOLD = 1.1  # of the scale reduction, as in the paper
_STAGES = 5  # of the pilot chain
_POINTS = 5  # of the pilot chain, whose curvature each stage looks at
_CLIMB = 2000  # steps to the neighbourhood of a mode
_STATES = 1000  # from which a curvature is estimated
_CHECKED = 100  # draws at which Bethe's likelihood is compared with the exact one
_BLOCK = 16  # draws whose likelihoods one thread takes at a time


@dataclass(frozen=True, eq=False)
class PosteriorDraws:
    """Draws, and how good they are.

    Attributes
    ----------
    theta : (n_chains, n_draws, n_features) array
    log_likelihood : (n_chains, n_draws) array
        With Bethe's log Z.
    scale_reduction : float
        See `scale_reduction`; NaN for one chain, or fewer draws than parameters.
    epsilon : float
        Step size, in units of the metric.
    n_astray : int
        Draws at which belief propagation did not converge.
    bethe_bias : float
        Mean error of ``log_likelihood`` over some of the draws; NaN where the exact Z is not feasible.
    status : str
        Empty when all is well.
    """

    theta: np.ndarray = field(repr=False)
    log_likelihood: np.ndarray = field(repr=False)
    scale_reduction: float
    epsilon: float
    n_astray: int
    bethe_bias: float
    status: str

    @property
    def parts(self) -> dict[str, float]:
        """Numbers for `Evidence.parts`."""
        n_chains, n_draws = self.log_likelihood.shape
        return {
            "n_chains": n_chains,
            "n_draws": n_draws,
            "epsilon": self.epsilon,
            "scale_reduction": self.scale_reduction,
            "bethe_bias": self.bethe_bias,
            "bethe_not_converged": self.n_astray / self.log_likelihood.size,
        }


def posterior_draws(
    target: Target,
    rng: np.random.Generator,
    *,
    n_draws: int = 1000,
    n_warmup: int = 10_000,
    thin: int = 50,
    n_chains: int = 10,
    n_sweeps: int = 1,
    stiffness: float = 0.2,
    progress: bool = False,
) -> PosteriorDraws:
    r"""Draw from the posterior.

    The chains start at one point, where a pilot chain of ``n_warmup`` steps has come from a mode: exchanging hidden
    units gives other modes, and chains in different ones would never agree. So the scale reduction tells nothing of
    modes that no chain has visited.

    The metric M is one over the diagonal of the posterior's curvature :math:`H = N \mathrm{Cov}_\theta[s] + \Lambda`
    (without the hidden units' share, which would make it smaller), and the step size follows from
    :math:`\epsilon^2 \lambda_{\max}(M^{1/2} H M^{1/2})` = ``stiffness``: dynamics without an accept step make the
    variance of a normal law too large by the factor :math:`1 / (1 - \epsilon^2 \lambda / 4)` in a direction of scaled
    curvature lambda, here by 5 % in the stiffest. Curvatures far from the mode may be ten times as large as there, so
    the pilot chain goes in five stages, each with the mean metric and the largest lambda along the one before.

    Parameters
    ----------
    target : Target
    rng : numpy.random.Generator
    n_draws, n_warmup, thin, n_chains : int
        As in `bayesmrf.run.sample`; steps are Langevin steps.
    n_sweeps : int
        Gibbs sweeps from the data for each gradient; more cost more, and have less bias. With one, as in the paper,
        nothing keeps the model's mass away from states that no sweep reaches. On 100 documents of 100 words and 9
        hidden units the mean log likelihood of the draws was about -1,950 with one sweep and -1,475 with ten, where
        exact dynamics have it.
    stiffness : float
        In (0, 4), beyond which the dynamics are unstable.
    progress : bool

    Raises
    ------
    OptionError
        For numbers out of their range.
    DataError
        Where observations have weights that are no whole numbers.
    """
    sizes = {"n_draws": n_draws, "n_warmup": n_warmup, "thin": thin, "n_chains": n_chains, "n_sweeps": n_sweeps}
    check({"stiffness": stiffness, **sizes}, "evidence")  # before the pilot chain, not after it
    brief = target.brief(n_sweeps)
    points = target.climb(rng, _CLIMB)[None]
    for _ in range(_STAGES):
        scale, epsilon = _metric(target, points, stiffness, rng)
        pilot = _kernel(target, brief, points[-1], scale, epsilon)
        stride = max(1, n_warmup // (_STAGES * _POINTS))
        walk = run.sample(pilot, n_draws=_POINTS, thin=stride, n_chains=1, random_state=rng, progress=progress)
        if not walk.complete:
            raise KeyboardInterrupt("the run was stopped before the first draw")
        points = walk.values["theta"][0]
    scale, epsilon = _metric(target, points, stiffness, rng)
    draws = run.sample(
        _kernel(target, brief, points[-1], scale, epsilon),
        n_draws=n_draws, n_warmup=n_warmup, thin=thin, n_chains=n_chains, random_state=rng, progress=progress,
    )  # fmt: skip
    theta = draws.values["theta"]
    return describe(target, theta, epsilon, progress)


def describe(target: Target, theta: np.ndarray, epsilon: float = np.nan, progress: bool = False) -> PosteriorDraws:
    """Likelihoods and checks of draws (n_chains, n_draws, n_features), wherever they come from."""
    flat = theta.reshape(-1, theta.shape[-1])
    log_likelihood, n_astray = bethe_log_likelihoods(target, flat, progress)
    reduction = scale_reduction(theta)
    remarks = []
    if reduction > THRESHOLD:
        remarks.append(f"the chains differ: their multivariate scale reduction is {reduction:.3g}, more than "
                       f"{THRESHOLD}; raise n_draws, thin or n_warmup")  # fmt: skip
    elif np.isnan(reduction):
        remarks.append("whether the chains have mixed is not known: the multivariate scale reduction needs two of "
                       "them, and more draws than parameters; raise n_chains or n_draws")  # fmt: skip
    if n_astray:
        remarks.append(f"belief propagation did not converge at {n_astray} of {len(flat)} draws, where log Z is that "
                       "of its last sweep")  # fmt: skip
    some = np.linspace(0, len(flat) - 1, min(_CHECKED, len(flat))).astype(int)
    return PosteriorDraws(
        theta,
        log_likelihood.reshape(theta.shape[:2]),
        reduction,
        float(epsilon),
        n_astray,
        _bias(target, flat[some], log_likelihood[some]),
        "; ".join(remarks),
    )


def bethe_log_likelihoods(target: Target, thetas: np.ndarray, progress: bool = False) -> tuple[np.ndarray, int]:
    """Log p(X | theta) of each row of ``thetas`` with Bethe's log Z, and at how many it has not converged."""
    engine = Bethe()
    plan = engine.prepare(target.joint)

    def look(block: np.ndarray) -> list[tuple[float, bool]]:
        answers = []
        for theta in block:
            found = engine.infer(target.joint, target.natural(theta), plan, LOG_Z)
            assert found.log_z is not None
            answers.append((target.positive(theta) - target.n_samples * found.log_z, bool(found.status)))
        return answers

    blocks = [thetas[i : i + _BLOCK] for i in range(0, len(thetas), _BLOCK)]
    # The threads' time is in compiled code, which needs no lock.
    answers = Parallel(n_jobs=min(cpu_count(), len(blocks)), require="sharedmem", return_as="generator")(
        delayed(look)(block) for block in blocks
    )
    found = [a for part in track(answers, "log likelihoods", len(blocks), progress) for a in part]
    return np.array([f[0] for f in found]), sum(f[1] for f in found)


def scale_reduction(draws: np.ndarray) -> float:
    r"""Multivariate potential scale reduction factor of draws (n_chains, n_draws, n_features).

    .. math:: \hat R^p = \max_a \frac{a^T \hat V a}{a^T W a} = \frac{n - 1}{n} + \frac{m + 1}{m} \lambda_1,

    with lambda_1 the largest eigenvalue of W^-1 B / n, W the mean covariance within the m chains of n draws and B / n
    that of their means (Brooks and Gelman 1998, section 4.1): a ratio of variances, not of standard deviations.

    It is NaN for one chain or fewer draws than parameters, and infinite where something differs between chains alone.
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


def _kernel(target: Target, brief: Differentiable, start: np.ndarray, scale: np.ndarray, epsilon: float) -> Langevin:
    return Langevin(brief, target.prior, start, epsilon=epsilon, scale=scale)


def _metric(target: Target, points: np.ndarray, stiffness: float, rng: np.random.Generator) -> tuple[np.ndarray, float]:
    """Square root of the metric, and the step size."""
    curvatures = [_curvature(target, theta, rng) for theta in points]
    scale = 1 / np.sqrt(np.mean([np.diag(c) for c in curvatures], axis=0))
    stiffest = max(_largest_eigenvalue(c * scale * scale[:, None], rng) for c in curvatures)
    return scale, float(np.sqrt(stiffness / stiffest))


def _largest_eigenvalue(matrix: np.ndarray, rng: np.random.Generator) -> float:
    if len(matrix) == 1:
        return float(matrix[0, 0])
    start = rng.standard_normal(len(matrix))
    return float(eigsh(matrix, k=1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[0])


def _curvature(target: Target, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """N Cov_theta[s] plus the prior's curvature, from samples of the model."""
    states = target.sample(theta, _STATES, rng)
    square, mean = np.zeros((target.n_features, target.n_features)), np.zeros(target.n_features)
    for part in np.array_split(states, -(-_STATES // target.rows_at_once)):
        given = target.expected(theta, part)
        square += target.conditional_covariance(theta, part, np.ones(len(part))) + given.T @ given
        mean += given.sum(axis=0)
    found = target.n_samples * (square / _STATES - np.outer(mean, mean) / _STATES**2)
    found[np.diag_indices_from(found)] += target.prior.curvature(theta)
    return found


def _bias(target: Target, thetas: np.ndarray, log_likelihood: np.ndarray) -> float:
    """Mean error of log likelihoods, NaN where the exact ones are not feasible."""
    try:
        target.require_exact("bethe")
    except TooWideError:
        return np.nan
    errors = []
    for theta, value in zip(thetas, log_likelihood, strict=True):
        log_z = target.exact(theta, LOG_Z).log_z
        assert log_z is not None
        errors.append(value - (target.positive(theta) - target.n_samples * log_z))
    return float(np.mean(errors))
