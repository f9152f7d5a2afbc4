"""Texts in a table of numbers: where they are, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import in_python, missing_code

_WORDS_FOR_MISSING = {".", "?", "na", "n/a", "null", "none", "missing", "<na>", "#n/a"}
_FEW = 0.2  # share of the cells of a column, up to which texts may be codes of missing values


def is_number(value: Any) -> bool:
    """Return whether a value is a number, or the text of one."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def remedy_for_text(text: Any, column: Iterable[Any], otherwise: str) -> str:
    """Return the remedy for a text among the values of a column: a code of missing values if there are few texts."""
    if not isinstance(text, str):
        return otherwise
    if text.strip().lower() in _WORDS_FOR_MISSING:
        return missing_code(repr(text))
    there = [value for value in column if value == value and value is not None]
    n_texts = sum(not is_number(value) for value in there)
    if n_texts > _FEW * len(there):
        return otherwise
    return f"{missing_code(repr(text))} if it means a missing value, else {otherwise}"


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
