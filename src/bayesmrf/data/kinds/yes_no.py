"""Yes/no columns: two values of which one means yes, from words, booleans, 0/1 and -1/+1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DataError, argument, in_python, missing_code
from ...names import digits, listed, quoted
from ..alphabet import ORDERS, check_order
from ..cells import CODED, is_missing, is_number, missing_cells, place_of, present, refuse_missing, stripped, to_numbers
from ..codebook import YES_NO, Column, as_text
from ..coded_words import bare_words
from ..frames import categories_of, is_ordered
from ..known_words import plain_word, yes_and_no
from ..levels import remedy_in
from .ordered import ORDER
from .values import BITS, Values

if TYPE_CHECKING:
    from ..column_options import ColumnOptions

_X = argument("X")
CODINGS = {"01": (0, 1), "pm1": (-1, 1), "bool": (False, True)}


def declared(content: Values, asked: ColumnOptions) -> Column | None:
    """Make a yes/no column of declared words; one side may be left to the only other value."""
    sides = {"no": {plain_word(as_text(w)) for w in asked.no}, "yes": {plain_word(as_text(w)) for w in asked.yes}}
    of = {side: [value for value in content.counts if plain_word(value) in words] for side, words in sides.items()}
    others = [value for value in content.counts if value not in of["no"] + of["yes"]]
    for side in of:
        if not sides[side] and len(others) == 1:
            of[side], others = others, []
    blank = next((side for side, words in sides.items() if "" in words), None)
    if blank is not None:
        of[blank] = [*of[blank], ""]
    if others or not all(of.values()) or set(content.counts) <= {""}:
        return None
    single = all(len(values) == 1 and values[0] for values in of.values())
    levels = [(value, value if single else side) for side, values in of.items() for value in values]
    column = content.column(YES_NO, levels)
    if blank is None:
        return column
    n = {"": content.missing}
    return column._replace(missing=0, levels=tuple(v._replace(n=n.get(v.value, v.n)) for v in column.levels))


def two_levels(kind: Any) -> tuple[Any, ...] | None:
    """Return the levels of a type of pandas columns that has two ordered categories; None for another type."""
    levels = present(kind.categories) if is_ordered(kind) else ()
    return levels if len(levels) == 2 else None


def two_categories(column: Any, name: str, others: bool) -> tuple[Any, ...] | None:
    """Return the two ordered categories of a pandas column of yes/no answers, the second of which is yes.

    None is returned for a column without categories, and for numbers, which say themselves what they mean, unless they
    are two in order.

    Raises
    ------
    DataError
        If texts are categories without order, or more than two; ``others`` says whether the caller has other models.
    """
    categories = categories_of(column.dtype)
    if categories is None:
        return None
    if (two := two_levels(column.dtype)) is not None:
        check_order(two, name, column.attrs.get(ORDERS, {}))
        return two
    levels = present(categories)
    if all(is_number(level) for level in levels):
        return None
    problem = f"column {quoted(name)} must have two ordered categories, got {listed([quoted(str(v)) for v in levels])}"
    if not column.dtype.ordered:
        model = f", or use {argument('model', 'nominal')}" if others else ""
        raise DataError(f"{problem} without order; {ORDER}{model}.")
    model = f", or set {argument('model', 'ordinal')}" if others else ""
    raise DataError(f"{problem}; merge them into two (pandas: .cat.rename_categories){model}.")


def read_yes_no(
    frame: Any, values: np.ndarray, labels: tuple[str, ...], allowed: bool, ordinal: bool
) -> tuple[np.ndarray, np.ndarray | None, str, dict[int, tuple[Any, ...]]]:
    """Return states in {0, 1}, which values are missing, the coding of the numbers, and the levels of other columns.

    The other columns have two ordered categories, of which the second is state 1.

    Parameters
    ----------
    frame : DataFrame or None
        The table, if its columns have types.
    values : (n_samples, n_nodes) array
        Its values.
    labels : tuple of str
    allowed : bool
        Whether values may be missing.
    ordinal : bool
        Whether messages name other models, which the caller has.

    Raises
    ------
    DataError
    """
    columns = {} if frame is None else {i: frame.iloc[:, i] for i in range(len(labels))}
    two = {i: levels for i, c in columns.items() if (levels := two_categories(c, labels[i], ordinal)) is not None}
    rest = [i for i in range(len(labels)) if i not in two]
    others = (values, labels) if not two else (values[:, rest], tuple(labels[i] for i in rest))
    numbers, is_bool = to_numbers(*others)
    missing = missing_cells(numbers, others[1], allowed)
    states, coding = to_binary(numbers, others[1], is_bool, ordinal)
    if not two:
        return states, missing, coding, two
    codes, lost = np.empty(values.shape, np.int8), np.zeros(values.shape, dtype=bool)
    codes[:, rest], lost[:, rest] = states, False if missing is None else missing
    for i, levels in two.items():
        lost[:, i] = is_missing(values[:, i])
        codes[:, i] = [stripped(value) == levels[1] for value in values[:, i]]
    if lost.any() and not allowed:
        refuse_missing(lost, labels)
    return codes, lost if lost.any() else None, coding, two


def to_binary(numbers: np.ndarray, labels: tuple[str, ...], is_bool: bool, ordinal: bool) -> tuple[np.ndarray, str]:
    """Convert to states in {0, 1} and return the coding; NaN is ignored."""
    or_else = f", or set {argument('model', 'ordinal')} if they are ordered levels" if ordinal else ""
    if is_bool:
        return (numbers == 1).astype(np.int8), "bool"
    if np.issubdtype(numbers.dtype, np.integer) and numbers.min() >= 0 and numbers.max() <= 1:
        return numbers.astype(np.int8), "01"
    zeros, ones, minus = numbers == 0, numbers == 1, numbers == -1
    wrong = ~(zeros | ones | minus | (numbers != numbers))
    if wrong.any():
        value = numbers[tuple(np.argwhere(wrong)[0])]
        remedy = remedy_in(numbers, np.isnan(numbers) if numbers.dtype.kind == "f" else None, labels)
        remedy = remedy or f"code the states as {CODED}{or_else}"
        raise DataError(f"{_X} must be binary, but {int(wrong.sum())} value(s) are not, the first is {digits(value)} "
                        f"in {place_of(wrong, labels)}; {remedy}.")  # fmt: skip
    if not minus.any():
        return ones.astype(np.int8), "01"
    if not zeros.any():
        return ones.astype(np.int8), "pm1"
    raise DataError(f"{_X} must have one coding, but 0/1 and -1/+1 are mixed ({int(zeros.sum())} zeros, the first in "
                    f"{place_of(zeros, labels)}, and {int(minus.sum())} values -1); use one coding, and replace 0 or "
                    f"-1 by NaN if it means a missing value{or_else}.")  # fmt: skip


def problems_of_signs(columns: Sequence[Column]) -> list[str]:
    """Ask what 0 means in a table of -1, 0 and 1 alone, such as one of roll calls."""
    signs = [c for c in columns if set(c.labels) <= {"-1", "0", "1"} and len(c.labels) > 1]
    three = next((c for c in signs if len(c.labels) == 3), None)
    if three is None or len(signs) < sum(len(c.labels) > 1 for c in columns):
        return []
    ordinal = in_python("model='ordinal'", "--model ordinal")
    return [f"columns such as {quoted(three.name)} have the values -1, 0 and 1; {missing_code('0')} if 0 is no answer, "
            f"such as an absence from a vote, or {ordinal} if they are levels in order"]  # fmt: skip


def of_bits(content: Values) -> Column:
    """Return a column of two numbers, the larger of which is yes."""
    return content.column(YES_NO, [(value, value) for value in sorted(content.counts, key=float)])


def of_numbers(content: Values, values: list[str]) -> Column | None:
    """Return a column of 0 and 1, or of -1 and 1; None for another one."""
    return of_bits(content) if set(values) in BITS else None


def of_words(content: Values) -> Column | None:
    """Return a column of words for yes and for no; None for another one."""
    bare = bare_words(content.counts)
    answer = yes_and_no(bare.values())
    if answer is None:
        return None
    sides = [[word for word in content.counts if bare[word] in side] for side in answer]
    labels = [max(side, key=content.counts.__getitem__) for side in sides]
    return content.column(YES_NO, [(word, label) for side, label in zip(sides, labels, strict=True) for word in side])
