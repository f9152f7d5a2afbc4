"""The prior of a feature's group and value in compiled form, and the redraw of one feature's group given all else.

Features of one kind (edges, or node fields) have a value v each: theta itself for a feature in {0, 1}, and 2 theta for
one in {-1, +1}, so that the logit t of the feature's larger value is v + nu in both (`one_coordinate`). Values are
shared as a Dirichlet process has it. Edges may also be *absent*, which is a group of its own: v = 0 exactly, with the
label ``ABSENT`` and no size.
"""

from __future__ import annotations

from math import exp, log, log1p, pi
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...priors import FIELD_SCALE, Beta, DirichletProcess, Normal
from ..conditionals.log_concave import draw, log_integral
from ..conditionals.one_coordinate import OneCoordinate, log_beta, log_likelihood
from .dirichlet_process import ABSENT, Grouping, choose, initial_grouping, open_group


class GroupPrior(NamedTuple):
    """Concentration; p0, 1 where every feature exists; Beta exponents and normal precision of a value, and the log
    constant that makes the density of t integrate to 1.
    """

    alpha: float
    density: float
    a: float
    b: float
    kappa: float
    log_constant: float


def group_prior(prior: DirichletProcess, grouping: Grouping, unit: float = 1.0) -> GroupPrior:
    """Constants of ``prior`` with the present alpha and p0; ``unit`` is theta over the value v."""
    base = prior.base
    if isinstance(base, Beta):
        constants = base.a, base.b, 0.0, -log_beta(base.a, base.b)
    else:
        kappa = float((unit / base.scale) ** 2)
        constants = 0.0, 0.0, kappa, 0.5 * log(kappa / (2 * pi))
    return GroupPrior(float(grouping.alpha), float(grouping.density), *(float(c) for c in constants))


class Block(NamedTuple):
    """Features of one kind side by side: where they begin, and how they are grouped."""

    first: int
    unit: float  # theta over the value v
    successes: np.ndarray  # (n_block,) samples in which each is at its larger value
    prior: DirichletProcess
    grouped: bool

    @classmethod
    def edges(cls, successes: np.ndarray, prior: DirichletProcess) -> Block:
        """Edge features, which come first."""
        return cls(0, 1.0, successes, prior, True)

    @classmethod
    def fields(cls, first: int, successes: np.ndarray, low: np.ndarray, prior: DirichletProcess | None) -> Block:
        """Node fields, with values ``low`` and 1; each in a group of its own where there is no ``prior``."""
        unit = float(1 / (1 - low[0])) if len(low) else 1.0
        return cls(first, unit, successes, prior or DirichletProcess(base=Normal(FIELD_SCALE)), prior is not None)


def start_fields(block: Block, start: np.ndarray, rng: np.random.Generator) -> Grouping:
    """Each field in a group of its own at ``start``; or k-means, on the probability that a field alone would give."""
    if block.grouped:
        return initial_grouping(1 / (1 + np.exp(-start / block.unit)), block.prior, rng)
    return Grouping(np.arange(len(start), dtype=np.int32), start / block.unit, block.prior.alpha_start)


def draw_density(rng: np.random.Generator, prior: DirichletProcess, groups: np.ndarray) -> float:
    """Redraw p0 given which features exist: Beta(a + m, b + r - m); a fixed one stays."""
    if not isinstance(prior.density, Beta):
        return prior.density_start
    n_absent = int((groups == ABSENT).sum())
    return float(rng.beta(prior.density.a + len(groups) - n_absent, prior.density.b + n_absent))


@strict_leaf
def log_odds_absent(prior, n_others):
    """Log weight of being absent, where that of a group is log(size): (1 - p0) / p0 (alpha + m), m others exist."""
    if prior.density >= 1:
        return -np.inf
    return log1p(-prior.density) - log(prior.density) + log(prior.alpha + n_others)


@strict_leaf
def reassign(rng, i, s, n, nu, groups, values, sizes, k, prior):
    """Redraw the group of feature i given all else, eq. (4); return (values, sizes, k), grown where needed."""
    if groups[i] >= 0:
        sizes[groups[i]] -= 1
    p = OneCoordinate(s, n, nu, prior.a, prior.b, prior.kappa)
    weights, n_others = np.full(k + 1, -np.inf), 0.0
    for c in range(k):
        if sizes[c] > 0:
            n_others += sizes[c]
            weights[c] = log(sizes[c]) + log_likelihood(values[c] + nu, s, n)
    weights[k] = log_odds_absent(prior, n_others) + log_likelihood(nu, s, n)
    # A new group weighs alpha at most, as the likelihood is relative to its largest: its integral is seldom needed.
    most = log(prior.alpha)
    top = max(weights.max(), most)
    weights = np.exp(weights - top)
    total, u, new = weights.sum(), rng.random(), False
    if u * (total + exp(most - top)) >= total:
        new = u * (total + exp(most + log_integral(p) + prior.log_constant - top)) >= total
    chosen = k + 1 if new else choose(rng, weights, k, weights[k])
    if chosen == k and prior.density < 1:
        groups[i] = ABSENT
        return values, sizes, k
    if chosen >= k:
        values, sizes, chosen, k = open_group(draw(rng, p) - nu, values, sizes, k)
    groups[i] = chosen
    sizes[chosen] += 1
    return values, sizes, k


@strict_leaf
def value_of(groups, values, i):
    """Value of feature i; 0 where it is absent."""
    return values[groups[i]] if groups[i] >= 0 else 0.0
