"""The nodes of pairwise models: features of the parameters of each node in its states."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..base import BINARY
from ..declare.option import Checked
from ..errors import OptionError
from ..priors import SpikeSlab, of_parameters
from .categorical import NEVER
from .display import ParameterDisplay


class NodeFeatures(ParameterDisplay, Checked):
    r"""Base of pairwise models: theta has the parameters of edges first, then those of nodes if there are ``fields``.

    Attributes
    ----------
    edge_starts : (n_edges + 1,) int array
        Place in theta of the first parameter of each edge, and of the first one of a node.
    node_features : (q, m) array, or a sequence of these
        Features of a node in its states; a sequence has those of each node.
    used : (n_nodes, m) bool array
        Whether a node has a state.
    """

    name: ClassVar[str]
    node_features: Any

    graph: Any
    fields: Any
    state_names: Any
    n_states: Any
    n_parameters: Any  # of each edge; None if edges have different numbers
    family: Any
    _ranges: Any  # smallest and largest value of each feature, (2, n_features)

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.graph.n_edges)

    @property
    def n_features(self) -> int:
        """Length of theta."""
        return int(self.node_starts[-1])

    @property
    def used(self) -> np.ndarray:
        """Whether a node has a state, (n_nodes, n_states)."""
        return np.ones((self.graph.n_nodes, self.n_states), bool)

    @property
    def without_order(self) -> np.ndarray:
        """Whether the names and the order of the categories of a node have no meaning, (n_nodes,)."""
        return np.zeros(self.graph.n_nodes, bool)

    @property
    def has_contrasts(self) -> np.ndarray:
        """Whether the parameters of a node and of its edges are coordinates that its categories share, (n_nodes,)."""
        return np.zeros(self.graph.n_nodes, bool)

    def require_invariant(self, prior: Any, column: np.ndarray | None = None) -> None:
        """Refuse a prior of all parameters that depends on the order of categories without order.

        Parameters
        ----------
        prior : Prior
        column : (n_features,) int array, optional
            Number of each parameter among those that the prior is on, if these are shared.

        Raises
        ------
        OptionError
        """
        self.require_invariant_nodes(prior, "prior", "priors.Normal or priors.WeightsAndBiases")

    def require_invariant_nodes(self, prior: Any, option: str, instead: str) -> None:
        """Refuse a prior of node parameters that depends on the order of categories without order.

        A logistic-beta density is skewed, or differs between directions: of two categories it does not depend on their
        order if its constants are equal.

        Raises
        ------
        OptionError
        """
        sizes = self.used.sum(axis=1)[self.without_order] if self.fields else np.zeros(0)
        if len(sizes) and of_parameters(prior).depends_on_order(int(sizes.max())):
            raise OptionError(
                option=option, got=prior, expected=f"{instead} for columns without order",
                remedy="any other density depends on the names and the order of their categories",
            )  # fmt: skip

    @cached_property
    def _arrays(self) -> list[np.ndarray]:
        """The one array of features of nodes, or that of each node."""
        y = self.node_features
        return [np.asarray(y, np.float64)] if len(y) and np.ndim(y[0]) == 1 else [np.asarray(rows) for rows in y]

    @property
    def _by_node(self) -> list[np.ndarray]:
        """Features of each node."""
        d = self.graph.n_nodes
        if not self.fields:
            return [np.zeros((0, self.n_states))] * d
        return self._arrays if len(self._arrays) == d else self._arrays * d

    @cached_property
    def node_rows(self) -> np.ndarray:
        """Feature of each parameter of a node in the states of its node, (n_node_parameters, m)."""
        return np.concatenate([np.zeros((0, self.n_states)), *self._by_node])

    @cached_property
    def node_starts(self) -> np.ndarray:
        """Place in theta of the first parameter of each node, and the length of theta, (n_nodes + 1,)."""
        sizes = [len(y) for y in self._by_node]
        return self.edge_starts[-1] + np.append(0, np.cumsum(sizes, dtype=np.int64))

    @property
    def feature_low(self) -> np.ndarray:
        """Smallest value of each feature."""
        return self._ranges[0]

    @property
    def feature_high(self) -> np.ndarray:
        """Largest value of each feature."""
        return self._ranges[1]

    @cached_property
    def node_of(self) -> np.ndarray:
        """Node of each parameter of a node."""
        return np.repeat(np.arange(self.graph.n_nodes), np.diff(self.node_starts))

    @cached_property
    def node_values(self) -> tuple[float, float]:
        """Smaller and larger value of the features of nodes that are indicators."""
        if self.family != BINARY:
            return 0.0, 1.0
        low, high = np.concatenate([*self._arrays, [[0.0, 1.0]]])[0]
        return float(low), float(high)

    @cached_property
    def node_states(self) -> np.ndarray:
        """State k > 0 of which the feature of each parameter of a node is the indicator; -1 where one is another."""
        if self.family == BINARY:
            return np.ones(len(self.node_rows), np.int64)
        state = self.node_rows.argmax(axis=1)
        others = (self.node_rows != np.eye(self.n_states)[state]).any(axis=1) | (state == 0)
        return np.where(np.isin(self.node_of, self.node_of[others]), -1, state)

    def label(self, node: int, state: int) -> str:
        """Return the name of a state of a node."""
        return str(state) if self.state_names is None else str(self.state_names[node][state])

    def _node_names(self) -> Iterator[str]:
        first = self.node_starts[:-1] - self.node_starts[0]
        for j, (u, k) in enumerate(zip(self.node_of, self.node_states, strict=True)):
            mark = "" if self.family == BINARY else f"={self.label(u, k)}" if k > 0 else f":{self._mark(j - first[u])}"
            yield self.graph.names[u] + mark

    def _mark(self, j: int) -> str:
        """Name parameter j of a node."""
        return str(j + 1)

    def field_table(self, own: np.ndarray) -> np.ndarray:
        """Return the log weight of each state of each node, (n_nodes, m), of the parameters of nodes."""
        require_shape("own", own, (len(self.node_rows),))
        field = np.where(self.used, 0.0, NEVER)
        np.add.at(field, self.node_of, own[:, None] * self.node_rows)
        return field

    def from_field_table(self, field: np.ndarray) -> np.ndarray:
        """Return the parameters of nodes with the log weights ``field`` of states, up to a constant of each node."""
        require_shape("field", field, self.used.shape)
        states, node = self.node_states, self.node_of
        theta = field[node, states]
        for u in np.unique(node[states < 0]):
            used, places = self.used[u], node == u
            y, node_field = self.node_rows[places][:, used], field[u, used]
            theta[places] = np.linalg.lstsq((y - y[:, :1]).T, node_field - node_field[0])[0]
        return theta

    def _with_nodes(self, edge: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Join moments of edges, and of the features of nodes from the probabilities of their states."""
        return np.concatenate([edge.ravel(), (node[self.node_of] * self.node_rows).sum(axis=1)])


def require_invariant(prior: Any, model: Any, columns: np.ndarray | None = None) -> None:
    """Refuse a prior of theta, or of what is shared, that depends on the order of categories without order.

    Parameters
    ----------
    prior : Prior
    model : Model
    columns : (n_features,) int array, optional
        Number of each parameter among those that the prior is on, if these are shared.

    Raises
    ------
    OptionError
    """
    if isinstance(model, NodeFeatures):
        model.require_invariant(prior, columns)


def require_invariant_biases(prior: SpikeSlab, model: Any) -> None:
    """Refuse a prior of a network whose prior of biases depends on the order of categories without order.

    Raises
    ------
    OptionError
    """
    if isinstance(model, NodeFeatures):
        model.require_invariant_nodes(prior.biases, "prior", "a SpikeSlab with biases=None")


def require_shape(option: str, value: Any, shape: tuple[int, ...], parts: str = "") -> None:
    """Check that an array of parameters has a shape; ``parts`` says in words what it consists of.

    Raises
    ------
    OptionError
    """
    if np.shape(value) != shape:
        raise OptionError(f"{option} must have shape {shape}{f', {parts}' if parts else ''}, got {np.shape(value)}.")
