"""The codebook of a table: what each column is by what a user says, by its values, and by the other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, argument, data_row, preparing
from ..names import digits, listed, quoted
from .asked import Asked
from .codebook import CONSTANT, COUNT, IDENTIFIER, NOMINAL, NUMBER, ORDERED, TEXT, Codebook, Column, Problem, as_text
from .column_kinds import Seen, is_count, kind_of, look_at, share_levels
from .levels import MOST_NAMED, Foreign, find_foreign
from .ordered_levels import MOST_LEVELS
from .said_columns import changed, given, said_columns
from .text_cells import is_number, remedy_for_text

if TYPE_CHECKING:
    import pandas as pd

# Functions from a table, of which columns that are no answers were left out, to what is noticed of several columns:
# objects with ``columns`` (the first follows from the others), ``kind`` (one of `codebook.KINDS`) and ``sentence``.
DETECTORS: tuple[Callable[[pd.DataFrame], Iterable[Any]], ...] = ()
ALL_ANSWERS = "none"  # of codes of missing values: there are none, and every value is an answer
_BLANK = 0.05  # share of blank cells of a column of one value, from which they may be an answer
_BITS = {"-1", "0", "1", "True", "False"}
_X = argument("X")


def understand(frame: pd.DataFrame, asked: Asked | None = None, checked: bool = True) -> Codebook:
    """Return the codebook of a pandas table.

    Parameters
    ----------
    frame : DataFrame
    asked : Asked, optional
        What the user says of the columns.
    checked : bool
        Whether identifiers, numbers that are no scale, and values outside the levels are problems.
    """
    asked = asked or Asked()
    chosen = asked.chosen([str(name) for name in frame.columns])
    seen = [s for s in look_at(frame) if s.name in chosen]
    checked &= ALL_ANSWERS not in [code.strip().lower() for code in asked.missing]
    codes = set(map(as_text, asked.missing))
    seen = [s.without(codes) if codes & s.counts.keys() else s for s in seen]
    if asked.columns is not None:
        return Codebook(tuple(changed(given(asked.columns, seen), asked)))
    said = said_columns(asked, seen)
    rest = sorted((s for s in seen if s.name not in said), key=lambda s: s.ordered)
    is_bits = all(s.counts.keys() <= _BITS for s in rest)
    foreign = find_foreign(*_values_of(rest)) if checked and not is_bits else None
    outside = set(map(digits, foreign.codes)) if foreign else set()
    shown = [s.without(outside) if outside & s.counts.keys() else s for s in rest]
    found = said | {column.name: column for column in share_levels([*map(kind_of, shown)], shown)}
    problems, apart = list[str](), set[str]()
    if foreign is not None:
        names = [s.name for s in rest if not s.ordered]
        found |= {names[i]: _no_answer(found[names[i]], IDENTIFIER) for i in foreign.ids if i < len(names)}
        found |= {names[i]: _no_answer(found[names[i]], NUMBER) for i in foreign.scales if i < len(names)}
        apart = {names[i] for i in (*foreign.ids, *foreign.scales) if i < len(names)}
        problems = [*_no_answers(foreign, names), *_outside(foreign, frame[names])]
    if not checked:
        found = {name: _as_it_is(column) for name, column in found.items()}
    columns = changed([found[s.name] for s in seen], asked)
    problems += _of_numbers([c for c in columns if c.kind in (NUMBER, COUNT) and c.name not in apart])
    for column, s in zip(columns, seen, strict=True):
        problems += [_of_text(column, s)] if column.kind == TEXT and column.name not in apart else []
    problems += _of_ticks([c for c in columns if _is_tick(c, len(frame))])
    problems += _of_one_word([c for c in columns if _is_one_word(c) and not _is_tick(c, len(frame))])
    unordered = _of_words([c for c in columns if c.kind == NOMINAL and (c.name not in said or len(c.labels) > 2)])
    notes = []
    if not problems:
        answers = frame[[column.name for column in columns]] if DETECTORS else frame
        for noticed in (noticed for detect in DETECTORS for noticed in detect(answers)):
            columns = [c._replace(kind=noticed.kind) if c.name == noticed.columns[0] else c for c in columns]
            notes.append(noticed.sentence)
    every = [*map(Problem, problems), *(Problem(text, nominal=True) for text in unordered)]
    return Codebook(tuple(columns), tuple(every), tuple(notes))


def require_readable(book: Codebook, nominal: bool = True) -> None:
    """Refuse a table with problems, all of which are told together.

    Parameters
    ----------
    book : Codebook
    nominal : bool
        Whether names without order may be answers.

    Raises
    ------
    DataError
    """
    texts = [problem.text for problem in book.problems if not (nominal and problem.nominal)]
    if len(texts) == 1:
        raise DataError(f"{_X}: {texts[0]}.")
    if texts:
        each = "; ".join(f"({i}) {text}" for i, text in enumerate(texts, start=1))
        raise DataError(f"{_X} has {len(texts)} problems: {each}.")


def _values_of(seen: list[Seen]) -> tuple[list[np.ndarray], list[str]]:
    """Return values and names of columns as they are compared with each other: of ordered categories their numbers."""

    def values(s: Seen) -> np.ndarray:
        if s.ordered:
            return np.resize(np.arange(1, len(s.declared) + 1), max(len(s.declared), sum(s.counts.values())))
        return np.repeat([*s.counts], [*s.counts.values()]) if s.numbers is None else s.numbers

    return [values(s) for s in seen], [s.name for s in seen]


def _no_answer(column: Column, kind: str) -> Column:
    kind = COUNT if is_count(column.name) else kind
    return column._replace(kind=kind, levels=(), does="another value in nearly every row" if kind == IDENTIFIER else "")


def _as_it_is(column: Column) -> Column:
    """Return a column of numbers as levels that are read as they are, if the user says that they are answers."""
    return column._replace(kind=ORDERED, does="") if column.kind in (NUMBER, COUNT) else column


def _no_answers(foreign: Foreign, names: list[str]) -> list[str]:
    found, what = foreign.columns(names)
    if not found:
        return []
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    weight = next(filter(is_count, found), None)
    hint = f", or give {argument('sample_weight', weight)} if it counts how often a row was observed" if weight else ""
    drop = preparing("drop", *found[:MOST_NAMED])
    return [f"column {quoted(found[0])} {what}; drop columns that are not answers with {drop}{more}{hint}"]


def _outside(foreign: Foreign, frame: pd.DataFrame) -> list[str]:
    if not foreign.codes:
        return []
    named = dict(list(foreign.codes.items())[:MOST_NAMED])
    codes = ", ".join(f"{digits(code)} ({n:,} cell{'s' * (n != 1)})" for code, n in named.items())
    row, column = np.argwhere(frame.isin(named.keys()).to_numpy())[0]
    return [
        f"{codes} lie outside the levels {foreign.span}, the first in {data_row(int(row))}, column "
        f"{quoted(frame.columns[column])}; {foreign.remedy}, or {preparing('missing', ALL_ANSWERS)} if all values "
        "are answers"
    ]


def _of_numbers(columns: list[Column]) -> list[str]:
    found = []
    for many in (True, False):
        some = [c for c in columns if (int((c.does or "0").split()[0]) > MOST_LEVELS) == many]
        if some:
            names = [c.name for c in some][:MOST_NAMED]
            each = listed([f"{quoted(c.name)} ({c.does})" if c.does else quoted(c.name) for c in some], 3, total=True)
            cut = f"divide them into levels of equal counts with {preparing('cut', *(f'{name}:4' for name in names))}"
            order = f"take them in their order with {preparing('ordered', *names)}"
            found.append(f"numbers that are no scale of answers: {each}; {cut if many else order}, or leave them out "
                         f"with {preparing('drop', *names)}")  # fmt: skip
    return found


def _of_text(column: Column, seen: Seen) -> str:
    drop = preparing("drop", column.name)
    if column.does.startswith("dates"):
        return f"column {quoted(column.name)} contains {column.does}; leave it out with {drop}"
    text = next(value for value in seen.counts if not is_number(value))
    otherwise = f"recode it, give {preparing('nominal', column.name)} if the words are answers, or drop it with {drop}"
    remedy = remedy_for_text(text, [v for v, n in seen.counts.items() for _ in range(min(n, 1000))], otherwise)
    return f"column {quoted(column.name)} contains text such as {quoted(text)}; {remedy}"


def _of_words(columns: list[Column]) -> list[str]:
    """Return what is wrong with columns of words, for a model whose answers have an order."""
    named = [f"{quoted(c.name)} ({listed(c.labels, 7)})" for c in columns]
    two = [(name, c) for name, c in zip(named, columns, strict=True) if len(c.labels) == 2]
    more = [(name, c) for name, c in zip(named, columns, strict=True) if len(c.labels) != 2]
    found = []
    if two:
        some = [c for _, c in two[:MOST_NAMED]]
        found.append(
            f"two words in no known order: {listed([name for name, _ in two], total=True)}; count the second as yes "
            f"with {preparing('nominal', *(c.name for c in some))}, or give them in their order with "
            f"{preparing('levels', ','.join(some[0].labels))}"
        )
    if more:
        some = [c for _, c in more[:MOST_NAMED]]
        orders = dict.fromkeys(",".join(c.labels) for c in some)
        found.append(
            f"words in no known order: {listed([name for name, _ in more], total=True)}; give them in their order with "
            f"{preparing('levels', *orders)}, or leave them out with {preparing('drop', *(c.name for c in some))}"
        )
    return found


def _is_one_word(column: Column) -> bool:
    return column.kind == CONSTANT and bool(column.levels) and not any(
        is_number(level.value) or level.value in _BITS for level in column.levels
    )  # fmt: skip


def _of_one_word(columns: list[Column]) -> list[str]:
    each = listed([f"{quoted(c.name)} ({c.levels[0].value})" for c in columns], total=True)
    drop = preparing("drop", *(c.name for c in columns[:MOST_NAMED]))
    return [f"one word only: {each}; leave out with {drop}"] if columns else []


def _is_tick(column: Column, n: int) -> bool:
    blank = column.missing if not column.codes else 0
    return column.kind == CONSTANT and len(column.levels) == 1 and blank > _BLANK * n


def _of_ticks(columns: list[Column]) -> list[str]:
    if not columns:
        return []
    names = listed([quoted(column.name) for column in columns], 3, total=True)
    value = columns[0].levels[0].value
    return [
        f"{names} {'have' if len(columns) > 1 else 'has'} one value, such as {quoted(value)}, next to blanks, so that "
        f"the prior alone would decide about edges; blank may mean no: give {preparing('no', '')}, else drop "
        f"{'them' if len(columns) > 1 else 'it'} with {preparing('drop', *(c.name for c in columns[:MOST_NAMED]))}"
    ]
