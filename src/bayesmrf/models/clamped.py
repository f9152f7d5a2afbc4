"""The positive phase: a model on the missing entries of a table, given the observed ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from ..graphs import Graph
from .pairwise import Pairwise, pairwise


@dataclass(frozen=True, eq=False)
class Clamped:
    r"""Model of the hidden entries of all rows, on the disjoint union of the rows' hidden subgraphs.

    The probability of the observed entries of row n is :math:`Z_n(\theta) / Z(\theta)` (Murray and Ghahramani 2004, eq.
    12), with Z_n the sum over the row's hidden entries. Rows share no edges, so the normaliser of this model is
    :math:`\prod_n Z_n`, and its moments are the sums over rows of the expected statistics given the observed entries:

    .. math:: \nabla \log \prod_n Z_n(\theta) = \sum_n E_\theta[s(x) \mid x_{n, \mathrm{seen}}].

    It works with any engine: an observed neighbour adds J x_seen to a hidden node's field.

    Parameters
    ----------
    model : PairwiseModel
    states : (n_samples, n_nodes) int8 array
        {0, 1} if observed, -1 if hidden; a row that was observed k times is repeated k times.
    """

    model: Any
    states: np.ndarray

    name = "clamped"
    n_states = 2

    # As in the model; the values of features are those in one row.
    family, fields = property(attrgetter("model.family")), property(attrgetter("model.fields"))
    n_edges, n_parameters = property(attrgetter("model.n_edges")), property(attrgetter("model.n_parameters"))
    n_features, feature_names = property(attrgetter("model.n_features")), property(attrgetter("model.feature_names"))
    feature_low, feature_high = property(attrgetter("model.feature_low")), property(attrgetter("model.feature_high"))

    @cached_property
    def cells(self) -> np.ndarray:
        """Row and node (n_hidden, 2) of each hidden entry: the nodes of `graph`, in this order."""
        return np.argwhere(self.states < 0)

    @cached_property
    def _x(self) -> np.ndarray:
        """Observed values in {-1, +1}, and 0 if hidden."""
        return np.where(self.states < 0, 0, 2 * self.states - 1).astype(np.int8)

    @cached_property
    def entry_of(self) -> np.ndarray:
        """Place in `cells` of each hidden entry, (n_samples, n_nodes); for others that of the one before."""
        return np.cumsum(self.states < 0).reshape(self.states.shape) - 1

    @cached_property
    def _inner(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of hidden entries joined by an edge (n, 2), and the edge."""
        u, v = self.model.graph.edges.T
        rows, edges = np.nonzero((self.states[:, u] < 0) & (self.states[:, v] < 0))
        return np.stack([self.entry_of[rows, u[edges]], self.entry_of[rows, v[edges]]], axis=1), edges

    @cached_property
    def _links(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Hidden entries with an observed neighbour: the entry, the edge, the neighbour's state, and whether the entry
        is the first end of the edge.
        """
        u, v = self.model.graph.edges.T
        parts = []
        for one_end, other in ((u, v), (v, u)):
            rows, edges = np.nonzero((self.states[:, one_end] < 0) & (self.states[:, other] >= 0))
            is_first = np.full(len(rows), one_end is u)
            parts.append((self.entry_of[rows, one_end[edges]], edges, self.states[rows, other[edges]], is_first))
        entry, edge, state, first = (np.concatenate(column) for column in zip(*parts, strict=True))
        return entry, edge, state, first

    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums over rows of observed x_u x_v and x_u."""
        x = self._x.astype(np.float64)
        u, v = self.model.graph.edges.T
        return np.einsum("nd,nd->d", x[:, u], x[:, v]), x.sum(axis=0)

    @cached_property
    def graph(self) -> Graph:
        """One node for each hidden entry."""
        return Graph(len(self.cells), self._inner[0])

    def seen_statistics(self) -> np.ndarray:
        """Return the mean statistics of each pair and node over the rows that show them, as a summary."""
        is_observed = (self._x != 0).astype(np.float64)
        u, v = self.model.graph.edges.T
        n_pair, n_node = np.einsum("nd,nd->d", is_observed[:, u], is_observed[:, v]), is_observed.sum(axis=0)
        pair, node = self._sums
        return self.model.moments(pair / np.maximum(n_pair, 1), node / np.maximum(n_node, 1))

    @cached_property
    def _by_rows(self) -> tuple[Any, np.ndarray]:
        """Sum of the statistics of the complete rows, and the other rows."""
        is_complete = (self.states >= 0).all(axis=1)
        complete = self.states[is_complete]
        return len(complete) * self.model.statistics(complete) if len(complete) else 0.0, self.states[~is_complete]

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Average over ``states`` (n_samples, n_hidden) the statistics summed over the rows of the filled table."""
        complete, rows = self._by_rows
        tables = np.tile(rows, (len(states), 1))
        tables[tables < 0] = np.ravel(states)
        every = None if weights is None else np.repeat(weights, len(rows))
        return complete + len(rows) * self.model.statistics(tables, every)

    def pairwise(self, theta: np.ndarray) -> Pairwise:
        """Return the compiled form on `graph`."""
        p = self.model.pairwise(theta)
        entry, edge, state, _ = self._links
        clamped_field = np.bincount(entry, p.coupling[edge] * (2.0 * state - 1.0), minlength=len(self.cells))
        pair, node = self._sums
        offset = len(self.states) * p.offset + p.coupling @ pair + p.field @ node
        return pairwise(self.graph, p.coupling[self._inner[1]], p.field[self.cells[:, 1]] + clamped_field, offset)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Sum the statistics over rows from E[x_a x_b] and E[x_a] of the hidden entries."""
        g, n = self.model.graph, len(self.states)
        entry, edge, state, _ = self._links
        seen_pair, seen_node = self._sums
        all_pair = seen_pair + np.bincount(edge, (2.0 * state - 1.0) * node[entry], minlength=g.n_edges)
        all_pair += np.bincount(self._inner[1], pair, minlength=g.n_edges)
        all_node = seen_node + np.bincount(self.cells[:, 1], node, minlength=g.n_nodes)
        return n * self.model.moments(all_pair / n, all_node / n)


@dataclass(frozen=True, eq=False)
class HiddenEntries(Clamped):
    """`Clamped` with the probabilities that each hidden entry is 1 as "moments"."""

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return P(x_a = 1 | observed entries) of each hidden entry, in the order of `cells`."""
        return (1 + node) / 2
