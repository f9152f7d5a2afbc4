"""Correction of the pseudo-posterior's location and scale at the mode (Bouranis, Friel and Maire 2017)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from ...base import LOG_Z, MOMENTS
from ...likelihood import Likelihood
from ...priors import Prior
from ...threads import one_thread


class Mode(NamedTuple):
    """Mode of a posterior, and minus the Hessian of its log there."""

    theta: np.ndarray
    curvature: np.ndarray


def own_scale(likelihood: Likelihood, prior: Prior) -> np.ndarray:
    """Return the standard deviation that each parameter would have alone, at the mean of the data.

    The curvature of the log posterior along one coordinate is `Likelihood.curvature_alone` plus that of the prior at 0.
    """
    step = np.full(likelihood.n_parameters, 1e-4)
    slope = (prior.gradient(step) - prior.gradient(-step)) / 2e-4
    return 1 / np.sqrt(likelihood.curvature_alone() - np.minimum(slope, -1e-6))


@one_thread()
def find_mode(likelihood: Likelihood, prior: Prior, start: np.ndarray) -> np.ndarray:
    """Maximise the log posterior by L-BFGS-B, in units of `own_scale`.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``log_z`` and ``moments``.
    prior : Prior
    start : (n_features,) array
    """
    likelihood.require("posterior_mode", {LOG_Z, MOMENTS})
    scale = own_scale(likelihood, prior)

    def negative(z: np.ndarray) -> tuple[float, np.ndarray]:
        evaluation = likelihood.evaluate(scale * z, MOMENTS)
        value = evaluation.log_likelihood + prior.log_density(scale * z).sum()
        return -float(value), -scale * (evaluation.score + prior.gradient(scale * z))

    options = {"ftol": 1e-15, "gtol": 1e-6, "maxiter": 1000, "maxcor": 30}
    return scale * minimize(negative, start / scale, jac=True, method="L-BFGS-B", options=options).x


def curvature_along(likelihood: Likelihood, prior: Prior, theta: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return minus the Hessian of the log posterior times ``direction``, by central differences of the gradient."""
    step = 1e-4 * direction / np.abs(direction).max()
    above, below = (likelihood.score(t) + prior.gradient(t) for t in (theta + step, theta - step))
    return (below - above) / (2e-4 / np.abs(direction).max())


def posterior_mode(likelihood: Likelihood, prior: Prior, start: np.ndarray) -> Mode:
    """Find the mode of the posterior and its curvature there; see `find_mode` for the arguments."""
    theta = find_mode(likelihood, prior, start)
    hessian = np.array([curvature_along(likelihood, prior, theta, e) for e in np.eye(len(theta))])
    return Mode(theta, (hessian + hessian.T) / 2)


def correction(true: Mode, pseudo: Mode) -> np.ndarray:
    r"""Return the matrix W that maps the covariance of the pseudo-posterior at the mode to that of the posterior.

    With curvatures :math:`H = L L^T` of the posterior and :math:`\tilde H = \tilde L \tilde L^T` of the
    pseudo-posterior,

    .. math:: W = L^{-T} \tilde L^T, \qquad W \tilde H^{-1} W^T = H^{-1},

    and draws move to :math:`\theta^* + W (\theta - \tilde\theta^*)`.
    """
    upper, upper_pseudo = np.linalg.cholesky(true.curvature).T, np.linalg.cholesky(pseudo.curvature).T
    return solve_triangular(upper, upper_pseudo)
