"""Read a table for a model, with all checks and warnings that need no graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from .codebook import Codebook
from .derived_columns import FIRST, Relation, linear_relations, warn_of_derived_columns, warn_of_equal
from .empty_cells import warn_of_empty_cells
from .frames import frame_of, is_frame
from .level_names import MIXED, NOMINAL
from .nominal_states import require_shared_levels, warn_of_nominal
from .row_weights import refuse_forgotten_counts
from .states import Coding, ColumnLevels, States, check_states, levels_of
from .typed_table import typed
from .waves_side_by_side import warn_of_waves


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
    options = {} if model is None else {"n_states": model.n_states, "ordinal": True}
    try:
        states = check_states(X, sample_weight, missing=missing, **options)
    except DataError:
        refuse_forgotten_counts(X, sample_weight)
        raise
    if model is None:
        return states
    if model.shares_levels:
        require_shared_levels(X, states, type(model).__name__.lower(), model.n_states)
    if isinstance(states.coding, ColumnLevels) and model.n_states not in (NOMINAL, MIXED):
        warn_of_nominal(X, states)
    if not tied:
        warn_of_equal(states)
        warn_of_derived_columns(relations := _relations(states))
        warn_of_empty_cells(states, [relation.columns for relation in relations])
        warn_of_waves(states.names)
    return states


def _relations(states: States) -> list[Relation]:
    """Return the relations between the observed columns; all rows are looked at if there are any in the first ones."""
    rows = states.values if states.weights is None else states.values[states.weights > 0]
    relations = linear_relations(_numbers(states, rows[:FIRST]), states.names)
    return linear_relations(_numbers(states, rows), states.names) if relations and len(rows) > FIRST else relations


def _numbers(states: States, rows: np.ndarray) -> np.ndarray:
    """Convert states back to the numbers of the user's table (texts to numbers of levels), NaN where missing."""
    columns = [np.asarray(levels_of(states.coding, i)) for i in range(len(states.names))]
    values = [c if c.dtype.kind in "biuf" else np.arange(len(c)) for c in columns]
    numbers = np.stack([v.astype(np.float64)[rows[:, i]] for i, v in enumerate(values)], axis=1)
    return np.where(rows < 0, np.nan, numbers)


class Reading(NamedTuple):
    """How the table of a fit was read."""

    names: tuple[str, ...]  # of its columns
    coding: Coding
    codebook: Codebook | None = None  # by which columns became others

    def retyped(self, X: Any, unused: Sequence[int] = ()) -> Any:
        """Return a new table with the types of the one that was fitted; values of ``unused`` columns are arbitrary."""
        if self.codebook is None or np.ndim(X) != 2 or (not is_frame(X) and np.shape(X)[1] != len(self.names)):
            return X
        return typed(frame_of(X, self.names), self.codebook, [self.names[i] for i in unused], is_new=True)


def read_new(X: Any, sample_weight: Any, by: Reading, unused: Sequence[int] = (), missing: bool = True) -> States:
    """Return the states of a table in the coding of the data of a fit; values of ``unused`` columns are arbitrary."""
    levels = None if isinstance(by.coding, str) else by.coding
    return check_states(by.retyped(X, unused), sample_weight, by.names, missing, levels=levels, unused=unused)
