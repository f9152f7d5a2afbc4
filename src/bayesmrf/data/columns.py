"""Read the columns of a table as a user says, or as their values say: for Python and for the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .codebook import NO_NODES, Codebook
from .column_options import ColumnOptions
from .derived_columns import COPY, relations
from .frames import frame_of
from .infer_columns import infer_columns, require_readable
from .kinds.several import expanded
from .typed_table import typed

if TYPE_CHECKING:
    import pandas as pd


def prepare(
    table: Any,
    *,
    keep: Any = None,
    drop: Any = None,
    levels: Any = None,
    yes: Any = None,
    no: Any = None,
    reverse: Any = None,
    cut: Any = None,
    merge: Any = None,
    ordered: Any = None,
    nominal: Any = None,
    split: Any = None,
    missing: Any = None,
    columns: Any = None,
    order_as_given: bool = False,
) -> pd.DataFrame:
    """Return a table whose columns have the types of answers, which every estimator reads.

    Yes/no and ordered answers become ordered categories, names without order unordered ones; numbers that mean by
    themselves what is asked stay as they are. `read_columns` shows what is understood without any option.

    Parameters
    ----------
    table : DataFrame or array
    keep, drop : str or sequence of str
        Columns that are read, or are not: names, ``"q5-q9"``, ``"mood_*"``, or several of them with commas.
    levels : str or sequence of str, or a sequence of these
        Words (or numbers) in their order, for all columns that have no others: ``"Never,Sometimes,Often,Always"``.
    yes, no : str or sequence of str
        Answers that mean yes, and no, for all columns that have no others; a blank one, as in ``no=""``, is a blank
        cell. One of the two may be left to the only other answer.
    reverse : str or sequence of str
        Columns whose levels are put in the opposite order.
    cut : mapping, or sequence of str
        Number of levels, of equal counts, by column of numbers: ``{"age": 4}`` or ``"age:4"``.
    merge : mapping, or sequence of str
        Levels that become one, by column: ``{"mood": ["Never", "Rarely"]}`` or ``"mood:Never,Rarely"``.
    ordered, nominal : str or sequence of str
        Columns of numbers that are in order though they are no scale, or that are names without order.
    split : str or sequence of str
        Columns with several answers in a cell, such as "Friends, Music"; each answer becomes a yes/no column:
        ``"hobbies"`` becomes ``"hobbies: Friends"``, ``"hobbies: Music"``, ... A blank cell means that none was ticked.
    missing : str or sequence of str
        Codes of missing values; "none" if every value is an answer.
    columns : path, DataFrame or Codebook
        A codebook, such as that of `read_columns` after it was edited. Columns that it does not have, or whose kind is
        no answer, are left out.
    order_as_given : bool
        Whether the order of words is right, though it is that of the alphabet. Without it four or more such words are
        refused, unless they are a known scale. The returned table, and its rows and columns, are then accepted
        everywhere.

    Returns
    -------
    DataFrame

    Raises
    ------
    DataError
        Of everything that is wrong with the table, in one message.
    OptionError
    """
    asked = ColumnOptions.of(
        keep=keep, drop=drop, levels=levels, yes=yes, no=no, reverse=reverse, cut=cut, merge=merge, ordered=ordered,
        nominal=nominal, split=split, missing=missing, columns=columns, order_as_given=order_as_given,
    )  # fmt: skip
    frame = expanded(frame_of(table), asked)
    book = infer_columns(frame, replace(asked, split=()), {"names"})
    require_readable(book)
    return typed(frame, book)


def read_columns(table: Any) -> pd.DataFrame:
    """Describe each column of a table in a row.

    Parameters
    ----------
    table : DataFrame or array

    Returns
    -------
    DataFrame
        ``name``, ``kind``, ``levels`` in their order, ``counts`` of these, cells that are ``missing``, ``codes`` that
        stand for missing values, the ``question`` if a file has it, and what it ``does``. Edited, it is the argument
        ``columns`` of estimators and of `prepare`.

    Raises
    ------
    DataError
    """
    return described(frame_of(table)).frame()


def described(frame: pd.DataFrame, asked: ColumnOptions | None = None) -> Codebook:
    """Describe a pandas table in a codebook that also names columns which others determine, as a fit does."""
    book = infer_columns(frame, asked)
    answers = [c.name for c in book.columns if c.kind not in NO_NODES]
    part = frame.iloc[:, [str(name) in answers for name in frame.columns]]
    kinds = {relation.columns[0]: relation for relation in relations(part) if relation.kind != COPY}
    columns = [
        c._replace(kind=kinds[c.name].kind, does=kinds[c.name].sentence) if c.name in kinds else c for c in book.columns
    ]
    return replace(book, columns=tuple(columns))
