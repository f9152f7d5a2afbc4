"""Which pairs of columns the rows show together, with both values of each: others say nothing of an edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..blas import one_thread


class PairsObserved(NamedTuple):
    """What rows show of each pair of columns; all (n_columns, n_columns).

    Attributes
    ----------
    rows : float array
        How many rows show both.
    with_both : float array
        How many of these have another value of the first column than most of them. Where it is 0, the first column is
        constant wherever the second was observed.
    is_silent : bool array
        Whether no row shows both; or one of the two is constant in all rows that show the other, and not in all of its
        rows, as where a question is asked only of those with one answer to another question. Then the weight of an edge
        and the field of that question can change together without a change of the likelihood. It is not so if some
        rows show the second column without the first: given that values are missing at random, these say how it is
        where the first has other values. Columns that are constant in all rows have a warning of their own.
    """

    rows: np.ndarray
    with_both: np.ndarray
    is_silent: np.ndarray

    @property
    def is_never(self) -> np.ndarray:
        """Whether no row shows both."""
        return self.rows == 0


@one_thread()
def pairs_observed(first: np.ndarray, second: np.ndarray, weights: np.ndarray | None = None) -> PairsObserved:
    """Count the rows that show each pair of a column of one table and one of another with the same rows.

    Parameters
    ----------
    first, second : (n_rows, n_columns) int array
        States, and -1 where a value is missing: twice one table, or rows before and after.
    weights : (n_rows,) array, optional
        How often each row was observed.
    """
    there = second >= 0
    rows, rest = _together(first >= 0, there, weights), _rest(first, there, weights)
    back = _rest(second, first >= 0, weights).T
    seen = [(values >= 0).sum(axis=0) if weights is None else weights @ (values >= 0) for values in (first, second)]
    is_constant = ((rest == 0) & (rows == seen[1])) | ((back == 0) & (rows == seen[0][:, None]))
    varies = np.logical_and.outer(*(_varies(values, weights) for values in (first, second)))
    return PairsObserved(rows, rest, (rows == 0) | (is_constant & varies))


def _together(first: np.ndarray, second: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return how many rows have both of each pair of truth values."""
    a = first.astype(np.float64) if weights is None else first * weights[:, None]
    found: np.ndarray = a.T @ second.astype(np.float64)
    return found


def _rest(values: np.ndarray, there: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return in how many of the rows that show both the first does not have its most frequent value there."""
    each = [_together(values == k, there, weights) for k in range(int(values.max(initial=0)) + 1)]
    found: np.ndarray = np.sum(each, axis=0) - np.max(each, axis=0)
    return found


def _varies(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return which columns have two values or more."""
    seen = values if weights is None else values[weights > 0]
    found: np.ndarray = seen.max(axis=0, initial=-1) > np.where(seen < 0, np.int8(127), seen).min(axis=0, initial=127)
    return found
