r"""The same distribution with the states of one node in reverse order.

If x_k is replaced by :math:`m_k - 1 - x_k`, the weights of node k change their sign, and the distribution is that of
other parameters of the same model. Parameters of a node of which nothing was observed therefore have a mirrored
posterior, and those of a node that was observed in few rows almost one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .boltzmann import Coding
from .ordinal import Ordinal
from .shapes import require_shape
from .two_arrays import is_binary


def can_mirror(model: Any) -> bool:
    """Whether the model has parameters for reversed states of any node."""
    if isinstance(model, Ordinal):
        return model.fields and model.neutral is None and model.scores is None
    return is_binary(model) and (model.fields or _shift(model) == 0)


def mirrored(model: Any, theta: np.ndarray, node: int) -> np.ndarray:
    """Return the parameters of the same distribution with the states of a node in reverse order.

    The map is linear, is its own inverse, and leaves the volume and log Z up to a term linear in theta; see
    `can_mirror`.
    """
    require_shape("theta", theta, (model.n_features,))
    edges, r, new = model.graph.edges, model.n_edges, theta.copy()
    own = np.flatnonzero((edges == node).any(axis=1))
    others = edges[own].sum(axis=1) - node
    new[own] = -theta[own]
    if isinstance(model, Ordinal):
        starts, last = model.node_starts, model.used[node].sum() - 1
        reverse = np.append(0.0, theta[starts[node] : starts[node + 1]])[::-1]
        new[starts[node] : starts[node + 1]] = reverse[1:] - reverse[0]
        for e, j in zip(own, others, strict=True):
            new[starts[j] : starts[j + 1]] += theta[e] * last * np.arange(1, starts[j + 1] - starts[j] + 1)
    elif model.fields:
        new[r + node] = -theta[r + node]
        new[r + others] += _shift(model) * theta[own]
    return new


def _shift(model: Any) -> float:
    """Return how much the parameter of a node grows, for each weight that it has to the reversed one."""
    coding = Coding.of(model)
    return (coding.edge + 2 * coding.shift) / coding.node
