"""Starts of `GroupedMRF` for nodes with more than two states."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..base import Engine
from ..learning.forest import forest_start
from ..learning.many_states import potential_mode
from ..learning.maximum_likelihood import maximum_likelihood
from ..models.ordinal import Ordinal
from ..models.potts import Potts
from ..models.symmetric import Symmetric
from ..posterior.groups.blocks import base_precision
from ..priors import DirichletProcess
from ..states import States


def states_start(
    prior: DirichletProcess,
    model: Potts | Ordinal | Symmetric,
    states: States,
    s_bar: np.ndarray,
    engine: Engine,
    rng: np.random.Generator,
) -> tuple[np.ndarray, str]:
    """Return an estimate that ignores groups, sparse if edges may be absent, and its method."""
    n = states.n_samples
    tables = isinstance(model, Symmetric)
    precision = base_precision(prior.base, model.n_parameters)[0] if tables else np.eye(1)
    if prior.density is not None:
        return forest_start(model, states.values, states.weights, precision, rng), "forest"
    if isinstance(model, Symmetric):
        return potential_mode(model, s_bar, n, engine, rng, precision), "posterior mode, no groups"
    mle = maximum_likelihood(model, s_bar, n, engine, rng)
    return mle.theta, mle.method


def agreement_of(model: Any, theta: np.ndarray) -> np.ndarray:
    """Return the agreement of each edge, (..., n_edges): the logistic function of its theta, or that of its table.

    Of the ordinal model it is that of half the weight: the share of two adjacent categories of one end that go with
    the same of two adjacent ones of the other, where each is as frequent. With two categories it is that of the model
    of agreements.
    """
    if isinstance(model, Symmetric):
        return model.agreement(theta)
    found: np.ndarray = expit(theta[..., : model.n_edges] * (0.5 if isinstance(model, Ordinal) else 1.0))
    return found
