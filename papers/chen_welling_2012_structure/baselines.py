"""The baselines of the paper: L1-penalised regressions of each node, and L1-penalised pseudo-likelihood.

All are over {0, 1}, as in the paper; biases are not penalised. The bias of a constant node is that with half an
observation of its other state.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, xlogy
from sklearn.linear_model import LogisticRegression

from bayesmrf.data.states import States
from bayesmrf.learning.sparse_path import cross_validated, pseudo_likelihood_path
from bayesmrf.models import Boltzmann

N_PENALTIES, SMALLEST = 30, 1e-3  # from the penalty at which the first edge enters, down to a thousandth of it
GAMMA = 0.25  # of the extended BIC, as in IsingFit (van Borkulo et al. 2014)
N_FOLDS = 5
# scikit-learn 1.8 names the penalty by `l1_ratio` and deprecates `penalty`.
_L1 = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}


def path(states: np.ndarray, method: str, model: Boltzmann) -> list[np.ndarray]:
    """Return the parameters at every penalty, from the largest to the smallest.

    Parameters
    ----------
    states : (n_samples, n_nodes) array in {0, 1}
    method : {"wainwright-max", "wainwright-min", "pseudo-l1"}
        The larger or the smaller of the two coefficients of an edge (Hoefling and Tibshirani 2009), or one
        coefficient in both regressions.
        model : Boltzmann
        On all pairs of nodes.
    """
    x, penalties = states.astype(float), _penalties(states)
    if method == "pseudo-l1":
        return list(pseudo_likelihood_path(_table(states), penalty=penalties).theta)
    found = []
    for penalty in penalties:
        rows, biases = zip(*(_regress(x, i, penalty) for i in range(x.shape[1])), strict=True)
        found.append(_theta(model, _combine(np.array(rows), method), np.array(biases)))
    return found


def choose(states: np.ndarray, method: str, model: Boltzmann) -> np.ndarray:
    """Return the parameters at a selected penalty.

    The extended BIC selects it for each node of "wainwright-*"; five-fold cross-validated pseudo-likelihood for
    "pseudo-l1".
    """
    x, penalties = states.astype(float), _penalties(states)
    n, d = x.shape
    if method == "pseudo-l1":
        return cross_validated(_table(states), pseudo_likelihood_path, N_FOLDS, 0, penalty=penalties)[0]
    rows, biases = np.zeros((d, d)), np.zeros(d)
    for i in range(d):
        best = np.inf
        for penalty in penalties:
            row, bias = _regress(x, i, penalty)
            p = expit(x @ row + bias)
            log_likelihood = (xlogy(x[:, i], p) + xlogy(1 - x[:, i], 1 - p)).sum()
            k = np.count_nonzero(row)
            score = -2 * log_likelihood + k * np.log(n) + 2 * GAMMA * k * np.log(d - 1)
            if score < best:
                best, rows[i], biases[i] = score, row, bias
    return _theta(model, _combine(rows, method), biases)


def _table(states: np.ndarray) -> States:
    """Convert without checks: images have constant columns."""
    return States(states.astype(np.int8), tuple(map(str, range(states.shape[1]))), None, "01")


def _penalties(states: np.ndarray) -> np.ndarray:
    """Return a decreasing grid of penalties; at the first there are no edges."""
    x = states - states.mean(axis=0)
    slope = np.abs(x.T @ x) / len(x)
    np.fill_diagonal(slope, 0)
    return 2 * max(slope.max(), 1e-6) * np.geomspace(0.999, SMALLEST, N_PENALTIES)


def _combine(rows: np.ndarray, method: str) -> np.ndarray:
    """Return one of the two coefficients of each pair."""
    larger = np.abs(rows) >= np.abs(rows.T)
    return np.where(larger if method == "wainwright-max" else ~larger, rows, rows.T)


def _theta(model: Boltzmann, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    u, v = model.graph.edges.T
    return np.concatenate([w[u, v], b])


def _start_bias(x: np.ndarray) -> np.ndarray:
    n = len(x)
    share = np.clip(x.mean(axis=0), 0.5 / (n + 1), 1 - 0.5 / (n + 1))
    return np.log(share / (1 - share))


def _regress(x: np.ndarray, node: int, penalty: float) -> tuple[np.ndarray, float]:
    """Return coefficients and intercept of the regression of a node on all others."""
    y = x[:, node]
    if y.min() == y.max():
        return np.zeros(x.shape[1]), float(_start_bias(x[:, [node]])[0])
    # liblinear also penalises the intercept, divided by `intercept_scaling`: negligible.
    fitted = LogisticRegression(
        C=1 / (penalty * len(x)), solver="liblinear", intercept_scaling=100.0, max_iter=10_000, random_state=0, **_L1
    ).fit(np.delete(x, node, axis=1), y)
    return np.insert(fitted.coef_[0], node, 0.0), float(fitted.intercept_[0])
