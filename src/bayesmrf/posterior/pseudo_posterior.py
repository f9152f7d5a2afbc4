"""Correction of the pseudo-posterior's location and scale at the mode (Bouranis, Friel and Maire 2017)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from ..base import LOG_Z, MOMENTS
from ..likelihood import Likelihood
from ..priors import Prior


class Mode(NamedTuple):
    """Where a posterior is highest, and minus the Hessian of its log there."""

    theta: np.ndarray
    curvature: np.ndarray


def posterior_mode(likelihood: Likelihood, prior: Prior, start: np.ndarray) -> Mode:
    """Maximise the log posterior by L-BFGS-B, then difference its gradient.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``log_z`` and ``moments``.
    prior : Prior
    start : (n_features,) array
    """
    likelihood.require("posterior_mode", {LOG_Z, MOMENTS})

    def negative(theta: np.ndarray) -> tuple[float, np.ndarray]:
        found = likelihood.evaluate(theta, MOMENTS)
        assert found.log_likelihood is not None
        assert found.score is not None
        value = found.log_likelihood + prior.log_density(theta).sum()
        return -float(value), -(found.score + prior.gradient(theta))

    theta = minimize(negative, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-8}).x
    steps = 1e-4 * np.eye(len(theta))
    hessian = np.array([(negative(theta + e)[1] - negative(theta - e)[1]) / 2e-4 for e in steps])
    return Mode(theta, (hessian + hessian.T) / 2)


def correction(true: Mode, pseudo: Mode) -> np.ndarray:
    r"""The matrix W that carries the pseudo-posterior's covariance at the mode to the true one.

    With curvatures :math:`H = L L^T` of the posterior and :math:`\tilde H = \tilde L \tilde L^T` of the other,

    .. math:: W = L^{-T} \tilde L^T, \qquad W \tilde H^{-1} W^T = H^{-1},

    and draws move to :math:`\theta^* + W (\theta - \tilde\theta^*)`.
    """
    upper, upper_pseudo = np.linalg.cholesky(true.curvature).T, np.linalg.cholesky(pseudo.curvature).T
    return solve_triangular(upper, upper_pseudo)
