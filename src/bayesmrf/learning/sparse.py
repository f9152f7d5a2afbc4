"""Learn a graph: neighbourhood selection by L1-penalised logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

from ..data.states import States
from ..declare.rule import choice, integer
from ..errors import GraphError
from ..graphs import Graph
from ..memory import check_pairs
from ..progress import track
from ..threads import count_jobs, one_thread
from .sparse_path import wainwright

LARGEST_C = 1e3  # a penalty of a thousandth of a nat for a unit of coefficient, for any number of samples
PRECISION = 1e-4  # of log C

# scikit-learn 1.8 names the penalty by `l1_ratio` and deprecates `penalty`.
_L1 = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}


@one_thread()
def learn_graph(
    states: States, n_edges: int, rule: str = "max", n_jobs: int | None = None, progress: bool = False
) -> Graph:
    r"""Find the graph with exactly ``n_edges`` edges by neighbourhood selection.

    Each node is regressed on all others by logistic regression with an L1 penalty,

    .. math:: \min_{b, w} \|w\|_1 + C \sum_s \log\big(1 + e^{-x_{si} (b + \sum_j w_j x_{sj})}\big),

    and its neighbours are the nodes with w_j != 0 (Ravikumar, Wainwright and Lafferty 2010). One C serves all nodes. It
    is found by bisection as the smallest that gives enough edges; if their number jumps past the target, the edges
    with the largest absolute coefficients are kept. The result is deterministic. A node with ordered categories has the
    regression of `bayesmrf.learning.sparse_path` instead.

    Parameters
    ----------
    states : States
        The data; weights count rows. Constant columns get no edges.
    n_edges : int
        Number of edges.
    rule : {"max", "min"}
        An edge needs a coefficient in either of its two regressions ("max", the "or" rule), or in both ("min", the
        "and" rule). The rule also selects which of the two absolute coefficients ranks the edge.
    n_jobs : int, optional
        Number of regressions run in parallel, in threads of joblib unless another backend is chosen around the call;
        by default one for each core.
    progress : bool
        Show a bar.

    Returns
    -------
    Graph
        On the columns of the data, edges in lexicographic order.

    Raises
    ------
    OptionError
        If ``rule`` or ``n_edges`` is not valid.
    GraphError
        If the columns that vary, or the data, do not support so many edges.
    """
    choice("max", "min").check("rule", rule)
    integer(0, remedy="it is the number of edges to learn").check("n_edges", n_edges)
    values, weights = states.values, states.weights
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
    n_nodes = values.shape[1]
    varies = np.flatnonzero((values != values[0]).any(axis=0))
    check_pairs(len(varies))
    first, second = np.triu_indices(len(varies), 1)
    if n_edges > len(first):
        expected = f"at most {len(first)}, the pairs of the {len(varies)} column(s) that vary"
        raise GraphError(option="n_edges", got=n_edges, expected=expected)
    if n_edges == 0:
        return Graph(n_nodes, np.zeros((0, 2), dtype=np.int32), states.names)
    x = 2.0 * values[:, varies] - 1.0
    pairs = np.isin(np.triu_indices(n_nodes, 1), varies).all(axis=0)  # of nodes that vary
    combine = np.maximum if rule == "max" else np.minimum

    with Parallel(n_jobs=count_jobs(n_jobs, len(varies)), prefer="threads") as parallel:

        def strengths(c: float) -> np.ndarray:
            if states.n_states > 2:
                return _of_categories(replace(states, values=values, weights=weights), rule, c)[pairs]
            rows = np.abs(parallel(delayed(_coefficients)(x, i, weights, c) for i in range(len(varies))))
            return combine(rows[first, second], rows[second, first])

        rounds = _bisection(strengths, n_edges, 1 / states.n_samples)
        for latest in track(rounds, "learning the graph", progress=progress):
            strength = latest
    # Stable, so that ties are resolved by the order of the pairs.
    kept = np.sort(np.argsort(-strength, kind="stable")[:n_edges])
    return Graph(n_nodes, varies[np.stack([first[kept], second[kept]], axis=1)], states.names)


def _coefficients(x: np.ndarray, node: int, weights: np.ndarray | None, c: float) -> np.ndarray:
    """Return the coefficients of the regression of a node on all nodes, zero for itself."""
    others = np.delete(x, node, axis=1)
    # liblinear penalises the intercept, too, but divided by `intercept_scaling`.
    model = LogisticRegression(
        C=c, solver="liblinear", intercept_scaling=100.0, max_iter=10_000, random_state=0, **_L1
    ).fit(others, x[:, node], sample_weight=weights)
    return np.insert(model.coef_[0], node, 0.0)


def _of_categories(states: States, rule: str, c: float) -> np.ndarray:
    """Return the absolute weights of all pairs of nodes, of scores from 0 to 1."""
    span = np.array(states.sizes) - 1.0
    theta = wainwright(states, rule, penalty=np.array([1 / (c * states.n_samples)])).theta[0]
    pairs = np.outer(span, span)[np.triu_indices(len(span), 1)]
    return np.abs(theta[: len(pairs)]) * pairs


def _bisection(strengths: Callable[[float], np.ndarray], n_edges: int, c: float) -> Iterator[np.ndarray]:
    """Return strengths at the smallest C found with at least ``n_edges`` edges, by bisection.

    ``c`` must give no edge, such as 1 / N, as the slope of the loss at w = 0 is at most N.
    """
    low = high = c
    while True:
        high = min(2 * high, LARGEST_C)
        best = strengths(high)
        yield best
        if np.count_nonzero(best) >= n_edges:
            break
        if high == LARGEST_C:
            expected = f"at most {np.count_nonzero(best)}, the edges that the data support with hardly any penalty"
            raise GraphError(option="n_edges", got=n_edges, expected=expected, remedy="or use rule='max'")
        low = high
    while np.count_nonzero(best) > n_edges and high > low * (1 + PRECISION):
        middle = np.sqrt(low * high)
        tried = strengths(middle)
        if np.count_nonzero(tried) >= n_edges:
            high, best = middle, tried
        else:
            low = middle
        yield best
