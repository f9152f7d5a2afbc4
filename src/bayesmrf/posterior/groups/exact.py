"""Gibbs_ExactL: groups with the exact likelihood, wherever an exact engine reaches (Liu and Page 2013, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from ...base import LOG_Z, MOMENTS
from ...likelihood import Likelihood
from ...priors import DirichletProcess
from ..conditionals.log_concave import draw
from ..conditionals.one_coordinate import OneCoordinate, log_sigmoid
from .dirichlet_process import (
    GROUPED_DIMS,
    Grouping,
    compact,
    draw_alpha,
    group_totals,
    initial_grouping,
)
from .prior import Block, draw_density, group_prior, reassign, start_fields, value_of

_TINY = 1e-300


class ExactState(NamedTuple):
    """Groups of edges and of node fields; and what the engine said at this theta."""

    edges: Grouping
    fields: Grouping
    moments: np.ndarray
    log_z: float


class ExactInfo(NamedTuple):
    """Draw, with its log likelihood and the number of engine calls the step took."""

    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    density: float
    field_groups: np.ndarray
    log_likelihood: float
    n_solves: int


@dataclass(frozen=True, eq=False)
class GroupedExact:
    """Gibbs sampling of groups whose every move leaves the exact posterior invariant.

    * An edge's group: eq. (4) with the exact one-edge likelihood
      (`bayesmrf.posterior.conditionals.one_coordinate`), which needs one moment
      of the current model; the integral over G0 by quadrature; a new value from its exact conditional law. Where edges
      may be absent, that is one group more (`bayesmrf.posterior.groups.prior`).
    * The value of a group with one edge: an exact draw from its conditional law, one moment.
    * The value of a larger group: slice sampling (Neal 2003) on the natural scale.
    * Node fields in the same way, grouped or each in a group of its own.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``log_z`` and ``moments``; the chain is exact where the engine is.
    prior : DirichletProcess
    start : (n_features,) array
        Maximum likelihood estimate from which the chain starts.
    field_prior : DirichletProcess, optional
        Of node fields that are grouped; None for a field of its own for each node.
    """

    likelihood: Likelihood
    prior: DirichletProcess
    start: np.ndarray
    field_prior: DirichletProcess | None = None

    name = "grouped_exact"
    needs = frozenset({LOG_Z, MOMENTS})
    dims = GROUPED_DIMS | {"density": (), "field_groups": ("node",), "log_likelihood": (), "n_solves": ()}

    def __post_init__(self) -> None:
        self.likelihood.require(self.name, self.needs)

    @property
    def _n_edges(self) -> int:
        return self.likelihood.model.graph.n_edges

    @cached_property
    def _blocks(self) -> tuple[Block, Block]:
        lik, r = self.likelihood, self._n_edges
        low = lik.model.feature_low
        counts = np.rint(lik.n_samples * (lik.s_bar - low) / (1 - low))
        return Block.edges(counts[:r], self.prior), Block.fields(r, counts[r:], low[r:], self.field_prior)

    def init(self, rng: np.random.Generator) -> ExactState:
        """Start from k-means on the maximum likelihood estimate."""
        r = self._n_edges
        edges = initial_grouping(1 / (1 + np.exp(-self.start[:r])), self.prior, rng)
        fields = start_fields(self._blocks[1], self.start[r:], rng)
        theta = np.concatenate([edges.spread(), fields.spread() * self._blocks[1].unit])
        return ExactState(edges, fields, *self._solve(theta))

    def _solve(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        found = self.likelihood.inference(theta, MOMENTS)
        assert found.moments is not None
        assert found.log_z is not None
        return found.moments, found.log_z

    def step(self, rng: np.random.Generator, state: ExactState) -> tuple[ExactState, ExactInfo]:
        """One scan: groups of all edges, values of all groups, the same for fields, alpha and p0."""
        walk = _Walk(self, state)
        grouped = [walk.scan(rng, *both) for both in zip(self._blocks, state[:2], strict=True)]
        edges, fields = grouped
        info = ExactInfo(
            walk.theta,
            edges.groups,
            len(edges.values),
            edges.alpha,
            edges.density,
            fields.groups,
            self.likelihood.log_likelihood(walk.theta, walk.log_z),
            walk.n_solves,
        )
        return ExactState(edges, fields, walk.moments, walk.log_z), info


class _Walk:
    """Theta on its way through one step, and what the engine says there."""

    def __init__(self, kernel: GroupedExact, state: ExactState):
        self.likelihood, self._solve = kernel.likelihood, kernel._solve
        blocks = kernel._blocks
        self.theta = np.concatenate([b.unit * g.spread() for b, g in zip(blocks, state[:2], strict=True)])
        self.moments, self.log_z, self.n_solves = state.moments, state.log_z, 0

    def _move(self, features: np.ndarray | int, theta: float) -> None:
        self.theta[features] = theta
        self.moments, self.log_z = self._solve(self.theta)
        self.n_solves += 1

    def _nu(self, block: Block, i: int) -> float:
        """Logit of the probability of the larger value of feature i, were its parameter 0."""
        q = 1 - block.unit * (1 - self.moments[block.first + i])
        return log(max(q, _TINY)) - log(max(1 - q, 1e-16)) - self.theta[block.first + i] / block.unit

    def scan(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        n = self.likelihood.n_samples
        groups, values, s = state.groups.copy(), state.values.copy(), block.successes
        sizes, _ = group_totals(groups, s, len(values))
        k = len(values)
        prior = group_prior(block.prior, state, block.unit)
        if block.grouped:
            for i in range(len(groups)):
                nu = self._nu(block, i)
                values, sizes, k = reassign(rng, i, s[i], n, nu, groups, values, sizes, k, prior)
                theta = block.unit * value_of(groups, values, i)
                if theta != self.theta[block.first + i]:
                    self._move(block.first + i, theta)
            groups, values, *_ = compact(Grouping(groups, values[:k], 0.0))
        sizes, totals = group_totals(groups, s, len(values))
        for c in range(len(values)):
            members = np.flatnonzero(groups == c)
            if len(members) == 1:
                i = members[0]
                p = OneCoordinate(s[i], n, self._nu(block, i), prior.a, prior.b, prior.kappa)
                values[c] = draw(rng, p) - p.nu
            else:
                width = _slice_width(totals[c], sizes[c] * n)
                values[c] = self._slice(rng, block, members, width, prior)
            self._move(block.first + members, block.unit * values[c])
        if not block.grouped:
            return state._replace(values=values)
        k, n_there = len(values), int((groups >= 0).sum())
        alpha = draw_alpha(rng, state.alpha, block.prior, k, n_there)
        return Grouping(groups, values, alpha, draw_density(rng, block.prior, groups))

    def _slice(self, rng: np.random.Generator, block: Block, members: np.ndarray, width: float, prior) -> float:
        """Slice sampling with stepping out (Neal 2003, figures 3 and 5) of the value shared by ``members``."""
        lik = self.likelihood
        trial, shared = self.theta.copy(), block.first + members

        def log_target(value: float, log_z: float | None = None) -> float:
            trial[shared] = block.unit * value
            log_prior = prior.a * log_sigmoid(value) + prior.b * log_sigmoid(-value) - 0.5 * prior.kappa * value**2
            self.n_solves += log_z is None
            return log_prior + lik.log_likelihood(trial, lik.log_z(trial) if log_z is None else log_z)

        here = float(self.theta[shared[0]] / block.unit)
        height = log_target(here, self.log_z) + log(1 - rng.random())
        low = here - width * rng.random()
        high = low + width
        while log_target(low) > height:
            low -= width
        while log_target(high) > height:
            high += width
        while True:
            value = low + (high - low) * rng.random()
            if log_target(value) >= height:
                return value
            if value < here:
                low = value
            else:
                high = value


def _slice_width(successes: float, trials: float) -> float:
    """About four posterior standard deviations of a group's value, from its counts alone (never from its value)."""
    p = (successes + 0.5) / (trials + 1)
    return 4 / sqrt((trials + 1) * p * (1 - p))
