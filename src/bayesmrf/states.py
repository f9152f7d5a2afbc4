"""Checking the states (the table of observations) and bringing them to one coding."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .errors import ConstantColumnWarning, DataError

CODINGS = {"01": (0, 1), "pm1": (-1, 1), "bool": (False, True)}


@dataclass(frozen=True, eq=False)
class States:
    """Binary observations in one coding.

    Attributes
    ----------
    values : (n_samples, n_nodes) int8 array in {0, 1}, and -1 where a value is missing
    names : tuple of str
        Column names of a DataFrame, else "0", "1", ...
    weights : (n_samples,) float array or None
        How many times each row was seen.
    coding : {"01", "pm1", "bool"}
        What the user gave, so that samples can be returned alike.
    """

    values: np.ndarray
    names: tuple[str, ...]
    weights: np.ndarray | None
    coding: str

    @property
    def n_samples(self) -> float:
        """Number of observations N, counting weights."""
        return float(len(self.values)) if self.weights is None else float(self.weights.sum())


def decode(values: np.ndarray, coding: str) -> np.ndarray:
    """Bring {0, 1} states to a coding."""
    low, high = CODINGS[coding]
    return np.where(values == 1, high, low)


def check_states(
    X: Any, sample_weight: Any = None, names: tuple[str, ...] | None = None, missing: bool = False
) -> States:
    """Check a table of yes/no observations.

    Parameters
    ----------
    X : array or DataFrame (n_samples, n_nodes)
        Coded {0, 1}, {-1, +1} or boolean, one coding for the whole table.
    sample_weight : array (n_samples,), optional
        Counts of rows, not negative.
    names : tuple of str, optional
        The node names that are wanted (of the data fitted before); a DataFrame's columns are brought to their order.
    missing : bool
        Whether values may be missing (NaN, None, pandas' NA); they become -1, and all else is judged by the rest.

    Raises
    ------
    DataError
        For missing, non-binary or mixed values (how many and where), no rows, or wrong weights; for a column in which
        everything is missing, unless it is later data.

    Warns
    -----
    ConstantColumnWarning
        If a column never varies.
    """
    is_frame = hasattr(X, "columns") and hasattr(X, "to_numpy")
    found = tuple(str(c) for c in X.columns) if is_frame else None
    if names is not None and is_frame and found != names:
        lacking = [n for n in names if n not in set(found or ())]
        if lacking:
            raise DataError(f"X: column {lacking[0]!r} of the fitted data is missing ({len(lacking)} in all); "
                            "give a table with the columns the model was fitted on")  # fmt: skip
        X = X.set_axis(list(found or ()), axis=1)[list(names)]
        found = names
    if issparse(X):
        raise DataError("X: a sparse matrix came; sparse input is not supported, give X.toarray()")
    values = X.to_numpy() if is_frame else np.asarray(X)
    if values.ndim != 2:
        raise DataError(f"X: a table (n_samples, n_nodes) is wanted, got an array of shape {values.shape}; "
                        "reshape your data so that rows are observations and columns are nodes")  # fmt: skip
    if values.shape[0] == 0:
        raise DataError("X: the table has zero rows; at least one observation is wanted")
    if values.shape[1] == 0:
        raise DataError(
            f"X: 0 feature(s) (shape={values.shape}) while a minimum of 1 is required; give a column for each node"
        )
    if names is not None and values.shape[1] != len(names):
        raise DataError(f"X has {values.shape[1]} features, but bayesmrf is expecting {len(names)} features as input; "
                        "give the columns it was fitted on")  # fmt: skip
    if np.iscomplexobj(values):
        raise DataError("X: Complex data not supported; code the states as 0/1, -1/+1 or booleans")
    labels = found or names or tuple(str(i) for i in range(values.shape[1]))
    numbers, is_bool = _to_numbers(values, labels)
    gone = np.isnan(numbers) if np.issubdtype(numbers.dtype, np.floating) else None
    if gone is not None and gone.any():
        if not missing:
            raise DataError(f"X: {int(gone.sum())} value(s) are missing (NaN) in {int(gone.any(axis=0).sum())} "
                            f"column(s), the first in {_place(gone, labels)}; drop or impute these rows")  # fmt: skip
    else:
        gone = None
    values, coding = _to_binary(numbers, labels, is_bool)
    weights = _check_weights(sample_weight, len(values))
    if gone is not None:
        values[gone] = -1
    if names is None:
        _check_columns(values if weights is None else values[weights > 0], labels, gone is not None)
    return States(values, labels, weights, coding)


def _to_numbers(values: np.ndarray, labels: tuple[str, ...]) -> tuple[np.ndarray, bool]:
    """Whole numbers as they came (a large table is never copied to floats), else floats; and whether all were truths.

    What is missing becomes NaN.
    """
    if values.dtype == bool:
        return values.view(np.int8), True
    if np.issubdtype(values.dtype, np.integer):
        return values, False
    is_bool = False
    if values.dtype == object:
        from pandas import isna

        gone = isna(values)
        values = np.where(gone, np.nan, values)
        kinds = {type(v) for v in values[~gone]}
        is_bool = bool(kinds) and kinds <= {bool, np.bool_}
    try:
        return values.astype(np.float64), is_bool
    except (TypeError, ValueError):
        row, column = next((i, j) for (i, j), v in np.ndenumerate(values) if not _is_number(v))
        raise DataError(f"X: {values[row, column]!r} in row {row}, column {labels[column]!r} is not a number; "
                        "code the states as 0/1, -1/+1 or booleans") from None  # fmt: skip


def _to_binary(numbers: np.ndarray, labels: tuple[str, ...], is_bool: bool) -> tuple[np.ndarray, str]:
    """States in {0, 1} and the coding; NaN is passed over."""
    if is_bool:
        return (numbers == 1).astype(np.int8), "bool"
    if np.issubdtype(numbers.dtype, np.integer) and numbers.min() >= 0 and numbers.max() <= 1:
        return numbers.astype(np.int8), "01"
    zeros, ones, minus = numbers == 0, numbers == 1, numbers == -1
    wrong = ~(zeros | ones | minus | (numbers != numbers))
    if wrong.any():
        value = numbers[tuple(np.argwhere(wrong)[0])]
        raise DataError(f"X: {int(wrong.sum())} value(s) are not binary, the first is {value:g} in "
                        f"{_place(wrong, labels)}; code the states as 0/1, -1/+1 or booleans")  # fmt: skip
    if not minus.any():
        return ones.astype(np.int8), "01"
    if not zeros.any():
        return ones.astype(np.int8), "pm1"
    raise DataError(f"X: the codings 0/1 and -1/+1 are mixed ({int(zeros.sum())} zeros, the first in "
                    f"{_place(zeros, labels)}, beside {int(minus.sum())} values -1); use "
                    "one coding, and recode zeros that mean 'missing'")  # fmt: skip


def _place(where: np.ndarray, labels: tuple[str, ...]) -> str:
    """Row and column of the first True."""
    row, column = np.argwhere(where)[0]
    return f"row {row}, column {labels[column]!r}"


def _check_columns(seen: np.ndarray, labels: tuple[str, ...], gaps: bool) -> None:
    """Refuse columns in which everything is missing, and warn of those that never vary."""
    high = seen.max(axis=0)
    low = np.where(seen < 0, np.int8(127), seen).min(axis=0) if gaps else seen.min(axis=0)
    empty = np.flatnonzero(high < 0)
    if empty.size:
        raise DataError(f"X: all values are missing in {empty.size} column(s): {_some(empty, labels)}; "
                        "drop them, or give rows in which they were seen")  # fmt: skip
    constant = np.flatnonzero(low == high)
    if constant.size:
        warnings.warn(
            f"{constant.size} column(s) of X never vary: {_some(constant, labels)}; parameters that touch them are "
            "known only through the prior",
            ConstantColumnWarning,
            stacklevel=4,
        )


def _some(columns: np.ndarray, labels: tuple[str, ...]) -> str:
    return ", ".join(repr(labels[i]) for i in columns[:5]) + (", ..." if columns.size > 5 else "")


def _is_number(v: Any) -> bool:
    try:
        float(v)
    except (TypeError, ValueError):
        return False
    return True


def _check_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    if sample_weight is None:
        return None
    try:
        w = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("sample_weight: numbers are wanted, one for each row of X") from None
    if w.shape != (n,):
        raise DataError(f"sample_weight: shape {w.shape} came, ({n},) is wanted, one weight for each row of X")
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0) & (w == np.round(w))))
    if bad.size:
        raise DataError(f"sample_weight: {w[bad[0]]} in row {bad[0]} is not a count; whole numbers >= 0 are wanted")
    if w.sum() == 0:
        raise DataError("sample_weight: all weights are zero; at least one observation is wanted")
    return w
