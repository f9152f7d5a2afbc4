"""First computation where the prior of the weights has a kink at 0: a Cauchy slab whose scale is learnt.

Weights are integrated by composite Gauss-Legendre rules whose panels shrink towards 0 from both sides, and biases by
Gauss-Hermite rules that follow their mean given the weights.
"""

from __future__ import annotations

import itertools
from math import log

import numpy as np
from features import Model, Table
from numpy.polynomial.hermite_e import hermegauss
from quadrature import Density, log_likelihood, product_rule, spread_out

_ENDS = np.array([0, 1e-4, 1e-3, 0.01, 0.04, 0.12, 0.3, 0.6, 0.9, 1.3, 1.8, 2.4, 3.2, 4.5])
_ROWS = 20_000


def integrate_graded(model: Model, spread: np.ndarray, density: Density, n_points: tuple[int, int]) -> list[tuple]:
    """Return log integral, means and mean squares of all parameters, by rules of two sizes."""
    tables = [Table(t.features @ spread, t.masks, t.counts) for t in model.tables]
    k, d = len(density.weights), spread.shape[1]
    guide = Density({**density.prior, "slab": {"type": "normal", "scale": 1.0}}, density.blocks, density.biases)
    centre, root = np.zeros(d), 0.5 * np.eye(d)
    for _ in range(6):
        _, mean, second = product_rule(tables, guide, centre, root, 4)
        centre, root = mean, np.linalg.cholesky(second - np.outer(mean, mean))
    return spread_out(
        spread, [_rule(tables, density, centre, root, k, n, m) for n, m in zip((2, 3), n_points, strict=True)]
    )


def _rule(tables: list, density: Density, centre: np.ndarray, root: np.ndarray, k: int, n: int, m: int) -> tuple:
    """Integrate with n nodes in each panel of a weight, and m nodes of each bias."""
    x, w = np.polynomial.legendre.leggauss(n)
    half = np.diff(_ENDS) / 2
    right = ((_ENDS[:-1] + half)[:, None] + half[:, None] * x).ravel()
    nodes = np.concatenate([-right[::-1], right])
    logs = np.log(np.tile((half[:, None] * w).ravel(), 2))
    logs[: len(right)] = logs[len(right) :][::-1]
    weights = np.array(list(itertools.product(nodes, repeat=k))).reshape(len(nodes) ** k, k)
    log_w = np.array(list(itertools.product(logs, repeat=k))).reshape(len(nodes) ** k, k).sum(axis=1)
    d = len(centre)
    z, v = hermegauss(m)
    inner = np.array(list(itertools.product(z, repeat=d - k)))
    log_v = np.array(list(itertools.product(np.log(v) + z**2 / 2, repeat=d - k))).sum(axis=1)
    second = inner @ root[:, k:].T
    away = np.linalg.solve(root[:k, :k], (weights - centre[:k]).T).T
    first = centre + away @ root[:, :k].T
    bias = Density(density.prior, [], density.biases)
    top, total, sums, squares = -np.inf, 0.0, np.zeros(d), np.zeros((d, d))
    for rows in np.array_split(np.arange(len(first)), len(first) // _ROWS + 1):
        value = log_likelihood(tables, first[rows], second) + bias.at(first[rows], second) + log_v
        value += log_w[rows, None]
        if k:
            value += density.at(first[rows], np.zeros((1, d))) - bias.at(first[rows], np.zeros((1, d)))
        if value.max() > top:
            scale = np.exp(top - value.max())
            top, total, sums, squares = value.max(), total * scale, sums * scale, squares * scale
        f = np.exp(value - top)
        by_row, by_column = f.sum(axis=1), f.sum(axis=0)
        total += by_row.sum()
        sums += by_row @ first[rows] + by_column @ second
        cross = first[rows].T @ f @ second
        squares += (first[rows].T * by_row) @ first[rows] + cross + cross.T + (second.T * by_column) @ second
    determinant = np.linalg.slogdet(root[k:, k:])[1]
    return top + log(total) + determinant, sums / total, squares / total
