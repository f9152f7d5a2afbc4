"""Starts of `GroupedMRF` for nodes with more than two states."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..base import Engine
from ..learning.forest import forest_start
from ..learning.many_states import potential_mode
from ..learning.maximum_likelihood import maximum_likelihood
from ..models.potts import Potts
from ..models.symmetric import Symmetric
from ..posterior.groups.blocks import base_precision
from ..priors import DirichletProcess
from ..states import States


def states_start(
    prior: DirichletProcess,
    model: Potts | Symmetric,
    states: States,
    s_bar: np.ndarray,
    engine: Engine,
    rng: np.random.Generator,
) -> tuple[np.ndarray, str]:
    """Return an estimate that ignores groups, sparse if edges may be absent, and its method."""
    n = states.n_samples
    precision = np.eye(1) if isinstance(model, Potts) else base_precision(prior.base, model.n_parameters)[0]
    if prior.density is not None:
        return forest_start(model, states.values, states.weights, precision, rng), "forest"
    if isinstance(model, Potts):
        mle = maximum_likelihood(model, s_bar, n, engine, rng)
        return mle.theta, mle.method
    return potential_mode(model, s_bar, n, engine, rng, precision), "posterior mode, no groups"


def agreement_of(model: Any, theta: np.ndarray) -> np.ndarray:
    """Return the agreement of each edge, (..., n_edges): the logistic function of its theta, or that of its table."""
    return model.agreement(theta) if isinstance(model, Symmetric) else expit(theta[..., : model.n_edges])
