r"""Visits of units by a quadratic surrogate: births, deaths, new weights, and swaps of two units.

A unit is the baseline of an edge, or its difference between groups of people (`bayesmrf.posterior.edges.surrogate`).
Given all other units, the surrogate of its weights is normal. A birth draws weights from a normal density that is near
this one times the slab. Weights of a unit that exists are drawn given a normal density that stands for its slab, a draw
of the mixture that the slab is: no weight is so far from others that it is never left. A block of visits is a
palindrome, so that it is reversible for the surrogate times the prior.
"""

from __future__ import annotations

from math import exp, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...compiled import leaf, strict_leaf
from ..conditionals.group_lines import BASELINE
from ..conditionals.slab_leaves import (
    draw_slab_mixture,
    log_slab_factor,
    log_slab_shape,
    log_slab_top,
    slab_guide_slope,
)

_HALF_LOG_2_PI = 0.5 * log(2 * pi)
_REFINED = 3  # times that the precision of a slab follows the mean of a proposal


class Units(NamedTuple):
    """What visits of units need, changed in place: prior, surrogate and present weights."""

    slabs: tuple[Any, Any]  # constants of baselines and of differences
    precision: tuple[float, float]  # of both slabs, now
    top: np.ndarray  # (n_units,), log odds of each, and the log of the density of its slab at 0
    first: np.ndarray
    part: np.ndarray
    free: np.ndarray
    hessian: np.ndarray
    w: np.ndarray
    r: np.ndarray
    room: np.ndarray  # (n, n + 3), for the widest unit: Cholesky factor of the proposal, mean, slope at 0, space


@strict_leaf
def units_of(problem, surrogate, drawn, w, r, top, room):
    """Return what visits need, with p0 and the scales of slabs as ``drawn``."""
    prior, baseline = problem.prior, problem.baseline
    for u in range(len(top)):
        e, n = surrogate.element[u], surrogate.first[u + 1] - surrogate.first[u]
        if surrogate.part[u] == BASELINE:
            top[u] = log_slab_top(baseline.slab, drawn[3], n, problem.tops[0, e])
            top[u] += baseline.log_odds[e] if surrogate.free[u] else 0.0
        else:
            top[u] = log_slab_top(prior.slab, drawn[1], n, problem.tops[1, e])
            top[u] += prior.log_odds[e] if surrogate.free[u] else 0.0
    return Units(
        (baseline.slab, prior.slab), (drawn[3], drawn[1]), top, surrogate.first, surrogate.part, surrogate.free,
        surrogate.hessian, w, r, room,
    )  # fmt: skip


@strict_leaf
def visit_block(rng, units, visit, rivals, n, picked):
    """Visit n random units, swap rivals, and visit all again in the reverse order."""
    n_all, slabs, scales, part, top, free = n, units.slabs, units.precision, units.part, units.top, units.free
    first, hessian, w, r = units.first, units.hessian, units.w, units.r
    for k in range(n):
        picked[k] = visit[int(rng.random() * len(visit))]
    for _ in range(n // 2 + 1 if len(rivals) > 0 else 0):
        pair = int(rng.random() * len(rivals))
        picked[n_all], picked[n_all + 1] = rivals[pair, 0], rivals[pair, 1]
        n_all += 2
    for j in range(2 * n_all):
        k = j if j < n_all else 2 * n_all - 1 - j
        is_first = j < n_all
        if k >= n:
            if (k - n) % 2 == (0 if is_first else 1):
                u, v = picked[k], picked[k + 1 if is_first else k - 1]
                i, j = first[u], first[v]
                if (w[i] != 0) == (w[j] != 0):
                    continue
                if w[i] == 0:
                    u, v, i, j = v, u, j, i
                old, q = w[i], hessian[i, i]
                c, c_v = r[i] + q * old, r[j] + hessian[i, j] * old
                parts, tops = (part[u], part[v]), (top[u], top[v])
                a = _swap_one(rng, slabs, scales, parts, tops, q, c, old, hessian[j, j], c_v)
                if a != 0:
                    _set(w, r, hessian[i], i, 0.0)
                    _set(w, r, hessian[j], j, a)
            continue
        u = picked[k]
        if first[u + 1] - first[u] == 1:
            j = first[u]
            q, old = hessian[j, j], w[j]
            c = r[j] + q * old
            a = _visit_one(rng, slabs, scales, part[u], top[u], free[u], is_first, q, c, old)
            if a != old:
                _set(w, r, hessian[j], j, a)
        else:
            _visit(rng, units, u, is_first)


# Leaves that are called often get few arguments: a NamedTuple of arrays takes longer to pass than they take.


@strict_leaf
def _log_shape(slabs, precision, part, n, size):
    """Return the log density of the slab of a unit of n weights and squared length ``size``, over that at 0."""
    if part == BASELINE:
        return log_slab_shape(slabs[0], precision[0], size, n) + log_slab_factor(slabs[0], size)
    return log_slab_shape(slabs[1], precision[1], size, n) + log_slab_factor(slabs[1], size)


@strict_leaf
def _stiffness(slabs, precision, part, n, size):
    """Return the curvature that stands for that of the slab of a unit of n weights and squared length ``size``."""
    if part == BASELINE:
        return slab_guide_slope(slabs[0], precision[0], size, n)
    return slab_guide_slope(slabs[1], precision[1], size, n)


@strict_leaf
def _draw_precision(rng, slabs, precision, part, n, size):
    """Draw the precision of a normal density that stands for the slab of a unit of n weights."""
    if part == BASELINE:
        return draw_slab_mixture(rng, slabs[0], precision[0], precision[0] * size, n)
    return draw_slab_mixture(rng, slabs[1], precision[1], precision[1] * size, n)


@strict_leaf
def _log_factor(slabs, part, size):
    """Return the log of the factor of the slab of a unit that is 0 at 0."""
    return log_slab_factor(slabs[0], size) if part == BASELINE else log_slab_factor(slabs[1], size)


@leaf
def _set(w, r, row, j, value):
    """Set a weight; the gradient of the surrogate follows."""
    step = value - w[j]
    w[j] = value
    for k in range(len(r)):
        r[k] -= row[k] * step


@strict_leaf
def _prepare(units, u):
    """Set the room to the normal distribution from which the weights of a unit are born.

    It depends on all other units alone: the slab is normal, with the precision that it has at the mean, which is
    approached from where the surrogate alone has its maximum. Returns the log of the determinant of the Cholesky
    factor.
    """
    first, n, room = units.first[u], units.first[u + 1] - units.first[u], units.room
    mean, stiff, log_det = len(room), 0.0, 0.0
    for turn in range(_REFINED + 1):
        log_det = _factorise(units, first, n, stiff)
        if turn < _REFINED:
            size = 0.0
            for i in range(n):
                size += room[i, mean] ** 2
            stiff = _stiffness(units.slabs, units.precision, units.part[u], n, size)
    return log_det


@strict_leaf
def _factorise(units, first, n, stiff):
    """Set the room to the normal distribution of the weights of a unit under a normal slab of precision ``stiff``."""
    q, room, c, log_det = units.hessian, units.room, len(units.room) + 1, 0.0
    mean = len(room)
    for i in range(n):
        room[i, c] = units.r[first + i]
        for j in range(n):
            room[i, c] += q[first + i, first + j] * units.w[first + j]
    for i in range(n):
        value = room[i, c]
        for j in range(i + 1):
            entry = q[first + i, first + j] + (stiff if i == j else 0.0)
            for k in range(j):
                entry -= room[i, k] * room[j, k]
            room[i, j] = sqrt(max(entry, 1e-12)) if i == j else entry / room[j, j]
        for k in range(i):
            value -= room[i, k] * room[k, mean]
        room[i, mean] = value / room[i, i]
        log_det += log(room[i, i])
    for i in range(n - 1, -1, -1):
        value = room[i, mean]
        for k in range(i + 1, n):
            value -= room[k, i] * room[k, mean]
        room[i, mean] = value / room[i, i]
    return log_det


@strict_leaf
def _draw(rng, units, n):
    """Set the space to a draw of the proposal."""
    room, last = units.room, len(units.room) + 2
    for i in range(n - 1, -1, -1):
        value = rng.standard_normal()
        for k in range(i + 1, n):
            value -= room[k, i] * (room[k, last] - room[k, len(room)])
        room[i, last] = value / room[i, i] + room[i, len(room)]


@strict_leaf
def _log_gain(units, u, is_drawn, log_det):
    """Return the log ratio of surrogate times prior with the weights of a unit, or those drawn, over that without the
    unit and over the density of the proposal.
    """
    at, room, mean, c, last = units.first[u], units.room, len(units.room), len(units.room) + 1, len(units.room) + 2
    n, size = units.first[u + 1] - at, 0.0
    gain = n * _HALF_LOG_2_PI - log_det
    for i in range(n):
        if not is_drawn:
            room[i, last] = units.w[at + i]
        size += room[i, last] ** 2
    for i in range(n):
        slope, away = room[i, c], 0.0
        for j in range(n):
            slope -= 0.5 * units.hessian[at + i, at + j] * room[j, last]
        for k in range(i, n):
            away += room[k, i] * (room[k, last] - room[k, mean])
        gain += room[i, last] * slope + 0.5 * away * away
    return gain + units.top[u] + _log_shape(units.slabs, units.precision, units.part[u], n, size)


@strict_leaf
def _redraw(rng, units, u):
    """Draw the weights of a unit given a normal density that stands for its slab; return whether they are taken."""
    first, n, last, size, new = units.first[u], units.first[u + 1] - units.first[u], len(units.room) + 2, 0.0, 0.0
    for i in range(n):
        size += units.w[first + i] ** 2
    _factorise(units, first, n, _draw_precision(rng, units.slabs, units.precision, units.part[u], n, size))
    _draw(rng, units, n)
    for i in range(n):
        new += units.room[i, last] ** 2
    ratio = _log_factor(units.slabs, units.part[u], new) - _log_factor(units.slabs, units.part[u], size)
    return ratio >= 0 or rng.random() < exp(ratio)


@strict_leaf
def _visit(rng, units, u, is_first):
    """Propose the birth or death of a unit, and new weights if it exists: in this order, or in the reverse one."""
    first, last = units.first[u], len(units.room) + 2
    n = units.first[u + 1] - first
    for turn in range(2):
        flips, exists = (turn == 0) == is_first, units.w[first] != 0
        if not (units.free[u] if flips else exists):
            continue
        is_drawn = not (exists and flips)
        if flips:
            log_det = _prepare(units, u)
            ratio = -_log_gain(units, u, False, log_det) if exists else 0.0
            if is_drawn:
                _draw(rng, units, n)
                ratio += _log_gain(units, u, True, log_det)
            accepted = log(1 - rng.random()) < ratio
        else:
            accepted = _redraw(rng, units, u)
        if accepted:
            for i in range(n):
                j = first + i
                _set(units.w, units.r, units.hessian[j], j, units.room[i, last] if is_drawn else 0.0)


@strict_leaf
def _precision_of(slabs, scales, part, q, c):
    """Return the precision of the proposal of one weight a, where the surrogate is c a - q a^2 / 2."""
    stiff = 0.0
    for _ in range(_REFINED):
        stiff = _stiffness(slabs, scales, part, 1, (c / (q + stiff)) ** 2)
    return q + stiff


@strict_leaf
def _gain_of(slabs, scales, part, top, q, c, precision, a):
    """Return `_log_gain` of one weight a."""
    away = a - c / precision
    gain = top + _HALF_LOG_2_PI - 0.5 * log(precision) + a * (c - 0.5 * q * a) + 0.5 * precision * away * away
    return gain + _log_shape(slabs, scales, part, 1, a * a)


@strict_leaf
def _visit_one(rng, slabs, scales, part, top, is_free, is_first, q, c, a):
    """Make a visit to a unit of one weight a; return the new one."""
    for turn in range(2):
        if (turn == 0) != is_first:
            a = _redraw_one(rng, slabs, scales, part, q, c, a) if a != 0 else a
        elif is_free:
            precision = _precision_of(slabs, scales, part, q, c)
            new = c / precision + rng.standard_normal() / sqrt(precision) if a == 0 else 0.0
            ratio = _gain_of(slabs, scales, part, top, q, c, precision, new if a == 0 else a)
            if a != 0:
                ratio = -ratio
            if ratio >= 0 or rng.random() < exp(ratio):
                a = new
    return a


@strict_leaf
def _redraw_one(rng, slabs, scales, part, q, c, a):
    """Draw a weight a given a normal density that stands for its slab (`_redraw`)."""
    precision = q + _draw_precision(rng, slabs, scales, part, 1, a * a)
    new = c / precision + rng.standard_normal() / sqrt(precision)
    ratio = _log_factor(slabs, part, new * new) - _log_factor(slabs, part, a * a)
    return new if ratio >= 0 or rng.random() < exp(ratio) else a


@strict_leaf
def _swap_one(rng, slabs, scales, parts, tops, q_u, c_u, a, q_v, c_v):
    """Propose the weight of a unit v in place of the weight a of unit u; return it, or 0."""
    p_u, p_v = _precision_of(slabs, scales, parts[0], q_u, c_u), _precision_of(slabs, scales, parts[1], q_v, c_v)
    new = c_v / p_v + rng.standard_normal() / sqrt(p_v)
    ratio = _gain_of(slabs, scales, parts[1], tops[1], q_v, c_v, p_v, new)
    ratio -= _gain_of(slabs, scales, parts[0], tops[0], q_u, c_u, p_u, a)
    return new if ratio >= 0 or rng.random() < exp(ratio) else 0.0
