"""Texts that spreadsheets run as formulas, such as ``=1+1``, in tables that are written as CSV."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FormulaWarning, argument
from ..names import quoted

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_QUOTED = re.compile(f"'+{_FORMULA.pattern}")


def csv_of(frames: dict[str, pd.DataFrame], is_safe: bool) -> dict[str, str]:
    """Return tables as CSV, by name; texts that spreadsheets run have an apostrophe before them if ``is_safe``.

    Warns
    -----
    FormulaWarning
        If there are such texts, and not ``is_safe``.
    """
    texts = {text for frame in frames.values() for text in _texts(frame) if is_formula(text)}
    if is_safe:
        frames = {name: _guarded(frame) for name, frame in frames.items()}
    elif texts:
        n = (
            f"{len(texts):,} texts of the tables begin like formulas"
            if len(texts) > 1
            else "A text begins like a formula"
        )
        safe = argument("spreadsheet_safe", True)
        text = f"{n}, such as {quoted(min(texts))}, which spreadsheets run; set {safe} for an apostrophe before them."
        warnings.warn(FormulaWarning(text), stacklevel=3)
    return {name: frame.to_csv(index=False) for name, frame in frames.items()}


def is_formula(text: Any) -> bool:
    """Return whether spreadsheets run a value as a formula: a text that begins as one, and is no number."""
    return isinstance(text, str) and bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


def escaped(text: str) -> str:
    """Return a text so that `unguarded` gives it back: with one more apostrophe if it looks as if it were guarded."""
    return f"'{text}" if _QUOTED.match(text) else text


def unguarded(text: str) -> str:
    """Return a text that was `escaped`, and then perhaps got an apostrophe."""
    return text[1:] if _QUOTED.match(text) else text


def _texts(frame: pd.DataFrame) -> list[Any]:
    cells = [cell for _, column in frame.items() if column.dtype.kind not in "biufcmM" for cell in column.unique()]
    return [*frame.columns, *cells]


def _guarded(frame: pd.DataFrame) -> pd.DataFrame:
    def guard(value: Any) -> Any:
        return f"'{value}" if is_formula(value) else value

    made = frame.copy()
    for i, kind in enumerate(frame.dtypes):
        if kind.kind not in "biufcmM":
            made.isetitem(i, np.array([guard(value) for value in frame.iloc[:, i]], dtype=object))
    return made.set_axis([guard(name) for name in frame.columns], axis=1)
