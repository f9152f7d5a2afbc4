"""Columns of which a user says what they are: yes and no, levels in order, cut numbers, names without order."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

from ..errors import OptionError
from ..names import listed
from .codebook import CONSTANT, MERGED, NOMINAL, ORDERED, YES_NO, Codebook, Column, as_text
from .column_options import ColumnOptions, matching
from .kinds import nominal, ordered, yes_no
from .kinds.cut import cut
from .kinds.detect import kind_of
from .kinds.values import Values
from .known_words import plain_word

_NAMED = 3  # levels that the name of a merged one has


def declared_columns(asked: ColumnOptions, contents: Sequence[Values]) -> dict[str, Column]:
    """Describe the columns that options declare, by name.

    Raises
    ------
    OptionError
        If an option names no column, or does not describe those that it names.
    """
    by_name = {s.name: s for s in contents}
    columns: dict[str, Column] = {}
    if asked.yes or asked.no:
        columns |= {s.name: column for s in contents if (column := yes_no.declared(s, asked)) is not None}
        if not columns:
            option = "yes" if asked.yes else "no"
            raise OptionError(option=option, got=",".join(asked.yes or asked.no), expected="answers of a column that "
                              "has no others", remedy="give both yes and no")  # fmt: skip
    for scale in asked.levels:
        scaled = {s.name: column for s in contents if (column := ordered.in_levels(s, scale)) is not None}
        if not scaled:
            raise ordered.no_such_levels(scale, contents)
        columns |= scaled
    for name in matching("nominal", asked.nominal, [*by_name]):
        columns[name] = nominal.declared(by_name[name])
    for name in matching("ordered", asked.ordered, [*by_name]):
        columns[name] = ordered.declared(by_name[name], kind_of(by_name[name])[0])
    for pattern, n in asked.cut.items():
        for name in matching("cut", [pattern], [*by_name]):
            columns[name] = cut(by_name[name], n)
    return columns


def columns_of_codebook(book: Codebook, contents: Sequence[Values]) -> list[Column]:
    """Count the levels of a user's codebook in a table, and return its columns."""
    by_name = {s.name: s for s in contents}
    columns = []
    for column in book.columns:
        s = by_name.get(column.name)
        if s is None:
            columns.append(column)
            continue
        s = s.without(set(column.codes)) if set(column.codes) & s.counts.keys() else s
        levels = column.levels
        if any(v.value in s.counts for v in levels) and not _is_counted(column, s):
            levels = tuple(v._replace(n=s.counts.get(v.value, s.missing if v.value == "" else 0)) for v in levels)
        missing = 0 if any(v.value == "" for v in levels) else s.missing
        columns.append(column._replace(levels=levels, missing=missing))
    return columns


def _is_counted(column: Column, content: Values) -> bool:
    """Return whether a column has the counts of a table whose cells are its labels, each of one or several values."""
    by_label = dict.fromkeys(column.labels, 0)
    for level in column.levels:
        by_label[level.label] += level.n
    return {label: n for label, n in by_label.items() if n} == dict(content.counts)


def changed(columns: Sequence[Column], asked: ColumnOptions) -> list[Column]:
    """Merge and reverse the levels of columns as a user declares.

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
    wanted = {plain_word(as_text(word)) for word in words if "*" not in as_text(word)}
    patterns = [as_text(word).casefold() for word in words if "*" in as_text(word)]

    def is_wanted(text: str) -> bool:
        return plain_word(text) in wanted or any(fnmatchcase(text.casefold(), pattern) for pattern in patterns)

    joined = [v.label for v in column.levels if is_wanted(v.label) or is_wanted(v.value)]
    labels = list(dict.fromkeys(joined))
    at = [column.labels.index(label) for label in labels]
    in_order = column.kind != NOMINAL
    if len(at) < 2 or (in_order and at[-1] - at[0] != len(at) - 1):
        expected = f"two or more {'neighbouring ' * in_order}levels of it ({listed(column.labels, 12)})"
        raise OptionError(option="merge", got=f"{column.name}:{','.join(words)}", expected=expected)
    name = MERGED.join(labels[:_NAMED]) + (f"{MERGED}{len(labels) - _NAMED} more" if labels[_NAMED:] else "")
    levels = tuple(v._replace(label=name) if v.label in labels else v for v in column.levels)
    column = column._replace(levels=levels)
    kinds: dict[int, Any] = {1: CONSTANT, 2: YES_NO}
    return column._replace(kind=kinds.get(len(column.labels), column.kind))
