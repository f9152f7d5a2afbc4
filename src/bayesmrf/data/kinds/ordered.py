"""Columns whose levels have an order: integers, words of a known scale, and ordered categories of pandas."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import DataError, LevelsWarning, OptionError, argument, in_python, preparing
from ...findings import tell
from ...names import digits, listed, quoted
from ..alphabet import AS_GIVEN, ORDERS, check_order
from ..cells import is_number, present
from ..codebook import CONSTANT, MOST_LEVELS, ORDERED, YES_NO, Column, Level, as_text
from ..coded_words import bare_words, begin_with_numbers, quantities, split_code
from ..column_options import TEMPLATE, joined
from ..frames import categories_of, is_ordered
from ..known_words import Scale, known_order, plain_word, says_no_answer
from ..typed_table import STEPS
from .number import CUT, recoded
from .values import Values

ORDER = f"order them{in_python(' (pandas: .cat.reorder_categories(..., ordered=True))')}"
_MERGED = in_python("; model=families.Ordinal(unused='merge') leaves them out")


def in_order(content: Values, values: list[str], does: str = "") -> Column:
    """Return a column whose values have this order."""
    kind = YES_NO if len(values) == 2 else ORDERED if len(values) > 2 else CONSTANT
    return content.column(kind, [(value, content.labels.get(value, value)) for value in values], does)


def share_levels(pairs: list[tuple[Column, Scale | None]], contents: list[Values]) -> list[Column]:
    """Return columns in which each has the levels that any column of its known scale has."""
    used: dict[Scale, dict[int, str]] = {}
    for column, scale in pairs:
        if scale is not None:
            places = _places(scale, column.labels)
            for label, place in places.items():
                used.setdefault(scale, {}).setdefault(place, label)
    columns = []
    for (column, scale), s in zip(pairs, contents, strict=True):
        if scale is None:
            columns.append(column)
            continue
        ranks = _places(scale, [level.value for level in column.levels])
        levels = [
            (word, label)
            for place, label in sorted(used[scale].items())
            for word in ([word for word, at in ranks.items() if at == place] or [label])
        ]
        columns.append(column._replace(levels=tuple(Level(v, label, s.counts.get(v, 0)) for v, label in levels)))
    return columns


def _places(scale: Scale, words: Sequence[str]) -> dict[str, int]:
    """Return the rank of words, which may have codes in front of them, in a scale that has them all; else none."""
    bare = bare_words(words)
    places = scale.places(bare.values()) or {}
    return {word: places[bare[word]] for word in words} if places else {}


def in_levels(content: Values, scale: Sequence[str]) -> Column | None:
    """Return a column with these levels in order; None if it has other values."""
    place = {plain_word(as_text(word)): word for word in scale}
    names = {**bare_words(content.counts), **content.labels}  # without codes
    place |= {plain_word(v): place[plain_word(name)] for v, name in names.items() if plain_word(name) in place}
    other = {value for value in content.counts if plain_word(value) not in place}
    if other and all(map(says_no_answer, other)):
        content, other = content.without(other), set()
    if other or not content.counts:
        return None
    values: dict[str, list[str]] = {word: [] for word in scale}
    for value in content.counts:
        values[place[plain_word(value)]].append(value)
    levels = [(value, as_text(word)) for word, spellings in values.items() for value in spellings or [as_text(word)]]
    return content.column(YES_NO if len(scale) == 2 else ORDERED, levels)


def no_such_levels(scale: Sequence[str], contents: Sequence[Values]) -> OptionError:
    """Make the error for levels that no column has; it names the nearest column."""
    known = {plain_word(as_text(word)) for word in scale}
    shares = [(sum(n for value, n in s.counts.items() if plain_word(value) in known), s) for s in contents]
    best, nearest = max(shares, key=lambda share: share[0])
    others = [quoted(value) for value in nearest.counts if plain_word(value) not in known]
    also = f"; column {quoted(nearest.name)} also has {listed(others)}" if best else ""
    return OptionError(f"{argument('levels', joined(scale))}: no column has these levels only{also}")


def declared(content: Values, column: Column) -> Column:
    """Return a column whose numbers are in order, or whose words have a known order."""
    if content.numbers is not None:
        return in_order(content, sorted(content.counts, key=float), AS_GIVEN if content.labels else "")
    if column.kind in (ORDERED, YES_NO):
        return column
    coded = {value: part for value in content.counts if (part := split_code(value)) is not None}
    if len(coded) < len(content.counts) or len({part.code for part in coded.values()}) < len(coded):
        words = joined(content.declared or sorted(content.counts))
        raise OptionError(f"{argument('ordered', content.name)}: the order of the words ({words}) is not known; give "
                          f"them in their order with {preparing('levels', TEMPLATE)}")  # fmt: skip
    return in_order(content, sorted(coded, key=lambda value: coded[value].code), AS_GIVEN)


def in_steps(contents: list[Values]) -> dict[str, Column]:
    """Return columns of numbers whose equal steps are a coding."""
    numbers = {s.name: v for s in contents if (v := s.numbers) is not None and not s.labels}
    by_name = {s.name: s for s in contents}
    return {
        name: by_name[name].column(ORDERED, [(digits(v), digits(v)) for v in levels], STEPS)
        for name, levels in recoded(numbers).items()
        if len(levels) > 2 or 0 <= levels[0] < levels[-1] < 2 * MOST_LEVELS
    }


def ordered_scales(frame: Any) -> dict[str, np.ndarray]:
    """Return the numbers of the categories, from 1, for each column of ordered ones, repeated for each row.

    They stand for its categories where columns are compared with each other (`bayesmrf.data.levels.find_foreign`).
    """
    sizes = {str(n): len(kind.categories) for n, kind in frame.dtypes.items() if is_ordered(kind)}
    return {name: np.resize(np.arange(1, size + 1), max(size, len(frame))) for name, size in sizes.items()}


def ordered_categories(column: Any, name: str, merge: bool) -> tuple[Any, ...] | None:
    """Return the categories of a pandas column, or those that occur if ``merge``; None if it has none.

    Raises
    ------
    DataError
        If the categories are not ordered, or are too many or too few.
    """
    categories = categories_of(column.dtype)
    if categories is None:
        return None
    if not column.dtype.ordered:
        raise DataError(
            f"column {quoted(name)} must have ordered categories; {ORDER}, or use {argument('model', 'nominal')}."
        )
    levels, used = present(categories), present(column.cat.remove_unused_categories().cat.categories)
    unused = [level for level in levels if level not in set(used)]
    numbers = [float(level) for level in levels if is_number(level)]
    steps = np.sign(np.diff(numbers))
    if len(numbers) == len(levels) and len(set(steps.tolist())) > 1:
        tell(
            f"the ordered categories of column {quoted(name)} are numbers, but not in their order "
            f"({listed([str(level) for level in levels])}), which is taken as it is; if it is a mistake, {ORDER}",
            LevelsWarning,
        )
    check_order(used if merge else levels, name, column.attrs.get(ORDERS, {}))
    return _checked(used if merge else levels, unused, name, merge)


def ordered_levels(
    values: np.ndarray,
    name: str,
    merge: bool,
    occurs: np.ndarray | None = None,
    every: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    """Return the levels of a column with these sorted values: all integers of their range, or the values alone.

    Parameters
    ----------
    values : (n_values,) array
        Numbers.
    name : str
        Of the column.
    merge : bool
        Whether levels that never occur are left out.
    occurs : (n_values,) array of bool, optional
        Which of the values are in a row of a weight above 0; all by default.
    every : tuple of int, optional
        The levels of the range, if steps are a coding (`bayesmrf.data.kinds.number.recoded`).

    Raises
    ------
    DataError
        If the values are texts, or are too many or too few.

    Warns
    -----
    LevelsWarning
        If a category never occurs.
    """
    if values.dtype.kind not in "biuf":
        raise DataError(
            f"column {quoted(name)} must contain numbers, got {str(values[0])!r}, and texts have no order; recode them "
            f"as integers in their order (pandas: ordered categories), or use {argument('model', 'nominal')}."
        )
    if not np.isfinite(values).all():
        raise DataError(f"column {quoted(name)} must contain finite levels; replace infinities by NaN if missing.")
    if (values == np.round(values)).all():
        values = values.astype(np.int64)
    observed = values if occurs is None else values[occurs]
    levels = observed if merge else values
    if every is not None and not merge:
        levels = np.array(every)
    elif values.dtype == np.int64 and len(values) and values[-1] - values[0] < 2 * MOST_LEVELS and not merge:
        levels = np.arange(values[0], values[-1] + 1)
    return _checked(tuple(levels.tolist()), np.setdiff1d(levels, observed).tolist(), name, merge)


def _checked(levels: tuple[Any, ...], unused: list[Any], name: str, merge: bool) -> tuple[Any, ...]:
    shown = listed([str(level) for level in levels])
    if not levels:
        raise DataError(
            f"column {quoted(name)} must have at least two levels, but all its values are missing; drop it."
        )
    if len(levels) < 2:
        raise DataError(f"column {quoted(name)} must have at least two levels, got {len(levels)} ({shown}); drop it.")
    if len(levels) > MOST_LEVELS:
        cut = (
            f"cut it into levels of equal counts{in_python(f' ({CUT})')}"
            if all(map(is_number, levels))
            else "merge levels"
        )
        raise DataError(
            f"column {quoted(name)} must have at most {MOST_LEVELS} ordered levels, got {len(levels)} ({shown}); "
            f"{cut}, replace codes of missing values by NaN, or drop the column if it is no answer."
        )
    if not merge:
        warn_of_never(unused, name, "thresholds", _MERGED)
    return levels


def warn_of_never(unused: list[Any], name: str, parameters: str, remedy: str) -> None:
    """Warn of levels of a column that never occur."""
    if unused:
        never = listed([str(level) for level in unused])
        tell(
            f"{len(unused)} level(s) of column {quoted(name)} never occur ({never}), so that the prior alone "
            f"determines their {parameters}{remedy}",
            LevelsWarning,
        )


def of_numbers(content: Values, values: list[str]) -> Column | None:
    """Return a column of few integers with all those between them; None for other numbers."""
    numbers = np.array([float(value) for value in values])
    is_whole = bool((numbers == np.round(numbers)).all())
    if not is_whole or len(values) > MOST_LEVELS or numbers[-1] - numbers[0] >= 2 * MOST_LEVELS:
        return None
    every = map(digits, np.arange(numbers[0], numbers[-1] + 1))
    return content.column(ORDERED, [(value, value) for value in every])


def of_labels(names: Mapping[str, str], labelled: Collection[str]) -> list[str] | None:
    """Return numbers in the order of their labels; None if this is not known.

    Labels of a known scale, and quantities, order them, and numbers that have labels at the ends, and perhaps in the
    middle, are in order. Numbers in the order of a known scale, or in the opposite one, stay as they are.

    Parameters
    ----------
    names : mapping
        The label of each number, from the lowest to the highest; the number itself where it has none.
    labelled : collection of str
        Those that have one.
    """
    values = list(names)
    ranks: dict[str, float] | None = None
    if len(labelled) == len(values):
        known = known_order(names.values())
        ranks = None if known is None else {v: float(known[1][name]) for v, name in names.items()}
    else:
        numbered = [value if value not in labelled else f"{value} {name}" for value, name in names.items()]
        numbers = quantities(numbered)
        texts = [names[value] for value in values if value in labelled]
        known = known_order(texts)
        rising = known is not None and _is_monotone([known[1][name] for name in texts])
        ranks = {value: float(value) for value in values} if numbers is not None or rising else None
    if ranks is None:
        return values if begin_with_numbers([*names.values()]) else None
    order = sorted(values, key=ranks.__getitem__)
    return values if order[::-1] == values else order


def _is_monotone(ranks: list[int]) -> bool:
    return ranks in (sorted(ranks), sorted(ranks, reverse=True))


def of_words(content: Values) -> tuple[Column, Scale | None] | None:
    """Return a column whose words are of a known scale, which other columns share, or begin with numbers."""
    words = list(content.counts)
    bare = bare_words(words)
    order = known_order(bare.values())
    if order is not None:
        scale, rank = order[0], {word: order[1][bare[word]] for word in words}
        label = {rank[word]: word for word in sorted(words, key=content.counts.__getitem__)}
        levels = [(word, label[rank[word]]) for word in sorted(words, key=rank.__getitem__)]
        shared = scale if _places(scale, words) else None  # words with an end of their own are of one column
        return content.column(ORDERED if len(label) > 1 else CONSTANT, levels), shared
    numbers = quantities(words)
    if numbers is not None and len(words) <= MOST_LEVELS:
        return content.column(ORDERED, [(word, word) for word in sorted(words, key=numbers.__getitem__)]), None
    return None
