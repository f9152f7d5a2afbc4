"""Checks of sample weights, the counts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError, argument, data_row, in_words
from ..names import digits
from .frames import check_index
from .missing import unmasked, widened

_X = argument("X")
_WEIGHT = argument("sample_weight")

MOST_ENTRIES = 5 * 10**7  # of a table with a row for each observation
MOST_SAMPLES = 10**12  # total number of observations; more must be a mistake


def check_weights(sample_weight: Any, X: Any, n: int) -> np.ndarray | None:
    """Read the counts of the ``n`` rows of ``X``: integers >= 0 in floating point; None if each was observed once.

    Raises
    ------
    DataError
        If they are not integers >= 0 for each row, all are zero, or their sum is above 10^12; if they are a Series
        whose index differs from that of the DataFrame ``X``.
    """
    if sample_weight is None:
        return None
    check_index("sample_weight", sample_weight, X)
    given = widened(unmasked(sample_weight))
    if given.dtype.kind == "O":
        from pandas import isna

        given = np.where(isna(given), np.nan, given)
    is_text = given.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in given.flat)
    try:
        w = given.astype(np.float64) if given.dtype.kind in "biufO" and not is_text else None
    except (TypeError, ValueError):
        w = None
    if w is None:
        text = next((i for i, v in enumerate(given.flat) if isinstance(v, str | bytes)), None)
        got = in_words(sample_weight)
        if given.ndim == 1 and text is not None:
            got = f"{in_words(given[text])} in {data_row(text)}"
        raise DataError(f"{_WEIGHT} must contain numbers, one for each row of {_X}, got {got}")
    if w.shape != (n,):
        raise DataError(f"{_WEIGHT} must have shape ({n},), one number for each row of {_X}, got shape {w.shape}")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0) & (w == np.round(w))))
    if bad.size:
        more = f" and others in {bad.size - 1:,} more" if bad.size > 1 else ""
        raise DataError(f"{_WEIGHT} must contain integers >= 0, how often each row was seen, got "
                        f"{digits(w[bad[0]])} in {data_row(bad[0])}{more}; weights of a survey are not supported: "
                        "leave them out to use each row once")  # fmt: skip
    if w.sum() == 0:
        raise DataError(f"{_WEIGHT} must be above zero in at least one row, got zeros only")
    if w.sum() > MOST_SAMPLES:
        raise DataError(f"{_WEIGHT} must sum to at most {MOST_SAMPLES:,}, got a sum of {w.sum():,.0f}; divide the "
                        "weights by a common factor")  # fmt: skip
    return w


def check_listed(n_samples: float, n_columns: int) -> None:
    """Refuse so many observations that a table with a row for each would not fit into memory."""
    most = MOST_ENTRIES // n_columns
    if n_samples > most:
        raise DataError(f"{_WEIGHT} must sum to at most {most:,} here, where each observation needs a row of its "
                        "own (for its missing values, or for a state drawn or a chain started there), got a sum of "
                        f"{n_samples:,.0f}; give smaller weights, or take another method")  # fmt: skip


def row_numbers(weights: np.ndarray, n_columns: int) -> np.ndarray:
    """Return the row number of each observation; rows are repeated by their counts.

    Raises
    ------
    DataError
        If the observations are too many for a table with a row for each.
    """
    check_listed(float(weights.sum()), n_columns)
    return np.repeat(np.arange(len(weights)), weights.astype(np.int64))
