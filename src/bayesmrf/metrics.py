"""How good an estimate is: error, likelihood of new data, and closeness of groupings (Liu and Page 2013, section 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import LOG_Z, Engine, Kind, Model
from .errors import DataError, OptionError
from .learning.pseudo_likelihood import log_pseudo_likelihood
from .partitions import expected_vi, variation_of_information, vi_difference

__all__ = [
    "expected_vi",
    "log_likelihood",
    "log_pseudo_likelihood",
    "mean_absolute_error",
    "variation_of_information",
    "vi_difference",
]


def mean_absolute_error(agreement: Any, truth: Any) -> float:
    """Mean over the edges of the absolute error of the agreement (Liu and Page 2013, section 4)."""
    a, b = np.asarray(agreement, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if a.shape != b.shape or a.size == 0:
        raise DataError(f"agreement: shapes {a.shape} and {b.shape} (truth) came; one value an edge is wanted in both")
    return float(np.abs(a - b).mean())


def log_likelihood(
    model: Model, theta: np.ndarray, states: np.ndarray, engine: Engine, weights: np.ndarray | None = None
) -> float:
    """Exact log likelihood of data, in nats: N (theta . s_bar - log Z(theta)).

    Parameters
    ----------
    model : Model
        What the statistics are.
    theta : (n_features,) array
        Its natural parameters.
    states : (n_samples, n_nodes) array in {0, 1}
        Test data, say.
    engine : Engine
        Must answer ``log_z`` exactly (enumeration, elimination).
    weights : (n_samples,) array, optional
        How many times each row counts.

    Raises
    ------
    OptionError
        If the engine's log Z is not exact; its error would be multiplied by N.
    """
    if LOG_Z not in engine.answers or engine.kind is not Kind.EXACT:
        raise OptionError(f"engine: {engine.name!r} does not answer log_z exactly; use enumeration or elimination, "
                          "or log_pseudo_likelihood where the graph is too wide for both")  # fmt: skip
    n = len(states) if weights is None else float(np.sum(weights))
    log_z = engine.infer(model, theta, engine.prepare(model), want=LOG_Z).log_z
    assert log_z is not None
    return float(n * (np.dot(theta, model.statistics(states, weights)) - log_z))
