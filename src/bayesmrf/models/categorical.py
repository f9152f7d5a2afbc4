"""The compiled form of models with more than two states a node."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, TypeGuard

import numpy as np

from ..base import BINARY, Model
from ..data.states import check_codes
from ..errors import OptionError
from ..graphs import Graph
from .pairwise import Pairwise, pairwise

NEVER = -1e30  # field of a state that a node does not have; finite, as 0 times infinity is NaN


class Categorical(NamedTuple):
    """log p~(x) = offset + sum_e coupling_e [x_u = x_v] + sum_i field_{i, x_i}, x in {0, ..., m - 1}.

    If edges have tables instead, the second term is sum_e coupling_{e, x_u, x_v}, with u the first end. ``starts``,
    ``neighbours`` and ``edge_of`` are the compressed rows of the graph (see `bayesmrf.graphs.Adjacency`).
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


def without_absent(form: Categorical | Pairwise) -> Categorical | Pairwise:
    """Return the form without the edges whose coupling is 0, which sweeps and potentials need not visit."""
    present = (form.coupling != 0).any(axis=tuple(range(1, form.coupling.ndim)))
    if present.all():
        return form
    kept = present[form.edge_of]
    return form._replace(
        edges=form.edges[present],
        starts=np.append(0, np.cumsum(kept))[form.starts],
        neighbours=form.neighbours[kept],
        edge_of=(np.cumsum(present, dtype=form.edge_of.dtype) - 1)[form.edge_of[kept]],
        coupling=form.coupling[present],
    )


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


def pair_counts(edges: np.ndarray, states: np.ndarray, n_states: int, weights: np.ndarray) -> np.ndarray:
    """Return the weighted number of rows of ``states`` with each pair of states of each edge, (n_edges, m, m)."""
    columns, m = np.ascontiguousarray(states.T, dtype=np.int64), n_states
    counts = [np.bincount(m * columns[u] + columns[v], weights, minlength=m * m) for u, v in edges]
    return np.reshape(counts, (-1, m, m))


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
    fields = model.field[np.arange(len(model.field)), states].sum(axis=1)
    if model.coupling.ndim > 1:
        return model.offset + model.coupling[np.arange(len(u)), states[:, u], states[:, v]].sum(axis=1) + fields
    return model.offset + (states[:, u] == states[:, v]) @ model.coupling + fields
