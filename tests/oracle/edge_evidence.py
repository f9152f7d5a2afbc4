"""Bayes factors of edges, or differences, by the evidences of all structures; nothing of the package is used.

The evidence of a structure is the mean weight of draws of a t around the mode of its likelihood with a normal prior,
which Newton steps find: the likelihood is a sum over all states of exponential families.
"""

import itertools
from math import lgamma, log, pi
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import helmert
from scipy.special import softmax

from bayesmrf.priors import Beta, Normal
from tests.oracle import groups as groups_oracle
from tests.oracle import spike_slab as one_group

_DF = 6.0


class Problem(NamedTuple):
    """Coordinates x of natural parameters, of which those of an edge are absent together."""

    groups: list[Any]  # (n, sums (P,), features of all states (n_states, P)) of x
    edges: np.ndarray  # (m, K), places of the coordinates of each edge
    log_prior: Any  # function of those of the edges that exist, (S, k, K), and of all others, (S, R)
    precision: np.ndarray  # (P,), of normal priors, around whose mode draws are


def structures(m):
    return np.array(list(itertools.product((False, True), repeat=m)))


def products(x, edges, scores):
    """Features of states x: products of the scores of the ends, which may be several numbers, then those of nodes."""
    of_edges = [np.einsum("na,nb->nab", scores[x[:, u]], scores[x[:, v]]).reshape(len(x), -1) for u, v in edges]
    return np.concatenate(of_edges, axis=1)


def of_table(X, m, edges, prior, nominal=False):
    """The problem of one table of codes 0, ..., m - 1, without missing values."""
    scores = helmert(m).T / np.sqrt(2) if nominal else np.arange(m)[:, None]
    own = scores if nominal else np.eye(m)[:, 1:]
    states = np.array(list(itertools.product(range(m), repeat=X.shape[1])))

    def features(x):
        return np.concatenate([products(x, edges, scores), own[x].reshape(len(x), -1)], axis=1)

    def log_prior(weights, rest):
        slabs = groups_oracle.log_slab(weights, prior.slab) if nominal else of_scalars(weights[..., 0], prior)
        return slabs + one_group.log_normal(rest, prior.bias_scale).sum(axis=-1)

    places = np.arange(len(edges) * scores.shape[1] ** 2).reshape(len(edges), -1)
    precision = np.repeat([wide(prior.slab), prior.bias_scale**-2.0], [places.size, own.shape[1] * X.shape[1]])
    return Problem([(len(X), features(X).sum(axis=0), features(states))], places, log_prior, precision)


def of_groups(tables, edges, prior):
    """The problem of differences between two groups of yes/no columns, whose baselines are all present."""
    r, d = len(edges), tables[0].shape[1]
    states, groups = np.array(list(itertools.product((0, 1), repeat=d))), []
    for t, X in enumerate(tables):

        def features(x, t=t):
            pairs, nodes = products(x, edges, np.arange(2)[:, None]), np.zeros((len(x), 2, d))
            nodes[:, t] = x
            return np.concatenate([pairs, (t - 0.5) * pairs, nodes.reshape(len(x), -1)], axis=1)

        groups.append((len(X), features(X).sum(axis=0), features(states)))

    def log_prior(differences, rest):
        slabs = groups_oracle.log_slab(differences, prior.slab) + of_scalars(rest[:, :r], prior)
        return slabs + one_group.log_normal(rest[:, r:], prior.bias_scale).sum(axis=-1)

    precision = np.repeat([wide(prior.slab), prior.bias_scale**-2.0], [2 * r, 2 * d])
    return Problem(groups, r + np.arange(r)[:, None], log_prior, precision)


def wide(slab):
    return slab.scale**-2.0 if isinstance(slab, Normal) else 0.25


def of_scalars(weights, prior):
    return one_group.log_weights_prior(weights, prior) if weights.shape[-1] else np.zeros(len(weights))


def log_evidence(problem, there, rng, n_draws):
    """Log evidence of a structure, and its standard error."""
    own = problem.edges[there].ravel()
    kept = np.concatenate([own, np.setdiff1d(np.arange(len(problem.groups[0][1])), problem.edges)])
    groups, p = [(n, sums[kept], features[:, kept]) for n, sums, features in problem.groups], len(kept)
    mode, step = np.zeros(p), np.ones(p)
    while np.abs(step).max() > 1e-6:
        slope, curvature = -problem.precision[kept] * mode, np.diag(problem.precision[kept])
        for n, sums, features in groups:
            share = softmax(features @ mode)
            mean = share @ features
            slope += sums - n * mean
            curvature += n * ((share[:, None] * features).T @ features - np.outer(mean, mean))
        step = np.linalg.solve(curvature, slope)
        mode += step / max(1.0, np.abs(step).max())
    root = np.linalg.cholesky(curvature)
    z = rng.standard_normal((n_draws // 2, p)) / np.sqrt(rng.chisquare(_DF, size=(n_draws // 2, 1)) / _DF)
    x = mode + np.concatenate([z, -z]) @ np.linalg.inv(root)
    size = (z**2).sum(axis=1)
    log_t = lgamma((_DF + p) / 2) - lgamma(_DF / 2) - p / 2 * log(_DF * pi) + np.log(np.diag(root)).sum()
    logs = problem.log_prior(x[:, : len(own)].reshape(len(x), -1, problem.edges.shape[1]), x[:, len(own) :])
    logs -= np.tile(log_t - (_DF + p) / 2 * np.log1p(size / _DF), 2)
    for n, sums, features in groups:
        energy = x @ features.T
        top = energy.max(axis=1)
        logs += x @ sums - n * (np.log(np.exp(energy - top[:, None]).sum(axis=1)) + top)
    weights = np.exp(logs - logs.max())
    pairs = weights.reshape(2, -1).mean(axis=0)
    return logs.max() + log(pairs.mean()), pairs.std() / pairs.mean() / np.sqrt(len(pairs))


def log10_factors(problem, prior, rng, n_draws=2000):
    """Local and marginal log10 Bayes factor of each edge, (2, m), and their standard errors."""
    m = len(problem.edges)
    there = structures(m)
    logs, errors = np.array([log_evidence(problem, row, rng, n_draws) for row in there]).T
    own = np.array([one_group.log_structure(tuple(row.tolist()), prior) for row in there])
    p = prior.density.a / (prior.density.a + prior.density.b) if isinstance(prior.density, Beta) else prior.density
    found, error = np.empty((2, 2, m))
    for e in range(m):
        with_it = np.flatnonzero(there[:, e])
        without = with_it - 2 ** (m - 1 - e)
        for kind, odds in enumerate((own[without], own[with_it] - np.log(p / (1 - p)))):
            top, bottom = odds + logs[with_it], own[without] + logs[without]
            found[kind, e] = np.logaddexp.reduce(top) - np.logaddexp.reduce(bottom)
            each = np.concatenate([softmax(top) * errors[with_it], softmax(bottom) * errors[without]])
            error[kind, e] = np.sqrt((each**2).sum())
    return found / np.log(10), error / np.log(10)
