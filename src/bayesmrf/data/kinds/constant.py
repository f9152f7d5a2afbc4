"""Columns of one value, among them boxes that were ticked or left blank."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import preparing
from ...names import listed, quoted
from ..cells import is_number
from ..codebook import CONSTANT, MOST_NAMED, YES_NO, Column
from ..known_words import yes_and_no
from .values import Values

_BLANK = 0.05  # share of blank cells of a column of one value, from which they may be an answer
_EMPTY = {str(d) * n for d in "789" for n in range(2, 6)}  # customary codes of no answer
BITS = {"-1", "0", "1", "True", "False"}
_BOOLEANS = ("False", "True")


def is_one_word(column: Column) -> bool:
    """Return whether a column has one word only, which is neither a number nor a boolean."""
    return column.kind == CONSTANT and bool(column.levels) and not any(
        is_number(level.value) or level.value in BITS for level in column.levels
    )  # fmt: skip


def problems_of_words(columns: list[Column]) -> list[str]:
    """Return what is wrong with columns of one word."""
    each = listed([f"{quoted(c.name)} ({c.levels[0].value})" for c in columns], total=True)
    drop = preparing("drop", *(c.name for c in columns[:MOST_NAMED]))
    return [f"one word only: {each}; leave out with {drop}"] if columns else []


def is_tick(column: Column, n: int) -> bool:
    """Return whether a column of ``n`` rows has one value next to many blanks, which may mean no."""
    blank = column.missing if not column.codes else 0
    return column.kind in (CONSTANT, YES_NO) and sum(level.n > 0 for level in column.levels) == 1 and blank > _BLANK * n


def empty_box(content: Values) -> str | None:
    """Return the code of an empty box, such as -99 in a column of 1 and -99 alone; None in another column."""
    if len(content.counts) != 2 or content.labels or not all(map(is_number, content.counts)):
        return None
    low, high = sorted(content.counts, key=float)
    if float(low) < -1 and float(high) >= 0:
        return low
    return high if low == "1" and high in _EMPTY else None


def problems_of_boxes(columns: Sequence[Column]) -> list[str]:
    """Return what is wrong with columns of one value next to a code of `empty_box`."""
    if not columns:
        return []
    names = listed([quoted(column.name) for column in columns], 3, total=True)
    value, code = columns[0].levels[0].value, columns[0].codes[-1]
    return [
        f"{names} {'have' if len(columns) > 1 else 'has'} {value} next to {code} alone, as boxes that were ticked or "
        f"left empty; count empty ones as no with {preparing('no', code)}, or leave out with "
        f"{preparing('drop', *(c.name for c in columns[:MOST_NAMED]))}"
    ]


def problems_of_ticks(columns: list[Column]) -> list[str]:
    """Return what is wrong with columns of one value next to blanks."""
    if not columns:
        return []
    names = listed([quoted(column.name) for column in columns], 3, total=True)
    value = next(level.value for level in columns[0].levels if level.n)
    return [
        f"{names} {'have' if len(columns) > 1 else 'has'} one value, such as {quoted(value)}, next to blanks, so that "
        f"the prior alone would decide about edges; blank may mean no: give {preparing('no', '')}, else drop "
        f"{'them' if len(columns) > 1 else 'it'} with {preparing('drop', *(c.name for c in columns[:MOST_NAMED]))}"
    ]


def of_numbers(content: Values, values: list[str]) -> Column | None:
    """Return a column of one number, or none; None for another one."""
    return content.column(CONSTANT, [(value, value) for value in values]) if len(values) < 2 else None


def of_words(content: Values) -> Column | None:
    """Return a column of one word, which is yes or no if it is declared to be one of two; None for another one."""
    if len(content.counts) != 1:
        return None
    (word,) = content.counts
    both = _BOOLEANS if word in _BOOLEANS else content.declared  # what it might have been is known
    pair = yes_and_no(both)
    if pair is not None and len(both) == 2:
        return content.column(YES_NO, [(word, word) for side in pair for word in side])
    return content.column(CONSTANT, [(word, word)])
