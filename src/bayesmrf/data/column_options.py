"""What a user says of the columns of a table, for Python and the command line alike."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from io import StringIO
from typing import Any

from ..errors import OptionError, argument
from ..names import listed, quoted
from .codebook import NO_NODES, Codebook

JOINT = ": "  # between the name of a column and that of one of the answers in its cells
_AFTER_NUMBER = re.compile(r"(?<=:\d)\s*,\s*|(?<=:\d\d)\s*,\s*")  # of "age:4, income:10": names may have commas
TEMPLATE = "FIRST,...,LAST"  # of levels in their order: it is refused as it stands
_RANGE = re.compile(r"(.*?)(\d+)\s*-\s*(.*?)(\d+)")


@dataclass(frozen=True)
class ColumnOptions:
    """Options of `bayesmrf.data.prepare`, which describes them."""

    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    levels: tuple[tuple[str, ...], ...] = ()
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    reverse: tuple[str, ...] = ()
    cut: Mapping[str, int] = field(default_factory=dict)
    merge: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ordered: tuple[str, ...] = ()
    nominal: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    columns: Codebook | None = None
    order_as_given: bool = False

    @classmethod
    def of(
        cls,
        *,
        cut: Any = None,
        merge: Any = None,
        levels: Any = None,
        columns: Any = None,
        order_as_given: bool = False,
        **texts: Any,
    ) -> ColumnOptions:
        """Read options as given in Python, or on the command line, where each is one text or several.

        Raises
        ------
        OptionError
        """
        parts = {column: _integer("cut", column, n) for column, n in _by_column("cut", cut)}
        merged = {column: _words("merge", words) for column, words in _by_column("merge", merge)}
        scales = [levels] if isinstance(levels, str) or not _is_nested(levels) else levels
        orders = [_words("levels", scale) for scale in scales if scale is not None]
        if any("..." in scale for scale in orders):
            raise OptionError(option="levels", got=TEMPLATE, expected="all words of a column, in the order of their "
                              "meaning")  # fmt: skip
        short = next((scale for scale in orders if len(set(scale)) < max(2, len(scale))), None)
        if short is not None:
            raise OptionError(option="levels", got=",".join(short), expected="two or more different levels, in order")
        if not isinstance(order_as_given, bool):
            raise OptionError(option="order_as_given", got=order_as_given, expected="True or False")
        book = None if columns is None else Codebook.read(columns)
        sides = {side: _words(side, texts.pop(side, None)) for side in ("yes", "no")}
        both = set(sides["yes"]) & set(sides["no"])
        if both:
            raise OptionError(option="no", got=next(iter(both)), expected="other answers than those of yes")
        names = {option: _texts(option, value) for option, value in texts.items()}
        return cls(cut=parts, merge=merged, levels=tuple(orders), columns=book, order_as_given=order_as_given,
                   **sides, **names)  # fmt: skip

    @property
    def says(self) -> bool:
        """Whether options say more than which columns and codes of missing values the table has."""
        every = (self.levels, self.yes, self.no, self.reverse, self.cut, self.merge, self.ordered, self.nominal)
        return self.columns is not None or self.order_as_given or bool(self.split) or any(every)

    @property
    def of_columns(self) -> ColumnOptions:
        """The options that remain for a table whose columns were chosen and split."""
        return replace(self, keep=(), drop=(), split=())

    def chosen(self, names: Sequence[str], where: str = "") -> list[str]:
        """Return the columns that are kept, in the order of the table; ``where`` names it in messages."""
        kept = matching("keep", self.keep, names, where) if self.keep else list(names)
        if self.columns is not None:
            answers = {column.name for column in self.columns.columns if column.kind not in NO_NODES}
            kept = [name for name in kept if name in answers]
        left_out = matching("drop", self.drop, names, where)
        return [name for name in names if name in kept and name not in left_out]


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, which commas separate unless they are in quotes; blank ones count."""
    return tuple(word.strip() for word in next(csv.reader([text], skipinitialspace=True)) or [""])


def joined(words: Iterable[str]) -> str:
    """Return the text of `words_of`."""
    out = StringIO(newline="")
    csv.writer(out, lineterminator="").writerow(words)
    return out.getvalue()


def _texts(option: str, setting: Any) -> tuple[str, ...]:
    """Return one text, or several; numbers become texts."""
    if setting is None:
        return ()
    several = isinstance(setting, Iterable) and not isinstance(setting, str | Mapping)
    items = tuple(setting) if several else (setting,)
    for value in items:
        if not isinstance(value, str | int | float):
            raise OptionError(option=option, got=value, expected="a text or several")
    return tuple(map(str, items))


def _words(option: str, setting: Any) -> tuple[str, ...]:
    """Return the words of a text, or several words as they are."""
    return words_of(setting) if isinstance(setting, str) else _texts(option, setting)


def _by_column(option: str, setting: Any) -> list[tuple[str, Any]]:
    """Return pairs of a column and a value of a mapping, or of texts with a colon between the two.

    Texts of "cut" may have several with commas, such as "age:4,income:3".
    """
    if isinstance(setting, Mapping):
        return [(str(column), value) for column, value in setting.items()]
    pairs = []
    texts: Iterable[str] = _texts(option, setting)
    if option == "cut":
        texts = [part for text in texts for part in _AFTER_NUMBER.split(text)]
    for text in texts:
        column, _, value = text.rpartition(":") if option == "cut" else text.partition(":")
        if not (column and value):
            expected = "ITEM:N, such as age:4" if option == "cut" else "ITEM:LEVEL,LEVEL, such as mood:Never,Rarely"
            raise OptionError(option=option, got=text, expected=expected)
        pairs.append((column, value))
    return pairs


def _integer(option: str, column: str, setting: Any) -> int:
    number = int(setting) if str(setting).isdecimal() and len(str(setting)) < 4 else 0
    if number < 2:
        raise OptionError(option=option, got=f"{column}:{setting}", expected="a column and two or more levels")
    return number


def _is_nested(levels: Any) -> bool:
    """Return whether levels are those of several scales: texts with commas, or sequences."""
    several = isinstance(levels, Iterable) and not isinstance(levels, str | Mapping)
    return several and any(not isinstance(each, str | int | float) or "," in str(each) for each in levels)


def matching(option: str, patterns: Iterable[str], names: Sequence[str], where: str = "") -> list[str]:
    """Return the columns that patterns name, such as ``q1``, ``q5-q9``, ``mood_*``, or several with commas.

    Raises
    ------
    OptionError
        If a pattern names none.
    """
    chosen = set[str]()
    for pattern in patterns:
        for part in [pattern] if pattern in names else words_of(pattern):
            columns = _named(part, names)
            if not columns:
                raise OptionError(
                    f"{argument(option)}: there is no column {quoted(part)}{where}; the columns are "
                    f"{listed(list(map(quoted, names)), total=True)}"
                )
            chosen.update(columns)
    return [name for name in names if name in chosen]


def _named(part: str, names: Sequence[str]) -> list[str]:
    if part in names:
        return [part]
    ends = _RANGE.fullmatch(part)
    if ends is not None and ends[3] in ("", ends[1]):
        low, high = int(ends[2]), int(ends[4])
        numbered = [(name, re.fullmatch(rf"{re.escape(ends[1])}(\d+)", name)) for name in names]
        return [name for name, match in numbered if match and low <= int(match[1]) <= high]
    first, _, last = part.partition("-")
    if first.strip() in names and last.strip() in names:
        i, j = sorted([list(names).index(first.strip()), list(names).index(last.strip())])
        return list(names[i : j + 1])
    return [name for name in names if fnmatchcase(name, part) or name.startswith(f"{part}{JOINT}")]
