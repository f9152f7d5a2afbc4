"""Detect identifiers, columns on a different scale, and codes of missing values in a table of answers.

Tables of answers have few levels, and most columns have the same levels. Exceptions are not answers: a row number, an
age in addition to items from 1 to 5, or -9 and 99 for "no answer".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import LevelsWarning, missing_code
from ..findings import tell
from ..names import digits, listed, quoted, shown
from .cells import is_number, is_whole
from .codebook import MOST_NAMED
from .kinds.count import tail_of_counts
from .kinds.identifier import is_identifier
from .kinds.number import remedy_for_measurements, remedy_for_pictures

_MANY_ROWS = 20  # fewer rows may differ by chance
_MANY_VALUES = 100  # fewer may leave out a level by chance
_EXPECTED = 20.0  # values in empty levels, from which they are not empty by chance
_EXPECTED_USUAL = 10.0  # the same of several empty levels before values that are all customary codes
_USUAL = [int(str(digit) * n) for digit in (7, 8, 9) for n in range(1, 6)]  # 7, 77, ..., 99999
_NEAR = 3  # levels on one side of a gap whose values tell how many to expect in it
_RARE = 0.05  # share of the values beyond a single empty level, from which it counts as a level that was never chosen
_FEW = 0.2  # share of the values, below which -1 before levels from 0 or 1, or 9 behind a gap, is no level
_STRAYS = 0.01  # share of the values of a column of integers, up to which others are mistakes, such as a row of means
_FEW_LEVELS = 12  # of a scale of answers; longer ones have gaps


@dataclass(frozen=True)
class Foreign:
    """Columns and values that do not look like answers."""

    ids: list[int] = field(default_factory=list)  # columns that number or name the rows
    # Columns whose values lie outside the levels of the others, or that have many more levels
    scales: list[int] = field(default_factory=list)
    # Values outside the levels, and how often they occur, the most frequent first
    codes: dict[float, int] = field(default_factory=dict)
    levels: tuple[float, ...] = ()  # the levels: a range of evenly spaced values with most of the answers

    @property
    def span(self) -> str:
        """The ends of the levels, in words."""
        if len(self.levels) > 2:
            return f"{digits(self.levels[0])} to {digits(self.levels[-1])}"
        return " and ".join(map(digits, self.levels))

    @property
    def remedy(self) -> str:
        """What to do about the codes."""
        code = "they code" if len(self.codes) > 1 else "it codes"
        return f"{missing_code(*map(digits, list(self.codes)[:MOST_NAMED]))} if {code} missing values"

    def columns(self, names: Sequence[str]) -> tuple[list[str], str]:
        """List the columns among the first ones (``names``) that are not answers, and describe the first."""
        ids, scales = ([names[i] for i in which if i < len(names)] for which in (self.ids, self.scales))
        scale = f"is on a different scale than the others, whose levels are {self.span}"
        return ids + scales, "looks like an identifier" if ids else scale


def find_foreign(columns: Sequence[np.ndarray], names: Sequence[str]) -> Foreign:
    """Find identifiers, columns on a different scale, and codes outside the levels.

    Parameters
    ----------
    columns : sequence of arrays
        The values of each column that are not missing: numbers or texts.
    names : sequence of str
        Their names.

    Notes
    -----
    An identifier has at least 20 values, nearly all of them different, and either numbers the rows, or is named
    like one, or is among columns with few levels. The levels of the other integer columns are pooled, and divided
    where more than one consecutive level is empty, or a single one before the last 5 % of at least 100 values, or
    before less than 20 % that are all customary codes.
    Empty levels do not count if they may be empty by chance: if the three levels next to them, on the side with
    more values, suggest fewer than 20 values there (10 in several levels before customary codes such as 9 and 99;
    any number between negative values and others). A -1 next to 0 or 1 is apart where it is rare, except in the
    coding -1, 0, 1. The part with most values is the scale; the other parts are codes, unless they contain most
    values of a column, which is then on a different scale. On scales of more than 12 levels, codes are at least the
    width of the scale away from it, or below zero if the scale is not. Fractions that are at most 1 % of a column of
    at least 20 integers, or one, are codes.
    """
    counted, fractions = zip(*map(_split, columns), strict=True) if columns else ((), ())
    distinct = np.array([len(levels) for levels, _ in counted])
    ids = [i for i in range(len(columns)) if is_identifier(i, counted, distinct, names[i])]
    whole = [i for i, (v, _) in enumerate(counted) if i not in ids and len(v) and is_whole(v)]
    if not whole:
        return Foreign(ids)
    strays = sum(fractions, Counter[float]())
    most = 3 * float(np.median(distinct[whole])) + 10
    scales = [i for i in whole if distinct[i] > most]
    whole = [i for i in whole if i not in scales]
    levels, place = np.unique(np.concatenate([counted[i][0] for i in whole]), return_inverse=True)
    counts = np.bincount(place, weights=np.concatenate([counted[i][1] for i in whole])).astype(np.int64)
    on_scale = _scale(levels.astype(float), counts)
    on_scale |= tail_of_counts(levels, counts, on_scale)
    outside = levels[~on_scale]
    for i in whole:
        apart = np.isin(counted[i][0], outside)
        if counted[i][1][apart].sum() > len(columns[i]) / 2:
            scales.append(i)
    codes = dict.fromkeys(outside.tolist(), 0)
    for i in set(whole) - set(scales):
        for value, n in zip(*counted[i], strict=True):
            if value in codes:
                codes[value] += int(n)
    codes = {float(v): n for v, n in Counter(codes | strays).most_common() if n}
    return Foreign(ids, sorted(scales), codes, tuple(levels[on_scale].tolist()))


def remedy_of(columns: Sequence[np.ndarray], names: Sequence[str], n: int | None = None) -> str:
    """Return the remedy for columns and values that do not look like answers; "" if all do.

    Parameters
    ----------
    columns, names : sequences
        As in `find_foreign`.
    n : int, optional
        Number of columns, the first ones, that may be other than answers.
    """
    foreign = find_foreign(columns, names)
    others, kind = foreign.columns(names[:n])
    if others:
        return f"drop columns that are not answers: {listed(list(map(quoted, others)))} (the first {kind})"
    return f"{foreign.remedy} (the levels are {foreign.span})" if foreign.codes else ""


def warn_outside(what: str, columns: Mapping[str, np.ndarray]) -> None:
    """Warn of values outside the levels of a table whose values are all taken as levels; see `find_foreign`."""
    foreign = find_foreign(list(columns.values()), list(columns))
    if foreign.codes:
        tell(
            f"{listed([digits(code) for code in foreign.codes])} of {what} ({sum(foreign.codes.values()):,} values) "
            f"lie outside the levels {foreign.span}, and become levels; {foreign.remedy}",
            LevelsWarning,
        )


def warn_of_codes(what: str, labels: Iterable[Any]) -> None:
    """Warn of a label of groups that is a customary code of missing values, such as -9 next to 1 and 2.

    It is negative or 9, 99, or the like, and lies outside the levels of the other labels, or next to texts.
    """
    counts = Counter(labels)
    numbers = {label: float(label) for label in counts if is_number(label)}
    codes = [label for label, number in numbers.items() if number < 0 or number in _USUAL]
    if len(numbers) == len(counts):
        outside = find_foreign([np.array([numbers[label] for label in counts.elements()])], [""]).codes
        codes = [label for label in codes if numbers[label] in outside]
    if codes and len(codes) < len(counts):
        others = listed(sorted(shown(label) for label in counts if label not in codes))
        tell(
            f"{what} must be labels of groups, and {shown(codes[0])}, of {counts[codes[0]]:,} rows next to {others}, "
            "looks like a code of missing values; leave out these rows if it is one",
            LevelsWarning,
        )


def _split(column: np.ndarray) -> tuple[tuple[np.ndarray, np.ndarray], Counter[float]]:
    """Return the values of a column with their numbers, and apart from them the few fractions among many integers."""
    levels, counts = np.unique(column, return_counts=True)
    if levels.dtype.kind == "f" and np.isfinite(levels).all() and len(column) >= _MANY_ROWS:
        apart = levels != np.round(levels)
        if counts[apart].sum() <= max(1, _STRAYS * len(column)):
            strays = Counter(dict(zip(levels[apart].tolist(), counts[apart].tolist(), strict=True)))
            return (levels[~apart], counts[~apart]), strays
    return (levels, counts), Counter()


def _scale(levels: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return which of the sorted levels belong to the scale."""
    if len(levels) < 3:
        return np.ones(len(levels), dtype=bool)
    gaps = np.diff(levels)
    sizes, place = np.unique(gaps, return_inverse=True)
    step = sizes[np.argmax(np.bincount(place, weights=np.minimum(counts[1:], counts[:-1])))]
    cumulated = np.append(0, np.cumsum(counts))
    below, total = cumulated[1:-1], cumulated[-1]
    rare = np.minimum(below, total - below) < _RARE * total
    left = below - cumulated[np.searchsorted(levels, levels[:-1] - _NEAR * step, side="right")]
    right = cumulated[np.searchsorted(levels, levels[1:] + _NEAR * step, side="left")] - below
    expected = np.maximum(left, right) / _NEAR * (gaps / step - 1)
    usual = np.logical_and.accumulate(np.isin(levels, _USUAL)[::-1])[::-1][1:]  # all levels above
    enough = np.where(usual & (gaps > 2 * step), _EXPECTED_USUAL, _EXPECTED)
    sure = (expected >= enough) | ((levels[:-1] < 0) & (levels[1:] >= 0))
    few = rare | (usual & (total - below < _FEW * total))  # 9 or 7, 8, 9 behind the scale are codes rather than levels
    cut = sure & ((gaps > 2 * step) | ((gaps > step) & few & (total >= _MANY_VALUES)))
    cut[0] |= levels[0] == -1 and levels[1] >= 0 and levels[-1] > 1 and counts[0] < _FEW * total  # a code, not -1/0/1
    piece = np.concatenate([[0], np.cumsum(cut)])
    held = np.bincount(piece, weights=counts)
    if held.max() <= counts.sum() / 2:  # no scale of answers
        return np.ones(len(levels), dtype=bool)
    inside = piece == np.argmax(held)
    low, high = levels[inside][[0, -1]]
    if inside.sum() > _FEW_LEVELS:
        width = high - low
        inside = (levels >= low - width) & (levels <= high + width) & ((levels >= 0) | (low < 0))
    return inside


def remedy_in(table: np.ndarray, missing: np.ndarray | None, labels: tuple[str, ...], measured: bool = True) -> str:
    """Return the remedy of `remedy_of` for a table, or that for measurements, if these are ``measured``."""
    columns = [c if missing is None else c[~missing[:, i]] for i, c in enumerate(table.T)]
    remedy = remedy_for_pictures(columns) or remedy_of(columns, labels)
    return remedy or (remedy_for_measurements(columns, labels) if measured else "")
