"""What a column is by its values, where nobody says it: the first kind that describes them."""

from __future__ import annotations

import numpy as np

from ...names import digits
from ..alphabet import AS_GIVEN
from ..cells import is_number
from ..codebook import CONSTANT, MOST_WORDS, NOMINAL, YES_NO, Column
from ..coded_words import split_code
from ..known_words import Scale, says_no_answer, yes_and_no
from . import constant, nominal, number, ordered, several, text, yes_no
from .values import Values

_BLANKS = ("-", "--", "---", ".", "..", "?", "*")  # marks that are no words


def kind_of(seen: Values) -> tuple[Column, Scale | None]:
    """Return what a column is, and the known scale that has its words, if one has."""
    labels = {value: seen.labels.get(value, value) for value in seen.counts}
    no_answer = {value for value, label in labels.items() if label != value and says_no_answer(label)}
    if no_answer and len(no_answer) < len(labels):
        return kind_of(seen.without(no_answer))
    if seen.declared and (seen.ordered or not all(map(is_number, seen.declared))):
        if seen.ordered:
            return ordered.in_order(seen, list(seen.declared), AS_GIVEN if seen.is_meant else ""), None
    elif not seen.counts:
        return seen.column(CONSTANT, [], "all values are missing"), None
    elif seen.numbers is not None:
        return _of_numbers(seen), None
    return _of_words(seen)


def _of_numbers(seen: Values) -> Column:
    """Return a column of numbers, with the labels that its file gives some of them."""
    values = list(map(digits, np.unique(np.array([float(value) for value in seen.counts]))))
    return (
        _of_labels(seen, values)
        or constant.of_numbers(seen, values)
        or yes_no.of_numbers(seen, values)
        or ordered.of_numbers(seen, values)
        or number.of_numbers(seen, values)
    )


def _of_labels(seen: Values, values: list[str]) -> Column | None:
    """Return a column of numbers that have labels in their file; None if these say nothing of its levels."""
    labels = {value: label for value, label in seen.labels.items() if not says_no_answer(label) and is_number(value)}
    both = sorted({*values, *labels}, key=float)
    if not labels or len(both) > MOST_WORDS or not 2 * len(set(values) & set(labels)) >= min(2, len(values)):
        return None
    answer = yes_and_no(labels.values()) if set(values) <= set(labels) else None
    if answer is not None and len(labels) == 2:
        (no,), (yes,) = ([value for value, label in labels.items() if label in side] for side in answer)
        return seen.column(YES_NO, [(no, labels[no]), (yes, labels[yes])])
    names = {value: labels.get(value, value) for value in both}
    is_pair = len(both) == 2 and (len(labels) < 2 or seen.measure == NOMINAL or {*both} <= constant.BITS)
    if is_pair or len(both) < 2:
        return seen.column(YES_NO if is_pair else CONSTANT, [*names.items()])
    order = ordered.of_labels(names, set(labels))
    if order is not None:
        return ordered.in_order(seen, order)
    if seen.measure == "ordinal":
        return ordered.in_order(seen, both)
    return seen.column(NOMINAL, [*names.items()], "nominal in its file" if seen.measure == NOMINAL else "")


def _of_words(seen: Values) -> tuple[Column, Scale | None]:
    """Return a column of words, and the known scale that has them."""
    marks = {value for value in seen.counts if value in _BLANKS}
    if marks and not all(map(is_number, set(seen.counts) - marks)):
        return kind_of(seen.without(marks))
    if (dates := text.of_dates(seen)) is not None:
        return dates, None
    if (combinations := several.of_words(seen)) is not None:
        return combinations, None
    no_answers = set(filter(says_no_answer, seen.counts))
    for part in [seen, seen.without(no_answers)] if no_answers else [seen]:
        if len(part.counts) < 2:
            continue
        if (column := yes_no.of_words(part)) is not None:
            return column, None
        if (known := ordered.of_words(part)) is not None:
            return known
    if (column := constant.of_words(seen)) is not None:
        return column, None
    is_mixed = any(map(is_number, seen.counts)) and not all(map(split_code, seen.counts))
    return (None if is_mixed else nominal.of_words(seen)) or text.of_words(seen), None
