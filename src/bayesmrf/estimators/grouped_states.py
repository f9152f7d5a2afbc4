"""Starts of `GroupedMRF` for nodes with more than two states."""

from __future__ import annotations

import numpy as np

from ..base import Engine
from ..learning.forest import forest_start
from ..learning.many_states import potential_mode
from ..learning.maximum_likelihood import maximum_likelihood
from ..likelihood import Hidden
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
    hidden: Hidden | None = None,
) -> tuple[np.ndarray, str]:
    """Return an estimate that ignores groups, sparse if edges may be absent, and its method.

    ``hidden`` are missing entries that are summed over, with exact engines, where all edges exist.
    """
    n = states.n_samples
    tables = isinstance(model, Symmetric)
    precision = base_precision(prior.base, model.n_parameters)[0] if tables else np.eye(1)
    if prior.density is not None:
        return forest_start(model, states.values, states.weights, precision, rng), "forest"
    if isinstance(model, Symmetric):
        return potential_mode(model, s_bar, n, engine, rng, precision, hidden), "posterior mode, no groups"
    mle = maximum_likelihood(model, s_bar, n, engine, rng, hidden=hidden)
    return mle.theta, mle.method
