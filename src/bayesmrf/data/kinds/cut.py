"""Ordered levels of about equal counts, into which numbers are cut, and codes that must not be among these."""

from __future__ import annotations

import re

import numpy as np

from ...errors import LevelsWarning, OptionError, missing_code
from ...findings import tell
from ...names import digits, listed, quoted
from ..codebook import MOST_NAMED, ORDERED, YES_NO, Column, Level
from .values import Values

_CODE = re.compile(r"-?(?:([789])\1*|9+[6-9])|-1")  # customary codes, such as 9, 99, 98, 999999, -1, -77
_FEWEST = 5  # other numbers, which tell how far from them a code is
_APART = 2  # times as wide as any gap between the other numbers is that before a code
_FAR = 10  # times as large as all others is a number that is a code though it occurs once
_TWICE = 2


def cut(content: Values, n: int) -> Column:
    """Return a column of numbers in at most ``n`` levels of about equal counts; equal numbers stay together.

    A number with a larger share of the cells than 1 / n is a level of its own.
    """
    numbers = content.numbers
    if numbers is None or n < 2:
        expected = "a column of numbers and two or more levels"
        raise OptionError(option="cut", got=f"{content.name}:{n}", expected=expected)
    spans = [(part[0], part[-1], len(part)) for part in _levels(np.sort(numbers), n)]
    if len(spans) < 2:
        raise OptionError(option="cut", got=f"{content.name}:{n}", expected="fewer levels than numbers that differ")
    texts = [digits(low) if low == high else f"{digits(low)} to {digits(high)}" for low, high, _ in spans]
    levels = tuple(Level(text, text, k) for text, (*_, k) in zip(texts, spans, strict=True))
    does = f"{len(spans)} levels instead of {n}, as few numbers fill most of the cells" if len(spans) < n else ""
    if does:
        tell(f"column {quoted(content.name)} is cut into {does}", LevelsWarning)
    return content.column(ORDERED if len(spans) > 2 else YES_NO, [], does)._replace(levels=levels)


def _levels(numbers: np.ndarray, n: int) -> list[np.ndarray]:
    """Divide sorted numbers into at most ``n`` parts; a number with a large share is a part of its own."""
    import pandas as pd

    values, counts = np.unique(numbers, return_counts=True)
    heavy = values[n * counts > len(numbers)]
    if n < 2 or len(values) < 2:
        return [numbers]
    if not len(heavy):
        part = pd.qcut(numbers, n, labels=False, duplicates="drop")
        return [numbers[part == k] for k in np.unique(part)]
    place = np.searchsorted(heavy, numbers, side="right") * 2 - np.isin(numbers, heavy)  # odd: a heavy number
    pieces = {int(k): numbers[place == k] for k in np.unique(place)}
    while len(pieces) > n:  # the fewest numbers between heavy ones join their smaller neighbour
        k = min((k for k in pieces if k % 2 == 0), key=lambda k: len(pieces[k]))
        near = min((j for j in (k - 1, k + 1) if j in pieces), key=lambda j: len(pieces[j]))
        pieces[near] = np.sort(np.concatenate([pieces[near], pieces.pop(k)]))
    between = {k: len(piece) for k, piece in pieces.items() if k % 2 == 0}
    share = dict.fromkeys(between, 1)
    for _ in range(n - len(pieces)):  # one more level for the piece with most numbers a level
        if share:
            share[max(share, key=lambda k: between[k] / share[k])] += 1
    return [part for k in sorted(pieces) for part in (_levels(pieces[k], share[k]) if k in share else [pieces[k]])]


def codes_of(content: Values) -> dict[str, int]:
    """Count customary codes of missing values far from the other numbers of a measurement.

    They are all numbers below zero among others that are not, or the largest ones behind a wide gap; one that occurs
    once must be ten times as large as the others, so that large counts are none.
    """
    numbers = content.numbers
    if numbers is None:
        return {}
    values, counts = np.unique(numbers, return_counts=True)
    is_code = np.array([_CODE.fullmatch(digits(value)) is not None for value in values])
    n = {digits(value): int(k) for value, k in zip(values, counts, strict=True)}
    below = values < 0
    codes = values[below] if below.any() and is_code[below].all() and (~below).sum() >= _FEWEST else values[:0]
    rest = values[len(codes) :]
    for k in range(int(np.argmin(is_code[::-1])) if not is_code.all() else 0, 0, -1):
        others, high = rest[:-k], rest[-k:]
        if len(others) < _FEWEST:
            continue
        wide = high[0] - others[-1] > _APART * np.diff(others).max()
        often = all(n[digits(v)] >= _TWICE or v >= _FAR * max(others[-1], 1) for v in high)
        if wide and often:
            codes = np.append(codes, high)
            break
    return {digits(value): n[digits(value)] for value in codes}


def problems_of_codes(columns: list[Values]) -> list[str]:
    """Describe measurements that contain codes of missing values."""
    by_column = {s.name: codes for s in columns if (codes := codes_of(s))}
    if not by_column:
        return []
    each = [
        f"{quoted(name)} ({listed([f'{code} in {n:,} cell' + 's' * (n != 1) for code, n in codes.items()])})"
        for name, codes in by_column.items()
    ]
    every = list(dict.fromkeys(code for codes in by_column.values() for code in codes))
    return [
        f"numbers far from all others, which look like codes of missing values: {listed(each, total=True)}; "
        f"{missing_code(*every[:MOST_NAMED])} if {'they code' if len(every) > 1 else 'it codes'} missing values"
    ]
