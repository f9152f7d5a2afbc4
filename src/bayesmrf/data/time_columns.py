"""Columns that number days, beeps or waves, and are no answers, though they look like ordered levels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import argument, in_python, preparing
from ..names import listed, quoted

if TYPE_CHECKING:
    import pandas as pd

_TIMES = {"day", "date", "beep", "time", "timepoint", "wave", "session", "visit", "occasion", "week", "trial", "burst",
          "month", "year", "round", "phase", "period"}  # fmt: skip
_FILLING = {"nr", "no", "num", "number", "index", "idx", "id", "n", "of", "the", "study", "test", "point"}
_DAYS = {"day", "date", "session", "visit", "week", "burst"}  # within which rows follow each other
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def time_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are named like a time, such as ``day`` or ``beep_nr``, and count.

    Their values are all integers from a lowest to a highest one, each in several rows.
    """
    return [name for name in map(str, frame.columns) if is_named_time(name) and _counts(frame[name])]


def is_named_time(name: str) -> bool:
    """Return whether a column is named like a time, such as ``wave``."""
    return bool(_words(name) & _TIMES)


def problems_of_times(frame: pd.DataFrame, names: Sequence[str], of_panel: bool) -> list[str]:
    """Return what is wrong with columns of times, and what to do, in a panel or another table."""
    if not names:
        return []
    each = listed([f"{quoted(n)} ({frame[n].min():g} to {frame[n].max():g})" for n in names], total=True)
    one = len(names) == 1
    drop = f"leave {'it' if one else 'them'} out with {preparing('drop', *names)}"
    day = next((name for name in names if _words(name) & _DAYS), None)
    wave = next((name for name in names if name != day), None)
    arguments = [argument(option, name) for option, name in (("day", day), ("wave", wave)) if name is not None]
    use = (
        f"give {' and '.join(arguments)}, so that rows follow each other in time"
        if of_panel
        else f"use {in_python('PanelMRF', 'bayesmrf panel')} if rows of one person follow each other"
    )
    what = "looks like a time, not an answer" if one else "look like times, not answers"
    return [f"{each} {what}; {use}, or {drop}"]


def _words(name: str) -> set[str]:
    """Return the words of a name, if it has only words of times."""
    words = {word.lower() for word in _WORD.findall(name)}
    return words if words <= _TIMES | _FILLING | {f"{word}s" for word in _TIMES} else set()


def _counts(column: pd.Series) -> bool:
    """Return whether values are all integers from the lowest to the highest, each in several rows."""
    if column.dtype.kind not in "iuf":
        return False
    values, counts = np.unique(column.dropna().to_numpy(dtype=float), return_counts=True)
    return len(values) > 1 and bool((np.diff(values) == 1).all() and (values % 1 == 0).all() and counts.min() > 1)
