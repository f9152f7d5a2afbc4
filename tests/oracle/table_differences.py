"""The probability that groups differ in the table of an edge, by two importance samplers, without the package.

Two nodes without order, each with m categories, have K = (m - 1)^2 parameters of their edge in each of G groups. If the
groups differ, the parameters of a group are proposed as log odds of a Dirichlet variable: the counts of the group plus
some that follow the fit of equal edges, in several amounts. The likelihood then cancels, but for a ratio of priors.
"""

import itertools
from math import log, pi, sqrt

import numpy as np
from scipy.linalg import helmert
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_t

_SHRINKAGE = (1.0, 8.0, 25.0, 70.0, 200.0)  # observations that follow the fit of equal edges


def features(m):
    """Products of contrasts, then contrasts of each node, of all cells, (m^2, m^2 - 1)."""
    y = helmert(m) / sqrt(2)
    cells = itertools.product(range(m), repeat=2)
    return np.array([np.concatenate([np.outer(y[:, a], y[:, b]).ravel(), y[:, a], y[:, b]]) for a, b in cells])


def log_slab(squares, n, power, taper):
    """Log density of a slab of scale 1 of n parameters, with the normal factor of standard deviation ``taper``."""
    t = np.linspace(-12, 10, 4000)
    shell = np.exp((n + power) * t - (n + 1 + power) / 2 * np.log1p(np.exp(2 * t)) - np.exp(2 * t) / 2 / taper**2)
    total = log(np.trapezoid(shell, t)) + log(2) + n / 2 * log(pi) - gammaln(n / 2)
    return power / 2 * np.log(squares) - (n + 1 + power) / 2 * np.log1p(squares) - squares / 2 / taper**2 - total


def log_normal(x):
    """Log density of biases, (..., n)."""
    return -0.5 * (x**2).sum(axis=-1) / 100 - x.shape[-1] * log(10 * sqrt(2 * pi))


def simulate(rng, n, m, spread):
    """Counts of the cells in each group of n people, (G, m^2), whose edges differ by ``spread``."""
    f, k = features(m), (m - 1) ** 2
    common = rng.normal(0, 0.6, k)
    theta = [np.concatenate([common + rng.normal(0, spread, k), rng.normal(0, 0.7, 2 * (m - 1))]) for _ in n]
    p = [np.exp(f @ t) for t in theta]
    return np.array([rng.multinomial(size, x / x.sum()) for size, x in zip(n, p, strict=True)])


def probability(counts, rng, power, taper, n_equal=20_000, n_apart=200_000):
    """Return P(differ) under prior odds of 1, and the standard error of its logit."""
    n_groups, m = len(counts), round(sqrt(counts.shape[1]))
    f, k, q = features(m), (m - 1) ** 2, len(counts) - 1
    equal, fit = _equal(counts, f, k, rng, power, taper, n_equal)
    back, jacobian = np.linalg.pinv(f), np.linalg.slogdet(f[:-1] - f[-1])[1]
    alphas, logs = [counts + 0.3 + s * fit for s in _SHRINKAGE], []
    for alpha in alphas:
        n = n_apart // len(alphas)
        w, log_p, proposed = np.empty((n_groups, n, k)), np.zeros(n), np.zeros((len(alphas), n))
        for g in range(n_groups):
            cells = np.log(rng.standard_gamma(alpha[g], size=(n, m * m)))
            cells -= np.logaddexp.reduce(cells, axis=1, keepdims=True)
            theta = cells @ back.T
            w[g] = theta[:, :k]
            log_p += cells @ counts[g] + log_normal(theta[:, k:])
            for own, a in zip(proposed, alphas, strict=True):
                own += gammaln(a[g].sum()) - gammaln(a[g]).sum() + cells @ a[g] + jacobian
        # Baseline and difference have a linear map to the parameters of the groups, with this determinant.
        log_p -= k / 2 * (log(n_groups) - q * log(2))
        mean = w.mean(axis=0)
        log_p += log_slab((mean**2).sum(axis=1), k, power, taper(k, power))
        log_p += log_slab(2 * ((w - mean) ** 2).sum(axis=(0, 2)), q * k, power, taper(q * k, power))
        logs.append(log_p - logsumexp(proposed, axis=0) + log(len(alphas)))
    apart = np.concatenate(logs)
    (a, error_a), (b, error_b) = _log_mean(apart), _log_mean(equal)
    return 1 / (1 + np.exp(b - a)), sqrt(error_a**2 + error_b**2)


def _equal(counts, f, k, rng, power, taper, n_draws):
    """Log weights if the edge is the same in all groups, and the fitted probabilities of cells."""
    n_groups, own = len(counts), f.shape[1] - k

    def thetas(x):
        return [np.concatenate([x[..., :k], x[..., k + g * own : k + (g + 1) * own]], -1) for g in range(n_groups)]

    def log_density(x):
        found = log_slab((x[..., :k] ** 2).sum(axis=-1), k, power, taper(k, power))
        for theta, seen in zip(thetas(x), counts, strict=True):
            energy = theta @ f.T
            found = found + energy @ seen - seen.sum() * np.logaddexp.reduce(energy, axis=-1)
            found = found + log_normal(theta[..., k:])
        return found

    mode = minimize(lambda x: -log_density(x), np.full(k + n_groups * own, 0.05), method="BFGS").x
    h = 1e-3 * np.eye(len(mode))
    plus, minus = log_density(mode + h[:, None] + h), log_density(mode + h[:, None] - h)
    curvature = -(plus + log_density(mode - h[:, None] - h) - minus - minus.T) / 4e-6
    around = multivariate_t(mode, 1.2 * np.linalg.inv((curvature + curvature.T) / 2), df=8, seed=rng)
    x, fit = around.rvs(n_draws), np.exp([f @ theta for theta in thetas(mode)])
    return log_density(x) - around.logpdf(x), fit / fit.sum(axis=1, keepdims=True)


def _log_mean(logs):
    """Log of the mean of weights, and its standard error."""
    weights = np.exp(logs - logs.max())
    return logs.max() + log(weights.mean()), weights.std() / weights.mean() / sqrt(len(logs))
