"""Starts and step sizes of chains of theta: a mode of the posterior, and the curvature there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh

from ..base import EVERY_FAMILY, LOG_Z, MOMENTS
from ..data.states import States
from ..errors import ApproximatePosteriorWarning
from ..findings import NOTE, tell
from ..inference.auto import is_cheap
from ..inference.elimination.engine import Elimination
from ..inference.pseudo_likelihood import PseudoLikelihood
from ..inference.registry import require_answers
from ..learning.persistent_ascent import persistent_ascent
from ..likelihood import Likelihood
from ..models.categorical import is_categorical, states_of
from ..models.linear_map import LinearMap
from ..posterior.parameters.langevin import excess, is_stable, stable_epsilon
from ..posterior.parameters.pseudo_posterior import curvature_along, find_mode, own_scale
from ..priors import Prior
from ..samplers.gibbs import start, sweep, to_states
from ..threads import one_thread

_DENSE = 500  # parameters up to which the full curvature is computed
_CORRELATED = 0.2  # eigenvalue of the curvature in units of `Start.scale` below which directions are changed
_EXCESS = 1.25  # of a variance, due to long steps, of which users are told
_FLATTEST = 0.01  # least curvature: a standard deviation of 10
_MODE = {LOG_Z, MOMENTS}  # what engines must compute for a search for the mode
# States of chains that give a curvature without an engine: fewer where it is not a matrix.
_STATES, _FEW_STATES, _SWEEPS = 8192, 512, 100
_BOUND = 20.0  # of parameters in the search by chains


@dataclass(frozen=True, eq=False)
class Start:
    """A mode (or the best cheap estimate), and minus the Hessian of the log posterior there.

    Parameters
    ----------
    theta : (n_features,) array
    curvature : (n_features, n_features) array or LinearOperator
        With many parameters only products with vectors are available.
    own : (n_features,) array
        Standard deviation of each parameter alone, from the margins of the data.
    """

    theta: np.ndarray
    curvature: Any
    own: np.ndarray

    @property
    def is_dense(self) -> bool:
        """Whether the curvature is a matrix."""
        return isinstance(self.curvature, np.ndarray)

    @cached_property
    def scale(self) -> np.ndarray:
        """Standard deviation of each parameter given the others."""
        sd = 1 / np.sqrt(np.maximum(self.curvature.diagonal(), _FLATTEST)) if self.is_dense else self.own
        return _rounded(sd)

    @cached_property
    def root(self) -> np.ndarray:
        """Upper triangular root of the covariance; with many parameters, of its diagonal given the others: `scale`."""
        if not self.is_dense:
            return self.scale
        values, vectors = np.linalg.eigh(self.curvature)
        lower = np.linalg.cholesky(vectors * np.maximum(values, _FLATTEST) @ vectors.T)
        return np.triu(_rounded(solve_triangular(lower, np.eye(len(lower)), lower=True).T))

    @property
    def is_oblique(self) -> bool:
        """Whether parameters are so correlated that walks along the columns of `root` are faster.

        In units of `scale` the flattest direction of the curvature has the eigenvalue lambda, and walks along the
        coordinates take about 1 / lambda sweeps to go through it.
        """
        if not self.is_dense:
            return False
        return float(np.linalg.eigvalsh(self.scale[:, None] * self.curvature * self.scale)[0]) < _CORRELATED

    def stiffness(self, scale: np.ndarray | None) -> float:
        """Return the largest eigenvalue of the curvature with theta in units of ``scale`` (or of `root`)."""
        n = len(self.theta)
        c = np.ones(n) if scale is None else scale
        if self.is_dense:
            c = c if c.ndim == 2 else np.diag(c)
            return float(np.linalg.eigvalsh(c.T @ self.curvature @ c)[-1])
        scaled = LinearOperator((n, n), matvec=lambda v: c * (self.curvature @ (c * v.ravel())), dtype=np.float64)
        first = np.random.default_rng(0).standard_normal(n)
        return float(eigsh(scaled, k=1, which="LA", v0=first, tol=1e-2, return_eigenvectors=False)[0])


@one_thread()
def find_start(likelihood: Likelihood, prior: Prior, states: States) -> Start:
    """Find the mode of the posterior if exact inference is cheap or parameters are few, else of the pseudo-posterior.

    Missing entries over which the likelihood does not sum exactly are imputed by draws from the other entries of the
    column. Models of many states on wide graphs, which have no pseudo-likelihood here, have a search by chains, and
    those with a compiled form of their own one by the engine of the likelihood.

    Parameters
    ----------
    likelihood : Likelihood
        The likelihood of the chains.
    prior : Prior
    states : States
        The data.
    """
    model = likelihood.model
    table = _filled(states)
    known = likelihood
    if model.family not in EVERY_FAMILY:  # a user's, of which the given engine alone knows
        require_answers(likelihood.engine, "the start of chains", _MODE, model)
        known = likelihood.replaced(model.statistics(table, states.weights), likelihood.engine)
    elif not isinstance(likelihood.engine, PseudoLikelihood):
        exact = is_cheap(model.graph, states_of(model))
        if is_categorical(model) and not exact:
            return _by_chains(likelihood, prior, replace(states, values=table))
        engine = Elimination() if exact else PseudoLikelihood(table, states.weights)
        known = likelihood.replaced(model.statistics(table, states.weights), engine)
    theta = find_mode(known, prior, np.zeros(likelihood.n_parameters))
    answers = likelihood.engine.answers
    if likelihood.hidden is not None and likelihood.is_exact and answers & likelihood.hidden.engine.answers >= _MODE:
        known = likelihood
        theta = find_mode(known, prior, theta)

    def along(direction: np.ndarray) -> np.ndarray:
        return curvature_along(known, prior, theta, direction.ravel())

    p = len(theta)
    if p > _DENSE:
        return Start(theta, LinearOperator((p, p), matvec=along, dtype=np.float64), own_scale(likelihood, prior))
    hessian = np.array([along(e) for e in np.eye(p)])
    return Start(theta, (hessian + hessian.T) / 2, own_scale(likelihood, prior))


def uncorrected_epsilon(epsilon: float | None, stiffness: float) -> float:
    """Return the step of Langevin dynamics without an accept step, as given or from the curvature ``stiffness``.

    Warns
    -----
    ApproximatePosteriorWarning
        If the given step is unstable (see `bayesmrf.posterior.parameters.langevin.is_stable`), and replaced; or if it
        makes a variance too large by more than a quarter.
    """
    safe = float(f"{stable_epsilon(stiffness):.3g}")
    if epsilon is None:
        return safe
    if is_stable(epsilon, stiffness):
        if (factor := excess(epsilon, stiffness)) > _EXCESS:
            tell(
                f"epsilon = {epsilon:g} makes variances of the posterior up to {factor:.2g} times as large as they are"
                f": Langevin dynamics without an accept step are exact for short steps only; use epsilon <= "
                f"{safe:g}, with which it is 1.05 times",
                ApproximatePosteriorWarning,
            )
        return epsilon
    tell(
        f"epsilon = {epsilon:g} is unstable: Langevin dynamics without an accept step need epsilon < "
        f"{2 / stiffness**0.5:.3g} for the curvature of this posterior, and run away beyond it; epsilon = {safe:g} is "
        "used instead",
        ApproximatePosteriorWarning,
        NOTE,
    )
    return safe


def _filled(states: States) -> np.ndarray:
    """Impute each missing entry by a draw from the observed entries of its column, the same in every run."""
    table, rng = states.values.copy(), np.random.default_rng(0)
    for column in table.T:
        is_missing = column < 0
        if is_missing.any():
            weights = np.ones(len(column)) if states.weights is None else states.weights
            observed = weights * ~is_missing
            column[is_missing] = rng.choice(column, is_missing.sum(), p=observed / observed.sum())
    return table


def _by_chains(likelihood: Likelihood, prior: Prior, states: States) -> Start:
    """Find the mode by persistent chains, and the curvature N Cov[s] of the model there plus that of the prior.

    No value of ``states`` is missing.

    The covariance is that of states of the model: with as many parameters as rows, that of the data is smaller than it
    in some directions by factors of ten and more, along which steps would be too long.
    """
    model: Any = likelihood.model
    curve, n, p = likelihood.curve, likelihood.n_samples, likelihood.n_parameters
    slope = np.maximum(prior.gradient(np.full(p, -1e-4)) - prior.gradient(np.full(p, 1e-4)), 0) / 2e-4
    penalty, shared = slope, np.ones(p)
    tied = curve if isinstance(curve, LinearMap) else None
    if tied is not None:
        shared = tied.squares(np.ones(model.n_features))
        penalty = tied.natural(slope / shared)
    rng, limit = np.random.default_rng(0), np.full(model.n_features, _BOUND)
    theta = persistent_ascent(model, model.statistics(states.values, states.weights), n, rng, penalty, limit, tied)
    n_chains = _STATES if p <= _DENSE else _FEW_STATES
    chains = start(n_chains, model.graph.n_nodes, rng, states.spread(n_chains), model.n_states)
    sweep(model.categorical(theta), chains, _SWEEPS)
    features = np.array([model.statistics(x[None]) for x in to_states(chains, n_chains, model.n_states)])
    features -= features.mean(axis=0)
    if tied is not None:
        features, theta = features @ tied.matrix, tied.pull_back(theta, theta) / shared
    own_sd, scale = own_scale(likelihood, prior), n / n_chains
    if p <= _DENSE:
        return Start(theta, scale * features.T @ features + np.diag(slope), own_sd)

    def along(direction: np.ndarray) -> np.ndarray:
        v = direction.ravel()
        return scale * (features.T @ (features @ v)) + slope * v

    return Start(theta, LinearOperator((p, p), matvec=along, dtype=np.float64), own_sd)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Round to three significant digits, so that a continued run does not depend on last bits of an optimiser."""
    unit = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(values), 1e-100))) - 2)
    return np.round(values / unit) * unit
