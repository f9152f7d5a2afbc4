"""The form that compiled code knows of models with more than two states a node."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np

from ..errors import OptionError
from ..graphs import Graph
from .pairwise import Pairwise

# The engines that take such models.
MANY_STATES = (
    "enumeration",
    "elimination",
    "mean-field",
    "bethe",
    "persistent",
    "brief",
    "from-exact",
    "gibbs",
    "swendsen-wang",
)


class Categorical(NamedTuple):
    """log p~(x) = offset + sum_e coupling_e [x_u = x_v] + sum_i field_{i, x_i}, x in {0, ..., m - 1}.

    ``starts``, ``neighbours`` and ``edge_of`` are the compressed rows of the graph (see `bayesmrf.graphs.Adjacency`).
    """

    edges: np.ndarray  # (n_edges, 2) int32
    starts: np.ndarray  # (n_nodes + 1,) int64
    neighbours: np.ndarray  # (2 n_edges,) int32
    edge_of: np.ndarray  # (2 n_edges,) int32
    coupling: np.ndarray  # (n_edges,) float64
    field: np.ndarray  # (n_nodes, m) float64
    offset: float


class CategoricalModel(Protocol):
    """A model with ``n_states`` states a node: `bayesmrf.base.Model`, but for the compiled form.

    ``statistics(states)`` are of data in {0, ..., m - 1}; ``moments(agree, node)`` turns P(x_u = x_v) of each edge and
    P(x_i = k), (n_nodes, m), into the moments of the model's own statistics.
    """

    @property
    def graph(self) -> Graph: ...  # noqa: D102
    @property
    def n_states(self) -> int: ...  # noqa: D102
    @property
    def n_features(self) -> int: ...  # noqa: D102
    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray: ...  # noqa: D102
    def categorical(self, theta: np.ndarray) -> Categorical: ...  # noqa: D102
    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray: ...  # noqa: D102


def is_categorical(model: Any) -> TypeGuard[CategoricalModel]:
    """Whether the model's compiled form is `Categorical`; else it is `bayesmrf.models.pairwise.Pairwise`."""
    return hasattr(model, "categorical")


def states_of(model: Any) -> int | None:
    """Number of states where the compiled form is `Categorical`, else None."""
    return model.n_states if is_categorical(model) else None


def compiled_form(model: Any, theta: np.ndarray) -> Categorical | Pairwise:
    """The model at theta as compiled code knows it."""
    return model.categorical(theta) if is_categorical(model) else model.pairwise(theta)


def refuse_categorical(engine: str, model: Any) -> None:
    """Refuse such models on behalf of an engine of binary ones.

    Raises
    ------
    OptionError
        Naming the engines that take them.
    """
    if is_categorical(model):
        raise OptionError(f"engine {engine!r}: a model with {model.n_states} states a node came, binary ones are "
                          f"wanted; engines that take many states: {', '.join(MANY_STATES)}")  # fmt: skip


def categorical(graph: Graph, coupling: np.ndarray, field: np.ndarray, offset: float = 0.0) -> Categorical:
    """Collect a graph's arrays and parameters."""
    a = graph.adjacency
    return Categorical(
        graph.edges,
        a.starts,
        a.neighbours,
        a.edge_of,
        np.ascontiguousarray(coupling, dtype=np.float64),
        np.ascontiguousarray(field, dtype=np.float64),
        float(offset),
    )


def log_potential(model: Categorical, states: np.ndarray) -> np.ndarray:
    """Unnormalised log probability of each row of ``states`` (n_samples, n_nodes) in {0, ..., m - 1}."""
    u, v = model.edges.T
    own = model.field[np.arange(len(model.field)), states].sum(axis=1)
    return model.offset + (states[:, u] == states[:, v]) @ model.coupling + own
