"""State of a grouping, and the draws of the Dirichlet process that do not need Z.

The state (c, phi) follows Liu and Page (2013, section 3) and Neal (2000): group labels of the edges and one value for
each group. Values are natural parameters (logits of agreements), which do not round to 0 or 1.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...priors import DirichletProcess
from ...threads import one_thread

ABSENT = -1  # label of an absent edge


class Grouping(NamedTuple):
    """Groups and their values; the probability p0 that an edge is present."""

    groups: np.ndarray  # (n_items,) int32, labels 0..k-1, or ABSENT
    values: np.ndarray  # (k,) natural parameter of each group, or (k, p) of items with p parameters
    alpha: float
    density: float = 1.0

    def spread(self) -> np.ndarray:
        """Return the value of each item; 0 if it is absent."""
        return np.concatenate([self.values, np.zeros((1, *self.values.shape[1:]))])[self.groups]


class Urn(NamedTuple):
    """Working copy of a grouping, changed in place, with room for a group for each item (`open_urn`)."""

    groups: np.ndarray
    values: np.ndarray
    sizes: np.ndarray  # float64
    k: np.ndarray  # (1,), number of groups, some of which may be empty
    prior: Any  # constants

    def value(self, i: int) -> Any:
        """Return the value of item i; 0 if it is absent."""
        c = self.groups[i]
        return self.values[c] if c >= 0 else np.zeros(self.values.shape[1:])[()]


class GroupedInfo(NamedTuple):
    """Draw: what is recorded of a state."""

    theta: np.ndarray  # (n_features,)
    groups: np.ndarray  # (n_edges,) int32, labels in order of first appearance
    n_groups: int
    alpha: float


_ROUNDING = 1e-9  # of a mean
_LEAST = 1e-300  # draws of a Gamma variable of small shape round to 0, under which a first group would not come
GROUPED_DIMS: dict[str, tuple[str, ...]] = {"theta": ("feature",), "groups": ("edge",), "n_groups": (), "alpha": ()}


def initial_grouping(agreement: np.ndarray, prior: DirichletProcess, rng: np.random.Generator) -> Grouping:
    """Group maximum likelihood agreements by k-means; those of 1/2 are absent if items may be.

    K = max(1, floor(alpha ln r)), as in Liu and Page 2013, Algorithms 1 and 2.
    """
    grouping = _k_means(agreement[:, None], np.array([0.5]), prior, rng)
    centres = np.clip(grouping.values[:, 0], 1e-6, 1 - 1e-6)  # the centre of edges that always agree is 1
    return compact(grouping._replace(values=np.log(centres) - np.log1p(-centres)))


def initial_potentials(potentials: np.ndarray, prior: DirichletProcess, rng: np.random.Generator) -> Grouping:
    """Group an estimate of all potentials (n_items, p) by k-means; those of 0 are absent if items may be."""
    return compact(_k_means(potentials, np.zeros(potentials.shape[1]), prior, rng))


def _k_means(points: np.ndarray, absent: np.ndarray, prior: DirichletProcess, rng: np.random.Generator) -> Grouping:
    """Group r points into K = max(1, floor(alpha ln r)) groups by k-means.

    If items may be absent, those at the point ``absent`` are, and p0 starts at its mean given these: from its prior
    mean, thousands of candidates would be added in the first scan, and hundreds of scans needed to remove them.
    """
    from sklearn.cluster import KMeans

    alpha = prior.alpha_start
    points = np.round(points, 9)  # equal up to rounding
    is_present = np.ones(len(points), bool) if not prior.has_spike else (points != absent).any(axis=1)
    density = prior.inclusion.mean_given(is_present.sum(), len(is_present))
    groups, present = np.full(len(points), ABSENT, np.int32), points[is_present]
    if not len(present):
        return Grouping(groups, np.zeros((0, points.shape[1])), alpha, density)
    k = min(max(1, int(alpha * np.log(len(present)))), len(np.unique(present, axis=0)))
    with one_thread():
        fit = KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(present)
    groups[is_present] = fit.labels_
    return Grouping(groups, fit.cluster_centers_, alpha, density)


def compact(grouping: Grouping) -> Grouping:
    """Relabel groups 0..k-1 in order of first appearance, dropping empty ones."""
    groups, values = _compact(grouping.groups, grouping.values)
    return grouping._replace(groups=groups, values=values)


@strict_leaf
def _compact(groups, values):
    new = np.full(len(values), -1, np.int32)
    out = np.empty_like(groups)
    k = 0
    for i in range(len(groups)):
        c = groups[i]
        if c < 0:
            out[i] = ABSENT
            continue
        if new[c] < 0:
            new[c] = k
            k += 1
        out[i] = new[c]
    kept = np.empty_like(values)
    for c in range(len(values)):
        if new[c] >= 0:
            kept[new[c]] = values[c]
    return out, kept[:k].copy()


def draw_alpha(rng: np.random.Generator, alpha: float, prior: DirichletProcess, n_groups: int, n_edges: int) -> float:
    """Redraw the concentration under its Gamma prior with an auxiliary Beta variable (Escobar and West 1995)."""
    of_alpha = prior.learnt_alpha
    if of_alpha is None:
        return alpha
    if n_edges == 0:
        return max(float(rng.gamma(of_alpha.shape) / of_alpha.rate), _LEAST)
    rate = of_alpha.rate - np.log(rng.beta(alpha + 1, n_edges))
    odds = (of_alpha.shape + n_groups - 1) / (n_edges * rate)
    shape = of_alpha.shape + n_groups - (rng.random() * (1 + odds) >= odds)
    return max(float(rng.gamma(shape) / rate), _LEAST)


@strict_leaf
def log_gamma_variate(rng, shape):
    """Draw the log of a Gamma(shape, 1) variable; for a small shape the variable itself would underflow."""
    if shape >= 1:
        return log(rng.standard_gamma(shape))
    return log(rng.standard_gamma(shape + 1)) + log(1 - rng.random()) / shape


@strict_leaf
def logit_beta_variate(rng, a, b):
    """Draw the logit of a Beta(a, b) variable."""
    return log_gamma_variate(rng, a) - log_gamma_variate(rng, b)


@strict_leaf
def open_urn(groups, values, prior):
    """Return a working copy of groups, labelled 0..k-1, and their values."""
    k, size = np.full(1, len(values)), max(len(groups), len(values))
    sizes, _ = group_totals(groups, np.zeros(len(groups)), size)
    room = np.zeros((size - k[0], *values.shape[1:]))
    return Urn(groups.copy(), np.concatenate((values, room)), sizes, k, prior)


@strict_leaf
def open_group(urn, value):
    """Store a new group in an empty slot or at the end; return its label."""
    slot = 0
    while slot < urn.k[0] and urn.sizes[slot] > 0:
        slot += 1
    urn.values[slot] = value
    urn.k[0] = max(urn.k[0], slot + 1)
    return slot


@strict_leaf
def take_out(urn, i):
    """Take item i out of its group, whose label it keeps."""
    if urn.groups[i] >= 0:
        urn.sizes[urn.groups[i]] -= 1


@strict_leaf
def put(urn, i, c):
    """Put item i, which was taken out, into group c, or make it absent."""
    urn.groups[i] = c
    if c >= 0:
        urn.sizes[c] += 1


@strict_leaf
def value_of(urn, i):
    """Return the value of item i, a number; 0 if it is absent."""
    return urn.values[urn.groups[i]] if urn.groups[i] >= 0 else 0.0


@strict_leaf
def group_totals(groups, successes, k):
    """Sum edges and successes of each group."""
    sizes, totals = np.zeros(k), np.zeros(k)
    for i in range(len(groups)):
        if groups[i] >= 0:
            sizes[groups[i]] += 1
            totals[groups[i]] += successes[i]
    return sizes, totals


@strict_leaf
def choose(rng, weights, k, last):
    """Draw an index 0..k-1 with probability proportional to ``weights``, or k with that of ``last``."""
    total = last
    for c in range(k):
        total += weights[c]
    u = rng.random() * total
    for c in range(k):
        u -= weights[c]
        if u < 0:
            return c
    return k


def sums_of_counts(mean: np.ndarray, n: float) -> np.ndarray:
    """Return n times the means of indicators: whole numbers but for rounding, unless rows have weights of a survey."""
    sums = n * mean
    whole = np.rint(sums)
    return np.where(np.abs(sums - whole) <= _ROUNDING * max(n, 1.0), whole, sums)
