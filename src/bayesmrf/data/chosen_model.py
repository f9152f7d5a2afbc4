"""The choice of the model by the levels of the data, where it is "auto"."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DataError, LevelsWarning, argument
from ..findings import tell
from ..names import digits, quoted
from .cells import to_numbers, unmasked
from .codebook import MOST_LEVELS
from .counts_and_labels import check_weights
from .frames import cells, in_pandas, is_frame
from .kinds.nominal import is_unordered, nominal_column
from .kinds.number import problems_of_few, recoded, with_gaps, without_scale
from .kinds.ordered import ordered_scales
from .kinds.values import Values
from .level_names import NOMINAL
from .levels import remedy_of
from .table_forms import require_answers

_log = logging.getLogger(__name__)
_STRAY = 0.02  # share of the answers of a column, up to which levels that yes/no columns lack may be mistakes


def ordered_column(X: Any) -> str | None:
    """Return the name of the first column with more than two ordered levels; None if there is none.

    Ordered levels are pandas' ordered categories or, in a table of integers from 0, at most 12 levels. None is returned
    for a table with identifiers, with columns on different scales, or with codes of missing values, which are not
    answers (`bayesmrf.data.levels.find_foreign`).

    Raises
    ------
    DataError
        If columns next to ordered categories are such.
    """
    X = in_pandas(X)
    if is_frame(X):
        scales = ordered_scales(X)
        first = next((name for name, column in scales.items() if column.max(initial=0) > 2), None)
        if first is not None:
            _check_others(X, scales)
            return first
        X = X.loc[:, [str(name) not in scales for name in X.columns]]
    names, columns = _answers(X)
    kept = [column[column == column] for column in columns]  # NaN is missing
    if all(column.max(initial=0) <= 1 for column in kept) or not all(map(_is_counted, kept)) or remedy_of(kept, names):
        return None
    even = recoded(dict(zip(names, kept, strict=True)))
    small = (i for i, column in enumerate(kept) if names[i] in even or column.max(initial=0) <= MOST_LEVELS)
    return next((names[i] for i in small if 2 < len(np.unique(kept[i])) <= MOST_LEVELS), None)


def _is_counted(column: np.ndarray) -> bool:
    """Return whether all values of a column are integers from 0."""
    return bool(((column >= 0) & (column == np.round(column))).all())


def _check_others(X: Any, scales: dict[str, np.ndarray]) -> None:
    """Refuse a table in which columns next to the ordered categories (``scales``) are not answers."""
    names, columns = _answers(X.loc[:, [str(name) not in scales for name in X.columns]])
    answers = [column[column == column] for column in columns]
    # The categories are part of the scale: without them a single column, such as an age, is on a scale of its own.
    unless = f"or set {argument('model', 'ordinal')} if all values are answers."
    remedy = remedy_of([*answers, *scales.values()], [*names, *scales], len(names))
    if remedy:
        raise DataError(f"{argument('X')} must contain answers only: {remedy}, {unless}")
    for name, column in zip(names, answers, strict=True):
        if not _is_counted(column):
            value = next(v for v in column if v < 0 or v != np.round(v))
            raise DataError(f"{argument('X')} must contain integers from 0 next to ordered categories, got "
                            f"{digits(value)} in column {quoted(name)}; recode or drop it, {unless}")  # fmt: skip


def _answers(X: Any) -> tuple[list[str], list[np.ndarray]]:
    """Return names and values of the columns of a table of numbers; none of another one."""
    X = in_pandas(X)
    named = is_frame(X)
    values = cells(X) if named else unmasked(X)
    if values.ndim != 2 or not values.size or np.iscomplexobj(values):
        return [], []
    names = [str(c) for c in X.columns] if named else [str(i) for i in range(values.shape[1])]
    try:
        numbers, _ = to_numbers(values, tuple(names))
    except DataError:
        return [], []
    return names, list(numbers.T)


def _counts(column: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the levels of a column, and how often each was observed."""
    observed = column == column  # NaN is missing
    levels, place = np.unique(column[observed], return_inverse=True)
    return levels, np.bincount(place, None if weights is None else weights[observed], len(levels))


def choose_model(X: Any, sample_weight: Any, yes_no: str) -> str:
    """Return "ordinal" if a column of X has more than two ordered levels, else the model ``yes_no``.

    The log names the column, and a warning says if it may be by mistake.
    """
    require_answers(X)
    column = ordered_column(X)
    if column is None:
        return yes_no
    _require_scales(X)
    _warn_of_stray_levels(X, sample_weight)
    _log.info("The model is ordinal, as column %s has more than two ordered levels.", quoted(column))
    return "ordinal"


def _require_scales(X: Any) -> None:
    """Refuse an array with columns of codes, such as 1, 6, 9; the columns of a table have a codebook."""
    if is_frame(in_pandas(X)):
        return
    names, columns = _answers(X)
    answers = {name: column[column == column] for name, column in zip(names, columns, strict=True)}
    values = [Values(name, Counter(map(digits, answers[name].tolist()))) for name in with_gaps(answers)]
    texts = problems_of_few([*without_scale(values).values()], values)
    if texts:
        raise DataError(f"{argument('X')} must contain answers only: {texts[0]}, or set {argument('model', 'ordinal')} "
                        "if all values are answers.")  # fmt: skip


def _warn_of_stray_levels(X: Any, sample_weight: Any) -> None:
    """Warn if all columns have the same two levels but for a few answers."""
    weights = check_weights(sample_weight, in_pandas(X), len(X))
    names, columns = _answers(X)
    counted = [_counts(column, weights) for column in columns]
    usual = {tuple(levels) for levels, _ in counted if len(levels) == 2}
    if len(usual) != 1:
        return
    (two,) = usual
    strays = [(i, ~np.isin(levels, two), counts) for i, (levels, counts) in enumerate(counted)]
    strays = [(i, stray, counts) for i, stray, counts in strays if stray.any()]
    # Ordered categories may have levels that never occur.
    if not strays or any(counts[stray].sum() > max(1, _STRAY * counts.sum()) for _, stray, counts in strays):
        return
    i, stray, counts = strays[0]
    more = f", as have {len(strays) - 1} other column(s)" if len(strays) > 1 else ""
    tell(
        f"{argument('model', 'auto')} is ordinal only because column {quoted(names[i])} has the value "
        f"{counted[i][0][stray][0]:g} in {counts[stray][0]:,.0f} of {counts.sum():,.0f} rows{more}, where all other "
        f"answers are {two[0]:g} or {two[1]:g}; correct it or make it missing if it is a mistake, else give "
        f"{argument('model', 'ordinal')}",
        LevelsWarning,
    )


def choose(X: Any, sample_weight: Any, yes_no: str, models: Sequence[str]) -> str:
    """Return the model that "auto" stands for: "nominal" if columns have categories without order, among ``models``.

    The others are those of `bayesmrf.data.chosen_model.choose_model`.
    """
    column = nominal_column(X) if NOMINAL in models else None
    if column is None:
        return choose_model(X, sample_weight, yes_no)
    X = in_pandas(X)
    ordered_column(X.loc[:, [not is_unordered(item) for _, item in X.items()]])  # refuses columns that are no answers
    _log.info("The model is nominal, as column %s has categories without order.", quoted(column))
    return NOMINAL
