r"""One scan over the parameters of a panel: lagged weights, weights within a wave, thresholds, own intercepts.

Given the previous row y, the row x of a wave has

.. math:: p(x \mid y, a) \propto \exp\Big(\sum_{ij} x_i B_{ji} y_j + \sum_{u < v} W_{uv} x_u x_v
          + \sum_i \sum_{k \ge 1} \mu_{ik} [x_i = k] + \sum_i a_i x_i\Big),

with scores x and y, and a the person's intercepts, if there are any. All that Z has to do with one item are the
probabilities of its categories in each distinct row: without W these are those of a logistic regression with adjacent
categories, else marginals of a table of all states of a row. So each coordinate is a
`bayesmrf.posterior.conditionals.row_line.RowLine`. A weight moves together with thresholds, as if the other end were
centred at its mean; the determinant of this change is 1.
"""

from __future__ import annotations

from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...states.panel_tables import lagged_field
from .row_line import Decision, RowLine, exactly, move_line, row_log_density, visit_row_line
from .slab_mean import SlabLine, log_slab_mean
from .spike import EdgePrior, node_precision, normal_precision, slab_top


class PanelPrior(NamedTuple):
    """Priors of parameters as a scan reads them."""

    edge: EdgePrior
    densities: np.ndarray  # (3,) probabilities that edges exist, by their kind
    precision: float  # of the slab
    thresholds: np.ndarray  # (n_thresholds,) precisions, which a scan draws
    factors: np.ndarray  # (n_edges,), which a scan fills with conditional Bayes factors; or empty


class Intercepts(NamedTuple):
    """Intercepts of people, and their prior given the first wave; none if intercepts are common."""

    values: np.ndarray  # (n_rows, d) of the person of each row
    means: np.ndarray  # (n_people, d)
    inverse: np.ndarray  # (d, d) of the covariance matrix


@strict_leaf
def log_states(tables, theta):
    """Return the log weights of all states of a row without its fields."""
    d, n_states = len(tables.sizes), tables.digits.shape[1]
    base = np.zeros(n_states)
    for s in range(n_states):
        for e in range(len(tables.pairs)):
            u, v = tables.pairs[e]
            base[s] += theta[d * d + e] * tables.score[tables.digits[u, s]] * tables.score[tables.digits[v, s]]
        for i in range(d):
            k = tables.digits[i, s]
            if k > 0:
                base[s] += theta[tables.starts[i] + k - 1]
    return base


@strict_leaf
def fill_categories(p, tables, i, theta, own):
    """Fill p (n_rows, m) with the probabilities of the categories of an item given the row before, without W."""
    m = tables.sizes[i]
    for r in range(len(tables.n)):
        h = lagged_field(theta, own[r, i], tables.before[:, r], i)
        top = 0.0
        p[r, 0] = 0.0
        for k in range(1, m):
            p[r, k] = theta[tables.starts[i] + k - 1] + tables.score[k] * h
            top = max(top, p[r, k])
        total = 0.0
        for k in range(m):
            p[r, k] = exp(p[r, k] - top)
            total += p[r, k]
        for k in range(m):
            p[r, k] /= total


@strict_leaf
def fill_states(joint, tables, theta, own):
    """Fill joint (n_rows, n_states) with the probabilities of all states of each row."""
    base = log_states(tables, theta)
    for r in range(len(tables.n)):
        joint[r] = base
        for i in range(len(tables.sizes)):
            h = lagged_field(theta, own[r, i], tables.before[:, r], i)
            for s in range(len(base)):
                joint[r, s] += h * tables.score[tables.digits[i, s]]
        joint[r] = np.exp(joint[r] - joint[r].max())
        joint[r] /= joint[r].sum()


@strict_leaf
def add_up(p, joint, codes):
    """Fill p (n_rows, K) with the sums of the probabilities of states by their codes."""
    p[:] = 0.0
    for r in range(len(p)):
        for s in range(len(codes)):
            p[r, codes[s]] += joint[r, s]


@strict_leaf
def spread_out(joint, codes, before, after):
    """Multiply the probabilities of states so that their sums by code, ``before``, become ``after``."""
    ratio = np.empty(before.shape[1])
    for r in range(len(before)):
        for k in range(len(ratio)):
            ratio[k] = after[r, k] / before[r, k] if before[r, k] > 0 else 0.0
        for s in range(len(codes)):
            joint[r, s] *= ratio[codes[s]]


@strict_leaf
def shifted(line_kappa, at, shifts, precisions, values):
    """Return precision and mean of the normal prior along a weight with which thresholds move.

    A threshold of value b and precision kappa becomes b - (a - at) s, with its shift s.
    """
    kappa, pull = line_kappa, 0.0
    for k in range(len(shifts)):
        kappa += precisions[k] * shifts[k] ** 2
        pull += precisions[k] * shifts[k] * (values[k] + at * shifts[k])
    return kappa, pull / kappa


@strict_leaf
def log_factor_of(line, kappa, mu, prior):
    """Return the log of the conditional Bayes factor, the slab's mean of the likelihood over that without the edge.

    The normal prior of precision kappa around mu has no part of the slab.
    """
    n_rows, n_values = line.p.shape
    gain, log_share = np.empty((n_rows, 1, n_values)), np.empty((n_rows, n_values))
    for r in range(n_rows):
        total = 0.0
        for k in range(n_values):
            gain[r, 0, k] = line.v[r] * line.g[k]
            total += line.p[r, k] * exp(-line.at * gain[r, 0, k])
        for k in range(n_values):
            log_share[r, k] = log(line.p[r, k]) - line.at * gain[r, 0, k] - log(total)
    score, stiffness, none = np.array([line.score + kappa * mu]), np.array([[kappa]]), np.empty(0)
    slab = SlabLine(gain, log_share, line.n, score, stiffness, none, np.empty((0, 1)), False, prior.precision, 1.0)
    return log_slab_mean(slab, prior.edge, prior.edge.log_constant, prior.edge)[0]


@strict_leaf
def visit_lagged(rng, tables, prior, theta, i, p, decision):
    """Visit the lagged weights of an item, then its thresholds; p (n_rows, m_i) follows them."""
    d, m, first, edge, precision = len(tables.sizes), tables.sizes[i], tables.starts[i], prior.edge, prior.precision
    score, values, shifts = tables.score[:m], theta[first : first + m - 1], np.empty(m - 1)
    precisions = prior.thresholds[first - tables.starts[0] : first - tables.starts[0] + m - 1]
    for j in range(d):
        e = j * d + i
        shifts[:] = score[1:] * tables.centre[j]
        p0 = prior.densities[0 if i == j else 1]
        log_slab = log(p0) - log1p(-p0) + slab_top(edge, precision)
        kappa, mu = shifted(normal_precision(rng, edge, precision, theta[e]), theta[e], shifts, precisions, values)
        data = tables.sums[j, i] - edge.tilt * shifts.sum()
        line = RowLine(p, tables.n, tables.covariates[j], score, theta[e], data, kappa, mu)
        if len(prior.factors):
            prior.factors[e] = log_factor_of(line, *shifted(1e-12, theta[e], shifts, precisions, values), prior)
        new = visit_row_line(rng, line, decision, log_slab, edge.slab)
        if new != theta[e]:
            move_line(line, decision, new)
            values -= (new - theta[e]) * shifts
            theta[e] = new
    ones, g = np.ones(len(tables.n)), np.zeros(m)
    for k in range(1, m):
        g[:] = 0.0
        g[k] = 1.0
        data = tables.counts[i, :, k].sum() + edge.tilt
        line = RowLine(p, tables.n, ones, g, theta[first + k - 1], data, precisions[k - 1], 0.0)
        new = visit_row_line(rng, line, decision, np.inf, edge.slab)
        move_line(line, decision, new)
        theta[first + k - 1] = new


@strict_leaf
def visit_intercepts(rng, tables, prior, i, p, decision, people):
    """Redraw each person's intercept of an item; p (n_rows, m_i) follows them."""
    m, d = tables.sizes[i], len(tables.sizes)
    score, values, means, inverse = tables.score[:m], people.values, people.means, people.inverse
    for q in range(len(tables.people) - 1):
        a, b = tables.people[q], tables.people[q + 1]
        data, mu = 0.0, means[q, i]
        for r in range(a, b):
            for k in range(1, m):
                data += score[k] * tables.counts[i, r, k]
        for j in range(d):
            if j != i:
                mu -= inverse[i, j] / inverse[i, i] * (values[a, j] - means[q, j])
        line = RowLine(p[a:b], tables.n[a:b], np.ones(b - a), score, values[a, i], data, inverse[i, i], mu)
        of_person = Decision(decision.p[a:b], decision.q, decision.start[a:b], decision.first[a : b + 1])
        new = visit_row_line(rng, line, of_person, np.inf, prior.edge.slab)
        move_line(line, of_person, new)
        values[a:b, i] = new


@strict_leaf
def visit_pair(rng, tables, prior, theta, e, p, decision):
    """Visit a weight within a wave; p (n_rows, m_u m_v) follows it. Return whether it was changed."""
    d, edge, precision = len(tables.sizes), prior.edge, prior.precision
    u, v = tables.pairs[e]
    m, w, at, density = tables.sizes[u], tables.sizes[v], theta[d * d + e], prior.densities[2]
    c, f = tables.centre_after[u], tables.centre_after[v]
    g, shifts = np.empty(m * w), np.empty(m + w - 2)
    for k in range(m):
        for q in range(w):
            g[k * w + q] = (tables.score[k] - c) * (tables.score[q] - f) - c * f
    shifts[: m - 1] = tables.score[1:m] * f
    shifts[m - 1 :] = tables.score[1:w] * c
    first, second = theta[tables.starts[u] : tables.starts[u + 1]], theta[tables.starts[v] : tables.starts[v + 1]]
    values, starts = np.concatenate((first, second)), tables.starts - tables.starts[0]
    precisions = np.concatenate(
        (prior.thresholds[starts[u] : starts[u + 1]], prior.thresholds[starts[v] : starts[v + 1]])
    )
    log_slab = log(density) - log1p(-density) + slab_top(edge, precision)
    kappa, mu = shifted(normal_precision(rng, edge, precision, at), at, shifts, precisions, values)
    data, ones = tables.pair_sums[e] - edge.tilt * shifts.sum(), np.ones(len(tables.n))
    line = RowLine(p, tables.n, ones, g, at, data, kappa, mu)
    if len(prior.factors):
        prior.factors[d * d + e] = log_factor_of(line, *shifted(1e-12, at, shifts, precisions, values), prior)
    new = visit_row_line(rng, line, decision, log_slab, edge.slab)
    if new == at:
        return False
    move_line(line, decision, new)
    first -= (new - at) * shifts[: m - 1]
    second -= (new - at) * shifts[m - 1 :]
    theta[d * d + e] = new
    return True


@strict_leaf
def log_likelihood_at(tables, i, p):
    """Return the log likelihood of an item from the probabilities of its categories."""
    total = 0.0
    for r in range(len(p)):
        for k in range(p.shape[1]):
            if tables.counts[i, r, k] > 0:
                total += tables.counts[i, r, k] * log(p[r, k])
    return total


@strict_leaf
def draw_thresholds(rng, tables, prior, theta):
    """Draw the precision of the normal prior of each threshold, in place."""
    for k in range(len(prior.thresholds)):
        prior.thresholds[k] = node_precision(rng, prior.edge, prior.edge.bias_precision, theta[tables.starts[0] + k])


@strict_leaf
def visit_item(rng, tables, prior, theta, i, p, decision, people):
    """Visit the lagged weights of an item, its thresholds, and people's intercepts; p (n_rows, m_i) follows them."""
    visit_lagged(rng, tables, prior, theta, i, p, decision)
    if len(tables.people):
        visit_intercepts(rng, tables, prior, i, p, decision, people)


@strict_leaf
def scan_panel(rng, tables, prior, theta, people):
    """Visit all parameters once, in place, and return the log likelihood given the intercepts."""
    d, n_pairs, n_rows = len(tables.sizes), len(tables.pairs), len(tables.n)
    is_joint, total = tables.digits.shape[1] > 0, 0.0
    joint = np.empty((n_rows if is_joint else 0, tables.digits.shape[1]))
    draw_thresholds(rng, tables, prior, theta)
    if is_joint:
        fill_states(joint, tables, theta, people.values)
    for i in range(d):
        p = np.empty((n_rows, tables.sizes[i]))
        before = p
        if is_joint:
            add_up(p, joint, tables.digits[i])
            before = p.copy()
        else:
            fill_categories(p, tables, i, theta, people.values)
        visit_item(rng, tables, prior, theta, i, p, exactly(p), people)
        if is_joint:
            spread_out(joint, tables.digits[i], before, p)
        else:
            total += log_likelihood_at(tables, i, p)
    for e in range(n_pairs):
        codes = tables.digits[tables.pairs[e, 0]] * tables.sizes[tables.pairs[e, 1]] + tables.digits[tables.pairs[e, 1]]
        p = np.empty((n_rows, tables.sizes[tables.pairs[e, 0]] * tables.sizes[tables.pairs[e, 1]]))
        add_up(p, joint, codes)
        before = p.copy()
        if visit_pair(rng, tables, prior, theta, e, p, exactly(p)):
            spread_out(joint, codes, before, p)
    for t in range(len(tables.times)):
        total += tables.times[t] * log(joint[tables.row_of[t], tables.states[t]])
    return total


@strict_leaf
def item_line(tables, i, p, own):
    """Return the line along which the intercepts of an item are multiplied by a factor, now 1; p (n_rows, m_i)."""
    m, data = tables.sizes[i], 0.0
    for r in range(len(own)):
        for k in range(1, m):
            data += own[r, i] * tables.score[k] * tables.counts[i, r, k]
    return RowLine(p, tables.n, own[:, i].copy(), tables.score[:m], 1.0, data, 0.0, 0.0)


@strict_leaf
def log_ratio_of_scale(tables, i, theta, own, factor):
    """Return the log likelihood where the intercepts of item i are multiplied by a factor, less that of now."""
    p = np.empty((len(tables.n), tables.sizes[i]))
    if tables.digits.shape[1] > 0:
        joint = np.empty((len(tables.n), tables.digits.shape[1]))
        fill_states(joint, tables, theta, own)
        add_up(p, joint, tables.digits[i])
    else:
        fill_categories(p, tables, i, theta, own)
    line = item_line(tables, i, p, own)
    return row_log_density(factor, line) - row_log_density(1.0, line)
