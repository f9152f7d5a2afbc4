r"""Blocks of births, deaths and swaps by a quadratic surrogate, accepted by the likelihood from a bank of states.

A block is a palindrome: a random multiset of units (baselines or differences of edges) is visited in one order and then
in the reverse one, each visit reversible for the surrogate (`bayesmrf.posterior.edges.surrogate`), so that the block
is. Rivals are swapped in its middle. The block is accepted with the ratio of target and surrogate at both ends (Liu
2001, 9.4.3; Christen and Fox 2005), which leaves the target invariant: the posterior with log Z from one frozen bank.
Parameters of nodes follow their edges; between blocks of edges, random sets of their normal coordinates xi are redrawn.

The sizes of most blocks are log-uniform: where target over surrogate is large, only small blocks leave.
"""

from __future__ import annotations

from math import cosh, exp, log
from typing import NamedTuple

import numpy as np
from numba import float32, float64

from ...compiled import copy_to, leaf, strict_leaf
from ..conditionals.group_lines import draw_group_scales
from .surrogate_visits import units_of, visit_block

WALL = 0.1  # effective share of a bank; moves to where it is smaller are rejected
_AIM = 0.25  # acceptance of blocks of whole size
_SMALL = 0.5  # share of blocks of a random size
_NODES = 1 / 4  # share of steps that move the parameters of nodes: they follow their edges, and cost as much
_MOST = 3  # visits in a block, for each unit
_TILE = 1024  # states of a bank at a time
_RATE, _FORGET = 0.2, 0.02  # of the adaptation of sizes, and how fast it falls
_HALVINGS = 6  # of the exponents of exp, by as many squares
_INVERSE = 0.5**_HALVINGS
_C2, _C3, _C4, _C5 = 1 / 2, 1 / 6, 1 / 24, 1 / 120


class Place(NamedTuple):
    """Where a chain is, changed in place; ``t`` follow from ``w`` and ``xi``, at the end or where they are used."""

    w: np.ndarray  # (W,), 0 where a unit is absent
    xi: np.ndarray  # (T,)
    t: np.ndarray  # (T,), parameters of nodes
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
    """Make steps: a block of edges and, in some, one of nodes before or after it.

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
    n_units, rests = len(surrogate.part), np.zeros(2)
    picked = np.empty((2 * _MOST + 4) * n_units + 8, np.int64)
    n_jumps, n_blocks, n_walled, least, changed = 0, 0, 0, 1.0, np.empty(n_w + n_t, np.int64)
    steps, top = np.empty(n_w + n_t), np.empty(n_units)
    widest = np.diff(surrogate.first).max()
    room = np.empty((widest, widest + 3))
    _recompute(surrogate, tables, place, changed, steps, rests)
    new = Place(w.copy(), place.xi.copy(), place.t.copy(), place.r.copy(), place.d.copy(), place.z.copy())
    rest, share, prior = rests[0], rests[1], _log_node_priors(problem, surrogate, place.t)
    for step in range(n_steps):
        drawn[:] = draw_group_scales(rng, problem, theta)
        units = units_of(problem, surrogate, drawn, new.w, new.r, top, room)
        first = rng.random() < 0.5
        for turn in range(2):
            on_edges = (turn == 0) == first
            if not on_edges and (n_t == 0 or rng.random() > _NODES):
                continue
            is_small = rng.random() < _SMALL
            size = sizes[0] if on_edges else sizes[1]
            if is_small:
                size = size ** rng.random()
            if on_edges:
                n = max(1, min(_MOST * n_units, int(size + rng.random())))
                visit_block(rng, units, surrogate.visit, surrogate.rivals, n, picked)
                n_changed = _changes(w, new.w, 0, changed, steps)
            else:
                for _ in range(max(1, min(n_t, int(size + rng.random())))):
                    new.xi[int(rng.random() * n_t)] = rng.standard_normal()
                n_changed = _changes(place.xi, new.xi, n_w, changed, steps)
            if n_changed == 0:
                continue
            ratio = 0.0
            for k in range(n_changed):
                ratio += _shift(surrogate.curve, new.d, changed[k], steps[k])
                if problem.baseline.logistic > 0:
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
    _set_nodes(surrogate, place)
    return drawn, Counts(n_jumps, n_blocks, n_walled, min(least, share))


@strict_leaf
def _changes(old, new, first, changed, steps):
    """List which coordinates are others, numbered from ``first``, and by how much; return their number."""
    n = 0
    for j in range(len(old)):
        if new[j] != old[j]:
            changed[n], steps[n] = first + j, new[j] - old[j]
            n += 1
    return n


@strict_leaf
def _recompute(surrogate, tables, place, changed, steps, out):
    """Compute parameters of nodes, log densities of states, and ``out`` of `_rests` from weights and xi."""
    n_w = len(place.w)
    _set_nodes(surrogate, place)
    for g in range(len(place.z)):
        copy_to(place.z[g], tables.base[g])
    n = _changes(np.zeros(n_w), place.w, 0, changed, steps)
    n += _changes(np.zeros(len(place.xi)), place.xi, n_w, changed[n:], steps[n:])
    _rests(tables, place.z, changed[:n], steps, out)


@strict_leaf
def _set_nodes(surrogate, place):
    """Compute parameters of nodes from weights and xi."""
    n_w = len(place.w)
    copy_to(place.t, surrogate.offset)
    for j in range(n_w):
        _follow(surrogate, place.t, j, place.w[j] - surrogate.at[j])
    for f in range(len(place.xi)):
        _follow(surrogate, place.t, n_w + f, place.xi[f])


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


@leaf
def _add(z, row, step):
    for c in range(len(z)):
        z[c] += step * float32(row[c])


@leaf
def _add_four(z, a, b, c, d, s_a, s_b, s_c, s_d):
    for i in range(len(z)):
        z[i] += s_a * float32(a[i]) + s_b * float32(b[i]) + s_c * float32(c[i]) + s_d * float32(d[i])


@strict_leaf
def _rests(tables, z, changed, steps, out):
    """Add the changes of coordinates to z; set ``out`` to the sum of n R over groups, and the least effective share."""
    out[0], out[1] = 0.0, 1.0
    m, sums = z.shape[1], np.empty(4)
    for g in range(len(z)):
        sums[:] = 0.0
        for first in range(0, m, _TILE):
            tile = z[g, first : first + _TILE]
            rows, scale, last = tables.rows[g, :, first : first + _TILE], tables.scale[g], len(changed) // 4 * 4
            for k in range(0, last, 4):
                a, b, c, d = changed[k], changed[k + 1], changed[k + 2], changed[k + 3]
                _add_four(
                    tile, rows[a], rows[b], rows[c], rows[d],
                    float32(steps[k] * scale[a]), float32(steps[k + 1] * scale[b]),
                    float32(steps[k + 2] * scale[c]), float32(steps[k + 3] * scale[d]),
                )  # fmt: skip
            for k in range(last, len(changed)):
                _add(tile, rows[changed[k]], float32(steps[k] * scale[changed[k]]))
            _sum(tile, sums)
        mean = sums[0] / m
        out[0] += tables.n[g] * (log(sums[2] / m) - mean - 0.5 * (sums[1] / m - mean * mean))
        out[1] = min(out[1], sums[2] * sums[2] / (m * sums[3]))


@leaf
def _sum(z, sums):
    """Add the sums over states of z, its square, exp z and exp 2 z, in double precision: they are multiplied by n.

    exp is a polynomial, squared, which vectorises.
    """
    first, second, total, squares = 0.0, 0.0, 0.0, 0.0
    for c in range(len(z)):
        y = float64(z[c])
        first += y
        second += y * y
        y *= _INVERSE
        e = 1.0 + y * (1.0 + y * (_C2 + y * (_C3 + y * (_C4 + y * _C5))))
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
