"""The check that all tables of a model have the same distribution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..base import BINARY, EVERY_FAMILY, POTTS
from .categorical import ManyStateModel, compiled_form, is_categorical, sizes_of
from .pairwise import PairwiseModel

_THETAS, _MIXTURES = 3, 2
_TOLERANCE = 1e-9  # relative to the largest of the values that are compared


def disagreeing(model: Any) -> list[str]:
    r"""Return the names of tables and functions of a model that disagree with its compiled form.

    The log potential of x at theta minus that at 0 must be :math:`\theta \cdot s(x)`, whether s(x) is by
    ``statistics``, by ``moments`` of x alone, or by the tables that samplers of edges and of groups read. Both sides
    are averaged over all states of each edge with random weights, which shows a single state that differs, at random
    theta. A form that no engine of the package supports is not compared.
    """
    if model.family not in EVERY_FAMILY:
        return []
    rng = np.random.default_rng(0)
    states, thetas = _states(model), rng.standard_normal((_THETAS, model.n_features))
    has_tables, wrong = isinstance(model, ManyStateModel | PairwiseModel), dict[str, None]()
    for weights in rng.integers(1, 1000, (_MIXTURES, len(states))).astype(np.float64):
        joint, node = _shares(model, states, weights / weights.sum())
        means = _means(model, joint, node)
        expected = _log_potentials(model, thetas, *means)
        found = {"statistics": model.statistics(states, weights), "moments": model.moments(*means)}
        if has_tables:
            found["edge_features, node_features"] = _by_tables(model, joint, node)
        wrong |= dict.fromkeys(
            name for name, s in found.items() if np.shape(s) != thetas[0].shape or not _are_close(thetas @ s, expected)
        )
    if has_tables:
        wrong |= dict.fromkeys(_apart(model))
    return list(wrong)


def _states(model: Any) -> np.ndarray:
    """Return rows in which both ends of each edge are in each pair of states: the bits of their numbers differ."""
    d, m = model.graph.n_nodes, model.n_states
    pairs = np.stack(np.divmod(np.arange(m * m), m), axis=1)
    bits = np.arange(d)[None] >> np.arange(max(1, (d - 1).bit_length()))[:, None] & 1
    return np.minimum(pairs[:, bits].reshape(-1, d), _sizes(model) - 1).astype(np.int8)


def _sizes(model: Any) -> np.ndarray:
    return sizes_of(model) if is_categorical(model) else np.full(model.graph.n_nodes, 2)


def _shares(model: Any, states: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P(x_u = k, x_v = l) of each edge, (n_edges, m, m), and P(x_i = k), (n_nodes, m)."""
    m, x = model.n_states, np.ascontiguousarray(states.T).astype(np.int64)
    joint = [np.bincount(m * x[u] + x[v], weights, minlength=m * m) for u, v in model.graph.edges]
    node = np.array([np.bincount(column, weights, minlength=m) for column in x])
    return np.reshape(joint, (-1, m, m)), node


def _means(model: Any, joint: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as arguments of ``moments``."""
    agree = np.trace(joint, axis1=1, axis2=2)
    if model.family == BINARY:
        return 2 * agree - 1, 2 * node[:, 1] - 1
    return (agree if model.family == POTTS else joint), node


def _log_potentials(model: Any, thetas: np.ndarray, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Return the mean log potential at each theta, less that at 0."""
    base, found = compiled_form(model, np.zeros(model.n_features)), []
    for theta in thetas:
        at = compiled_form(model, theta)
        terms = ((at.coupling - base.coupling) * pair).sum() + ((at.field - base.field) * node).sum()
        found.append(at.offset - base.offset + terms)
    return np.array(found)


def _by_tables(model: Any, joint: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Return the means of the features in tables, those of edges first."""
    edges = np.tensordot(joint, model.edge_features, ((1, 2), (1, 2))).ravel()
    owner = np.repeat(np.arange(len(node)), np.diff(model.node_starts))
    nodes = (node[owner] * model.node_features).sum(axis=1)
    return np.concatenate([edges, nodes])


def _apart(model: Any) -> Iterator[str]:
    """Yield the names of tables that are not those of ``edge_features`` and ``node_features``."""
    f, y, states = model.edge_features, model.node_features, model.node_states
    if len(f) == 1 and not _are_close(model.edge_values, f[0]):
        yield "edge_values"
    low, high = model.node_values
    free = states > 0
    if not _are_close(y[free], low + (high - low) * np.eye(model.n_states)[states[free]]):
        yield "node_values, node_states"
    if isinstance(model, ManyStateModel):
        given = (np.eye(len(f))[:, :, None] * model.gains).reshape(len(f), -1)
        by_category = np.insert(given, 0, 0.0, axis=1)
        if by_category.shape[1] != 1 + model.category.max() or not _are_close(by_category[:, model.category], f):
            yield "category, gains"
        own = np.arange(1.0, 1 + len(y))
        if not _are_close(model.from_field_table(model.field_table(own)), own):
            yield "from_field_table"
    if model.is_product and not _are_close(model.with_pairs.edge_features, f):
        yield "score"
    yield from _ranges(model)


def _ranges(model: Any) -> Iterator[str]:
    """Yield the range of features if values are out of it, or if one up to 1 has more than two values."""
    low, high = model.feature_low, model.feature_high
    used = np.arange(model.n_states) < _sizes(model)[:, None]
    owner = np.repeat(np.arange(len(used)), np.diff(model.node_starts))
    u, v = model.graph.edges.T
    there = used[u][:, :, None] & used[v][:, None]
    r, p = model.n_edges, len(model.edge_features)
    parts = (
        (model.edge_features[None], there[:, None], np.arange(r * p).reshape(r, p, 1, 1)),
        (model.node_features, used[owner], r * p + np.arange(len(owner))[:, None]),
    )
    for values, seen, place in parts:
        inside = (values >= low[place] - _TOLERANCE) & (values <= high[place] + _TOLERANCE)
        ends = np.isclose(values, low[place]) | (values == 1)
        if not (inside & (ends | (high[place] != 1)) | ~seen).all():
            yield "feature_low, feature_high"
            return


def _are_close(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same but for rounding."""
    return np.shape(a) == np.shape(b) and bool(
        np.abs(a - b).max(initial=0.0) <= _TOLERANCE * (1 + np.abs(b).max(initial=0.0))
    )
