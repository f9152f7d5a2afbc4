"""Waves of the same people, or a series: which rows follow each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError, OptionError, argument
from ..names import quoted
from .cells import widened
from .frames import in_pandas, is_frame, no_table
from .time_columns import time_columns
from .time_stamps import in_steps, seconds_of

_NAMED = 3  # distances of waves
_SAME, _ROUNDED = 1e-9, 16 * np.finfo(float).eps  # of the range, and of the largest time: differences by rounding
_NEAR = 1e-6  # share of the step by which a distance may be off
_NUMBER_WAVES = "if those of a person are one step apart, number them 1, 2, 3, ..."


class Order(NamedTuple):
    """Person and time of each row, in the order of the table."""

    person: np.ndarray  # (n,) int
    time: np.ndarray  # (n,) float
    day: np.ndarray  # (n,) int; rows of different days do not follow each other

    def at(self, rows: np.ndarray) -> Order:
        """Select the order of some rows; people without any of these rows are left out."""
        return Order(self.person[rows], self.time[rows], self.day[rows])


@dataclass(frozen=True)
class Transitions:
    """Pairs of rows that follow each other at the usual distance.

    Those with missing answers are left out, or completed.

    Attributes
    ----------
    before, after : (n,) int array
        Rows of the table.
    person : (n,) int array
        The person of each: a place in ``first``.
    first : (n_people,) int array
        Row of the first wave of each person who has a row, in the order of their codes.
    step : float
        The usual distance of two waves: the least one of successive waves of a person.
    distances : tuple of (float, int)
        The most frequent distances of successive waves of a person, and how often they occur.
    n_pairs, n_gaps, n_missing : int
        How many pairs of successive rows of a person there are, how many of these are left out as waves between them
        are not in the table, and in how many answers are missing.
    is_completed : bool
        Whether missing answers are drawn; else these pairs are left out.
    n_nights : int
        How many rows of a person are followed by one of another day, which lags do not cross.
    """

    before: np.ndarray
    after: np.ndarray
    person: np.ndarray
    first: np.ndarray
    step: float
    distances: tuple[tuple[float, int], ...]
    n_pairs: int
    n_gaps: int
    n_missing: int
    is_completed: bool = False
    n_nights: int = 0

    @property
    def n_left_out(self) -> int:
        """Number of pairs that are left out."""
        return self.n_gaps + (0 if self.is_completed else self.n_missing)

    def of_whole(self, values: np.ndarray) -> Transitions:
        """Select the transitions without missing answers."""
        whole = (values[self.before] >= 0).all(axis=1) & (values[self.after] >= 0).all(axis=1)
        return replace(self, before=self.before[whole], after=self.after[whole], person=self.person[whole])

    def in_table(self, rows: np.ndarray) -> Transitions:
        """Number transitions by the rows of a table, of which ``rows`` were read."""
        return replace(self, before=rows[self.before], after=rows[self.after], first=rows[self.first])

    @property
    def numbers(self) -> dict[str, Any]:
        """How many there are, and how many are left out, by name."""
        return {
            "people": self.n_people, "pairs": self.n_pairs, "used": len(self.before), "gaps": self.n_gaps,
            "missing": self.n_missing, "step": self.step, "completed": int(self.is_completed), "nights": self.n_nights,
        }  # fmt: skip

    @property
    def n_people(self) -> int:
        """Number of people with a transition."""
        return len(np.unique(self.person))

    @property
    def is_mostly_left_out(self) -> bool:
        """Whether most pairs of successive waves are not at the usual distance."""
        return 2 * self.n_gaps > self.n_pairs

    @property
    def distances_in_words(self) -> str:
        """The most frequent distances of successive waves."""
        return f"distances of successive waves: {_in_words(self.distances)}"

    @property
    def said(self) -> str:
        """How many transitions are used, and why others are not."""
        n, gaps, missing = len(self.before), self.n_gaps, self.n_missing
        summary = f"{n:,} of {self.n_pairs:,} pairs of consecutive rows are used"
        others = f" ({self.distances_in_words}); {_NUMBER_WAVES}" if self.is_mostly_left_out else ""
        why = [f"{gaps:,} not {self.step:g} apart{others}"] if gaps else []
        why += [f"{missing:,} with missing answers"] if missing and not self.is_completed else []
        return f"{summary}; skipped are {' and '.join(why)}" if why else summary


def without_order(X: Any, person: Any, wave: Any, day: Any = None) -> tuple[Any, Order]:
    """Return the answers of a long table, and the person and the time of each row.

    Parameters
    ----------
    X : array or DataFrame
    person, wave, day : str, (n,) sequence or None
        A column of the table, which is no item, or a value for each row. Without a person all rows are one series;
        without a wave those of a person, and of a day if there are days, follow each other.

    Raises
    ------
    DataError, OptionError
        If there is no such column, a value is missing, a wave is neither a number nor a time, or a person has a wave
        twice, on one day.
    """
    try:
        n = len(X)
    except TypeError:
        raise no_table(X) from None
    frame = in_pandas(X) if is_frame(X) else None
    options = {"person": person, "wave": wave, "day": day}
    named = {option: v for option, v in options.items() if isinstance(v, str)}
    values: dict[str, np.ndarray | None] = {}
    for option, v in options.items():
        if option in named:
            if frame is None or v not in frame:
                has = "X has no names" if frame is None else f"X has {', '.join(map(quoted, frame.columns))}"
                raise OptionError(option=option, got=v, expected=f"a column of X, or a value for each row; {has}")
            v = frame[v]
        values[option] = None if v is None else _column(option, v, n)
    if frame is not None and named:
        X = frame.drop(columns=[*named.values()])
    who, when = values["person"], values["wave"]
    code = np.zeros(n, int)
    if who is not None:
        import pandas as pd

        code = pd.factorize(who, sort=True)[0]  # whatever the order of the rows
    days = np.zeros(n, int)
    if values["day"] is not None:
        import pandas as pd

        days = pd.factorize(values["day"], sort=True)[0]
    series = np.unique(np.column_stack([code, days]), axis=0, return_inverse=True)[1].ravel()
    if when is None:
        order = np.argsort(series, kind="stable")
        at = np.zeros(n)
        at[order] = np.arange(n) - np.searchsorted(series[order], series[order])
        return X, Order(code, at, days)
    stamps = None if when.dtype.kind in "iuf" else seconds_of(when)
    steps = when if stamps is None else in_steps(stamps, series, when[0])
    try:
        at = _one_of_each(np.asarray(widened(steps), dtype=float))
    except (TypeError, ValueError):
        example = next(str(v) for v in when.tolist() if not _is_number(v))
        raise OptionError(
            option="wave", got=example, expected="a number for each row",
            remedy="number the waves 1, 2, 3, ... in order, or write times such as 2024-03-01 09:00",
        ) from None  # fmt: skip
    order = np.lexsort((at, series))
    same = (np.diff(series[order]) == 0) & (np.diff(at[order]) == 0)
    if same.any():
        k = order[np.flatnonzero(same)[0]]
        of = f" of person {quoted(who[k])}" if who is not None else ""
        remedy = "keep one row of each wave" if who is not None else f"give {argument('person')}, or keep one row"
        n_same = int(((series == series[k]) & (at == at[k])).sum())
        if who is not None and values["day"] is None and frame is not None and (other := _day_of(X, code, at)):
            remedy = f"give {argument('day', other)}, as waves begin again each day"
        raise DataError(f"{argument('X')} must have one row for each wave{of}, got wave {when[k]} in {n_same} rows; "
                        f"{remedy}.")  # fmt: skip
    return X, Order(code, at, days)


def transitions(values: np.ndarray, order: Order, complete: bool = False) -> Transitions:
    """Return the pairs of successive rows of a person at the least distance that any such pair has.

    Other people may have been asked at other times. Without ``complete`` none of their answers is missing.

    Raises
    ------
    DataError
        If there are none.
    """
    at = np.lexsort((order.time, order.day, order.person))
    code, time = order.person[at], order.time[at]
    begins = np.append(True, np.diff(code) != 0)
    person = np.cumsum(begins) - 1  # codes may have gaps, as people without any answer have no row
    same = ~begins[1:] & (np.diff(order.day[at]) == 0)
    between = np.diff(time)
    if not same.any():
        raise DataError(f"{argument('X')} must have two waves of a person, got one row of each of {person[-1] + 1:,} "
                        f"people; check {argument('person')}.")  # fmt: skip
    step = float(between[same].min())
    near: np.ndarray = between <= step + max(_NEAR * step, _ROUNDED * np.abs(time).max())
    whole = np.asarray((values >= 0).all(axis=1))[at]
    is_whole = whole[1:] & whole[:-1]
    used = same & near & (is_whole | complete)
    digits = 5 - int(np.floor(np.log10(step)))
    each, times = np.unique(np.round(between[same], digits), return_counts=True)
    order_of = np.argsort(-times, kind="stable")[:_NAMED]
    distances = tuple((float(each[k]), int(times[k])) for k in order_of)
    if not used.any():
        raise DataError(f"{argument('X')} must have two waves of a person at a distance of {step:g} without missing "
                        f"answers, got none (distances of successive waves: {_in_words(distances)}); {_NUMBER_WAVES}, "
                        "or correct the table if they have answers.")  # fmt: skip
    return Transitions(
        at[:-1][used], at[1:][used], person[:-1][used], at[begins], step, distances,
        int(same.sum()), int((same & ~near).sum()), int((same & near & ~is_whole).sum()), complete,
        int(((np.diff(code) == 0) & ~same).sum()),
    )  # fmt: skip


def _one_of_each(time: np.ndarray) -> np.ndarray:
    """Merge times that differ by rounding alone, such as 0.3 and 3 * 0.1."""
    distinct, place = np.unique(time, return_inverse=True)
    rounding = max(_SAME * np.ptp(distinct), _ROUNDED * np.abs(distinct).max())
    begins = np.append(True, np.diff(distinct) > rounding)
    merged: np.ndarray = distinct[begins][np.cumsum(begins) - 1][place.ravel()]
    return merged


def _in_words(distances: tuple[tuple[float, int], ...]) -> str:
    return ", ".join(f"{distance:g} ({n:,} times)" for distance, n in distances)


def _column(option: str, values: Any, n: int) -> np.ndarray:
    import pandas as pd

    series = pd.Series(np.asarray(values).ravel() if np.ndim(values) == 1 else [], dtype=None)
    if np.ndim(values) != 1 or len(series) != n:
        raise OptionError(
            option=option, got=f"{np.size(values):,} values", expected=f"one value for each of {n:,} rows"
        )
    if series.isna().any():
        row = int(np.flatnonzero(series.isna())[0])
        raise DataError(f"{argument(option)} must have a value for each row, got none in row {row}; drop these rows.")
    return series.to_numpy()


def _day_of(frame: Any, code: np.ndarray, at: np.ndarray) -> str:
    """Return the column of times within which no person has a wave twice; "" if there is none."""
    for name in time_columns(frame):
        keys = np.column_stack([code, at, frame[name].factorize()[0]])
        if len(np.unique(keys, axis=0)) == len(keys):
            return name
    return ""


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
