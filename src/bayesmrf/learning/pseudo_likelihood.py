"""The pseudo-likelihood (Besag 1975) of an agreement model, and its maximum."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import Bounds, minimize

from ..base import Model
from ..errors import BoundaryWarning, ConvergenceWarning, DataError, OptionError
from ..inference.pseudo_likelihood import value_and_scores
from ..models.agreement import Agreement
from ..models.categorical import binary_form
from ..partitions import canonical


def log_pseudo_likelihood(
    model: Model, theta: np.ndarray, states: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Sum over samples and nodes of log P(x_i | all other nodes) (Besag 1975).

    With x in {-1, +1}, couplings J and fields h, P(x_i | rest) = 1 / (1 + exp(-2 x_i (h_i + sum_j J_ij x_j))).

    Parameters
    ----------
    model : Model
        The model.
    theta : (n_features,) array
        Its natural parameters.
    states : (n_samples, n_nodes) array in {0, 1}
        The data.
    weights : (n_samples,) array, optional
        How often each row counts; once by default.

    Returns
    -------
    float
        In nats. Work is O(n_samples (n_nodes + n_edges)), memory O(n_edges + states).
    """
    x, w = _checked(model, states, weights)
    return value_and_scores(binary_form(model, _theta(model, theta)), x, w)[0]


def maximum_pseudo_likelihood(
    model: Agreement,
    states: np.ndarray,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    bound: float = 12.0,
) -> np.ndarray:
    """Maximise the log pseudo-likelihood within bounds, by L-BFGS-B with its exact gradient.

    The objective is concave, so the maximum is global. Edge parameters stay within -bound..bound, the field of a node
    of degree k within (1 + k) / 2 times that, so that it can outweigh all its edges. If a bound is active the
    estimate without it is infinite (for example for an edge whose ends always agree) or large: theta = 12 is an
    agreement of 1 - 6e-6.

    Parameters
    ----------
    model : Agreement
        With or without fields.
    states : (n_samples, n_nodes) array in {0, 1}
        The data.
    weights : (n_samples,) array, optional
        How often each row counts.
    groups : (n_edges,) integer array, optional
        Edges with the same label share one parameter; each has its own when absent. Fields are never tied.
    bound : float
        Largest absolute value of an edge's parameter.

    Returns
    -------
    (n_features,) array
        theta, with equal entries for the edges of a group.

    Warns
    -----
    BoundaryWarning
        If features are at their bound.
    ConvergenceWarning
        If L-BFGS-B stops before its tolerance.
    """
    x, w = _checked(model, states, weights)
    if not (np.isfinite(bound) and bound > 0):
        raise OptionError(option="bound", got=bound, expected="a finite number > 0, the largest |theta| of an edge")
    of_edge = np.arange(model.n_edges) if groups is None else _checked_groups(groups, model.n_edges)
    n_free_edges = int(of_edge.max(initial=-1)) + 1
    free = np.concatenate([of_edge, n_free_edges + np.arange(model.n_features - model.n_edges)])
    n_free = n_free_edges + model.n_features - model.n_edges
    if n_free == 0:
        return np.zeros(0)
    box = np.full(n_free, float(bound))
    if model.fields:
        box[n_free_edges:] *= (1 + np.diff(model.graph.adjacency.starts)) / 2
    total = w.sum()

    def negative(phi: np.ndarray) -> tuple[float, np.ndarray]:
        value, score_pair, score_node = value_and_scores(model.pairwise(phi[free]), x, w)
        # The coupling is theta / 2.
        score = np.concatenate([score_pair / 2, score_node]) if model.fields else score_pair / 2
        return -value / total, -np.bincount(free, weights=score, minlength=n_free) / total

    found = minimize(
        negative,
        np.zeros(n_free),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(-box, box),
        options={"maxiter": 10_000, "maxfun": 100_000, "ftol": 1e-14, "gtol": 1e-10},
    )
    # Status 2 is a line search that cannot improve at this precision.
    if found.status == 1:
        warnings.warn(
            f"maximum pseudo-likelihood stopped after {found.nit} iterations, before its tolerance: {found.message}",
            ConvergenceWarning,
            stacklevel=2,
        )
    theta = found.x[free]
    at_bound = np.flatnonzero(np.abs(theta) >= box[free] * (1 - 1e-9))
    if at_bound.size:
        names = model.feature_names
        some = ", ".join(repr(names[i]) for i in at_bound[:5]) + (", ..." if at_bound.size > 5 else "")
        warnings.warn(
            f"{at_bound.size} parameter(s) are at their bound (|theta| <= {bound:g} for edges): {some}; "
            "they have no finite estimate",
            BoundaryWarning,
            stacklevel=2,
        )
    return theta


def _theta(model: Model, theta: np.ndarray) -> np.ndarray:
    theta = np.asarray(theta, dtype=np.float64)
    if theta.shape != (model.n_features,):
        raise OptionError(
            option="theta", got=theta, expected=f"an array of shape ({model.n_features},), one for each feature"
        )
    return theta


def _checked(model: Model, states: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    states = np.asarray(states)
    if states.ndim != 2 or states.shape[1] != model.graph.n_nodes or len(states) == 0:
        expected = f"an array of shape (n_samples, {model.graph.n_nodes}) with at least one row"
        raise DataError(option="states", got=states, expected=expected)
    w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (len(states),):
        raise DataError(
            option="weights", got=w, expected=f"an array of shape ({len(states)},), one for each row of states"
        )
    return np.ascontiguousarray(states, dtype=np.int8), w


def _checked_groups(groups: np.ndarray, n_edges: int) -> np.ndarray:
    if np.shape(groups) != (n_edges,):
        expected = f"an array of shape ({n_edges},), one label for each edge"
        raise OptionError(option="groups", got=np.asarray(groups), expected=expected)
    return canonical(groups) if n_edges else np.zeros(0, dtype=np.int32)
