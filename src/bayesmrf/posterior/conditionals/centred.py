r"""Lines along the parameters of a pairwise model whose features are centred on the data.

An edge's parameter a is moved together with those of its two nodes, so that the feature which changes is

.. math:: g(x_u, x_v) = f(x_u, x_v) - \sum_j k_{uj} y_j(x_u) - \sum_j k_{vj} y_j(x_v),

with f the feature of an edge, :math:`y_j` those of a node, and :math:`\sum_j k_{uj} y_j(x_u)` the mean of f over the
distribution of :math:`x_v` in the data. In a Boltzmann machine this is the product of the centred nodes, up to a
constant. It is nearly uncorrelated with the nodes' features, so that births, deaths and changes of an edge do not have
to wait for the nodes' parameters. The map from (a, node parameters) to (a, node parameters at a = 0) has Jacobian 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numba.extending import overload

from ...compiled import strict_leaf
from ...models.categorical import is_categorical
from .line import Line, LineSample

_LEAST = 1e-12  # variance of a feature that varies


@runtime_checkable
class CentredModel(Protocol):
    """A model with one parameter for each edge, and one fewer than its states, or none, for each node.

    ``edge_values`` (m, m) is the feature of an edge, ``node_values`` are the two values of the features of a node,
    whose parameters begin at ``node_starts`` in theta.
    """

    @property
    def edge_values(self) -> np.ndarray: ...  # noqa: D102
    @property
    def node_values(self) -> tuple[float, float]: ...  # noqa: D102
    @property
    def node_starts(self) -> np.ndarray: ...  # noqa: D102


class TwoStates(NamedTuple):
    """Smaller value of the feature y of a node, and the difference of the two values."""

    low: float
    unit: float


class ManyStates(NamedTuple):
    """`TwoStates` for m states: :math:`y_j` is ``low + unit`` in the state j, j = 1, ..., m - 1."""

    low: float
    unit: float


class CentredLines(NamedTuple):
    """Constants of lines of a model and data; theta has r edges, then parameters of nodes."""

    form: Any
    values: np.ndarray  # (m, m), f
    edges: np.ndarray  # (r, 2) int64
    n: float
    sums: np.ndarray  # (n_features,), of the data
    pull: np.ndarray  # (n_nodes, m - 1), k of a neighbour of the node; (n_nodes, 0) without node parameters
    starts: np.ndarray  # (n_nodes + 1,), place in theta of the first parameter of each node
    base: np.ndarray  # (n_nodes, m), log weight of each state of each node at theta = 0


def centred_lines(model: Any, s_bar: np.ndarray, n: float, tilt: float = 0.0) -> CentredLines:
    """Return the lines of a model, centred on data with the mean statistics ``s_bar`` of n observations.

    ``tilt`` is the slope of the log prior of the parameters of nodes, apart from a normal density.
    """
    values, (low, high) = model.edge_values, model.node_values
    share = node_shares(model, s_bar) if n > 0 else np.full((model.graph.n_nodes, model.n_states), 1 / model.n_states)
    pull = share @ (values[:, 1:] - values[:, :1]) / (high - low)
    if model.n_features == model.n_edges:
        pull = pull[:, :0]
    form = (TwoStates if model.n_states == 2 else ManyStates)(low, high - low)
    base = np.zeros(share.shape)
    if is_categorical(model):
        base = model.categorical(np.zeros(model.n_features)).field
    edges, sums = model.graph.edges.astype(np.int64), n * s_bar
    sums[model.n_edges :] += tilt
    return CentredLines(form, values, edges, n, sums, pull, model.node_starts, base)


def node_shares(model: Any, moments: np.ndarray) -> np.ndarray:
    """Compute the probability of each state of each node, (n_nodes, m), from the moments of a model's features.

    They are equal for models without node parameters.
    """
    if model.n_features == model.n_edges:
        return np.full((model.graph.n_nodes, model.n_states), 1 / model.n_states)
    low, high = model.node_values
    share = np.zeros((model.graph.n_nodes, model.n_states))
    has = np.arange(1, model.n_states) <= np.diff(model.node_starts)[:, None]
    share[:, 1:][has] = (moments[model.n_edges :] - low) / (high - low)
    share[:, 0] = 1 - share.sum(axis=1)
    return share


def edge_correlations(model: Any, s_bar: np.ndarray) -> np.ndarray:
    r"""Return the correlation of each edge's ends in the data, (n_edges,): of its feature, centred on the two ends.

    With g the centred feature and :math:`E_0`, :math:`\sigma_0` for independent ends, :math:`(\bar g - E_0 g) /
    \sigma_0(g)`. For two states, and for products of scores, it is Pearson's.
    """
    f, (p, q) = model.edge_values, node_shares(model, s_bar)[model.graph.edges.T]
    given_u, given_v = q @ f.T, p @ f
    mean = (p * given_u).sum(axis=1)
    square = (p * (q @ f.T**2)).sum(axis=1) + mean**2
    variance = square - (p * given_u**2).sum(axis=1) - (q * given_v**2).sum(axis=1)
    excess = s_bar[: model.n_edges] - mean
    found: np.ndarray = np.where(variance > _LEAST, excess / np.sqrt(np.maximum(variance, _LEAST)), 0.0)
    return found


def pair_cells(model: Any, moments: np.ndarray, share: np.ndarray, e: int | np.ndarray) -> np.ndarray:
    """Compute the probabilities (4,) of the states 00, 01, 10, 11 of the ends of edge e of a binary model.

    Those of several edges are (4, n).
    """
    f, (u, v) = model.edge_values, model.graph.edges[e].T
    p, q = share[u, 1], share[v, 1]
    both = (moments[e] - f[0, 0] - (f[0, 1] - f[0, 0]) * (p + q)) / (f[1, 1] - 2 * f[0, 1] + f[0, 0])
    return np.maximum([1 - p - q + both, q - both, p - both, both], 0.0)


@strict_leaf
def _values_of_two(lines, i, j):
    f = lines.values
    if lines.pull.shape[1] == 0:
        return f[0, 0], f[0, 1], f[1, 0], f[1, 1]
    base = lines.form.low * (lines.pull[j, 0] + lines.pull[i, 0])
    d_i, d_j = lines.form.unit * lines.pull[j, 0], lines.form.unit * lines.pull[i, 0]
    return f[0, 0] - base, f[0, 1] - base - d_j, f[1, 0] - base - d_i, f[1, 1] - base - d_i - d_j


@strict_leaf
def _values_of_many(lines, i, j):
    m, base = len(lines.values), lines.form.low * (lines.pull[i].sum() + lines.pull[j].sum())
    out = lines.values.ravel() - base
    for x in range(m):
        for y in range(1, lines.pull.shape[1] + 1):
            out[y * m + x] -= lines.form.unit * lines.pull[j, y - 1]
            out[x * m + y] -= lines.form.unit * lines.pull[i, y - 1]
    return out


@strict_leaf
def _shares_of_two(cells, total):
    return cells[0] / total, cells[1] / total, cells[2] / total, cells[3] / total


@strict_leaf
def _shares_of_many(cells, total):
    return cells / total


def pair_values(lines, i, j):
    """Return the values of the centred feature of nodes i and j in their states 00, 01, ..., in the form's type."""
    return (_values_of_two if isinstance(lines.form, TwoStates) else _values_of_many)(lines, i, j)


def pair_shares(lines, cells, total):
    """Return ``cells`` / ``total`` in the type of the form."""
    return (_shares_of_two if isinstance(lines.form, TwoStates) else _shares_of_many)(cells, total)


@overload(pair_values)
def _pair_values(lines, i, j):
    if lines.types[0].instance_class is TwoStates:
        return lambda lines, i, j: _values_of_two(lines, i, j)
    return lambda lines, i, j: _values_of_many(lines, i, j)


@overload(pair_shares)
def _pair_shares(lines, cells, total):
    if lines.types[0].instance_class is TwoStates:
        return lambda lines, cells, total: _shares_of_two(cells, total)
    return lambda lines, cells, total: _shares_of_many(cells, total)


@strict_leaf
def edge_line(lines, cells, total, e, i, j, theta, precision):
    """Return the line of edge e = ij, whose ends are in states 00, 01, ... with probabilities ``cells`` / ``total``.

    ``precision`` is that of a normal prior of each parameter.
    """
    score, kappa, mu = lines.sums[e], precision[e], 0.0
    for node, other in ((i, j), (j, i)):
        for place in range(lines.starts[node], lines.starts[node + 1]):
            k = lines.pull[other, place - lines.starts[node]]
            score -= k * lines.sums[place]
            kappa += precision[place] * k * k
            mu += precision[place] * k * (theta[place] + theta[e] * k)
    sample = LineSample(pair_shares(lines, cells, total), pair_values(lines, i, j), theta[e], lines.n)
    return Line((sample,), score, kappa, mu / kappa)


@strict_leaf
def own_line(lines, high, rest, k, low, unit, theta, precision):
    """Return the line of parameter k alone; its feature is ``low`` with weight ``rest``, else ``low + unit``."""
    sample = LineSample((high / (high + rest), rest / (high + rest)), (unit, 0.0), theta[k], lines.n)
    return Line((sample,), lines.sums[k] - lines.n * low, precision[k], 0.0)


@strict_leaf
def move_edge(lines, e, i, j, theta, value):
    """Set the parameter of edge e with the ends i and j, and update those of the nodes."""
    change = value - theta[e]
    theta[e] = value
    for node, other in ((i, j), (j, i)):
        for place in range(lines.starts[node], lines.starts[node + 1]):
            theta[place] -= change * lines.pull[other, place - lines.starts[node]]
