"""Labels of groups of people: which there are, and the group of each row."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, LevelsWarning, OptionError, argument, data_row, in_words
from ..findings import tell
from ..names import listed, quoted, shown
from .cells import is_missing, stripped, unmasked
from .check_columns import warn_of_texts
from .frames import check_index, column_in_pandas, widened_column
from .levels import warn_of_codes
from .states import States, are_ordered, levels_of

if TYPE_CHECKING:
    import pandas as pd

FEWEST_ROWS = 10  # of a group
_X, _GROUPS = argument("X"), argument("groups")


def read_groups(groups: Any, X: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of the groups, sorted (categories in their order), and the number of each row's group.

    Raises
    ------
    DataError
        If there is not one label for each row, or there are fewer than two different ones; for labels that are missing
        (also blank texts, "NA" and the like), or that look the same, such as 1 and "1".
    """
    import pandas as pd

    column = _labels_of_rows(groups, X, n)
    if isinstance(column.dtype, pd.CategoricalDtype):
        labels = list(column.cat.remove_unused_categories().cat.categories)
    else:
        column = column.map(stripped)
        labels = list(column.unique())
        with suppress(TypeError):  # of different types: in the order of the rows
            labels = sorted(labels)
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    known: dict[str, Any] = {}
    for label in labels:
        other = known.setdefault(str(label).strip(), label)
        if other is not label:
            raise DataError(f"{_GROUPS} must have labels that differ as texts, got {in_words(other)} and "
                            f"{in_words(label)}; make them one label, or rename one of them.")  # fmt: skip
    if len(labels) < 2:
        raise DataError(f"{_GROUPS} must have at least two different labels, but all are {labels[0]!r}.")
    warn_of_texts(_GROUPS, labels)
    warn_of_codes(_GROUPS, column)
    code = column.map({label: g for g, label in enumerate(labels)}).to_numpy().astype(np.int64)
    return np.array(labels, dtype=object), code


def codes_of(groups: Any, X: Any, n: int, labels: np.ndarray) -> np.ndarray:
    """Return the number of the group of each of ``n`` new rows, by the labels of the fitted groups.

    Raises
    ------
    DataError
        If there is not one label for each row; for labels that are missing, or not those of a fitted group.
    """
    number, column = _numbers(labels), _labels_of_rows(groups, X, n)
    codes = np.array([number.get(stripped(label), -1) for label in column])
    if (codes < 0).any():
        row = int(np.argmin(codes))
        raise DataError(f"{_GROUPS} must be labels of the fitted groups ({_listed(labels)}), got "
                        f"{in_words(column[row])} in {data_row(row)}; leave out rows of other groups.")  # fmt: skip
    return codes


def code_of(group: Any, labels: np.ndarray) -> int:
    """Return the number of a fitted group by its label.

    Raises
    ------
    OptionError
    """
    try:
        return _numbers(labels)[stripped(group)]
    except (KeyError, TypeError):  # a list, for example
        expected = f"the label of a fitted group ({_listed(labels)})"
        raise OptionError(option="group", got=group, expected=expected) from None


def _numbers(labels: np.ndarray) -> dict[Any, int]:
    return {stripped(label): g for g, label in enumerate(labels)}


def _listed(labels: np.ndarray) -> str:
    return listed([in_words(label) for label in labels])


def _labels_of_rows(groups: Any, X: Any, n: int) -> pd.Series:
    """Check the labels of the groups of ``n`` rows; rows without a label are refused."""
    import pandas as pd

    check_index("groups", groups, X)
    original = groups
    groups = column_in_pandas(groups) if hasattr(groups, "to_numpy") else unmasked(groups)
    if np.ndim(groups) != 1 or len(groups) != n:
        raise DataError(option="groups", got=original, expected=f"{n:,} labels, one for each row of the data")
    column = widened_column(pd.Series(groups).reset_index(drop=True))
    lacking = np.flatnonzero(is_missing(column.to_numpy(dtype=object)))
    if len(lacking):
        raise DataError(f"{_GROUPS} must not have missing labels, but {len(lacking):,} row(s) have none, the first of "
                        f"them {data_row(lacking[0])}; drop these rows.")  # fmt: skip
    try:
        column.unique()
    except TypeError:  # lists, for example
        raise DataError(option="groups", got=column[0], expected="texts, numbers or categories") from None
    return column


def check_group(label: Any, states: States) -> None:
    """Refuse groups with few rows, and groups in which a column has no answer, so that nothing can be compared."""
    name = shown(str(label))
    if states.n_samples < FEWEST_ROWS:
        raise DataError(f"{_GROUPS} must give groups of at least {FEWEST_ROWS} rows each, but '{name}' has "
                        f"{states.n_samples:g}; merge or leave out small groups.")  # fmt: skip
    for node, used in zip(states.names, _levels_in(states), strict=True):
        if not used:
            raise DataError(f"{_X}: column '{shown(node)}' has no answer in group '{name}', so that the groups cannot "
                            "be compared there; leave out the column or the group.")  # fmt: skip


def check_compared(parts: Sequence[States]) -> None:
    """Refuse columns that are constant in every group, so that nothing can be compared."""
    for node, *used in zip(parts[0].names, *map(_levels_in, parts), strict=True):
        if all(len(levels) < 2 for levels in used):
            raise DataError(f"{_X}: column '{shown(node)}' is constant in every group, so that the groups cannot be "
                            "compared there; leave out the column.")  # fmt: skip


def warn_of_absent_levels(labels: np.ndarray, parts: Sequence[States]) -> None:
    """Warn of levels that do not occur in a group, and of columns that are constant in a single group."""
    occurring, coding = [_levels_in(part) for part in parts], parts[0].coding
    ordered = are_ordered(coding, len(parts[0].names))
    absent, constant = [], []
    for i, name in enumerate(parts[0].names):
        of_all, levels = set().union(*(each[i] for each in occurring)), levels_of(coding, i)
        for label, used in zip(labels, occurring, strict=True):
            group = quoted(str(label))
            if len(used[i]) == 1 and len(of_all) > 1:
                constant.append((quoted(name), f"{quoted(name)} is always {levels[min(used[i])]} in {group}"))
                continue
            lacking = sorted(of_all - used[i])
            absent += [(level, f"{quoted(name)} is never {levels[level]} in {group}", ordered[i]) for level in lacking]
    if constant:
        name, first = constant[0]
        tell(
            f"A column with a single answer in a group stays in the model: {first}{_more(constant)}. Its node "
            "parameters in that group follow from the prior of biases, and the group says hardly anything about the "
            f"edges of {name}: differences in these edges follow from their prior and the other groups; leave out the "
            "column if these differences are not of interest.",
            LevelsWarning,
        )
    if absent:
        _, first, is_ordered = min(absent)
        term, other = ("threshold", "the next one") if is_ordered else ("log weight", "another one")
        low = (
            f" Thresholds are relative to the lowest level: {argument('method', 'reversible-jump')} moves those of "
            "one that is never given together, and needs fewer draws."
        )
        tell(
            f"A level that a group never has stays in the model: {first}{_more(absent)}. Its {term} in that group "
            "follows from the prior of biases, and edges are compared by the other levels; merge it with "
            f"{other} if it is rare in all groups."
            f"{low if any(level == 0 and has_order for level, _, has_order in absent) else ''}",
            LevelsWarning,
        )


def _more(items: Sequence[Any]) -> str:
    return f", and {len(items) - 1} more" if len(items) > 1 else ""


def _levels_in(states: States) -> list[set[int]]:
    """Return the states of each column that occur."""
    values = states.values if states.weights is None else states.values[states.weights > 0]
    return [{*range(size)} & {*column.tolist()} for column, size in zip(values.T, states.sizes, strict=True)]


def check_written(groups: pd.Series, texts: Sequence[str], by: str) -> None:
    """Refuse different texts, such as 1.1 and 1.10, that are the same number and so would be one group."""
    if groups.dtype.kind not in "iuf" or len(texts) != len(groups):
        return
    known: dict[Any, str] = {}
    for value, text in zip(groups.tolist(), texts, strict=True):
        if value == value and known.setdefault(value, text) != text:
            raise DataError(f"--by: labels {quoted(known[value])} and {quoted(text)} of column {quoted(by)} are the "
                            "same number; write a letter before the labels if they are different groups, else write "
                            "them in one way")  # fmt: skip
