"""Dates and times of rows as numbers of steps, where rows of one person are at about equal distances."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..errors import OptionError

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?(Z|[+-]\d{2}:?\d{2})?")
_NEAR, _APART = 0.25, 1.5  # from one step: share of it that a distance may differ; steps of a gap
_MOST_BETWEEN = 0.05  # share of distances that are neither
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def seconds_of(values: np.ndarray) -> np.ndarray | None:
    """Return dates and times, of pandas or as texts such as 2024-03-01 09:00, in seconds; None for other values."""
    import pandas as pd

    texts = [str(value).strip() for value in values]
    if values.dtype.kind != "M" and not all(map(_ISO.fullmatch, texts)):
        return None
    try:
        times = pd.to_datetime(pd.Series(values if values.dtype.kind == "M" else texts), utc=True, format="ISO8601")
    except ValueError:  # the 31st of February
        return None
    at: np.ndarray = (times - times.min()).dt.total_seconds().to_numpy()
    return at


def in_steps(at: np.ndarray, series: np.ndarray, example: Any) -> np.ndarray:
    """Return times as numbers of steps from the first one of each series.

    A step is the most frequent distance of two rows that follow each other, or the median one if the most frequent
    is that of less than half of them. A distance within 25 % of a step is one, and one of 1.5 or more steps is a gap.

    Parameters
    ----------
    at : (n,) array
        Times in seconds.
    series : (n,) int array
        Rows of different series, such as people, or days of people, do not follow each other.
    example : object
        A time of the user's table, for the message.

    Raises
    ------
    OptionError
        If more than 5 % of the distances are neither a step nor a gap.
    """
    order = np.lexsort((at, series))
    apart, same = np.diff(at[order]), np.diff(series[order]) == 0
    used = same & (apart > 0)
    if not used.any():
        return np.zeros(len(at))
    distances, counts = np.unique(apart[used], return_counts=True)
    often = 2 * counts.max() >= counts.sum()
    step = float(distances[counts.argmax()] if often else np.median(apart[used]))
    ratio = apart / step
    near, gap = np.abs(ratio - 1) <= _NEAR, ratio >= _APART
    share = 1 - float((near | gap)[used].mean())
    if share > _MOST_BETWEEN:
        name, unit = next((name, unit) for name, unit in _UNITS if step >= unit or unit == 1)
        raise OptionError(
            option="wave", got=str(example), expected="times at about equal distances; half of the distances are "
            f"below {step / unit:.3g} {name}{'s' * (step != unit)}, and {share:.0%} of them are neither a step nor a "
            "gap", remedy="number the rows of each day 1, 2, 3, ... and give the column of the day, too",
        )  # fmt: skip
    number = np.where(near, 1, np.maximum(np.round(ratio), 2)) * used
    total = np.append(0.0, np.cumsum(number))
    starts = np.append(0, np.flatnonzero(~same) + 1)
    begun = np.repeat(total[starts], np.diff(np.append(starts, len(at))))
    steps = np.empty(len(at))
    steps[order] = total - begun
    return steps
