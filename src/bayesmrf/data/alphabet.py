"""Words in the order of the alphabet, which is hardly ever that of their meaning: it comes from sorting."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ..errors import DataError, LevelsWarning, argument, in_python, preparing
from ..findings import NOTE, tell
from ..names import listed, quoted
from .cells import is_number
from .codebook import MERGED, MOST_LEVELS, NO_NODES, NOMINAL, ORDERED, Column, Level, as_text
from .coded_words import bare_words, has_order_of_numbers, split_code
from .column_options import TEMPLATE
from .known_words import known_order, yes_and_no

FEWEST = 4  # words, of which one order in 24 is the alphabet's by chance
AS_GIVEN = "order as given"  # what a codebook says of a column whose order is meant
ORDERS = "orders_as_given"  # in the attributes of a table: levels in an order that is meant, by column
_RIGHT = in_python("bayesmrf.data.prepare(X, order_as_given=True)", "--order-as-given")


def is_alphabetical(words: Sequence[str], either: bool = True) -> bool:
    """Return whether words that are no known scale and no quantities are in the order of the alphabet, or of codes.

    Parameters
    ----------
    words : sequence of str
    either : bool
        Whether the opposite order counts, too.
    """
    if len(words) < 2 or any(map(is_number, words)) or _is_known(words):
        return False
    orders = [words, words[::-1]] if either else [words]
    return any(sorted(order, key=key) == list(order) for key in _keys(words) for order in orders)


def _is_known(words: Sequence[str]) -> bool:
    bare = [part for word in bare_words(words).values() for part in word.split(MERGED)]
    if yes_and_no(bare) is not None or has_order_of_numbers(words):
        return True
    known = known_order(bare)
    if known is None:
        return False
    ranks = [known[1][word] for word in bare]
    return ranks in (sorted(ranks), sorted(ranks, reverse=True))


def _keys(words: Sequence[str]) -> list[Callable[[str], Any]]:
    """Return the keys by which programs sort words: by characters, without case, accents, or marks, and by codes."""
    keys: list[Callable[[str], Any]] = [
        str,
        str.casefold,
        _plain,
        lambda word: "".join(filter(str.isalnum, _plain(word))),
    ]
    bare = bare_words(words)
    if any(word != without for word, without in bare.items()):
        codes = {word: part.code for word in words if (part := split_code(word)) is not None}
        keys += [codes.__getitem__, *(lambda word, key=key: key(bare[word]) for key in keys)]
    return keys


def _plain(word: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


def as_given(columns: Sequence[Column]) -> list[Column]:
    """Mark columns in alphabetical order as in an order that is meant."""
    return [c._replace(does=AS_GIVEN) if _is_sorted(c, either=len(c.labels) >= FEWEST) else c for c in columns]


def _is_sorted(column: Column, either: bool = True) -> bool:
    return column.kind not in (*NO_NODES, NOMINAL) and is_alphabetical(column.labels, either)


def problems(columns: Sequence[Column]) -> list[str]:
    """Describe columns of four or more words in alphabetical order, unless this order is meant."""
    alphabetical = [c for c in columns if c.does != AS_GIVEN and len(c.labels) >= FEWEST and _is_sorted(c)]
    if not alphabetical:
        return []
    each = listed([f"{quoted(c.name)} ({listed(c.labels, MOST_LEVELS)})" for c in alphabetical], total=True)
    return [
        f"words in the order of the alphabet, or of their codes: {each}; give them in the order of their meaning with "
        f"{preparing('levels', TEMPLATE)}, or {_RIGHT} if this order is right"
    ]


def marks(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Return the levels of columns whose order is meant, by name, as `ORDERS` keeps them with a table."""
    return {c.name: c.labels for c in columns if c.does == AS_GIVEN or (c.kind == NOMINAL and len(c.labels) == 2)}


def is_meant(orders: Mapping[str, Sequence[str]], name: str, levels: Collection[Any]) -> bool:
    """Return whether the order of the levels of a column is one that is meant."""
    return list(orders.get(name, ())) == list(map(as_text, levels)) if levels else False


def check_order(levels: Sequence[Any], name: str, orders: Mapping[str, Sequence[str]]) -> None:
    """Refuse four or more words in the order of the alphabet, and tell of two or three, unless this order is meant.

    Raises
    ------
    DataError
    """
    words = list(map(as_text, levels))
    if is_meant(orders, name, levels) or not is_alphabetical(words, either=len(words) >= FEWEST):
        return
    if len(words) >= FEWEST:
        (text,) = problems([Column(name, ORDERED, tuple(Level(word, word, 0) for word in words))])
        raise DataError(f"{argument('X')} must have levels in their order: {text}.")
    high = f"so that {quoted(words[-1])} counts as {'yes' if len(words) == 2 else 'the highest'}"
    tell(
        f"the levels of column {quoted(name)} ({', '.join(words)}) are in the order of the alphabet, {high}; give "
        f"{_RIGHT} if this is right, else {preparing('levels', TEMPLATE)}",
        LevelsWarning,
        NOTE,
    )
