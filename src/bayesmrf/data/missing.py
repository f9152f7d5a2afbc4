"""Values of a table in an array, and which of them are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

# Texts that stand for a missing value, next to blank ones; not "None", which may be an answer.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
# Ends the name of an estimate from the means over the rows that show both ends of an edge.
COMPLETE_PAIRS = "complete pairs"


def unmasked(X: Any) -> np.ndarray:
    """Return an array of values; masked values are missing (NaN, None)."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        values = np.array(X.data, dtype=np.float64 if X.dtype.kind in "iuf" else object)
        values[np.ma.getmaskarray(X)] = None  # NaN among floats
        return values
    try:
        values = np.asarray(X)
    except ValueError:  # of rows of different lengths: no table
        values = np.fromiter(X, dtype=object, count=len(X))
    if values.dtype.kind in "US" and not hasattr(X, "dtype"):  # NaN and numbers in a list with texts became texts
        return np.asarray(X, dtype=object)
    return values


def is_missing(values: np.ndarray) -> np.ndarray:
    """Locate the missing values in an array of objects or texts: NaN, None, pandas' NA, blank texts, "NA" and the like.

    Parameters
    ----------
    values : array

    Returns
    -------
    array of bool
    """
    from pandas import isna

    texts = (isinstance(v, str) and v.strip() in MISSING_TEXTS for v in values.flat)
    return isna(values) | np.fromiter(texts, bool, values.size).reshape(values.shape)


def stripped(value: Any) -> Any:
    """Return a text without spaces around it, and any other value as it is."""
    return value.strip() if isinstance(value, str) else value


def present(categories: Any) -> tuple[Any, ...]:
    """Return those of the categories of a pandas column that do not stand for a missing value, as they are read."""
    seen = categories[~is_missing(categories.to_numpy(dtype=object))]
    return tuple(dict.fromkeys(stripped(c) for c in seen.tolist()))
