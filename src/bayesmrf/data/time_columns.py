"""Columns that number days, beeps or waves, and are no answers, though they look like ordered levels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import argument, in_python, preparing
from ..names import listed, quoted

if TYPE_CHECKING:
    import pandas as pd

_TIMES = {"day", "date", "beep", "time", "timepoint", "wave", "session", "visit", "occasion", "week", "trial", "burst",
          "month", "year", "round", "phase", "period", "tag", "woche", "monat", "jahr", "welle", "messung", "zeitpunkt",
          "messzeitpunkt", "mzp", "sitzung", "jour", "semaine", "mois", "vague", "dia", "semana", "ola", "dag",
          "meting"}  # fmt: skip
_FILLING = {"nr", "no", "num", "number", "index", "idx", "id", "n", "of", "the", "study", "test", "point"}
_DAYS = {
    "day",
    "date",
    "session",
    "visit",
    "week",
    "burst",
    "tag",
    "woche",
    "sitzung",
    "jour",
    "semaine",
    "dia",
    "semana",
    "dag",
}  # within which rows follow each other
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NUMBERS = re.compile(r"\d+")
_MANY_ALIKE = 2  # names that differ in their numbers only
_VALUE = re.compile(r"(?i)(t|w|wave|time|visit|session|day|week|month|year|welle|tag|woche|monat|vague|ola)?[ _.-]*\d+|"
                    r"(pre|post|before|after|vorher|nachher|avant|après|antes|después)([ _-]?test)?|baseline|"
                    r"follow[ _-]?up([ _-]?\d+)?")  # fmt: skip


def time_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that are named like a time, such as ``day`` or ``beep_nr``, and count.

    Their values are all integers from a lowest to a highest one, or words such as "T1" and "pre", each in several rows.
    Names that differ in their numbers only, such as ``day1`` and ``day2``, are those of items.
    """
    names = list(map(str, frame.columns))
    alike = Counter(_NUMBERS.sub("", name) for name in names)
    return [
        name
        for name in names
        if is_named_time(name)
        and (alike[_NUMBERS.sub("", name)] < _MANY_ALIKE or not _NUMBERS.search(name))
        and (_counts(frame[name]) or _are_words(frame[name]))
    ]


def is_named_time(name: str) -> bool:
    """Return whether a column is named like a time, such as ``wave``."""
    return bool(_words(name) & _TIMES)


def problems_of_times(frame: pd.DataFrame, names: Sequence[str], of_panel: bool) -> list[str]:
    """Describe columns of times, with a remedy, in a panel or another table."""
    if not names:
        return []
    each = listed([f"{quoted(n)} ({_values(frame[n])})" for n in names], total=True)
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
    numbers = [name for name in names if frame[name].dtype.kind in "iuf"]
    if of_panel and len(numbers) < len(names):
        use = f"number times that are words, 1, 2, 3, ... in order, and {use}"
    them = "it as an answer" if len(numbers) == 1 else "them as answers"
    keep = f", or take {them} with {preparing('ordered', *numbers)}" if numbers else ""
    return [f"{each} {what}; {use}, or {drop}{keep}"]


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


def _are_words(column: pd.Series) -> bool:
    """Return whether values are all texts for times, such as "T1" and "pre", each in several rows."""
    counts = column.value_counts()
    texts = [text.strip() for text in counts[counts > 0].index if isinstance(text, str)]
    return len(texts) > 1 and len(texts) == (counts > 0).sum() and counts[counts > 0].min() > 1 and all(
        map(_VALUE.fullmatch, texts)
    )  # fmt: skip


def _values(column: pd.Series) -> str:
    """Return the values of a column of times in words."""
    if column.dtype.kind in "iuf":
        return f"{column.min():g} to {column.max():g}"
    return listed(list(map(str, column.dropna().unique())), total=True)
