"""Read the numbers of a table, and yes/no answers among them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError, argument, data_row, in_python, in_words
from ..names import digits, quoted
from .levels import remedy_of
from .missing import is_missing, stripped, widened
from .no_answers import remedy_for_measurements, remedy_for_pictures
from .ordered_levels import two_categories
from .text_cells import is_number, remedy_for_cell

_X = argument("X")

CODED = "0/1, -1/+1 or booleans"
CODINGS = {"01": (0, 1), "pm1": (-1, 1), "bool": (False, True)}
_OR_ORDER = in_python(", or make them ordered categories (pandas.Categorical(..., ordered=True))")


def read_yes_no(
    frame: Any, values: np.ndarray, labels: tuple[str, ...], allowed: bool, ordinal: bool
) -> tuple[np.ndarray, np.ndarray | None, str, dict[int, tuple[Any, ...]]]:
    """Return states in {0, 1}, which values are missing, the coding of the numbers, and the levels of other columns.

    The other columns have two ordered categories, of which the second is state 1.

    Parameters
    ----------
    frame : DataFrame or None
        The table, if its columns have types.
    values : (n_samples, n_nodes) array
        Its values.
    labels : tuple of str
    allowed : bool
        Whether values may be missing.
    ordinal : bool
        Whether messages name other models, which the caller has.

    Raises
    ------
    DataError
    """
    columns = {} if frame is None else {i: frame.iloc[:, i] for i in range(len(labels))}
    two = {i: levels for i, c in columns.items() if (levels := two_categories(c, labels[i], ordinal)) is not None}
    rest = [i for i in range(len(labels)) if i not in two]
    some = (values, labels) if not two else (values[:, rest], tuple(labels[i] for i in rest))
    numbers, is_bool = to_numbers(*some)
    gone = missing_cells(numbers, some[1], allowed)
    states, coding = to_binary(numbers, some[1], is_bool, ordinal)
    if not two:
        return states, gone, coding, two
    codes, lost = np.empty(values.shape, np.int8), np.zeros(values.shape, dtype=bool)
    codes[:, rest], lost[:, rest] = states, False if gone is None else gone
    for i, levels in two.items():
        lost[:, i] = is_missing(values[:, i])
        codes[:, i] = [stripped(value) == levels[1] for value in values[:, i]]
    if lost.any() and not allowed:
        refuse_missing(lost, labels)
    return codes, lost if lost.any() else None, coding, two


def to_numbers(values: np.ndarray, labels: tuple[str, ...], wanted: str = CODED) -> tuple[np.ndarray, bool]:
    """Return integers unchanged (a large table is never copied to floats), else floats; and whether all were booleans.

    Missing values become NaN.
    """
    if values.dtype == bool:
        return values.view(np.int8), True
    if np.issubdtype(values.dtype, np.integer):
        return values, False
    is_bool = False
    if values.dtype.kind in "OU":
        gone = is_missing(values)
        values = np.where(gone, np.nan, values.astype(object))
        kinds = {type(v) for v in values[~gone]}
        is_bool = bool(kinds) and kinds <= {bool, np.bool_}
    try:
        return widened(values).astype(np.float64), is_bool
    except (TypeError, ValueError, OverflowError):
        row, column = next((i, j) for (i, j), v in np.ndenumerate(values) if not is_number(v))
        value = values[row, column]
        remedy = remedy_for_cell(
            values, row, column, f"code the states as {wanted}{_OR_ORDER if isinstance(value, str) else ''}"
        )
        raise DataError(f"{_X} must contain numbers, got {in_words(value)} in {data_row(row)}, column "
                        f"{quoted(labels[column])}; {remedy}.") from None  # fmt: skip


def to_binary(numbers: np.ndarray, labels: tuple[str, ...], is_bool: bool, ordinal: bool) -> tuple[np.ndarray, str]:
    """Convert to states in {0, 1} and return the coding; NaN is ignored."""
    or_else = f", or set {argument('model', 'ordinal')} if they are ordered levels" if ordinal else ""
    if is_bool:
        return (numbers == 1).astype(np.int8), "bool"
    if np.issubdtype(numbers.dtype, np.integer) and numbers.min() >= 0 and numbers.max() <= 1:
        return numbers.astype(np.int8), "01"
    zeros, ones, minus = numbers == 0, numbers == 1, numbers == -1
    wrong = ~(zeros | ones | minus | (numbers != numbers))
    if wrong.any():
        value = numbers[tuple(np.argwhere(wrong)[0])]
        remedy = remedy_in(numbers, np.isnan(numbers) if numbers.dtype.kind == "f" else None, labels)
        remedy = remedy or f"code the states as {CODED}{or_else}"
        raise DataError(f"{_X} must be binary, but {int(wrong.sum())} value(s) are not, the first is {digits(value)} "
                        f"in {place_of(wrong, labels)}; {remedy}.")  # fmt: skip
    if not minus.any():
        return ones.astype(np.int8), "01"
    if not zeros.any():
        return ones.astype(np.int8), "pm1"
    raise DataError(f"{_X} must have one coding, but 0/1 and -1/+1 are mixed ({int(zeros.sum())} zeros, the first in "
                    f"{place_of(zeros, labels)}, and {int(minus.sum())} values -1); use one coding, and replace 0 or "
                    f"-1 by NaN if it means a missing value{or_else}.")  # fmt: skip


def missing_cells(table: np.ndarray, labels: tuple[str, ...], allowed: bool) -> np.ndarray | None:
    """Locate missing values (NaN in numbers, "" in text); None if there are none."""
    if np.issubdtype(table.dtype, np.integer):
        return None
    gone = np.isnan(table) if np.issubdtype(table.dtype, np.floating) else table == ""
    if not gone.any():
        return None
    if not allowed:
        refuse_missing(gone, labels)
    return gone


def refuse_missing(gone: np.ndarray, labels: tuple[str, ...]) -> None:
    """Refuse missing values, of which the first is named."""
    raise DataError(f"{_X} must not have missing values (NaN), but {int(gone.sum())} are missing in "
                    f"{int(gone.any(axis=0).sum())} column(s), the first in {place_of(gone, labels)}; drop or impute "
                    "these rows.")  # fmt: skip


def place_of(where: np.ndarray, labels: tuple[str, ...]) -> str:
    """Describe the row and column of the first True."""
    row, column = np.argwhere(where)[0]
    return f"{data_row(row)}, column {labels[column]!r}"


def remedy_in(table: np.ndarray, gone: np.ndarray | None, labels: tuple[str, ...], measured: bool = True) -> str:
    """Return the remedy of `remedy_of` for a table, or that for measurements, if these are ``measured``."""
    columns = [c if gone is None else c[~gone[:, i]] for i, c in enumerate(table.T)]
    remedy = remedy_for_pictures(columns) or remedy_of(columns, labels)
    return remedy or (remedy_for_measurements(columns, labels) if measured else "")
