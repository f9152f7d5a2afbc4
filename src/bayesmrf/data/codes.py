"""Levels of a table, and its values as their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DataError, LevelsWarning, argument, in_python, in_words
from ..findings import tell
from ..names import digits, listed
from .cells import is_missing, place_of, to_numbers
from .codebook import MOST_LEVELS
from .levels import remedy_in

_X = argument("X")

MOST_STATES = 127  # of a node, kept in eight bits with a sign


def to_table(values: np.ndarray, labels: tuple[str, ...], levels: Sequence[Any] | None) -> tuple[np.ndarray, bool]:
    """Return numbers as `to_numbers`, or texts without spaces around them, "" where missing."""
    if levels is None or not any(isinstance(v, str) for v in levels):
        try:
            return to_numbers(values, labels, "numbers" if levels is None else _listed(levels))
        except DataError:
            if levels is not None or not any(isinstance(v, str) for v in values.flat):
                raise
    missing = is_missing(values)
    other = ~missing & np.array([not isinstance(v, str) for v in values.flat]).reshape(values.shape)
    if other.any():
        value = values[tuple(np.argwhere(other)[0])]
        raise DataError(
            f"{_X} must have levels of one type, got {in_words(value)} in {place_of(other, labels)} and texts "
            f"elsewhere; recode texts as numbers"
            f"{in_python(' (pandas.read_stata, read_spss: convert_categoricals=False)')}."
        )
    return np.strings.strip(np.where(missing, "", values).astype(str)), False


def read_levels(
    table: np.ndarray, missing: np.ndarray | None, labels: tuple[str, ...], is_bool: bool, n_states: int | str | None
) -> tuple[Any, ...]:
    """Return the levels of the states 0, 1, ..."""
    distinct = np.unique(table if missing is None else table[~missing])
    is_text = distinct.dtype.kind == "U"
    finite = is_text or bool(np.isfinite(distinct).all())
    whole = not is_text and finite and bool((distinct == np.round(distinct)).all())
    levels = (
        tuple(bool(v) for v in distinct)
        if is_bool
        else tuple((distinct.astype(np.int64) if whole else distinct).tolist())
    )
    if n_states == "auto":
        is_long = 2 * MOST_LEVELS < len(levels) <= MOST_STATES
        remedy = "" if is_bool else remedy_in(table, missing, labels, measured=is_long)
        if remedy:
            raise DataError(
                f"{_X} must contain answers only: {remedy}"
                f"{in_python(f', or set n_states={len(levels)} if all values are answers')}."
            )
        if finite and 2 <= len(levels) <= MOST_STATES:
            return levels
        remedy = in_python("set n_states and use integers from 0, or ") if len(levels) < 2 else ""
        remedy += f"merge levels until they are at most {MOST_STATES}" if len(levels) > MOST_STATES else "recode them"
        raise DataError(f"{_X} must have from 2 to {MOST_STATES} finite levels, got {len(levels)} ({_listed(levels)}); "
                        f"{remedy}.")  # fmt: skip
    if not isinstance(n_states, int | np.integer) or not 2 <= n_states <= MOST_STATES:
        expected = f"'auto' or an integer from 2 to {MOST_STATES}"
        raise DataError(option="n_states", got=n_states, expected=expected)
    if finite and len(levels) == n_states:
        return levels
    if whole and len(distinct) and distinct[0] >= 0 and distinct[-1] < n_states:
        return tuple(range(n_states))
    if is_text or not len(distinct):
        raise DataError(f"{_X} must have {n_states} levels ({argument('n_states', n_states)}), got {len(levels)} "
                        f"({_listed(levels)}); change {argument('n_states')}, or recode {_X}.")  # fmt: skip
    wrong = (table < 0) | (table >= n_states) | (table != np.round(table))
    wrong &= True if missing is None else ~missing
    value = table[tuple(np.argwhere(wrong)[0])]
    raise DataError(f"{_X} must contain states from 0 to {n_states - 1}, but {int(wrong.sum())} value(s) do not, the "
                    f"first is {digits(value)} in {place_of(wrong, labels)}; recode the {len(levels)} levels from 0, "
                    "or change n_states.")  # fmt: skip


def to_codes(
    table: np.ndarray, missing: np.ndarray | None, labels: tuple[str, ...], levels: tuple[Any, ...]
) -> np.ndarray:
    """Return the index of each value among the levels; arbitrary where values are missing."""
    if not 2 <= len(set(levels)) == len(levels) <= MOST_STATES:
        raise DataError(f"levels must be from 2 to {MOST_STATES} different values, got {_listed(levels)}.")
    level = np.array(levels)
    order = np.argsort(level)
    place = order[np.searchsorted(level[order], table).clip(max=len(level) - 1)].astype(np.int8)
    wrong = level[place] != table
    wrong &= True if missing is None else ~missing
    if wrong.any():
        value = table[tuple(np.argwhere(wrong)[0])].item()
        raise DataError(f"{_X} must contain the levels {_listed(levels)} only, but {int(wrong.sum())} value(s) differ, "
                        f"the first is {value!r} in {place_of(wrong, labels)}; recode them, or fit with these "
                        "levels.")  # fmt: skip
    return place


def _listed(levels: Sequence[Any]) -> str:
    return listed([repr(level) for level in levels], 7)


def warn_of_unused(states: np.ndarray, coding: Any) -> None:
    """Warn about levels that are in rows of weight 0 only."""
    unused = [level for i, level in enumerate(coding) if not (states == i).any()]
    if unused:
        tell(
            f"{len(unused)} level(s) of {_X} are in rows of weight 0 only ({_listed(unused)}), so that the "
            "prior alone determines their parameters; drop these rows to leave them out",
            LevelsWarning,
        )
