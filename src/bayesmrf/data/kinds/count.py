"""Columns that count how often each row was observed."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from ...errors import in_python
from ...names import in_shell, quoted
from ..codebook import MOST_WORDS

if TYPE_CHECKING:
    import pandas as pd
_COUNTS = re.compile(
    r"(?i)^(counts?|n|freq(uency|uencies)?|weights?|wt|times|n_?obs|cases|anzahl|h(ä|ae)ufigkeit(en)?|effectifs?|frecuencias?|aantal)$"
)
_FEWEST_COUNTS, _RARE = 4, 0.015  # levels of a scale of counts, and the share of its last one
_SINGLE = 3  # cells of a large count
_NEAR, _ERRORS = 3, 3  # levels before one of many, than which it is more frequent by so many standard errors by chance
_FEWEST_ROWS = 8  # of all combinations


def forgotten_count(frame: pd.DataFrame) -> str | None:
    """Return the column that counts how often the rest of its row was observed; None if there is none.

    Its values are integers from 0, others than 0 and 1. Either the other columns have each of all their combinations
    once, 8 or more of two or more columns with at most 20 values, as answers have; or they have none of them twice, and
    it is named like a count and has larger values than each.
    """
    numbers = {name: v for name in map(str, frame.columns) if (v := whole_numbers(frame[name])) is not None}
    candidates = [name for name, v in numbers.items() if v.min() >= 0 and v.max() > 1 and len(v) == len(frame)]
    sizes = {name: frame[name].nunique() for name in map(str, frame.columns)} if candidates else {}
    most = {name: v.max() for name, v in numbers.items()}
    n_wordy, n_ways = sum(size > MOST_WORDS for size in sizes.values()), math.prod(sizes.values())
    for name in sorted(candidates, key=lambda name: not is_count(name)):
        are_answers = len(sizes) > 2 and n_wordy == (sizes[name] > MOST_WORDS)
        is_all = are_answers and len(frame) >= _FEWEST_ROWS and n_ways == sizes[name] * len(frame)
        larger = is_count(name) and all(most[name] > top for other, top in most.items() if other != name)
        others = [other for other in sizes if other != name] if is_all or larger else []
        if others and not frame[others].duplicated().any():
            return name
    return None


def is_count(name: str) -> bool:
    """Return whether a column is named as one that counts rows."""
    return bool(_COUNTS.search(name))


def tail_of_counts(levels: np.ndarray, counts: np.ndarray, on_scale: np.ndarray) -> np.ndarray:
    """Return which sorted levels outside a scale are its tail, as large counts are, such as of animals.

    The scale is 0 and others, each less frequent than the three before it and the last ones rare; the tail has single
    cells, up to twice the largest level of the scale.
    """
    n, scale = counts[on_scale], levels[on_scale]
    before = np.array([n[max(i - _NEAR, 0) : i].max() for i in range(1, len(n))])
    falls = n[1:] <= before + _ERRORS * np.sqrt(before + 1.0)
    if len(n) < _FEWEST_COUNTS or scale[0] != 0 or n[0] < n.max() or not falls.all() or n[-1] > _RARE * n.sum():
        return np.zeros_like(on_scale)
    return ~on_scale & (levels > scale[-1]) & (levels <= 2 * scale[-1]) & (counts <= _SINGLE)


def count_problem(name: str) -> str:
    """Describe a column of counts, and the argument to give instead."""
    give = in_python(f"sample_weight=X[{quoted(name)}], without this column in X", f"--weight {in_shell(name)}")
    return f"column {quoted(name)} looks like the number of times that each row was observed; give {give}"


def whole_numbers(column: pd.Series) -> np.ndarray | None:
    """Return the integers of a column that are not missing; None if it has other values, or none."""
    if column.dtype.kind not in "iuf":
        return None
    values = column.dropna().to_numpy(dtype=np.float64)
    return values if len(values) and bool((values == np.round(values)).all()) else None
