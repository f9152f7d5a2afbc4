"""The posterior of groups, edges that may be absent and groups of fields, from the definitions, for any model.

Every structure with every partition of its edges, and every partition of the nodes where fields are grouped, has its
values integrated out by importance sampling from Student's t at its mode. Z is a sum over all states. Nothing of the
package is used but its enumeration of partitions.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from bayesmrf import partitions
from tests.oracle.grouped_spike import log_restaurant, log_structure, structures
from tests.oracle.potts import all_states
from tests.oracle.states import log_sum
from tests.oracle.symmetric import pairs

FIELD_SD = 10.0
_DF = 8.0


class Problem(NamedTuple):
    """A model by name, its graph, and the prior: Beta(a, b) of an agreement, or a covariance of a table's entries."""

    name: str
    n_nodes: int
    edges: list
    n_states: int
    fields: object  # False, True or "grouped"
    alpha: float
    base: object
    density: object  # (a, b), or None where every edge exists

    @property
    def p(self):
        return len(pairs(self.n_states, bool(self.fields))) if self.name == "symmetric" else 1

    @property
    def q(self):
        """Parameters of a node's field."""
        return self.n_states - 1 if self.fields else 0


class Posterior(NamedTuple):
    """Labels of the edges and of the nodes, probabilities with standard errors, and means of theta."""

    edges: np.ndarray
    nodes: np.ndarray
    p: np.ndarray
    error: np.ndarray
    means: np.ndarray


def features(problem):
    """Values of all statistics in all states, (n_states^n_nodes, n_features)."""
    m, states = problem.n_states, all_states(problem.n_nodes, problem.n_states)
    columns = []
    for u, v in problem.edges:
        low, high = np.minimum(states[:, u], states[:, v]), np.maximum(states[:, u], states[:, v])
        if problem.name == "symmetric":
            columns += [(low == k) & (high == j) for k, j in pairs(m, bool(problem.fields))]
        else:
            of = {"ordinal": low * high, "boltzmann": low * high, "neighbours": high == low + 1}
            columns.append(of.get(problem.name, low == high))
    if problem.fields and problem.name == "agreement":
        columns += [2 * states[:, i] - 1 for i in range(problem.n_nodes)]
    elif problem.fields:
        columns += [states[:, i] == k for i in range(problem.n_nodes) for k in range(1, m)]
    return np.array(columns, dtype=float).T


def posterior(problem, s_bar, n, rng, n_draws=2000, rows=None):
    """The exact posterior, given mean statistics of n observations, or (``rows``) states of which -1 is missing."""
    r, p, q = len(problem.edges), problem.p, problem.q
    spiked = problem.density is not None
    edge_labels = structures(r) if spiked else np.array(list(partitions.set_partitions(r)))
    node_labels = (
        np.array(list(partitions.set_partitions(problem.n_nodes)))
        if problem.fields == "grouped"
        else np.arange(problem.n_nodes)[None]
    )
    s, number = np.unique(features(problem), axis=0, return_counts=True)
    every = all_states(problem.n_nodes, problem.n_states)
    seen = None
    if rows is not None:
        kinds, count = np.unique(rows, axis=0, return_counts=True)
        completions = [features(problem)[((every == row) | (row < 0)).all(axis=1)] for row in kinds]
        seen = list(zip(completions, count, strict=True))
    found = []
    for edges in edge_labels:
        log_edges = log_restaurant(edges[edges >= 0], problem.alpha)
        if spiked:
            log_edges += log_structure(int((edges >= 0).sum()), r, problem.density)
        for nodes in node_labels:
            log_nodes = log_restaurant(nodes, problem.alpha) if problem.fields == "grouped" else 0.0
            value = _integrate(problem, edges, nodes, s, number, s_bar, n, rng, n_draws, seen)
            found.append((edges, nodes, log_edges + log_nodes + value[0], value[1], value[2]))
    log_p = np.array([f[2] for f in found])
    w = np.exp(log_p - log_sum(log_p))
    assert p * r + q * problem.n_nodes == len(s_bar)
    return Posterior(
        np.array([f[0] for f in found]),
        np.array([f[1] for f in found]),
        w,
        w * np.array([f[3] for f in found]),
        w @ np.array([f[4] for f in found]),
    )


def _integrate(problem, edges, nodes, s, number, s_bar, n, rng, n_draws, seen):
    """Log of the integral over the values, its relative error, and the mean of theta."""
    p, q, r = problem.p, problem.q, len(edges)
    k, h = edges.max(initial=-1) + 1, (nodes.max() + 1 if q else 0)
    spread = np.zeros((len(s_bar), k * p + h * q))
    for i, c in enumerate(edges):
        if c >= 0:
            spread[i * p : i * p + p, c * p : c * p + p] = np.eye(p)
    for i, c in enumerate(nodes if q else []):
        rows, at = r * p + i * q, k * p + c * q
        spread[rows : rows + q, at : at + q] = np.eye(q)
    tied, d, log_number = s @ spread, spread.shape[1], np.log(number)
    fits = [] if seen is None else [((x @ spread).T, c) for x, c in seen]
    if not isinstance(problem.base, tuple):
        precision = np.kron(np.eye(k), np.linalg.inv(problem.base))
        log_normaliser = 0.5 * k * np.linalg.slogdet(2 * np.pi * problem.base)[1]

    def log_density(y):
        value = -n * log_sum(y @ tied.T + log_number)
        if seen is None:
            value = value + n * (y @ (spread.T @ s_bar))
        else:
            value = value + sum(c * log_sum(y @ x) for x, c in fits)
        e, f = y[..., : k * p], y[..., k * p :]
        if isinstance(problem.base, tuple):
            a, b = problem.base
            value = value - (a * np.logaddexp(0, -e) + b * np.logaddexp(0, e)).sum(axis=-1)
            value = value - k * (gammaln(a) + gammaln(b) - gammaln(a + b))
        else:
            value = value - 0.5 * ((e @ precision) * e).sum(axis=-1) - log_normaliser
        return value - 0.5 * (f**2).sum(axis=-1) / FIELD_SD**2 - h * q * 0.5 * np.log(2 * np.pi * FIELD_SD**2)

    if d == 0:
        return float(log_density(np.zeros(0))), 0.0, np.zeros(len(s_bar))
    mode = minimize(lambda y: -log_density(y), np.zeros(d), method="BFGS", options={"gtol": 1e-4}).x
    weight = np.exp(mode @ tied.T + log_number - log_sum(mode @ tied.T + log_number))
    mean = weight @ tied
    curvature = n * ((tied.T * weight) @ tied - np.outer(mean, mean))
    if isinstance(problem.base, tuple):
        e = 1 / (1 + np.exp(-mode[: k * p]))
        curvature[: k * p, : k * p] += np.diag(sum(problem.base) * e * (1 - e))
    else:
        curvature[: k * p, : k * p] += precision
    curvature[k * p :, k * p :] += np.eye(h * q) / FIELD_SD**2
    # What is missing makes the posterior wider than it is with the whole table.
    lower = np.linalg.cholesky(curvature) / (1.0 if seen is None else 1.4)
    z = rng.standard_normal((n_draws, d)) / np.sqrt(rng.chisquare(_DF, (n_draws, 1)) / _DF)
    y = mode + np.linalg.solve(lower.T, z.T).T
    log_t = gammaln((_DF + d) / 2) - gammaln(_DF / 2) - 0.5 * d * np.log(_DF * np.pi)
    log_t = log_t + np.log(lower.diagonal()).sum() - 0.5 * (_DF + d) * np.log1p((z**2).sum(axis=1) / _DF)
    log_w = log_density(y) - log_t
    w = np.exp(log_w - log_w.max())
    error = w.std() / w.mean() / np.sqrt(n_draws)
    return log_w.max() + np.log(w.mean()), error, spread @ (w @ y / w.sum())
