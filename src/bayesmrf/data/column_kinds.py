"""What each column of a table is, where nobody says it: its kind, and the order of its levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..names import digits
from .codebook import CONSTANT, NOMINAL, NUMBER, ORDERED, TEXT, YES_NO, Column, Level, as_text
from .formats import MEASURE
from .known_words import Scale, known_order, leading_numbers, yes_and_no
from .levels import says_no_answer
from .missing import is_missing, present
from .ordered_levels import MOST_LEVELS
from .text_cells import is_number

if TYPE_CHECKING:
    import pandas as pd

LABELS, QUESTIONS = "variable_value_labels", "column_names_to_labels"  # as pandas.read_spss names them
WRITTEN = "texts_for_missing"  # of a file: how its missing values are written, by column
MOST_WORDS = 20  # of a nominal column
_BLANKS = ("-", "--", "---", ".", "..", "?", "*")  # marks that are no words
_BOOLEANS = ("False", "True")
_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b.*|\d{1,2}:\d{2}(:\d{2})?")


@dataclass
class Seen:
    """What is in a column: how often each value occurs, as text, and what its type or its file says."""

    name: str
    counts: dict[str, int]  # by value, in the order of the table
    missing: int = 0
    codes: tuple[str, ...] = ()  # values that stand for missing ones
    declared: tuple[str, ...] = ()  # categories of the column
    ordered: bool = False  # whether these are in order
    labels: Mapping[str, str] = field(default_factory=dict)  # of its file, by value
    measure: str = ""
    question: str = ""

    @property
    def numbers(self) -> np.ndarray | None:
        """Its values, repeated as they occur, if all are numbers."""
        if not self.counts or not all(map(is_number, self.counts)):
            return None
        return np.repeat([float(value) for value in self.counts], list(self.counts.values()))

    def column(self, kind: str, levels: list[tuple[str, str]], does: str = "") -> Column:
        """Return the column as one of a kind, whose levels have these values and labels."""
        found = tuple(Level(value, label, self.counts.get(value, 0)) for value, label in levels)
        return Column(self.name, kind, found, self.missing, self.codes, self.question, does)

    def without(self, codes: Mapping[str, Any] | set[str]) -> Seen:
        """Return the column in which some values stand for missing ones."""
        gone = tuple(value for value in self.counts if value in codes)
        n = sum(self.counts[value] for value in gone)
        rest = {value: k for value, k in self.counts.items() if value not in codes}
        declared = tuple(value for value in self.declared if value not in codes)
        changed = {"counts": rest, "missing": self.missing + n, "codes": (*self.codes, *gone), "declared": declared}
        return Seen(**(vars(self) | changed))


def look_at(frame: pd.DataFrame) -> list[Seen]:
    """Return what is in each column of a table."""
    import pandas as pd

    of_file = {key: frame.attrs.get(key) or {} for key in (LABELS, QUESTIONS, MEASURE, WRITTEN)}
    found = []
    for i, name in enumerate(map(str, frame.columns)):
        values = frame.iloc[:, i]
        each = values.value_counts(dropna=True, sort=False)
        each = each[each > 0]
        uniques = np.array([*each.index, None], dtype=object)[:-1]
        gone = is_missing(uniques)
        counts: dict[str, int] = {}
        for value, n in zip(uniques[~gone], each.to_numpy()[~gone], strict=True):
            text = as_text(value)
            counts[text] = counts.get(text, 0) + int(n)
        is_category = isinstance(values.dtype, pd.CategoricalDtype)
        seen = Seen(name, counts, len(values) - sum(counts.values()))
        seen.codes = tuple(of_file[WRITTEN].get(name, ())) or tuple(
            text for text in map(str, uniques[gone]) if text.strip()
        )
        seen.declared = tuple(map(as_text, present(values.cat.categories))) if is_category else ()
        seen.ordered = is_category and bool(values.cat.ordered)
        seen.labels = {as_text(value): str(label) for value, label in of_file[LABELS].get(name, {}).items()}
        seen.question = str(of_file[QUESTIONS].get(name) or "")
        seen.measure = str(of_file[MEASURE].get(name) or "")
        found.append(seen)
    return found


def kind_of(seen: Seen) -> tuple[Column, Scale | None]:
    """Return what a column is, and the known scale that has its words, if one has."""
    labels = {value: seen.labels.get(value, value) for value in seen.counts}
    no_answer = {value for value, label in labels.items() if label != value and says_no_answer(label)}
    if no_answer and len(no_answer) < len(labels):
        return kind_of(seen.without(no_answer))
    if seen.declared and (seen.ordered or not all(map(is_number, seen.declared))):
        if seen.ordered:
            return _in_order(seen, list(seen.declared)), None
    elif not seen.counts:
        return seen.column(CONSTANT, [], "all values are missing"), None
    elif seen.numbers is not None:
        return _of_numbers(seen), None
    return _of_words(seen)


def _in_order(seen: Seen, values: list[str], does: str = "") -> Column:
    """Return a column whose values have this order."""
    kind = YES_NO if len(values) == 2 else ORDERED if len(values) > 2 else CONSTANT
    return seen.column(kind, [(value, seen.labels.get(value, value)) for value in values], does)


def _of_numbers(seen: Seen) -> Column:
    """Return a column of numbers, with the labels that its file gives some of them."""
    numbers = np.unique(np.array([float(value) for value in seen.counts]))
    values = list(map(digits, numbers))
    if seen.labels:
        labelled = _of_labels(seen, values)
        if labelled is not None:
            return labelled
    if len(values) < 2:
        return seen.column(CONSTANT, [(value, value) for value in values])
    if set(values) in ({"0", "1"}, {"-1", "1"}):
        return seen.column(YES_NO, [(value, value) for value in values])
    is_whole = bool((numbers == np.round(numbers)).all())
    if is_whole and len(values) <= MOST_LEVELS and numbers[-1] - numbers[0] < 2 * MOST_LEVELS:
        every = map(digits, np.arange(numbers[0], numbers[-1] + 1))
        return seen.column(ORDERED, [(value, value) for value in every])
    return seen.column(NUMBER, [], f"{len(values)} numbers from {values[0]} to {values[-1]}")


def _of_labels(seen: Seen, values: list[str]) -> Column | None:
    """Return a column of numbers that have labels in their file; None if these say nothing of its levels."""
    given = {value: label for value, label in seen.labels.items() if not says_no_answer(label) and is_number(value)}
    both = sorted({*values, *given}, key=float)
    if not given or len(both) > MOST_WORDS or not 2 * len(set(values) & set(given)) >= min(2, len(values)):
        return None
    answer = yes_and_no(given.values()) if set(values) <= set(given) else None
    if answer is not None and len(given) == 2:
        (no,), (yes,) = ([value for value, label in given.items() if label in side] for side in answer)
        return seen.column(YES_NO, [(no, given[no]), (yes, given[yes])])
    names = [(value, given.get(value, value)) for value in both]
    if seen.measure == "nominal" and len(both) > 2 and known_order(given.values()) is None:
        return seen.column(NOMINAL, names, "nominal in its file")
    return seen.column(ORDERED if len(both) > 2 else YES_NO if len(both) == 2 else CONSTANT, names)


def _of_words(seen: Seen) -> tuple[Column, Scale | None]:
    """Return a column of words, and the known scale that has them."""
    marks = {value for value in seen.counts if value in _BLANKS}
    if marks and not all(map(is_number, set(seen.counts) - marks)):
        return kind_of(seen.without(marks))
    words = list(seen.counts)
    dates = sum(n for word, n in seen.counts.items() if _DATE.fullmatch(word))
    if 2 * dates > sum(seen.counts.values()):
        return seen.column(TEXT, [], "dates or times"), None
    for some in (words, [word for word in words if not says_no_answer(word)]):
        rest = seen if len(some) == len(words) else seen.without(set(words) - set(some))
        found = _known(rest, some) if len(some) > 1 else None
        if found is not None:
            return found
    if len(words) == 1:
        both = _BOOLEANS if words[0] in _BOOLEANS else seen.declared  # what it might have been is known
        pair = yes_and_no(both)
        if pair is not None and len(both) == 2:
            return seen.column(YES_NO, [(word, word) for side in pair for word in side]), None
        return seen.column(CONSTANT, [(words[0], words[0])]), None
    texts = [word for word in words if not is_number(word)]
    if len(words) > len(texts):
        return seen.column(TEXT, [], f"numbers, and {len(texts)} text(s) such as {texts[0]!r}"), None
    if len(words) <= MOST_WORDS and (len(words) <= 3 or 2 * len(words) < sum(seen.counts.values())):
        return seen.column(NOMINAL, [(word, word) for word in seen.declared or sorted(words)]), None
    return seen.column(TEXT, [], f"{len(words)} texts"), None


def _known(seen: Seen, words: list[str]) -> tuple[Column, Scale | None] | None:
    """Return a column whose words are yes and no, a known scale, or begin with numbers; None if they are others."""
    answer = yes_and_no(words)
    if answer is not None:
        sides = [max(side, key=seen.counts.__getitem__) for side in answer]
        levels = [(word, side) for same, side in zip(answer, sides, strict=True) for word in same]
        return seen.column(YES_NO, levels), None
    order = known_order(words)
    if order is not None:
        scale, rank = order
        label = {rank[word]: word for word in sorted(words, key=seen.counts.__getitem__)}
        levels = [(word, label[rank[word]]) for word in sorted(words, key=rank.__getitem__)]
        shared = scale if scale.places(words) is not None else None  # words with an end of their own are of one column
        return seen.column(ORDERED if len(label) > 1 else CONSTANT, levels), shared
    numbers = leading_numbers(words)
    if numbers is not None and len(words) <= MOST_LEVELS:
        return seen.column(ORDERED, [(word, word) for word in sorted(words, key=numbers.__getitem__)]), None
    return None


def share_levels(found: list[tuple[Column, Scale | None]], seen: list[Seen]) -> list[Column]:
    """Return columns in which each has the levels that any column of its known scale has."""
    used: dict[Scale, dict[int, str]] = {}
    for column, scale in found:
        if scale is not None:
            places = scale.places(column.labels) or {}
            for label, place in places.items():
                used.setdefault(scale, {}).setdefault(place, label)
    columns = []
    for (column, scale), s in zip(found, seen, strict=True):
        if scale is None:
            columns.append(column)
            continue
        own = scale.places(level.value for level in column.levels) or {}
        levels = [
            (word, label)
            for place, label in sorted(used[scale].items())
            for word in ([word for word, at in own.items() if at == place] or [label])
        ]
        columns.append(column._replace(levels=tuple(Level(v, label, s.counts.get(v, 0)) for v, label in levels)))
    return columns
