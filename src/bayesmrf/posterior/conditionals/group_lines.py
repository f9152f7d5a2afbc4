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
from math import exp
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from .centred import CentredLines, ManyStates, OwnTables, end_of, move_edge, pair_values
from .line import Line, LineSample, line_mode
from .slab_leaves import draw_slab_mixture, draw_slab_scale, has_slab_factor, log_slab_factor, log_slab_top
from .spike import EdgePrior, birth_log_ratio, draw_odds, node_precision, own_odds
from .student_t import draw_t

BASELINE, DIFFERENCE = 0, 1  # parts of a feature, and their first coordinates


class GroupProblem(NamedTuple):
    """Constants of a scan of G groups."""

    lines: CentredLines  # of all groups (`stacked_lines`)
    contrast: np.ndarray  # (G, 1 + q), rows (1, c_t)
    drift: np.ndarray  # (1 + q,), mean of the contrasts over all observations, after 0
    prior: EdgePrior  # of the differences
    baseline: EdgePrior
    scales: np.ndarray  # (F,), scale^-2 of its prior of each parameter, unless drawn
    n_edges: int
    places: np.ndarray  # (n + 1,), first parameter of each edge, then of each node's parameter with a baseline
    tops: np.ndarray  # (2, n), log densities at 0 of Cauchy slabs of baselines, and of differences
    n_spiked: int  # the first parameters, of edges first, that have a baseline and a difference
    n_absent: int  # the first edges and parameters of nodes whose difference may be absent
    rivals: np.ndarray  # (n_pairs, 2), edges that may take each other's place


class GroupTheta(NamedTuple):
    """Parameters, changed in place."""

    weights: np.ndarray  # (1 + q, n_spiked), baselines, then differences, which are 0 if the groups do not differ
    natural: np.ndarray  # (G, F), those of the model in each group
    now: np.ndarray  # (G, F), precisions of normal priors of the parameters of nodes, at present


class Pair(NamedTuple):
    """Edge e = ij, or parameter e of a node i = j, during a visit: what its full conditionals depend on.

    An edge has K parameters, from ``first`` on, and a node's parameter is one.
    """

    e: int
    first: int
    ends: tuple[int, int]
    g: np.ndarray  # (G, K, m^2), values of the centred features; (G, 1, m) of a node
    cells: np.ndarray  # (G, m^2) or (G, m), probabilities of these where the parameters of the groups are ``before``
    now: np.ndarray  # now
    before: np.ndarray  # (G, K)


class Prior(NamedTuple):
    """Normal density that represents the prior of an edge: precisions of its baseline and of its difference; the log
    odds of the slabs of both, infinite where one is always present.
    """

    precision: tuple[float, float]
    log_odds: tuple[float, float]


def stacked_lines(lines: Sequence[CentredLines]) -> CentredLines:
    """Return the lines of several groups as one, in which ``n``, ``sums`` and ``pull`` are stacked."""
    one, (n, sums, pull) = lines[0], (np.array([getattr(x, name) for x in lines]) for name in ("n", "sums", "pull"))
    form = one.form if isinstance(one.form, OwnTables) else ManyStates(*one.form)
    return one._replace(form=form, n=n, sums=sums, pull=pull)


def own_problem(problem: GroupProblem, labels: np.ndarray | None = None) -> GroupProblem:
    """Return a problem with room of its own for the log odds of edges, and for the blocks of nodes (`own_odds`)."""
    return problem._replace(prior=own_odds(problem.prior), baseline=own_odds(problem.baseline, labels))


@strict_leaf
def one_group(problem, t):
    """Return the lines of group t."""
    of = problem.lines
    return CentredLines(
        of.form, of.values, of.edges, of.n[t], of.sums[t], of.pull[t], of.starts, of.base, of.features
    )  # fmt: skip


@strict_leaf
def new_pair(problem, theta, e, i, j):
    """Return edge e = ij, or parameter e of node i = j, where it is, without the probabilities of its ends."""
    lines, m, first, last = problem.lines, problem.lines.base.shape[1], problem.places[e], problem.places[e + 1]
    g = np.empty((len(theta.natural), last - first, m if i == j else m * m))
    for t in range(len(g)):
        for p in range(first, last):
            if i == j:
                g[t, p - first] = lines.features[p - len(lines.edges)]
            else:
                g[t, p - first] = pair_values(one_group(problem, t), p, i, j)
    cells = np.ones((2, len(g), g.shape[2]))
    return Pair(e, first, (i, j), g, cells[0], cells[1], theta.natural[:, first:last].copy())


@strict_leaf
def look(pair, theta):
    """Normalise the probabilities of the ends, which are those where the parameters are now."""
    for t in range(len(pair.cells)):
        pair.cells[t] /= pair.cells[t].sum()
        pair.now[t] = pair.cells[t]
        pair.before[t] = theta.natural[t, pair.first : pair.first + pair.g.shape[1]]


@strict_leaf
def draw_group_scales(rng, problem, theta):
    """Draw p0 and the slab's precision of differences and of baselines, unless fixed; log odds follow."""
    drawn, q, n = np.empty(4), len(theta.weights) - 1, len(problem.places) - 1
    drawn[0], drawn[1] = problem.prior.fixed, problem.prior.precision
    if q > 0:
        drawn[0], drawn[1] = _draw_scales_of(rng, problem, theta, DIFFERENCE, problem.prior, problem.n_absent, n, q)
    n = problem.n_edges
    drawn[2], drawn[3] = _draw_scales_of(rng, problem, theta, BASELINE, problem.baseline, n, n, 1)
    return drawn


@strict_leaf
def _draw_scales_of(rng, problem, theta, part, prior, n_free, n, n_coordinates):
    """Draw p0 and the slab's precision of a part of the first n edges and parameters of nodes, unless fixed.

    Of the first ``n_free`` the part may be absent.
    """
    is_present, sizes, n_values = np.zeros(n_free, np.bool_), np.empty(n), np.empty(n)
    for e in range(n):
        sizes[e] = size_of(problem, theta, e, part)
        n_values[e] = n_coordinates * (problem.places[e + 1] - problem.places[e])  # each is one of the slab
        if e < n_free:
            is_present[e] = sizes[e] > 0
    density = draw_odds(rng, prior, is_present)
    return density, draw_slab_scale(rng, prior.slab, prior.precision, sizes, n_values)


@strict_leaf
def size_of(problem, theta, e, part):
    """Return the squared length of a part of an edge."""
    size = 0.0
    for p in range(problem.places[e], problem.places[e + 1]):
        for k in coordinates(theta, part):
            size += theta.weights[k, p] ** 2
    return size


@strict_leaf
def draw_prior(rng, problem, pair, theta, drawn):
    """Draw the normal densities that represent the priors of an edge, and of the parameters of its ends.

    ``drawn`` are p0 and precision of the slabs of differences and of baselines.
    """
    prior, baseline, e, n_parameters = problem.prior, problem.baseline, pair.e, pair.g.shape[1]
    n_values, (i, j), starts = (len(theta.weights) - 1) * n_parameters, pair.ends, problem.lines.starts
    if i == j:
        kappa, birth = node_precision(rng, baseline, problem.scales[pair.first], theta.weights[0, pair.first]), np.inf
    else:
        size, birth = size_of(problem, theta, e, BASELINE), np.inf
        kappa = draw_slab_mixture(rng, baseline.slab, drawn[3], drawn[3] * size, n_parameters)
        if baseline.fixed < 1:
            birth = baseline.log_odds[e] + log_slab_top(baseline.slab, drawn[3], n_parameters, problem.tops[0, e])
        for node in (i, j):
            for place in range(starts[node], starts[node + 1]):
                for t in range(len(theta.now)):
                    natural = theta.natural[t, place]
                    theta.now[t, place] = node_precision(rng, baseline, problem.scales[place], natural)
    square = size_of(problem, theta, e, DIFFERENCE)
    own = draw_slab_mixture(rng, prior.slab, drawn[1], drawn[1] * square, n_values)
    log_odds = np.inf
    if e < problem.n_absent:
        log_odds = prior.log_odds[e] + log_slab_top(prior.slab, drawn[1], n_values, problem.tops[1, e])
    return Prior((kappa, own), (birth, log_odds))


@strict_leaf
def coordinates(theta, part):
    """Return the coordinates of a part of an edge, each of which has K parameters."""
    return range(part, 1 if part == BASELINE else len(theta.weights))


@strict_leaf
def value_of(problem, theta, e, part):
    """Return a part of an edge, (1, K) or (q, K)."""
    stop = 1 if part == BASELINE else len(theta.weights)
    return theta.weights[part:stop, problem.places[e] : problem.places[e + 1]].copy()


@strict_leaf
def line_of(problem, pair, theta, prior, k, place):
    """Return the line of coordinate k of the parameter at a place of an edge; it holds until the edge moves.

    The baseline drifts as the coordinate of a difference moves, and with it the factor exp(tilt baseline) of the prior
    of a node's baseline. The parameters of the nodes of an edge follow as in `bayesmrf.posterior.conditionals.centred`,
    unless they have baselines and differences, too: then ``pull`` is 0.
    """
    lines, e, (i, j), at = problem.lines, pair.first + place, pair.ends, theta.weights[k, pair.first + place]
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
                for own in range(first, lines.starts[node + 1]):
                    rate = -rates[t] * lines.pull[t, e, end, own - first]
                    score += rate * lines.sums[t, own]
                    precision += theta.now[t, own] * rate**2
                    mu += theta.now[t, own] * rate * (rate * at - theta.natural[t, own])
    samples = [LineSample(pair.now[t], rates[t] * pair.g[t, place], at, lines.n[t]) for t in range(len(rates))]
    return Line(samples, score, precision, mu / precision)


@strict_leaf
def set_weight(problem, pairs, theta, k, place, value):
    """Set coordinate k of the parameter at a place of an edge; the baseline drifts as a difference moves."""
    e = pairs[0].first + place
    theta.weights[0, e] -= _drift(problem, pairs[0], theta, k) * (value - theta.weights[k, e])
    theta.weights[k, e] = value
    _follow(problem, pairs, theta, place)


@strict_leaf
def take_away(problem, pairs, theta, part):
    """Remove a part of an edge."""
    for k in coordinates(theta, part):
        for place in range(pairs[0].g.shape[1]):
            set_weight(problem, pairs, theta, k, place, 0.0)


@strict_leaf
def restore(problem, pairs, theta, weights):
    """Set all coordinates of an edge, (1 + q, K)."""
    first, n_parameters = pairs[0].first, pairs[0].g.shape[1]
    theta.weights[:, first : first + n_parameters] = weights
    for place in range(n_parameters):
        _follow(problem, pairs, theta, place)


@strict_leaf
def propose(rng, problem, pairs, theta, prior, part, old):
    """Set a part of an edge to a proposed value, or to ``old`` if this is not 0; return the log ratio of posterior
    and proposal, over the posterior without it.

    The first of the ``pairs`` proposes, the last decides. Values are proposed one after another, each given those
    before, around modes that do not depend on the present value, so that the acceptance ratio of a death is the inverse
    of that of the birth.
    """
    ratio, was_in = prior.log_odds[part], old.any()
    take_away(problem, pairs, theta, part)
    ratio -= log_factors_of_slabs(problem, theta, pairs[0].e)
    for k in coordinates(theta, part):
        for place in range(pairs[0].g.shape[1]):
            line = line_of(problem, pairs[0], theta, prior, k, place)
            mode, scale = line_mode(line)
            value = old[k - part, place] if was_in else draw_t(rng, mode, scale)
            if len(pairs) > 1:
                line = line_of(problem, pairs[-1], theta, prior, k, place)
            ratio += birth_log_ratio(line, value, mode, scale)
            set_weight(problem, pairs, theta, k, place, value)
    return ratio + log_factors_of_slabs(problem, theta, pairs[0].e)


@strict_leaf
def log_factors_of_slabs(problem, theta, e):
    """Return the sum of `log_slab_factor` over the parts of an edge that exist, or of the difference of a node."""
    total = 0.0
    if has_slab_factor(problem.baseline.slab) and e < problem.n_edges:
        size = size_of(problem, theta, e, BASELINE)
        total += log_slab_factor(problem.baseline.slab, size) if size > 0 or problem.baseline.fixed == 1 else 0.0
    if has_slab_factor(problem.prior.slab) and len(theta.weights) > 1:
        size = size_of(problem, theta, e, DIFFERENCE)
        total += log_slab_factor(problem.prior.slab, size) if size > 0 or e >= problem.n_absent else 0.0
    return total


@strict_leaf
def log_factors(pair, theta, t, before, out):
    """Set ``out`` to the change of the log weights of the states of the ends in group t, since they were ``before``."""
    out[:] = 0.0
    for place in range(pair.g.shape[1]):
        change, g = theta.natural[t, pair.first + place] - before[place], pair.g[t, place]
        for x in range(len(out)):
            out[x] += change * g[x]


@strict_leaf
def _drift(problem, pair, theta, k):
    """Return how far the baseline moves against coordinate k; an absent baseline stays absent."""
    for p in range(pair.first, pair.first + pair.g.shape[1]):
        if theta.weights[0, p] != 0:
            return problem.drift[k]
    return 0.0


@strict_leaf
def _follow(problem, pairs, theta, place):
    """Compute a parameter of an edge in all groups, those of its nodes, and the probabilities of its ends."""
    e, (i, j) = pairs[0].first + place, pairs[0].ends
    for t in range(len(theta.natural)):
        weight = 0.0
        for k in range(len(theta.weights)):
            weight += problem.contrast[t, k] * theta.weights[k, e]
        if i == j:
            theta.natural[t, e] = weight
        else:
            move_edge(one_group(problem, t), e, i, j, theta.natural[t], weight)
        for pair in pairs:
            _tilt(pair, theta, t)


@strict_leaf
def _tilt(pair, theta, t):
    """Compute the probabilities of the ends in group t where its parameters are now."""
    top, total, (cells, now) = -np.inf, 0.0, (pair.cells[t], pair.now[t])
    log_factors(pair, theta, t, pair.before[t], now)
    for x in range(len(now)):
        if cells[x] > 0:
            top = max(top, now[x])
    for x in range(len(now)):
        now[x] = cells[x] * exp(now[x] - top) if cells[x] > 0 else 0.0
        total += now[x]
    for x in range(len(now)):
        now[x] /= total
