r"""Full conditionals of the weights of several groups of observations, with a spike and a slab on each difference.

.. math:: w_{tuv} = b_{uv} + c_t \cdot d_{uv}

is the weight of edge uv in group t: a baseline b, and the q = G - 1 coordinates d of the differences between G groups,
with the rows :math:`c_t` of a matrix of contrasts. The baseline is coordinate 0, with a column of ones before the
contrasts. All coordinates of an edge are lines over the samples of all groups
(`bayesmrf.posterior.conditionals.line`), whose pair marginals come from a table of all states
(`bayesmrf.posterior.conditionals.group_scan`) or from particles (`bayesmrf.posterior.edges.particle_scan`). They are
centred on the data of each group (`bayesmrf.posterior.conditionals.centred`), and a difference moves the baseline so
that the mean weight over all observations stays the same: then neither has to wait for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from ...compiled import copy_to, strict_leaf
from .centred import CentredLines, ManyStates, end_of, move_edge, pair_values
from .line import Line, LineSample, line_mode
from .spike import TAPER, EdgePrior, birth_log_ratio, draw_hyper, log_slab_odds, node_precision, normal_precision
from .student_t import draw_t

BASELINE, DIFFERENCE = 0, 1  # parts of a feature, and their first coordinates


class GroupProblem(NamedTuple):
    """Constants of a scan of G groups."""

    lines: CentredLines  # of all groups (`stacked_lines`)
    contrast: np.ndarray  # (G, 1 + q), rows (1, c_t)
    drift: np.ndarray  # (1 + q,), mean of the contrasts over all observations, after 0
    prior: EdgePrior  # of the differences
    log_top: float  # log density of a Cauchy slab of q coordinates at 0
    baseline: EdgePrior
    scales: np.ndarray  # (F,), scale^-2 of its prior of each parameter, unless drawn
    n_spiked: int  # the first features, edges first, that have a baseline and a difference
    n_absent: int  # those of them whose difference may be absent
    rivals: np.ndarray  # (n_pairs, 2), edges that may take each other's place


class GroupTheta(NamedTuple):
    """Parameters, changed in place."""

    weights: np.ndarray  # (1 + q, n_spiked), baselines, then differences, which are 0 if the groups do not differ
    natural: np.ndarray  # (G, F), those of the model in each group
    now: np.ndarray  # (G, F), precisions of normal priors of the parameters of nodes, at present


class Pair(NamedTuple):
    """Feature e of an edge ij, or of a node i = j, during a visit: what its full conditionals depend on."""

    e: int
    ends: tuple[int, int]
    g: np.ndarray  # (G, m^2), values of the centred feature; (G, m) of a node
    cells: np.ndarray  # probabilities of these values where the parameters of the groups are ``before``
    now: np.ndarray  # now
    before: np.ndarray  # (G,)


class Prior(NamedTuple):
    """Normal density that represents the prior of a feature: precisions of its baseline and of its difference; the log
    odds of the slabs of both, infinite where one is always present.
    """

    precision: tuple[float, float]
    log_odds: tuple[float, float]


def stacked_lines(lines: Sequence[CentredLines]) -> CentredLines:
    """Return the lines of several groups as one, in which ``n``, ``sums`` and ``pull`` are stacked."""
    one, (n, sums, pull) = lines[0], (np.array([getattr(x, name) for x in lines]) for name in ("n", "sums", "pull"))
    return one._replace(form=ManyStates(*one.form), n=n, sums=sums, pull=pull)


@strict_leaf
def one_group(problem, t):
    """Return the lines of group t."""
    of = problem.lines
    return CentredLines(
        of.form, of.values, of.edges, of.n[t], of.sums[t], of.pull[t], of.starts, of.base, of.features
    )  # fmt: skip


@strict_leaf
def new_pair(problem, theta, e, i, j):
    """Return feature e of edge ij, or of node i = j, where it is, without the probabilities of its ends."""
    lines, m = problem.lines, len(problem.lines.values)
    g = np.empty((len(theta.natural), m if i == j else m * m))
    for t in range(len(g)):
        if i == j:
            g[t] = lines.features[e - len(lines.edges)]
        else:
            g[t] = pair_values(one_group(problem, t), e, i, j)
    cells = np.ones((2, *g.shape))
    return Pair(e, (i, j), g, cells[0], cells[1], theta.natural[:, e].copy())


@strict_leaf
def look(pair, theta):
    """Normalise the probabilities of the ends, which are those where the parameters are now."""
    for t in range(len(pair.cells)):
        pair.cells[t] /= pair.cells[t].sum()
        pair.now[t] = pair.cells[t]
        pair.before[t] = theta.natural[t, pair.e]


@strict_leaf
def draw_group_scales(rng, problem, theta):
    """Draw p0 and the slab's precision of differences and of baselines, unless fixed."""
    (n_weights, n), r, drawn, squares, n_values, n_differ = (
        theta.weights.shape, len(problem.lines.edges), np.empty(4), 0.0, 0, 0
    )  # fmt: skip
    for e in range(n):
        size = _size(theta, e)
        n_values += (n_weights - 1) * (size > 0)  # each coordinate is a value of the slab
        n_differ += size > 0 and e < problem.n_absent
        squares += size
    drawn[0] = draw_hyper(rng, problem.prior, n_differ, problem.n_absent, squares)[0]
    drawn[1] = draw_hyper(rng, problem.prior, n_values, n_values, squares)[1]
    n_present, squares = 0, 0.0
    for e in range(r):
        n_present += theta.weights[0, e] != 0
        squares += theta.weights[0, e] ** 2
    drawn[2:] = draw_hyper(rng, problem.baseline, n_present, r, squares)
    return drawn


@strict_leaf
def _size(theta, e):
    """Return the squared length of a difference."""
    size = 0.0
    for k in range(1, len(theta.weights)):
        size += theta.weights[k, e] ** 2
    return size


@strict_leaf
def draw_prior(rng, problem, pair, theta, drawn):
    """Draw the normal densities that represent the priors of a feature, and of the parameters of the ends of an edge.

    ``drawn`` are p0 and precision of the slabs of differences and of baselines.
    """
    prior, baseline, e, q = problem.prior, problem.baseline, pair.e, len(theta.weights) - 1
    (i, j), starts = pair.ends, problem.lines.starts
    if i == j:
        kappa, birth = node_precision(rng, baseline, problem.scales[e], theta.weights[0, e]), np.inf
    else:
        kappa = normal_precision(rng, baseline.cauchy, drawn[3], theta.weights[0, e])
        birth = log_slab_odds(baseline, drawn[2], drawn[3]) if baseline.fixed < 1 else np.inf
        for node in (i, j):
            for place in range(starts[node], starts[node + 1]):
                for t in range(len(theta.now)):
                    natural = theta.natural[t, place]
                    theta.now[t, place] = node_precision(rng, baseline, problem.scales[place], natural)
    own = drawn[1]
    if prior.cauchy:  # as in `normal_precision`
        own = TAPER + 2 * own * rng.standard_gamma(0.5 * (q + 1)) / (1 + own * _size(theta, e))
    log_odds = np.inf
    if e < problem.n_absent:
        log_odds = log(drawn[0]) - log1p(-drawn[0])
        log_odds += problem.log_top if prior.cauchy else 0.5 * q * log(drawn[1] / (2 * np.pi))
    return Prior((kappa, own), (birth, log_odds))


@strict_leaf
def coordinates(theta, part):
    """Return the coordinates of a part of a feature."""
    return range(part, 1 if part == BASELINE else len(theta.weights))


@strict_leaf
def value_of(theta, e, part):
    """Return a part of a feature, (1,) or (q,)."""
    return theta.weights[part : 1 if part == BASELINE else len(theta.weights), e].copy()


@strict_leaf
def line_of(problem, pair, theta, prior, k):
    """Return the line of coordinate k of a feature; it holds until the feature moves.

    The baseline drifts as the coordinate of a difference moves, and with it the factor exp(tilt baseline) of the prior
    of a node's baseline. The parameters of the nodes of an edge follow as in `bayesmrf.posterior.conditionals.centred`,
    unless they have baselines and differences, too: then ``pull`` is 0.
    """
    lines, e, (i, j), at = problem.lines, pair.e, pair.ends, theta.weights[k, pair.e]
    drift, kappa, score = _drift(problem, pair, theta, k), prior.precision[BASELINE], 0.0
    rates, along = problem.contrast[:, k] - drift, (k == 0) - drift  # of the groups, and of the baseline
    precision = kappa * along**2 + (prior.precision[DIFFERENCE] if k > 0 else 0.0)
    mu = kappa * along * (along * at - theta.weights[0, e])
    if i == j:
        score += along * problem.baseline.tilt
    for t in range(len(rates)):
        score += rates[t] * lines.sums[t, e]
        if i != j:
            for node in (i, j):
                first, end = lines.starts[node], end_of(lines, e, node)
                for place in range(first, lines.starts[node + 1]):
                    rate = -rates[t] * lines.pull[t, e, end, place - first]
                    score += rate * lines.sums[t, place]
                    precision += theta.now[t, place] * rate**2
                    mu += theta.now[t, place] * rate * (rate * at - theta.natural[t, place])
    samples = [LineSample(pair.now[t], rates[t] * pair.g[t], at, lines.n[t]) for t in range(len(rates))]
    return Line(samples, score, precision, mu / precision)


@strict_leaf
def set_weight(problem, pairs, theta, k, value):
    """Set coordinate k of a feature; the baseline drifts as a difference moves."""
    e = pairs[0].e
    theta.weights[0, e] -= _drift(problem, pairs[0], theta, k) * (value - theta.weights[k, e])
    theta.weights[k, e] = value
    _follow(problem, pairs, theta)


@strict_leaf
def take_away(problem, pairs, theta, part):
    """Remove a part of a feature."""
    for k in coordinates(theta, part):
        set_weight(problem, pairs, theta, k, 0.0)


@strict_leaf
def restore(problem, pairs, theta, weights):
    """Set all coordinates of a feature."""
    theta.weights[:, pairs[0].e] = weights
    _follow(problem, pairs, theta)


@strict_leaf
def propose(rng, problem, pairs, theta, prior, part, old):
    """Set a part of a feature to a proposed value, or to ``old`` if this is not 0; return the log ratio of posterior
    and proposal, over the posterior without it.

    The first of the ``pairs`` proposes, the last decides. Proposals are around modes that do not depend on the present
    value, so that the acceptance ratio of a death is the inverse of that of the birth.
    """
    ratio, was_in = prior.log_odds[part], old.any()
    take_away(problem, pairs, theta, part)
    for k in coordinates(theta, part):
        line = line_of(problem, pairs[0], theta, prior, k)
        mode, scale = line_mode(line)
        value = old[k - part] if was_in else draw_t(rng, mode, scale)
        if len(pairs) > 1:
            line = line_of(problem, pairs[-1], theta, prior, k)
        ratio += birth_log_ratio(line, value, mode, scale)
        set_weight(problem, pairs, theta, k, value)
    return ratio


@strict_leaf
def _drift(problem, pair, theta, k):
    """Return how far the baseline moves against coordinate k; an absent baseline stays absent."""
    return problem.drift[k] if theta.weights[0, pair.e] != 0 else 0.0


@strict_leaf
def _follow(problem, pairs, theta):
    """Compute the weights of an edge in all groups, the parameters of its nodes, and the probabilities of its ends."""
    e, (i, j) = pairs[0].e, pairs[0].ends
    for t in range(len(theta.natural)):
        weight = 0.0
        for k in range(len(theta.weights)):
            weight += problem.contrast[t, k] * theta.weights[k, e]
        if i == j:
            theta.natural[t, e] = weight
        else:
            move_edge(one_group(problem, t), e, i, j, theta.natural[t], weight)
        for pair in pairs:
            _tilt(pair, t, weight - pair.before[t])


@strict_leaf
def _tilt(pair, t, change):
    """Compute the probabilities of the ends in group t where its parameter has moved by ``change``."""
    top, total, (g, cells, now) = -np.inf, 0.0, (pair.g[t], pair.cells[t], pair.now[t])
    if change == 0:
        copy_to(now, cells)
        return
    for x in range(len(g)):
        if cells[x] > 0:
            top = max(top, change * g[x])
    for x in range(len(g)):
        now[x] = cells[x] * exp(change * g[x] - top) if cells[x] > 0 else 0.0
        total += now[x]
    for x in range(len(g)):
        now[x] /= total
