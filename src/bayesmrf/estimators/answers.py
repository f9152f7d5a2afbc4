"""What estimators of tables of answers share: the codebook by which they read one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.codebook import Codebook, frame_of_text
from ..data.column_options import ColumnOptions
from ..data.columns import frame_of
from ..data.frames import is_frame
from ..data.infer_columns import ANYTHING, infer_columns, require_readable
from ..data.typed_table import typed
from ..declare.option import option
from ..declare.rule import COLUMNS
from .estimator import Estimator

_TEXT, _IS_TYPED = "columns", "columns_are_typed"  # attributes of a stored run


@dataclass(eq=False, repr=False, kw_only=True)
class Answers(Estimator):
    """Estimators of tables whose columns are answers; ``columns_`` says what each column was read as.

    Parameters
    ----------
    columns : path, DataFrame, `bayesmrf.data.Codebook` or None
        What each column is: a table of `bayesmrf.data.read_columns`, as it is or edited. None reads it from the values
        of a DataFrame.
    """

    columns: Any = option(None, COLUMNS)

    def _typed(self, X: Any, takes: Collection[str] = (), of_panel: bool = False) -> Any:
        """Return a table with the types of its codebook, and keep this for later tables.

        Parameters
        ----------
        X : array or DataFrame
        takes : collection of str
            What the model takes, as in `bayesmrf.data.infer_columns`. One that takes everything reads a table as it
            is, unless there is a codebook.
        of_panel : bool
            Whether rows follow each other in time.
        """
        self._codebook: Codebook | None = None  # by which columns of the fit became others
        if self._settings.columns is None and (len(takes) == len(ANYTHING) or not is_frame(X)):
            return X
        frame = frame_of(X)
        columns = self._settings.columns
        asked = None if columns is None else ColumnOptions.of(columns=columns)
        book = infer_columns(frame, asked, takes, of_panel)
        require_readable(book)
        table = typed(frame, book)
        self.columns_ = book.frame()
        if table is not frame or self._settings.columns is not None:  # its labels may be those of a codebook
            self._codebook = Codebook(book.columns)
        return X if table is frame else table

    def _columns_kept(self) -> dict[str, Any]:
        """Return what is stored of the columns of the fit."""
        found = self._of_fit.get("columns_")
        kept = {} if found is None else {_TEXT: found.to_csv(index=False)}
        return kept | {_IS_TYPED: self._codebook is not None}

    def _restore_columns(self, kept: Mapping[str, Any]) -> None:
        """Set the columns of a stored fit."""
        self._codebook = Codebook.of_text(kept[_TEXT]) if kept.get(_IS_TYPED) else None
        if _TEXT in kept:
            self.columns_ = frame_of_text(kept[_TEXT])

    def _retyped(self, X: Any, unused: Sequence[int] = ()) -> Any:
        """Return a new table with the types of the one that was fitted; values of ``unused`` columns are arbitrary."""
        if self._codebook is None or np.ndim(X) != 2 or (not is_frame(X) and np.shape(X)[1] != len(self._names)):
            return X
        frame = frame_of(X, self._names)
        return typed(frame, self._codebook, [self._names[i] for i in unused], is_new=True)
