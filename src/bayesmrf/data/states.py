"""Check the states (the table of observations) and convert them to one coding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import DataError, argument
from ..names import quoted
from .cells import CODED, missing_cells, present, refuse_missing, unmasked
from .check_columns import check_columns, rows_that_say_something, warn_of_texts
from .codes import read_levels, to_codes, to_table, warn_of_unused
from .counts_and_labels import Blocks, Survey, blocks_of, check_weights, row_numbers
from .frames import cells, column_names, in_pandas, is_frame, no_table
from .kinds.nominal import unordered_levels
from .kinds.number import recoded, warn_of_steps
from .kinds.ordered import ordered_categories, ordered_levels
from .kinds.yes_no import CODINGS, read_yes_no
from .level_names import MIXED, NOMINAL
from .levels import warn_outside

_X = argument("X")


@dataclass(frozen=True)
class ColumnLevels:
    """Levels of each column of a table, in their order if they have one, which may differ between columns.

    A column of two categories has them among yes/no columns, too.
    """

    columns: tuple[tuple[Any, ...], ...]
    nominal: frozenset[int] = frozenset()  # columns whose levels have no order

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(map(len, self.columns))


Coding = str | tuple[Any, ...] | ColumnLevels


@dataclass(frozen=True, eq=False)
class States:
    """Observations in one coding.

    Attributes
    ----------
    values : (n_samples, n_nodes) int8 array in {0, ..., n_states - 1}, and -1 where a value is missing
    names : tuple of str
        Column names of a DataFrame, else "0", "1", ...
    weights : (n_samples,) float array or None
        How often each row was observed or, with a survey, its weight in the likelihood.
    coding : {"01", "pm1", "bool"}, tuple or ColumnLevels
        Coding of the user's data, in which samples are returned; of nodes with many states, the level of each state,
        for all columns or for each.
    places : (n_samples,) int array or None
        Row of the user's table of each row; None if no row was left out.
    blocks : tuple of Blocks
        Rows that have one label, for each column of labels; empty if no two rows have the same one.
    survey : Survey or None
        Weights of a survey, if they differ between rows.
    """

    values: np.ndarray
    names: tuple[str, ...]
    weights: np.ndarray | None
    coding: Coding
    places: np.ndarray | None = None
    blocks: tuple[Blocks, ...] = ()
    survey: Survey | None = None

    @property
    def counts(self) -> np.ndarray | None:
        """How often each row was observed; None if each was once."""
        return self.weights if self.survey is None else self.survey.counts

    @property
    def n_samples(self) -> float:
        """Number of observations N, counting weights; with those of a survey, the effective one."""
        return float(len(self.values)) if self.weights is None else float(self.weights.sum())

    @property
    def row_numbers(self) -> np.ndarray:
        """The row of `values` of each observation.

        Raises
        ------
        DataError
            If there are too many observations to list them, or they have weights of a survey.
        """
        if self.weights is None:
            return np.arange(len(self.values))
        return row_numbers(self.weights, self.values.shape[1])

    @property
    def given_rows(self) -> np.ndarray:
        """The row of the user's table of each row of `values`."""
        return np.arange(len(self.values)) if self.places is None else self.places

    @property
    def scores(self) -> np.ndarray:
        """`values`, but of columns without order whether they have their most frequent level, which has no name."""
        if not isinstance(self.coding, ColumnLevels) or not self.coding.nominal:
            return self.values
        scores = self.values.copy()
        for i in self.coding.nominal:
            observed = scores[:, i] >= 0
            scores[observed, i] = scores[observed, i] == np.bincount(scores[observed, i], minlength=1).argmax()
        return scores

    def at(self, rows: np.ndarray) -> States:
        """Return some of the rows, by their numbers in `values`; weights of a survey are scaled again."""
        alone = None, None if self.weights is None else self.weights[rows]
        survey, weights = alone if self.survey is None else self.survey.at(rows)
        blocks = tuple(each._replace(codes=each.codes[rows]) for each in self.blocks)
        kept: dict[str, Any] = {"values": self.values[rows], "weights": weights, "places": self.given_rows[rows]}
        return replace(self, **kept, blocks=blocks, survey=survey)

    @property
    def rows(self) -> np.ndarray:
        """The observations, each repeated as often as it was observed; errors as of `row_numbers`."""
        return self.values if self.weights is None else self.values[self.row_numbers]

    def spread(self, n: int) -> np.ndarray:
        """Return ``n`` of the observations, evenly spaced, without listing them all."""
        at = (np.arange(n) + 0.5) * (self.n_samples / n)
        if self.weights is None:
            return self.values[at.astype(np.int64)]
        return self.values[np.searchsorted(np.cumsum(self.weights), at, side="right")]

    @property
    def n_states(self) -> int:
        """Number of states of a node; the largest, if columns have levels of their own."""
        return max(self.sizes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each node."""
        return tuple(len(levels_of(self.coding, i)) for i in range(len(self.names)))


def are_ordered(coding: Coding, n_columns: int) -> tuple[bool, ...]:
    """Return whether the levels of each column have an order, or are two yes/no answers."""
    nominal = coding.nominal if isinstance(coding, ColumnLevels) else frozenset[int]()
    return tuple(i not in nominal for i in range(n_columns))


def levels_of(coding: Coding | Sequence[Any], column: int) -> Sequence[Any]:
    """Return the level of each state of a column."""
    if isinstance(coding, str):
        return CODINGS[coding]
    return coding.columns[column] if isinstance(coding, ColumnLevels) else coding


def decode(values: np.ndarray, coding: Coding) -> np.ndarray:
    """Convert states {0, ..., n_states - 1} without missing values to a coding, (n_samples, n_nodes)."""
    if isinstance(coding, ColumnLevels):
        columns = [np.take(levels, values[:, i]) for i, levels in enumerate(coding.columns)]
        texts = {c.dtype.kind == "U" for c in columns}
        return np.stack([c.astype(object) for c in columns] if len(texts) > 1 else columns, axis=1)
    return np.take(CODINGS[coding] if isinstance(coding, str) else coding, values)


def check_codes(states: np.ndarray, n_states: int | np.ndarray) -> None:
    """Refuse states (n_samples, n_nodes) that are not the numbers 0, ..., ``n_states`` - 1.

    ``n_states`` may be a number for each node.

    Raises
    ------
    DataError
        For example for the states -1 and 1, whose statistics would be wrong.
    """
    wrong = (states < 0) | (states >= n_states)
    if states.dtype.kind == "f":
        wrong |= ~(states == np.floor(states))  # NaN, too
    if wrong.any():
        row, node = np.argwhere(wrong)[0]
        most = np.broadcast_to(n_states, states.shape[1])[node] - 1
        cell = "each cell" if np.all(np.equal(n_states, most + 1)) else f"column {node}"
        expected = f"0 or 1 in {cell}" if most == 1 else f"an integer from 0 to {most} in {cell}"
        raise DataError(option="states", got=states[row, node], expected=expected, remedy="number states from 0")


def check_states(
    X: Any,
    sample_weight: Any = None,
    names: tuple[str, ...] | None = None,
    missing: bool = False,
    n_states: int | str | None = None,
    levels: Sequence[Any] | ColumnLevels | None = None,
    unused: Sequence[int] = (),
    ordinal: bool = False,
) -> States:
    """Check a table of observations, yes/no ones unless ``n_states`` or ``levels`` are given.

    Parameters
    ----------
    X : array or DataFrame (n_samples, n_nodes), of pandas or polars
        Coded {0, 1}, {-1, +1} or boolean, one coding for the whole table, or two ordered categories, of which the
        second is state 1; or, of nodes with many states, integers
        0, ..., n_states - 1, or any levels that have an order: numbers, texts, or pandas' categories.
    sample_weight : array (n_samples,), optional
        Counts of rows: integers >= 0. A Series must have the index of a DataFrame ``X``: rows are not matched by
        labels, so a different order would go unnoticed.
    names : tuple of str, optional
        The node names of the data fitted before; the columns of a DataFrame are put into their order.
    missing : bool
        Whether values may be missing (NaN, None, pandas' NA, masked, blank texts, "NA" and the like); they become -1,
        and the other checks use the rest. Of a table that is fitted, rows in which all are missing are left out, and
        rows with missing values that were never observed (of weight 0).
    n_states : int, "auto", "keep", "merge", "nominal" or "mixed", optional
        Number m of states of each node. Integers 0, ..., m - 1 are states; otherwise there must be m levels in the
        table, which become 0, ..., m - 1 in their order. "auto" uses the levels of the table. With "keep" and "merge"
        each column has its own ordered levels (`bayesmrf.data.kinds.ordered`), with "nominal" and "mixed" some columns
        have no order (`bayesmrf.families.Nominal`).
    levels : sequence or ColumnLevels, optional
        The levels in order (of the data fitted before), instead of ``n_states``.
    unused : sequence of int
        Columns whose values are not read; their states are arbitrary.
    ordinal : bool
        Whether messages about tables that are not yes/no name the model "ordinal", which the caller has.

    Raises
    ------
    DataError
        For missing, wrong or mixed values, no rows, duplicate names, or wrong weights; for a column in which all values
        are missing, unless it is new data; with ``n_states="auto"``, for columns that look like identifiers or are on a
        different scale than the others, and for values outside the levels.

    Warns
    -----
    ConstantColumnWarning
        If a column is constant.
    LevelsWarning
        If a level never occurs in rows of a weight above 0.
    EmptyRowsWarning
        If rows were left out, as all their values are missing.
    """
    X = in_pandas(X)
    named = is_frame(X)
    columns = column_names(X) if named else None
    if names is not None and named and columns != names:
        lacking = [n for n in names if n not in set(columns or ())]
        if lacking:
            raise DataError(f"{_X} must have the columns of the fitted data, but {quoted(lacking[0])} is missing "
                            f"({len(lacking)} in all); give a table with these columns.")  # fmt: skip
        X = X.set_axis(list(columns or ()), axis=1)[list(names)]
        columns = names
    if issparse(X):
        raise DataError(f"{_X} must be a dense table, got a sparse matrix; use X.toarray().")
    by_column = isinstance(levels, ColumnLevels) or n_states in ("keep", "merge", NOMINAL, MIXED)
    if named and n_states is not None and levels is None and not by_column:
        levels = _categories(X, n_states)
    values = cells(X) if named else unmasked(X)
    if values.ndim != 2:
        raise no_table(X)
    if values.shape[0] == 0:
        raise DataError(option="X", got=values, expected="a table with at least one row (observation)")
    if values.shape[1] == 0:
        raise DataError(
            f"{_X}: 0 feature(s) (shape={values.shape}) while a minimum of 1 is required; give a column for each node"
        )
    if names is not None and values.shape[1] != len(names):
        raise DataError(f"{_X} has {values.shape[1]} features, but bayesmrf is expecting {len(names)} features as "
                        "input; give the columns it was fitted on")  # fmt: skip
    if np.iscomplexobj(values):
        raise DataError(f"{_X} must be real; Complex data not supported; code the states as {CODED}.")
    labels = columns or names or tuple(str(i) for i in range(values.shape[1]))
    if len(set(labels)) < len(labels):
        twice = next(name for i, name in enumerate(labels) if name in labels[:i])
        raise DataError(f"{_X} must have unique column names, but {quoted(twice)} occurs twice; rename one of them.")
    if unused:
        values = values.astype(object)
        values[:, list(unused)] = [1 if levels is None else levels_of(levels, i)[0] for i in unused]
    weights = check_weights(sample_weight, X, len(values))
    counted = np.ones(len(values), dtype=bool) if weights is None else weights > 0
    coding: Coding
    if by_column:
        fitted = levels if isinstance(levels, ColumnLevels) else None
        values, absent, coding = _by_column(X if named else None, values, labels, missing, n_states, fitted, counted)
    elif n_states is None and levels is None:
        values, absent, coding, two = read_yes_no(X if named else None, values, labels, missing, ordinal)
        if two:
            coding = ColumnLevels(tuple(two.get(i, CODINGS[coding]) for i in range(len(labels))))
    else:
        assert not isinstance(levels, ColumnLevels)
        table, is_bool = to_table(values, labels, levels)
        absent = missing_cells(table, labels, missing)
        coding = read_levels(table, absent, labels, is_bool, n_states) if levels is None else tuple(levels)
        values = to_codes(table, absent, labels, coding)
    if absent is not None:
        values[absent] = -1
    if names is None:
        for levels in {levels_of(coding, i): None for i in range(len(labels))}:
            warn_of_texts(_X, levels)
        observed = values if weights is None else values[counted]
        check_columns(observed, labels, absent is not None)
        if n_states == "auto" and weights is not None:
            warn_of_unused(observed, coding)
    states = States(values, labels, weights, coding, blocks=blocks_of(X) if named else ())
    kept = None if names is not None or absent is None else rows_that_say_something(values < 0, weights)
    return states if kept is None else states.at(kept)


def _by_column(
    frame: Any,
    values: np.ndarray,
    labels: tuple[str, ...],
    allowed: bool,
    n_states: Any,
    fitted: ColumnLevels | None,
    counted: np.ndarray,
) -> tuple[np.ndarray, np.ndarray | None, ColumnLevels]:
    """Return the states, which values are missing, and the ordered levels of each column.

    A level occurs if it is in a row of a weight above 0, which ``counted`` (n_samples,) says.
    """
    codes, missing, scales = np.empty(values.shape, np.int8), np.zeros(values.shape, bool), []
    merge, columns, numbers, distinct = n_states == "merge", [], dict[str, Any](), dict[str, Any]()
    nominal = set[int]() if fitted is None else set(fitted.nominal)
    for i, label in enumerate(labels):
        levels = None if fitted is None else fitted.columns[i]
        column = None if frame is None else frame.iloc[:, i]
        if levels is None and n_states in (NOMINAL, MIXED):
            levels = unordered_levels(column, values[:, i], label, counted, n_states == NOMINAL)
            if levels is not None:
                nominal.add(i)
        if levels is None and frame is not None:
            levels = ordered_categories(frame.iloc[counted, i], label, merge)
        table, is_bool = to_table(values[:, [i]], (label,), levels)
        lost = missing_cells(table, (label,), True)
        if levels is None:
            observed = np.ones(len(table), dtype=bool) if lost is None else ~lost[:, 0]
            numbers[label] = table[observed & counted, 0]
            if is_bool:
                levels = False, True
            else:
                distinct[label] = np.unique(table[observed])
        columns.append((table, lost, levels))
    even = {} if merge else recoded(distinct)
    for i, (label, (table, lost, levels)) in enumerate(zip(labels, columns, strict=True)):
        if levels is None:
            occurs = np.isin(distinct[label], numbers[label])
            levels = ordered_levels(distinct[label], label, merge, occurs, even.get(label))
        if merge:  # levels of rows of weight 0 may be left out
            table = np.where(counted[:, None] | np.isin(table, levels), table, levels[0])
        codes[:, [i]] = to_codes(table, lost, (label,), levels)
        if lost is not None:
            missing[:, [i]] = lost
        scales.append(levels)
    warn_of_steps(even)
    warn_outside(_X, numbers)
    if missing.any() and not allowed:
        refuse_missing(missing, labels)
    return codes, missing if missing.any() else None, ColumnLevels(tuple(scales), frozenset(nominal))


def _categories(X: Any, n_states: int | str) -> tuple[Any, ...] | None:
    """Return the categories of a DataFrame, if all columns have the same."""
    kinds = set(X.dtypes)
    categories = getattr(kinds.pop(), "categories", None) if len(kinds) == 1 else None
    levels = () if categories is None else present(categories)
    return None if categories is None or n_states not in ("auto", len(levels)) else levels
