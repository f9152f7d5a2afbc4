"""Texts in a table of numbers: where they are, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import missing_code

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
