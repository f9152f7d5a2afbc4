"""A codebook: what each column of a table is, as a page that people read, edit and give back."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DataError, argument
from ..names import digits, listed, quoted, shown
from .cells import is_number, stripped
from .files import call, read_text
from .frames import in_pandas, is_frame
from .spreadsheets import escaped, unguarded

if TYPE_CHECKING:
    import pandas as pd

YES_NO, ORDERED, NOMINAL, CONSTANT = "yes/no", "ordered", "nominal", "constant"
COUNT, IDENTIFIER, NUMBER, TEXT, SEVERAL = "count", "identifier", "number", "text", "all that apply"
TOTAL, DUMMY, METADATA = "total of others", "dummy of others", "metadata"
KINDS = (YES_NO, ORDERED, NOMINAL, COUNT, IDENTIFIER, NUMBER, TEXT, SEVERAL, CONSTANT, TOTAL, DUMMY, METADATA)
NO_NODES = (COUNT, IDENTIFIER, NUMBER, TEXT, SEVERAL, METADATA)  # kinds of columns that are no answers
_COLUMNS = ("name", "kind", "levels", "counts", "missing", "codes", "question", "does")
_IN_ORDER, _WITHOUT, _SAME, _CALLED = " < ", " | ", " + ", " = "
_CODEBOOK = argument("columns")
_MOST_LINES = 5
_MOST_CELLS = 2**18  # of a codebook: each takes a hundred bytes in memory
MOST_LEVELS, MOST_WORDS = 12, 20  # of an ordered column, and of a nominal one
MERGED = " / "  # between the words of levels that became one
MOST_NAMED = 5  # columns or codes that a message names


class Level(NamedTuple):
    """A value of a column as it is written, what it is called, and how often it occurs; equal labels are one level."""

    value: str  # "" is a blank cell, "0 to 24" are the numbers of a part
    label: str
    n: int


class Column(NamedTuple):
    """What a column of a table is."""

    name: str
    kind: str  # one of `KINDS`
    levels: tuple[Level, ...] = ()  # in their order; of yes/no the last is yes
    missing: int = 0  # cells without an answer
    codes: tuple[str, ...] = ()  # values that stand for a missing one
    question: str = ""
    does: str = ""  # what is done with it

    @property
    def labels(self) -> list[str]:
        """The labels of its levels, each once."""
        return list(dict.fromkeys(level.label for level in self.levels))


class Problem(NamedTuple):
    """What keeps a table from being read, with a remedy."""

    text: str
    unless: bool = False  # whether it is none if all values are answers


@dataclass(frozen=True)
class Codebook:
    """What each column of a table is.

    Attributes
    ----------
    columns : tuple of Column
        Those that are read; others of a table are left out.
    problems : tuple of Problem
    plain : bool
        Whether all columns of the table are 0 and 1, or -1 and 1, which need no codebook to be read correctly.
    """

    columns: tuple[Column, ...]
    problems: tuple[Problem, ...] = ()
    plain: bool = False

    def frame(self) -> pd.DataFrame:
        """Return a table with a row for each column, which `read` takes back; it may be edited.

        Levels stand in their order with "<" between them, or with "|" if they have none. ``value = label`` is a level
        with a label, ``a + b`` are values of one level, and ``0 to 24`` is a range of numbers.
        """
        import pandas as pd

        rows = [
            (c.name, c.kind, _levels_as_text(c), ", ".join(str(level.n) for level in c.levels), c.missing,
             _WITHOUT.join(map(_escaped, c.codes)), c.question, c.does)
            for c in self.columns
        ]  # fmt: skip
        texts = [[escaped(v) if isinstance(v, str) else v for v in row] for row in rows]
        return pd.DataFrame(texts, columns=list(_COLUMNS))

    @classmethod
    def from_frame(cls, table: Any) -> Codebook:
        """Return the codebook that a table as that of `frame` describes.

        Raises
        ------
        DataError
            If a name, a kind or levels cannot be read.
        """
        table = in_pandas(table)
        lacking = [name for name in ("name", "kind", "levels") if name not in table]
        if lacking:
            raise DataError(f"{_CODEBOOK} must have the columns name, kind and levels, got no {quoted(lacking[0])}; "
                            "begin with the table that bayesmrf columns FILE --out columns.csv writes")  # fmt: skip
        rows = table.astype(object).where(table.notna(), "").to_dict("records")
        columns = [_read_row({key: unguarded(str(value).strip()) for key, value in row.items()}) for row in rows]
        names = [column.name for column in columns]
        twice = next((name for name, n in Counter(names).items() if n > 1), None)
        if twice is not None:
            raise DataError(f"{_CODEBOOK} must have one row for each column, got two for {quoted(twice)}; delete one")
        return cls(tuple(columns))

    @classmethod
    def read(cls, given: Any) -> Codebook:
        """Read a codebook from the table of `frame`, or the path of its CSV file; a codebook is returned unchanged.

        Raises
        ------
        DataError
        """
        if isinstance(given, cls):
            return given
        if is_frame(given):
            return cls.from_frame(given)
        return cls.of_text(read_text(Path(given)), call(Path(given)))

    @classmethod
    def of_text(cls, text: str, name: str = "the text") -> Codebook:
        """Return the codebook of a text with comma-separated values."""
        try:
            return cls.from_frame(frame_of_text(text))
        except ValueError as e:
            if isinstance(e, DataError):
                raise
            raise DataError(f"{_CODEBOOK}: {name} cannot be read as comma-separated values "
                            f"({' '.join(str(e).split())})") from None  # fmt: skip

    def of(self, name: str) -> Column | None:
        """Return the column of a name; None if there is none."""
        return next((column for column in self.columns if column.name == name), None)

    def lines(self) -> list[str]:
        """Summarise the columns in at most five lines, those of equal kind and levels together."""
        alike: dict[str, list[str]] = {}
        for column in self.columns:
            alike.setdefault(_in_words(column), []).append(shown(column.name))
        ranked = sorted(alike.items(), key=lambda item: -len(item[1]))
        lines = [f"{listed(names, total=True)}: {what}" for what, names in ranked]
        coded = [f"{shown(c.name)}: {listed(list(map(quoted, c.codes)))}" for c in self.columns if c.codes]
        last = [f"read as missing: {listed(coded, total=True)}"] if coded else []
        most = _MOST_LINES - len(last)
        if len(lines) > most:
            stop = most + 2  # three kinds share a line
            more = sum(len(names) for _, names in ranked[stop:])
            rest = f"; and {more} more column{'s' * (more != 1)}" if more else ""
            lines = [*lines[: most - 1], "; ".join(lines[most - 1 : stop]) + rest]
        return lines + last


def frame_of_text(text: str) -> pd.DataFrame:
    """Return the table of `Codebook.frame` from its text."""
    import pandas as pd

    separator = max(",;\t", key=text.partition("\n")[0].count)
    if (n := text.count(separator) + text.count("\n")) > _MOST_CELLS:
        raise DataError(f"{_CODEBOOK} must have at most {_MOST_CELLS:,} cells and lines, got {n:,}; keep the rows of "
                        "columns that are analysed")  # fmt: skip
    table = pd.read_csv(StringIO(text), dtype=str, keep_default_na=False, sep=separator)
    return table.astype({"missing": int}) if "missing" in table and table["missing"].str.isdecimal().all() else table


def as_text(value: Any) -> str:
    """Write a value as in a codebook: a number with few digits, a text without spaces around it."""
    value = stripped(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, str):
        return digits(float(value)) if is_number(value) and value.lower() not in ("inf", "nan") else value
    return digits(float(value)) if is_number(value) else str(value)


def _in_words(column: Column) -> str:
    """Return what a column is, without its name: columns of equal words stand in one line."""
    levels = (_WITHOUT if column.kind == NOMINAL else _IN_ORDER).join(map(shown, column.labels))
    what = f"{column.kind}, {shown(levels, 100)}" if column.levels else column.kind
    return f"{what}; {column.does}" if column.does else what


def _levels_as_text(column: Column) -> str:
    """Return the levels of a column as a text that `_read_levels` reads."""
    by_label: dict[str, list[str]] = {}
    for level in column.levels:
        by_label.setdefault(level.label, []).append(level.value)
    parts = [
        _SAME.join(map(_escaped, values)) + ("" if values == [label] else f"{_CALLED}{_escaped(label)}")
        for label, values in by_label.items()
    ]
    return (_WITHOUT if column.kind == NOMINAL else _IN_ORDER).join(parts)


def _escaped(text: str) -> str:
    """Quote a text that is empty or contains a separator."""
    special = not text or text != text.strip() or '"' in text or any(
        mark in f" {text} " for mark in (_IN_ORDER, _WITHOUT, _SAME, _CALLED)
    )  # fmt: skip
    return f'"{text.replace(chr(34), 2 * chr(34))}"' if special else text


def _split(text: str, separator: str) -> list[str]:
    """Split a text at a separator with spaces around it, outside of quotes."""
    marks = re.finditer(rf'"(?:[^"]|"")*"|(?:^|(?<=\s)){re.escape(separator.strip())}(?=\s|$)', text)
    cuts = [match.span() for match in marks if not match[0].startswith('"')]
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def _unescaped(text: str) -> str:
    inside = re.fullmatch(r'"((?:[^"]|"")*)"', text)
    return inside[1].replace('""', '"') if inside else text


def _read_levels(text: str, in_order: bool) -> list[Level]:
    """Return the levels that a text of `_levels_as_text` lists."""
    if not text:
        return []
    levels = []
    for part in _split(text, _IN_ORDER if in_order else _WITHOUT):
        values, *label = _split(part, _CALLED)
        texts = list(map(_unescaped, _split(values, _SAME)))
        name = _unescaped(label[-1]) if label else MERGED.join(texts) if len(texts) > 1 else texts[0]
        levels += [Level(as_text(text), name, 0) for text in texts]
    return levels


def _read_row(row: dict[str, str]) -> Column:
    """Return the column that a row of a codebook describes."""
    name, kind = row["name"], row["kind"].lower()
    if kind not in KINDS:
        expected = f"one of {listed(list(map(repr, KINDS)), len(KINDS))}"
        raise DataError(f"{_CODEBOOK}: the kind of {quoted(name)} must be {expected}, got {quoted(row['kind'])}")
    levels = _read_levels(row["levels"], kind != NOMINAL)
    labels = {level.label for level in levels}
    values = [level.value for level in levels]
    least = {YES_NO: 2, ORDERED: 2, NOMINAL: 2}.get(kind, 0)
    if len(labels) < least or (kind == YES_NO and len(labels) > 2) or len(set(values)) < len(values):
        wanted = "two" if kind == YES_NO else "two or more different"
        between = f"with {'|' if kind == NOMINAL else '<'} between them, as its kind is {kind}"
        raise DataError(f"{_CODEBOOK}: {quoted(name)} must have {wanted} levels, such as "
                        f"{'a | b | c' if kind == NOMINAL else 'no < yes'}, {between}, "
                        f"got {quoted(row['levels'])}")  # fmt: skip
    codes = tuple(as_text(_unescaped(code)) for code in _split(row.get("codes", ""), _WITHOUT) if code)
    return Column(name, kind, tuple(levels), 0, codes, row.get("question", ""), row.get("does", ""))
