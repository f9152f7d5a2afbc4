"""Quality of an estimate: error, likelihood of new data, distance of partitions (Liu and Page 2013, section 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .base import LOG_Z, InferenceEngine, Kind, Model
from .data.states import check_codes
from .errors import DataError, OptionError
from .inference.pseudo_likelihood import value_and_scores
from .models.bases import sizes_of
from .models.categorical import binary_form, many_state_form
from .models.pairwise import log_potential
from .partitions import expected_vi, variation_of_information, vi_difference

__all__ = [
    "conditional_log_probability",
    "expected_vi",
    "log_likelihood",
    "log_probability",
    "log_pseudo_likelihood",
    "mean_absolute_error",
    "strength",
    "variation_of_information",
    "vi_difference",
]


def mean_absolute_error(agreement: Any, truth: Any) -> float:
    """Compute the mean absolute error of the agreement over the edges (Liu and Page 2013, section 4)."""
    a, b = np.asarray(agreement, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if a.shape != b.shape or a.size == 0:
        raise DataError(
            f"agreement must have one value for each edge, as truth, got the shapes {a.shape} and {b.shape}."
        )
    return float(np.abs(a - b).mean())


def log_probability(model: Model, theta: np.ndarray, states: np.ndarray, engine: InferenceEngine) -> np.ndarray:
    """Compute the log probability of each of ``states`` (n_samples, n_nodes) in {0, 1}, with the engine's log Z."""
    check_codes(states, 2)
    log_z = engine.infer(model, theta, engine.prepare(model), want=LOG_Z).log_z
    return log_potential(binary_form(model, theta), states) - log_z


def conditional_log_probability(
    model: Model, thetas: np.ndarray, states: np.ndarray, group: Sequence[int]
) -> np.ndarray:
    r"""Compute the log probability of each joint state of some nodes given the others, averaged over parameters.

    .. math:: \log \frac1K \sum_k p(x_G \mid x_{-G}, \theta_k),

    exactly, by the sum over the m^g states of the group; the conditional log likelihood of Chen and Welling (2012,
    section 5) is its value at the observed state.

    Parameters
    ----------
    model : Model
    thetas : (n_parameters, n_features) array
    states : (n_samples, n_nodes) array in {0, ..., m_i - 1}
        The values of the group are ignored.
    group : sequence of int
        Nodes; their joint state number s has the first node in its highest digit.

    Returns
    -------
    (n_samples, m^g) array
    """
    nodes, m = np.asarray(group), model.n_states
    g, others = len(nodes), np.setdiff1d(np.arange(model.graph.n_nodes), nodes)
    check_codes(np.where(np.isin(np.arange(model.graph.n_nodes), nodes), 0, states), sizes_of(model))
    inner = np.array(np.unravel_index(np.arange(m**g), (m,) * g)).T
    total = np.full((len(states), m**g), -np.inf)
    for theta in thetas:
        form = many_state_form(model, theta)
        u, v = form.edges.T
        tables = form.coupling if form.coupling.ndim > 1 else form.coupling[:, None, None] * np.eye(m)
        coupling = np.zeros((model.graph.n_nodes,) * 2 + (m, m))
        coupling[u, v], coupling[v, u] = tables, tables.swapaxes(1, 2)
        pairs = [coupling[nodes[j], nodes[k]][inner[:, j], inner[:, k]] for k in range(g) for j in range(k)]
        log_p = np.tile(np.sum(pairs, axis=0) if pairs else np.zeros(m**g), (len(states), 1))
        for k, node in enumerate(nodes):
            near = others[coupling[others, node].any(axis=(1, 2))]
            field = form.field[node] + np.zeros((len(states), m))
            for x in range(m):
                field += (states[:, near] == x) @ coupling[near, node, x]
            log_p += field[:, inner[:, k]]
        log_p -= np.logaddexp.reduce(log_p, axis=1, keepdims=True)
        np.logaddexp(total, log_p, out=total)
    return total - np.log(len(thetas))


def log_likelihood(
    model: Model, theta: np.ndarray, states: np.ndarray, engine: InferenceEngine, weights: np.ndarray | None = None
) -> float:
    """Compute the exact log likelihood of data, in nats: N (theta . s_bar - log Z(theta)).

    Parameters
    ----------
    model : Model
        The model.
    theta : (n_features,) array
        Its natural parameters.
    states : (n_samples, n_nodes) array in {0, ..., m_i - 1}
        For example test data.
    engine : Engine
        Must compute ``log_z`` exactly (enumeration, elimination).
    weights : (n_samples,) array, optional
        Counts of the rows.

    Raises
    ------
    OptionError
        If the engine's log Z is not exact; its error would be multiplied by N.
    """
    if LOG_Z not in engine.answers or engine.kind is not Kind.EXACT:
        remedy = "use elimination or enumeration, or log_pseudo_likelihood if the graph is too wide for both"
        raise OptionError(option="engine", got=engine.name, expected="one with an exact log_z", remedy=remedy)
    n = len(states) if weights is None else float(np.sum(weights))
    log_z = engine.infer(model, theta, engine.prepare(model), want=LOG_Z).log_z
    return float(n * (np.dot(theta, model.statistics(states, weights)) - log_z))


def log_pseudo_likelihood(
    model: Model, theta: np.ndarray, states: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Sum over samples and nodes of log P(x_i | all other nodes) (Besag 1975).

    With x in {-1, +1}, couplings J and fields h, P(x_i | rest) = 1 / (1 + exp(-2 x_i (h_i + sum_j J_ij x_j))).

    Parameters
    ----------
    model, theta, states, weights
        As in `log_likelihood`.

    Returns
    -------
    float
        In nats. Work is O(n_samples (n_nodes + n_edges)), memory O(n_edges + states).
    """
    theta = np.asarray(theta, dtype=np.float64)
    if theta.shape != (model.n_features,):
        raise OptionError(
            option="theta", got=theta, expected=f"an array of shape ({model.n_features},), one for each feature"
        )
    states = np.asarray(states)
    if states.ndim != 2 or states.shape[1] != model.graph.n_nodes or len(states) == 0:
        expected = f"an array of shape (n_samples, {model.graph.n_nodes}) with at least one row"
        raise DataError(option="states", got=states, expected=expected)
    check_codes(states, 2)
    w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (len(states),):
        raise DataError(
            option="weights", got=w, expected=f"an array of shape ({len(states)},), one for each row of states"
        )
    return value_and_scores(binary_form(model, theta), np.ascontiguousarray(states, dtype=np.int8), w)[0]


def strength(weights: np.ndarray, edges: np.ndarray, n_nodes: int) -> np.ndarray:
    r"""Sum the absolute weights of the edges of each node, :math:`\sum_v |w_{uv}|`, its strength centrality.

    Parameters
    ----------
    weights : (..., n_edges) array
    edges : (n_edges, 2) int array
    n_nodes : int

    Returns
    -------
    (..., n_nodes) array
    """
    # A sparse product adds up in one order, whatever the number of rows; that of BLAS depends on it on some processors.
    ends = np.asarray(edges).ravel(), np.repeat(np.arange(len(edges)), 2)
    incidence = csr_array((np.ones(2 * len(edges)), ends), shape=(n_nodes, len(edges)))
    flat = np.abs(weights).reshape(math.prod(np.shape(weights)[:-1]), len(edges))  # -1 fits no table without edges
    return np.ascontiguousarray((incidence @ flat.T).T).reshape(*np.shape(weights)[:-1], n_nodes)
