"""What is in a column, before anybody says what it is: its values, how often they occur, and what a file says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..alphabet import ORDERS, is_meant
from ..cells import is_missing, is_number, present
from ..codebook import Column, Level, as_text
from ..coded_words import code_for_missing
from ..formats import MEASURE
from ..known_words import says_no_answer

if TYPE_CHECKING:
    import pandas as pd
LABELS, QUESTIONS = "variable_value_labels", "column_names_to_labels"  # as pandas.read_spss names them
WRITTEN = "texts_for_missing"  # of a file: how its missing values are written, by column

BITS = ({"0", "1"}, {"-1", "1"})


@dataclass
class Values:
    """What is in a column: how often each value occurs, as text, and what its type or its file says."""

    name: str
    counts: dict[str, int]  # by value, in the order of the table
    missing: int = 0
    codes: tuple[str, ...] = ()  # values that stand for missing ones
    declared: tuple[str, ...] = ()  # categories of the column
    ordered: bool = False  # whether these are in order
    is_meant: bool = False  # whether a user said that this order is right
    labels: Mapping[str, str] = field(default_factory=dict)  # of its file, by value
    measure: str = ""
    question: str = ""

    @property
    def numbers(self) -> np.ndarray | None:
        """Its values, repeated as they occur, if all are numbers."""
        if not self.counts or not all(map(is_number, self.counts)):
            return None
        return np.repeat([float(value) for value in self.counts], list(self.counts.values()))

    @property
    def is_bits(self) -> bool:
        """Whether its values are 0 and 1, or -1 and 1, and nothing else is known of it than how often they occur."""
        return self.counts.keys() in BITS and not (self.codes or self.declared or self.labels)

    def column(self, kind: str, levels: list[tuple[str, str]], does: str = "") -> Column:
        """Return the column as one of a kind, whose levels have these values and labels."""
        counted = tuple(Level(value, label, self.counts.get(value, 0)) for value, label in levels)
        return Column(self.name, kind, counted, self.missing, self.codes, self.question, does)

    @property
    def without_no_answers(self) -> Values:
        """The column in which values that say themselves that there is no answer are missing.

        These are codes that have a label such as "Refused" in the file, or words such as "-9. Refused"; not all values.
        """
        codes = {v for v in self.counts if code_for_missing(v) or (v in self.labels and says_no_answer(self.labels[v]))}
        return self.without(codes) if codes and len(codes) < len(self.counts) else self

    def without(self, codes: Mapping[str, Any] | set[str]) -> Values:
        """Return the column in which some values stand for missing ones."""
        dropped = tuple(value for value in self.counts if value in codes)
        n = sum(self.counts[value] for value in dropped)
        rest = {value: k for value, k in self.counts.items() if value not in codes}
        declared = tuple(value for value in self.declared if value not in codes)
        changed = {"counts": rest, "missing": self.missing + n, "codes": (*self.codes, *dropped), "declared": declared}
        return Values(**(vars(self) | changed))


def values_of(frame: pd.DataFrame) -> list[Values]:
    """Collect the values of each column of a table."""
    import pandas as pd

    of_file = {key: frame.attrs.get(key) or {} for key in (LABELS, QUESTIONS, MEASURE, WRITTEN, ORDERS)}
    contents = []
    for i, name in enumerate(map(str, frame.columns)):
        values = frame.iloc[:, i]
        each = values.value_counts(dropna=True, sort=False)
        each = each[each > 0]
        uniques = np.array([*each.index, None], dtype=object)[:-1]
        missing = is_missing(uniques)
        counts: dict[str, int] = {}
        for value, n in zip(uniques[~missing], each.to_numpy()[~missing], strict=True):
            text = as_text(value)
            counts[text] = counts.get(text, 0) + int(n)
        is_category = isinstance(values.dtype, pd.CategoricalDtype)
        content = Values(name, counts, len(values) - sum(counts.values()))
        content.codes = tuple(of_file[WRITTEN].get(name, ())) or tuple(
            text for text in map(str, uniques[missing]) if text.strip()
        )
        content.declared = tuple(map(as_text, present(values.cat.categories))) if is_category else ()
        content.ordered = is_category and bool(values.cat.ordered)
        content.is_meant = content.ordered and is_meant(of_file[ORDERS], name, content.declared)
        content.labels = {as_text(value): str(label) for value, label in of_file[LABELS].get(name, {}).items()}
        content.question = str(of_file[QUESTIONS].get(name) or "")
        content.measure = str(of_file[MEASURE].get(name) or "")
        contents.append(content)
    return contents
