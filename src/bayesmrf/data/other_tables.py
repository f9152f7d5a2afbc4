"""Tables whose rows are no observations: lines of headers, matrices, species in rows, and aligned sequences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ..errors import data_row, in_python, preparing
from ..names import quoted
from .cells import is_missing
from .codebook import Problem, as_text
from .headers import extra_headers
from .kinds.identifier import names_people

if TYPE_CHECKING:
    import pandas as pd

_FEWEST = 3  # rows of a symmetric matrix whose names are those of its columns, or which has fractions
_FEWEST_OF_INTEGERS = 6  # of another one: two in a million tables of yes and no are symmetric by chance
_SAME = 1e-8  # largest difference of the halves of a matrix
_CORRELATION = 1.5  # no value of a matrix of correlations, on whose diagonal is 1, is as large
_SEQUENCE = re.compile(r"[A-Za-z*.~-]+")
_SHORTEST = 6  # letters of a sequence
_FIRST = 1000  # rows that are looked at
_LEFT_OUT = ("", "-", "–", "—", ".")
_BASES = set("ACGTUNacgtun-.")
_MOST_LETTERS = 25  # different ones of sequences: 20 of amino acids, gaps and unknown ones


def problem_of(frame: pd.DataFrame) -> Problem | None:
    """Return what the rows of a table are if they are no observations, with what to do; None if they may be."""
    for what in (_of_headers, _of_sequences, _of_matrix, _of_columns):
        if (found := what(frame)) is not None:
            return found
    return None


def _texts(frame: pd.DataFrame) -> list[int]:
    """Return the columns that may have texts."""
    return [i for i, kind in enumerate(frame.dtypes) if kind.name in ("object", "string", "str")]


def _of_headers(frame: pd.DataFrame) -> Problem | None:
    """Return what to do about lines of headers among the rows."""
    if not _texts(frame):
        return None

    def rows() -> Iterator[list[str]]:
        for row in frame.itertuples(index=False, name=None):
            cells = np.array([*row, None], dtype=object)[:-1]
            yield ["" if gone else as_text(cell) for cell, gone in zip(cells, is_missing(cells), strict=True)]

    n = extra_headers(list(map(str, frame.columns)), rows())
    if not n:
        return None
    if n == 2:
        return Problem(f"{data_row(0)} and {data_row(1)} are headers of Qualtrics, not answers; "
                       "leave them out when the file is read (pandas: skiprows=[1, 2])")  # fmt: skip
    return Problem(f"{data_row(0)} is a second line of headers, not answers; read both lines (pandas: header=[0, 1]) "
                   "and give each column one name, such as 'question: choice'")  # fmt: skip


def _of_sequences(frame: pd.DataFrame) -> Problem | None:
    """Return what to do about a column of sequences of equal length, or the lines of a FASTA file."""
    names = list(map(str, frame.columns))
    if names[:1] and names[0].startswith(">") and len(names) == 1:
        return Problem("the table has the lines of an alignment of sequences (FASTA); make a row of each sequence and "
                       "a column of each position")  # fmt: skip
    for i in _texts(frame):
        name = names[i]
        cells = [cell for cell in frame.iloc[:_FIRST, i] if isinstance(cell, str) and cell.strip()]
        letters = set("".join(cells))
        gaps = "-" in letters and "".join(cells).isupper() and 2 * len(set(cells)) > len(cells)
        if (
            len(set(cells)) > 1
            and len(set(map(len, cells))) == 1
            and len(cells[0]) >= _SHORTEST
            and (letters <= _BASES or (gaps and len(letters) <= _MOST_LETTERS))
            and all(map(_SEQUENCE.fullmatch, cells))
        ):
            split = in_python(f" (pandas: pd.DataFrame(X[{quoted(name)}].map(list).tolist()))")
            return Problem(
                f"column {quoted(name)} has aligned sequences of {len(cells[0])} letters; make a column of each "
                f"position{split}, with letters as answers without order"
            )
    return None


def _of_matrix(frame: pd.DataFrame) -> Problem | None:
    """Return what to do about a matrix whose rows are the same nodes as its columns."""
    if not 0 <= frame.shape[1] - len(frame) <= 1:
        return None
    numbers = _numbers(frame)
    rest = frame.loc[:, [name not in numbers.columns for name in frame.columns]]
    if numbers.shape[0] != numbers.shape[1] or rest.shape[1] > 1 or len(frame) < _FEWEST:
        return None
    labels = [as_text(v) for v in (rest.iloc[:, 0] if rest.shape[1] else frame.index)]
    is_named = labels == list(map(str, numbers.columns)) and any(not label.isdecimal() for label in labels)
    matrix = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    both = _symmetric(matrix)
    if both is None and is_named:
        return Problem(
            "the table is a matrix, such as that of a network, and not one of answers: its rows have the names of its "
            "columns; give a table with a row for each observation",
            unless=True,
        )
    if both is None or (rest.shape[1] and not is_named):
        return None
    is_whole = bool((both == np.round(both)).all())
    if len(both) < (_FEWEST if is_named or not is_whole else _FEWEST_OF_INTEGERS) or len(np.unique(both)) < 2:
        return None
    if not is_whole and (np.abs(np.diag(both) - 1) < _SAME).all() and np.abs(both).max() < _CORRELATION:
        return Problem("the table is a matrix of correlations, not of answers; give the table from which they were "
                       "computed, with a row for each observation", unless=True)  # fmt: skip
    return Problem(
        "the table is a symmetric matrix, such as that of a network, and not one of answers: its rows are the same "
        "nodes as its columns; give a table with a row for each observation",
        unless=True,
    )


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of numbers, among them texts that are numbers, blank, or marks of a cell that is left out."""
    import pandas as pd

    found = {}
    for name, column in frame.items():
        if column.dtype.kind not in "biufO" and column.dtype.name not in ("string", "str"):
            continue
        texts = column.map(lambda v: np.nan if isinstance(v, str) and v.strip() in _LEFT_OUT else v)
        numbers = pd.to_numeric(texts, errors="coerce") if frame.columns.is_unique else column
        if (numbers.isna() == texts.isna()).all():
            found[name] = numbers
    return pd.DataFrame(found, frame.index)


def _symmetric(matrix: np.ndarray) -> np.ndarray | None:
    """Return a matrix that is symmetric, or of which one half is blank, with both halves; None for another one."""
    gone, lower = np.isnan(matrix), np.tril(np.ones(matrix.shape, dtype=bool), -1)
    for half in (lower, lower.T):
        if gone[half].all() and not gone[half.T].any():
            matrix = np.where(half, matrix.T, matrix)
            break
    off = ~np.eye(len(matrix), dtype=bool)
    if np.isnan(matrix[off]).any() or not (np.abs(matrix - matrix.T)[off] <= _SAME).all():
        return None
    if len(np.unique(matrix[off])) < 2:
        return None  # of which nothing can be told
    return np.where(np.isnan(matrix) & ~off, 1.0, matrix)


def _of_columns(frame: pd.DataFrame) -> Problem | None:
    """Return what to do about a table with more columns than rows, in which one column has the names of these."""
    if len(frame) < _FEWEST or frame.shape[1] - 1 <= len(frame):
        return None
    texts = frame.select_dtypes(exclude=["number", "bool"])
    index = frame.index
    if not texts.shape[1] and index.name is not None and index.dtype.kind not in "iufM" and index.is_unique:
        if names_people(str(index.name)):
            return None
        return Problem(f"there are more columns ({frame.shape[1]}) than rows ({len(frame)}), which the index "
                       f"{quoted(str(index.name))} names; if the rows are what the network is about, such as species, "
                       "transpose the table (X.T), else leave the names out with X.reset_index(drop=True)",
                       unless=True)  # fmt: skip
    if texts.shape[1] != 1 or not _texts(texts):
        return None
    name, values = str(texts.columns[0]), texts.iloc[:, 0]
    is_name = values.notna().all() and values.is_unique and not values.map(lambda v: isinstance(v, float)).any()
    if not is_name or names_people(name):
        return None
    flip = in_python(f" (pandas: X.set_index({quoted(name)}).T)")
    return Problem(
        f"there are more columns ({frame.shape[1] - 1}) than rows ({len(frame)}), which {quoted(name)} names; if "
        f"the rows are what the network is about, such as species, transpose the table{flip}, else leave the names "
        f"out with {preparing('drop', name)}"
    )
