"""What a table says of its rows: counts, the weights of a survey, and labels of rows that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DataError, argument, data_row, in_words
from ..names import digits, quoted
from .cells import unmasked, widened
from .frames import check_index

if TYPE_CHECKING:
    import pandas as pd

_X = argument("X")
_WEIGHT = argument("sample_weight")

MOST_ENTRIES = 5 * 10**7  # of a table with a row for each observation
MOST_SAMPLES = 10**12  # total number of observations; more must be a mistake
FEWEST_BLOCKS = 20  # labels of several rows each


class Survey(NamedTuple):
    """Weights of a survey of the rows of a table, and how often each occurs.

    Parameters
    ----------
    weights : (n_samples,) float array, > 0
    counts : (n_samples,) float array or None
    """

    weights: np.ndarray
    counts: np.ndarray | None

    def at(self, rows: np.ndarray) -> tuple[Survey | None, np.ndarray | None]:
        """Return the survey of some rows, and their weights in the likelihood.

        The sum of these is the effective sample size of Kish. Equal weights of all rows that occur change nothing: they
        are no survey, and the counts are returned.
        """
        w, counts = self.weights[rows], None if self.counts is None else self.counts[rows]
        occurring = w if counts is None else w[counts > 0]
        if (occurring == occurring[:1]).all():
            return None, counts
        w = w / w.max()
        each = w if counts is None else w * counts
        return Survey(self.weights[rows], counts), each * (each.sum() / (each @ w))


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
    w = read_weights("sample_weight", sample_weight, X, n)
    bad = np.flatnonzero(~(np.isfinite(w) & (w >= 0) & (w == np.round(w))))
    if bad.size:
        more = f" and others in {bad.size - 1:,} more" if bad.size > 1 else ""
        raise DataError(f"{_WEIGHT} must contain integers >= 0, how often each row was seen, got "
                        f"{digits(w[bad[0]])} in {data_row(bad[0])}{more}; give weights of a survey "
                        f"as {argument('survey_weight')}, where that is supported")  # fmt: skip
    if w.sum() == 0:
        raise DataError(f"{_WEIGHT} must be above zero in at least one row, got zeros only")
    if w.sum() > MOST_SAMPLES:
        raise DataError(f"{_WEIGHT} must sum to at most {MOST_SAMPLES:,}, got a sum of {w.sum():,.0f}; divide the "
                        "weights by a common factor")  # fmt: skip
    return w


def read_weights(option: str, weights: Any, X: Any, n: int) -> np.ndarray:
    """Read a number for each of the ``n`` rows of ``X`` in floating point, NaN where it is missing.

    Raises
    ------
    DataError
        If they are no numbers, of another shape, or a Series whose index differs from that of the DataFrame ``X``.
    """
    check_index(option, weights, X)
    values = widened(unmasked(weights))
    if values.dtype.kind == "O":
        from pandas import isna

        values = np.where(isna(values), np.nan, values)
    is_text = values.dtype.kind == "O" and any(isinstance(v, str | bytes) for v in values.flat)
    try:
        w = values.astype(np.float64) if values.dtype.kind in "biufO" and not is_text else None
    except (TypeError, ValueError):
        w = None
    if w is None:
        text = next((i for i, v in enumerate(values.flat) if isinstance(v, str | bytes)), None)
        got = in_words(weights)
        if values.ndim == 1 and text is not None:
            got = f"{in_words(values[text])} in {data_row(text)}"
        raise DataError(f"{argument(option)} must contain numbers, one for each row of {_X}, got {got}")
    if w.shape != (n,):
        raise DataError(f"{argument(option)} must have shape ({n},), one number for each row of {_X}, got shape "
                        f"{w.shape}")  # fmt: skip
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
        If the observations are too many for a table with a row for each, or are no whole rows.
    """
    if (weights % 1).any():
        raise DataError(f"{argument('survey_weight')} must be omitted where each observation needs a row of its own, "
                        "as for chains that start there; take another method or engine")  # fmt: skip
    check_listed(float(weights.sum()), n_columns)
    return np.repeat(np.arange(len(weights)), weights.astype(np.int64))


class Blocks(NamedTuple):
    """Rows that belong together: those with one label of the index of a table, such as the number of a person.

    Parameters
    ----------
    codes : (n_samples,) array
        Number of the block of each row.
    same : str
        What they have in common, such as "with the same 'id'".
    numbers : (n_blocks,) array or None
        The label of each block if all labels are numbers, so that their order may mean something, as that of ages does.
    """

    codes: np.ndarray
    same: str
    numbers: np.ndarray | None = None


def blocks_of(frame: pd.DataFrame) -> tuple[Blocks, ...]:
    """Return the rows of a DataFrame that have one label: of each level of its index, and of all levels together.

    Rows without a label are on their own. Levels whose labels are of one row each are left out.
    """
    index = frame.index
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    every = levels if len(levels) == 1 else [*levels, index]
    return tuple(blocks for level in every if (blocks := _blocks(frame, level)) is not None)


def label_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that may say which rows belong together: 20 or more integers or texts of several rows each."""
    names = []
    for name in map(str, frame.columns):
        values = frame[name].dropna()
        if values.dtype.kind == "f" and not np.array_equal(values, np.round(values)):
            continue  # a measurement
        if values.dtype.kind != "b" and int((values.value_counts() > 1).sum()) >= FEWEST_BLOCKS:
            names.append(name)
    return names


def _blocks(frame: pd.DataFrame, labels: pd.Index) -> Blocks | None:
    if labels.is_unique:
        return None
    codes, distinct = labels.factorize()[0], labels.unique().dropna()
    order = np.argsort(np.array([*map(str, distinct)]), kind="stable")  # whatever the order of the rows
    codes, distinct = np.where(codes < 0, -1, np.argsort(order)[codes]), distinct[order]
    rows = frame.reset_index(drop=True)
    rows.insert(0, "label", codes, allow_duplicates=True)
    if len(rows.drop_duplicates()) == labels.nunique(dropna=False):
        return None  # all rows of a label are one row, which was repeated as often as it was counted
    alone = codes < 0
    codes = np.where(alone, len(distinct) + np.cumsum(alone) - 1, codes)
    numbers = distinct.to_numpy(dtype=np.float64) if labels.dtype.kind in "iuf" else None
    names = [str(name) for name in labels.names if name is not None]
    of = " and ".join(map(quoted, names)) if len(names) == labels.nlevels else ""
    return Blocks(codes, f"with the same {of}" if of else "with the same label of the index", numbers)
