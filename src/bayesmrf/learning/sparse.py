"""Learn a graph: neighbourhood selection by L1-penalised logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression

from ..errors import GraphError
from ..graphs import Graph
from ..memory import check_pairs
from ..progress import track
from ..rules import choice, integer
from ..states import States

LARGEST_C = 1e3  # the penalty is then a thousandth of a nat for a unit of coefficient, whatever the number of samples
PRECISION = 1e-4  # of log C

# scikit-learn 1.8 names the penalty by `l1_ratio` and deprecates `penalty`.
_L1 = {"l1_ratio": 1.0} if LogisticRegression().penalty == "deprecated" else {"penalty": "l1"}


def learn_graph(
    states: States, n_edges: int, rule: str = "max", n_jobs: int | None = None, progress: bool = False
) -> Graph:
    r"""Find the graph with exactly ``n_edges`` edges by neighbourhood selection.

    Each node is regressed on all others by logistic regression with an L1 penalty,

    .. math:: \min_{b, w} \|w\|_1 + C \sum_s \log\big(1 + e^{-x_{si} (b + \sum_j w_j x_{sj})}\big),

    and its neighbours are the nodes with w_j != 0 (Ravikumar, Wainwright and Lafferty 2010). One C serves all nodes. It
    is found by bisection as the smallest that gives enough edges; where their number jumps past the target, the edges
    with the largest absolute coefficients are kept. The answer is deterministic.

    Parameters
    ----------
    states : States
        The data; weights count rows. Columns that never vary get no edges.
    n_edges : int
        Edges wanted.
    rule : {"max", "min"}
        An edge needs a coefficient in either of its two regressions ("max", the "or" rule), or in both ("min", the
        "and" rule). The rule also says which of the two absolute coefficients ranks the edge.
    n_jobs : int, optional
        Regressions run at a time, in joblib's threads unless another backend is chosen around the call.
    progress : bool
        Show a bar.

    Returns
    -------
    Graph
        On the columns of the data, edges in lexicographic order.

    Raises
    ------
    OptionError
        If ``rule`` or ``n_edges`` is not legal.
    GraphError
        If the columns that vary, or the data, do not allow as many edges.
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
        raise GraphError(f"n_edges: {n_edges} edges came, but the {len(varies)} column(s) that vary have {len(first)} "
                         f"pairs; ask for at most {len(first)}")  # fmt: skip
    if n_edges == 0:
        return Graph(n_nodes, np.zeros((0, 2), dtype=np.int32), states.names)
    x = 2.0 * values[:, varies] - 1.0
    combine = np.maximum if rule == "max" else np.minimum

    with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:

        def strengths(c: float) -> np.ndarray:
            rows = np.abs(parallel(delayed(_coefficients)(x, i, weights, c) for i in range(len(varies))))
            return combine(rows[first, second], rows[second, first])

        rounds = _bisection(strengths, n_edges, 1 / states.n_samples)
        for found in track(rounds, "learning the graph", progress=progress):
            strength = found
    # Stable, so that ties are settled by the order of the pairs.
    kept = np.sort(np.argsort(-strength, kind="stable")[:n_edges])
    return Graph(n_nodes, varies[np.stack([first[kept], second[kept]], axis=1)], states.names)


def _coefficients(x: np.ndarray, node: int, weights: np.ndarray | None, c: float) -> np.ndarray:
    """Coefficients of the regression of a node on all nodes, zero for itself."""
    others = np.delete(x, node, axis=1)
    # liblinear penalises the intercept too, by its size over `intercept_scaling`: hardly.
    model = LogisticRegression(
        C=c, solver="liblinear", intercept_scaling=100.0, max_iter=10_000, random_state=0, **_L1
    ).fit(others, x[:, node], sample_weight=weights)
    return np.insert(model.coef_[0], node, 0.0)


def _bisection(strengths: Callable[[float], np.ndarray], n_edges: int, c: float) -> Iterator[np.ndarray]:
    """Strengths at the smallest C known to give at least ``n_edges`` edges, better with every round.

    ``c`` must be too small to give any edge: 1 / N is, as the slope of the loss at w = 0 never exceeds N.
    """
    low = high = c
    while True:
        high = min(2 * high, LARGEST_C)
        best = strengths(high)
        yield best
        if np.count_nonzero(best) >= n_edges:
            break
        if high == LARGEST_C:
            raise GraphError(f"n_edges: {n_edges} edges came, but the data support only {np.count_nonzero(best)} with "
                             "hardly any penalty; ask for fewer edges, or use rule='max'")  # fmt: skip
        low = high
    while np.count_nonzero(best) > n_edges and high > low * (1 + PRECISION):
        middle = np.sqrt(low * high)
        found = strengths(middle)
        if np.count_nonzero(found) >= n_edges:
            high, best = middle, found
        else:
            low = middle
        yield best
