"""The cells of a table as an array: which are numbers, which are missing, and where they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import DataError, argument, data_row, in_python, in_words, missing_code
from ..names import quoted

_X = argument("X")
_WORDS_FOR_MISSING = {".", "?", "na", "n/a", "null", "none", "missing", "<na>", "#n/a"}
_FEW = 0.2  # share of the cells of a column, up to which texts may be codes of missing values
_OR_ORDER = in_python(
    ", or make them ordered categories (pandas.Categorical(column, [FIRST, ..., LAST], ordered=True))"
)
CODED = "0/1, -1/+1 or booleans"


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or the text of one."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


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
        missing = is_missing(values)
        values = np.where(missing, np.nan, values.astype(object))
        kinds = {type(v) for v in values[~missing]}
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


def missing_cells(table: np.ndarray, labels: tuple[str, ...], allowed: bool) -> np.ndarray | None:
    """Locate missing values (NaN in numbers, "" in text); None if there are none."""
    if np.issubdtype(table.dtype, np.integer):
        return None
    missing = np.isnan(table) if np.issubdtype(table.dtype, np.floating) else table == ""
    if not missing.any():
        return None
    if not allowed:
        refuse_missing(missing, labels)
    return missing


def refuse_missing(missing: np.ndarray, labels: tuple[str, ...]) -> None:
    """Refuse missing values, and name the first one."""
    raise DataError(f"{_X} must not have missing values (NaN), but {int(missing.sum())} are missing in "
                    f"{int(missing.any(axis=0).sum())} column(s), the first in {place_of(missing, labels)}; drop or "
                    "impute these rows.")  # fmt: skip


def place_of(where: np.ndarray, labels: tuple[str, ...]) -> str:
    """Describe the row and column of the first True."""
    row, column = np.argwhere(where)[0]
    return f"{data_row(row)}, column {labels[column]!r}"


def is_whole(values: np.ndarray) -> bool:
    """Return whether all values of a column are integers."""
    if values.dtype.kind in "biu":
        return True
    return values.dtype.kind == "f" and bool(np.isfinite(values).all() and (values == np.round(values)).all())


def remedy_for_text(text: Any, column: Iterable[Any], otherwise: str) -> str:
    """Return the remedy for a text among the values of a column: a code of missing values if there are few texts."""
    if not isinstance(text, str):
        return otherwise
    if text.strip().lower() in _WORDS_FOR_MISSING:
        return missing_code(text)
    values = [value for value in column if value == value and value is not None]
    n_texts = sum(not is_number(value) for value in values)
    if n_texts > _FEW * len(values):
        return otherwise
    return f"{missing_code(text)} if it means a missing value, else {otherwise}"


def remedy_for_cell(values: np.ndarray, row: int, column: int, otherwise: str) -> str:
    """Return the remedy for the first cell of a table (n_rows, n_columns) of objects that is no number.

    A row with a text in every column and none below is a header. Cells of other types, such as dates, are no answers.
    """
    if not isinstance(values[row, column], str):
        return f"drop the column if it is no answer, else {otherwise}"
    texts = [not is_number(v) for v in values[row]]
    if all(texts) and len(values) > row + 1 and all(map(is_number, values[row + 1 :].flat)):
        header = in_python(f" (pandas.read_excel: header={row + 1})")
        return f"leave out this row, and those above it, if it is a header{header}, else {otherwise}"
    return remedy_for_text(values[row, column], values[:, column], otherwise)


# Texts that stand for a missing value, next to blank ones; not "None", which may be an answer.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
_EXACT = 2**24  # up to which integers are exact in 32 bits, and written with all digits
# Ends the name of an estimate from the means over the rows that show both ends of an edge.
COMPLETE_PAIRS = "complete pairs"


def unmasked(X: Any) -> np.ndarray:
    """Return an array of values; masked values are missing (NaN, None)."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        values = widened(X.data).astype(np.float64 if X.dtype.kind in "iuf" else object)
        values[np.ma.getmaskarray(X)] = None  # NaN among floats
        return values
    try:
        values = np.asarray(X)
    except ValueError:  # of rows of different lengths: no table
        values = np.fromiter(X, dtype=object, count=len(X))
    except (TypeError, RuntimeError) as e:  # objects of other packages tell why they cannot
        raise DataError(
            f"{in_words(X)} cannot be read as an array ({' '.join(str(e).split())}); give an array"
        ) from None
    if values.dtype.kind in "US" and not hasattr(X, "dtype"):  # NaN and numbers in a list with texts became texts
        return np.asarray(X, dtype=object)
    return values


def widened(values: np.ndarray) -> np.ndarray:
    """Widen floats of 16 or 32 bits to 64 bits; other arrays are unchanged.

    Each becomes the decimal number that it is written as, the shortest one that tells it apart: 0.7, where conversion
    alone gives 0.699999988.
    """
    if values.dtype.kind != "f" or values.itemsize >= np.dtype(np.float64).itemsize:
        return values
    wide = values.astype(np.float64)
    written = np.isfinite(wide) & ((wide != np.round(wide)) | (np.abs(wide) >= _EXACT))  # smaller integers are exact
    distinct, place = np.unique(values[written], return_inverse=True)
    wide[written] = distinct.astype(str).astype(np.float64)[place]
    return wide


def is_missing(values: np.ndarray) -> np.ndarray:
    """Locate the missing values in an array of objects or texts: NaN, None, pandas' NA, blank texts, "NA" and the like.

    Parameters
    ----------
    values : array

    Returns
    -------
    array of bool
    """
    from pandas import isna

    texts = (isinstance(v, str) and v.strip() in MISSING_TEXTS for v in values.flat)
    return isna(values) | np.fromiter(texts, bool, values.size).reshape(values.shape)


def stripped(value: Any) -> Any:
    """Strip spaces around a text, and widen a NumPy float as `widened` does; other values are unchanged."""
    if isinstance(value, np.floating):
        return float(widened(np.asarray(value)[None])[0])
    return value.strip() if isinstance(value, str) else value


def present(categories: Any) -> tuple[Any, ...]:
    """List the categories of a pandas column that stand for no missing value, stripped as values are."""
    valid = categories[~is_missing(categories.to_numpy(dtype=object))]
    return tuple(dict.fromkeys(stripped(c) for c in valid.tolist()))
