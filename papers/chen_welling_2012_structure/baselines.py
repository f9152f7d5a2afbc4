"""The paper's competitors: L1-penalised regressions of each node, and L1-penalised pseudo-likelihood.

All over {0, 1}, as the paper's models are; biases are not penalised. A node that never varies has the bias that half an
observation of its other state would give.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit, xlogy
from sklearn.linear_model import LogisticRegression

from bayesmrf.models.boltzmann import Boltzmann

N_PENALTIES, SMALLEST = 30, 1e-3  # from the penalty at which the first edge comes in, down to a thousandth of it
GAMMA = 0.25  # of the extended BIC, as in IsingFit (van Borkulo et al. 2014)
N_FOLDS = 5
# scikit-learn 1.8 names the penalty by `l1_ratio` and deprecates `penalty`.
_L1 = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}


def path(states: np.ndarray, method: str, model: Boltzmann) -> list[np.ndarray]:
    """Parameters at every penalty, from the largest to the smallest.

    Parameters
    ----------
    states : (n_samples, n_nodes) array in {0, 1}
    method : {"wainwright-max", "wainwright-min", "pseudo-l1"}
        Of the two coefficients of an edge the larger one or the smaller one (Hoefling and Tibshirani 2009), or one
        coefficient in both regressions.
    model : Boltzmann
        On all pairs of nodes.
    """
    x, penalties = states.astype(float), _penalties(states)
    if method == "pseudo-l1":
        return [_theta(model, w, b) for w, b in _pseudo_path(x, penalties)]
    found = []
    for penalty in penalties:
        rows, biases = zip(*(_regress(x, i, penalty) for i in range(x.shape[1])), strict=True)
        found.append(_theta(model, _combine(np.array(rows), method), np.array(biases)))
    return found


def choose(states: np.ndarray, method: str, model: Boltzmann) -> np.ndarray:
    """Parameters at the penalty chosen by the data.

    The extended BIC chooses for each node of "wainwright-*"; the pseudo-likelihood of held-out fifths chooses for
    "pseudo-l1".
    """
    x, penalties = states.astype(float), _penalties(states)
    n, d = x.shape
    if method == "pseudo-l1":
        held = np.zeros(len(penalties))
        for fold in range(N_FOLDS):
            out = np.arange(n) % N_FOLDS == fold
            held += [_log_pseudo_likelihood(x[out], w, b) for w, b in _pseudo_path(x[~out], penalties)]
        w, b = list(_pseudo_path(x, penalties[: int(np.argmax(held)) + 1]))[-1]
        return _theta(model, w, b)
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


def _penalties(states: np.ndarray) -> np.ndarray:
    """A falling grid, per observation; at the first, every slope at no edges is below it, and a little."""
    x = states - states.mean(axis=0)
    slope = np.abs(x.T @ x) / len(x)
    np.fill_diagonal(slope, 0)
    return 2 * max(slope.max(), 1e-6) * np.geomspace(0.999, SMALLEST, N_PENALTIES)


def _combine(rows: np.ndarray, method: str) -> np.ndarray:
    """One of the two coefficients of each pair."""
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
    """Coefficients and intercept of a node's regression on all others."""
    y = x[:, node]
    if y.min() == y.max():
        return np.zeros(x.shape[1]), float(_start_bias(x[:, [node]])[0])
    # liblinear penalises the intercept too, by its size over `intercept_scaling`: hardly.
    fitted = LogisticRegression(
        C=1 / (penalty * len(x)), solver="liblinear", intercept_scaling=100.0, max_iter=10_000, random_state=0, **_L1
    ).fit(np.delete(x, node, axis=1), y)
    return np.insert(fitted.coef_[0], node, 0.0), float(fitted.intercept_[0])


def _log_pseudo_likelihood(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> float:
    eta = x @ w + b
    return float((x * eta - np.logaddexp(0, eta)).sum())


def _pseudo_path(x: np.ndarray, penalties: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Symmetric weights and biases at each penalty in turn, each found from the one before."""
    d = x.shape[1]
    w, b = np.zeros((d, d)), _start_bias(x)
    step = 4.0 / d
    for penalty in penalties:
        w, b, step = _descend(x, w, b, penalty, step)
        yield w, b


def _descend(
    x: np.ndarray, w: np.ndarray, b: np.ndarray, penalty: float, step: float, tolerance: float = 1e-7
) -> tuple[np.ndarray, np.ndarray, float]:
    """Accelerated proximal gradient (Beck and Teboulle 2009), with backtracking and restarts.

    Minimises the mean negative log pseudo-likelihood plus the penalty times the sum of |w| over pairs. Columns that
    never vary keep their bias and have no weights.
    """
    n = len(x)
    fixed = x.min(axis=0) == x.max(axis=0)
    free = ~fixed[:, None] & ~fixed & ~np.eye(len(w), dtype=bool)

    def loss(w: np.ndarray, b: np.ndarray) -> float:
        return -_log_pseudo_likelihood(x, w, b) / n

    ahead_w, ahead_b, speed = w, b, 1.0
    value = loss(w, b) + penalty * np.abs(w).sum() / 2
    for _ in range(5000):
        rest = expit(x @ ahead_w + ahead_b) - x
        slope = x.T @ rest / n
        slope_w, slope_b = np.where(free, slope + slope.T, 0.0), np.where(fixed, 0.0, rest.mean(axis=0))
        here = loss(ahead_w, ahead_b)
        while True:
            new_w = ahead_w - step * slope_w
            new_w = np.sign(new_w) * np.maximum(np.abs(new_w) - step * penalty, 0)
            new_b = ahead_b - step * slope_b
            move_w, move_b = new_w - ahead_w, new_b - ahead_b
            # Each pair is in the matrix twice.
            bound = (slope_w * move_w).sum() / 2 + slope_b @ move_b
            bound += ((move_w**2).sum() / 2 + move_b @ move_b) / (2 * step)
            there = loss(new_w, new_b)
            if there <= here + bound + 1e-13:
                break
            step /= 2
        new_value = there + penalty * np.abs(new_w).sum() / 2
        if new_value > value + 1e-12:
            if speed == 1.0:  # a plain step gains nothing more at this precision
                break
            ahead_w, ahead_b, speed = w, b, 1.0
            continue
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        ahead_w, ahead_b = new_w + (speed - 1) / faster * (new_w - w), new_b + (speed - 1) / faster * (new_b - b)
        # Rounding would leave the two halves of the matrix apart in the end.
        ahead_w = (ahead_w + ahead_w.T) / 2
        done = max(np.abs(new_w - w).max(), np.abs(new_b - b).max()) < tolerance * max(1.0, np.abs(new_w).max()) * 10
        w, b, speed, value = new_w, new_b, faster, new_value
        step *= 1.05
        if done:
            break
    return w, b, step
