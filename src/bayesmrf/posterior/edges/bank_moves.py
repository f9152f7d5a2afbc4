r"""Blocks of births, deaths and swaps by a quadratic surrogate, accepted by the likelihood from a bank of states.

A block is a palindrome: a random multiset of units (baselines or differences of edges) is visited in one order and then
in the reverse one, each visit reversible for the surrogate (`bayesmrf.posterior.edges.surrogate`), so that the block
is. Rivals are swapped in its middle. The block is accepted with the ratio of target and surrogate at both ends (Liu
2001, 9.4.3; Christen and Fox 2005), which leaves the target invariant: the posterior with log Z from one frozen bank.
Parameters of nodes follow their edges; between blocks of edges, random sets of their normal coordinates xi are redrawn.

The sizes of most blocks are log-uniform: where target over surrogate is large, only small blocks leave.
"""

from __future__ import annotations

from math import cosh, exp, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import float32

from ...compiled import copy_to, leaf, strict_leaf
from ..conditionals.group_lines import BASELINE, draw_group_scales
from ..conditionals.slab_leaves import log_slab_factor, log_slab_shape, log_slab_top, slab_guide_slope

WALL = 0.1  # effective share of a bank; moves to where it is smaller are rejected
_AIM = 0.15  # acceptance of blocks of whole size
SMALL = 0.7  # share of blocks of a random size
_MOST = 4  # visits in a block, for each unit
_TILE = 1024  # states of a bank at a time
_RATE, _FORGET = 0.2, 0.02  # of the adaptation of sizes, and how fast it falls
_HALVINGS = 6  # of the exponents of exp, by as many squares
_INVERSE = np.float32(0.5**_HALVINGS)
_C2, _C3, _C4, _C5 = np.array([1 / 2, 1 / 6, 1 / 24, 1 / 120], np.float32)
_ONE = np.float32(1)
_HALF_LOG_2_PI = 0.5 * log(2 * pi)


class Place(NamedTuple):
    """Where a chain is, changed in place; ``t`` are the parameters of nodes that follow from the others."""

    w: np.ndarray  # (W,), 0 where a unit is absent
    xi: np.ndarray  # (T,)
    t: np.ndarray  # (T,)
    r: np.ndarray  # (W,), gradient of the surrogate
    d: np.ndarray  # (V,), gradient of the quadratic part of the log of target over surrogate
    z: np.ndarray  # (G, m) float32, log densities of the states of the banks


class Counts(NamedTuple):
    """What happened."""

    n_jumps: int
    n_blocks: int
    n_walled: int  # that a wall rejected
    share: float  # least effective share of a bank


@strict_leaf
def move(rng, problem, surrogate, tables, theta, place, sizes, n_steps, age, is_adapted):
    """Make steps, each of a block of edges and one of nodes in random order.

    Parameters
    ----------
    theta : GroupTheta
        Its weights follow.
    place : Place
        With ``w``, ``xi``, ``r`` and ``d``; the others are computed here.
    sizes : (2,) array
        Of blocks of edges and of nodes, which are adapted if ``is_adapted``.
    age : int
        Steps before.

    Returns
    -------
    drawn : (4,) array
        p0 and precision of the slabs of differences and of baselines.
    counts : Counts
    """
    drawn, w, n_w, n_t = np.zeros(4), place.w, len(place.w), len(place.xi)
    _recompute(surrogate, tables, place)
    new = Place(w.copy(), place.xi.copy(), place.t.copy(), place.r.copy(), place.d.copy(), place.z.copy())
    n_units, rests = len(surrogate.part), np.zeros(2)
    picked = np.empty((2 * _MOST + 4) * n_units + 8, np.int64)
    n_jumps, n_blocks, n_walled, least, changed = 0, 0, 0, 1.0, np.empty(n_w + n_t, np.int64)
    steps, top = np.empty(n_w + n_t), np.empty(n_units)
    widest = np.diff(surrogate.first).max()
    room = np.empty((widest, widest + 3))
    _rests(tables, place.z, changed[:0], steps, rests)
    rest, share, prior = rests[0], rests[1], _log_node_priors(problem, surrogate, place.t)
    for step in range(n_steps):
        drawn[:] = draw_group_scales(rng, problem, theta)
        units = _units(problem, surrogate, drawn, new, top, room)
        first = rng.random() < 0.5
        for turn in range(2):
            on_edges = (turn == 0) == first
            if not on_edges and n_t == 0:
                continue
            is_small = rng.random() < SMALL
            size = sizes[0] if on_edges else sizes[1]
            if is_small:
                size = size ** rng.random()
            n_changed, ratio = 0, 0.0
            if on_edges:
                n = max(1, min(_MOST * n_units, int(size + rng.random())))
                _visit_block(rng, units, surrogate.visit, surrogate.rivals, n, picked)
                for j in range(n_w):
                    if new.w[j] != w[j]:
                        changed[n_changed], steps[n_changed] = j, new.w[j] - w[j]
                        n_changed += 1
            else:
                n = max(1, min(n_t, int(size + rng.random())))
                for _ in range(n):  # of a set without repetition
                    f = int(rng.random() * n_t)
                    if new.xi[f] == place.xi[f]:
                        new.xi[f] = rng.standard_normal()
                        changed[n_changed], steps[n_changed] = n_w + f, new.xi[f] - place.xi[f]
                        n_changed += 1
            if n_changed == 0:
                continue
            for k in range(n_changed):
                ratio += _shift(surrogate.curve, new.d, changed[k], steps[k])
                _follow(surrogate, new.t, changed[k], steps[k])
            _rests(tables, new.z, changed[:n_changed], steps, rests)
            now = _log_node_priors(problem, surrogate, new.t)
            is_walled = rests[1] < min(WALL, share)
            ratio += rest - rests[0] + now - prior
            accepted = not is_walled and log(1 - rng.random()) < ratio
            n_blocks += 1
            n_walled += is_walled
            if accepted:
                if on_edges:
                    n_jumps += _take(problem, surrogate, theta, w, new.w)
                _copy(new, place)
                rest, share, prior = rests[0], rests[1], now
                least = min(least, share)
            else:
                _copy(place, new)
            if is_adapted and not is_small:
                place_of, most = (0, float(_MOST * n_units)) if on_edges else (1, float(n_t))
                gain = exp((accepted - _AIM) * _RATE / (1 + _FORGET * (age + step)))
                sizes[place_of] = min(most, max(1.0, sizes[place_of] * gain))
    return drawn, Counts(n_jumps, n_blocks, n_walled, min(least, share))


@strict_leaf
def _recompute(surrogate, tables, place):
    """Compute parameters of nodes and log densities of states from weights and xi."""
    n_w = len(place.w)
    copy_to(place.t, surrogate.offset)
    for j in range(n_w):
        _follow(surrogate, place.t, j, place.w[j] - surrogate.at[j])
    for f in range(len(place.xi)):
        _follow(surrogate, place.t, n_w + f, place.xi[f])
    for g in range(len(tables.base)):
        copy_to(place.z[g], tables.base[g])
        for j in range(n_w + len(place.xi)):
            value = place.w[j] if j < n_w else place.xi[j - n_w]
            if value != 0:
                _add(place.z[g], tables.rows[g, j], float32(value * tables.scale[g, j]))


@strict_leaf
def _copy(source, target):
    copy_to(target.w, source.w)
    copy_to(target.xi, source.xi)
    copy_to(target.t, source.t)
    copy_to(target.r, source.r)
    copy_to(target.d, source.d)
    for g in range(len(source.z)):
        copy_to(target.z[g], source.z[g])


@strict_leaf
def _take(problem, surrogate, theta, old, new):
    """Set the weights of all units; return the number of births and deaths."""
    n_jumps, n_parameters = 0, 0
    for u in range(len(surrogate.part)):
        e, first, last = surrogate.element[u], surrogate.first[u], surrogate.first[u + 1]
        n_jumps += (old[first] == 0) != (new[first] == 0)
        n_parameters = problem.places[e + 1] - problem.places[e]
        for j in range(first, last):
            k = surrogate.part[u] + (j - first) // n_parameters
            theta.weights[k, problem.places[e] + (j - first) % n_parameters] = new[j]
    return n_jumps


@strict_leaf
def _follow(surrogate, t, j, step):
    """Move the parameters of nodes with a weight, or with a coordinate xi."""
    n_w = len(surrogate.at)
    for f in range(len(t)):
        t[f] += step * (surrogate.inverse[f, j - n_w] if j >= n_w else -surrogate.gain[f, j])


@leaf
def _shift(curve, d, j, step):
    """Move a coordinate; return the change of a quadratic function whose gradient is d."""
    change = step * (d[j] + 0.5 * step * curve[j, j])
    for k in range(len(d)):
        d[k] += step * curve[j, k]
    return change


@strict_leaf
def _log_node_priors(problem, surrogate, t):
    """Return the log prior of the parameters of nodes less its quadratic in the surrogate; of normal ones it is 0."""
    prior, total = problem.baseline, 0.0
    if prior.logistic > 0:
        centre, slope, curvature = surrogate.node_prior
        for f in range(len(t)):
            away = t[f] - centre[f]
            total += prior.tilt * t[f] - prior.logistic * log(2 * cosh(0.5 * min(max(t[f], -700.0), 700.0)))
            total -= slope[f] * away - 0.5 * curvature[f] * away * away
    return total


# The surrogate


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
def _units(problem, surrogate, drawn, new, top, room):
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
        surrogate.hessian, new.w, new.r, room,
    )  # fmt: skip


@strict_leaf
def _visit_block(rng, units, visit, rivals, n, picked):
    """Visit n random units, swap rivals, and visit all again in the reverse order."""
    n_all, slabs, scales, part, top, free = n, units.slabs, units.precision, units.part, units.top, units.free
    first, hessian, w, r = units.first, units.hessian, units.w, units.r
    for k in range(n):
        picked[k] = min(np.searchsorted(visit, rng.random()), len(visit) - 1)
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


@leaf
def _set(w, r, row, j, value):
    """Set a weight; the gradient of the surrogate follows."""
    step = value - w[j]
    w[j] = value
    for k in range(len(r)):
        r[k] -= row[k] * step


@strict_leaf
def _prepare(units, u):
    """Set the room to the normal distribution from which the weights of a unit are proposed.

    It depends on all other units alone. Returns the log of the determinant of the Cholesky factor.
    """
    first, n, room = units.first[u], units.first[u + 1] - units.first[u], units.room
    q, mean, c, log_det = units.hessian, len(room), len(room) + 1, 0.0
    slabs, precision, part, size = units.slabs, units.precision, units.part[u], 0.0
    stiff = _stiffness(slabs, precision, part, n, 0.0)
    for i in range(n):
        room[i, c] = units.r[first + i]
        for j in range(n):
            room[i, c] += q[first + i, first + j] * units.w[first + j]
        size += (room[i, c] / (q[first + i, first + i] + stiff)) ** 2
    stiff = _stiffness(slabs, precision, part, n, size)
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
    own, room, mean, c, last = units.first[u], units.room, len(units.room), len(units.room) + 1, len(units.room) + 2
    n, size = units.first[u + 1] - own, 0.0
    gain = n * _HALF_LOG_2_PI - log_det
    for i in range(n):
        if not is_drawn:
            room[i, last] = units.w[own + i]
        size += room[i, last] ** 2
    for i in range(n):
        slope, away = room[i, c], 0.0
        for j in range(n):
            slope -= 0.5 * units.hessian[own + i, own + j] * room[j, last]
        for k in range(i, n):
            away += room[k, i] * (room[k, last] - room[k, mean])
        gain += room[i, last] * slope + 0.5 * away * away
    return gain + units.top[u] + _log_shape(units.slabs, units.precision, units.part[u], n, size)


@strict_leaf
def _visit(rng, units, u, is_first):
    """Propose the birth or death of a unit, and new weights if it exists: in this order, or in the reverse one."""
    first, last = units.first[u], len(units.room) + 2
    n, log_det = units.first[u + 1] - first, _prepare(units, u)
    for turn in range(2):
        flips, exists = (turn == 0) == is_first, units.w[first] != 0
        if not (units.free[u] if flips else exists):
            continue
        is_drawn = not (exists and flips)
        ratio = -_log_gain(units, u, False, log_det) if exists else 0.0
        if is_drawn:
            _draw(rng, units, n)
            ratio += _log_gain(units, u, True, log_det)
        if log(1 - rng.random()) < ratio:
            for i in range(n):
                j = first + i
                _set(units.w, units.r, units.hessian[j], j, units.room[i, last] if is_drawn else 0.0)


@strict_leaf
def _precision_of(slabs, scales, part, q, c):
    """Return the precision of the proposal of one weight a, where the surrogate is c a - q a^2 / 2."""
    stiff = _stiffness(slabs, scales, part, 1, 0.0)
    return q + _stiffness(slabs, scales, part, 1, (c / (q + stiff)) ** 2)


@strict_leaf
def _gain_of(slabs, scales, part, top, q, c, precision, a):
    """Return `_log_gain` of one weight a."""
    away = a - c / precision
    gain = top + _HALF_LOG_2_PI - 0.5 * log(precision) + a * (c - 0.5 * q * a) + 0.5 * precision * away * away
    return gain + _log_shape(slabs, scales, part, 1, a * a)


@strict_leaf
def _visit_one(rng, slabs, scales, part, top, is_free, is_first, q, c, a):
    """Make a visit to a unit of one weight a; return the new one."""
    precision, gain = _precision_of(slabs, scales, part, q, c), 0.0
    if a != 0:
        gain = _gain_of(slabs, scales, part, top, q, c, precision, a)
    for turn in range(2):
        flips = (turn == 0) == is_first
        if not (is_free if flips else a != 0):
            continue
        new, ratio, own = 0.0, -gain, 0.0
        if a == 0 or not flips:
            new = c / precision + rng.standard_normal() / sqrt(precision)
            own = _gain_of(slabs, scales, part, top, q, c, precision, new)
            ratio += own
        if ratio >= 0 or rng.random() < exp(ratio):
            a, gain = new, own
    return a


@strict_leaf
def _swap_one(rng, slabs, scales, parts, tops, q_u, c_u, a, q_v, c_v):
    """Propose the weight of a unit v in place of the weight a of unit u; return it, or 0."""
    p_u, p_v = _precision_of(slabs, scales, parts[0], q_u, c_u), _precision_of(slabs, scales, parts[1], q_v, c_v)
    new = c_v / p_v + rng.standard_normal() / sqrt(p_v)
    ratio = _gain_of(slabs, scales, parts[1], tops[1], q_v, c_v, p_v, new)
    ratio -= _gain_of(slabs, scales, parts[0], tops[0], q_u, c_u, p_u, a)
    return new if ratio >= 0 or rng.random() < exp(ratio) else 0.0


# The bank


@leaf
def _add(z, row, step):
    for c in range(len(z)):
        z[c] += step * float32(row[c])


@strict_leaf
def _rests(tables, z, changed, steps, out):
    """Add the changes of coordinates to z; set ``out`` to the sum of n R over groups, and the least effective share."""
    out[0], out[1] = 0.0, 1.0
    m, sums = z.shape[1], np.empty(4)
    for g in range(len(z)):
        sums[:] = 0.0
        for first in range(0, m, _TILE):
            tile = z[g, first : first + _TILE]
            for k in range(len(changed)):
                j = changed[k]
                step = float32(steps[k] * tables.scale[g, j])
                _add(tile, tables.rows[g, j, first : first + _TILE], step)
            _sum(tile, sums)
        mean = sums[0] / m
        out[0] += tables.n[g] * (log(sums[2] / m) - mean - 0.5 * (sums[1] / m - mean * mean))
        out[1] = min(out[1], sums[2] * sums[2] / (m * sums[3]))


@leaf
def _sum(z, sums):
    """Add the sums over states of z, its square, exp z and exp 2 z; exp is a polynomial, squared."""
    first, second, total, squares = float32(0), float32(0), float32(0), float32(0)
    for c in range(len(z)):
        y = z[c]
        first += y
        second += y * y
        y *= _INVERSE
        e = _ONE + y * (_ONE + y * (_C2 + y * (_C3 + y * (_C4 + y * _C5))))
        e *= e
        e *= e
        e *= e
        e *= e
        e *= e
        e *= e
        total += e
        squares += e * e
    sums[0] += first
    sums[1] += second
    sums[2] += total
    sums[3] += squares
