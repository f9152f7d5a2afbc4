"""First computation of panels whose people have intercepts of their own.

Importance sampling with scrambled Halton points in weights, slopes, log standard deviations and Fisher's z of the
correlation; intercepts of a person are integrated out by Gauss-Hermite quadrature.
"""

from __future__ import annotations

import itertools
from math import lgamma, log, pi

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.special import ndtri
from scipy.stats import chi2, qmc

N_NODES, N_POINTS, N_REPLICATES, _DF = 12, 1024, 16, 6.0
SCALES = ["sd A", "sd B"]
SLOPES = ["slope A>A", "slope A>B", "slope B>A", "slope B>B"]


class People:
    """Counts of answers of each person by the answers before, and the first answers."""

    def __init__(self, data: dict):
        rows = np.array(data["rows"])
        self.counts, first = [], []
        for person in np.unique(rows[:, 0]):
            x = rows[rows[:, 0] == person][:, 2:]
            before, after = 2 * x[:-1, 0] + x[:-1, 1], x[1:]
            self.counts.append([[[((before == b) & (after[:, i] == y)).sum() for y in (0, 1)] for b in range(4)]
                                for i in (0, 1)])  # fmt: skip
            first.append(x[0])
        self.counts, self.first = np.array(self.counts, float), np.array(first)
        self.centred = self.first - self.first.mean(axis=0)
        self.before = np.array(list(itertools.product((0.0, 1.0), repeat=2)))

    def log_likelihood(
        self, weights: np.ndarray, biases: np.ndarray, slope: np.ndarray, root: np.ndarray
    ) -> np.ndarray:
        """Return the log likelihood at n vectors of parameters.

        ``weights`` and ``slope`` (n, from, to), ``biases`` (n, to), ``root`` (n, 2, 2) the Cholesky root of S.
        """
        z, w = hermegauss(N_NODES)
        log_w = np.log(w / w.sum())
        total = 0.0
        lagged = np.einsum("bj,nji->nbi", self.before, weights) + biases[:, None]
        for first in np.unique(self.first, axis=0):
            who = (self.first == first).all(axis=1)
            centre = self.centred[who][0] @ slope
            one = centre[:, :1] + root[:, 0, 0, None] * z
            two = centre[:, 1, None, None] + root[:, 1, 0, None, None] * z[:, None] + root[:, 1, 1, None, None] * z
            parts = []
            for i, intercept in enumerate((one[:, :, None], two)):
                logit = lagged[:, :, i, None, None] + intercept[:, None]
                both = np.stack([-np.logaddexp(0, logit), -np.logaddexp(0, -logit)], axis=2)
                n, _, _, q, r = both.shape
                value = self.counts[who][:, i].reshape(-1, 8) @ both.reshape(n, 8, q * r)
                parts.append(value.reshape(n, -1, q, r))
            inner = np.log(np.exp(parts[1] + log_w).sum(axis=3))
            total = total + np.log(np.exp(parts[0][..., 0] + inner + log_w).sum(axis=2)).sum(axis=1)
        return total


def log_covariance(sd: np.ndarray, rho: np.ndarray) -> np.ndarray:
    """Return the log density of S of Huang and Wand (df 2, scale 1) in the coordinates log sd and Fisher's z of rho.

    p(S) = 16 / pi^2 |S|^-3 prod_k (2 (S^-1)_kk + 1)^-2.
    """
    log_det = 2 * np.log(sd).sum(axis=1) + np.log1p(-(rho**2))
    inverse = 1 / (sd**2 * (1 - rho**2)[:, None])
    value = log(16 / pi**2) - 3 * log_det - 2 * np.log1p(2 * inverse).sum(axis=1)
    # S11 = s1^2, S22 = s2^2, S12 = rho s1 s2: dS = 4 s1^2 s2^2 ds1 ds2 drho.
    return value + log(4) + 3 * np.log(sd).sum(axis=1) + np.log1p(-(rho**2))


def target(people: People, included: tuple[int, ...], prior: dict):
    """Return the log density of free coordinates, their number, and a function to named values."""
    present = [k for k in range(4) if included[k]]
    k = len(present)

    def parts(x: np.ndarray) -> tuple:
        weights = np.zeros((len(x), 4))
        weights[:, present] = x[:, :k]
        sd, rho = np.exp(x[:, k + 6 : k + 8]), np.tanh(x[:, k + 8])
        root = np.zeros((len(x), 2, 2))
        root[:, 0, 0], root[:, 1, 0] = sd[:, 0], rho * sd[:, 1]
        root[:, 1, 1] = sd[:, 1] * np.sqrt(1 - rho**2)
        return weights.reshape(-1, 2, 2), x[:, k : k + 2], x[:, k + 2 : k + 6].reshape(-1, 2, 2), root, sd, rho

    def log_density(x: np.ndarray) -> np.ndarray:
        weights, biases, slope, root, sd, rho = parts(x)
        s, b = prior["slab"]["scale"], prior["bias"]["scale"]
        value = -(x[:, :k] ** 2).sum(axis=1) / (2 * s**2) - k * (log(s) + 0.5 * log(2 * pi))
        value -= (biases**2).sum(axis=1) / (2 * b**2) + 2 * (log(b) + 0.5 * log(2 * pi))
        u = slope / sd[:, None]
        quadratic = (u[..., 0] ** 2 - 2 * rho[:, None] * u[..., 0] * u[..., 1] + u[..., 1] ** 2).sum(axis=1) / (
            1 - rho**2
        )
        value -= quadratic / 2 + 2 * log(2 * pi) + 2 * np.log(sd).sum(axis=1) + np.log1p(-(rho**2))
        return value + log_covariance(sd, rho) + people.log_likelihood(weights, biases, slope, root)

    def values(x: np.ndarray) -> np.ndarray:
        weights, biases, slope, _, sd, _ = parts(x)
        return np.concatenate([weights.reshape(-1, 4), biases, sd, slope.reshape(-1, 4)], axis=1)

    return log_density, k + 9, values


def sample(log_density, centre: np.ndarray, root: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Student's t points at scrambled Halton points, and the logs of their weights."""
    d = len(centre)
    u = np.clip(qmc.Halton(d + 1, rng=seed).random(n), 1e-12, 1 - 1e-12)
    z = ndtri(u[:, :d]) / np.sqrt(chi2.ppf(u[:, d:], _DF) / _DF)
    x = centre + z @ root.T
    log_q = lgamma((_DF + d) / 2) - lgamma(_DF / 2) - d / 2 * log(_DF * pi)
    log_q = log_q - (_DF + d) / 2 * np.log1p((z**2).sum(axis=1) / _DF) - np.log(np.diag(root)).sum()
    value = np.concatenate([log_density(part) for part in np.array_split(x, n // 512 + 1)])
    return x, value - log_q


def integrate(people: People, included: tuple[int, ...], prior: dict, seed: int) -> tuple:
    """Return the log integral, means and mean squares of the named values in each replicate."""
    log_density, d, values = target(people, included, prior)
    step = 1e-4 * np.eye(d)

    def slope_of(x: np.ndarray) -> np.ndarray:
        return -(log_density(x + step) - log_density(x - step)) / 2e-4

    mode = minimize(lambda x: -log_density(x[None])[0], np.zeros(d), jac=slope_of, method="BFGS").x
    hessian = np.array([(slope_of(mode + s) - slope_of(mode - s)) / 2e-4 for s in step])
    centre, root = mode, np.linalg.cholesky(np.linalg.inv((hessian + hessian.T) / 2))
    for n in (1024, 4096):
        x, log_w = sample(log_density, centre, 1.1 * root, n, seed)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        centre = w @ x
        root = np.linalg.cholesky((x - centre).T @ ((x - centre) * w[:, None]))
    logs, means, squares = [], [], []
    for replicate in range(N_REPLICATES):
        x, log_w = sample(log_density, centre, root, N_POINTS, seed + 1 + replicate)
        w = np.exp(log_w - log_w.max())
        full = values(x)
        logs.append(log_w.max() + log(w.mean()))
        means.append(w @ full / w.sum())
        squares.append(w @ full**2 / w.sum())
    return np.array(logs), np.array(means), np.array(squares)
