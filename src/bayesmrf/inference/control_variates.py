r"""Moments at one theta from states in equilibrium there, by control variates of mean 0.

Given the other nodes, any function h of the state of node u less its conditional mean,

.. math:: h(x_u, x_{-u}) - \sum_y P(x_u = y \mid x_{-u}) \, h(y, x_{-u}),

has mean 0 under the model (Dellaportas and Kontoyiannis 2012 use this for Gibbs sampling). With h the features of the
edges and of the node these are the scores of the pseudo-likelihood, each split by the ends of its edge. They explain
most of a feature: what is left is what the pseudo-likelihood loses against the likelihood. Two more functions of each
node move with all edges together: its log potential times the difference of its log potentials, and its state times
the squared sum of the others.

The states must be of this theta: of chains that follow another one, the means would not be 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..errors import OptionError
from ..threads import one_thread

_GROUPS = 20  # of chains, by which errors are estimated: even ones have the coefficients of odd ones, and conversely
_STATES = 20  # of a half for each control of a regression: at least, and at most
_MOST_JOINT = 2000  # features that are regressed on all controls
_RIDGE, _LEAST = 1e-4, 1e-6  # relative to the variance of a control, and of a control that never varied


class ControlledMoments(NamedTuple):
    """Means of features, and their standard errors; ``plain`` are those of the means of the states alone."""

    mean: np.ndarray
    error: np.ndarray
    plain: np.ndarray


class _Part(NamedTuple):
    """Features that are regressed on the same controls."""

    features: np.ndarray
    controls: np.ndarray


@one_thread()
def controlled_moments(model: Any, theta: np.ndarray, states: np.ndarray) -> ControlledMoments:
    r"""Estimate the moments of a model at theta from states of independent chains.

    Coefficients are those of the other half of the chains, so that the estimate is unbiased.

    Parameters
    ----------
    model : TwoArrays or Nominal
    theta : (n_features,) array
    states : (n_times, n_chains, n_nodes) int array
        Of chains in equilibrium at theta, which are independent of each other.

    Returns
    -------
    ControlledMoments
        Without controls where there are fewer than 20 states of a half for each of those of one feature.

    Raises
    ------
    OptionError
        For fewer than 20 chains, of which errors would not be known.
    """
    n_times, n_chains = states.shape[:2]
    if n_chains < _GROUPS:
        raise OptionError(option="states", got=f"{n_chains} chains", expected=f"those of at least {_GROUPS} chains")
    controls, half = _Controls(model, theta), n_times * n_chains // 2
    parts = [] if half < _STATES * controls.most_of_one else controls.of_each
    if model.n_features <= _MOST_JOINT and half >= _STATES * controls.n:
        parts = [_Part(np.arange(model.n_features), np.arange(controls.n))]
    # Chains of each group; those of the two halves are every second chain.
    group = (np.arange(n_chains) % _GROUPS == np.arange(_GROUPS)[:, None]).astype(np.float64)
    shift = model.features(states[0].astype(np.int64)).mean(axis=0)
    sizes = group.sum(axis=1, keepdims=True) * n_times
    f_means, u_means = np.zeros((_GROUPS, model.n_features)), np.zeros((_GROUPS, controls.n))
    squares = [np.zeros((2, len(c), len(c))) for _, c in parts]
    products = [np.zeros((2, len(c), len(f))) for f, c in parts]
    counted, enough = 0, _STATES * max((len(c) for _, c in parts), default=0)
    for x in states.astype(np.int64):
        f = model.features(x) - shift
        f_means += group @ f
        if not parts:
            continue
        u = controls.at(x)
        u_means += group @ u
        if counted >= enough:
            continue
        counted += n_chains // 2
        for h in range(2):
            f_half, u_half = f[h::2].astype(np.float32), u[h::2].astype(np.float32)
            for part, square, product in zip(parts, squares, products, strict=True):
                v = u_half[:, part.controls]
                square[h] += v.T @ v
                product[h] += v.T @ f_half[:, part.features]
    f_means, u_means = f_means / sizes, u_means / sizes
    controlled = f_means.copy()
    for part, square, product in zip(parts, squares, products, strict=True):
        for h in range(2):
            coefficients = _solve(square[1 - h], product[1 - h], counted)
            controlled[h::2, part.features] -= u_means[h::2, part.controls] @ coefficients
    errors = (x.std(axis=0, ddof=1) / np.sqrt(_GROUPS) for x in (controlled, f_means))
    return ControlledMoments(controlled.mean(axis=0) + shift, *errors)


def _solve(square: np.ndarray, product: np.ndarray, n: int) -> np.ndarray:
    """Return the coefficients of a ridge regression."""
    ridge = _RIDGE * square.diagonal() + _LEAST * n
    return np.linalg.solve(square + np.diag(ridge), product)


class _Ends(NamedTuple):
    """Ends of edges that have the same feature: places of their controls, and the nodes at both ends."""

    feature: np.ndarray  # (m, m), the states of this end first
    factors: tuple[np.ndarray, np.ndarray] | None  # of the states of either end, if it is their product
    places: np.ndarray
    nodes: np.ndarray
    others: np.ndarray


class _Controls:
    """Controls of a model at theta: of each end of each edge, then of the parameters of nodes, then two of a node."""

    def __init__(self, model: Any, theta: np.ndarray) -> None:
        self.model, self.starts = model, np.asarray(model.edge_starts)
        self.n_of_edges, n_nodes = int(self.starts[-1]), model.graph.n_nodes
        self.field, table = model.field_table(theta[self.n_of_edges :]), model.table(theta[: self.n_of_edges])
        m = self.field.shape[1]
        # Log potentials of the states of each node in those of each other one.
        self.potentials = np.zeros((n_nodes, m, n_nodes, m))
        for (u, v), potential in zip(model.graph.edges.tolist(), table, strict=True):
            self.potentials[u, :, v], self.potentials[v, :, u] = potential, potential.T
        self.potentials = self.potentials.reshape(n_nodes * m, -1)
        self.ends = self._ends()
        self.n = self.n_of_edges + model.n_features + 2 * n_nodes

    def _ends(self) -> list[_Ends]:
        """Return the ends of edges, those with the same feature together."""
        model, same = self.model, dict[bytes, Any]()
        each = np.asarray(model.edge_features)
        for e, (u, v) in enumerate(model.graph.edges.tolist()):
            for k in range(self.starts[e], self.starts[e + 1]):
                f = each[k if model.n_parameters is None else k - self.starts[e]]
                for node, other, feature, place in ((u, v, f, k), (v, u, f.T, k + self.n_of_edges)):
                    same.setdefault(feature.tobytes(), (feature, []))[1].append((place, node, other))
        return [_Ends(f, _factors(f), *np.array(ends).T) for f, ends in same.values()]

    @property
    def of_each(self) -> list[_Part]:
        """Parts of each edge, with the controls of its ends, and of each node."""
        first, starts = 2 * self.n_of_edges, np.asarray(self.model.node_starts) - self.n_of_edges
        at_node = [first + np.arange(a, b) for a, b in pairwise(starts)]
        parts = []
        for e, (u, v) in enumerate(self.model.graph.edges.tolist()):
            of_edge = np.arange(self.starts[e], self.starts[e + 1])
            parts.append(_Part(of_edge, np.concatenate([of_edge, of_edge + self.n_of_edges, at_node[u], at_node[v]])))
        return parts + [_Part(of_node - self.n_of_edges, of_node) for of_node in at_node if len(of_node)]

    @property
    def most_of_one(self) -> int:
        """Most controls of one feature."""
        return max(len(part.controls) for part in self.of_each)

    def at(self, x: np.ndarray) -> np.ndarray:
        """Return the controls at states (n, n_nodes), (n, n_controls), one after the other in memory."""
        (n, n_nodes), m, used, x = x.shape, self.field.shape[1], self.model.used, np.ascontiguousarray(x.T)
        out, states, nodes = np.empty((self.n, n)), np.arange(m), np.arange(n_nodes)
        hot = (x[:, None] == states[:, None]).astype(np.float64)
        potential = (self.potentials @ hot.reshape(-1, n)).reshape(hot.shape)
        residual = hot - _probabilities(potential + self.field[:, :, None])
        for same in self.ends:
            if same.factors is None:
                tables = same.feature.T @ residual
                out[same.places] = tables[same.nodes[:, None], x[same.others], np.arange(n)]
            else:
                left, right = same.factors
                out[same.places] = (left @ residual)[same.nodes] * right[x][same.others]
        last, node_of = self.n - 2 * n_nodes, self.model.node_of
        out[2 * self.n_of_edges : last] = np.einsum("km,kmn->kn", self.model.node_rows, residual[node_of])
        first, top = used.argmax(axis=1), m - 1 - used[:, ::-1].argmax(axis=1)
        out[last : last + n_nodes] = (residual * potential).sum(axis=1)
        out[last : last + n_nodes] *= potential[nodes, top] - potential[nodes, first]
        rest = x.sum(axis=0) - 0.5 * (n_nodes - 1) * states[-1] - x
        out[last + n_nodes :] = (states @ residual) * rest**2
        return out.T


def _factors(feature: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return two functions of the states of either end of which a feature is the product, if there are any."""
    largest = np.unravel_index(np.abs(feature).argmax(), feature.shape)
    if feature[largest] == 0:
        return None
    left, right = feature[:, largest[1]], feature[largest[0]] / feature[largest]
    return (left, right) if np.allclose(np.outer(left, right), feature, atol=1e-12) else None


def _probabilities(log_weight: np.ndarray) -> np.ndarray:
    """Return the probabilities of states with the logs of weights (n_nodes, m, n)."""
    p = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))
