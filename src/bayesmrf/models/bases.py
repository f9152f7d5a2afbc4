"""Bases of models that two arrays state, of users and of the package; what may be asked of any model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard, cast

import numpy as np

from ..base import BINARY, POTTS, TABLES
from ..declare.option import needs, option
from ..declare.rule import FLAG, integer
from ..graphs import Graph
from .display import display_of
from .node_features import NodeFeatures
from .two_arrays import TwoArrays


@dataclass(frozen=True, eq=False)
class PairwiseModel(TwoArrays):
    """Base of models of your own, which give ``edge_features`` and ``node_features`` (`TwoArrays`).

    Parameters
    ----------
    graph : Graph
    state_names : tuple of tuple of str, optional
        Name of each state of each node, in the names of features; by default the numbers 0 to m - 1.
    """

    graph: Graph
    fields: bool = option(True, FLAG, "Whether nodes have parameters.")
    state_names: Any = field(default=None, kw_only=True)

    @property
    def n_states(self) -> int:
        """Number m of states of a node."""
        return int(np.shape(self.edge_features)[-1])


@dataclass(frozen=True, eq=False)
class ManyStateModel(TwoArrays):
    """Base of models with any number m of states, with a field of each state but the first.

    Parameters
    ----------
    graph : Graph
    state_names : tuple of tuple of str, optional
        As in `PairwiseModel`.
    fields
        Without, the Potts model is symmetric under renaming the states.
    """

    graph: Graph
    n_states: int = field(metadata=needs(integer(2, 127), "Number m of states of each node."))
    fields: bool = option(True, FLAG, "Whether nodes have fields h_{ik}.")
    state_names: Any = field(default=None, kw_only=True)

    @cached_property
    def _found(self) -> str:
        """Compiled form, which is that of many states also of two."""
        return POTTS if self._is_agreement else TABLES

    @property
    def node_features(self) -> Any:
        """Indicators of all states but the first, (m - 1, m)."""
        return np.eye(self.n_states)[1:]


class WithPairs(NamedTuple):
    """A model whose moments are P(x_u = k, x_v = l) of each edge, then P(x_i = k) of each node."""

    model: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the probabilities of the pairs of states of each edge, then those of the states of each node."""
        return np.concatenate([pair.ravel(), node.ravel()])


def is_stated(model: Any) -> TypeGuard[TwoArrays]:
    """Whether a model is stated by `TwoArrays`."""
    return isinstance(model, TwoArrays)


def is_binary(model: Any) -> TypeGuard[TwoArrays]:
    """Whether a model of two states is stated by `TwoArrays`."""
    return is_stated(model) and model.family == BINARY


def sizes_of(model: Any) -> np.ndarray:
    """Return the number of states of each node, (n_nodes,)."""
    if isinstance(model, NodeFeatures):
        return np.asarray(model.used.sum(axis=1))
    return np.full(model.graph.n_nodes, model.n_states)


def has_lines(model: Any) -> TypeGuard[TwoArrays]:
    """Return whether there is a line along the one parameter of each edge of a model."""
    return is_stated(model) and model.n_parameters == 1


def has_group_lines(model: Any) -> bool:
    """Return whether there are lines along the parameters of each edge of a model, one or several."""
    return isinstance(model, NodeFeatures) and model.n_parameters in (1, None)


def has_contrasts(model: Any) -> np.ndarray:
    """Return `NodeFeatures.has_contrasts` of each node; a user's own class has none."""
    return model.has_contrasts if isinstance(model, NodeFeatures) else np.zeros(model.graph.n_nodes, bool)


def has_scored_nodes(model: Any) -> bool:
    """Return whether a node has a parameter whose feature is no indicator of a state."""
    return isinstance(model, NodeFeatures) and bool((model.node_states < 0).any())


def is_two_valued(model: Any) -> bool:
    """Return whether each feature has two values, the larger of which is 1."""
    return model.two_valued if is_stated(model) else bool((model.feature_high == 1).all())


def with_levels(model: Any, levels: Sequence[tuple[str, ...]] | None) -> Any:
    """Return a model whose nodes have more than two states with other names of these, or without names.

    Others are returned as they are, as are those of a callable with states that the ``levels`` do not have.
    """
    if not isinstance(model, NodeFeatures) or (levels is not None and model.family == BINARY):
        return model
    if levels is not None and model.used.sum(axis=1).tolist() != [len(names) for names in levels]:
        return model
    return replace(cast(Any, model), state_names=levels)


def edge_starts(model: Any) -> np.ndarray:
    """Return the place in theta of the first parameter of each edge, and of the first one of a node, (n_edges + 1,)."""
    return np.asarray(display_of(model).edge_starts)


def edge_strength(model: Any, theta: np.ndarray) -> np.ndarray:
    """Return the strength of each edge. Deprecated: it is that of `bayesmrf.models.display.display_of`."""
    text = "edge_strength(model, theta) is bayesmrf.models.display.display_of(model).strength(theta)"
    warnings.warn(text, FutureWarning, stacklevel=2)
    return display_of(model).strength(theta)


def edge_of(model: Any) -> np.ndarray:
    """Return the edge of each parameter of an edge."""
    starts = edge_starts(model)
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def present(model: Any, theta: np.ndarray, on: Callable[[Graph], Any]) -> tuple[Any, np.ndarray]:
    """Return the model ``on`` the edges of which a parameter is not 0, and its parameters."""
    first, of_edge, graph = edge_starts(model)[-1], edge_of(model), model.graph
    exists = np.bincount(of_edge, theta[:first] != 0, model.n_edges) > 0
    if exists.all():
        return model, theta
    few = Graph(graph.n_nodes, graph.edges[exists], graph.names)
    return on(few), np.concatenate([theta[:first][exists[of_edge]], theta[first:]])
