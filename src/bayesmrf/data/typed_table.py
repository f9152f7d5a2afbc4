"""A table with the types that a codebook says, which all that follows reads: ordered and unordered categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, argument
from ..names import listed, quoted
from .alphabet import ORDERS, marks
from .cells import is_missing, is_number
from .codebook import CONSTANT, NO_NODES, NOMINAL, YES_NO, Codebook, Column, as_text
from .formats import MEASURE
from .kinds.several import with_parts
from .time_columns import is_named_time

if TYPE_CHECKING:
    import pandas as pd

STEPS = "equal steps are one step apart"  # of numbers, which stay as they are
_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_SPAN = re.compile(rf"({_NUMBER}) to ({_NUMBER})")


def typed(frame: pd.DataFrame, book: Codebook, unread: Sequence[str] = (), is_new: bool = False) -> pd.DataFrame:
    """Return the columns of a codebook that are answers, with categories in its order.

    Columns of numbers, and of categories, that mean by themselves what the codebook says stay as they are; a table of
    which all do is returned itself. Values of columns that are ``unread`` are arbitrary. In a table that ``is_new``,
    next to one that was fitted, numbers outside the ranges of a column are in the nearest one.

    Raises
    ------
    DataError
        If a column is missing, or has values that the codebook does not have.
    """
    frame = with_parts(frame, book)
    columns = [column for column in book.columns if column.kind not in NO_NODES]
    places = {str(name): i for i, name in enumerate(frame.columns)}
    lacking = [quoted(column.name) for column in columns if column.name not in places]
    if lacking:
        raise DataError(f"{argument('X')} must have the columns of {argument('columns')}, but lacks {listed(lacking)}; "
                        "delete these rows of the codebook, or give the table that it describes")  # fmt: skip
    columns.sort(key=lambda column: places[column.name])
    table = frame.iloc[:, [places[column.name] for column in columns]].copy(deep=False)
    foreign, changed = [], set[str]()
    for i, column in enumerate(columns):
        values = table.iloc[:, i]
        converted, unknown = _typed_column(values, column, is_new)
        if converted is not values:
            table.isetitem(i, converted.array)
            changed.add(column.name)
        if unknown and column.name not in unread:
            foreign.append(f"{quoted(column.name)}: {listed(list(map(quoted, unknown)))}")
    if foreign:
        raise DataError(f"{argument('X')} must contain the levels of its codebook only, but has other values "
                        f"({listed(foreign)}); add them to the levels or to the codes of missing values "
                        f"({argument('columns')})")  # fmt: skip
    orders = marks(columns)
    meant = frame.attrs.get(ORDERS) or {}
    if not changed and table.shape == frame.shape and all(meant.get(name) == levels for name, levels in orders.items()):
        return frame
    of_file = frame.attrs.get(MEASURE) or {}
    table.attrs = frame.attrs | {MEASURE: {name: kind for name, kind in of_file.items() if name not in changed}}
    if orders or meant:
        table.attrs[ORDERS] = {name: levels for name, levels in meant.items() if name not in changed} | orders
    return table


def _typed_column(values: pd.Series, column: Column, is_new: bool) -> tuple[pd.Series, list[str]]:
    """Convert a column to its categories; list the values that it must not have."""
    import pandas as pd

    in_order = column.kind != NOMINAL or len(column.labels) == 2
    if isinstance(values.dtype, pd.CategoricalDtype):
        categories = [as_text(c) for c in values.cat.categories]
        if categories == column.labels and bool(values.cat.ordered) == in_order:
            return values, []
    plain = values.dtype.kind in "biuf" if isinstance(values.dtype, np.dtype) else False
    codes, uniques = pd.factorize(values if plain else values.astype(object), use_na_sentinel=True)
    distinct = np.array([*uniques, None], dtype=object)[:-1]
    texts = ["" if missing else as_text(value) for value, missing in zip(distinct, is_missing(distinct), strict=True)]
    is_bool = all(isinstance(value, bool | np.bool_) for value, text in zip(distinct, texts, strict=True) if text)
    if not column.levels or (not set(column.codes) & set(texts) and _is_plain(texts, is_bool, column)):
        return values, []
    place = _places(column, is_new)
    at = np.array([place(text) for text in [*texts, ""]])
    unknown = [text for text, k in zip(texts, at, strict=False) if k == _UNKNOWN and text not in column.codes and text]
    at = np.where(at == _UNKNOWN, -1, at)
    kind = pd.CategoricalDtype(_categories(column), in_order)
    return pd.Series(pd.Categorical.from_codes(at[codes], dtype=kind), values.index, name=values.name), unknown


_UNKNOWN = -2


def _places(column: Column, is_new: bool) -> Any:
    """Make the function from the text of a value to the number of its level, if any."""
    labels = {label: k for k, label in enumerate(column.labels)}
    known = labels | {level.value: labels[level.label] for level in column.levels}
    matches = [(m, level.label) for level in column.levels if (m := _SPAN.fullmatch(level.value))]
    spans = sorted((float(m[1]), float(m[2]), labels[label]) for m, label in matches)
    if spans:  # a number that is a level of its own is a range, too
        of_numbers = [level for level in column.levels if is_number(level.value)]
        spans = sorted([*spans, *((float(v.value), float(v.value), labels[v.label]) for v in of_numbers)])
    starts = [start for start, _, _ in spans]

    def place(text: str) -> int:
        if text in known or not spans or not is_number(text):
            return known.get(text, -1 if text in ("", *column.codes) else _UNKNOWN)
        start, stop, k = spans[max(int(np.searchsorted(starts, float(text), side="right")) - 1, 0)]
        return k if is_new or start <= float(text) <= stop else _UNKNOWN

    return place


def _categories(column: Column) -> list[Any]:
    """Return the labels of the levels, as numbers if they are the numbers of the table."""
    same = all(level.value == level.label and is_number(level.value) for level in column.levels)
    numbers = [float(level.value) for level in column.levels] if same else []
    if not numbers:
        return list(column.labels)
    return [int(v) for v in numbers] if all(v == int(v) for v in numbers) else list(numbers)


def _is_plain(texts: list[str], is_bool: bool, column: Column) -> bool:
    """Check whether numbers, or booleans, need no codebook to be read correctly."""
    levels = [level.value for level in column.levels]
    if column.kind == NOMINAL or levels != column.labels:
        return False
    written = [text for text in texts if text]
    if {*levels} in ({"0", "1"}, {"-1", "1"}) or ({*levels} == {"False", "True"} and is_bool):
        return levels[-1] in ("1", "True") and set(written) <= set(levels)
    if column.kind == YES_NO or not written or not all(map(is_number, [*levels, *written])):
        return False
    numbers, scale = [float(text) for text in written], [float(level) for level in levels]
    if column.kind == CONSTANT:
        return True
    if column.does == STEPS:
        return len(set(np.diff(scale))) == 1 and set(numbers) <= set(scale)
    if is_named_time(column.name):
        return False  # where only the user says that it is an answer
    return scale == np.arange(min(numbers), max(numbers) + 1).tolist()
