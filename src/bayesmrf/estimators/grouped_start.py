"""Starts of `GroupedMRF`: an estimate that ignores groups or, where edges may be absent, a sparse one."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..base import LOG_Z, Engine, Kind
from ..data.cells import COMPLETE_PAIRS
from ..data.states import States
from ..errors import BoundaryWarning
from ..learning.forest import forest_start
from ..learning.maximum_likelihood import maximum_likelihood
from ..learning.persistent_ascent import potential_mode, prior_slope
from ..learning.sparse_path import sparse_start
from ..likelihood import Hidden, Sample
from ..models.display import display_of
from .grouped_request import Request


class GroupedStart(NamedTuple):
    """Where the chains start; and, without a spike, an estimate that ignores groups, and its method."""

    theta: np.ndarray
    mle: np.ndarray | None = None
    mle_method: str = ""

    def moments(self, request: Request, model: Any, data: Sample) -> np.ndarray:
        """Return the moments of the model at ``theta``: those of the data, less what a prior of tables holds back."""
        precision = request.precision(model)
        if precision is None:
            return data.s_bar
        return data.s_bar - prior_slope(model, precision, self.theta) / data.n_samples


def find_start(
    request: Request, model: Any, states: States, data: Sample, engine: Engine, rng: np.random.Generator
) -> GroupedStart:
    """Return an estimate from complete pairs, sparse with a spike, and one that sums over missing values if exact."""
    if request.spike:
        return GroupedStart(_sparse(request, model, states, data.s_bar, rng))
    hidden = data.hidden
    exact = hidden is not None and engine.kind is hidden.engine.kind is Kind.EXACT
    with warnings.catch_warnings():
        if exact:  # they are those of the start
            warnings.simplefilter("ignore", BoundaryWarning)
        theta, how = _estimate(request, model, data, engine, rng, None)
    if exact:
        return GroupedStart(theta, *_estimate(request, model, data, engine, rng, hidden))
    return GroupedStart(theta, theta, how if hidden is None else f"{how}, {COMPLETE_PAIRS}")


def _estimate(
    request: Request, model: Any, data: Sample, engine: Engine, rng: np.random.Generator, hidden: Hidden | None
) -> tuple[np.ndarray, str]:
    """Estimate theta without groups, and name the method; ``hidden`` are missing entries that are summed over."""
    if (precision := request.precision(model)) is not None:
        theta = potential_mode(model, data.s_bar, data.n_samples, engine, rng, precision, hidden)
        return theta, "posterior mode, no groups" + ("" if LOG_Z in engine.answers else ", persistent")
    estimate = maximum_likelihood(model, data.s_bar, data.n_samples, engine, rng, hidden=hidden)
    return estimate.theta, estimate.method


def _sparse(request: Request, model: Any, states: States, s_bar: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not display_of(model).is_agreement:
        return forest_start(model, states.values, states.weights, request.precision(model), rng)
    r, start, sparse = model.n_edges, np.zeros(model.n_features), sparse_start(model.graph, states)
    if sparse is not None:
        start[:r] = sparse[:r] / 2  # over {0, 1}, a weight is twice the logit of the agreement
    if model.fields:
        limit = 1 - 1 / states.n_samples
        start[r:] = np.arctanh(np.clip(s_bar[r:], -limit, limit))
    return start
