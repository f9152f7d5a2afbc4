"""Splits and merges of groups of potentials: those of `bayesmrf.posterior.groups.moves.split_merge`, with p parameters.

The items' likelihoods, with log odds nu held fixed, are those of n draws of a category
(`bayesmrf.posterior.conditionals.one_potential`). Values are proposed from Student's t around the mode of the joint
likelihood of the items of a part. Potentials have no order, so a merge joins any two groups.
"""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np

from ....compiled import strict_leaf
from ...conditionals.one_potential import (
    OnePotential,
    draw_t_around,
    log_base,
    log_fit,
    log_t_around,
)
from .split_merge import MERGE, NONE, SPLIT, Proposal, assign, draw_anchors

_N_LAUNCH = 3  # restricted scans from a launch state
_MAX_NEWTON, _NEAR = 100, 1e-3  # steps to the mode, and the length at which they end
_WIDER = 1.2  # scale of the proposal of a value, relative to the items' likelihood


@strict_leaf
def _derivatives(w, rows, total, nu, n, precision, slope, curvature, q):
    """Compute the log likelihood of ``rows``, whose counts sum to ``total``, at a shared value, and log of its base.

    ``slope`` and minus the second derivative, ``curvature``, are filled; ``q`` is work space.
    """
    p, out = len(w), 0.0
    for j in range(p):
        slope[j] = total[j]
        for k in range(p):
            slope[j] -= precision[j, k] * w[k]
            curvature[j, k] = precision[j, k]
        out += 0.5 * w[j] * (slope[j] + total[j])
    for i in rows:
        top = 0.0
        for j in range(p):
            top = max(top, w[j] + nu[i, j])
        whole = exp(-top)
        for j in range(p):
            q[j] = exp(w[j] + nu[i, j] - top)
            whole += q[j]
        out -= n * (top + log(whole))
        for j in range(p):
            q[j] /= whole
        for j in range(p):
            slope[j] -= n * q[j]
            curvature[j, j] += n * q[j]
            for k in range(p):
                curvature[j, k] -= n * q[j] * q[k]
    return out


@strict_leaf
def _value_proposal(rows, counts, nu, n, precision):
    """Return the mode of a value shared by the items ``rows``, and the Cholesky factor of the curvature there."""
    p = len(precision)
    total, w, slope, q = np.zeros(p), np.zeros(p), np.empty(p), np.empty(p)
    curvature = np.empty((p, p))
    for i in rows:
        for j in range(p):
            total[j] += counts[i, j]
    value = _derivatives(w, rows, total, nu, n, precision, slope, curvature, q)
    for _ in range(_MAX_NEWTON):
        step, size = np.linalg.solve(curvature, slope), 1.0
        furthest = np.abs(step).max()
        while True:
            trial = w + size * step
            new = _derivatives(trial, rows, total, nu, n, precision, slope, curvature, q)
            if new >= value - 1e-9 * abs(value) or size < 1e-6:
                break
            size *= 0.5
        w, value = trial, new
        if size * furthest < _NEAR:
            break
    return w, np.linalg.cholesky(curvature) / _WIDER


@strict_leaf
def _rows(members, part, which):
    out = np.empty(len(members), np.int64)
    size = 0
    for i in members:
        if which < 0 or part[i] == which:
            out[size] = i
            size += 1
    return out[:size]


@strict_leaf
def _restricted_scan(rng, members, anchors, part, wanted, first, second, counts, nu, n, precision):
    """Reassign all but the anchors to the two parts; return the log probability of the outcome (or of ``wanted``)."""
    sizes, found = np.zeros(2), 0.0
    for i in members:
        sizes[part[i]] += 1
    for i in members:
        if i in (anchors[0], anchors[1]):
            continue
        sizes[part[i]] -= 1
        conditional = OnePotential(counts[i], n, nu[i], precision, 0.0)
        gain = log_fit(second, conditional) - log_fit(first, conditional) + log(sizes[1] / sizes[0])
        found += assign(rng, i, gain, part, sizes, wanted)
    return found


@strict_leaf
def _split_parts(rng, members, anchors, wanted, counts, nu, n, precision):
    """Propose the parts of a split; return them and the log probability of proposing them (of ``wanted``, if given)."""
    part, none = np.zeros(len(counts), np.int8), np.empty(0, np.int8)
    for i in members:
        part[i] = int(rng.random() < 0.5)
    part[anchors[0]], part[anchors[1]] = 0, 1
    first, _ = _value_proposal(anchors[:1], counts, nu, n, precision)
    second, _ = _value_proposal(anchors[1:], counts, nu, n, precision)
    for _ in range(_N_LAUNCH):
        _restricted_scan(rng, members, anchors, part, none, first, second, counts, nu, n, precision)
        mode, lower = _value_proposal(_rows(members, part, 0), counts, nu, n, precision)
        first = draw_t_around(rng, mode, lower)
        mode, lower = _value_proposal(_rows(members, part, 1), counts, nu, n, precision)
        second = draw_t_around(rng, mode, lower)
    found = _restricted_scan(rng, members, anchors, part, wanted, first, second, counts, nu, n, precision)
    return part, found


@strict_leaf
def propose(rng, groups, values, counts, nu, n, alpha, precision, log_constant):
    """Propose a split of a random group or, with equal probability, a merge of two random groups.

    ``groups`` are labelled 0..k-1 without gaps.
    """
    k, zero = len(values), np.zeros(values.shape[1])
    none = Proposal(NONE, np.empty(0, np.int64), np.empty(0, np.int8), 0, 0, zero, zero, zero, 0.0)
    split = rng.random() < 0.5
    if split:
        first = second = int(rng.random() * k)
    elif k < 2:
        return none
    else:
        first = int(rng.random() * k)
        second = int(rng.random() * (k - 1))
        second += second >= first
    members, part, anchors = draw_anchors(rng, groups, first, second)
    size = len(members)
    if size < 2:
        return none
    wanted = part[:0] if split else part
    parts, log_parts = _split_parts(rng, members, anchors, wanted, counts, nu, n, precision)
    rows_first, rows_second = _rows(members, parts, 0), _rows(members, parts, 1)
    n_first, n_second = len(rows_first), len(rows_second)
    mode, lower = _value_proposal(members, counts, nu, n, precision)
    mode_first, lower_first = _value_proposal(rows_first, counts, nu, n, precision)
    mode_second, lower_second = _value_proposal(rows_second, counts, nu, n, precision)
    if split:
        value = values[first].copy()
        value_first = draw_t_around(rng, mode_first, lower_first)
        value_second = draw_t_around(rng, mode_second, lower_second)
    else:
        value = draw_t_around(rng, mode, lower)
        value_first, value_second = values[first].copy(), values[second].copy()
    # Ratio of the state with two groups to that with one, then of the numbers of ways to propose each from the other.
    ratio = log(alpha) + lgamma(n_first) + lgamma(n_second) - lgamma(size)
    ratio += log_base(value_first, precision, log_constant) + log_base(value_second, precision, log_constant)
    ratio -= log_base(value, precision, log_constant)
    k_one = k if split else k - 1
    ways_to_merge = -log(float(k_one * (k_one + 1) * n_first * n_second)) + log_t_around(value, mode, lower)
    ways_to_split = -log(float(k_one * size * (size - 1))) + log_parts
    ways_to_split += log_t_around(value_first, mode_first, lower_first)
    ways_to_split += log_t_around(value_second, mode_second, lower_second)
    ratio += ways_to_merge - ways_to_split
    kind = SPLIT if split else MERGE
    return Proposal(kind, members, parts, first, second, value, value_first, value_second, kind * ratio)
