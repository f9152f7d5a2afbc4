"""What was observed: columns and rows without values, and constant columns."""

from __future__ import annotations

import numpy as np

from ..errors import ConstantColumnWarning, DataError, EmptyRowsWarning, argument
from ..findings import tell
from ..names import listed, quoted

_X = argument("X")


def check_columns(seen: np.ndarray, labels: tuple[str, ...], gaps: bool) -> None:
    """Refuse columns in which all values are missing, and warn about constant columns."""
    high = seen.max(axis=0)
    low = np.where(seen < 0, np.int8(127), seen).min(axis=0) if gaps else seen.min(axis=0)
    empty = np.flatnonzero(high < 0)
    if empty.size:
        raise DataError(f"{_X} must have observed values in every column, but all are missing in "
                        f"{empty.size} column(s): {_some(empty, labels)}; drop them, or add rows in which they were "
                        "observed.")  # fmt: skip
    constant = np.flatnonzero(low == high)
    if constant.size:
        tell(
            f"{constant.size} column(s) of {_X} are constant: {_some(constant, labels)}; their "
            "parameters are determined by the prior alone, and infinite by maximum likelihood",
            ConstantColumnWarning,
        )


def rows_that_say_something(gone: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
    """Return the numbers of rows that are read, None if they are all: others are uninformative, and would be drawn.

    Parameters
    ----------
    gone : (n_samples, n_nodes) array of bool
        Which values are missing.
    weights : (n_samples,) array or None
        How often each row was observed: of those that never were, the ones with missing values are left out, too.

    Warns
    -----
    EmptyRowsWarning
        If in rows that were observed every value is missing.
    """
    is_empty, times = gone.all(axis=1), np.ones(len(gone)) if weights is None else weights
    out = is_empty | (gone.any(axis=1) & (times == 0))
    if not out.any():
        return None
    if n := times[is_empty].sum():
        tell(
            f"{n:,.0f} row(s) of {_X} were left out, as every value in them is missing; drop them, or correct them if "
            "they have answers",
            EmptyRowsWarning,
        )
    return np.flatnonzero(~out)


def _some(columns: np.ndarray, labels: tuple[str, ...]) -> str:
    return listed([quoted(labels[i]) for i in columns])
