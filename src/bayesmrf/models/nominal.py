"""The nominal model: nodes with categories without order, ordered ones among them, and a table for each edge."""

from __future__ import annotations

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
from .categorical import Categorical, categorical, node_statistics, pair_counts
from .node_features import NodeFeatures
from .shapes import require_shape


def contrasts(n_categories: int) -> np.ndarray:
    r"""Return :math:`m - 1` orthogonal contrasts of m categories, of squared length 1/2, (m - 1, m).

    The distance between any two categories in these coordinates is 1, as that of 0 and 1.
    """
    found: np.ndarray = helmert(n_categories) / np.sqrt(2)
    return found


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

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        d = self.graph.n_nodes
        for name, usual, check in (
            ("sizes", self.n_states, lambda v: 2 <= v <= self.n_states),
            ("ordered", False, lambda v: v in (False, True)),
        ):
            given = getattr(self, name)
            given = (usual,) * d if given is None else tuple(given)
            if len(given) != d or not all(map(check, given)):
                kind = f"numbers from 2 to n_states = {self.n_states}" if name == "sizes" else "booleans"
                raise OptionError(option=name, got=given, expected=f"{d} {kind}, one for each node")
            object.__setattr__(self, name, given)

    @cached_property
    def used(self) -> np.ndarray:
        """Whether a node has a category, (n_nodes, n_states)."""
        return np.arange(self.n_states) < np.array(self.sizes)[:, None]

    @cached_property
    def edge_rows(self) -> list[np.ndarray]:
        """What an edge sees of each node in its categories, phi, (1 or m_i - 1, m)."""
        found = []
        for size, is_ordered in zip(self.sizes, self.ordered, strict=True):
            rows = np.arange(size)[None] if is_ordered else contrasts(size)
            found.append(np.pad(rows.astype(np.float64), ((0, 0), (0, self.n_states - size))))
        return found

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
    def edge_features(self) -> np.ndarray:
        """Feature of each parameter of an edge in the categories of its first end and of its second, (K, m, m)."""
        e, row, column = self._places
        most, (u, v) = max(map(len, self.edge_rows)), self.graph.edges[e].T
        rows = np.zeros((self.graph.n_nodes, most, self.n_states))
        for own, found in zip(self.edge_rows, rows, strict=True):
            found[: len(own)] = own
        first, second = rows[u, row], rows[v, column]
        product: np.ndarray = first[:, :, None] * second[:, None, :]
        return product

    def table(self, theta: np.ndarray) -> np.ndarray:
        """Return the log potentials of each edge, (..., n_edges, m, m)."""
        each = theta[..., : self.edge_starts[-1], None, None] * self.edge_features
        found: np.ndarray = np.add.reduceat(each, self.edge_starts[:-1], axis=-3)
        return found

    def strength(self, theta: np.ndarray) -> np.ndarray:
        r"""Return the root mean square of the log odds ratios of each edge, (..., n_edges).

        The mean is over all pairs of categories of a nominal end, and over one step of an ordered one: it is
        :math:`\lVert W \rVert / \sqrt{K}` of the K parameters, and :math:`|w|` of one.
        """
        squares = np.add.reduceat(theta[..., : self.edge_starts[-1]] ** 2, self.edge_starts[:-1], axis=-1)
        found: np.ndarray = np.sqrt(squares / np.diff(self.edge_starts))
        return found

    @property
    def feature_names(self) -> list[str]:
        """``u-v``, or ``u-v=j,k`` if an edge has several parameters, and names of the parameters of nodes."""
        (e, row, column), edges = self._places, self.graph.edge_names
        several = np.diff(self.edge_starts) > 1
        found = [edges[i] + (f"={j + 1},{k + 1}" if several[i] else "") for i, j, k in zip(e, row, column, strict=True)]
        return found + list(self._node_names())

    @cached_property
    def _ranges(self) -> np.ndarray:
        """Smallest and largest value of each feature, (2, n_features)."""
        e, (u, v) = self._places[0], self.graph.edges.T
        there = (self.used[u][:, :, None] & self.used[v][:, None, :])[e]
        f = self.edge_features
        edges = np.where(there, f, np.inf).min(axis=(1, 2)), np.where(there, f, -np.inf).max(axis=(1, 2))
        y, own = self.node_rows, self.used[self.node_of]
        nodes = np.where(own, y, np.inf).min(axis=1), np.where(own, y, -np.inf).max(axis=1)
        return np.hstack([edges, nodes])

    @property
    def feature_low(self) -> np.ndarray:
        """Smallest value of each feature."""
        return self._ranges[0]

    @property
    def feature_high(self) -> np.ndarray:
        """Largest value of each feature."""
        return self._ranges[1]

    def features(self, states: np.ndarray) -> np.ndarray:
        """Return the statistics of each row of ``states``, (n_samples, n_features)."""
        e, k = self._places[0], np.arange(int(self.edge_starts[-1]))
        u, v = self.graph.edges[e].T
        rows, node = np.arange(len(self.node_of)), self.node_of
        return np.hstack([self.edge_features[k, states[:, u], states[:, v]], self.node_rows[rows, states[:, node]]])

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of ``states`` (n_samples, n_nodes), rows weighted by ``weights``."""
        check_codes(states, self.used.sum(axis=1))
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        pairs = pair_counts(self.graph.edges, states, self.n_states, w) / w.sum()
        return self.moments(pairs, node_statistics(states, self.n_states, weights))

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form; categories that a node does not have get a field of minus infinity, nearly."""
        require_shape("theta", theta, (self.n_features,))
        edges, own = np.split(theta, [self.edge_starts[-1]])
        return categorical(self.graph, self.table(edges), self.field_table(own))

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments from P(x_u = k, x_v = l), (n_edges, m, m), and P(x_i = k), (n_nodes, m)."""
        return self._with_nodes((pair[self._places[0]] * self.edge_features).sum(axis=(1, 2)), node)
