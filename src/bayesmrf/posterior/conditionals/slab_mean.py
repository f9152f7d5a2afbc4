r"""The mean of a likelihood over a slab, relative to that without the edge: the Bayes factor of docs/definitions.md.

.. math:: L = \int \mathrm{slab}(a) \, e^{\ell(a)} da, \qquad
          \ell(a) = a^\top S - \sum_t n_t \log \sum_k p_{tk} e^{a^\top g_{tk}} - \tfrac12 a^\top K a
          + \log \frac{\mathrm{baseline}(b + R a)}{\mathrm{baseline}(b)}

with samples t of :math:`n_t` observations, whose states have the probabilities :math:`p_{tk}` at a = 0. The integral of
one coordinate is a quadrature, that of several an unbiased estimate by importance sampling.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p, pi, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...compiled import copy_to, strict_leaf
from .slab_leaves import log_slab_guide, slab_guide_slope
from .spike import log_slab_density

_REACH, _INTERVALS = 7.0, 32  # points reach sinh(7) = 548 standard deviations to either side; intervals at first
_CLOSE, _FINEST = 1e-4, 2.0**-8  # difference of the logs of two sums, and the finest interval
_DROP = 16.0  # log of the largest term over one that is left out, with all further away
_PAIRS, _DF = 32, 5.0  # opposite points of an importance estimate, and degrees of freedom of its t
_NEAR, _STEPS, _HALVINGS = 0.1, 60, 8  # of Newton's method: last step in standard deviations


class SlabLine(NamedTuple):
    """Terms of the likelihood along D coordinates; of several edges all but ``n`` have one more axis, the first."""

    gain: np.ndarray  # (T, D, S), g
    log_share: np.ndarray  # (T, S), log p
    n: np.ndarray  # (T,)
    score: np.ndarray  # (D,), S
    stiffness: np.ndarray  # (D, D), K
    base: np.ndarray  # (k,), b
    base_rate: np.ndarray  # (k, D), R
    moves: Any  # bool, whether R is not 0
    precision: Any  # float, of the slab
    base_precision: Any  # float, of that of the baselines


@strict_leaf
def _slab(prior, precision, size, n_values, top):
    """Return the log of a slab in two parts, that of a guide with its mode at 0, and the rest."""
    whole = log_slab_density(prior, precision, size, n_values, top)
    guide = log_slab_guide(prior.slab, precision, size, n_values, whole)
    return guide, whole - guide


@strict_leaf
def _log_density(a, line, prior, top, baseline):
    """Return the log integrand with guides in the place of slabs, and the log of the rest."""
    n_coordinates, size, out = len(a), 0.0, 0.0
    for i in range(n_coordinates):
        size += a[i] * a[i]
        out += a[i] * line.score[i]
        for j in range(n_coordinates):
            out -= 0.5 * a[i] * a[j] * line.stiffness[i, j]
    guide, rest = _slab(prior, line.precision, size, n_coordinates, top)
    out += guide
    gain, log_share, n = line.gain, line.log_share, line.n
    for t in range(len(n)):
        high, total = -np.inf, 0.0
        for k in range(gain.shape[2]):
            high = max(high, _log_weight(a, gain, log_share, t, k))
        for k in range(gain.shape[2]):
            total += exp(_log_weight(a, gain, log_share, t, k) - high)
        out -= n[t] * (high + log(total))
    if line.moves:
        before, after = 0.0, 0.0
        for k in range(len(line.base)):
            before += line.base[k] ** 2
            after += _baseline(a, line, k) ** 2
        for sign, square in ((1.0, after), (-1.0, before)):
            guide, own = _slab(baseline, line.base_precision, square, len(line.base), 0.0)
            out += sign * guide
            rest += sign * own
    return out, rest


@strict_leaf
def _log_weight(a, gain, log_share, t, k):
    """Return the log weight of state k of sample t, relative to all at a = 0."""
    out = log_share[t, k]
    for i in range(len(a)):
        out += a[i] * gain[t, i, k]
    return out


@strict_leaf
def _baseline(a, line, k):
    """Return b + R a."""
    out = line.base[k]
    for i in range(len(a)):
        out += line.base_rate[k, i] * a[i]
    return out


@strict_leaf
def _newton(a, line, prior, baseline):
    """Return slope and curvature of the log integrand with guides, with a parabola below the log of each."""
    d = len(a)
    own = slab_guide_slope(prior.slab, line.precision, (a * a).sum(), d)
    slope, curvature, mean = line.score - own * a, line.stiffness.copy(), np.empty(d)
    for i in range(d):
        curvature[i, i] += own
        for j in range(d):
            slope[i] -= line.stiffness[i, j] * a[j]
    p = np.empty(line.gain.shape[2])
    for t in range(len(line.n)):
        for k in range(len(p)):
            p[k] = _log_weight(a, line.gain, line.log_share, t, k)
        high, total = p.max(), 0.0
        for k in range(len(p)):
            p[k] = exp(p[k] - high)
            total += p[k]
        for i in range(d):
            mean[i] = 0.0
            for k in range(len(p)):
                mean[i] += p[k] * line.gain[t, i, k] / total
            slope[i] -= line.n[t] * mean[i]
        for i in range(d):
            for j in range(i + 1):
                square = 0.0
                for k in range(len(p)):
                    square += p[k] * (line.gain[t, i, k] - mean[i]) * (line.gain[t, j, k] - mean[j])
                curvature[i, j] += line.n[t] * square / total
                if j < i:
                    curvature[j, i] += line.n[t] * square / total
    if line.moves:
        b = np.array([_baseline(a, line, k) for k in range(len(line.base))])
        own = slab_guide_slope(baseline.slab, line.base_precision, (b * b).sum(), len(b))
        for k in range(len(b)):
            for i in range(d):
                slope[i] -= own * b[k] * line.base_rate[k, i]
                for j in range(d):
                    curvature[i, j] += own * line.base_rate[k, i] * line.base_rate[k, j]
    return slope, curvature


@strict_leaf
def _mode(line, prior, top, baseline, several):
    """Return a mode of the integrand with guides, and the curvature there, by Newton's method with halved steps.

    ``several`` is None for one coordinate, for which the solution of linear equations is not compiled.
    """
    a, step, value = np.zeros(len(line.score)), np.zeros(len(line.score)), -np.inf
    slope, curvature = a, line.stiffness
    for _ in range(_STEPS + 1):  # the first step is none: code that is called in one place is compiled once
        for _ in range(_HALVINGS + 1):
            at, _ = _log_density(a + step, line, prior, top, baseline)
            if at >= value:
                break
            step *= 0.5
        if not at >= value:
            break
        a, value = a + step, at
        slope, curvature = _newton(a, line, prior, baseline)
        step = slope / curvature[0, 0] if several is None else np.linalg.solve(curvature, slope)
        if (step * slope).sum() < _NEAR**2:
            break
    return a, curvature


@strict_leaf
def _log_sum(first, h, mode, scale, line, prior, top, baseline):
    """Return the log of the sum of integrand times cosh(t) at mode + scale sinh(t), t = first, first + h, ... to either
    side.
    """
    a, high, total, factor = np.empty(1), -np.inf, 0.0, exp(h)
    for sign in (-1.0, 1.0):
        t, n_small = first if first > 0 or sign < 0 else h, 0
        e = exp(t)
        while t <= _REACH and n_small < 2:  # a single one may be next to 0, where a slab is 0
            a[0] = mode + sign * scale * 0.5 * (e - 1 / e)
            smooth, rest = _log_density(a, line, prior, top, baseline)
            x = smooth + rest
            if x > high:
                total *= exp(high - x)
                high = x
            total += exp(x - high) * 0.5 * (e + 1 / e)
            n_small = n_small + 1 if x < high - _DROP else 0
            t += h
            e *= factor
    return high + log(total)


@strict_leaf
def log_slab_mean(line, prior, top, baseline):
    """Return log L of one coordinate, and the mode; ``top`` is the log density of a Cauchy slab at 0.

    The trapezoidal rule converges geometrically; intervals are halved until two sums agree.
    """
    mode, curvature = _mode(line, prior, top, baseline, None)
    scale, h, first, total = 1 / sqrt(curvature[0, 0]), 2 * _REACH / _INTERVALS, 0.0, 0.0
    while True:
        part = _log_sum(first, h, mode[0], scale, line, prior, top, baseline)
        if first == 0:
            total = part
        else:
            agreed = abs(part - total) < 2 * _CLOSE
            total = max(total, part) + log1p(exp(-abs(part - total)))
            h *= 0.5
            if agreed or h < _FINEST:
                return total + log(h * scale), mode
        first = 0.5 * h


@strict_leaf
def _log_estimate(rng, line, prior, top, baseline):
    """Return an estimate of log L from points of a t around the mode, the mode, and the variance of the estimate.

    That of L is unbiased, and its log too low by half the variance.
    """
    mode, curvature = _mode(line, prior, top, baseline, True)
    root, logs, d = np.linalg.cholesky(curvature), np.empty(2 * _PAIRS), len(mode)
    constant, t, step = lgamma(0.5 * (_DF + d)) - lgamma(0.5 * _DF) - 0.5 * d * log(_DF * pi), np.empty(d), np.empty(d)
    for i in range(d):
        constant += log(root[i, i])
    for p in range(_PAIRS):
        shrink = sqrt(_DF / (2 * rng.standard_gamma(0.5 * _DF)))
        for i in range(d):
            t[i] = rng.standard_normal() * shrink
        for i in range(d - 1, -1, -1):
            step[i] = t[i]
            for j in range(i + 1, d):
                step[i] -= root[j, i] * step[j]
            step[i] /= root[i, i]
        log_t = constant - 0.5 * (_DF + d) * log1p((t * t).sum() / _DF)
        for k, sign in enumerate((1.0, -1.0)):
            smooth, rest = _log_density(mode + sign * step, line, prior, top, baseline)
            logs[2 * p + k] = smooth + rest - log_t
    high = logs.max()
    pairs = np.exp(logs - high).reshape(-1, 2).sum(axis=1)
    variance = pairs.var() / pairs.mean() ** 2 / _PAIRS
    return high + log(0.5 * pairs.mean()) + 0.5 * variance, mode, variance


@strict_leaf
def _line(lines, b):
    """Return the terms of one of several edges."""
    return SlabLine(
        lines.gain[b], lines.log_share[b], lines.n, lines.score[b], lines.stiffness[b], lines.base[b],
        lines.base_rate[b], lines.moves[b], lines.precision[b], lines.base_precision[b],
    )  # fmt: skip


@strict_leaf
def fill_slab_means(lines, prior, top, baseline, means, modes):
    """Set log L (B,) of each edge of one coordinate, and its mode (B, 1)."""
    for b in range(len(means)):
        means[b], mode = log_slab_mean(_line(lines, b), prior, top, baseline)
        modes[b, 0] = mode[0]


@strict_leaf
def fill_slab_estimates(rng, lines, prior, top, baseline, means, modes, noise):
    """Set estimates of log L (B,) of each edge, the mode (B, D), and the variance of the estimate."""
    for b in range(len(means)):
        means[b], mode, noise[b] = _log_estimate(rng, _line(lines, b), prior, top, baseline)
        copy_to(modes[b], mode)
