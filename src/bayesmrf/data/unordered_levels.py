"""Levels of a column that have no order: words, codes, or pandas' categories without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError, in_python
from ..names import listed, quoted
from .column_kinds import MOST_WORDS
from .frames import in_pandas, is_frame
from .missing import is_missing, present, stripped, widened
from .ordered_levels import warn_of_never

_UNUSED = in_python("; pandas: .cat.remove_unused_categories() leaves them out")


def nominal_column(X: Any) -> str | None:
    """Return the name of the first column with more than two of pandas' categories without order; None without."""
    X = in_pandas(X)
    columns = X.items() if is_frame(X) else ()
    return next((str(n) for n, c in columns if is_unordered(c) and len(present(c.dtype.categories)) > 2), None)


def is_unordered(column: Any) -> bool:
    """Return whether a column, if there is one, has pandas' categories without order."""
    return column is not None and getattr(column.dtype, "ordered", True) is False


def unordered_levels(
    column: Any, values: np.ndarray, name: str, occurs: np.ndarray, numbers: bool
) -> tuple[Any, ...] | None:
    """Return the levels of a nominal column, sorted; None for yes/no answers and ordered categories.

    Parameters
    ----------
    column : Series or None
        With its type, if the table has one.
    values : (n_samples,) array
    name : str
        Of the column.
    occurs : (n_samples,) bool array
        Which rows count.
    numbers : bool
        Whether numbers have no order.

    Raises
    ------
    DataError
        If there are less than two levels, or more than 20.
    """
    categories = getattr(column.dtype, "categories", None) if column is not None else None
    seen = widened(values[occurs & ~is_missing(values)])
    used = {stripped(v) for v in seen.tolist()}
    if categories is not None:
        if column.dtype.ordered:
            return None
        levels = present(categories)
    else:
        found = {stripped(v) for v in widened(values[~is_missing(values)]).tolist()}
        if found <= {0, 1}:
            return None
        words = [v for v in found if isinstance(v, str)]
        if not (words or numbers):
            return None
        if words and len(words) < len(found):
            raise DataError(f"column {quoted(name)} must have levels of one type, got numbers and texts; recode one "
                            "of them as the other")  # fmt: skip
        levels = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in sorted(found))
    if not 2 <= len(levels) <= MOST_WORDS:
        shown = listed([quoted(str(v)) for v in levels])
        raise DataError(f"column {quoted(name)} must have from 2 to {MOST_WORDS} levels, got {len(levels)} ({shown}); "
                        "merge levels, or drop the column if it is no answer")  # fmt: skip
    warn_of_never([level for level in levels if level not in used], name, "parameters", _UNUSED)
    return levels
