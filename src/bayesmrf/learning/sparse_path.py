r"""Sparse Boltzmann machines along a whole path of L1 penalties.

Over x in {0, 1}, with :math:`\ell_i` the mean over observations of log P(x_i | all others) and W the weights,

.. math:: \max_{b, W} \sum_i \ell_i(b_i, W_{i\cdot}) - \lambda \sum |W_{ij}|.

* `wainwright`: W has two entries for each pair, so that each node is a logistic regression of its own (Wainwright,
  Ravikumar and Lafferty 2007); the pair's weight is the one with the larger ("max") or smaller ("min") absolute value
  (Hoefling and Tibshirani 2009).
* `pseudo_likelihood_path`: W is symmetric, the pseudo-likelihood of Hoefling and Tibshirani (2009).

With ordered categories, :math:`\log P(x_i = k \mid \text{all others}) = \mu_{ik} + k \sum_j W_{ij} x_j` up to a
constant (`bayesmrf.models.ordinal`), and the penalty is on the weights of scores from 0 to 1, so that columns with few
and with many categories count alike.

Biases (thresholds) are not penalised; if the weight of a pair is from one of two regressions, each bias fits its own
regression at the mean of the other nodes. Both are solved by the same accelerated proximal gradient (Beck and Teboulle
2009; restarted as O'Donoghue and Candes 2015), for all nodes at once, each penalty from the solution of the one before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import squareform
from scipy.special import expit, log_expit, log_softmax, softmax

from ..data.states import States
from ..declare.rule import choice, integer, number
from ..errors import DataError, OptionError
from ..graphs import Graph
from ..models.categorical import NEVER

_TOLERANCE = 1e-6  # largest entry of a proximal step, over its length; gradients are means over observations
_MAX_STEPS = 20_000
_FEW = 400  # columns; tables with more are wide
_ROWS = 5000  # at most, behind a starting point
_CELLS = 1_000_000  # of these rows of a wide table
_ROUGH = 1e-3  # `_TOLERANCE` of the starting point of a wide table


@dataclass(frozen=True, eq=False)
class SparsePath:
    """Estimates for decreasing penalties."""

    penalty: np.ndarray  # (n_path,), lambda, in nats an observation for a unit of weight
    # (n_path, n_features), weights of all pairs in lexicographic order (as of `graphs.complete`), then biases, or the
    # thresholds of the categories of each node but the lowest
    theta: np.ndarray
    n_nodes: int

    @property
    def density(self) -> np.ndarray:
        """Share of pairs with a weight, for each penalty."""
        n_pairs = self.n_nodes * (self.n_nodes - 1) // 2
        return (self.theta[:, :n_pairs] != 0).mean(axis=1)

    def at_density(self, density: float) -> np.ndarray:
        """Estimate whose density is nearest; the sparser one of two equally near."""
        number(0, 1, ends="[]").check("density", density)
        return self.theta[int(np.argmin(np.abs(self.density - density)))]


def wainwright(
    states: States, rule: str = "max", n_path: int = 40, ratio: float = 1e-2, penalty: np.ndarray | None = None
) -> SparsePath:
    """Estimate the weights of all pairs by one L1-penalised logistic regression for each node.

    Parameters
    ----------
    states : States
        The data; weights count rows.
    rule : {"max", "min"}
    n_path, ratio : int, float
        Penalties, and the smallest of them over the largest, which is the first at which all weights are 0.
    penalty : array, optional
        The penalties in decreasing order, instead of the two.
    """
    choice("max", "min").check("rule", rule)

    def combine(w: np.ndarray) -> np.ndarray:
        larger = np.abs(w) >= np.abs(w.T)
        both = np.where(larger if rule == "max" else ~larger, w, w.T)
        return both[np.triu_indices(len(w), 1)]

    return _path(states, False, combine, n_path, ratio, penalty)


def pseudo_likelihood_path(
    states: States,
    n_path: int = 40,
    ratio: float = 1e-2,
    penalty: np.ndarray | None = None,
    *,
    tolerance: float = _TOLERANCE,
) -> SparsePath:
    """Estimate the weights of all pairs by the L1-penalised pseudo-likelihood; parameters as in `wainwright`.

    Searches end with steps of at most ``tolerance``, in units of gradients.
    """
    return _path(states, True, lambda w: w[np.triu_indices(len(w), 1)], n_path, ratio, penalty, tolerance)


def cross_validated(
    states: States, fit: Callable[..., SparsePath], n_folds: int = 10, random_state: int | None = None, **options: Any
) -> tuple[np.ndarray, float]:
    """Return the estimate at the penalty with the best mean log pseudo-likelihood of left-out rows, and that penalty.

    Parameters
    ----------
    states : States
    fit : function
        `wainwright` or `pseudo_likelihood_path`; ``options`` go there.
    n_folds, random_state : int
        Folds, drawn at random.
    """
    x, weights = states.values, np.ones(len(states.values)) if states.weights is None else states.weights
    integer(2, len(x)).check("n_folds", n_folds)
    whole = fit(states, **options)
    fold = np.random.default_rng(random_state).permutation(np.arange(len(x)) % n_folds)
    score = np.zeros(len(whole.penalty))
    for k in range(n_folds):
        kept, left = fold != k, fold == k
        path = fit(States(x[kept], states.names, weights[kept], states.coding), **{**options, "penalty": whole.penalty})
        score += [weights[left] @ log_conditionals(theta, x[left], states.sizes) for theta in path.theta]
    best = int(np.argmax(score))
    return whole.theta[best], float(whole.penalty[best])


def log_conditionals(theta: np.ndarray, states: np.ndarray, sizes: tuple[int, ...] = ()) -> np.ndarray:
    """Sum over nodes of log P(x_i | all others), for each row of ``states`` in {0, 1}, or in {0, ..., sizes[i] - 1}."""
    pairs, bias = np.split(theta, [states.shape[1] * (states.shape[1] - 1) // 2])
    field = states @ squareform(pairs)
    if max(sizes, default=2) == 2:
        return log_expit(np.where(states == 1, field + bias, -field - bias)).sum(axis=1)
    m = max(sizes)
    biases = np.where(np.arange(m) < np.array(sizes)[:, None], 0.0, NEVER)
    biases[:, 1:][biases[:, 1:] == 0] = bias
    log_p = log_softmax(field[:, :, None] * np.arange(m) + biases, axis=2)
    return np.take_along_axis(log_p, states[:, :, None].astype(np.int64), axis=2).sum(axis=(1, 2))


def _path(
    states: States,
    symmetric: bool,
    combine: Callable[[np.ndarray], np.ndarray],
    n_path: int,
    ratio: float,
    penalty: np.ndarray | None,
    tolerance: float = _TOLERANCE,
) -> SparsePath:
    if (states.values < 0).any():
        raise DataError("states must not have missing values; drop these rows.")
    span = np.array(states.sizes) - 1
    x = states.values / span
    share = np.full(len(x), 1.0) if states.weights is None else states.weights.astype(np.float64)
    share = share / share.sum()
    means = share @ x
    levels = np.arange(span.max() + 1) / span[:, None]
    counts = np.stack([share @ (states.values == k) for k in range(levels.shape[1])], axis=1)
    # Half an observation on either side gives the threshold of a category that never occurs. A node with one category
    # has no weights.
    n = states.n_samples
    varying = counts * (counts < 1)
    bias = np.where(levels > 1, NEVER, np.log(np.where(varying > 0, counts, counts + 0.5 / n)))
    centred = x - means
    d = x.shape[1]
    w = np.zeros((d, d))
    gradient = centred.T @ (share[:, None] * centred)  # at W = 0 and biases that fit
    np.fill_diagonal(gradient, 0)
    if penalty is None:
        if not (n_path >= 1 and 0 < ratio <= 1):
            raise OptionError(
                f"n_path and ratio must be an integer >= 1 and a number in (0, 1], got {n_path!r} and {ratio!r}."
            )
        top = np.abs(gradient).max() * (2 if symmetric else 1)
        penalty = max(top, 1e-12) * (1 + 1e-9) * np.geomspace(1, ratio, n_path)
    spread = _largest(centred.T @ (share[:, None] * centred)) * (2 if symmetric else 1)
    if levels.shape[1] == 2:
        # The slope of expit is at most 1/4; the largest eigenvalue is that of centred columns and a column of ones.
        varies = (means > 0) & (means < 1)
        bias, length = bias[:, 1] - bias[:, 0], 4 / max(spread, 1.0)
        bias[varies] = np.log(means[varies] / (1 - means[varies]))
    else:
        # The variance of a score from 0 to 1 is at most 1/4, that of the threshold of the category at most 1/2.
        length = 1 / max(spread / 2, 1.0)
    observed = np.where(varying > 0, counts, np.nan)
    problem = _Problem(x, centred, share, levels, observed, 0.0, symmetric, length)
    theta, scale = [], np.outer(span, span)[np.triu_indices(d, 1)]
    for strength in penalty:
        w, bias = _solve(replace(problem, penalty=strength), w, bias, tolerance)
        pairs = combine(w)
        offsets = squareform(pairs) @ means
        if bias.ndim == 1:
            biases = bias - offsets
        else:
            biases = bias - offsets[:, None] * levels
            biases = (biases[:, 1:] - biases[:, :1])[levels[:, 1:] <= 1]
        theta.append(np.concatenate([pairs / scale, biases]))
    return SparsePath(np.asarray(penalty, dtype=np.float64), np.array(theta), d)


def sparse_start(graph: Graph, states: States) -> np.ndarray | None:
    """Return the L1-penalised estimate at a penalty that selects strong edges only; None without complete rows.

    Samplers of edges start there, as with few persistent chains the birth of a strong edge may take long. Rows with
    missing values are omitted. Of wide tables fewer rows are used, and the search ends earlier: it takes seconds.

    Returns
    -------
    (n_edges + n_nodes,) array
        Weights over {0, 1} of the edges of the graph, 0 for most, and biases.
    """
    d = graph.n_nodes
    whole = np.flatnonzero((states.values >= 0).all(axis=1))
    if len(whole) < 2:
        return None
    is_wide = d > _FEW
    n_rows = max(_FEW, _CELLS // d) if is_wide else _ROWS
    rows = whole[np.unique(np.linspace(0, len(whole) - 1, n_rows).astype(int))]
    weights = None if states.weights is None else states.weights[rows]
    if weights is not None and weights.sum() == 0:
        return None
    few = replace(states, values=states.values[rows], weights=weights)
    penalty = 0.5 * np.sqrt(np.log(d + 1) / few.n_samples)
    tolerance = _ROUGH if is_wide else _TOLERANCE
    theta = pseudo_likelihood_path(few, penalty=np.array([penalty]), tolerance=tolerance).theta[0]
    pairs, biases = np.split(theta, [d * (d - 1) // 2])
    return np.concatenate([squareform(pairs)[tuple(graph.edges.T)], biases])


def _largest(covariance: np.ndarray) -> float:
    """Return the largest eigenvalue; of many columns a bound that is higher by a tenth at most, in a second."""
    d = len(covariance)
    if d <= _FEW:
        return float(np.linalg.eigvalsh(covariance)[-1])
    first = np.random.default_rng(0).standard_normal(d)
    return 1.05 * float(eigsh(covariance, k=1, which="LA", v0=first, tol=1e-2, return_eigenvectors=False)[0])


@dataclass(frozen=True, eq=False)
class _Problem:
    """Data and penalty; ``observed`` are shares of the categories, NaN where the threshold is fixed."""

    x: np.ndarray  # (n, d), scores from 0 to 1
    centred: np.ndarray
    share: np.ndarray  # (n,), of the rows
    levels: np.ndarray  # (d, m), scores of the categories
    observed: np.ndarray  # (d, m)
    penalty: float
    symmetric: bool
    length: float  # of a step

    def slopes(self, w: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of minus the mean log conditional probabilities in the weights and in the biases."""
        is_wide = len(w) > _FEW  # where nearly all weights are zero
        field = (csr_array(w) @ self.centred.T).T if is_wide else self.centred @ w.T
        if bias.ndim == 1:
            mean = expit(field + bias)
            error = self.share[:, None] * (mean - self.x)
            bias_slope = np.where(np.isnan(self.observed[:, 1]), 0.0, error.sum(axis=0))
        else:
            p = softmax(field[:, :, None] * self.levels + bias, axis=2)
            error = self.share[:, None] * ((p * self.levels).sum(axis=2) - self.x)
            bias_slope = np.nan_to_num(np.tensordot(self.share, p, 1) - self.observed)
        slope = error.T @ self.centred
        return slope + slope.T if self.symmetric else slope, bias_slope


def _solve(problem: _Problem, w: np.ndarray, bias: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Solve for one penalty. Row i of w contains the weights of node i's regression; columns are centred."""
    old_w, old_bias, t, length = w, bias, 1.0, problem.length
    ahead_w, ahead_bias = w, bias
    for _ in range(_MAX_STEPS):
        slope, bias_slope = problem.slopes(ahead_w, ahead_bias)
        new_w = ahead_w - length * slope
        new_w = np.sign(new_w) * np.maximum(np.abs(new_w) - length * problem.penalty, 0)
        np.fill_diagonal(new_w, 0)
        new_bias = ahead_bias - length * bias_slope
        moved_w, moved_bias = new_w - ahead_w, new_bias - ahead_bias
        change_w, change_bias = new_w - old_w, new_bias - old_bias
        if max(np.abs(moved_w).max(), np.abs(moved_bias).max()) < tolerance * length:
            return new_w, new_bias
        uphill = (moved_w * change_w).sum() + (moved_bias * change_bias).sum() < 0
        t, last = (1.0, 1.0) if uphill else ((1 + np.sqrt(1 + 4 * t * t)) / 2, t)
        momentum = 0.0 if uphill else (last - 1) / t
        ahead_w, ahead_bias = new_w + momentum * change_w, new_bias + momentum * change_bias
        old_w, old_bias = new_w, new_bias
    return old_w, old_bias
