"""Which edges exist and which of them share a value, by brute force: every structure with every partition of its edges.

Nothing of the package is used but the enumeration of states in `states.py`. A pair (structure, partition) is a tuple
of labels, one for each candidate edge: -1 where there is no edge, else 0, 1, ... by first appearance. The probability
of existing is integrated out in closed form, the groups' values by Gauss-Hermite quadrature on the logit scale, centred
at the mode and scaled by the curvature.
"""

from math import lgamma, log
from typing import NamedTuple

import numpy as np
from numpy.polynomial.hermite import hermgauss
from scipy.special import xlogy

from tests.oracle.states import all_states

NONE = -1


class Posterior(NamedTuple):
    """All pairs in lexicographic order, their probabilities, and posterior means."""

    labels: np.ndarray  # (n_pairs, m)
    probability: np.ndarray  # (n_pairs,)
    log_marginal: np.ndarray  # (n_pairs,) log of the likelihood with values integrated out
    agreement: np.ndarray  # (m,), 1/2 where there is no edge
    included: np.ndarray  # (m,)
    density: float


def structures(m):
    """Labels of all structures on m candidate edges with all partitions of their edges, in lexicographic order."""
    found = [()]
    for _ in range(m):
        found = [(*head, label) for head in found for label in range(NONE, max(head, default=NONE) + 2)]
    return np.array(found).reshape(len(found), m)


def canonical(labels):
    """Labels by first appearance, for rows (..., m) in which a negative label is no edge."""
    labels = np.asarray(labels)
    out = np.full(labels.shape, NONE)
    for place in np.ndindex(labels.shape[:-1]):
        seen = {}
        for e, label in enumerate(labels[place]):
            if label >= 0:
                out[(*place, e)] = seen.setdefault(label, len(seen))
    return out


def log_prior(labels, alpha, density):
    """Log prior probability of each pair: Beta-binomial (or binomial) edges, a Chinese restaurant over those."""
    m = labels.shape[1]
    pairs = [(int((row >= 0).sum()), row[row >= 0]) for row in labels]
    return np.array([log_structure(k, m, density) + log_restaurant(groups, alpha) for k, groups in pairs])


def log_structure(k, m, density):
    """Log prior probability of one structure with k of m edges; ``density`` is (a, b), or fixed."""
    if isinstance(density, tuple):
        a, b = density
        return _log_beta(a + k, b + m - k) - _log_beta(a, b)
    return xlogy(k, density) + xlogy(m - k, 1 - density)


def log_restaurant(labels, alpha):
    """Log probability of a partition under the Chinese restaurant process."""
    sizes = [int((labels == label).sum()) for label in set(labels.tolist())]
    return len(sizes) * log(alpha) + sum(map(lgamma, sizes)) - lgamma(alpha + len(labels)) + lgamma(alpha)


def posterior(n_nodes, edges, successes, n, alpha, density, base=(1.0, 1.0), points=12):
    """The exact posterior.

    Parameters
    ----------
    n_nodes, edges : int, (m, 2) array
        Candidate edges.
    successes : (m,) array
        Observations in which the ends of each agree, of ``n``.
    alpha : float
    density : (a, b) or float
    base : (a, b)
    points : int
        Of the quadrature, for each group.
    """
    m = len(edges)
    labels = structures(m)
    states = all_states(n_nodes)[: 2 ** (n_nodes - 1)]  # the others are these with all nodes flipped
    agrees = np.array([states[:, u] == states[:, v] for u, v in edges], dtype=float).T
    log_marginal, means = np.empty(len(labels)), np.full((len(labels), m), 0.5)
    for i, row in enumerate(labels):
        there = row >= 0
        member = (row[there, None] == np.arange(row.max() + 1)).astype(float)
        log_marginal[i], values = integrate(agrees[:, there] @ member, successes[there] @ member, n, base, points)
        means[i, there] = member @ values
    log_p = log_prior(labels, alpha, density) + log_marginal
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    n_edges = (labels >= 0).sum(axis=1)
    mean_density = (density[0] + p @ n_edges) / (sum(density) + m) if isinstance(density, tuple) else density
    return Posterior(labels, p, log_marginal, p @ means, p @ (labels >= 0), float(mean_density))


def integrate(agrees, successes, n, base, points):
    """Log of the integral over k values t of exp(t . successes - n log Z(t)) under logits of Beta(a, b), and the mean
    agreement of each.

    ``agrees`` (n_states, k) counts the edges of each group that agree; Z is relative to its value at t = 0.
    """
    a, b = base
    k = len(successes)
    if k == 0:
        return 0.0, np.zeros(0)
    mode, root = _mode(agrees, successes, n, a, b)
    z, w = hermgauss(points)
    z, log_w = np.sqrt(2) * z, np.log(w) + z**2 + log(2) / 2

    # Axis j of a grid belongs to z_j; t_c = mode_c + sum_{j <= c} root_cj z_j varies along the first c axes only.
    def along(j, values):
        return values.reshape((-1,) + (1,) * (k - 1 - j))

    grids = []
    for c in range(k):
        t = np.full((1,) * k, mode[c])
        for j in range(c + 1):
            t = t + along(j, root[c, j] * z)
        grids.append(t)
    # Weights of a state are products over the axes: two halves of them, then a product of matrices.
    slopes = agrees @ root
    halves = []
    for part in (range(k // 2), range(k // 2, k)):
        log_f = np.zeros((1, len(agrees)))
        for j in part:
            log_f = (log_f[:, None, :] + np.multiply.outer(z, slopes[:, j])[None]).reshape(-1, len(agrees))
        halves.append(log_f)
    start = agrees @ mode
    tops = [log_f.max() for log_f in halves]
    weights = np.exp(halves[0] - tops[0]) @ (np.exp(halves[1] - tops[1]) * np.exp(start - start.max())).T
    log_z = np.log(weights.reshape((points,) * k)) + sum(tops) + start.max() - log(len(agrees))
    log_f = -n * log_z
    for c, t in enumerate(grids):
        log_f = log_f + (a + successes[c]) * t - (a + b) * np.logaddexp(0, t) + along(c, log_w)
    top = log_f.max()
    f = np.exp(log_f - top)
    total = f.sum()
    means = np.empty(k)
    for c in reversed(range(k)):
        means[c] = (f * _sigmoid(grids[c].reshape(f.shape))).sum() / total
        f = f.sum(axis=-1)
    return top + log(total) + np.log(np.diag(root)).sum() - k * _log_beta(a, b), means


def _mode(agrees, successes, n, a, b):
    """Where the integrand is greatest, by Newton's method, and a root of the inverse curvature there."""
    t = np.zeros(len(successes))

    def value(t):
        log_z = np.logaddexp.reduce(agrees @ t) - log(len(agrees))
        return (a + successes) @ t - n * log_z - (a + b) * np.logaddexp(0, t).sum()

    for _ in range(100):
        log_p = agrees @ t
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        q, mean = _sigmoid(t), p @ agrees
        slope = a + successes - n * mean - (a + b) * q
        centred = agrees - mean
        curvature = n * (centred.T * p) @ centred + np.diag((a + b) * q * (1 - q))
        step = np.linalg.solve(curvature, slope)
        while value(t + step) < value(t) - 1e-9:
            step = step / 2
        t = t + step
        if np.abs(step).max() < 1e-8:
            break
    return t, np.linalg.cholesky(np.linalg.inv(curvature))


def _sigmoid(t):
    return 1 / (1 + np.exp(-t))


def _log_beta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)
