"""Columns of texts that are no answers, and texts in columns of numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...errors import data_row, preparing
from ...names import listed, quoted
from ..cells import is_number, remedy_for_text
from ..codebook import MOST_NAMED, MOST_WORDS, TEXT, Column, as_text
from . import nominal
from .values import Values

if TYPE_CHECKING:
    import pandas as pd
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*|\d{1,2}:\d{2}(:\d{2})?")


_FEW_OF_A_KIND = 1000  # cells of a value, which stand for all where shares are counted


def problems(columns: list[tuple[Column, Values]], frame: pd.DataFrame) -> list[str]:
    """Return what is wrong with columns of texts: all that have no numbers together, of others each one."""
    texts = [(c, s) for c, s in columns if not any(map(is_number, s.counts))]
    found = []
    for column, seen in columns:
        if (column, seen) not in texts:
            text = next(value for value in seen.counts if not is_number(value))
            cells = frame.iloc[:, list(map(str, frame.columns)).index(column.name)]
            row = data_row([as_text(cell) for cell in cells].index(text))
            values = [value for value, n in seen.counts.items() for _ in range(min(n, _FEW_OF_A_KIND))]
            remedy = remedy_for_text(text, values, f"recode it, or drop it with {preparing('drop', column.name)}")
            found.append(f"column {quoted(column.name)} contains text such as {quoted(text)} in {row}; {remedy}")
    many = [(c, s) for c, s in texts if nominal.are_many_words(s)]
    found += nominal.problems_of_many([nominal.declared(s) for _, s in many])
    texts = [pair for pair in texts if pair not in many]
    if texts:
        answers = [c.name for c, s in texts if len(s.counts) <= MOST_WORDS][:1]
        few = f", or give {preparing('nominal', *answers)} if the words are answers" if answers else ""
        names = [c.name for c, _ in texts[:MOST_NAMED]]
        each = listed([f"{quoted(c.name)} ({c.does}, such as {next(iter(s.counts))!r})" for c, s in texts], total=True)
        found.append(f"texts: {each}; leave them out with {preparing('drop', *names)}{few}")  # fmt: skip
    return found


def of_dates(seen: Values) -> Column | None:
    """Return a column most of whose texts are dates or times; None for another one."""
    dates = sum(n for word, n in seen.counts.items() if _DATE.fullmatch(word))
    return seen.column(TEXT, [], "dates or times") if 2 * dates > sum(seen.counts.values()) else None


def of_words(seen: Values) -> Column:
    """Return a column of texts that are no answers: next to numbers, or too many different ones."""
    texts = [word for word in seen.counts if not is_number(word)]
    if len(seen.counts) > len(texts):
        return seen.column(TEXT, [], f"numbers, and {len(texts)} text(s) such as {texts[0]!r}")
    return seen.column(TEXT, [], f"{len(texts)} texts")
