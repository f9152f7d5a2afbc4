"""Columns that number or name the rows, or say which rows are of one person."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..cells import is_whole
from .count import whole_numbers

if TYPE_CHECKING:
    import pandas as pd
_MANY_ROWS = 20  # fewer rows may differ by chance
_DISTINCT = 0.9  # share of an identifier's values that differ
_ID_NAME = re.compile(
    r"(?i)(^|[\W_])(ids?|uuid|guid|index|idx|row|rows|nr|case|caseid|record|serial|key|subject|subj|participant|pid|"
    r"respondent|person|code)([\W_]|$)|[a-z]ID$|(?-i:[a-z]Id$)|^unnamed: 0$"
)
_PERSON = re.compile(
    r"(?i)(^|[\W_])(ids?|uuid|guid|case|caseid|subject|subj|participant|pid|respondent|person|child|patient|student|"
    r"pupil|family|household|couple|dyad|code)([\W_]|\d*$)|[a-z]ID$|(?-i:[a-z]Id$)"
)
_NAME = re.compile(r"(?i)\W*(person|people|(first|last|full)? ?_?name|legislator|senator|member)s?\W*")
_FEWEST_PERSONS = 20


def names_rows(values: np.ndarray, name: str) -> bool:
    """Return whether a column is named like an identifier, and has another integer in each row."""
    return bool(_ID_NAME.search(name)) and is_whole(values) and len(np.unique(values)) == len(values)


def names_people(name: str) -> bool:
    """Return whether a column is named as one that says whose a row is."""
    return bool(_PERSON.search(name) or _NAME.fullmatch(name))


def is_identifier(i: int, counted: Sequence[tuple[np.ndarray, np.ndarray]], distinct: np.ndarray, name: str) -> bool:
    """Return whether column ``i`` numbers or names the rows."""
    levels, counts = counted[i]
    n, text = counts.sum(), levels.dtype.kind in "US"
    if len(levels) < _MANY_ROWS or not (text or is_whole(levels)):
        return False
    usual = np.median(np.delete(distinct, i)) if len(distinct) > 1 else np.inf
    if len(levels) < _DISTINCT * n:  # repeated observations of a person have the same number
        return bool(_ID_NAME.search(name)) and len(levels) > 3 * usual
    consecutive = not text and float(levels[-1]) - float(levels[0]) < 1.5 * len(levels)
    return consecutive or bool(_ID_NAME.search(name)) or usual < 0.5 * n


def repeated_identifier(frame: pd.DataFrame) -> str | None:
    """Return the column that says which rows are of one person; None if there is none.

    It has 20 or more different integers or texts, nearly all of which occur several times, and is named like an
    identifier, or has all equally often.
    """
    for name in map(str, frame.columns):
        values = frame[name]
        is_text = values.dtype.kind in "OTU" or values.dtype.name in ("str", "string")
        if not is_text and whole_numbers(values) is None:
            continue
        counts = values.value_counts().to_numpy()
        if len(counts) < _FEWEST_PERSONS or np.mean(counts > 1) < 0.5:
            continue
        if _PERSON.search(name) or (counts[0] == counts[-1] and len(counts) > len(values) / len(counts)):
            return name
    return None


def without(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return a table without some columns; if one of them says which rows are of one person, it becomes the index."""
    import pandas as pd

    rest, person = frame.drop(columns=list(names)), repeated_identifier(frame[list(names)])
    return rest if person is None else rest.set_axis(pd.Index(frame[person], name=person), axis=0)
