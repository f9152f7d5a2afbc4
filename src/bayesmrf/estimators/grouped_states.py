"""`GroupedMRF` where nodes have more than two states: where it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..base import Engine
from ..learning.many_states import potential_mode
from ..learning.maximum_likelihood import maximum_likelihood
from ..models.potts import Potts
from ..models.symmetric import Symmetric
from ..posterior.groups.blocks import base_precision


def states_start(
    base: Any,
    model: Potts | Symmetric,
    s_bar: np.ndarray,
    n: float,
    engine: Engine,
    rng: np.random.Generator,
) -> tuple[np.ndarray, str]:
    """Estimate that ignores groups, and how it was found; ``base`` is that of the prior of tables."""
    if isinstance(model, Potts):
        mle = maximum_likelihood(model, s_bar, n, engine, rng)
        return mle.theta, mle.method
    precision, _ = base_precision(base, model.n_parameters)
    return potential_mode(model, s_bar, n, engine, rng, precision), "posterior mode, no groups"


def agreement_of(model: Any, theta: np.ndarray) -> np.ndarray:
    """Agreement of each edge, (..., n_edges): the logistic function of its theta, or of the reward of its table."""
    return model.agreement(theta) if isinstance(model, Symmetric) else expit(theta[..., : model.n_edges])
