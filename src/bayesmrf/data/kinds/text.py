"""Columns of texts that are no answers, and texts in columns of numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...errors import data_row, in_python, missing_code, preparing
from ...names import listed, quoted
from ..cells import is_number, remedy_for_text
from ..codebook import MOST_NAMED, MOST_WORDS, TEXT, Column, as_text
from ..coded_words import is_code_of_none
from . import nominal
from .values import Values

if TYPE_CHECKING:
    import pandas as pd
_DATES = "dates or times"  # what a codebook says of them
_OF_STATA = re.compile(r"\.[a-z]")  # codes of missing values
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*|\d{1,2}:\d{2}(:\d{2})?")
_MARKED = re.compile(r"-?\d*[.,]?\d+\s*%?")  # with a decimal comma, or a sign of per cent
_FEW_OF_A_KIND = 1000  # cells of a value, which stand for all where shares are counted


def problems(columns: list[tuple[Column, Values]], frame: pd.DataFrame) -> list[str]:
    """Describe columns of texts: those without numbers together, others one by one."""
    texts = [(c, s) for c, s in columns if not any(map(is_number, s.counts))]
    coded = [(c, s) for c, s in columns if _codes(s)]
    boxes = [(c, s) for c, s in columns if len(s.counts) == 2 and "0" in s.counts and (c, s) not in texts]
    messages = [*_problems_of_codes(coded), *_problems_of_boxes(boxes)]
    columns = [pair for pair in columns if pair not in coded and pair not in boxes]
    alike = _with_one_text([pair for pair in columns if pair not in texts])
    messages += [_problem_of_one_text(pairs, frame) for pairs in alike.values()]
    columns = [pair for pair in columns if not any(pair in pairs for pairs in alike.values())]
    for column, content in columns:
        if (column, content) not in texts:
            text = next(value for value in content.counts if not is_number(value))
            cells = frame.iloc[:, list(map(str, frame.columns)).index(column.name)]
            row = data_row([as_text(cell) for cell in cells].index(text))
            values = [value for value, n in content.counts.items() for _ in range(min(n, _FEW_OF_A_KIND))]
            remedy = remedy_for_text(text, values, f"recode it, or drop it with {preparing('drop', column.name)}")
            messages.append(f"column {quoted(column.name)} contains text such as {quoted(text)} in {row}; {remedy}")
    many = [(c, s) for c, s in texts if nominal.are_many_words(s) and not are_marked_numbers(s)]
    messages += nominal.problems_of_many([nominal.declared(s) for _, s in many])
    texts = [pair for pair in texts if pair not in many]
    marked = [(c, s) for c, s in texts if are_marked_numbers(s)]
    if marked:
        each = listed([f"{quoted(c.name)} (such as {quoted(next(iter(s.counts)))})" for c, s in marked], total=True)
        read = in_python(" (pandas: .str.rstrip('%').str.replace(',', '.').astype(float))")
        messages.append(f"numbers with decimal commas or signs of per cent: {each}; make numbers of them{read}, "
                        "or leave them out with "
                        f"{preparing('drop', *(c.name for c, _ in marked[:MOST_NAMED]))}")  # fmt: skip
    texts = [pair for pair in texts if pair not in marked]
    if texts:
        answers = [c.name for c, s in texts if len(s.counts) <= MOST_WORDS and c.does != _DATES][:1]
        few = f", or give {preparing('nominal', *answers)} if the words are answers" if answers else ""
        names = [c.name for c, _ in texts[:MOST_NAMED]]
        each = listed([f"{quoted(c.name)} ({c.does}, such as {next(iter(s.counts))!r})" for c, s in texts], total=True)
        messages.append(f"texts: {each}; leave them out with {preparing('drop', *names)}{few}")  # fmt: skip
    return messages


def _with_one_text(columns: list[tuple[Column, Values]]) -> dict[str, list[tuple[Column, Values]]]:
    """Group the columns of numbers that have a single text by this text, where several columns share it.

    The texts for missing values of Stata, such as ".a", count as one.
    """
    by_text: dict[str, list[tuple[Column, Values]]] = {}
    for column, content in columns:
        words = {"" if _OF_STATA.fullmatch(value) else value for value in content.counts if not is_number(value)}
        if len(words) == 1:
            by_text.setdefault(words.pop(), []).append((column, content))
    return {text: pairs for text, pairs in by_text.items() if len(pairs) > 1}


def _problem_of_one_text(columns: list[tuple[Column, Values]], frame: pd.DataFrame) -> str:
    """Describe columns of numbers that contain the same text."""
    texts = list(dict.fromkeys(value for _, content in columns for value in content.counts if not is_number(value)))
    first = columns[0][0].name
    cells = frame.iloc[:, list(map(str, frame.columns)).index(first)]
    row = data_row(next(i for i, cell in enumerate(cells) if as_text(cell) in texts))
    names = listed([quoted(column.name) for column, _ in columns], 3, total=True)
    drop = preparing("drop", *(column.name for column, _ in columns[:MOST_NAMED]))
    means = (
        "it means a missing value, else recode it" if len(texts) < 2 else "they mean missing values, else recode them"
    )
    return (
        f"{names} contain {listed(list(map(quoted, texts)), MOST_NAMED)} next to numbers, the first in {row}, column "
        f"{quoted(first)}; {missing_code(*texts[:MOST_NAMED])} if {means}, or drop the columns with {drop}"
    )


def _codes(content: Values) -> list[str]:
    """Return the customary codes of missing values among words; none if there are other numbers, or many words."""
    numbers = list(filter(is_number, content.counts))
    n_words = len(content.counts) - len(numbers)
    return numbers if 2 <= n_words <= MOST_WORDS and all(map(is_code_of_none, numbers)) else []


def _problems_of_codes(columns: list[tuple[Column, Values]]) -> list[str]:
    """Describe columns of words that contain codes of missing values."""
    if not columns:
        return []
    codes = list(dict.fromkeys(code for _, content in columns for code in _codes(content)))
    names = listed([quoted(column.name) for column, _ in columns], 3, total=True)
    return [
        f"{names} {'have' if len(columns) > 1 else 'has'} {listed(codes, MOST_NAMED)} next to words; "
        f"{missing_code(*codes[:MOST_NAMED])} if {'they code' if len(codes) > 1 else 'it codes'} missing values"
    ]


def _problems_of_boxes(columns: list[tuple[Column, Values]]) -> list[str]:
    """Describe columns of one word next to 0, such as boxes that were ticked or not."""
    if not columns:
        return []
    names = listed([quoted(column.name) for column, _ in columns], 3, total=True)
    word = next(value for value in columns[0][1].counts if value != "0")
    drop = preparing("drop", *(column.name for column, _ in columns[:MOST_NAMED]))
    return [
        f"{names} {'have' if len(columns) > 1 else 'has'} one word, such as {quoted(word)}, next to 0, as boxes that "
        f"were ticked or left empty; count 0 as no with {preparing('no', '0')}, or leave out with {drop}"
    ]


def are_marked_numbers(content: Values) -> bool:
    """Return whether texts are numbers with decimal commas or signs of per cent."""
    return all(map(_MARKED.fullmatch, content.counts))


def of_dates(content: Values) -> Column | None:
    """Return a column most of whose texts are dates or times; None for another one."""
    dates = sum(n for word, n in content.counts.items() if _DATE.fullmatch(word))
    return content.column(TEXT, [], _DATES) if 2 * dates > sum(content.counts.values()) else None


def of_words(content: Values) -> Column:
    """Return a column of texts that are no answers: next to numbers, or too many different ones."""
    texts = [word for word in content.counts if not is_number(word)]
    if len(content.counts) > len(texts):
        return content.column(TEXT, [], f"numbers, and {len(texts)} text(s) such as {texts[0]!r}")
    return content.column(TEXT, [], f"{len(texts)} texts")
