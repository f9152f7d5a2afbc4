"""Groups of edges that share a whole potential, with an exact engine (Liu and Page 2013, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import NamedTuple

import numpy as np
from numpy.linalg import cholesky, solve

from ...base import LOG_Z, MOMENTS
from ...likelihood import Likelihood
from ...models.symmetric import Symmetric
from ...priors import FIELD_SCALE, DirichletProcess
from ..conditionals.log_concave import draw
from ..conditionals.one_coordinate import OneCoordinate
from ..conditionals.one_potential import OnePotential, information, log_odds, reassign_potential
from .dirichlet_process import GROUPED_DIMS, draw_alpha
from .potentials import PotentialGrouping, base_precision, compact_potentials, initial_potentials

_TRIES = 2  # moves of each group's value in a step
_STEPS = 0.3, 1.6  # range of their length, in units of one edge's information summed over the group
_TINY = 1e-300


class SymmetricState(NamedTuple):
    """Groups, their potentials and alpha; the node fields; and what the engine said at this theta."""

    groups: np.ndarray
    values: np.ndarray  # (k, p)
    alpha: float
    fields: np.ndarray
    moments: np.ndarray
    log_z: float


class SymmetricInfo(NamedTuple):
    """Draw, its log likelihood, the share of moves of values accepted, and the engine calls the step took."""

    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    log_likelihood: float
    acceptance_values: float
    n_solves: int


@dataclass(frozen=True, eq=False)
class GroupedSymmetric:
    r"""Gibbs sampling of groups of potentials whose every move leaves the exact posterior invariant.

    * An edge's group: Neal's (2000) algorithm 8 with the exact law of one edge
      (`bayesmrf.posterior.conditionals.one_potential`), which needs the pair marginal of the present
      model; an edge alone draws its value anew with it.
    * The value of a larger group: Metropolis-Hastings with a preconditioned Langevin proposal (Roberts and Stramer
      2002), the likelihood and its gradient from the engine at both ends of the move. The metric is the sum over the
      group of the information of each edge by itself, n (diag(q) - q q'), and the base's; it leaves out how
      edges vary together, so that lengths of steps are drawn from a range.
    * Each node field: an exact draw from its conditional law, one moment each.

    Parameters
    ----------
    likelihood : Likelihood
        Of a `Symmetric` model, with an engine that answers ``log_z`` and ``moments``; the chain is exact where the
        engine is.
    prior : DirichletProcess
        With a normal base.
    start : (n_features,) array
        Estimate blind to groups from which the chain starts.
    """

    likelihood: Likelihood
    prior: DirichletProcess
    start: np.ndarray

    name = "grouped_symmetric"
    needs = frozenset({LOG_Z, MOMENTS})
    dims = GROUPED_DIMS | {"log_likelihood": (), "acceptance_values": (), "n_solves": ()}

    def __post_init__(self) -> None:
        self.likelihood.require(self.name, self.needs)

    @property
    def _model(self) -> Symmetric:
        return self.likelihood.model  # type: ignore[return-value]

    @cached_property
    def _counts(self) -> np.ndarray:
        """Observations in which each feature is 1."""
        return np.rint(self.likelihood.n_samples * self.likelihood.s_bar)

    @cached_property
    def _base(self) -> tuple[np.ndarray, float]:
        return base_precision(self.prior.base, self._model.n_parameters)

    def init(self, rng: np.random.Generator) -> SymmetricState:
        """Start from k-means on the potentials of the estimate."""
        r, p = self._model.n_edges, self._model.n_parameters
        g = initial_potentials(self.start[: r * p].reshape(r, p), self.prior, rng)
        fields = self.start[r * p :].copy()
        moments, log_z = self._solve(np.concatenate([g.values[g.groups].ravel(), fields]))
        return SymmetricState(g.groups, g.values, g.alpha, fields, moments, log_z)

    def _solve(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        found = self.likelihood.inference(theta, MOMENTS)
        assert found.moments is not None
        assert found.log_z is not None
        return found.moments, found.log_z

    def step(self, rng: np.random.Generator, state: SymmetricState) -> tuple[SymmetricState, SymmetricInfo]:
        """One scan: groups of all edges, values of all groups, fields of all nodes, alpha."""
        r, p = self._model.n_edges, self._model.n_parameters
        walk = _Walk(self, state)
        grouping = self._reassign(rng, walk, state)
        groups, values = grouping.groups, grouping.values
        accepted, tried = 0, 0
        for c in range(len(values)):
            members = np.flatnonzero(groups == c)
            if len(members) > 1:
                for _ in range(_TRIES):
                    accepted += self._move_value(rng, walk, members)
                    tried += 1
                values[c] = walk.theta[: r * p].reshape(r, p)[members[0]]
        self._draw_fields(rng, walk)
        alpha = draw_alpha(rng, state.alpha, self.prior, len(values), r)
        new = SymmetricState(groups, values, alpha, walk.theta[r * p :].copy(), walk.moments, walk.log_z)
        value = self.likelihood.log_likelihood(walk.theta, walk.log_z)
        rate = accepted / max(1, tried)
        return new, SymmetricInfo(walk.theta, groups, len(values), alpha, value, rate, walk.n_solves)

    def _reassign(self, rng: np.random.Generator, walk: _Walk, state: SymmetricState) -> PotentialGrouping:
        """Groups of all edges, one by one."""
        r, p = self._model.n_edges, self._model.n_parameters
        groups, values = state.groups.copy(), state.values.copy()
        sizes, k = np.bincount(groups, minlength=len(values)).astype(np.float64), len(values)
        for i in range(r):
            own = slice(i * p, i * p + p)
            nu = log_odds(walk.moments[own], walk.theta[own])
            law = OnePotential(self._counts[own], self.likelihood.n_samples, nu, *self._base)
            values, sizes, k = reassign_potential(rng, i, law, groups, values, sizes, k, state.alpha)
            if (values[groups[i]] != walk.theta[own]).any():
                walk.move(own, values[groups[i]])
        return compact_potentials(PotentialGrouping(groups, values[:k], state.alpha))

    def _move_value(self, rng: np.random.Generator, walk: _Walk, members: np.ndarray) -> bool:
        """Try a Langevin move of the value that ``members`` share."""
        n, (precision, _) = self.likelihood.n_samples, self._base
        p = len(precision)
        shared = (members[:, None] * p + np.arange(p)).ravel()
        totals = self._counts[shared].reshape(-1, p).sum(axis=0)
        length = rng.uniform(*_STEPS)

        def proposal(theta: np.ndarray, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Its mean, and the Cholesky factor of its precision."""
            value, q = theta[shared[:p]], moments[shared].reshape(-1, p)
            metric = precision + sum(information(row, n) for row in q)
            gradient = totals - n * q.sum(axis=0) - precision @ value
            return value + 0.5 * length**2 * solve(metric, gradient), cholesky(metric) / length

        def log_density(x: np.ndarray, mean: np.ndarray, lower: np.ndarray) -> float:
            return float(np.log(lower.diagonal()).sum() - 0.5 * np.square(lower.T @ (x - mean)).sum())

        value = walk.theta[shared[:p]]
        mean, lower = proposal(walk.theta, walk.moments)
        new = mean + solve(lower.T, rng.standard_normal(p))
        theta = walk.theta.copy()
        theta[shared] = np.tile(new, len(members))
        moments, log_z = self._solve(theta)
        walk.n_solves += 1
        ratio = totals @ (new - value) - n * (log_z - walk.log_z)
        ratio += 0.5 * (value @ precision @ value - new @ precision @ new)
        ratio += log_density(value, *proposal(theta, moments)) - log_density(new, mean, lower)
        if not log(1 - rng.random()) < ratio:
            return False
        walk.theta, walk.moments, walk.log_z = theta, moments, log_z
        return True

    def _draw_fields(self, rng: np.random.Generator, walk: _Walk) -> None:
        """Exact draws of all node fields, one by one."""
        for j in range(self._model.n_edges * self._model.n_parameters, len(walk.theta)):
            q = walk.moments[j]
            nu = log(max(q, _TINY)) - log(max(1 - q, 1e-16)) - walk.theta[j]
            law = OneCoordinate(self._counts[j], self.likelihood.n_samples, nu, 0.0, 0.0, FIELD_SCALE**-2)
            walk.move(slice(j, j + 1), draw(rng, law) - nu)


class _Walk:
    """Theta on its way through one step, and what the engine says there."""

    def __init__(self, kernel: GroupedSymmetric, state: SymmetricState):
        self._solve = kernel._solve
        self.theta = np.concatenate([state.values[state.groups].ravel(), state.fields])
        self.moments, self.log_z, self.n_solves = state.moments, state.log_z, 0

    def move(self, features: slice, value: np.ndarray | float) -> None:
        self.theta[features] = value
        self.moments, self.log_z = self._solve(self.theta)
        self.n_solves += 1
