"""`GroupedMRF` where nodes have more than two states: which model, which sampler, and where it starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..base import Engine
from ..errors import OptionError
from ..learning.many_states import potential_mode
from ..learning.maximum_likelihood import maximum_likelihood
from ..models.potts import Potts
from ..models.symmetric import Symmetric
from ..posterior.groups.blocks import base_precision
from ..priors import MultivariateNormal, Normal
from ..rules import choice


def check_states_options(options: Any) -> None:
    """Refuse what the models with many states do not have.

    Raises
    ------
    OptionError
    """
    if options.model == "agreement":
        return
    choice("auto", "exact", "particle").check("method", options.method)
    for name, given, what in (
        ("spike", options.spike, "edges that may be absent"),
        ("fields", options.fields == "grouped", "fields in groups"),
    ):
        if given:
            raise OptionError(f"{name}: {what} need model='agreement', and {options.model!r} came")


def potential_base(options: Any) -> Normal | MultivariateNormal:
    """Normal law of a potential."""
    given = options.prior_scale
    if np.ndim(given) == 2:
        return MultivariateNormal(given)
    return Normal(given if np.ndim(given) == 0 else np.asarray(given))


def states_model(options: Any, graph: Any, n_states: int) -> Potts | Symmetric:
    """The model on a graph."""
    kind = Potts if options.model == "potts" else Symmetric
    return kind(graph, n_states, bool(options.fields))


def states_start(
    options: Any,
    model: Potts | Symmetric,
    s_bar: np.ndarray,
    n: float,
    engine: Engine,
    rng: np.random.Generator,
) -> tuple[np.ndarray, str]:
    """Estimate blind to groups, and how it was found."""
    if isinstance(model, Potts):
        mle = maximum_likelihood(model, s_bar, n, engine, rng)
        return mle.theta, mle.method
    precision, _ = base_precision(potential_base(options), model.n_parameters)
    return potential_mode(model, s_bar, n, engine, rng, precision), "posterior mode, no groups"


def agreement_of(model: Any, theta: np.ndarray) -> np.ndarray:
    """Agreement of each edge, (..., n_edges): the logistic function of its theta, or of the reward of its table."""
    return model.agreement(theta) if isinstance(model, Symmetric) else expit(theta[..., : model.n_edges])
