"""Lines below the first one that are headers, too: of SurveyMonkey, Qualtrics, SoSci Survey and others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from .cells import MISSING_TEXTS, is_number

_FIRST = 1000  # rows that are looked at
_UNNAMED = re.compile(r"(?:Unnamed: \d+(?:_level_\d+)?|\.\.\.\d+)?")  # as pandas and R call such columns
_RESPONSE = re.compile(r"(?i)(open-ended )?response")  # of SurveyMonkey
_FEWEST_TEXTS = 2  # columns of numbers below texts, or with texts that do not occur again
_RECURS = 0.9  # share of the cells of a column that have a value twice


def extra_headers(names: Sequence[str], rows: Iterator[Sequence[str]]) -> int:
    """Return how many of the first rows of a table are lines of headers and not answers: 0, 1 or 2.

    Parameters
    ----------
    names : sequence of str
        Those of the first line.
    rows : iterator over sequences of str
        Cells, of which blank ones are missing.

    Notes
    -----
    Qualtrics has questions in the first row, and ImportId in each cell of the second one. Otherwise the first row is a
    header if columns without a name in the first line have one there, that is SurveyMonkey's "Response" or stands above
    cells that are blank or the same; or if all its cells are texts, of which two or more stand above numbers alone, or
    do not occur again although other answers of their columns do.
    """
    first = [[cell.strip() for cell in row] for row in islice(rows, _FIRST)]
    if len(first) > 1 and any(first[1]) and all(cell.startswith('{"ImportId"') for cell in first[1]):
        return 2
    if len(first) < 2:
        return 0
    below = [[row[i] for row in first[1:] if i < len(row)] for i in range(len(names))]
    head = [first[0][i] if i < len(first[0]) else "" for i in range(len(names))]
    unnamed = [i for i, name in enumerate(names) if _UNNAMED.fullmatch(name.strip())]
    texts = [i for i, cell in enumerate(head) if cell not in MISSING_TEXTS and not is_number(cell)]
    if unnamed and set(unnamed) <= set(texts) and not any(map(is_number, head)):
        ticks = [i for i in unnamed if {cell for cell in below[i] if cell} <= {head[i]}]
        if ticks or any(_RESPONSE.fullmatch(cell) for cell in head):
            return 1
        if len(unnamed) > 1 and all(_stands_above(head[i], below[i]) for i in unnamed):
            return 1
    if len(texts) < len(names):
        return 0
    if any(cell in cells for cell, cells in zip(head, below, strict=True)):
        return 0
    n = sum(_stands_above(cell, cells) for cell, cells in zip(head, below, strict=True))
    return int(n >= min(_FEWEST_TEXTS, sum(map(any, below))) > 0)


def _stands_above(text: str, cells: Sequence[str]) -> bool:
    """Return whether a text is above numbers alone, or does not recur above answers that do."""
    answers = Counter(cell for cell in cells if cell not in MISSING_TEXTS)
    if not answers or text in answers:
        return False
    if all(map(is_number, answers)):
        return True
    n = sum(answers.values())
    return n >= 2 * len(answers) + 2 and sum(k for k in answers.values() if k > 1) >= _RECURS * n
