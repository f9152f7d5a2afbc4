"""The posterior over all partitions of a few edges of nodes with many states, written from the definitions.

Z is a sum over all states, by the number of states in which each set of edges agrees (or is in each category).
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln, roots_legendre

from bayesmrf import partitions
from tests.oracle.potts import all_states
from tests.oracle.states import log_sum
from tests.oracle.symmetric import pairs


def log_crp(labels, alpha):
    sizes = np.bincount(labels)
    r = len(labels)
    return len(sizes) * np.log(alpha) + gammaln(sizes).sum() - (gammaln(alpha + r) - gammaln(alpha))


class Exact(NamedTuple):
    """Probabilities of the partitions, their standard errors, and means of theta (or of the agreements)."""

    p: np.ndarray
    error: np.ndarray
    means: np.ndarray
    is_natural: bool


def potts_posterior(graph, m, successes, n, alpha, a=1.0, b=1.0, points=40):
    """Partition probabilities and mean agreements without fields, by quadrature over the groups' agreements."""
    states, (u, v) = all_states(graph.n_nodes, m), graph.edges.T
    patterns, number = np.unique(states[:, u] == states[:, v], axis=0, return_counts=True)
    x, w = roots_legendre(points)
    x, w = (x + 1) / 2, w / 2
    found, means = [], []
    for labels in partitions.set_partitions(graph.n_edges):
        k, sizes = labels.max() + 1, np.bincount(labels)
        s = np.bincount(labels, successes)
        axes = np.meshgrid(*[np.arange(points)] * k, indexing="ij")
        log_f = sum((np.log(w) + (a - 1) * np.log(x) + (b - 1) * np.log1p(-x))[i] for i in axes)
        log_f = log_f + sum(s[c] * np.log(x)[i] + (sizes[c] * n - s[c]) * np.log1p(-x)[i] for c, i in enumerate(axes))
        z = 0.0
        for pattern, count in zip(patterns, number, strict=True):
            agree = np.bincount(labels, pattern, minlength=k)
            z = z + count * np.prod(
                [x[i] ** agree[c] * (1 - x[i]) ** (sizes[c] - agree[c]) for c, i in enumerate(axes)], axis=0
            )
        log_f = log_f - n * np.log(z)
        top = log_f.max()
        f = np.exp(log_f - top)
        log_prior = log_crp(labels, alpha) + k * (gammaln(a + b) - gammaln(a) - gammaln(b))
        found.append(log_prior + top + np.log(f.sum()))
        means.append(np.array([(f * x[i]).sum() / f.sum() for i in axes])[labels])
    p = np.exp(np.array(found) - log_sum(np.array(found)))
    return Exact(p, np.zeros(len(p)), p @ np.array(means), False)


def symmetric_posterior(model, s_bar, n, alpha, covariance, field_scale, rng, n_draws=6_000):
    """The same of potentials and fields, as `tied_posterior`."""
    graph, m = model.graph, model.n_states
    r, d_fields = graph.n_edges, len(s_bar) - graph.n_edges * len(pairs(m, model.fields))
    states = all_states(graph.n_nodes, m)
    columns = []
    for u, v in graph.edges:
        low, high = np.minimum(states[:, u], states[:, v]), np.maximum(states[:, u], states[:, v])
        columns += [(low == k) & (high == j) for k, j in pairs(m, model.fields)]
    if d_fields:
        columns += [states[:, i] == k for i in range(graph.n_nodes) for k in range(1, m)]
    labels = list(partitions.set_partitions(r))
    log_prior = [log_crp(row, alpha) for row in labels]
    features = np.array(columns, dtype=float).T
    return tied_posterior(features, labels, log_prior, s_bar, n, covariance, field_scale, rng, n_draws)


def tied_posterior(features, labels, log_prior, s_bar, n, covariance, field_scale, rng, n_draws=6_000):
    """Probabilities of ``labels`` of edges (-1 where one is absent), by importance sampling from a t at each mode.

    ``features`` (n_states, n_features) of all states are p of each edge, whose parameters have this covariance, then
    those of the nodes.
    """
    p, r = len(covariance), len(labels[0])
    d_fields = len(s_bar) - r * p
    s, number = np.unique(features, axis=0, return_counts=True)
    log_number = np.log(number)
    precision = np.linalg.inv(covariance)
    log_found, theta, share = [], [], []
    for row, log_of_labels in zip(labels, log_prior, strict=True):
        k = row.max() + 1
        spread = np.zeros((len(s_bar), k * p + d_fields))
        for i in np.flatnonzero(row >= 0):
            spread[i * p : i * p + p, row[i] * p : row[i] * p + p] = np.eye(p)
        spread[r * p :, k * p :] = np.eye(d_fields)
        weight = np.zeros((k * p + d_fields,) * 2)
        for c in range(k):
            weight[c * p : c * p + p, c * p : c * p + p] = precision
        weight[k * p :, k * p :] = np.eye(d_fields) / field_scale**2
        tied = s @ spread
        constant = 0.5 * (np.linalg.slogdet(weight)[1] - len(weight) * np.log(2 * np.pi)) + log_of_labels

        def log_density(y, tied=tied, spread=spread, weight=weight, constant=constant):
            log_z = log_sum(y @ tied.T + log_number)
            return n * (y @ (spread.T @ s_bar) - log_z) - 0.5 * ((y @ weight) * y).sum(axis=-1) + constant

        start = np.zeros(len(weight))
        mode = minimize(lambda y, f=log_density: -f(y), start, method="BFGS", options={"gtol": 1e-5}).x
        q = np.exp(mode @ tied.T + log_number - log_sum(mode @ tied.T + log_number))
        mean = q @ tied
        curvature = n * ((tied.T * q) @ tied - np.outer(mean, mean)) + weight
        lower, df = np.linalg.cholesky(curvature), 8.0
        z = rng.standard_normal((n_draws, len(mode))) / np.sqrt(rng.chisquare(df, (n_draws, 1)) / df)
        y = mode + np.linalg.solve(lower.T, z.T).T
        log_t = gammaln((df + len(mode)) / 2) - gammaln(df / 2) - 0.5 * len(mode) * np.log(df * np.pi)
        log_t += np.log(lower.diagonal()).sum() - 0.5 * (df + len(mode)) * np.log1p((z**2).sum(axis=1) / df)
        log_w = log_density(y) - log_t
        top = log_w.max()
        w = np.exp(log_w - top)
        log_found.append(top + np.log(w.mean()))
        share.append(w.std() / w.mean() / np.sqrt(n_draws))
        theta.append((w @ y / w.sum()) @ spread.T)
    p_found = np.exp(np.array(log_found) - log_sum(np.array(log_found)))
    return Exact(p_found, p_found * np.array(share), p_found @ np.array(theta), True)
