"""The compiled form of models with more than two states a node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, TypeGuard

import numpy as np

from ..base import BINARY, TABLES, Model
from ..data.states import check_codes
from ..declare.option import Checked, needs, option
from ..declare.rule import FLAG, integer
from ..errors import OptionError
from ..graphs import Graph
from .edge_tables import EdgeTables
from .pairwise import Pairwise, pairwise
from .shapes import require_shape

NEVER = -1e30  # field of a state that a node does not have; finite, as 0 times infinity is NaN


class Categorical(NamedTuple):
    """log p~(x) = offset + sum_e coupling_e [x_u = x_v] + sum_i field_{i, x_i}, x in {0, ..., m - 1}.

    If edges have symmetric tables instead, the second term is sum_e coupling_{e, x_u, x_v}. ``starts``, ``neighbours``
    and ``edge_of`` are the compressed rows of the graph (see `bayesmrf.graphs.Adjacency`).
    """

    edges: np.ndarray  # (n_edges, 2) int32
    starts: np.ndarray  # (n_nodes + 1,) int64
    neighbours: np.ndarray  # (2 n_edges,) int32
    edge_of: np.ndarray  # (2 n_edges,) int32
    coupling: np.ndarray  # (n_edges,) float64, or (n_edges, m, m)
    field: np.ndarray  # (n_nodes, m) float64
    offset: float


class CategoricalModel(Model, Protocol):
    """A model with ``n_states`` states a node: `bayesmrf.base.Model` with another compiled form.

    ``statistics(states)`` are for data in {0, ..., m - 1}; ``moments(pair, node)`` turns P(x_u = x_v) of each edge and
    P(x_i = k), (n_nodes, m), into the moments of the model's own statistics. If edges have tables, ``pair`` is P(x_u =
    k, x_v = l), (n_edges, m, m), with the ends in the order of the edge.
    """

    def categorical(self, theta: np.ndarray) -> Categorical: ...  # noqa: D102


def is_categorical(model: Any) -> TypeGuard[CategoricalModel]:
    """Return whether the model's compiled form is `Categorical`; else it is `bayesmrf.models.pairwise.Pairwise`."""
    return bool(model.family != BINARY)


def states_of(model: Any) -> int | None:
    """Return the number of states if the compiled form is `Categorical`, else None."""
    return model.n_states if is_categorical(model) else None


def compiled_form(model: Any, theta: np.ndarray) -> Categorical | Pairwise:
    """Return the compiled form of the model at theta."""
    return model.categorical(theta) if is_categorical(model) else model.pairwise(theta)


def binary_form(model: Any, theta: np.ndarray) -> Pairwise:
    """Return the compiled form of a binary model at theta.

    Raises
    ------
    OptionError
        If nodes have more than two states, or the model has another compiled form.
    """
    if is_categorical(model):
        raise OptionError(option="model", got=f"{model.name} ({model.n_states} states a node)",
                          expected="a binary model: boltzmann, ising or agreement")  # fmt: skip
    return model.pairwise(theta)


def many_state_form(model: Any, theta: np.ndarray) -> Categorical:
    """Return the model at theta as `Categorical`, also if it is binary: J x_u x_v is 2 J [x_u = x_v] - J."""
    if is_categorical(model):
        return model.categorical(theta)
    p = model.pairwise(theta)
    field = np.stack([-p.field, p.field], axis=1)
    return categorical(model.graph, 2 * p.coupling, field, p.offset - p.coupling.sum())


def categorical(graph: Graph, coupling: np.ndarray, field: np.ndarray, offset: float = 0.0) -> Categorical:
    """Collect the arrays and parameters of a graph."""
    return Categorical(*pairwise(graph, coupling, field, offset))  # the fields have the same names


def node_statistics(states: np.ndarray, n_states: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the share of (weighted) ``states`` in which each node is in each state, (n_nodes, m)."""
    check_codes(states, n_states)
    w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
    return np.stack([w @ (states == k) for k in range(n_states)], axis=1) / w.sum()


def normalised(log_weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the probabilities of all states from the logs of their weights, and log Z."""
    top = log_weight.max()
    weight = np.exp(log_weight - top)
    total = weight.sum()
    return weight / total, float(top + np.log(total))


def draw_numbers(log_weight: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
    """Draw numbers of states, given the logs of the weights of all, by inverting the distribution function."""
    cumulated = np.cumsum(np.exp(log_weight - log_weight.max()))
    return np.searchsorted(cumulated, rng.random(n_samples) * cumulated[-1], side="right")


def log_potential(model: Categorical, states: np.ndarray) -> np.ndarray:
    """Return the unnormalised log probability of each row of ``states`` (n_samples, n_nodes) in {0, ..., m - 1}."""
    u, v = model.edges.T
    own = model.field[np.arange(len(model.field)), states].sum(axis=1)
    if model.coupling.ndim > 1:
        return model.offset + model.coupling[np.arange(len(u)), states[:, u], states[:, v]].sum(axis=1) + own
    return model.offset + (states[:, u] == states[:, v]) @ model.coupling + own


@dataclass(frozen=True, eq=False)
class ManyStateModel(Checked, EdgeTables, ABC):
    """Base of models with m states a node, each feature 0 or 1: those of edges, then those of states 1 to m - 1.

    The pairs of states of an edge are in *categories*, (m, m), in either order in the same: at most one feature of an
    edge is 1, and ``category`` is its number from 1, or 0 for none. A model that defines this has all else it needs.

    Parameters
    ----------
    graph : Graph
    state_names : tuple of tuple of str, optional
        Name of each state of each node, in the names of features; by default the numbers 0 to m - 1.
    fields
        Without, the Potts model is symmetric under renaming the states.
    """

    graph: Graph
    n_states: int = field(metadata=needs(integer(2, 127), "Number m of states of each node."))
    fields: bool = option(True, FLAG, "Whether nodes have fields h_{ik}.")
    state_names: Any = field(default=None, kw_only=True)

    name: ClassVar[str]
    family: ClassVar[str] = TABLES
    is_product: ClassVar[bool] = False  # whether the feature of an edge is the product of the scores of its ends

    @property
    @abstractmethod
    def category(self) -> np.ndarray:
        """Number from 1 of the feature of an edge that is not 0 at each pair of states, (m, m); 0 for none."""

    def label(self, node: int, state: int) -> str:
        """Return the name of a state of a node."""
        return str(state) if self.state_names is None else str(self.state_names[node][state])

    @property
    def n_parameters(self) -> int:
        """Number p of parameters of an edge."""
        return len(self.edge_features)

    @cached_property
    def edge_features(self) -> np.ndarray:
        """Features of an edge in the states of its ends, (p, m, m).

        Raises
        ------
        OptionError
        """
        category, m = np.asarray(self.category), self.n_states
        square = category.shape == (m, m) and category.dtype.kind in "iu"
        if not square or (category != category.T).any() or category.min() < 0 or category.max() < 1:
            expected = f"a symmetric {m} x {m} array of integers from 0, not all of them 0"
            raise OptionError(option="category", got=category, expected=expected)
        return (category == np.arange(1, 1 + category.max())[:, None, None]).astype(np.float64)

    @property
    def edge_values(self) -> np.ndarray:
        """Feature of an edge with one parameter in the states of its ends, (m, m)."""
        return self.edge_features[0]

    @property
    def n_edges(self) -> int:
        """Number of edges, each of which has ``n_parameters`` features."""
        return self.graph.n_edges

    @property
    def n_features(self) -> int:
        """Length of theta."""
        return int(self.node_starts[-1])

    @property
    def feature_low(self) -> np.ndarray:
        """Smallest value of each feature."""
        return np.zeros(self.n_features)

    @property
    def feature_high(self) -> np.ndarray:
        """Largest value of each feature; a feature has no others if it is 1."""
        return np.ones(self.n_features)

    @property
    def node_values(self) -> tuple[float, float]:
        """Smaller and larger value of the features of a node."""
        return 0.0, 1.0

    @property
    def gains(self) -> np.ndarray:
        """Values of the feature of an edge but 0, times which its parameters are its log potentials."""
        return np.ones(1)

    @property
    def used(self) -> np.ndarray:
        """Whether a node has a state, (n_nodes, n_states)."""
        return np.ones((self.graph.n_nodes, self.n_states), bool)

    @property
    def node_starts(self) -> np.ndarray:
        """Place in theta of the first parameter of each node, and the length of theta, (n_nodes + 1,)."""
        each = self.n_states - 1 if self.fields else 0
        return self.n_edges * self.n_parameters + each * np.arange(self.graph.n_nodes + 1)

    @property
    def node_states(self) -> np.ndarray:
        """State of which the feature of each parameter of a node is the indicator, (n_node_parameters,)."""
        return np.tile(np.arange(1, self.n_states), self.graph.n_nodes * int(self.fields))

    @property
    def node_features(self) -> np.ndarray:
        """Feature of each parameter of a node in the states of its node, (n_node_parameters, n_states)."""
        return np.eye(self.n_states)[self.node_states]

    @property
    def feature_names(self) -> list[str]:
        """``u-v``, or ``u-v=j`` if an edge has several features; ``u=k`` for a node and each label k but the first."""
        p = self.n_parameters
        marks = [""] if p == 1 else [f"={j + 1}" for j in range(p)]
        return [edge + mark for edge in self.graph.edge_names for mark in marks] + self._field_names

    @property
    def _field_names(self) -> list[str]:
        """``u=k`` for each label k but the first of each node."""
        states = range(1, self.n_states) if self.fields else ()
        return [f"{name}={self.label(u, k)}" for u, name in enumerate(self.graph.names) for k in states]

    def field_table(self, own: np.ndarray) -> np.ndarray:
        """Return the fields of all states, (n_nodes, m), of the parameters of nodes: 0 for state 0."""
        require_shape("own", own, (self.n_features - self.n_edges * self.n_parameters,))
        table = np.zeros((self.graph.n_nodes, self.n_states))
        if self.fields:
            table[:, 1:] = own.reshape(-1, self.n_states - 1)
        return table

    def from_field_table(self, field: np.ndarray) -> np.ndarray:
        """Return the parameters of nodes whose fields of all states are ``field``."""
        require_shape("field", field, (self.graph.n_nodes, self.n_states))
        return field[:, 1:].ravel() if self.fields else np.empty(0)

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of weighted ``states`` (n_samples, n_nodes) in {0, ..., m - 1}."""
        shares = node_statistics(states, self.n_states, weights)
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        columns, m = np.ascontiguousarray(states.T, dtype=np.int64), self.n_states
        pairs = [np.bincount(m * columns[u] + columns[v], w, minlength=m * m) for u, v in self.graph.edges]
        edge = np.reshape(pairs, (-1, m * m)) @ self.edge_features.reshape(-1, m * m).T / w.sum()
        return self._features(edge, shares)

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form, with a table for each edge."""
        require_shape("theta", theta, (self.n_features,))
        return categorical(self.graph, self.table(theta), self.field_table(theta[self.n_edges * self.n_parameters :]))

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments of the statistics from P(x_u = k, x_v = l), (n_edges, m, m), and P(x_i = k)."""
        each = self.edge_features.reshape(self.n_parameters, -1).T
        return self._features(pair.reshape(self.n_edges, self.n_states**2) @ each, node)

    def _features(self, edge: np.ndarray, node: np.ndarray) -> np.ndarray:
        return np.concatenate([edge.ravel(), node[:, 1:].ravel()]) if self.fields else edge.ravel()


def sizes_of(model: Any) -> np.ndarray:
    """Return the number of states of each node, (n_nodes,)."""
    own = isinstance(model, ManyStateModel)
    return np.array(model.used.sum(axis=1) if own else np.full(model.graph.n_nodes, model.n_states))
