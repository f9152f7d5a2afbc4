"""Blocks of nodes by brute force: every partition, with the prior summed over the number of components one by one.

Nothing of the package is used but the numbers in the prior.
"""

from functools import cache
from math import comb, exp, factorial, lgamma, log

import numpy as np
from scipy.special import betaln, logsumexp


@cache
def partitions(n):
    """All partitions of n items, as labels in the order of first appearance."""
    if n == 1:
        return ((0,),)
    return tuple((*first, label) for first in partitions(n - 1) for label in range(max(first) + 2))


@cache
def log_prior(labels, prior):
    """By hand: a sum over K of the probability that a Dirichlet-multinomial has these blocks; or the restaurant."""
    sizes, n, alpha = np.bincount(labels), len(labels), prior.concentration
    if prior.partition == "process":
        found, seen = 0.0, [0] * len(sizes)
        for i, c in enumerate(labels):
            found += log(seen[c] or alpha) - log(alpha + i)
            seen[c] += 1
        return found
    total = 0.0
    for k in range(len(sizes), 120):
        ways = comb(k, len(sizes)) * factorial(len(sizes))  # which components the blocks are
        p = exp((k - 1) * log(prior.rate) - prior.rate - lgamma(k))
        moment = lgamma(k * alpha) - lgamma(k * alpha + n) + sum(lgamma(alpha + s) - lgamma(alpha) for s in sizes)
        total += p * exp(log(ways) + moment)
    return log(total)


def log_joint(included, edges, prior):
    """Log probability of a structure and each partition; the partitions; the mean probability of an edge given both."""
    found, means, included = [], [], np.asarray(included, dtype=float)
    every = partitions(int(edges.max()) + 1)
    for labels in every:
        z = np.array(labels)[edges]
        pairs, where = np.unique(np.sort(z, axis=1), axis=0, return_inverse=True)
        where = where.ravel()
        m, n = np.bincount(where, included), np.bincount(where)
        of = [prior.within if r == s else prior.between for r, s in pairs]
        a, b = np.array([p.a for p in of]), np.array([p.b for p in of])
        found.append(log_prior(labels, prior) + (betaln(a + m, b + n - m) - betaln(a, b)).sum())
        means.append(((a + m) / (a + b + n))[where].mean())
    return np.array(found), np.array(every), np.array(means)


def given(included, edges, prior):
    """Return the probability of each partition given a structure."""
    found = log_joint(included, edges, prior)[0]
    return np.exp(found - logsumexp(found))


def mean_probability(included, edges, prior):
    """Posterior mean of the mean probability of a candidate."""
    return given(included, edges, prior) @ log_joint(included, edges, prior)[2]


def together(labels):
    """Whether pairs of nodes (..., n_pairs) share a block, and the shares of each number of blocks (..., n)."""
    labels = np.asarray(labels)
    u, v = np.triu_indices(labels.shape[-1], 1)
    number = labels.max(axis=-1)[..., None] == np.arange(labels.shape[-1])
    return np.concatenate([labels[..., u] == labels[..., v], number], axis=-1)
