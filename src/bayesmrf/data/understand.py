"""The codebook of a table: what each column is by what a user says, by its values, and by the other columns."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from ..errors import DataError, argument, data_row, in_python, preparing
from ..names import digits, listed, quoted
from .asked import Asked, joined
from .codebook import CONSTANT, COUNT, IDENTIFIER, NOMINAL, NUMBER, ORDERED, TEXT, Codebook, Column, Problem, as_text
from .column_kinds import Seen, kind_of, look_at, share_levels
from .even_steps import recoded
from .levels import MOST_NAMED, Foreign, find_foreign
from .no_answers import (
    dividing_rule,
    forgotten_count,
    is_count,
    one_row_per_answer,
    remedy_for_pictures,
    repeated_identifier,
)
from .no_answers import problems as problems_of_rows
from .ordered_levels import MOST_LEVELS
from .said_columns import changed, given, said_columns
from .text_cells import is_number, remedy_for_text
from .time_columns import said_of_times, time_columns
from .typed_table import STEPS

if TYPE_CHECKING:
    import pandas as pd

ANYTHING = ("names", "numbers", "values")  # what a reader may take
ALL_ANSWERS = "none"  # of codes of missing values: there are none, and every value is an answer
_BLANK = 0.05  # share of blank cells of a column of one value, from which they may be an answer
_FEW_OF_A_KIND = 1000  # cells of a value, which stand for all where shares are counted
_BITS = {"-1", "0", "1", "True", "False"}
_X = argument("X")


def understand(
    frame: pd.DataFrame, asked: Asked | None = None, takes: Collection[str] = (), of_panel: bool = False
) -> Codebook:
    """Return the codebook of a pandas table.

    Parameters
    ----------
    frame : DataFrame
    asked : Asked, optional
        What the user says of the columns.
    takes : collection of str
        What is no problem for those who read the table: "names" without order; "numbers" that are no scale; "values"
        that do not look like answers, as of identifiers, or outside the levels of most answers.
    of_panel : bool
        Whether it is a panel, whose rows follow each other in time.
    """
    asked = asked or Asked()
    chosen = asked.chosen([str(name) for name in frame.columns])
    seen = [s for s in look_at(frame) if s.name in chosen]
    codes = set(map(as_text, asked.missing))
    answers = {code for code in codes if code.strip().lower() == ALL_ANSWERS}
    if answers:
        takes = {*takes, "numbers", "values"}
    of_words = [s for s in seen if not all(map(is_number, s.counts.keys() - answers))]  # where "none" is one of them
    seen = [s.without(codes - answers if s in of_words else codes) for s in seen]
    if asked.columns is not None:
        columns = changed(given(asked.columns, seen), asked)
        return Codebook(tuple(columns), tuple(map(Problem, _of_names(columns, {c.name for c in columns}, takes))))
    said = said_columns(asked, seen)
    rest = sorted((s for s in seen if s.name not in said), key=lambda s: s.ordered)
    problems, texts, apart, is_long = list[str](), list[str](), dict[str, str](), False
    if "values" in takes or all(s.counts.keys() <= _BITS for s in rest):
        foreign = Foreign()
    else:
        apart, problems, is_long = _of_rows(_part(frame, [s.name for s in rest]))
        times = time_columns(part := _part(frame, [s.name for s in rest if not s.ordered and s.name not in apart]))
        problems += said_of_times(part, times, of_panel)
        apart |= dict.fromkeys(times, IDENTIFIER)
        compared = [s for s in rest if s.name not in apart]
        foreign = find_foreign(*_values_of(compared))
        names = [s.name for s in compared if not s.ordered]
        many = {s.name for s in compared if s.numbers is not None and len(s.counts) > MOST_LEVELS}
        problems += [*_no_answers(foreign, names, many), *_outside(foreign, _part(frame, names))]
        apart |= {names[i]: IDENTIFIER for i in foreign.ids if i < len(names)}
        apart |= {names[i]: NUMBER for i in foreign.scales if i < len(names)}
    outside = set(map(digits, foreign.codes))
    shown = [s.without(outside) if outside & s.counts.keys() else s for s in rest]
    found = said | {column.name: column for column in share_levels([*map(kind_of, shown)], shown)}
    found |= _in_steps([s for s in shown if s.name not in apart and not s.ordered])
    found |= {name: _no_answer(found[name], kind) for name, kind in apart.items()}
    if "numbers" in takes:
        found = {name: _as_it_is(column) for name, column in found.items()}
    columns = changed([found[s.name] for s in seen], asked)
    numbers = [c for c in columns if c.kind in (NUMBER, COUNT) and c.name not in apart]
    problems += _of_few([c for c in numbers if not _are_many(c)])
    texts += _of_measurements([c for c in numbers if _are_many(c)], rest)
    free = [(c, s) for c, s in zip(columns, seen, strict=True) if c.kind == TEXT and c.name not in apart]
    texts += _of_texts(free, frame)
    texts += _of_ticks([c for c in columns if _is_tick(c, len(frame))])
    texts += _of_one_word([c for c in columns if _is_one_word(c) and not _is_tick(c, len(frame))])
    texts += _of_names(columns, {*said} | _without_order(columns, seen), takes)
    columns = [c._replace(does=f"{c.labels[1]} counts as yes") if _is_pair(c) and not c.does else c for c in columns]
    if is_long:
        texts = []  # of a table that is to be another one
    every = [Problem(text, unless=True) for text in problems]
    every += map(Problem, texts)
    return Codebook(tuple(columns), tuple(every))


def require_readable(book: Codebook) -> None:
    """Refuse a table with problems, all of which are told together.

    Raises
    ------
    DataError
    """
    texts = problems_of(book)
    if texts:
        each = "; ".join(f"({i}) {text}" for i, text in enumerate(texts, start=1)) if texts[1:] else texts[0]
        raise DataError(f"{_X} must contain answers only: {each}.")


def problems_of(book: Codebook) -> list[str]:
    """Return what keeps a table from being read; after the last of those that it undoes, that all may be answers."""
    texts = [problem.text for problem in book.problems]
    last = max((i for i, problem in enumerate(book.problems) if problem.unless), default=None)
    if last is not None:
        way = in_python("set model='ordinal'", f"--missing-code {ALL_ANSWERS}")
        texts[last] += f", or {way} if all values are answers"
    return texts


def _values_of(seen: list[Seen]) -> tuple[list[np.ndarray], list[str]]:
    """Return values and names of columns as they are compared with each other: of ordered categories their numbers."""

    def values(s: Seen) -> np.ndarray:
        if s.ordered:
            return np.resize(np.arange(1, len(s.declared) + 1), max(len(s.declared), sum(s.counts.values())))
        return np.repeat([*s.counts], [*s.counts.values()]) if s.numbers is None else s.numbers

    return [values(s) for s in seen], [s.name for s in seen]


def _part(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """Return some columns of a table, with texts as their names."""
    at = [i for i, name in enumerate(map(str, frame.columns)) if name in names]
    part = frame.iloc[:, at]
    return part.set_axis(list(map(str, part.columns)), axis=1)


def _of_rows(frame: pd.DataFrame) -> tuple[dict[str, str], list[str], bool]:
    """Return columns that say what the rows are, with their kinds, what is wrong, and whether a row is one answer."""
    if not len(frame):
        return {}, [], False
    person, is_long = repeated_identifier(frame), one_row_per_answer(frame) is not None
    count = None if is_long else forgotten_count(frame)
    kinds = {name: kind for name, kind in ((person, IDENTIFIER), (count, COUNT)) if name is not None}
    return kinds, problems_of_rows(frame), is_long


def _in_steps(seen: list[Seen]) -> dict[str, Column]:
    """Return columns of numbers whose equal steps are a coding."""
    numbers = {s.name: v for s in seen if (v := s.numbers) is not None and not s.labels}
    by_name = {s.name: s for s in seen}
    return {
        name: by_name[name].column(ORDERED, [(digits(v), digits(v)) for v in levels], STEPS)
        for name, levels in recoded(numbers).items()
        if len(levels) > 2
    }


def _no_answer(column: Column, kind: str) -> Column:
    kind = COUNT if is_count(column.name) else kind
    return column._replace(kind=kind, levels=(), does="numbers or names rows" if kind == IDENTIFIER else "")


def _as_it_is(column: Column) -> Column:
    """Return a column of numbers as levels that are read as they are, if the user says that they are answers."""
    return column._replace(kind=ORDERED, does="") if column.kind in (NUMBER, COUNT) else column


def _no_answers(foreign: Foreign, names: list[str], many: set[str]) -> list[str]:
    """Return what is wrong with columns that are no answers; measurements, which have ``many`` numbers, can be cut."""
    found, what = foreign.columns(names)
    if not found:
        return []
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    weight = next(filter(is_count, found), None)
    hint = f", or give {argument('sample_weight', weight)} if it counts how often a row was observed" if weight else ""
    drop = preparing("drop", *found[:MOST_NAMED])
    scales = [names[i] for i in foreign.scales if i < len(names)]
    cuts = [f"{name}:4" for name in scales if name in many and not is_count(name)][:MOST_NAMED]
    cut = f"cut measurements into levels of equal counts with {preparing('cut', *cuts)}, or " if cuts else ""
    return [f"column {quoted(found[0])} {what}; {cut}drop columns that are not answers with {drop}{more}{hint}"]


def _outside(foreign: Foreign, frame: pd.DataFrame) -> list[str]:
    if not foreign.codes:
        return []
    named = dict(list(foreign.codes.items())[:MOST_NAMED])
    codes = ", ".join(f"{digits(code)} ({n:,} cell{'s' * (n != 1)})" for code, n in named.items())
    row, column = np.argwhere(frame.isin(named.keys()).to_numpy())[0]
    return [
        f"{codes} lie outside the levels {foreign.span}, the first in {data_row(int(row))}, column "
        f"{quoted(str(frame.columns[column]))}; {foreign.remedy}"
    ]


def _are_many(column: Column) -> bool:
    return int((column.does or "0").split()[0]) > MOST_LEVELS


def _of_few(columns: list[Column]) -> list[str]:
    """Return what is wrong with columns of few different numbers that are no scale."""
    if not columns:
        return []
    names = [c.name for c in columns][:MOST_NAMED]
    each = listed([f"{quoted(c.name)} ({c.does})" if c.does else quoted(c.name) for c in columns], 3, total=True)
    return [
        f"numbers that are no scale of answers: {each}; take them in their order with {preparing('ordered', *names)}, "
        f"or leave them out with {preparing('drop', *names)}"
    ]


def _of_measurements(columns: list[Column], seen: list[Seen]) -> list[str]:
    """Return what is wrong with columns of many different numbers; a rule is proposed if it divides every column."""
    if not columns:
        return []
    values = [s.numbers for s in seen if s.numbers is not None]
    if pictures := remedy_for_pictures(values):
        return [pictures]
    names = [c.name for c in columns][:MOST_NAMED]
    each = listed([f"{quoted(c.name)} ({c.does})" for c in columns], 3, total=True)
    rule = dividing_rule(values) if len(values) == len(seen) else ""
    divide = in_python("", f', divide all columns with --binarize "{rule}"') if rule else ""
    return [
        f"{len(columns)} column(s) are measurements: {each}; cut them into levels of equal counts with "
        f"{preparing('cut', *(f'{name}:4' for name in names))}{divide}, or leave them out with "
        f"{preparing('drop', *names)}"
    ]


def _of_texts(found: list[tuple[Column, Seen]], frame: pd.DataFrame) -> list[str]:
    """Return what is wrong with columns of texts: all that have no numbers together, of others each one."""
    texts = [(c, s) for c, s in found if not any(map(is_number, s.counts))]
    problems = []
    for column, seen in found:
        if (column, seen) not in texts:
            text = next(value for value in seen.counts if not is_number(value))
            cells = frame.iloc[:, list(map(str, frame.columns)).index(column.name)]
            row = data_row([as_text(cell) for cell in cells].index(text))
            values = [value for value, n in seen.counts.items() for _ in range(min(n, _FEW_OF_A_KIND))]
            remedy = remedy_for_text(text, values, f"recode it, or drop it with {preparing('drop', column.name)}")
            problems.append(f"column {quoted(column.name)} contains text such as {quoted(text)} in {row}; {remedy}")
    if texts:
        names = [c.name for c, _ in texts[:MOST_NAMED]]
        each = listed([f"{quoted(c.name)} ({c.does}, such as {next(iter(s.counts))!r})" for c, s in texts], total=True)
        problems.append(f"texts: {each}; leave them out with {preparing('drop', *names)}, or give "
                        f"{preparing('nominal', names[0])} if the words are answers")  # fmt: skip
    return problems


def _is_pair(column: Column) -> bool:
    return column.kind == NOMINAL and len(column.labels) == 2


def _without_order(columns: list[Column], seen: list[Seen]) -> set[str]:
    """Return columns that say themselves that they have no order: by categories without one, or in their file.

    Two such words may still be meant as no and yes, unless other columns have no order.
    """
    of = {s.name for s in seen if (s.declared and not s.ordered) or s.measure == NOMINAL}
    return of if any(c.kind == NOMINAL and len(c.labels) > 2 for c in columns if c.name in of) else set()


def _of_names(columns: list[Column], said: Collection[str], takes: Collection[str]) -> list[str]:
    """Return what is wrong with names that may have an order: those that were not ``said`` to have none."""
    found = [c for c in columns if c.kind == NOMINAL and c.name not in said]
    return [] if "names" in takes else _of_words(found)


def _of_words(columns: list[Column]) -> list[str]:
    """Return what is wrong with columns of words, for a model whose answers have an order."""
    named = [f"{quoted(c.name)} ({listed(c.labels, 7)})" for c in columns]
    two = [(name, c) for name, c in zip(named, columns, strict=True) if _is_pair(c)]
    more = [(name, c) for name, c in zip(named, columns, strict=True) if not _is_pair(c)]
    found = []
    if two:
        some = [c for _, c in two[:MOST_NAMED]]
        found.append(
            f"two words in no known order: {listed([name for name, _ in two], total=True)}; count the second as yes "
            f"with {preparing('nominal', *(c.name for c in some))}, or give them in their order with "
            f"{preparing('levels', joined(some[0].labels))}"
        )
    if more:
        some = [c for _, c in more[:MOST_NAMED]]
        orders = dict.fromkeys(joined(c.labels) for c in some)
        found.append(
            f"words in no known order: {listed([name for name, _ in more], total=True)}; give them in their order with "
            f"{preparing('levels', *orders)}, or say that they have none with "
            f"{preparing('nominal', *(c.name for c in some))}"
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
