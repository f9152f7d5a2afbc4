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


def kind_of(content: Values) -> tuple[Column, Scale | None]:
    """Infer the kind of a column from its values, and the known scale that has its words, if any."""
    labels = {value: content.labels.get(value, value) for value in content.counts}
    no_answer = {value for value, label in labels.items() if label != value and says_no_answer(label)}
    if no_answer and len(no_answer) < len(labels):
        return kind_of(content.without(no_answer))
    if content.declared and (content.ordered or not all(map(is_number, content.declared))):
        if content.ordered:
            return ordered.in_order(content, list(content.declared), AS_GIVEN if content.is_meant else ""), None
    elif not content.counts:
        return content.column(CONSTANT, [], "all values are missing"), None
    elif content.numbers is not None:
        return _of_numbers(content), None
    return _of_words(content)


def _of_numbers(content: Values) -> Column:
    """Return a column of numbers, with the labels that its file gives some of them."""
    values = list(map(digits, np.unique(np.array([float(value) for value in content.counts]))))
    return (
        _of_labels(content, values)
        or constant.of_numbers(content, values)
        or yes_no.of_numbers(content, values)
        or ordered.of_numbers(content, values)
        or number.of_numbers(content, values)
    )


def _of_labels(content: Values, values: list[str]) -> Column | None:
    """Return a column of numbers that have labels in their file; None if these say nothing of its levels."""
    labels = {value: label for value, label in content.labels.items() if not says_no_answer(label) and is_number(value)}
    both = sorted({*values, *labels}, key=float)
    if not labels or len(both) > MOST_WORDS or not 2 * len(set(values) & set(labels)) >= min(2, len(values)):
        return None
    answer = yes_and_no(labels.values()) if set(values) <= set(labels) else None
    if answer is not None and len(labels) == 2:
        (no,), (yes,) = ([value for value, label in labels.items() if label in side] for side in answer)
        return content.column(YES_NO, [(no, labels[no]), (yes, labels[yes])])
    names = {value: labels.get(value, value) for value in both}
    is_pair = len(both) == 2 and (len(labels) < 2 or content.measure == NOMINAL or {*both} <= constant.BITS)
    if is_pair or len(both) < 2:
        return content.column(YES_NO if is_pair else CONSTANT, [*names.items()])
    order = ordered.of_labels(names, set(labels))
    if order is not None:
        return ordered.in_order(content, order)
    if content.measure == "ordinal":
        return ordered.in_order(content, both)
    return content.column(NOMINAL, [*names.items()], "nominal in its file" if content.measure == NOMINAL else "")


def _of_words(content: Values) -> tuple[Column, Scale | None]:
    """Return a column of words, and the known scale that has them."""
    marks = {value for value in content.counts if value in _BLANKS}
    if marks and not all(map(is_number, set(content.counts) - marks)):
        return kind_of(content.without(marks))
    if (dates := text.of_dates(content)) is not None:
        return dates, None
    if (combinations := several.of_words(content)) is not None:
        return combinations, None
    no_answers = set(filter(says_no_answer, content.counts))
    for part in [content, content.without(no_answers)] if no_answers else [content]:
        if len(part.counts) < 2:
            continue
        if (column := yes_no.of_words(part)) is not None:
            return column, None
        if (known := ordered.of_words(part)) is not None:
            return known
    if (column := constant.of_words(content)) is not None:
        return column, None
    is_mixed = any(map(is_number, content.counts)) and not all(map(split_code, content.counts))
    return (None if is_mixed else nominal.of_words(content)) or text.of_words(content), None
