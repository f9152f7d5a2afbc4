"""Values of a table in an array, and which of them are missing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataError, in_words

# Texts that stand for a missing value, next to blank ones; not "None", which may be an answer.
MISSING_TEXTS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null")
_EXACT = 2**24  # up to which integers are exact in 32 bits, and written with all digits
# Ends the name of an estimate from the means over the rows that show both ends of an edge.
COMPLETE_PAIRS = "complete pairs"


def unmasked(X: Any) -> np.ndarray:
    """Return an array of values; masked values are missing (NaN, None)."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        values = widened(X.data).astype(np.float64 if X.dtype.kind in "iuf" else object)
        values[np.ma.getmaskarray(X)] = None  # NaN among floats
        return values
    try:
        values = np.asarray(X)
    except ValueError:  # of rows of different lengths: no table
        values = np.fromiter(X, dtype=object, count=len(X))
    except (TypeError, RuntimeError) as e:  # objects of other packages tell why they cannot
        raise DataError(
            f"{in_words(X)} cannot be read as an array ({' '.join(str(e).split())}); give an array"
        ) from None
    if values.dtype.kind in "US" and not hasattr(X, "dtype"):  # NaN and numbers in a list with texts became texts
        return np.asarray(X, dtype=object)
    return values


def widened(values: np.ndarray) -> np.ndarray:
    """Return floats of 16 or 32 bits in 64 bits, and any other array as it is.

    Each becomes the decimal number that it is written as, the shortest one that tells it apart: 0.7, where conversion
    alone gives 0.699999988.
    """
    if values.dtype.kind != "f" or values.itemsize >= np.dtype(np.float64).itemsize:
        return values
    wide = values.astype(np.float64)
    written = np.isfinite(wide) & ((wide != np.round(wide)) | (np.abs(wide) >= _EXACT))  # smaller integers are exact
    found, place = np.unique(values[written], return_inverse=True)
    wide[written] = found.astype(str).astype(np.float64)[place]
    return wide


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
    """Return a text without spaces around it, a NumPy float as in `widened`, and any other value as it is."""
    if isinstance(value, np.floating):
        return float(widened(np.asarray(value)[None])[0])
    return value.strip() if isinstance(value, str) else value


def present(categories: Any) -> tuple[Any, ...]:
    """Return those of the categories of a pandas column that do not stand for a missing value, as they are read."""
    seen = categories[~is_missing(categories.to_numpy(dtype=object))]
    return tuple(dict.fromkeys(stripped(c) for c in seen.tolist()))
