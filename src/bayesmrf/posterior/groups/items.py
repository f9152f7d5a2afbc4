"""Blocks of theta whose items may share values: edges or nodes, of one parameter each or of several.

A block with one parameter an item is made of *logits*: the value v of an item is theta for a feature in {0, 1} and 2
theta for one in {-1, +1}, so that the logit of the feature's larger value is v + nu in both
(`bayesmrf.posterior.conditionals.one_coordinate`). A block with p parameters an item is made of *potentials*: the item
is in one of p + 1 categories at a time (`bayesmrf.posterior.conditionals.one_potential`): the unordered pairs of states
of the ends of an edge, or the states of a node. A block of *products* has one parameter an item, whose feature is the
product of two scores: the full conditional is a line (`bayesmrf.posterior.conditionals.line`).

All have the same methods: the start of a grouping, a working copy of it (`Urn`), the redraw of one item's group
given nu, the log odds of its feature in the model without it (of a product, given its line), and the prior of a value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np

from ...priors import FIELD_SCALE, DirichletProcess
from ..conditionals.centred import edge_line, move_edge, node_line
from ..conditionals.line import Line, line_parabola
from ..conditionals.log_concave import draw_exactly
from ..conditionals.one_coordinate import OneCoordinate, log_sigmoid
from .dirichlet_process import Grouping, Urn, compact, draw_alpha, initial_grouping, initial_potentials, open_urn
from .moves import split_merge
from .moves.fits import Parabolas, Trials
from .moves.transfers import propose_transfer
from .prior import GroupPrior, draw_density, group_prior, reassign, reassign_line

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Items(ABC):
    """Items of one kind, contiguous in theta.

    Parameters
    ----------
    first : int
        Index of the first feature.
    counts : (n_items,) or (n_items, p) array
        Observations in which each feature is at its larger value.
    n_samples : float
    prior : DirichletProcess
    grouped : bool
        Whether items may share values; else each item is in a group of its own.
    unit : float
        Ratio of theta to the value.
    """

    first: int
    counts: np.ndarray
    n_samples: float
    prior: DirichletProcess
    grouped: bool = True
    unit: float = 1.0

    @cached_property
    def p(self) -> int:
        """Number of parameters of an item."""
        return int(np.prod(self.counts.shape[1:]))

    @property
    def end(self) -> int:
        """Index of the feature after the last."""
        return self.first + self.counts.size

    def features(self, items: Any) -> Any:
        """Return the index of the feature of an item, or indices for several items or an item with several features."""
        if self.counts.ndim == 1:
            return self.first + items
        numbers = np.asarray(items)[..., None] * self.p + np.arange(self.p)
        return (self.first + numbers).ravel()

    def moved(self, theta: np.ndarray, members: Any, value: Any) -> np.ndarray:
        """Return theta with the items ``members`` at a value."""
        theta = theta.copy()
        theta[self.features(members)] = value
        return theta

    def theta(self, state: Grouping) -> np.ndarray:
        """Return theta of all items as one vector."""
        return self.unit * state.spread().ravel()

    def placed(self, theta: np.ndarray, state: Grouping) -> np.ndarray:
        """Return the whole of theta with all items at their values."""
        theta = theta.copy()
        theta[self.first : self.end] = self.theta(state)
        return theta

    def log_prior_moved(self, theta: np.ndarray) -> float:
        """Return the log prior density, up to a constant, of the parameters that move with the items."""
        return 0.0

    def fit(self, nu: Any, i: int) -> Any:
        """Return the constants by which a split or a merge is proposed, in the place of item i in the array of `nu`."""
        return nu

    @property
    def fit_shape(self) -> tuple[int, ...]:
        """Shape of `fit` of all items."""
        return self.counts.shape

    def open(self, state: Grouping) -> Urn:
        """Return a working copy."""
        return open_urn(state.groups, state.values, self.constants(state))

    def close(self, urn: Urn, state: Grouping) -> Grouping:
        """Return the grouping with labels in order of first appearance."""
        grouping = state._replace(groups=urn.groups, values=urn.values[: urn.k[0]])
        return compact(grouping) if self.grouped else grouping

    def apply(self, tried: Any, state: Grouping) -> Grouping:
        """Return the grouping after a split or a merge."""
        groups, values = split_merge.apply(tried, state.groups, state.values)
        return state._replace(groups=groups, values=values)

    def draw_constants(self, rng: np.random.Generator, state: Grouping) -> Grouping:
        """Draw alpha and p0 if they have priors."""
        if not self.grouped:
            return state
        n_there = int((state.groups >= 0).sum())
        alpha = draw_alpha(rng, state.alpha, self.prior, len(state.values), n_there)
        return state._replace(alpha=alpha, density=draw_density(rng, self.prior, state.groups))

    @abstractmethod
    def constants(self, state: Grouping) -> Any:
        """Return the constants of the prior for compiled code."""


@dataclass(frozen=True, eq=False)
class Logits(Items):
    """Items with one parameter each."""

    def start(self, estimate: np.ndarray, rng: np.random.Generator) -> Grouping:
        """Start from k-means on the probability of each item alone, or with each item in a group of its own."""
        if self.grouped:
            return initial_grouping(1 / (1 + np.exp(-estimate / self.unit)), self.prior, rng)
        return Grouping(np.arange(len(estimate), dtype=np.int32), estimate / self.unit, self.prior.alpha_start)

    def constants(self, state: Grouping) -> GroupPrior:
        """Return the constants of the prior."""
        return group_prior(self.prior, state, self.unit)

    def nu(self, i: int, theta: np.ndarray, moments: np.ndarray) -> float:
        """Return the logit of the probability of the larger value of item i if its parameter were 0."""
        j = self.first + i
        q = 1 - self.unit * (1 - moments[j])
        return log(max(q, _TINY)) - log(max(1 - q, 1e-16)) - theta[j] / self.unit

    def reassign(self, rng: np.random.Generator, urn: Urn, i: int, nu: float) -> None:
        """Redraw the group of item i given all else (Liu and Page 2013, eq. 4)."""
        reassign(rng, i, self.counts[i], self.n_samples, nu, 0.0, urn)

    def draw_value(self, rng: np.random.Generator, urn: Urn, i: int, nu: float) -> float:
        """Draw the value of an item in a group of its own from its full conditional."""
        p, n = urn.prior, self.n_samples
        return draw_exactly(rng, OneCoordinate(self.counts[i], n, nu, p.a, p.b, p.kappa)) - nu

    def width(self, total: float, size: float) -> float:
        """Return about four posterior standard deviations of a group's value, from its counts alone."""
        return slice_width(total, size * self.n_samples)

    def propose(self, rng: np.random.Generator, state: Grouping, nu: np.ndarray) -> split_merge.Proposal:
        """Propose a split or a merge of groups, by the likelihoods of the items with ``nu`` held fixed."""
        p = self.constants(state)
        fits = Trials(self.counts, nu, self.n_samples, p.a, p.b)
        return split_merge.propose(rng, state.groups, state.values, p.alpha, fits)

    def log_prior(self, urn: Urn, value: float, theta: np.ndarray) -> float:
        """Return the log prior density of a value, up to a constant."""
        p = urn.prior
        return p.a * log_sigmoid(value) + p.b * log_sigmoid(-value) - 0.5 * p.kappa * value**2


@dataclass(frozen=True, eq=False)
class NodeLines(Logits):
    """Parameters of nodes with ordered states, each redrawn along its line.

    Parameters
    ----------
    lines : CentredLines
        The moments are those of `bayesmrf.models.two_arrays.WithPairs`.
    """

    lines: Any = None

    @cached_property
    def precision(self) -> np.ndarray:
        """Precisions of the normal priors of all parameters, (n_features,)."""
        return np.full(self.end, FIELD_SCALE**-2)

    def nu(self, i: int, theta: np.ndarray, moments: np.ndarray) -> Any:
        """Return the full conditional of parameter i."""
        (n_nodes, m), k = self.lines.base.shape, self.first + i
        node = np.searchsorted(self.lines.starts, k, side="right") - 1
        return node_line(self.lines, moments[-n_nodes * m :].reshape(n_nodes, m)[node], k, theta, self.precision)

    def draw_value(self, rng: np.random.Generator, urn: Urn, i: int, nu: Any) -> float:
        """Draw parameter i from its full conditional."""
        return draw_exactly(rng, nu)


@dataclass(frozen=True, eq=False)
class Products(Items):
    """Items with one parameter each, the weight of a product of scores, with a normal base distribution.

    A weight moves together with the parameters of its nodes, so that the feature that changes is centred on the data
    (`bayesmrf.posterior.conditionals.centred`). In place of nu there is the line of an item.

    Parameters
    ----------
    lines : CentredLines
        The moments of an item are the probabilities of the states 00, 01, ... of the ends of its edge.
    """

    lines: Any = None

    @cached_property
    def base(self) -> tuple[float, float]:
        """Precision of the base, and the log constant of its density."""
        precision, constant = base_precision(self.prior.base, 1)
        return float(precision[0, 0]), constant

    @cached_property
    def precision(self) -> np.ndarray:
        """Precisions of the normal priors of weights and of node parameters, (n_features,)."""
        precision = np.full(len(self.lines.sums), FIELD_SCALE**-2)
        precision[: len(self.counts)] = self.base[0]
        return precision

    def start(self, estimate: np.ndarray, rng: np.random.Generator) -> Grouping:
        """Start from k-means on the estimates of the items."""
        grouping = initial_potentials(estimate[:, None], self.prior, rng)
        return grouping._replace(values=grouping.values[:, 0])

    def constants(self, state: Grouping) -> GroupPrior:
        """Return the constants of the prior."""
        return GroupPrior(float(state.alpha), float(state.density), 0.0, 0.0, *self.base)

    def nu(self, i: int, theta: np.ndarray, moments: np.ndarray) -> Line:
        """Return the full conditional of the value of item i in a group of its own."""
        size = self.lines.values.size
        cells = moments[i * size : (i + 1) * size]
        return edge_line(self.lines, cells, cells.sum(), i, *self.lines.edges[i], theta, self.precision)

    def moved(self, theta: np.ndarray, members: Any, value: Any) -> np.ndarray:
        """Return theta with the items ``members`` at a value."""
        theta = theta.copy()
        for e in np.atleast_1d(members):
            move_edge(self.lines, e, *self.lines.edges[e], theta, value)
        return theta

    def reassign(self, rng: np.random.Generator, urn: Urn, i: int, nu: Line) -> None:
        """Redraw the group of item i given all else (Liu and Page 2013, eq. 4)."""
        reassign_line(rng, i, nu, 0.0, urn)

    def draw_value(self, rng: np.random.Generator, urn: Urn, i: int, nu: Line) -> float:
        """Draw the value of an item in a group of its own from its full conditional."""
        return draw_exactly(rng, nu)

    def placed(self, theta: np.ndarray, state: Grouping) -> np.ndarray:
        """Return the whole of theta with all items at their values."""
        theta, values = theta.copy(), self.theta(state)
        for e in np.flatnonzero(theta[: len(values)] != values):
            move_edge(self.lines, e, *self.lines.edges[e], theta, values[e])
        return theta

    @cached_property
    def centred_sums(self) -> np.ndarray:
        """Sums over the data of the features that change with the values of the items, (n_items,)."""
        start, sums = np.zeros(len(self.lines.sums)), self.lines.sums
        return np.array([self.moved(start, e, 1.0) @ sums for e in range(len(self.counts))])

    def fit(self, nu: Line, i: int) -> tuple[float, float]:
        """Return slope and curvature of the parabola by which a split or a merge is proposed."""
        return line_parabola(nu, self.precision[i])

    @property
    def fit_shape(self) -> tuple[int, ...]:
        """Shape of `fit` of all items."""
        return len(self.counts), 2

    def propose(self, rng: np.random.Generator, state: Grouping, nu: np.ndarray) -> split_merge.Proposal:
        """Propose a split or a merge of groups, or that an item changes its group, by the parabolas ``nu``."""
        p, (slope, curvature) = self.constants(state), nu.T.copy()
        fits = Parabolas(slope, curvature, p.kappa, p.log_constant)
        if rng.random() < 0.5:
            return propose_transfer(rng, state.groups, state.values, fits)
        return split_merge.propose(rng, state.groups, state.values, p.alpha, fits)

    def log_prior_moved(self, theta: np.ndarray) -> float:
        """Return the log prior density of the node parameters, up to a constant."""
        r = len(self.counts)
        return -0.5 * float(self.precision[r:] @ theta[r:] ** 2)

    def log_prior(self, urn: Urn, value: float, theta: np.ndarray) -> float:
        """Return the log prior density of a value and of the node parameters, up to a constant."""
        return -0.5 * urn.prior.kappa * value**2 + self.log_prior_moved(theta)

    def width(self, total: float, size: float) -> float:
        """Return some posterior standard deviations of a group's value, from its counts alone."""
        low, span, n = self.lines.values.min(), np.ptp(self.lines.values), size * self.n_samples
        return 2 * slice_width((total - low * n) / span, n) / span


def slice_width(successes: float, trials: float) -> float:
    """Return about four posterior standard deviations of a group's logit, from its counts alone."""
    p = (successes + 0.5) / (trials + 1)
    return 4 / sqrt((trials + 1) * p * (1 - p))


def base_precision(base: Any, p: int) -> tuple[np.ndarray, float]:
    """Return the precision of a normal base of p parameters, and the log constant of its density.

    Raises
    ------
    OptionError
        If the base is not normal, or not of p parameters.
    """
    precision = np.linalg.inv(base.covariance_of(p))
    return precision, float(0.5 * (np.linalg.slogdet(precision)[1] - p * np.log(2 * np.pi)))
