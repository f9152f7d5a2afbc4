"""Columns whose levels have no order: words, codes, and categories of pandas without one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from ...errors import DataError, argument, in_python, missing_code, preparing
from ...names import listed, quoted
from ..cells import is_missing, is_number, present, stripped, widened
from ..codebook import MOST_LEVELS, MOST_NAMED, MOST_WORDS, NOMINAL, Column
from ..coded_words import bare_words, split_code
from ..column_options import TEMPLATE, joined
from ..frames import categories_of, in_pandas, is_frame, is_ordered
from .ordered import warn_of_never
from .values import Values

_BEFORE = re.compile(r"([^\W\d]\w*)\s*[:(\[-]")  # the word before ": my dog", " (please specify)" or " - my dog"
_MANY_ALIKE = 3  # levels that begin with one word
_MOST_LISTED = 60  # levels that a message lists
_UNUSED = in_python("; pandas: .cat.remove_unused_categories() leaves them out")


def is_pair(column: Column) -> bool:
    """Return whether a column has two words in no known order."""
    return column.kind == NOMINAL and len(column.labels) == 2


def without_order(columns: list[Column], contents: list[Values]) -> set[str]:
    """Find columns that declare that they have no order, by unordered categories or in their file.

    Two such words may still be meant as no and yes, unless other columns have no order.
    """
    of = {s.name for s in contents if (s.declared and not s.ordered) or s.measure == NOMINAL}
    return of if any(c.kind == NOMINAL and len(c.labels) > 2 for c in columns if c.name in of) else set()


def problems(columns: list[Column], said: Collection[str], takes: Collection[str]) -> list[str]:
    """Describe columns of names that may have an order, except those ``said`` to have none."""
    undecided = [c for c in columns if c.kind == NOMINAL and c.name not in said]
    many = [c for c in columns if c.kind == NOMINAL and len(c.labels) > MOST_WORDS]
    many = [] if {"names", "numbers"} <= {*takes} else many  # models that compare levels have limits of their own
    return problems_of_many(many) + ([] if "names" in takes else _problems(undecided))


def problems_of_many(columns: list[Column]) -> list[str]:
    """Describe columns with more levels than a model has, and propose to merge rare ones."""
    texts = []
    for column in columns:
        n = dict.fromkeys(column.labels, 0)
        for level in column.levels:
            n[level.label] += level.n
        least = sorted(n, key=n.__getitem__)[: len(n) - MOST_WORDS + 1]
        equal = [label for label, k in n.items() if k <= n[least[-1]]]  # those that are as rare are not told apart
        rare = equal if len(equal) < len(n) else least
        short = _short(rare, [*n])
        merge = preparing("merge", f"{column.name}:{joined(short)}")
        if len(short) > _MOST_LISTED:
            merge = f"a codebook ({argument('columns')}) in which they are written as 'a + b + c = other'"
        fewer = f"merge rare ones with {preparing('nominal', column.name)} and {merge}"
        if all(map(is_number, n)):
            fewer = f"cut its numbers into ordered levels with {preparing('cut', f'{column.name}:4')}"
        texts.append(
            f"column {quoted(column.name)} must have at most {MOST_WORDS} levels, got {len(n)}; leave it out with "
            f"{preparing('drop', column.name)} if it is no answer, or {fewer}"
        )
    return texts


def _short(rare: list[str], every: list[str]) -> list[str]:
    """Return levels as they are to be merged: of those that begin with one word, as "Other: ...", a pattern."""
    first = Counter(word for label in every if (word := _first_word(label)))
    word, n = first.most_common(1)[0] if first else ("", 0)
    return [f"{word}*"] if n >= _MANY_ALIKE and len(every) - n < MOST_WORDS else rare


def _first_word(label: str) -> str:
    """Return the word before a text that was written, such as "Other" of "Other: my dog"."""
    match = _BEFORE.match(label)
    return match[1] if match else ""


def _problems(columns: list[Column]) -> list[str]:
    """Describe columns of words, for a model whose answers have an order."""
    named = [f"{quoted(c.name)} ({listed([joined([label]) for label in c.labels], MOST_WORDS)})" for c in columns]
    two = [(name, c) for name, c in zip(named, columns, strict=True) if is_pair(c)]
    more = [(name, c) for name, c in zip(named, columns, strict=True) if not is_pair(c)]
    texts = []
    if two:
        first = [c for _, c in two[:MOST_NAMED]]
        texts.append(
            f"two values without a natural order: {listed([name for name, _ in two], total=True)}; count the second as "
            f"yes with {preparing('nominal', *(c.name for c in first))}, or give them in their order with "
            f"{preparing('levels', TEMPLATE.replace('...,', ''))}"
        )
    if more:
        first = [c for _, c in more[:MOST_NAMED]]
        can_be_ordered = any(len(c.labels) <= MOST_LEVELS for c in first)
        order = f"give them in their order with {preparing('levels', TEMPLATE)}, or " if can_be_ordered else ""
        texts.append(
            f"values without a natural order: {listed([name for name, _ in more], total=True)}; {order}say that they "
            f"have none with {preparing('nominal', *(c.name for c in first))}{_codes(columns)}"
        )
    return texts


def _codes(columns: list[Column]) -> str:
    """Return what to do about words with codes below zero, which may mean no answer."""
    below = dict[str, None]()
    for column in columns:
        coded = {level.value: part.code for level in column.levels if (part := split_code(level.value)) is not None}
        below |= {value: None for value, code in coded.items() if code < 0 and -code not in coded.values()}
    these = list(below)[:MOST_NAMED]
    return f"; if codes below zero mean that there is no answer, {missing_code(*these)}" if these else ""


def nominal_column(X: Any) -> str | None:
    """Return the name of the first column with more than two of pandas' categories without order; None without."""
    X = in_pandas(X)
    columns = X.items() if is_frame(X) else ()
    return next((str(n) for n, c in columns if is_unordered(c) and len(present(c.dtype.categories)) > 2), None)


def is_unordered(column: Any) -> bool:
    """Return whether a column, if there is one, has pandas' categories without order."""
    return column is not None and is_ordered(column.dtype) is False


def unordered_levels(
    column: Any, values: np.ndarray, name: str, occurs: np.ndarray, numbers: bool
) -> tuple[Any, ...] | None:
    """Return the levels of a nominal column, sorted; None for yes/no answers and ordered categories.

    Parameters
    ----------
    column : Series or None
        With its type, if the table has one.
    values : (n_samples,) array
    name : str
        Of the column.
    occurs : (n_samples,) bool array
        Which rows count.
    numbers : bool
        Whether numbers have no order.

    Raises
    ------
    DataError
        If there are less than two levels, or more than 20.
    """
    categories = None if column is None else categories_of(column.dtype)
    observed = widened(values[occurs & ~is_missing(values)])
    used = {stripped(v) for v in observed.tolist()}
    if categories is not None:
        if column.dtype.ordered:
            return None
        levels = present(categories)
    else:
        distinct = {stripped(v) for v in widened(values[~is_missing(values)]).tolist()}
        if distinct <= {0, 1}:
            return None
        words = [v for v in distinct if isinstance(v, str)]
        if not (words or numbers):
            return None
        if words and len(words) < len(distinct):
            raise DataError(f"column {quoted(name)} must have levels of one type, got numbers and texts; recode one "
                            "of them as the other")  # fmt: skip
        levels = tuple(int(v) if isinstance(v, float) and v.is_integer() else v for v in sorted(distinct))
    if not 2 <= len(levels) <= MOST_WORDS:
        shown = listed([quoted(str(v)) for v in levels])
        raise DataError(f"column {quoted(name)} must have from 2 to {MOST_WORDS} levels, got {len(levels)} ({shown}); "
                        "merge levels, or drop the column if it is no answer")  # fmt: skip
    warn_of_never([level for level in levels if level not in used], name, "parameters", _UNUSED)
    return levels


def are_many_words(content: Values) -> bool:
    """Check for more words than a model has levels, where the words of most cells recur."""
    n = sum(content.counts.values())
    recur = [k for k in content.counts.values() if k > 1]
    return len(content.counts) > MOST_WORDS and len(recur) > 1 and 2 * sum(recur) > n and not any(
        map(is_number, content.counts)
    )  # fmt: skip


def of_words(content: Values) -> Column | None:
    """Return a column of few different words; None for many."""
    words = list(content.counts)
    if len(words) > MOST_WORDS or not (len(words) <= 3 or 2 * len(words) < sum(content.counts.values())):
        return None
    return content.column(NOMINAL, [(word, word) for word in content.declared or _sorted(words)])


def declared(content: Values) -> Column:
    """Return a column that a user says to be nominal: numbers first, in their order."""
    numbers = sorted(filter(is_number, content.counts), key=float)
    values = content.declared or [*numbers, *_sorted(content.counts.keys() - {*numbers})]
    return content.column(NOMINAL, [(value, content.labels.get(value, value)) for value in values])


def _sorted(words: Collection[str]) -> list[str]:
    """Return words in the order of the alphabet, or of the codes in front of them."""
    is_coded = any(word != bare for word, bare in bare_words(words).items())
    codes = {word: part.code for word in words if (part := split_code(word)) is not None} if is_coded else {}
    return sorted(words, key=lambda word: (codes.get(word, 0.0), word))
