"""The nominal model: nodes with categories without order, ordered ones among them, and a table for each edge."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import helmert

from ..base import TABLES
from ..data.states import check_codes
from ..declare.option import Checked, needs, option
from ..declare.rule import FLAG, integer
from ..errors import OptionError
from ..graphs import Graph
from ..priors import of_parameters
from .categorical import Categorical, categorical, node_statistics, pair_counts
from .node_features import NodeFeatures, require_shape


def contrasts(n_categories: int) -> np.ndarray:
    r"""Return :math:`m - 1` orthogonal contrasts of m categories, of squared length 1/2, (m - 1, m).

    The distance between any two categories in these coordinates is 1, as that of 0 and 1.
    """
    return np.asarray(helmert(n_categories) / np.sqrt(2))


@dataclass(frozen=True, eq=False)
class Nominal(NodeFeatures):
    r"""Field over categories without order, next to ordered ones and yes/no nodes.

    .. math:: p(x \mid \theta) \propto \exp\Big(\sum_{(u,v)} \phi_u(x_u)^\top W_{uv} \, \phi_v(x_v)
              + \sum_i \sum_k \mu_{ik} y_{ik}(x_i)\Big)

    with :math:`\phi_i` the score 0, 1, ..., m_i - 1 of an ordered node (0 and 1 of a yes/no node), and m_i - 1
    orthogonal contrasts of a nominal one (`contrasts`). An edge between nominal nodes has any table :math:`C_u Z C_v`
    of log potentials that is centred over the categories of both, with :math:`(m_u - 1)(m_v - 1)` parameters. If the
    entries of W are independent with a normal density of standard deviation s, every log odds ratio of two categories
    of a nominal end, or of one step of a score, has the standard deviation s, whatever the number of categories, their
    names and their order. Features y of a nominal node are the same contrasts; those of an ordered node are the
    indicators of its categories but the first (`bayesmrf.models.ordinal.Ordinal`).

    theta has the entries of W edge by edge, row by row, then :math:`\mu` node by node. An edge between ordered nodes
    has one parameter, and without nominal nodes this is the ordinal model.

    Parameters
    ----------
    graph : Graph
    sizes : tuple of int
        Number m_i of categories of each node.
    ordered : tuple of bool
        Whether the categories of a node are ordered.
    state_names : tuple of tuple of str, optional
        Name of each category of each node.
    """

    graph: Graph
    n_states: int = field(metadata=needs(integer(2, 127), "Largest number m of categories of a node."))
    fields: bool = option(True, FLAG, "Whether nodes have parameters.")
    sizes: Any = None
    ordered: Any = None
    state_names: Any = field(default=None, kw_only=True)

    name, family, is_product = "nominal", TABLES, False
    n_parameters = None  # of an edge: edges have different numbers
    has_tables = True
    about = "log odds ratios and contrasts of categories"
    note = (
        " A strength is above 0 whatever the data are: it excludes zero if the ellipsoid of this probability around "
        "the mean of its table does."
    )

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        d = self.graph.n_nodes
        for name, usual, check in (
            ("sizes", self.n_states, lambda v: 2 <= v <= self.n_states),
            ("ordered", False, lambda v: v in (False, True)),
        ):
            values = getattr(self, name)
            values = (usual,) * d if values is None else tuple(values)
            if len(values) != d or not all(map(check, values)):
                kind = f"numbers from 2 to n_states = {self.n_states}" if name == "sizes" else "booleans"
                raise OptionError(option=name, got=values, expected=f"{d} {kind}, one for each node")
            object.__setattr__(self, name, values)

    @cached_property
    def used(self) -> np.ndarray:
        """Whether a node has a category, (n_nodes, n_states)."""
        return np.arange(self.n_states) < np.array(self.sizes)[:, None]

    @cached_property
    def edge_rows(self) -> list[np.ndarray]:
        """What an edge sees of each node in its categories, phi, (1 or m_i - 1, m)."""
        by_node = []
        for size, is_ordered in zip(self.sizes, self.ordered, strict=True):
            rows = np.arange(size)[None] if is_ordered else contrasts(size)
            by_node.append(np.pad(rows.astype(np.float64), ((0, 0), (0, self.n_states - size))))
        return by_node

    @cached_property
    def node_features(self) -> list[np.ndarray]:
        """Features of the parameters of each node in its categories, (m_i - 1, m)."""
        eye = np.eye(self.n_states)
        return [
            eye[1:size] if is_ordered else rows
            for size, is_ordered, rows in zip(self.sizes, self.ordered, self.edge_rows, strict=True)
        ]

    @cached_property
    def shapes(self) -> np.ndarray:
        """Rows and columns of W of each edge, (n_edges, 2)."""
        return np.array([len(rows) for rows in self.edge_rows])[self.graph.edges]

    @cached_property
    def edge_starts(self) -> np.ndarray:
        """Place in theta of the first parameter of each edge, and of the first one of a node, (n_edges + 1,)."""
        return np.append(0, np.cumsum(self.shapes.prod(axis=1)))

    @cached_property
    def category(self) -> np.ndarray:
        """Number from 1 of each pair of categories, (m, m)."""
        return 1 + np.arange(self.n_states**2).reshape(self.n_states, -1)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Edge, row and column of W of each parameter of an edge."""
        e = np.repeat(np.arange(self.n_edges), np.diff(self.edge_starts))
        place, columns = np.arange(len(e)) - self.edge_starts[e], self.shapes[e, 1]
        return e, place // columns, place % columns

    @cached_property
    def rotated(self) -> np.ndarray:
        r"""Number of the edge or node of each parameter that has no meaning apart from others, (n_features,); else -1.

        These are the entries of W where an end has no order and those of :math:`\mu` of such a node, if there are
        several: other names or another order of the categories rotate them.
        """
        e, node = self._places[0], self.n_edges + self.node_of
        number = np.concatenate([e, np.where(np.array(self.ordered)[self.node_of], -1, node)])
        several = np.bincount(number[number >= 0], minlength=self.n_edges + self.graph.n_nodes) > 1
        return np.where((number >= 0) & several[number], number, -1)

    @property
    def without_order(self) -> np.ndarray:
        """Whether the names and the order of the categories of a node have no meaning, (n_nodes,)."""
        return ~np.array(self.ordered, dtype=bool)

    @property
    def has_contrasts(self) -> np.ndarray:
        """Whether the parameters of a node and of its edges are coordinates that its categories share, (n_nodes,)."""
        return self.without_order

    def require_invariant(self, prior: Any, column: np.ndarray | None = None) -> None:
        """Refuse a prior that depends on the names or the order of the categories of nominal nodes.

        Of independent densities that of a normal distribution with one scale alone is the same in all directions.

        Parameters
        ----------
        prior : Prior
        column : (n_features,) int array, optional
            Number of each parameter among those that the prior is on, if these are shared.

        Raises
        ------
        OptionError
        """
        super().require_invariant(prior, column)
        rotated = self.rotated
        has_no_meaning = rotated >= 0
        if not has_no_meaning.any():
            return
        expected = "priors.Normal or priors.WeightsAndBiases for columns without order"
        known = of_parameters(prior).normal_scale
        if known is not None:
            scale = np.asarray(known, dtype=np.float64)
            scale = scale if column is None or not scale.ndim else scale[column]
            if not scale.ndim:
                return
            if len(scale) == self.n_features:
                pairs = np.unique(np.stack([rotated, scale])[:, has_no_meaning], axis=1)
                if len(np.unique(pairs[0])) == pairs.shape[1]:
                    return
            expected = f"of {self.n_features} scales, which are equal within an edge or node without order"
        raise OptionError(
            option="prior", got=prior, expected=expected,
            remedy="any other density depends on the names and the order of their categories",
        )  # fmt: skip

    @cached_property
    def edge_features(self) -> np.ndarray:
        """Feature of each parameter of an edge in the categories of its first end and of its second, (K, m, m)."""
        e, row, column = self._places
        rows, (u, v) = np.zeros((self.graph.n_nodes, self.n_states - 1, self.n_states)), self.graph.edges[e].T
        for own_rows, padded in zip(self.edge_rows, rows, strict=True):
            padded[: len(own_rows)] = own_rows
        first, second = rows[u, row], rows[v, column]
        return np.asarray(first[:, :, None] * second[:, None, :])

    def table(self, theta: np.ndarray) -> np.ndarray:
        """Return the log potentials of each edge, (..., n_edges, m, m)."""
        each = theta[..., : self.edge_starts[-1], None, None] * self.edge_features
        return np.asarray(np.add.reduceat(each, self.edge_starts[:-1], axis=-3))

    @cached_property
    def signed(self) -> np.ndarray:
        """Whether both ends of an edge have an order, so that its parameter has a sign, (n_edges,)."""
        return np.asarray(np.array(self.ordered, bool)[self.graph.edges].all(axis=1))

    def log_odds(self, theta: np.ndarray, edge: int) -> np.ndarray:
        """Return the table of log potentials of an edge, centred over the categories of both ends, (..., m_u, m_v).

        The difference of two entries of a row less that of another row is the log odds ratio of these categories.
        """
        first, last = self.edge_starts[edge : edge + 2]
        w = theta[..., first:last].reshape(*theta.shape[:-1], *self.shapes[edge])
        ends = [self.edge_rows[i][:, : self.sizes[i]] for i in self.graph.edges[edge]]
        rows, columns = (y - y.mean(axis=1, keepdims=True) for y in ends)
        return np.asarray(rows.T @ w @ columns)

    def shown_nodes(self, theta: np.ndarray) -> np.ndarray:
        """Return thresholds of ordered nodes and log weights of the categories of others, whose mean is 0, (..., n)."""
        parts = np.split(theta, self.node_starts[1:-1] - self.node_starts[0], axis=-1) if self.fields else []
        nodes = zip(parts, self.sizes, self.ordered, strict=False)
        shown = [w if is_ordered else w @ contrasts(size) for w, size, is_ordered in nodes]
        return np.concatenate([theta[..., :0], *shown], axis=-1)

    def shown(self, theta: np.ndarray) -> np.ndarray:
        """Return what is shown of parameters, by the names `shown_names`: `shown_edges`, then `shown_nodes`.

        The number of an edge is its weight, with its sign, if both ends have an order. Else it is its strength, the
        root mean square of the log odds ratios over all pairs of categories of a nominal end, and over one step of an
        ordered one.
        """
        edges, nodes = np.split(theta, self.edge_starts[-1:], axis=-1)
        return np.concatenate([self.shown_edges(edges), self.shown_nodes(nodes)], axis=-1)

    @property
    def shown_names(self) -> list[str]:
        """``u-v`` for each edge, and ``u=k`` for the categories k of each node, of ordered ones but the first."""
        return [*self.graph.edge_names, *self.shown_node_names]

    @property
    def shown_node_names(self) -> list[str]:
        """Those of nodes alone."""
        nodes = zip(self.graph.names, self.sizes, self.ordered, strict=True)
        return [
            f"{name}={self.label(i, k)}"
            for i, (name, size, is_ordered) in enumerate(nodes)
            for k in range(is_ordered, size if self.fields else 0)
        ]

    def as_attributes(self) -> dict[str, str]:
        """Return the categories of the nodes, and which of them are ordered."""
        names = [[self.label(i, k) for k in range(size)] for i, size in enumerate(self.sizes)]
        return {"levels": json.dumps(names), "ordered": json.dumps(list(map(bool, self.ordered)))}

    @property
    def feature_names(self) -> list[str]:
        """``u-v``, or ``u-v=j,k`` if an edge has several parameters, and names of the parameters of nodes."""
        (e, row, column), edges = self._places, self.graph.edge_names
        several = np.diff(self.edge_starts) > 1
        names = [edges[i] + (f"={j + 1},{k + 1}" if several[i] else "") for i, j, k in zip(e, row, column, strict=True)]
        return names + list(self._node_names())

    @cached_property
    def _ranges(self) -> np.ndarray:
        """Smallest and largest value of each feature, (2, n_features)."""
        e, (u, v) = self._places[0], self.graph.edges.T
        occurs = (self.used[u][:, :, None] & self.used[v][:, None, :])[e]
        f = self.edge_features
        edges = np.where(occurs, f, np.inf).min(axis=(1, 2)), np.where(occurs, f, -np.inf).max(axis=(1, 2))
        y, used = self.node_rows, self.used[self.node_of]
        nodes = np.where(used, y, np.inf).min(axis=1), np.where(used, y, -np.inf).max(axis=1)
        return np.hstack([edges, nodes])

    def features(self, states: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """Return the statistics of each row of ``states``, (n_samples, n_features), feature after feature in memory."""
        x, e = np.ascontiguousarray(states.T), self._places[0]
        u, v = self.graph.edges[e].T
        k, rows = np.arange(len(e))[:, None], np.arange(len(self.node_of))[:, None]
        edges, nodes = self.edge_features.astype(dtype), self.node_rows.astype(dtype)
        return np.vstack([edges[k, x[u], x[v]], nodes[rows, x[self.node_of]]]).T

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of ``states`` (n_samples, n_nodes), rows weighted by ``weights``."""
        check_codes(states, self.used.sum(axis=1))
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        pairs = pair_counts(self.graph.edges, states, self.n_states, w) / w.sum()
        return self.moments(pairs, node_statistics(states, self.n_states, weights))

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form; categories that a node does not have get a field of minus infinity, nearly."""
        require_shape("theta", theta, (self.n_features,))
        edges, nodes = np.split(theta, [self.edge_starts[-1]])
        return categorical(self.graph, self.table(edges), self.field_table(nodes))

    def shares(self, moments: np.ndarray) -> np.ndarray:
        """Return P(x_i = k), (n_nodes, m), of the moments of the parameters of nodes; 0 for other categories."""
        p = np.zeros(self.used.shape)
        for i, (size, is_ordered) in enumerate(zip(self.sizes, self.ordered, strict=True)):
            moments_of_node = moments[self.node_starts[i] : self.node_starts[i + 1]]
            if is_ordered:
                p[i, :size] = np.append(1 - moments_of_node.sum(), moments_of_node)
            else:
                p[i, :size] = 1 / size + 2 * moments_of_node @ contrasts(size)
        return p

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments from P(x_u = k, x_v = l), (n_edges, m, m), and P(x_i = k), (n_nodes, m)."""
        return self._with_nodes((pair[self._places[0]] * self.edge_features).sum(axis=(1, 2)), node)
