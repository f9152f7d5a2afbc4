"""The check that the statistics of a model have the distribution of its compiled form."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import BINARY, EVERY_FAMILY, POTTS
from ..errors import OptionError
from .bases import sizes_of
from .categorical import compiled_form, is_categorical
from .two_arrays import TwoArrays

_THETAS, _MIXTURES = 3, 2
_TOLERANCE = 1e-9  # relative to the largest of the values that are compared


def require_agreement(model: Any) -> None:
    """Check that a model has the distribution of its compiled form; see `disagreeing`.

    Raises
    ------
    OptionError
        With what disagrees.
    """
    if wrong := disagreeing(model):
        form = "categorical" if is_categorical(model) else "pairwise"
        raise OptionError(
            option="model",
            got=model.name,
            expected=f"one whose {' and '.join(wrong)} have the features of {form}(theta), the log potential of which "
            "is theta . statistics(x) in all states x",
            remedy="define edge_features and node_features of a PairwiseModel, and nothing else",
        )


def disagreeing(model: Any) -> list[str]:
    r"""Return the names of tables and functions of a model that disagree with its compiled form.

    The log potential of x at theta minus that at 0 must be :math:`\theta \cdot s(x)`, whether s(x) is by
    ``statistics``, by ``moments`` of x alone, or by the arrays of `bayesmrf.models.two_arrays.TwoArrays`. Both sides
    are averaged over all states of each edge with random weights, which shows a single state that differs, at random
    theta. A form that no engine of the package supports is not compared.
    """
    if model.family not in EVERY_FAMILY:
        return []
    rng = np.random.default_rng(0)
    states, thetas = _states(model), rng.standard_normal((_THETAS, model.n_features))
    has_arrays, wrong = isinstance(model, TwoArrays), dict[str, None]()
    for weights in rng.integers(1, 1000, (_MIXTURES, len(states))).astype(np.float64):
        joint, node = _shares(model, states, weights / weights.sum())
        means = _means(model, joint, node)
        expected = _log_potentials(model, thetas, *means)
        sums = {"statistics": model.statistics(states, weights), "moments": model.moments(*means)}
        if has_arrays:
            sums["edge_features, node_features"] = weights / weights.sum() @ model.features(states)
        wrong |= dict.fromkeys(
            name for name, s in sums.items() if np.shape(s) != thetas[0].shape or not _are_close(thetas @ s, expected)
        )
    if has_arrays and model.score is not None and not _are_close(np.outer(model.score, model.score), model.edge_values):
        wrong["score"] = None
    return list(wrong)


def _states(model: Any) -> np.ndarray:
    """List rows in which both ends of each edge are in each pair of states: the bits of their numbers differ."""
    d, m = model.graph.n_nodes, model.n_states
    pairs = np.stack(np.divmod(np.arange(m * m), m), axis=1)
    bits = np.arange(d)[None] >> np.arange(max(1, (d - 1).bit_length()))[:, None] & 1
    return np.minimum(pairs[:, bits].reshape(-1, d), sizes_of(model) - 1).astype(np.int8)


def _shares(model: Any, states: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute P(x_u = k, x_v = l) of each edge, (n_edges, m, m), and P(x_i = k), (n_nodes, m)."""
    m, x = model.n_states, np.ascontiguousarray(states.T).astype(np.int64)
    joint = [np.bincount(m * x[u] + x[v], weights, minlength=m * m) for u, v in model.graph.edges]
    node = np.array([np.bincount(column, weights, minlength=m) for column in x])
    return np.reshape(joint, (-1, m, m)), node


def _means(model: Any, joint: np.ndarray, node: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert both to arguments of ``moments``."""
    agree = np.trace(joint, axis1=1, axis2=2)
    if model.family == BINARY:
        return 2 * agree - 1, 2 * node[:, 1] - 1
    return (agree if model.family == POTTS else joint), node


def _log_potentials(model: Any, thetas: np.ndarray, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Compute the mean log potential at each theta, less that at 0."""
    base, values = compiled_form(model, np.zeros(model.n_features)), []
    for theta in thetas:
        at = compiled_form(model, theta)
        terms = ((at.coupling - base.coupling) * pair).sum() + ((at.field - base.field) * node).sum()
        values.append(at.offset - base.offset + terms)
    return np.array(values)


def _are_close(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are the same but for rounding."""
    return bool(np.abs(a - b).max(initial=0.0) <= _TOLERANCE * (1 + np.abs(b).max(initial=0.0)))
