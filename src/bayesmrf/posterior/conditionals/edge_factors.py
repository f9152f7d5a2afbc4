r"""The Bayes factor of each edge, or difference, given all else: its likelihood averaged over the slab.

.. math:: L_e = \int \mathrm{slab}(a) \, e^{\ell(a) - \ell(0)} da

along the lines of `bayesmrf.posterior.conditionals.group_lines`, where the parameters of its nodes (and the baseline of
a difference) move with the edge: these are integrated together with it, so that L varies less over draws than with
these held. The integral of one coordinate is a quadrature, that of several an unbiased estimate by importance
sampling.
"""

from __future__ import annotations

from math import lgamma, log, pi
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from .centred import by_node, line_values
from .group_lines import BASELINE, GroupProblem
from .slab_densities import log_slab_densities, tapers
from .spike import EdgePrior
from .state_table import fill_table, pair_sums, sum_out

N_POINTS = 65  # of a quadrature at first, which are compared with every second one
_REACH = 7.0  # points reach sinh(7) = 548 standard deviations to either side
_CLOSE, _MOST = 1e-4, 2**12  # difference of the logs of two quadratures, and most intervals
_PAIRS, _DF = 32, 5.0  # opposite points of an importance estimate, and degrees of freedom of its t
_NEAR, _STEPS, _HALVINGS = 1e-3, 60, 8  # of Newton's method: last step in standard deviations
_BLOCK = 2**18  # numbers that are an array at a time


class Places(NamedTuple):
    """Where some draws are, and the probabilities of the states 00, 01, ... of the ends of each edge there."""

    weights: np.ndarray  # (n, 1 + q, parameters of edges), of `GroupTheta`
    natural: np.ndarray  # (n, G, F)
    cells: np.ndarray  # (n, G, n_edges, m^2)
    precision: np.ndarray  # (n, 2), of the slabs of baselines and of differences


class _Lines(NamedTuple):
    """B edges, each of a draw, with D coordinates a in G groups, where it is absent."""

    gain: np.ndarray  # (B, G, D, m^2), of the log weight of each state of the ends
    share: np.ndarray  # (B, G, m^2), probabilities of these
    score: np.ndarray  # (B, D), of the data
    n: np.ndarray  # (G,)
    node: np.ndarray  # (B, G, N), parameters of the nodes
    node_rate: np.ndarray  # (B, G, N, D)
    node_precision: np.ndarray  # (B, G, N)
    base: np.ndarray  # (B, K), baselines that move with a difference
    base_rate: np.ndarray  # (B, K, D)
    precision: np.ndarray  # (B, 1), of the slab
    base_precision: np.ndarray  # (B, 1), of that of the baselines
    cells: np.ndarray  # (B, G, m^2), probabilities of the states of the ends at the draw


class _Priors(NamedTuple):
    slab: EdgePrior
    top: float  # log density at 0 of a Cauchy slab of D coordinates
    baseline: EdgePrior


@strict_leaf
def table_cells(lines, order, theta, cells):
    """Set ``cells`` (n_edges, m^2) to the weights of the states of the ends of each edge, the smaller node first."""
    table, _ = fill_table(lines, theta)
    cells[:] = 0.0
    for k in range(len(order.blocks)):
        small = sum_out(table, lines.base.shape[1], order.blocks[k])
        for row in range(order.edge_starts[k], order.edge_starts[k + 1]):
            e = order.edges[row, 4]
            pair_sums(small, lines.base.shape[1], order.edges[row, 0], order.edges[row, 1], cells[e])


def _slope(prior: EdgePrior, precision: np.ndarray, squares: np.ndarray, n_values: int) -> np.ndarray:
    """Return minus the slope of the log slab over its coordinate, the curvature of a parabola below it."""
    if prior.cauchy:
        return tapers(prior, precision) + (n_values + 1) * precision / (1 + precision * squares)
    return precision


def log_factors(
    rng: np.random.Generator, model: Any, problem: GroupProblem, at: Places, part: int, n_chains: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log Bayes factor of a part of each edge given all else, and the variance that is noise, (n, n_edges).

    Parameters
    ----------
    rng : numpy.random.Generator
        For edges with several coordinates.
    model : TwoArrays
    problem : GroupProblem
    at : Places
    part : {BASELINE, DIFFERENCE}
    n_chains : float
        Independent ones, of which the probabilities are shares; infinite if they are exact.
    """
    (found, noise), starts = np.zeros((2, len(at.weights), problem.n_edges)), problem.places[: problem.n_edges + 1]
    groups = [problem.lines._replace(n=n, sums=s, pull=p) for n, s, p in zip(*problem.lines[3:6], strict=True)]
    values = np.array([line_values(model, lines) for lines in groups])
    rows = by_node(model, np.arange(len(model.node_rows))).astype(int) + len(problem.lines.edges)
    slab, n_coordinates = (problem.baseline, 1) if part == BASELINE else (problem.prior, at.weights.shape[1] - 1)
    for size in np.unique(np.diff(starts)):
        d, edges = int(size) * n_coordinates, np.flatnonzero(np.diff(starts) == size)
        draw, edge = (x.ravel() for x in np.meshgrid(np.arange(len(found)), edges, indexing="ij"))
        priors = _Priors(slab, float(problem.tops[part, edges[0]]), problem.baseline)
        width = max(1, _BLOCK // (N_POINTS * values.shape[2] * d))
        for i in range(0, len(edge), width):
            some = draw[i : i + width], edge[i : i + width]
            lines = _lines(problem, at, part, some, int(size), values, rows)
            mode, curvature = _mode(lines, priors)
            noise[some] = _variance(lines, mode) / n_chains if n_chains < np.inf else 0.0
            if d > 1:
                found[some] = _importance(lines, priors, mode, curvature, _points(rng, d))
            else:
                found[some] = _quadrature(lines, priors, mode, 1 / np.sqrt(curvature[:, 0]))
    return found, noise


def _lines(
    problem: GroupProblem,
    at: Places,
    part: int,
    some: tuple[np.ndarray, np.ndarray],
    size: int,
    values: np.ndarray,
    rows: np.ndarray,
) -> _Lines:
    """Return the lines of edges with ``size`` parameters each, whose draws and numbers are ``some``."""
    of, (draw, edges) = problem.lines, some
    own = problem.places[edges][:, None] + np.arange(size)  # (B, K)
    coordinates = slice(0, 1) if part == BASELINE else slice(1, None)
    each = np.arange(at.weights.shape[1])[None, :, None]
    weights = at.weights[draw[:, None, None], each, own[:, None]]  # (B, 1 + q, K)
    base, a = weights[:, 0], weights[:, coordinates].reshape(len(edges), -1)
    moves = (base != 0).any(axis=1) & (part != BASELINE)
    drift = moves[:, None] * problem.drift[coordinates]  # (B, q)
    rate = problem.contrast[None, :, coordinates] - drift[:, None]  # (B, G, q)
    eye = np.eye(size)  # a parameter of an edge moves by the rates of its own coordinates
    along = (rate[:, :, None, :, None] * eye[:, None]).reshape(*rate.shape[:2], size, -1)
    gain = np.einsum("bgkd,bgks->bgds", along, values[:, own].swapaxes(0, 1))
    ends = rows[of.edges[own[:, 0]]]  # (B, 2, N)
    pull = of.pull[:, own].swapaxes(0, 1)  # (B, G, K, 2, N)
    sums = of.sums[:, own].swapaxes(0, 1) - np.einsum("bgken,gben->bgk", pull, of.sums[:, ends])
    rates = -np.einsum("bgken,bgkd->bgend", pull, along)
    node = at.natural[draw[:, None, None], :, ends].transpose(0, 3, 1, 2) - np.einsum("bgend,bd->bgen", rates, a)
    flat = node.reshape(*node.shape[:2], -1)
    cells = at.cells[draw, :, edges] / at.cells[draw, :, edges].sum(axis=2, keepdims=True)
    change = np.einsum("bgds,bd->bgs", gain, a)
    share = cells * np.exp(change.min(axis=2, keepdims=True) - change)
    base_rate = -(drift[:, None, :, None] * eye[:, None]).reshape(len(edges), size, -1)
    return _Lines(
        gain,
        share / share.sum(axis=2, keepdims=True),
        np.einsum("bgkd,bgk->bd", along, sums),
        of.n,
        flat,
        rates.reshape(*flat.shape, -1),
        np.broadcast_to(problem.scales[ends].reshape(len(edges), 1, -1), flat.shape),
        np.where(moves[:, None], base - np.einsum("bkd,bd->bk", base_rate, a), 0.0),
        base_rate,
        at.precision[draw, part, None],
        at.precision[draw, BASELINE, None],
        cells,
    )


def _log_density(lines: _Lines, priors: _Priors, a: np.ndarray) -> np.ndarray:
    """Return the log of the integrand at the points a (B, P, D)."""
    found = np.einsum("bpd,bd->bp", a, lines.score) + log_slab_densities(
        priors.slab, priors.top, lines.precision, (a**2).sum(axis=2), a.shape[2]
    )
    for t, n in enumerate(lines.n):
        change = np.einsum("bpd,bds->sbp", a, lines.gain[:, t])  # sums along the first axis are the fastest
        change += _log_share(lines)[:, t].T[..., None]  # before the exponential: all may be in states far away
        top = change.max(axis=0)
        change -= top
        np.exp(change, out=change)
        found -= n * (np.log(change.sum(axis=0)) + top)
    if lines.node_rate.any():
        moved = lines.node[:, None] + np.einsum("bgnd,bpd->bpgn", lines.node_rate, a)
        found += (_log_node(priors, lines, moved) - _log_node(priors, lines, lines.node[:, None])).sum(axis=(2, 3))
    if lines.base_rate.any():
        moved = lines.base[:, None] + np.einsum("bkd,bpd->bpk", lines.base_rate, a)
        own, k = (priors.baseline, 0.0, lines.base_precision), moved.shape[2]
        found += log_slab_densities(*own, (moved**2).sum(axis=2), k)
        found -= log_slab_densities(*own, (lines.base**2).sum(axis=1, keepdims=True), k)
    return found


def _log_share(lines: _Lines) -> np.ndarray:
    """Return the logs of the probabilities of the states of the ends, of which some may be 0."""
    with np.errstate(divide="ignore"):
        return np.log(lines.share)


def _log_node(priors: _Priors, lines: _Lines, x: np.ndarray) -> np.ndarray:
    """Return the log prior of parameters of nodes; the factor exp(tilt x) of a logistic-beta prior counts as data."""
    if priors.baseline.logistic > 0:
        return -priors.baseline.logistic * np.logaddexp(0.5 * x, -0.5 * x)
    found: np.ndarray = -0.5 * lines.node_precision[:, None] * x**2
    return found


def _newton(lines: _Lines, priors: _Priors, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return slope and curvature of the log integrand at a (B, D), with a parabola below the log of each slab."""
    d = a.shape[1]
    own = _slope(priors.slab, lines.precision, (a**2).sum(axis=1, keepdims=True), d)
    slope, curvature = lines.score - own * a, own[..., None] * np.eye(d)
    change = np.einsum("bd,bgds->bgs", a, lines.gain) + _log_share(lines)
    p = np.exp(change - change.max(axis=2, keepdims=True))
    p /= p.sum(axis=2, keepdims=True)
    mean = np.einsum("bgs,bgds->bgd", p, lines.gain)
    away = lines.gain - mean[..., None]
    slope = slope - np.einsum("g,bgd->bd", lines.n, mean)
    curvature = curvature + np.einsum("g,bgs,bgds,bges->bde", lines.n, p, away, away)
    x = lines.node + np.einsum("bgnd,bd->bgn", lines.node_rate, a)
    if (beta := priors.baseline.logistic) > 0:
        half = np.tanh(0.5 * x)
        pull, stiff = 0.5 * beta * half, 0.25 * beta * (1 - half**2)
    else:
        pull, stiff = lines.node_precision * x, lines.node_precision
    slope = slope - np.einsum("bgn,bgnd->bd", pull, lines.node_rate)
    curvature = curvature + np.einsum("bgn,bgnd,bgne->bde", stiff, lines.node_rate, lines.node_rate)
    if lines.base_rate.any():
        b = lines.base + np.einsum("bkd,bd->bk", lines.base_rate, a)
        stiff = _slope(priors.baseline, lines.base_precision, (b**2).sum(axis=1, keepdims=True), b.shape[1])
        slope = slope - stiff * np.einsum("bk,bkd->bd", b, lines.base_rate)
        curvature = curvature + stiff[..., None] * np.einsum("bkd,bke->bde", lines.base_rate, lines.base_rate)
    return slope, curvature


def _mode(lines: _Lines, priors: _Priors) -> tuple[np.ndarray, np.ndarray]:
    """Return a mode of the integrand, (B, D), and the curvature there, by Newton's method with halved steps.

    Slabs away from 0 count without their factor of the size, which is 0 at 0.
    """
    slab, baseline = (prior._replace(power=0.0) for prior in (priors.slab, priors.baseline))
    priors = priors._replace(slab=slab, baseline=baseline)
    a = np.zeros(lines.score.shape)
    value = _log_density(lines, priors, a[:, None])[:, 0]
    for _ in range(_STEPS):
        slope, curvature = _newton(lines, priors, a)
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        open_ = np.einsum("bd,bde,be->b", step, curvature, step) > _NEAR**2
        for _ in range(_HALVINGS):
            new = _log_density(lines, priors, (a + step)[:, None])[:, 0]
            worse = open_ & ~(new >= value)
            if not worse.any():
                break
            step[worse] *= 0.5
        better = open_ & (new >= value)
        if not better.any():
            break
        a[better], value[better] = (a + step)[better], new[better]
    return a, _newton(lines, priors, a)[1]


def _variance(lines: _Lines, a: np.ndarray) -> np.ndarray:
    """Return the variance, times the number of chains, of the log ratio of likelihoods at a and without the edge."""
    change = np.einsum("bd,bgds->bgs", a, lines.gain) + _log_share(lines)
    p = np.exp(change - change.max(axis=2, keepdims=True))
    away = p / p.sum(axis=2, keepdims=True) - lines.share
    seen = np.where(lines.cells > 0, lines.cells, np.inf)
    found: np.ndarray = np.einsum("g,bgs->b", lines.n**2, away**2 / seen)
    return found


def _quadrature(lines: _Lines, priors: _Priors, mode: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the log integrals along lines of one coordinate, with more points where they do not suffice."""
    found, left = np.empty(len(mode)), np.arange(len(mode))
    n = N_POINTS - 1
    while len(left):
        t = np.linspace(-_REACH, _REACH, n + 1)
        some = _Lines(*(x if name == "n" else x[left] for name, x in zip(_Lines._fields, lines, strict=True)))
        logs = np.concatenate([
            _log_density(some, priors, (mode[left] + scale[left] * np.sinh(part))[..., None])
            for part in np.array_split(t, -(-len(t) // N_POINTS))
        ], axis=1) + np.log(scale[left] * np.cosh(t) * (t[1] - t[0]))  # fmt: skip
        fine, coarse = np.logaddexp.reduce(logs, axis=1), np.logaddexp.reduce(logs[:, ::2], axis=1) + log(2)
        found[left] = fine
        n *= 4
        left = left[(np.abs(fine - coarse) > _CLOSE) & (n <= _MOST)]
    return found


def _points(rng: np.random.Generator, d: int) -> np.ndarray:
    """Draw points of a t of d coordinates and their opposites, (P, d)."""
    found = rng.standard_normal((_PAIRS, d)) / np.sqrt(rng.chisquare(_DF, size=(_PAIRS, 1)) / _DF)
    return np.concatenate([found, -found])


def _importance(lines: _Lines, priors: _Priors, mode: np.ndarray, curvature: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the log of an unbiased estimate of each integral, from the points of a t around the mode."""
    d = t.shape[1]
    root = np.linalg.cholesky(curvature)
    a = mode[:, None] + np.linalg.solve(root.swapaxes(1, 2)[:, None], t[None, ..., None])[..., 0]
    log_t = lgamma(0.5 * (_DF + d)) - lgamma(0.5 * _DF) - 0.5 * d * log(_DF * pi)
    log_t = log_t - 0.5 * (_DF + d) * np.log1p((t**2).sum(axis=1) / _DF)
    stretch = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    logs = _log_density(lines, priors, a) - log_t - stretch[:, None]
    found: np.ndarray = np.logaddexp.reduce(logs, axis=1) - log(len(t))
    return found
