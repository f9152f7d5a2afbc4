"""What was observed of columns and pairs: which have no values, are constant, or are never seen together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConstantColumnWarning, DataError, EmptyRowsWarning, LevelsWarning, argument, missing_code
from ..findings import tell
from ..names import listed, quoted
from ..threads import one_thread
from .known_words import says_no_answer

_X = argument("X")
LEFT_OUT, NO_DENSITY = "were left out", "have no density (NaN)"


def check_columns(values: np.ndarray, labels: tuple[str, ...], gaps: bool) -> None:
    """Refuse columns in which all values are missing, and warn about constant columns."""
    high = values.max(axis=0)
    low = np.where(values < 0, np.int8(127), values).min(axis=0) if gaps else values.min(axis=0)
    empty = np.flatnonzero(high < 0)
    if empty.size:
        raise DataError(f"{_X} must have observed values in every column, but all are missing in "
                        f"{empty.size} column(s): {_some(empty, labels)}; drop them, or add rows in which they were "
                        "observed.")  # fmt: skip
    constant = np.flatnonzero(low == high)
    if constant.size:
        tell(
            f"{constant.size} column(s) of {_X} are constant: {_some(constant, labels)}; their "
            "parameters are determined by the prior alone, and infinite by maximum likelihood",
            ConstantColumnWarning,
        )


def rows_that_say_something(missing: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
    """Find the rows that inform about the model, None if all do: other rows would only be imputed.

    Parameters
    ----------
    missing : (n_samples, n_nodes) array of bool
        Which values are missing.
    weights : (n_samples,) array or None
        How often each row was observed: of those that never were, the ones with missing values are left out, too.

    Warns
    -----
    EmptyRowsWarning
        If in rows that were observed every value is missing.
    """
    is_empty, times = missing.all(axis=1), np.ones(len(missing)) if weights is None else weights
    out = is_empty | (missing.any(axis=1) & (times == 0))
    if not out.any():
        return None
    warn_of_empty_rows(times[is_empty].sum())
    return np.flatnonzero(~out)


def rows_with_answers(
    values: np.ndarray, weights: np.ndarray | None = None, nodes: Sequence[int] | None = None, what: str = LEFT_OUT
) -> np.ndarray:
    """Find the rows of new data that have an answer; `fit` leaves out other rows, too.

    The probability of no answer is 1, so that rows without any would make the mean of log probabilities too large.

    Parameters
    ----------
    values : (n_samples, n_nodes) int array
        -1 where a value is missing.
    weights : (n_samples,) array or None
        How often each row was observed.
    nodes : sequence of int, optional
        Those whose answers are predicted; all by default.
    what : str
        What becomes of other rows.

    Raises
    ------
    DataError
        If rows are left out, and none that was observed is left.

    Warns
    -----
    EmptyRowsWarning
        If rows that were observed have no answer.
    """
    predicted = values if nodes is None else values[:, list(nodes)]
    has_answer, times = (predicted >= 0).any(axis=1), np.ones(len(values)) if weights is None else weights
    of = "" if nodes is None or len(nodes) == values.shape[1] else "that is predicted "
    if what == LEFT_OUT and not times[has_answer].any():
        raise DataError(f"{_X} must have a row with an answer, but every value {of}is missing; give rows with answers.")
    warn_of_empty_rows(times[~has_answer].sum(), what, of)
    return np.flatnonzero(has_answer)


def warn_of_empty_rows(n: float, what: str = LEFT_OUT, of: str = "") -> None:
    """Tell of rows in which every value (that is predicted) is missing, if there are any."""
    if n:
        tell(
            f"{n:,.0f} row(s) of {_X} {what}, as every value {of}in them is missing; drop them, or correct them if "
            "they have answers",
            EmptyRowsWarning,
        )


def _some(columns: np.ndarray, labels: tuple[str, ...]) -> str:
    return listed([quoted(labels[i]) for i in columns])


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
    observed = second >= 0
    rows, rest = _together(first >= 0, observed, weights), _rest(first, observed, weights)
    back = _rest(second, first >= 0, weights).T
    total = [(values >= 0).sum(axis=0) if weights is None else weights @ (values >= 0) for values in (first, second)]
    is_constant = ((rest == 0) & (rows == total[1])) | ((back == 0) & (rows == total[0][:, None]))
    varies = np.logical_and.outer(*(_varies(values, weights) for values in (first, second)))
    return PairsObserved(rows, rest, (rows == 0) | (is_constant & varies))


def _together(first: np.ndarray, second: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Count the rows in which both columns of each pair are true."""
    a = first.astype(np.float64) if weights is None else first * weights[:, None]
    counts: np.ndarray = a.T @ second.astype(np.float64)
    return counts


def _rest(values: np.ndarray, observed: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Count the rows with both values of a pair in which the first is not its most frequent one in such rows."""
    each = [_together(values == k, observed, weights) for k in range(int(values.max(initial=0)) + 1)]
    rest: np.ndarray = np.sum(each, axis=0) - np.max(each, axis=0)
    return rest


def _varies(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return which columns have two values or more."""
    used = values if weights is None else values[weights > 0]
    varies: np.ndarray = used.max(axis=0, initial=-1) > np.where(used < 0, np.int8(127), used).min(axis=0, initial=127)
    return varies


def warn_of_texts(what: str, levels: Iterable[Any]) -> None:
    """Warn of texts that mean no answer, such as "refused", and of those that differ in case or in spaces only."""
    texts = [level for level in levels if isinstance(level, str)]
    refusals = list(filter(says_no_answer, texts))
    if refusals:
        tell(
            f"{listed(list(map(quoted, refusals)))} of {what} {'count' if len(refusals) > 1 else 'counts'} like the "
            f"others; {missing_code(*refusals)} if no answer is meant",
            LevelsWarning,
        )
    known: dict[str, str] = {}
    for text in texts:
        other = known.setdefault("".join(text.casefold().split()), text)
        if other != text:
            tell(
                f"{quoted(other)} and {quoted(text)} of {what} differ in upper and lower case or in spaces only, and "
                "count as two; write them in one way if they are one",
                LevelsWarning,
            )
            return
