"""The positive phase of models with more than two states a node; see `bayesmrf.models.clamped`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base import TABLES
from .categorical import Categorical, categorical, is_categorical
from .clamped import Clamped


@dataclass(frozen=True, eq=False)
class ClampedCategorical(Clamped):
    """Model of the hidden entries of all rows: an observed neighbour in state k adds J to the field of state k.

    Parameters
    ----------
    model : CategoricalModel
    states : (n_samples, n_nodes) int8 array
        {0, ..., m - 1} if observed, -1 if hidden; a row that was observed k times is repeated k times.
    """

    @property
    def n_states(self) -> int:  # type: ignore[override]
        """Number of states of each entry."""
        return self.model.n_states

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each edge, rows with both ends and those in which they agree (or their joint states); for nodes, rows in
        each state.
        """
        (u, v), x, m = self.model.graph.edges.T, self.states, self.n_states
        both = (x[:, u] >= 0) & (x[:, v] >= 0)
        node = np.stack([(x == k).sum(axis=0) for k in range(m)], axis=1)
        if self.family != TABLES:
            return both.sum(axis=0), (both & (x[:, u] == x[:, v])).sum(axis=0), node
        table = np.stack([[((x[:, u] == k) & (x[:, v] == j)).sum(axis=0) for j in range(m)] for k in range(m)])
        return both.sum(axis=0), np.moveaxis(table, -1, 0), node

    def seen_statistics(self) -> np.ndarray:
        """Return the mean statistics of each pair and node over the rows that show them, as a summary."""
        both, pair, node = self._counts
        share = (pair.T / np.maximum(both, 1)).T
        return self.model.moments(share, node / np.maximum(node.sum(axis=1, keepdims=True), 1))

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form on `graph`."""
        p = self.model.categorical(theta)
        entry, edge, state, first = self._links
        field = p.field[self.cells[:, 1]]
        if self.family == TABLES:
            of_ends = np.concatenate([p.coupling, p.coupling.swapaxes(1, 2)])
            np.add.at(field, entry, of_ends[edge + len(p.coupling) * first, state])
        else:
            np.add.at(field, (entry, state), p.coupling[edge])
        _, pair, node = self._counts
        offset = len(self.states) * p.offset + (p.coupling * pair).sum() + (p.field * node).sum()
        return categorical(self.graph, p.coupling[self._inner[1]], field, offset)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Sum the statistics over rows from P(x_a = x_b), or joint probabilities, and P(x_a = k) of hidden entries."""
        entry, edge, state, first = self._links
        n = len(self.states)
        _, seen_pair, seen_node = self._counts
        all_pair = seen_pair.astype(np.float64)
        if self.family == TABLES:
            np.add.at(all_pair.swapaxes(1, 2), (edge[first], state[first]), node[entry[first]])
            np.add.at(all_pair, (edge[~first], state[~first]), node[entry[~first]])
        else:
            np.add.at(all_pair, edge, node[entry, state])
        np.add.at(all_pair, self._inner[1], pair)
        all_node = seen_node.astype(np.float64)
        np.add.at(all_node, self.cells[:, 1], node)
        return n * self.model.moments(all_pair / n, all_node / n)


@dataclass(frozen=True, eq=False)
class HiddenStates(ClampedCategorical):
    """`ClampedCategorical` with the probabilities of the states of each hidden entry as "moments"."""

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return P(x_a = k | observed entries), (n_hidden, m), in the order of `cells`."""
        return node


def clamp(model: Any, states: np.ndarray) -> Clamped:
    """Return the model on the hidden entries of a table, binary or categorical."""
    return ClampedCategorical(model, states) if is_categorical(model) else Clamped(model, states)
