r"""Lines along the parameters of a pairwise model whose features are centred on the data.

An edge's parameter a is moved together with those of its two nodes, so that the feature which changes is

.. math:: g(x_u, x_v) = f(x_u, x_v) - \sum_j k_{uj} y_j(x_u) - \sum_j k_{vj} y_j(x_v),

with f the feature of an edge and :math:`y_j` those of a node. The coefficients k are such that g is nearly uncorrelated
with the nodes' features in the data, so that births, deaths and changes of an edge do not have to wait for the nodes'
parameters. If the ends are independent, :math:`\sum_j k_{uj} y_j(x_u)` is the mean of f over the distribution of
:math:`x_v`, and g is, in a Boltzmann machine, the product of the centred nodes. If they depend on each other this
leaves much: where a node is rare, the mean of its neighbours given the node is far from their mean. The map from (a,
node parameters) to (a, node parameters at a = 0) has Jacobian 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...models.bases import edge_of, has_lines
from ...models.boltzmann import Coding, regression_on_ends
from ...models.categorical import is_categorical
from .by_class import by_class
from .line import Line, LineSample

_LEAST = 1e-12  # variance of a feature that varies


class TwoStates(NamedTuple):
    """Smaller value of the feature y of a node, and the difference of the two values."""

    low: float
    unit: float


class ManyStates(NamedTuple):
    """`TwoStates` for m states: :math:`y_j` is ``low + unit`` in the state j, j = 1, ..., m - 1."""

    low: float
    unit: float


class OwnTables(NamedTuple):
    """`ManyStates` where each of the r parameters of edges has a feature of its own, and ``values`` are (r, m, m)."""

    low: float
    unit: float


class CentredLines(NamedTuple):
    """Constants of lines of a model and data; theta has r parameters of edges, then parameters of nodes."""

    form: Any
    values: np.ndarray  # (m, m), f
    edges: np.ndarray  # (r, 2) int64, ends of the edge of each
    n: Any  # observations; of several groups (G,)
    sums: np.ndarray  # (n_features,), of the data
    pull: np.ndarray  # (r, 2, most parameters of a node), k of both ends of each edge
    starts: np.ndarray  # (n_nodes + 1,), place in theta of the first parameter of each node
    base: np.ndarray  # (n_nodes, m), log weight of each state of each node at theta = 0
    features: np.ndarray  # (n_node_parameters, m), y


def centred_lines(
    model: Any, s_bar: np.ndarray, n: float, tilt: float = 0.0, pull: np.ndarray | None = None
) -> CentredLines:
    """Return the lines of a model, centred on data with the mean statistics ``s_bar`` of n observations.

    ``tilt`` is the slope of the log prior of the parameters of nodes, apart from a normal density. ``pull`` replaces
    `residual_pull`.
    """
    low, high = model.node_values
    form = OwnTables if not has_lines(model) else TwoStates if model.n_states == 2 else ManyStates
    base = np.zeros((model.graph.n_nodes, model.n_states))
    if is_categorical(model):
        base = model.categorical(np.zeros(model.n_features)).field
    edges, sums = model.graph.edges[edge_of(model)].astype(np.int64), n * s_bar
    sums[len(edges) :] += tilt
    pull = residual_pull(model, s_bar, n) if pull is None else pull
    values = model.edge_values if has_lines(model) else model.edge_features
    return CentredLines(form(low, high - low), values, edges, n, sums, pull, model.node_starts, base, model.node_rows)


def node_shares(model: Any, moments: np.ndarray) -> np.ndarray:
    """Compute the probability of each state of each node, (n_nodes, m), from the moments of a model's features.

    They are equal for models without node parameters. Around a neutral category moments do not determine them: the
    result is that nearest to equal probabilities, and may be negative.
    """
    if not len(model.node_rows):
        return np.full((model.graph.n_nodes, model.n_states), 1 / model.n_states)
    (low, high), moments = model.node_values, moments[model.node_starts[0] :]
    share = np.zeros((model.graph.n_nodes, model.n_states))
    free, node = model.node_states > 0, model.node_of
    share[node[free], model.node_states[free]] = (moments[free] - low) / (high - low)
    for u in np.unique(node[~free]):
        y, node_moments, size = model.node_rows[node == u], moments[node == u], model.used[u].sum()
        mean = y[:, :size].mean(axis=1)
        share[u, :size] = 1 / size + np.linalg.pinv(y[:, :size] - mean[:, None]) @ (node_moments - mean)
        share[u, 0] = 0.0
    share[:, 0] = 1 - share.sum(axis=1)
    return share


def data_shares(model: Any, s_bar: np.ndarray, n: float) -> np.ndarray:
    """Compute `node_shares` of n observations with the mean statistics ``s_bar``; equal without observations."""
    return node_shares(model, s_bar) if n > 0 else np.full((model.graph.n_nodes, model.n_states), 1 / model.n_states)


def smoothed_shares(model: Any, s_bar: np.ndarray, n: float) -> np.ndarray:
    """Compute `node_shares` with one observation more, evenly over the states: a constant node has a variance, too."""
    return (n * data_shares(model, s_bar, n) + 1 / model.n_states) / (n + 1)


def node_fields(model: Any, share: np.ndarray) -> np.ndarray:
    """Return parameters of nodes without edges whose states have probabilities proportional to ``share`` (n_nodes, m).

    Where fewer parameters than states are free, the log probabilities are regressed on the features, weighted by share.
    """
    low, high = model.node_values
    states, node = model.node_states, model.node_of
    free, parameters = states > 0, np.empty(len(states))
    parameters[free] = np.log(share[node[free], states[free]] / share[node[free], 0]) / (high - low)
    for u in np.unique(node[~free]):
        p = share[u, share[u] > 0]
        y = np.vstack([model.node_rows[node == u], np.ones(len(share[u]))])[:, share[u] > 0]
        parameters[node == u] = np.linalg.lstsq((np.sqrt(p) * y).T, np.sqrt(p) * np.log(p))[0][:-1]
    return parameters


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
    return np.where(variance > _LEAST, excess / np.sqrt(np.maximum(variance, _LEAST)), 0.0)


def mean_pull(model: Any, s_bar: np.ndarray, n: float) -> np.ndarray:
    r"""Return how far the parameters of both ends of each edge move with it, (n_edges, 2, most parameters of a node).

    An end in the state x is centred by the mean of f over the states of the other end in the data.
    """
    share, f, starts, states = data_shares(model, s_bar, n), model.edge_values, model.node_starts, model.node_states
    mean, pull = share @ (f - f[:, :1]), np.zeros((model.n_edges, 2, np.diff(starts).max(initial=0)))
    low, high = model.node_values
    for u, (first, last) in enumerate(zip(starts[:-1] - model.n_edges, starts[1:] - model.n_edges, strict=True)):
        others, k, y = (
            model.graph.edges[:, ::-1][model.graph.edges == u],
            states[first:last],
            model.node_rows[first:last],
        )
        moves = mean[others][:, k] / (high - low) if (k > 0).all() else mean[others] @ np.linalg.pinv(y - y[:, :1])
        pull[model.graph.edges == u, : last - first] = moves
    return pull


def residual_pull(model: Any, s_bar: np.ndarray, n: float) -> np.ndarray:
    r"""Return `mean_pull` for ends that depend on each other, so that the feature is uncorrelated with theirs.

    Of two states these are the coefficients in the regression of the feature on those of its ends in the data
    (`bayesmrf.models.boltzmann.regression_on_ends`). Of more states the data are known by the moments of the features
    only. Let :math:`\mu_u(x)` be the mean of f given :math:`x_u = x` if the ends are
    independent, :math:`z_u` the same standardized, :math:`\sigma_0` the standard deviation of what both leave of f, and
    :math:`\rho` the correlation of the ends. If these are normal and f is their product, the part of f that is a sum of
    functions of one end is the sum over both of

    .. math:: \mu_u(x_u) + \sigma_0 \frac{\rho}{1 + \rho^2} z_u(x_u)^2

    up to a constant. For independent ends it is `mean_pull`.
    """
    if model.n_features == model.n_edges:
        return np.zeros((model.n_edges, 2, 0))
    if model.n_states == 2:
        coding = Coding.of(model)
        effects = regression_on_ends(coding.statistics(model, s_bar), n, model.graph.edges)
        return ((coding.edge * effects + coding.shift) / coding.node)[:, :, None]
    f = model.edge_values
    p, q = smoothed_shares(model, s_bar, n)[model.graph.edges.T]
    ends, conditional_means = np.stack([p, q], axis=1), np.stack([q @ f.T, p @ f], axis=1)
    away = conditional_means - (ends * conditional_means).sum(axis=2, keepdims=True)
    variance = (ends * away**2).sum(axis=2)
    mean = (ends * conditional_means).sum(axis=2)[:, 0]
    left = (p * (q @ f.T**2)).sum(axis=1) - mean**2 - variance.sum(axis=1)
    rho = edge_correlations(model, s_bar) if n > 0 else np.zeros(model.n_edges)
    bent = np.sqrt(np.maximum(left, 0.0)) * rho / (1 + rho**2)
    effects = conditional_means + bent[:, None, None] * away**2 / np.maximum(variance, _LEAST)[:, :, None]
    y = by_node(model, model.node_rows - model.node_rows[:, :1])  # rows of zeros get no coefficient
    coefficients = np.linalg.pinv(y)[model.graph.edges]
    return ((effects - effects[:, :, :1])[:, :, None] @ coefficients)[:, :, 0]


def by_node(model: Any, values: np.ndarray) -> np.ndarray:
    """Return ``values`` (n_node_parameters, ...) by node, (n_nodes, most parameters of a node, ...), padded with 0."""
    sizes = np.diff(model.node_starts)
    padded = np.zeros((len(sizes), sizes.max(initial=0), *values.shape[1:]))
    padded[np.arange(padded.shape[1]) < sizes[:, None]] = values
    return padded


def line_values(model: Any, lines: CentredLines) -> np.ndarray:
    """Return the centred feature of each edge in the states 00, 01, ... of its ends, (n_edges, m^2)."""
    end_parts = (lines.pull[..., None] * by_node(model, model.node_rows)[lines.edges]).sum(axis=2)
    return (lines.values - end_parts[:, 0, :, None] - end_parts[:, 1, None]).reshape(len(lines.edges), -1)


def pair_cells(model: Any, moments: np.ndarray, share: np.ndarray, e: int | np.ndarray) -> np.ndarray:
    """Compute the probabilities (4,) of the states 00, 01, 10, 11 of the ends of edge e of a binary model.

    Those of several edges are (4, n).
    """
    f, (u, v) = model.edge_values, model.graph.edges[e].T
    p, q = share[u, 1], share[v, 1]
    both = (moments[e] - f[0, 0] - (f[0, 1] - f[0, 0]) * (p + q)) / (f[1, 1] - 2 * f[0, 1] + f[0, 0])
    return np.maximum([1 - p - q + both, q - both, p - both, both], 0.0)


@strict_leaf
def end_of(lines, e, node):
    """Return which end of edge e a node is, 0 or 1."""
    return 0 if lines.edges[e, 0] == node else 1


@strict_leaf
def _shared_feature(lines, _, __):
    return lines.values


@strict_leaf
def _own_feature(lines, e, i):
    return lines.values[e] if lines.edges[e, 0] == i else lines.values[e].T


@by_class({TwoStates: _shared_feature, ManyStates: _shared_feature, OwnTables: _own_feature}, "form", 0)
def feature_of(lines, e, i):
    """Return f of parameter e of an edge, (m, m); the states of its end i are the rows."""


@strict_leaf
def _values_of_two(lines, e, i, j):
    f, end = lines.values, end_of(lines, e, i)
    if lines.pull.shape[2] == 0:
        return f[0, 0], f[0, 1], f[1, 0], f[1, 1]
    base = lines.form.low * (lines.pull[e, end, 0] + lines.pull[e, 1 - end, 0])
    d_i, d_j = lines.form.unit * lines.pull[e, end, 0], lines.form.unit * lines.pull[e, 1 - end, 0]
    return f[0, 0] - base, f[0, 1] - base - d_j, f[1, 0] - base - d_i, f[1, 1] - base - d_i - d_j


@strict_leaf
def _values_of_many(lines, e, i, j):
    m, out = lines.base.shape[1], feature_of(lines, e, i).copy().ravel()
    for node, step in ((i, m), (j, 1)):
        first, end = lines.starts[node], end_of(lines, e, node)
        for place in range(first, lines.starts[node + 1]):
            k, f = lines.pull[e, end, place - first], lines.features[place - len(lines.edges)]
            for x in range(m):
                for y in range(m):
                    out[x * step + y * (m + 1 - step)] -= k * f[x]
    return out


@strict_leaf
def _node_sample_of_two(lines, cells, k, at):
    f, total = lines.features[k - len(lines.edges)], cells[1] + cells[0]
    return LineSample((cells[1] / total, cells[0] / total), (f[1] - f[0], 0.0), at, lines.n)


@strict_leaf
def _node_sample_of_many(lines, cells, k, at):
    f, m = lines.features[k - len(lines.edges)], len(cells)
    p, g, size, rest = np.empty(m), np.zeros(m), 0, 0.0
    for x in range(m):
        if f[x] == f[0]:
            rest += cells[x]
        else:
            p[size], g[size] = cells[x], f[x] - f[0]
            size += 1
    p[size] = rest
    return LineSample(p[: size + 1] / p[: size + 1].sum(), g[: size + 1], at, lines.n)


@strict_leaf
def _shares_of_two(_, cells, total):
    return cells[0] / total, cells[1] / total, cells[2] / total, cells[3] / total


@strict_leaf
def _shares_of_many(_, cells, total):
    return cells / total


@by_class({TwoStates: _values_of_two, ManyStates: _values_of_many, OwnTables: _values_of_many}, "form", 0)
def pair_values(lines, e, i, j):
    """Return the values of the centred feature of edge e, whose ends i and j are in states 00, 01, ..., in the form's
    type.
    """


@by_class(
    {TwoStates: _node_sample_of_two, ManyStates: _node_sample_of_many, OwnTables: _node_sample_of_many}, "form", 0
)
def node_sample(lines, cells, k, at):
    """Return the values of the feature of parameter k of a node, less that in state 0, in the form's type.

    The parameter is ``at``, and ``cells`` (m,) are proportional to the probabilities of the states of the node.
    """


@by_class({TwoStates: _shares_of_two, ManyStates: _shares_of_many, OwnTables: _shares_of_many}, "form", 0)
def pair_shares(lines, cells, total):
    """Return ``cells`` / ``total`` in the type of the form."""


@strict_leaf
def edge_line(lines, cells, total, e, i, j, theta, precision):
    """Return the line of edge e = ij, whose ends are in states 00, 01, ... with probabilities ``cells`` / ``total``.

    ``precision`` is that of a normal prior of each parameter.
    """
    score, kappa, mu = lines.sums[e], precision[e], 0.0
    for node in (i, j):
        first, end = lines.starts[node], end_of(lines, e, node)
        for place in range(first, lines.starts[node + 1]):
            k = lines.pull[e, end, place - first]
            score -= k * lines.sums[place]
            kappa += precision[place] * k * k
            mu += precision[place] * k * (theta[place] + theta[e] * k)
    sample = LineSample(pair_shares(lines, cells, total), pair_values(lines, e, i, j), theta[e], lines.n)
    return Line((sample,), score, kappa, mu / kappa)


@strict_leaf
def own_line(lines, high, rest, k, low, unit, theta, precision):
    """Return the line of parameter k alone; its feature is ``low`` with weight ``rest``, else ``low + unit``."""
    sample = LineSample((high / (high + rest), rest / (high + rest)), (unit, 0.0), theta[k], lines.n)
    return Line((sample,), lines.sums[k] - lines.n * low, precision[k], 0.0)


@strict_leaf
def node_line(lines, cells, k, theta, precision):
    """Return the line of parameter k of a node, whose states have probabilities proportional to ``cells`` (m,)."""
    score = lines.sums[k] - lines.n * lines.features[k - len(lines.edges), 0]
    return Line((node_sample(lines, cells, k, theta[k]),), score, precision[k], 0.0)


@strict_leaf
def node_field(lines, theta, i, x):
    """Return the log weight of state x of node i without neighbours."""
    found = lines.base[i, x]
    for place in range(lines.starts[i], lines.starts[i + 1]):
        found += theta[place] * lines.features[place - len(lines.edges), x]
    return found


@strict_leaf
def node_row(lines, theta, i):
    """Return `node_field` of all states of node i."""
    found = np.empty(lines.base.shape[1])
    for x in range(len(found)):
        found[x] = node_field(lines, theta, i, x)
    return found


@strict_leaf
def move_edge(lines, e, i, j, theta, value):
    """Set the parameter of edge e with the ends i and j, and update those of the nodes."""
    change = value - theta[e]
    theta[e] = value
    for node in (i, j):
        first, end = lines.starts[node], end_of(lines, e, node)
        for place in range(first, lines.starts[node + 1]):
            theta[place] -= change * lines.pull[e, end, place - first]
