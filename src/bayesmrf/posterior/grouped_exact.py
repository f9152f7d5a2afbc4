"""Gibbs_ExactL: groups with the exact likelihood, wherever an exact engine reaches (Liu and Page 2013, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from ..base import LOG_Z, MOMENTS
from ..compiled import strict_leaf
from ..likelihood import Likelihood
from ..models.agreement import Agreement
from ..priors import FIELD_SCALE, DirichletProcess
from .dirichlet_process import (
    GROUPED_DIMS,
    Grouping,
    choose,
    compact,
    draw_alpha,
    group_totals,
    initial_grouping,
    open_group,
    relative_likelihoods,
)
from .one_coordinate import OneCoordinate, draw, log_beta, log_integral, log_sigmoid

_TINY = 1e-300


class ExactState(NamedTuple):
    """Groups, their values and alpha; the node fields; and what the engine said at this theta."""

    groups: np.ndarray
    values: np.ndarray
    alpha: float
    fields: np.ndarray
    moments: np.ndarray
    log_z: float


class ExactInfo(NamedTuple):
    """Draw, with its log likelihood and the number of engine calls the step took."""

    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    log_likelihood: float
    n_solves: int


@dataclass(frozen=True, eq=False)
class GroupedExact:
    """Gibbs sampling of groups whose every move leaves the exact posterior invariant.

    * An edge's group: eq. (4) with the exact one-edge likelihood (`bayesmrf.posterior.one_coordinate`), which needs one
      moment of the current model; the integral over G0 by quadrature; a new value from its exact conditional law.
    * The value of a group with one edge, and each node field: an exact draw from its conditional law, one moment each.
    * The value of a larger group: slice sampling (Neal 2003) on the natural scale.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``log_z`` and ``moments``; the chain is exact where the engine is.
    prior : DirichletProcess
    start : (n_features,) array
        Maximum likelihood estimate from which the chain starts.
    """

    likelihood: Likelihood
    prior: DirichletProcess
    start: np.ndarray

    name = "grouped_exact"
    needs = frozenset({LOG_Z, MOMENTS})
    dims = GROUPED_DIMS | {"log_likelihood": (), "n_solves": ()}

    def __post_init__(self) -> None:
        self.likelihood.require(self.name, self.needs)

    @property
    def _model(self) -> Agreement:
        return self.likelihood.model  # type: ignore[return-value]

    def init(self, rng: np.random.Generator) -> ExactState:
        """Start from k-means on the maximum likelihood estimate."""
        r = self._model.n_edges
        g = initial_grouping(1 / (1 + np.exp(-self.start[:r])), self.prior, rng)
        fields = self.start[r:].copy()
        moments, log_z = self._solve(np.concatenate([g.values[g.groups], fields]))
        return ExactState(g.groups, g.values, g.alpha, fields, moments, log_z)

    def _solve(self, theta: np.ndarray) -> tuple[np.ndarray, float]:
        found = self.likelihood.inference(theta, MOMENTS)
        assert found.moments is not None
        assert found.log_z is not None
        return found.moments, found.log_z

    def step(self, rng: np.random.Generator, state: ExactState) -> tuple[ExactState, ExactInfo]:
        """One scan: groups of all edges, values of all groups, fields of all nodes, alpha."""
        lik, n = self.likelihood, self.likelihood.n_samples
        r = self._model.n_edges
        a, b = self.prior.base.a, self.prior.base.b
        s = np.rint(n * lik.s_bar[:r])
        groups, values = state.groups.copy(), state.values.copy()
        sizes, _ = group_totals(groups, s, len(values))
        k = len(values)
        theta = np.concatenate([values[groups], state.fields])
        moments, log_z, n_solves = state.moments, state.log_z, 0

        for i in range(r):
            nu = _logit(moments[i]) - theta[i]
            values, sizes, k = reassign(rng, i, s[i], n, nu, groups, values, sizes, k, state.alpha, a, b)
            new = values[groups[i]]
            if new != theta[i]:
                theta[i] = new
                moments, log_z = self._solve(theta)
                n_solves += 1

        grouping = compact(Grouping(groups, values[:k], state.alpha))
        groups, values = grouping.groups, grouping.values
        sizes, totals = group_totals(groups, s, len(values))
        for c in range(len(values)):
            members = np.flatnonzero(groups == c)
            if len(members) == 1:
                i = members[0]
                p = OneCoordinate(s[i], n, _logit(moments[i]) - theta[i], a, b, 0.0)
                theta[i] = values[c] = draw(rng, p) - p.nu
            else:
                width = _slice_width(totals[c], sizes[c] * n)
                values[c], evaluations = self._slice(rng, theta, members, width, log_z)
                theta[members] = values[c]
                n_solves += evaluations
            moments, log_z = self._solve(theta)
            n_solves += 1

        for u in range(r, len(theta)):
            # t = 2 h + nu is the logit of P(x_u = 1); h ~ N(0, FIELD_SCALE^2) has precision 1 / (2 FIELD_SCALE)^2 in t.
            nu = _logit((1 + moments[u]) / 2) - 2 * theta[u]
            p = OneCoordinate(np.rint(n * (1 + lik.s_bar[u]) / 2), n, nu, 0.0, 0.0, (2 * FIELD_SCALE) ** -2)
            theta[u] = (draw(rng, p) - nu) / 2
            moments, log_z = self._solve(theta)
            n_solves += 1

        alpha = draw_alpha(rng, state.alpha, self.prior, len(values), r)
        new_state = ExactState(groups, values, alpha, theta[r:], moments, log_z)
        return new_state, ExactInfo(theta, groups, len(values), alpha, lik.log_likelihood(theta, log_z), n_solves)

    def _slice(self, rng: np.random.Generator, theta: np.ndarray, members: np.ndarray, width: float, log_z: float):
        """Slice sampling with stepping out (Neal 2003, figures 3 and 5) of the value shared by ``members``."""
        lik = self.likelihood
        trial = theta.copy()

        def log_target(value: float, log_z: float | None = None) -> float:
            trial[members] = value
            prior = self.prior.base.a * log_sigmoid(value) + self.prior.base.b * log_sigmoid(-value)
            return prior + lik.log_likelihood(trial, lik.log_z(trial) if log_z is None else log_z)

        evaluations = 0
        here = float(theta[members[0]])
        height = log_target(here, log_z) + log(1 - rng.random())
        low = here - width * rng.random()
        high = low + width
        while log_target(low) > height:
            low -= width
            evaluations += 1
        while log_target(high) > height:
            high += width
            evaluations += 1
        while True:
            value = low + (high - low) * rng.random()
            evaluations += 1
            if log_target(value) >= height:
                return value, evaluations + 2
            if value < here:
                low = value
            else:
                high = value


def _slice_width(successes: float, trials: float) -> float:
    """About four posterior standard deviations of a group's value, from its counts alone (never from its value)."""
    p = (successes + 0.5) / (trials + 1)
    return 4 / sqrt((trials + 1) * p * (1 - p))


def _logit(p: float) -> float:
    return log(max(p, _TINY)) - log(max(1 - p, 1e-16))


@strict_leaf
def reassign(rng, i, s, n, nu, groups, values, sizes, k, alpha, a, b):
    """Redraw the group of edge i given all else, eq. (4); return (values, sizes, k), grown where needed."""
    sizes[groups[i]] -= 1
    p = OneCoordinate(s, n, nu, a, b, 0.0)
    weights, new = relative_likelihoods(values, k, nu, s, n, log(alpha) + log_integral(p) - log_beta(a, b))
    for c in range(k):
        weights[c] *= sizes[c]
    chosen = choose(rng, weights, k, new)
    if chosen == k:
        values, sizes, chosen, k = open_group(draw(rng, p) - nu, values, sizes, k)
    groups[i] = chosen
    sizes[chosen] += 1
    return values, sizes, k
