"""The prior of an item's group and value in compiled form, and the redraw of one item's group given all else.

Groups have the prior of a Dirichlet process. Items may also be *absent*: their value is exactly 0, with the label
``ABSENT`` and no size.

The integral over the base of a new group's value is computed by quadrature for a logit. A new potential is drawn by
Neal's (2000) algorithm 8, with auxiliary values from a Student's t around the mode of the likelihood L times the base
g0, as values from g0 itself rarely fit when n is large. The weight of an auxiliary value is then L g0 / t in place of
L. The stationary distribution is the same, as t depends on the item's data and all other parameters, but not on the
item's own.
"""

from __future__ import annotations

from math import exp, log, log1p, pi
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...priors import DirichletProcess
from ..conditionals.line import line_log_density
from ..conditionals.log_concave import draw_exactly, log_integral
from ..conditionals.noisy_draws import coordinate_with, expected_sum, line_with, potential_with
from ..conditionals.one_coordinate import OneCoordinate, coordinate_log_density, log_beta, log_likelihood, sigmoid
from ..conditionals.one_potential import categories, draw_t_around, log_base, log_fit, log_t_around, mode_of
from .dirichlet_process import ABSENT, Grouping, choose, open_group, put, take_out


class GroupPrior(NamedTuple):
    """Concentration; p0, 1 if every feature is present; Beta exponents and normal precision of a value, and the log of
    the constant that normalises the density of t.
    """

    alpha: float
    density: float
    a: float
    b: float
    kappa: float
    log_constant: float


class PotentialPrior(NamedTuple):
    """`GroupPrior` for potentials, whose base is normal."""

    alpha: float
    density: float
    precision: np.ndarray  # (p, p)
    log_constant: float


_N_NEW = 4  # auxiliary values of potentials


def group_prior(prior: DirichletProcess, grouping: Grouping, unit: float = 1.0) -> GroupPrior:
    """Return the constants of ``prior`` with the present alpha and p0; ``unit`` is theta over the value v."""
    a, b, kappa = prior.base.of_value(unit)
    log_constant = 0.5 * log(kappa / (2 * pi)) if kappa > 0 else -log_beta(a, b)
    return GroupPrior(float(grouping.alpha), float(grouping.density), a, b, kappa, float(log_constant))


def draw_density(rng: np.random.Generator, prior: DirichletProcess, groups: np.ndarray) -> float:
    """Redraw p0 given which features are present, Beta(a + m, b + r - m), unless it is fixed."""
    return prior.inclusion.draw_p0(rng, len(groups), int((groups == ABSENT).sum()))


@strict_leaf
def log_odds_absent(prior, n_others):
    """Return the log weight of absence, (1 - p0) / p0 (alpha + m) with m others present; a group has log(size)."""
    if prior.density >= 1:
        return -np.inf
    return log1p(-prior.density) - log(prior.density) + log(prior.alpha + n_others)


@strict_leaf
def _log_weights(p, urn):
    """Return the log weights of the groups, (k,), and of absence, by size and likelihood."""
    k, n_others = urn.k[0], 0.0
    log_weights = np.full(k + 1, -np.inf)
    for c in range(k):
        if urn.sizes[c] > 0:
            n_others += urn.sizes[c]
            log_weights[c] = log(urn.sizes[c]) + log_likelihood(urn.values[c] + p.nu, p.s, p.n)
    log_weights[k] = log_odds_absent(urn.prior, n_others) + log_likelihood(p.nu, p.s, p.n)
    return log_weights


@strict_leaf
def _expected_successes(p, urn):
    """Return n times the mean over the full conditional of the probability of the feature.

    The weight of a new group is that of Laplace's approximation, which is enough for a mean.
    """
    mode, q = log((p.s + 0.5) / (p.n - p.s + 0.5)), (p.s + 0.5) / (p.n + 1)
    new = log(urn.prior.alpha) + coordinate_log_density(mode, p) + urn.prior.log_constant
    new += 0.5 * log(2 * pi / (p.n * q * (1 - q)))
    log_weights = _log_weights(p, urn)
    top = max(log_weights.max(), new)
    total = exp(new - top)
    mean = total * p.s
    for c in range(len(log_weights)):
        weight = exp(log_weights[c] - top)
        total += weight
        mean += weight * p.n * sigmoid((urn.values[c] if c < urn.k[0] else 0.0) + p.nu)
    return mean / total


@strict_leaf
def reassign(rng, i, s, n, nu, noise, urn):
    """Redraw the group of feature i given all else (Liu and Page 2013, eq. 4).

    The error of nu adds the share ``noise`` to a posterior variance.
    """
    take_out(urn, i)
    k, prior = urn.k[0], urn.prior
    p = OneCoordinate(s, n, nu, prior.a, prior.b, prior.kappa)
    if noise > 0:
        p = coordinate_with(p, noise, _expected_successes(p, urn))
    weights = _log_weights(p, urn)
    # The weight of a new group is at most alpha, as likelihoods are relative to the largest: its integral is seldom
    # needed.
    most = log(prior.alpha)
    top = max(weights.max(), most)
    weights = np.exp(weights - top)
    total, u, new = weights.sum(), rng.random(), False
    if u * (total + exp(most - top)) >= total:
        new = u * (total + exp(most + log_integral(p) + prior.log_constant - top)) >= total
    chosen = k + 1 if new else choose(rng, weights, k, weights[k])
    if chosen == k and prior.density < 1:
        chosen = ABSENT
    elif chosen >= k:
        chosen = open_group(urn, draw_exactly(rng, p) - nu)
    put(urn, i, chosen)


@strict_leaf
def _weights_of_line(line, urn):
    """Return the weights of the groups, of absence and of a new group, (k + 2,)."""
    k, prior, n_others = urn.k[0], urn.prior, 0.0
    log_weights = np.full(k + 2, -np.inf)
    for c in range(k):
        if urn.sizes[c] > 0:
            n_others += urn.sizes[c]
            value = urn.values[c]
            log_weights[c] = log(urn.sizes[c]) + line_log_density(value, line) + 0.5 * prior.kappa * value**2
    log_weights[k] = log_odds_absent(prior, n_others) + line_log_density(0.0, line)
    log_weights[k + 1] = log(prior.alpha) + log_integral(line) + prior.log_constant
    return np.exp(log_weights - log_weights.max())


@strict_leaf
def reassign_line(rng, i, line, noise, urn):
    """Redraw the group of item i given all else as `reassign`; its full conditional in a group of its own is a line."""
    take_out(urn, i)
    k, weights = urn.k[0], _weights_of_line(line, urn)
    if noise > 0:
        mean = weights[k] * expected_sum(line, 0.0) + weights[k + 1] * line.score
        for c in range(k):
            mean += weights[c] * expected_sum(line, urn.values[c])
        line = line_with(line, noise, mean / weights.sum())
        weights = _weights_of_line(line, urn)
    chosen = choose(rng, weights, k + 1, weights[k + 1])
    if chosen == k:
        chosen = ABSENT
    elif chosen > k:
        chosen = open_group(urn, draw_exactly(rng, line))
    put(urn, i, chosen)


@strict_leaf
def _weights_of_potential(conditional, fresh, gains, urn):
    """Return the weights of the groups, of new ones with values ``fresh``, and of absence, (k + _N_NEW + 1,)."""
    k, prior, n_others = urn.k[0], urn.prior, 0.0
    log_weights = np.full(k + _N_NEW + 1, -np.inf)
    for h in range(_N_NEW):
        log_weights[k + h] = log(prior.alpha / _N_NEW) + log_fit(fresh[h], conditional) + gains[h]
    for c in range(k):
        if urn.sizes[c] > 0:
            n_others += urn.sizes[c]
            log_weights[c] = log(urn.sizes[c]) + log_fit(urn.values[c], conditional)
    if prior.density < 1:
        absent = log_fit(np.zeros(urn.values.shape[1]), conditional)
        log_weights[k + _N_NEW] = log_odds_absent(prior, n_others) + absent
    return np.exp(log_weights - log_weights.max())


@strict_leaf
def reassign_potential(rng, i, conditional, noise, urn):
    """Redraw the group of item i given all else; the value of an item alone is one of the auxiliary ones."""
    own, k, values, p = urn.groups[i], urn.k[0], urn.values, urn.values.shape[1]
    take_out(urn, i)
    alone = own >= 0 and urn.sizes[own] == 0
    mode, lower = mode_of(conditional)
    fresh, gains = np.empty((_N_NEW, p)), np.empty(_N_NEW)
    absent = k + _N_NEW
    for h in range(_N_NEW):
        fresh[h] = values[own] if h == 0 and alone else draw_t_around(rng, mode, lower)
        base = log_base(fresh[h], conditional.precision, conditional.log_constant)
        gains[h] = base - log_t_around(fresh[h], mode, lower)
    weights = _weights_of_potential(conditional, fresh, gains, urn)
    if noise > 0:
        mean = weights[absent] * conditional.n * categories(np.zeros(p), conditional.nu)[0]
        for c in range(absent):
            if weights[c] > 0:
                value = values[c] if c < k else fresh[c - k]
                mean += weights[c] * conditional.n * categories(value, conditional.nu)[0]
        conditional = potential_with(conditional, noise, mean / weights.sum())
        weights = _weights_of_potential(conditional, fresh, gains, urn)
    u, chosen = rng.random() * weights.sum(), 0
    while chosen < absent - 1 and u >= weights[chosen]:
        u -= weights[chosen]
        chosen += 1
    if chosen == absent - 1 and urn.prior.density < 1 and u >= weights[chosen]:
        chosen = ABSENT
    elif chosen >= k:
        chosen = open_group(urn, fresh[chosen - k])
    put(urn, i, chosen)
