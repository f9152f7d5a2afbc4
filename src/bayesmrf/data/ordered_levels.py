"""Ordered levels of a column: its integers, or its pandas categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError, LevelsWarning, argument, in_python
from ..findings import tell
from ..names import listed, quoted
from .missing import present
from .text_cells import is_number

MOST_LEVELS = 12  # of an ordinal column
_ORDER = f"order them{in_python(' (pandas: .cat.reorder_categories(..., ordered=True))')}"
CUT = "pandas.qcut(column, 4, False, duplicates='drop')"  # of a measurement, into levels of about equal counts
_MERGED = in_python("; model=families.Ordinal(unused='merge') leaves them out")


def ordered_scales(frame: Any) -> dict[str, np.ndarray]:
    """Return the numbers of the categories, from 1, for each column of ordered ones, repeated for each row.

    They stand for its categories where columns are compared with each other (`bayesmrf.data.levels.find_foreign`).
    """
    sizes = {str(n): len(kind.categories) for n, kind in frame.dtypes.items() if getattr(kind, "ordered", False)}
    return {name: np.resize(np.arange(1, size + 1), max(size, len(frame))) for name, size in sizes.items()}


def two_levels(kind: Any) -> tuple[Any, ...] | None:
    """Return the levels of a type of pandas columns that has two ordered categories; None for another type."""
    levels = present(kind.categories) if getattr(kind, "ordered", False) else ()
    return levels if len(levels) == 2 else None


def two_categories(column: Any, name: str, others: bool) -> tuple[Any, ...] | None:
    """Return the two ordered categories of a pandas column of yes/no answers, the second of which is yes.

    None is returned for a column without categories, and for numbers, which say themselves what they mean, unless they
    are two in order.

    Raises
    ------
    DataError
        If texts are categories without order, or more than two; ``others`` says whether the caller has other models.
    """
    categories = getattr(column.dtype, "categories", None)
    if categories is None:
        return None
    if (two := two_levels(column.dtype)) is not None:
        return two
    levels = present(categories)
    if all(is_number(level) for level in levels):
        return None
    found = f"column {quoted(name)} must have two ordered categories, got {listed([quoted(str(v)) for v in levels])}"
    if not column.dtype.ordered:
        model = f", or use {argument('model', 'nominal')}" if others else ""
        raise DataError(f"{found} without order; {_ORDER}{model}.")
    model = f", or set {argument('model', 'ordinal')}" if others else ""
    raise DataError(f"{found}; merge them into two (pandas: .cat.rename_categories){model}.")


def ordered_categories(column: Any, name: str, merge: bool) -> tuple[Any, ...] | None:
    """Return the categories of a pandas column, or those that occur if ``merge``; None if it has none.

    Raises
    ------
    DataError
        If the categories are not ordered, or are too many or too few.
    """
    categories = getattr(column.dtype, "categories", None)
    if categories is None:
        return None
    if not column.dtype.ordered:
        raise DataError(
            f"column {quoted(name)} must have ordered categories; {_ORDER}, or use {argument('model', 'nominal')}."
        )
    levels, used = present(categories), present(column.cat.remove_unused_categories().cat.categories)
    unused = [level for level in levels if level not in set(used)]
    numbers = [float(level) for level in levels if is_number(level)]
    steps = np.sign(np.diff(numbers))
    if len(numbers) == len(levels) and len(set(steps.tolist())) > 1:
        tell(
            f"the ordered categories of column {quoted(name)} are numbers, but not in their order "
            f"({listed([str(level) for level in levels])}), which is taken as it is; if it is a mistake, {_ORDER}",
            LevelsWarning,
        )
    return _checked(used if merge else levels, unused, name, merge)


def ordered_levels(
    found: np.ndarray,
    name: str,
    merge: bool,
    occurs: np.ndarray | None = None,
    every: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    """Return the levels of a column with the sorted values ``found``: all integers of their range, or these values.

    Parameters
    ----------
    found : (n_values,) array
        Numbers.
    name : str
        Of the column.
    merge : bool
        Whether levels that never occur are left out.
    occurs : (n_values,) array of bool, optional
        Which of the values are in a row of a weight above 0; all by default.
    every : tuple of int, optional
        The levels of the range, if steps are a coding (`bayesmrf.data.even_steps.recoded`).

    Raises
    ------
    DataError
        If the values are texts, or are too many or too few.

    Warns
    -----
    LevelsWarning
        If a category never occurs.
    """
    if found.dtype.kind not in "biuf":
        raise DataError(
            f"column {quoted(name)} must contain numbers, got {str(found[0])!r}, and texts have no order; recode them "
            f"as integers in their order (pandas: ordered categories), or use {argument('model', 'nominal')}."
        )
    if not np.isfinite(found).all():
        raise DataError(f"column {quoted(name)} must contain finite levels; replace infinities by NaN if missing.")
    if (found == np.round(found)).all():
        found = found.astype(np.int64)
    seen = found if occurs is None else found[occurs]
    levels = seen if merge else found
    if every is not None and not merge:
        levels = np.array(every)
    elif found.dtype == np.int64 and len(found) and found[-1] - found[0] < 2 * MOST_LEVELS and not merge:
        levels = np.arange(found[0], found[-1] + 1)
    return _checked(tuple(levels.tolist()), np.setdiff1d(levels, seen).tolist(), name, merge)


def _checked(levels: tuple[Any, ...], unused: list[Any], name: str, merge: bool) -> tuple[Any, ...]:
    shown = listed([str(level) for level in levels])
    if not levels:
        raise DataError(
            f"column {quoted(name)} must have at least two levels, but all its values are missing; drop it."
        )
    if len(levels) < 2:
        raise DataError(f"column {quoted(name)} must have at least two levels, got {len(levels)} ({shown}); drop it.")
    if len(levels) > MOST_LEVELS:
        cut = (
            f"cut it into levels of equal counts{in_python(f' ({CUT})')}"
            if all(map(is_number, levels))
            else "merge levels"
        )
        raise DataError(
            f"column {quoted(name)} must have at most {MOST_LEVELS} ordered levels, got {len(levels)} ({shown}); "
            f"{cut}, replace codes of missing values by NaN, or drop the column if it is no answer."
        )
    if not merge:
        warn_of_never(unused, name, "thresholds", _MERGED)
    return levels


def warn_of_never(unused: list[Any], name: str, parameters: str, remedy: str) -> None:
    """Warn of levels of a column that never occur."""
    if unused:
        never = listed([str(level) for level in unused])
        tell(
            f"{len(unused)} level(s) of column {quoted(name)} never occur ({never}), so that the prior alone "
            f"determines their {parameters}{remedy}",
            LevelsWarning,
        )
