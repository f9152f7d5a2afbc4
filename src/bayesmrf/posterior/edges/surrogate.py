r"""A quadratic surrogate of the log likelihood, in coordinates in which the parameters of nodes follow edges.

With banks of states at :math:`\theta_0` (`bayesmrf.states.bank`) the log likelihood is

.. math:: \sum_g n_g \big[\delta_g \cdot (\bar s_g - \mu_g) - \tfrac12 \delta_g^\top V_g \delta_g - R_g(\delta_g)\big]

over groups of people, with :math:`\delta_g` linear in the coordinates: weights w of units (the baseline of an edge, or
its difference between groups) and parameters t of nodes. The surrogate has a quadratic function in place of each R, of
which slope and Hessian are the means of those of R over the posterior: of all quadratic functions it is the nearest in
the sense of Kullback and Leibler (Opper and Archambeau 2009). Given w, it is normal in

.. math:: t = c - A w + L^{-\top} \xi,

and integrating out :math:`\xi` leaves a quadratic function of w, :math:`g \cdot w - \tfrac12 w^\top Q w`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ...states.bank import Bank, features_of
from ..conditionals.group_lines import BASELINE, DIFFERENCE, GroupProblem

_CLOSE = 0.15  # correlation of two weights in the surrogate, from which their edges are swapped
_RARELY, _OFTEN = 0.05, 4.0  # how often an edge is visited: the least, and over the share of draws with it
_LISTED = 20  # times that an edge is listed that is visited most
_LEVELS = 127  # of the numbers in a table


class Coordinates(NamedTuple):
    """What units there are, and the places of their weights, and of the parameters of nodes, in phi."""

    first: np.ndarray  # (n_units + 1,), of the weights of each unit
    part: np.ndarray  # (n_units,), baseline or difference
    element: np.ndarray  # (n_units,), its edge, or the parameter of a node
    order: np.ndarray  # (V,) in phi (`bayesmrf.posterior.edges.differences.group_maps`), of w and then of t
    nodes: np.ndarray  # (T,) features that the parameters of nodes belong to
    maps: np.ndarray  # (G, F, V), natural parameters of each group from w and t


class Surrogate(NamedTuple):
    """Arrays of compiled code, for W weights, T parameters of nodes, and V = W + T."""

    first: np.ndarray
    part: np.ndarray
    element: np.ndarray
    free: np.ndarray  # (n_units,) bool, whether it may be absent, and may exist
    at: np.ndarray  # (W,), weights at theta_0
    slope: np.ndarray  # (W,), g of weights less those
    hessian: np.ndarray  # (W, W), Q
    offset: np.ndarray  # (T,), c where the weights are ``at``
    gain: np.ndarray  # (T, W), A
    lower: np.ndarray  # (T, T), L
    inverse: np.ndarray  # (T, T), transposed inverse of L
    apart: np.ndarray  # (V,), slope at ``at`` and xi = 0 by which the quadratic part of the log target is steeper
    curve: np.ndarray  # (V, V), its second derivatives, relative to the surrogate
    node_prior: np.ndarray  # (3, T), centre, slope and curvature of its quadratic in the surrogate
    visit: np.ndarray  # units, each as many times as it is visited, relative to others
    rivals: np.ndarray  # (n_pairs, 2), units of one weight that are swapped


class Tables(NamedTuple):
    """Log densities of the states of the banks as functions of the weights and xi."""

    rows: np.ndarray  # (G, V, m) int8
    scale: np.ndarray  # (G, V) float32, of a row
    base: np.ndarray  # (G, m) float32, at w = 0 and xi = 0
    n: np.ndarray  # (G,), observations


class Tilt(NamedTuple):
    """Slope and Hessian of the quadratic function that stands for R of a group."""

    slope: np.ndarray
    hessian: np.ndarray


def coordinates_of(problem: GroupProblem) -> Coordinates:
    """Return the coordinates of the weights and parameters of nodes of all groups."""
    (n_groups, k), s, places = problem.contrast.shape, problem.n_spiked, problem.places
    n_features, r = problem.lines.sums.shape[-1], int(problem.places[problem.n_edges])
    n_free = n_features - s
    maps = np.zeros((n_groups, n_features, k * s + n_groups * n_free))
    for g in range(n_groups):
        for j in range(k):
            maps[g, :s, j * s : j * s + s] = problem.contrast[g, j] * np.eye(s)
        first = k * s + g * n_free
        maps[g, s:, first : first + n_free] = np.eye(n_free)
    of_units = [(BASELINE, e) for e in range(problem.n_edges)]
    of_units += [(DIFFERENCE, e) for e in range(len(places) - 1)] if k > 1 else []
    each = []
    for part, e in of_units:
        parameters = np.arange(places[e], places[e + 1])
        differences = [j * s + parameters for j in range(1, k)]
        each.append(parameters if part == BASELINE else np.concatenate(differences))
    nodes = np.concatenate([np.arange(r, s), k * s + np.arange(n_groups * n_free)])
    order = np.concatenate([*each, nodes])
    features = np.concatenate([np.arange(r, s), np.tile(np.arange(s, n_features), n_groups)])
    parts, elements = np.array(of_units, np.int64).reshape(-1, 2).T.copy()
    first = np.append(0, np.cumsum([len(parameters) for parameters in each]))
    return Coordinates(first, parts, elements, order, features, np.ascontiguousarray(maps[:, :, order]))


def surrogate_of(
    problem: GroupProblem,
    coordinates: Coordinates,
    banks: Sequence[Bank],
    s_bar: np.ndarray,
    at: np.ndarray,
    share: np.ndarray,
    tilts: Sequence[Tilt] | None = None,
) -> Surrogate:
    """Return the surrogate for data of mean statistics ``s_bar`` (G, F).

    Parameters
    ----------
    at : (V,) array
        Weights and parameters of nodes of the banks.
    share : (n_units,) array
        Of draws with each unit.
    tilts : sequence of Tilt, optional
        Of each group; None for 0.
    """
    n_weights, maps, n = int(coordinates.first[-1]), coordinates.maps, problem.lines.n
    w, t = slice(n_weights), slice(n_weights, None)
    scale, free = problem.scales[coordinates.nodes], np.isfinite(_log_odds(problem, coordinates))
    node_prior = _node_prior(problem, scale, at[t])
    slope, full = quadratic_of(problem, coordinates, banks, s_bar)
    apart, more = np.zeros(len(at)), np.zeros((len(at), len(at)))
    for g, tilt in enumerate(tilts or ()):
        apart += n[g] * maps[g].T @ tilt.slope
        more += n[g] * maps[g].T @ tilt.hessian @ maps[g]
    slope[t] += node_prior[1]
    full[t, t] += np.diag(node_prior[2])
    full, more = 0.5 * (full + full.T), 0.5 * (more + more.T)  # of float32, which differ in their last bits
    if np.linalg.eigvalsh(full + more)[0] <= 0:  # slopes of few draws, which a surrogate need not have
        more[:] = 0.0
    slope, full = slope - apart, full + more
    lower = np.linalg.cholesky(full[t, t])
    inverse = solve_triangular(lower, np.eye(len(lower)), lower=True).T if len(lower) else lower
    of_nodes = inverse @ inverse.T
    gain, offset = of_nodes @ full[t, w], of_nodes @ slope[t]
    half = inverse.T @ full[t, w]
    hessian = full[w, w] - half.T @ half
    moved, shift = np.zeros((len(at), len(at))), np.zeros(len(at))
    moved[w, w], moved[t, w], moved[t, t], shift[t] = np.eye(n_weights), -gain, inverse, offset
    n_values, curve = np.diff(coordinates.first), moved.T @ more @ moved
    often = np.where(free, visit_share(share), _log_odds(problem, coordinates) > 0)
    size = np.sqrt(hessian.diagonal().clip(min=1e-300))
    close = np.abs(hessian / np.outer(size, size)) > _CLOSE
    single = np.repeat(free & (n_values == 1), n_values)
    unit_of = np.repeat(np.arange(len(n_values)), n_values)
    rivals = unit_of[np.argwhere(np.triu(close, 1) & np.outer(single, single))]
    listed = np.repeat(np.arange(len(often)), np.ceil(_LISTED * often).astype(int))
    return Surrogate(
        coordinates.first, coordinates.part, coordinates.element, free, at[w].copy(), slope[w] - full[w, t] @ offset,
        np.ascontiguousarray(hessian), at[t] + offset, np.ascontiguousarray(gain), lower,
        np.ascontiguousarray(inverse), moved.T @ (apart + more @ shift), 0.5 * (curve + curve.T),
        node_prior, listed, np.ascontiguousarray(rivals.reshape(-1, 2)),
    )  # fmt: skip


def quadratic_of(
    problem: GroupProblem, coordinates: Coordinates, banks: Sequence[Bank], s_bar: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return slope (V,) and minus the Hessian (V, V) of the log likelihood at the theta of the banks."""
    slope, size = np.zeros(len(coordinates.order)), len(coordinates.order)
    full = np.zeros((size, size))
    for bank, n, maps, s in zip(banks, problem.lines.n, coordinates.maps, s_bar, strict=True):
        slope += n * maps.T @ (s - bank.mean)
        full += n * maps.T @ bank.covariance @ maps
    return slope, full


def visit_share(share: np.ndarray) -> np.ndarray:
    """Return how often units are visited that are in this share of draws."""
    return np.minimum(1.0, _RARELY + _OFTEN * share)


def _log_odds(problem: GroupProblem, coordinates: Coordinates) -> np.ndarray:
    """Return infinity for each unit that always exists, minus infinity for one that never does, and 0 for others."""
    odds = np.full(len(coordinates.part), np.inf)
    for u, (part, e) in enumerate(zip(coordinates.part, coordinates.element, strict=True)):
        prior = problem.baseline if part == BASELINE else problem.prior
        if (part == DIFFERENCE and e < problem.n_absent) or (part == BASELINE and prior.fixed < 1):
            odds[u] = 0.0 if prior.free[e] else prior.log_odds[e]
    return odds


def _node_prior(problem: GroupProblem, scale: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return centre, slope and curvature of the log prior of the parameters of nodes there."""
    prior = problem.baseline
    if prior.logistic > 0:
        half = np.tanh(at / 2)
        return np.stack([at, prior.tilt - 0.5 * prior.logistic * half, 0.25 * prior.logistic * (1 - half**2) + 1e-6])
    return np.stack([at, -scale * at, scale])


def tables_of(model: Any, coordinates: Coordinates, banks: Sequence[Bank], surrogate: Surrogate, n: Any) -> Tables:
    """Return the log densities of the states of the banks, with rows of `_LEVELS` steps either side of 0."""
    n_weights, size = len(surrogate.at), len(coordinates.order)
    moved, start = np.zeros((size, size)), np.zeros(size)
    moved[:n_weights, :n_weights] = np.eye(n_weights)
    moved[n_weights:, :n_weights], moved[n_weights:, n_weights:] = -surrogate.gain, surrogate.inverse
    start[n_weights:] = surrogate.offset - surrogate.node_prior[0]
    start -= moved[:, :n_weights] @ surrogate.at
    m = len(banks[0].states)
    rows, scale = np.empty((len(banks), size, m), np.int8), np.empty((len(banks), size), np.float32)
    base = np.empty((len(banks), m), np.float32)
    for g, bank in enumerate(banks):
        f = centred_features(model, bank)
        base[g] = f @ (coordinates.maps[g] @ start).astype(np.float32)
        exact = (coordinates.maps[g] @ moved).T.astype(np.float32) @ f.T
        scale[g] = np.abs(exact).max(axis=1) / _LEVELS
        exact /= np.where(scale[g] > 0, scale[g], 1)[:, None]
        np.rint(exact, out=exact)
        rows[g] = exact
    return Tables(rows, scale, base, np.asarray(n, dtype=np.float64))


def centred_features(model: Any, bank: Bank) -> np.ndarray:
    """Return the features of the states of a bank less their mean, (m, F) float32."""
    f = np.concatenate(list(features_of(model, bank.states, bank.mean)))
    f -= f.mean(axis=0, dtype=np.float64).astype(np.float32)
    return f


def tilts_of(model: Any, coordinates: Coordinates, banks: Sequence[Bank], away: np.ndarray) -> list[Tilt]:
    """Return the quadratic function of each group whose slope and Hessian are the means of those of R.

    ``away`` (n, V) are draws of the weights and the parameters of nodes, less those of the banks.
    """
    return [_tilt(model, bank, away @ maps.T) for bank, maps in zip(banks, coordinates.maps, strict=True)]


def _tilt(model: Any, bank: Bank, delta: np.ndarray) -> Tilt:
    """Return the tilt of a group, whose states are read in parts, at draws of theta less that of the bank (n, F)."""
    n, centre, slim = len(bank.states), bank.mean, delta.T.astype(np.float32)
    top, total, first = np.full(len(delta), -np.inf), np.zeros(len(delta)), np.zeros(delta.shape[1])
    for f in features_of(model, bank.states, centre):
        top = np.maximum(top, (f @ slim).max(axis=0))
        first += f.sum(axis=0, dtype=np.float64)
    for f in features_of(model, bank.states, centre):
        total += np.exp(f @ slim - top.astype(np.float32)).sum(axis=0, dtype=np.float64)
    means, (alone, mixed) = np.zeros(delta.T.shape), np.zeros((2, delta.shape[1], delta.shape[1]))
    for f in features_of(model, bank.states, centre):
        weight = np.exp(f @ slim - (top + np.log(total)).astype(np.float32))
        means += f.T @ weight
        alone += f.T @ f
        mixed += (f.T * weight.mean(axis=1)) @ f
    mean = first / n
    alone, middle = alone / n - np.outer(mean, mean), delta.mean(axis=0)
    hessian = mixed - means @ means.T / len(delta) - alone
    return Tilt(means.mean(axis=1) - mean - alone @ middle - hessian @ middle, hessian)


def corrected(
    model: Any, coordinates: Coordinates, banks: Sequence[Bank], states: Sequence[np.ndarray], away: np.ndarray
) -> list[Bank]:
    """Return banks with the slope and the Hessian that R has, on average over draws, by all ``states`` of each group.

    The difference to those of their own states becomes a part of their means and covariances.
    """
    more = tilts_of(model, coordinates, [b._replace(states=x) for b, x in zip(banks, states, strict=True)], away)
    less = tilts_of(model, coordinates, banks, away)
    return [
        bank._replace(mean=bank.mean + a.slope - b.slope, covariance=bank.covariance + a.hessian - b.hessian)
        for bank, a, b in zip(banks, more, less, strict=True)
    ]
