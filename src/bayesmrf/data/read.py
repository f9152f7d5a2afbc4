"""Read a table for a model: what is checked and noticed of it before there is a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .equal_columns import warn_of_equal
from .nominal import require_shared_levels, warn_of_nominal
from .states import ColumnLevels, States, check_states
from .unordered_levels import NOMINAL


def read(X: Any, sample_weight: Any, model: Any = None, missing: bool = False, tied: bool = False) -> States:
    """Return the states of a table, in the coding that a model takes.

    Parameters
    ----------
    X, sample_weight
        As in `check_states`.
    model : object of `bayesmrf.families`, optional
        None stands for yes/no nodes without edges, where no other model can be chosen.
    missing : bool
        Whether values may be missing.
    tied : bool
        Whether edges share parameters, so that equal columns are no trouble.
    """
    if model is None:
        return check_states(X, sample_weight, missing=missing)
    states = check_states(X, sample_weight, missing=missing, n_states=model.n_states, ordinal=True)
    if model.shares_levels:
        require_shared_levels(X, states, type(model).__name__.lower(), model.n_states)
    if isinstance(states.coding, ColumnLevels) and model.n_states != NOMINAL:
        warn_of_nominal(X, states)
    if not tied:
        warn_of_equal(states)
    return states


def read_new(X: Any, sample_weight: Any, fitted: Any, unused: Sequence[int] = (), missing: bool = True) -> States:
    """Return the states of a table in the coding of the data of an estimator; values of ``unused`` are arbitrary."""
    X = fitted._retyped(X, unused)
    levels = None if isinstance(fitted._coding, str) else fitted._coding
    return check_states(X, sample_weight, fitted._names, missing, levels=levels, unused=unused)
