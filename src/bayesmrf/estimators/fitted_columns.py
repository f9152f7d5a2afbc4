"""The codebook by which an estimator of answers reads a table; ``columns_`` says what each column was read as."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ..data.codebook import Codebook, frame_of_text
from ..data.column_options import ColumnOptions
from ..data.frames import frame_of, is_frame
from ..data.infer_columns import ANYTHING, infer_columns, require_readable
from ..data.read import Reading
from ..data.typed_table import typed

_TEXT, _IS_TYPED = "columns", "columns_are_typed"  # attributes of a stored run


class Typed(NamedTuple):
    """A table with the types of its codebook."""

    table: Any
    plain: bool = False  # whether it is a DataFrame of 0 and 1, or -1 and 1, alone


def type_table(estimator: Any, X: Any, takes: Collection[str] = (), of_panel: bool = False) -> Typed:
    """Give a table the types of its codebook, which the estimator keeps for later tables.

    Parameters
    ----------
    estimator : estimator with the parameter ``columns``
    X : array or DataFrame
    takes : collection of str
        What the model takes, as in `bayesmrf.data.infer_columns`. One that takes everything reads a table as it
        is, unless there is a codebook.
    of_panel : bool
        Whether rows follow each other in time.
    """
    columns, estimator._codebook = estimator._settings.columns, None
    if columns is None and (len(takes) == len(ANYTHING) or not is_frame(X)):
        return Typed(X)
    frame = frame_of(X)
    asked = None if columns is None else ColumnOptions.of(columns=columns)
    book = infer_columns(frame, asked, takes, of_panel)
    require_readable(book)
    table = frame if book.plain else typed(frame, book)
    estimator.columns_ = book.frame()
    if table is not frame or columns is not None:  # its labels may be those of a codebook
        estimator._codebook = Codebook(book.columns)
    return Typed(X if table is frame else table, book.plain)


def reading(estimator: Any) -> Reading:
    """Return how the table of the fit of an estimator was read."""
    return Reading(estimator._names, estimator._coding, estimator._codebook)


def columns_kept(estimator: Any) -> dict[str, Any]:
    """Return what is stored of the columns of a fit."""
    frame = estimator._of_fit.get("columns_")
    kept = {} if frame is None else {_TEXT: frame.to_csv(index=False)}
    return kept | {_IS_TYPED: estimator._codebook is not None}


def restore_columns(estimator: Any, kept: Mapping[str, Any]) -> None:
    """Set the columns of a stored fit."""
    estimator._codebook = Codebook.of_text(kept[_TEXT]) if kept.get(_IS_TYPED) else None
    if _TEXT in kept:
        estimator.columns_ = frame_of_text(kept[_TEXT])
