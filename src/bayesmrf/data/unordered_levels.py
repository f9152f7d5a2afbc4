"""Levels of a column that have no order: words, codes, or pandas' categories without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError
from ..names import listed, quoted
from .missing import is_missing, present, stripped, widened

NOMINAL = "nominal"  # which levels are read: those of nominal columns next to ordered ones
_MOST = 20  # levels; more are a name, a place or a number


def unordered_levels(column: Any, values: np.ndarray, name: str) -> tuple[Any, ...] | None:
    """Return the levels of a nominal column, sorted; None for yes/no answers and ordered categories.

    Parameters
    ----------
    column : Series or None
        With its type, if the table has one.
    values : (n_samples,) array
    name : str
        Of the column.

    Raises
    ------
    DataError
        If there are less than two levels, or more than 20.
    """
    categories = getattr(column.dtype, "categories", None) if column is not None else None
    if categories is not None:
        if column.dtype.ordered:
            return None
        levels = present(categories)
    else:
        seen = widened(values[~is_missing(values)])
        found = {stripped(v) for v in seen.tolist()}
        if found <= {0, 1}:
            return None
        numbers = [v for v in found if not isinstance(v, str)]
        if numbers and len(numbers) < len(found):
            raise DataError(f"column {quoted(name)} must have levels of one type, got numbers and texts; recode one "
                            "of them as the other")  # fmt: skip
        levels = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in sorted(found))
    if not 2 <= len(levels) <= _MOST:
        shown = listed([quoted(str(v)) for v in levels])
        raise DataError(f"column {quoted(name)} must have from 2 to {_MOST} levels, got {len(levels)} ({shown}); "
                        "merge levels, or drop the column if it is no answer")  # fmt: skip
    return levels
