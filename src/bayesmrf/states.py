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
    values : (n_samples, n_nodes) int8 array in {0, 1}
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


def check_states(X: Any, sample_weight: Any = None, names: tuple[str, ...] | None = None) -> States:
    """Check a table of yes/no observations.

    Parameters
    ----------
    X : array or DataFrame (n_samples, n_nodes)
        Coded {0, 1}, {-1, +1} or boolean, one coding for the whole table.
    sample_weight : array (n_samples,), optional
        Counts of rows, not negative.
    names : tuple of str, optional
        The node names that are wanted (of the data fitted before); a DataFrame's columns are brought to their order.

    Raises
    ------
    DataError
        For missing, non-binary or mixed values (how many and where), no rows, or wrong weights.

    Warns
    -----
    ConstantColumnWarning
        If a column never varies.
    """
    is_frame = hasattr(X, "columns") and hasattr(X, "to_numpy")
    found = tuple(str(c) for c in X.columns) if is_frame else None
    if names is not None and is_frame and found != names:
        missing = [n for n in names if n not in set(found or ())]
        if missing:
            raise DataError(f"X: column {missing[0]!r} of the fitted data is missing ({len(missing)} in all); "
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
    values, coding = _to_binary(values, labels)
    weights = _check_weights(sample_weight, len(values))
    seen = values if weights is None else values[weights > 0]
    constant = np.flatnonzero((seen == seen[0]).all(axis=0))
    if constant.size and names is None:
        some = ", ".join(repr(labels[i]) for i in constant[:5]) + (", ..." if constant.size > 5 else "")
        warnings.warn(
            f"{constant.size} column(s) of X never vary: {some}; parameters that touch them are known only "
            "through the prior",
            ConstantColumnWarning,
            stacklevel=3,
        )
    return States(values, labels, weights, coding)


def _to_binary(values: np.ndarray, labels: tuple[str, ...]) -> tuple[np.ndarray, str]:
    if values.dtype == bool:
        return values.astype(np.int8), "bool"
    if values.dtype == object:
        kinds = {type(v) for v in values.ravel()}
        if kinds <= {bool, np.bool_}:
            return values.astype(np.int8), "bool"
    if np.issubdtype(values.dtype, np.integer):  # in place: a large table is never copied to floats
        low, high = values.min(), values.max()
        if low >= 0 and high <= 1:
            return values.astype(np.int8), "01"
        if low >= -1 and high <= 1 and not (values == 0).any():
            return (values == 1).astype(np.int8), "pm1"
    try:
        number = values.astype(np.float64)
    except (TypeError, ValueError):
        row, column = next((i, j) for (i, j), v in np.ndenumerate(values) if not _is_number(v))
        raise DataError(f"X: {values[row, column]!r} in row {row}, column {labels[column]!r} is not a number; "
                        "code the states as 0/1, -1/+1 or booleans") from None  # fmt: skip
    missing = np.isnan(number)
    if missing.any():
        row, column = np.argwhere(missing)[0]
        n_columns = int(missing.any(axis=0).sum())
        raise DataError(f"X: {int(missing.sum())} value(s) are missing (NaN) in {n_columns} column(s), the first in "
                        f"row {row}, column {labels[column]!r}; drop or impute these rows")  # fmt: skip
    levels = np.unique(number)
    for coding in ("01", "pm1"):
        if np.isin(levels, CODINGS[coding]).all():
            return (number == 1).astype(np.int8), coding
    if np.isin(levels, (-1, 0, 1)).all():
        row, column = np.argwhere(number == 0)[0]
        raise DataError(f"X: the codings 0/1 and -1/+1 are mixed ({int((number == 0).sum())} zeros, the first in "
                        f"row {row}, column {labels[column]!r}, beside {int((number == -1).sum())} values -1); use "
                        "one coding, and recode zeros that mean 'missing'")  # fmt: skip
    wrong = ~np.isin(number, (-1, 0, 1))
    row, column = np.argwhere(wrong)[0]
    raise DataError(f"X: {int(wrong.sum())} value(s) are not binary, the first is {number[row, column]:g} in "
                    f"row {row}, column {labels[column]!r}; code the states as 0/1, -1/+1 or booleans")  # fmt: skip


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
