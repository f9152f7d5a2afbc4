r"""One mode of the posterior along flat directions (figure 3), and by HMC, brief Langevin and Laplace (figure 5).

Both samplers start at the mode, and exchange hidden units for any step size. Of the equivalent models of a draw, all
with the same density, the one nearest to the mode is used (in the metric of the curvature).
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np

from bayesmrf.evidence.mode import Mode, ModeSearch
from bayesmrf.evidence.overlap import trapezoid
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.methods import Langevin
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.runs import run
from papers.store import Record

BINS = 40
SPAN = 4.5  # sds on either side of the mean of exact draws that the histograms cover
N_SLICES = 3  # eigenvectors of least curvature in figure 3
WIDE, N_POINTS = 4.0, 201  # half widths that a slice covers, and points of it


def slices(target: RBMTarget, rng: np.random.Generator, **search: Any) -> Record:
    """Compute the posterior along eigenvectors of least curvature, relative to the mode.

    ``normal``, ``trapezoid`` and ``posterior`` are the integrals of Laplace's normal, of the trapezoid and of the
    posterior itself along the direction; ``left`` and ``right`` are where the density has dropped to a half.
    """
    mode = ModeSearch(**search)(target, rng)
    values, vectors = np.linalg.eigh(mode.curvature)
    top = mode.density(mode.theta)[0]
    found = []
    for value, direction in zip(values[:N_SLICES], vectors.T, strict=False):
        ends = trapezoid(mode.density, mode.theta, direction, 1.0, top)
        t = np.linspace(WIDE * ends.left, WIDE * ends.right, N_POINTS)
        density = np.exp([mode.density(mode.theta + x * direction)[0] - top for x in t])
        about = {"eigenvalue": value, "left": ends.left, "right": ends.right, "t": t, "density": density}
        about["normal"] = np.sqrt(2 * np.pi / value) if value > 0 else np.nan
        found.append(about | {"trapezoid": ends.right - ends.left, "posterior": np.trapezoid(density, t)})
    return {"slices": found}


def compare(
    target: RBMTarget, rng: np.random.Generator, *, n_chains: int, n_draws: int, n_warmup: int, n_leapfrog: int,
    size: float,
) -> Record:  # fmt: skip
    """Compute means, sds and histograms of every parameter; ``size`` is the step in the stiffest direction, in sds."""
    mode = ModeSearch()(target, rng)
    hessian = mode.curvature
    values, vectors = np.linalg.eigh(hessian)
    # The curvature is at least that of the prior.
    values = np.maximum(values, 1.0)
    covariance = (vectors / values) @ vectors.T
    scale = 1 / np.sqrt(np.diag(hessian).clip(1.0))
    stiffest = np.linalg.eigvalsh(hessian * scale * scale[:, None])[-1]
    epsilon = size / np.sqrt(stiffest)
    draws, acceptance = hamiltonian(target, mode.theta, scale, epsilon, n_chains, n_draws, n_warmup, n_leapfrog, rng)
    brief = run.sample(
        LangevinKernel(target.brief(1), target.prior, mode.theta, Langevin(epsilon), scale),
        n_draws=n_draws, n_warmup=n_warmup * n_leapfrog, thin=n_leapfrog, n_chains=n_chains, random_state=rng,
        progress=False,
    ).values["theta"]  # fmt: skip
    exact, langevin = (nearest(mode, d.reshape(-1, d.shape[2]), hessian) for d in (draws, brief))
    mean, sd = exact[0].mean(axis=0), exact[0].std(axis=0)
    about: dict[str, Any] = {"acceptance": acceptance, "low": mean - SPAN * sd, "high": mean + SPAN * sd}
    for name, (flat, moved) in (("hmc", exact), ("langevin", langevin)):
        ends = np.linspace(about["low"], about["high"], BINS + 1)
        counts = [np.histogram(x, e)[0] for x, e in zip(flat.T, ends.T, strict=True)]
        about[name] = {"mean": flat.mean(axis=0), "sd": flat.std(axis=0), "counts": counts, "moved": moved}
    about["laplace"] = {"mean": mode.theta, "sd": np.sqrt(np.diag(covariance)), "least_eigenvalue": values[0]}
    return about


def hamiltonian(
    target: RBMTarget,
    start: np.ndarray,
    scale: np.ndarray,
    epsilon: float,
    n_chains: int,
    n_draws: int,
    n_warmup: int,
    n_leapfrog: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, float]:
    """Return draws (n_chains, n_draws, n_features) of the exact posterior, and the share of accepted steps.

    Leapfrog steps in coordinates theta / ``scale``, of sizes within a fifth of ``epsilon``.
    """

    def look(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = target.log_likelihoods(theta)
        value = value + target.prior.log_density(theta).sum(axis=1)
        return value, (gradient + target.prior.gradient(theta)) * scale

    theta = np.tile(start, (n_chains, 1))
    value, slope = look(theta)
    draws, accepted = np.empty((n_chains, n_draws, len(start))), 0.0
    for t in range(n_warmup + n_draws):
        momentum = rng.standard_normal(theta.shape)
        step = epsilon * rng.uniform(0.8, 1.2, (n_chains, 1))
        new, energy, force = theta, value - 0.5 * (momentum**2).sum(axis=1), slope
        for _ in range(n_leapfrog):
            momentum = momentum + 0.5 * step * force
            new = new + step * scale * momentum
            height, force = look(new)
            momentum += 0.5 * step * force
        taken = np.log(rng.random(n_chains)) < height - 0.5 * (momentum**2).sum(axis=1) - energy
        theta, slope = (np.where(taken[:, None], a, b) for a, b in ((new, theta), (force, slope)))
        value = np.where(taken, height, value)
        if t >= n_warmup:
            draws[:, t - n_warmup] = theta
            accepted += taken.mean() / n_draws
    return draws, accepted


def nearest(mode: Mode, draws: np.ndarray, hessian: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the draws with hidden units in the order nearest to the mode, and the share of draws changed."""
    units = mode.target.units
    found, least, moved = draws.copy(), np.full(len(draws), np.inf), np.zeros(len(draws), dtype=bool)
    for i, order in enumerate(permutations(range(len(units)))):
        other = draws.copy()
        other[:, units.ravel()] = draws[:, units[list(order)].ravel()]
        away = other - mode.theta
        distance = ((away @ hessian) * away).sum(axis=1)
        nearer = distance < least
        found[nearer], least[nearer] = other[nearer], distance[nearer]
        moved[nearer] = i > 0
    return found, float(moved.mean())
