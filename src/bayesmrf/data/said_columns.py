"""Columns of which a user says what they are: yes and no, levels in order, cut numbers, names without order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import OptionError, argument, preparing
from ..names import digits, listed, quoted
from .asked import Asked, joined, matching
from .codebook import CONSTANT, NOMINAL, ORDERED, YES_NO, Codebook, Column, Level, as_text
from .column_kinds import Seen, kind_of
from .known_words import plain_word
from .levels import says_no_answer
from .text_cells import is_number


def said_columns(asked: Asked, seen: Sequence[Seen]) -> dict[str, Column]:
    """Return the columns of which options say what they are, by name.

    Raises
    ------
    OptionError
        If an option names no column, or does not describe those that it names.
    """
    by_name = {s.name: s for s in seen}
    found: dict[str, Column] = {}
    if asked.yes or asked.no:
        found |= {s.name: column for s in seen if (column := _yes_no(s, asked)) is not None}
        if not found:
            option = "yes" if asked.yes else "no"
            raise OptionError(option=option, got=",".join(asked.yes or asked.no), expected="answers of a column that "
                              "has no others", remedy="give both yes and no")  # fmt: skip
    for scale in asked.levels:
        columns = {s.name: column for s in seen if (column := _in_levels(s, scale)) is not None}
        if not columns:
            raise _no_such_levels(scale, seen)
        found |= columns
    for name in matching("nominal", asked.nominal, [*by_name]):
        s = by_name[name]
        numbers = sorted(filter(is_number, s.counts), key=float)
        values = s.declared or [*numbers, *sorted(s.counts.keys() - {*numbers})]
        found[name] = s.column(NOMINAL, [(value, s.labels.get(value, value)) for value in values])
    for name in matching("ordered", asked.ordered, [*by_name]):
        found[name] = _ordered(by_name[name])
    for pattern, n in asked.cut.items():
        for name in matching("cut", [pattern], [*by_name]):
            found[name] = _cut(by_name[name], n)
    return found


def _yes_no(seen: Seen, asked: Asked) -> Column | None:
    """Return a column whose values are those of yes and of no; one side may be left to the only other value."""
    sides = {"no": {plain_word(as_text(w)) for w in asked.no}, "yes": {plain_word(as_text(w)) for w in asked.yes}}
    of = {side: [value for value in seen.counts if plain_word(value) in words] for side, words in sides.items()}
    others = [value for value in seen.counts if value not in of["no"] + of["yes"]]
    for side in of:
        if not sides[side] and len(others) == 1:
            of[side], others = others, []
    blank = next((side for side, words in sides.items() if "" in words), None)
    if blank is not None:
        of[blank] = [*of[blank], ""]
    if others or not all(of.values()) or set(seen.counts) <= {""}:
        return None
    single = all(len(values) == 1 and values[0] for values in of.values())
    levels = [(value, value if single else side) for side, values in of.items() for value in values]
    column = seen.column(YES_NO, levels)
    if blank is None:
        return column
    n = {"": seen.missing}
    return column._replace(missing=0, levels=tuple(v._replace(n=n.get(v.value, v.n)) for v in column.levels))


def _in_levels(seen: Seen, scale: Sequence[str]) -> Column | None:
    """Return a column with these levels in order; None if it has other values."""
    place = {plain_word(as_text(word)): word for word in scale}
    other = {value for value in seen.counts if plain_word(value) not in place}
    if other and all(map(says_no_answer, other)):
        seen, other = seen.without(other), set()
    if other or not seen.counts:
        return None
    values: dict[str, list[str]] = {word: [] for word in scale}
    for value in seen.counts:
        values[place[plain_word(value)]].append(value)
    levels = [(value, as_text(word)) for word, own in values.items() for value in own or [as_text(word)]]
    return seen.column(YES_NO if len(scale) == 2 else ORDERED, levels)


def _no_such_levels(scale: Sequence[str], seen: Sequence[Seen]) -> OptionError:
    """Return the error about levels that no column has, with what the nearest column has in addition."""
    known = {plain_word(as_text(word)) for word in scale}
    shares = [(sum(n for value, n in s.counts.items() if plain_word(value) in known), s) for s in seen]
    best, nearest = max(shares, key=lambda share: share[0])
    others = [quoted(value) for value in nearest.counts if plain_word(value) not in known]
    also = f"; column {quoted(nearest.name)} also has {listed(others)}" if best else ""
    return OptionError(f"{argument('levels', joined(scale))}: no column has these levels only{also}")


def _ordered(seen: Seen) -> Column:
    """Return a column whose numbers are in order, or whose words have a known order."""
    if seen.numbers is not None:
        values = sorted(seen.counts, key=float)
        return seen.column(ORDERED if len(values) > 2 else YES_NO, [(v, seen.labels.get(v, v)) for v in values])
    column, _ = kind_of(seen)
    if column.kind not in (ORDERED, YES_NO):
        words = joined(seen.declared or sorted(seen.counts))
        raise OptionError(f"{argument('ordered', seen.name)}: the order of the words is not known; give them in their "
                          f"order with {preparing('levels', words)}")  # fmt: skip
    return column


def _cut(seen: Seen, n: int) -> Column:
    """Return a column of numbers in at most ``n`` levels of about equal counts; equal numbers stay together."""
    import pandas as pd

    numbers = seen.numbers
    if numbers is None or n < 2:
        expected = "a column of numbers and two or more levels"
        raise OptionError(option="cut", got=f"{seen.name}:{n}", expected=expected)
    part = pd.qcut(numbers, n, labels=False, duplicates="drop")
    spans = [(numbers[part == k].min(), numbers[part == k].max(), int((part == k).sum())) for k in np.unique(part)]
    if len(spans) < 2:
        raise OptionError(option="cut", got=f"{seen.name}:{n}", expected="fewer levels than numbers that differ")
    texts = [f"{digits(low)} to {digits(high)}" for low, high, _ in spans]
    levels = tuple(Level(text, text, k) for text, (*_, k) in zip(texts, spans, strict=True))
    return seen.column(ORDERED if len(spans) > 2 else YES_NO, [])._replace(levels=levels)


def given(book: Codebook, seen: Sequence[Seen]) -> list[Column]:
    """Return the columns of a codebook that a user gives, with the counts of a table."""
    by_name = {s.name: s for s in seen}
    found = []
    for column in book.columns:
        s = by_name.get(column.name)
        if s is None:
            found.append(column)
            continue
        s = s.without(set(column.codes)) if set(column.codes) & s.counts.keys() else s
        levels = column.levels
        if any(v.value in s.counts for v in levels) and not _is_counted(column, s):
            levels = tuple(v._replace(n=s.counts.get(v.value, s.missing if v.value == "" else 0)) for v in levels)
        missing = 0 if any(v.value == "" for v in levels) else s.missing
        found.append(column._replace(levels=levels, missing=missing))
    return found


def _is_counted(column: Column, seen: Seen) -> bool:
    """Return whether a column has the counts of a table whose cells are its labels, each of one or several values."""
    by_label = dict.fromkeys(column.labels, 0)
    for level in column.levels:
        by_label[level.label] += level.n
    return {label: n for label, n in by_label.items() if n} == dict(seen.counts)


def changed(columns: Sequence[Column], asked: Asked) -> list[Column]:
    """Return columns whose levels are merged and reversed as a user says.

    Raises
    ------
    OptionError
    """
    by_name = {column.name: column for column in columns}
    for pattern, words in asked.merge.items():
        for name in matching("merge", [pattern], [*by_name]):
            by_name[name] = _merged(by_name[name], words)
    for name in matching("reverse", asked.reverse, [*by_name]):
        column = by_name[name]
        if not column.levels or (column.kind not in (YES_NO, ORDERED) and len(column.labels) != 2):
            raise OptionError(option="reverse", got=name, expected="a column whose levels have an order")
        by_name[name] = column._replace(levels=column.levels[::-1])
    return list(by_name.values())


def _merged(column: Column, words: Sequence[str]) -> Column:
    """Return a column in which some levels are one."""
    wanted = {plain_word(as_text(word)) for word in words}
    joined = [v.label for v in column.levels if {plain_word(v.label), plain_word(v.value)} & wanted]
    labels = list(dict.fromkeys(joined))
    at = [column.labels.index(label) for label in labels]
    in_order = column.kind != NOMINAL
    if len(at) < 2 or (in_order and at[-1] - at[0] != len(at) - 1):
        expected = f"two or more {'neighbouring ' * in_order}levels of it ({listed(column.labels, 12)})"
        raise OptionError(option="merge", got=f"{column.name}:{','.join(words)}", expected=expected)
    name = " / ".join(labels)
    levels = tuple(v._replace(label=name) if v.label in labels else v for v in column.levels)
    column = column._replace(levels=levels)
    kinds: dict[int, Any] = {1: CONSTANT, 2: YES_NO}
    return column._replace(kind=kinds.get(len(column.labels), column.kind))
