"""First computation: product Gauss-Hermite quadrature around the posterior mean of each structure.

The points are those of a product rule, split into two halves of the coordinates. exp(F theta) of a point is the product
of two factors, one of each half, so that Z at all points is a product of two matrices.
"""

from __future__ import annotations

import itertools
from math import lgamma, log, pi

import numpy as np
from features import Model, Table
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize

_CHUNK = 4_000_000
_SCALES = np.linspace(-9.0, 6.0, 121)  # logs of Cauchy scales that are learnt


class Density:
    """Log density of the prior of the parameters of one structure, at sums of two halves of a point."""

    def __init__(self, prior: dict, blocks: list[list[int]], biases: list[int]):
        self.prior, self.blocks, self.biases = prior, blocks, biases
        self.weights = [i for block in blocks for i in block]
        self.constant = self._constant()

    def _constant(self) -> float:
        """Return the log of the constants that are the same at all points."""
        total, slab, bias = 0.0, self.prior["slab"], self.prior["bias"]
        k = len(self.weights)
        if bias["type"] == "normal":
            total -= len(self.biases) * (log(bias["scale"]) + 0.5 * log(2 * pi))
        else:
            a, b = bias["a"], bias["b"]
            total += len(self.biases) * (lgamma(a + b) - lgamma(a) - lgamma(b))
        if slab["type"] == "normal":
            total -= k * (log(slab["scale"]) + 0.5 * log(2 * pi))
        elif slab["type"] == "logistic-beta":
            a, b = slab["a"], slab["b"]
            total += k * (lgamma(a + b) - lgamma(a) - lgamma(b))
        elif slab["type"] == "cauchy":
            for block in self.blocks:
                n = len(block)
                total += lgamma((n + 1) / 2) - 0.5 * (n + 1) * log(pi) - n * log(slab["scale"])
        elif slab["type"] == "normal-gamma":
            c = slab["shape"]
            total += lgamma(c + k / 2) - lgamma(c) - k / 2 * log(2 * pi * slab["rate"])
        elif slab["type"] == "cauchy-gamma":
            total -= k * log(pi)
        return total

    def at(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the log density at all sums of a row of ``first`` and one of ``second``."""
        value = np.full((len(first), len(second)), self.constant)
        slab, bias = self.prior["slab"], self.prior["bias"]
        squares = self._squares(first, second, self.biases) if bias["type"] == "normal" else 0.0
        if bias["type"] == "normal":
            value -= squares / (2 * bias["scale"] ** 2)
        else:
            self._add_logistic(value, first, second, self.biases, bias)
        if not self.weights:
            return value
        if slab["type"] == "normal":
            value -= self._squares(first, second, self.weights) / (2 * slab["scale"] ** 2)
        elif slab["type"] == "logistic-beta":
            self._add_logistic(value, first, second, self.weights, slab)
        elif slab["type"] == "cauchy":
            for block in self.blocks:
                value -= (len(block) + 1) / 2 * np.log1p(self._squares(first, second, block) / slab["scale"] ** 2)
        elif slab["type"] == "normal-gamma":
            power = slab["shape"] + len(self.weights) / 2
            value -= power * np.log1p(self._squares(first, second, self.weights) / (2 * slab["rate"]))
        elif slab["type"] == "cauchy-gamma":
            value += self._mixture(first, second, slab)
        else:
            raise ValueError(slab["type"])
        return value

    def _mixture(self, first: np.ndarray, second: np.ndarray, slab: dict) -> np.ndarray:
        """Return the log of the Cauchy densities averaged over their scale, by a trapezoid sum over its log."""
        squares = [self._squares(first, second, [i]) for i in self.weights]
        total = np.zeros_like(squares[0])
        for t in _SCALES:
            term = (
                slab["shape"] * (log(slab["rate"]) + t)
                - lgamma(slab["shape"])
                - slab["rate"] * np.exp(t)
                + log(_SCALES[1] - _SCALES[0])
                - len(squares) * t
            )
            product = np.full_like(total, np.exp(term))
            for square in squares:
                product /= 1 + square * np.exp(-2 * t)
            total += product
        return np.log(total)

    @staticmethod
    def _add_logistic(value: np.ndarray, first: np.ndarray, second: np.ndarray, which: list, beta: dict) -> None:
        for i in which:
            t = first[:, i, None] + second[:, i]
            value += beta["a"] * t - (beta["a"] + beta["b"]) * np.logaddexp(0, t)

    @staticmethod
    def _squares(first: np.ndarray, second: np.ndarray, which: list[int]) -> np.ndarray:
        a, b = first[:, which], second[:, which]
        return (a**2).sum(axis=1)[:, None] + 2 * a @ b.T + (b**2).sum(axis=1)


def log_likelihood(tables: list[Table], first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the log likelihood at all sums of a row of ``first`` and one of ``second``."""
    value = np.zeros((len(first), len(second)))
    for table in tables:
        single = table.masks.sum(axis=1) == 1
        linear = table.counts[single] @ (table.masks[single] @ table.features)
        value += (first @ linear)[:, None] + second @ linear
        a, b = np.exp(first @ table.features.T), np.exp(second @ table.features.T)
        value -= table.counts.sum() * np.log(a @ b.T)
        for mask, count in zip(table.masks[~single], table.counts[~single], strict=True):
            value += count * np.log(a[:, mask] @ b[:, mask].T)
    return value


def integrate(model: Model, spread: np.ndarray, density: Density, n_points: tuple[int, int]) -> list[tuple]:
    """Integrate likelihood times prior over free parameters, by rules of two sizes.

    The rules are placed at the mode, then at the mean and covariance by a rough rule.

    Parameters
    ----------
    spread : (n_parameters, n_free) array
        Map from free to all parameters.

    Returns
    -------
    list of tuple
        Log integral, means and mean squares of all parameters, by each rule.
    """
    tables = [Table(t.features @ spread, t.masks, t.counts) for t in model.tables]
    d = spread.shape[1]
    if d == 0:
        empty = np.zeros((1, 0))
        value = float((log_likelihood(tables, empty, empty) + density.at(empty, empty))[0, 0])
        return [(value, np.zeros(len(spread)), np.zeros(len(spread)))] * len(n_points)
    none = np.zeros((1, d))

    def log_f(theta: np.ndarray) -> np.ndarray:
        theta = np.atleast_2d(theta)
        return (log_likelihood(tables, theta, none) + density.at(theta, none))[:, 0]

    step = 1e-4 * np.eye(d)
    mode = minimize(
        lambda t: -log_f(t)[0],
        np.full(d, 0.01),
        jac=lambda t: -(log_f(t + step) - log_f(t - step)) / 2e-4,
        method="BFGS",
    ).x
    h = 1e-3 * np.eye(d)
    corner = [
        log_f((mode + s * h[:, None] + r * h).reshape(-1, d)).reshape(d, d) for s, r in ((1, 1), (1, -1), (-1, -1))
    ]
    hessian = -(corner[0] - corner[1] - corner[1].T + corner[2]) / 4e-6
    centre, root = mode, np.linalg.cholesky(np.linalg.inv((hessian + hessian.T) / 2))
    for _ in range(2):
        _, mean, second = product_rule(tables, density, centre, root, 4)
        centre, covariance = mean, second - np.outer(mean, mean)
        root = np.linalg.cholesky((covariance + covariance.T) / 2)
    return spread_out(spread, [product_rule(tables, density, centre, root, n) for n in n_points])


def integrate_by_prior(model: Model, spread: np.ndarray, density: Density, n_points: tuple[int, int]) -> list[tuple]:
    """Do the same from rough rules at a standard normal prior, for a posterior of several modes."""
    tables = [Table(t.features @ spread, t.masks, t.counts) for t in model.tables]
    d = spread.shape[1]
    centre, root = np.zeros(d), np.eye(d)
    for _ in range(3):
        _, mean, second = product_rule(tables, density, centre, root, 9)
        centre, root = mean, np.linalg.cholesky(second - np.outer(mean, mean))
    return spread_out(spread, [product_rule(tables, density, centre, root, n) for n in n_points])


def spread_out(spread: np.ndarray, rules: list[tuple]) -> list[tuple]:
    """Return means and mean squares of all parameters in place of moments of the free ones."""
    return [(total, spread @ mean, np.einsum("ij,jk,ik->i", spread, second, spread)) for total, mean, second in rules]


def product_rule(tables: list[Table], density: Density, centre: np.ndarray, root: np.ndarray, n: int) -> tuple:
    """Return log integral, mean and second moments by n points a coordinate."""
    d = len(centre)
    z, w = hermegauss(n)
    log_w = np.log(w) + z**2 / 2
    half = d - d // 2
    points = [np.array(list(itertools.product(z, repeat=k))).reshape(n**k, k) for k in (half, d - half)]
    logs = [np.array(list(itertools.product(log_w, repeat=k))).reshape(n**k, k).sum(axis=1) for k in (half, d - half)]
    second = points[1] @ root[:, half:].T
    top, total, sums, squares = -np.inf, 0.0, np.zeros(d), np.zeros((d, d))
    for part in np.array_split(np.arange(len(points[0])), len(points[0]) * len(second) // _CHUNK + 1):
        first = centre + points[0][part] @ root[:, :half].T
        value = log_likelihood(tables, first, second) + density.at(first, second)
        value += logs[0][part, None] + logs[1]
        if value.max() > top:
            scale = np.exp(top - value.max())
            top, total, sums, squares = value.max(), total * scale, sums * scale, squares * scale
        f = np.exp(value - top)
        rows, columns = f.sum(axis=1), f.sum(axis=0)
        total += rows.sum()
        sums += rows @ first + columns @ second
        cross = first.T @ f @ second
        squares += (first.T * rows) @ first + cross + cross.T + (second.T * columns) @ second
    return top + log(total) + np.linalg.slogdet(root)[1], sums / total, squares / total
