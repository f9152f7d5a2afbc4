"""The codebook of a table: what each column is by what a user says, by its values, and by the other columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import DataError, argument, data_row, in_python, preparing
from ..names import digits, quoted
from . import alphabet
from .cells import is_number
from .codebook import (
    COUNT,
    IDENTIFIER,
    METADATA,
    MOST_LEVELS,
    MOST_NAMED,
    NUMBER,
    ORDERED,
    SEVERAL,
    TEXT,
    Codebook,
    Column,
    Problem,
    as_text,
)
from .column_options import ColumnOptions, matching
from .declared_columns import changed, columns_of_codebook, declared_columns
from .kinds import constant, nominal, number, several, text, yes_no
from .kinds.count import is_count
from .kinds.cut import problems_of_codes
from .kinds.detect import kind_of
from .kinds.identifier import is_unnamed_number, metadata_columns, problems_of_metadata
from .kinds.number import weight_of_survey
from .kinds.ordered import in_steps, share_levels
from .kinds.values import Values, values_of
from .levels import Foreign, find_foreign
from .rows_of_events import event_columns
from .table_forms import answered, problem_of, understood_rows
from .table_forms import problems as problems_of_rows
from .time_columns import problems_of_times, time_columns

if TYPE_CHECKING:
    import pandas as pd

ANYTHING = ("names", "numbers", "values")  # what a reader may take
ALL_ANSWERS = "none"  # of codes of missing values: there are none, and every value is an answer
_X = argument("X")


def infer_columns(
    frame: pd.DataFrame, asked: ColumnOptions | None = None, takes: Collection[str] = (), of_panel: bool = False
) -> Codebook:
    """Return the codebook of a pandas table.

    Parameters
    ----------
    frame : DataFrame
    asked : ColumnOptions, optional
        What the user says of the columns.
    takes : collection of str
        What is no problem for those who read the table: "names" without order; "numbers" that are no scale; "values"
        that do not look like answers, as of identifiers, or outside the levels of most answers.
    of_panel : bool
        Whether it is a panel, whose rows follow each other in time.
    """
    frame = frame if asked is None else several.expanded(frame, asked)
    raw = values_of(frame)
    if asked is None and all(s.is_bits for s in raw) and not metadata_columns(raw):
        return Codebook(tuple(map(yes_no.of_bits, raw)), _of_table(frame, takes), plain=True)
    asked = asked or ColumnOptions()
    contents, all_answers = _values(raw, asked)
    if asked.columns is not None:
        columns = columns_of_codebook(asked.columns, contents)
        columns = alphabet.as_given(columns) if asked.order_as_given else columns
        return Codebook(tuple(changed(columns, asked)), tuple(map(Problem, alphabet.problems(columns))))
    takes = {*takes, "numbers", "values"} if all_answers else {*takes}
    declared = declared_columns(asked, contents)
    rest = sorted((s for s in contents if s.name not in declared), key=lambda s: s.ordered)
    outer = {} if "values" in takes else _outer(rest)
    rest = [s for s in rest if s.name not in outer]
    apart = _apart(frame, rest, outer, of_panel, is_all="values" in takes)
    by_name = declared | outer | _kinds(rest, apart, takes)
    columns = [by_name[s.name] for s in contents]
    columns = alphabet.as_given(columns) if asked.order_as_given else columns
    in_order, columns = alphabet.problems(columns), changed(columns, asked)
    problems = list(apart.problems)
    if "values" not in takes:
        problems += problems_of_codes(_measured(columns, contents, asked, apart.codes))
    problems += problems_of_metadata([c for c in columns if c.name not in apart.kinds])
    every = [Problem(text, unless=True) for text in (problems[:1] if apart.is_long else problems)]
    if not apart.is_long:  # which is to be another table
        boxes = {name for name, column in outer.items() if column.kind != METADATA}
        every += _problems(frame, columns, contents, rest, apart, {*declared}, boxes, takes, in_order)
    columns = [
        c._replace(does=f"{c.labels[1]} counts as yes") if nominal.is_pair(c) and not c.does else c for c in columns
    ]
    read = frame if len(contents) == frame.shape[1] else _part(frame, [s.name for s in contents])
    return Codebook(tuple(columns), _of_table(read, takes) or tuple(every))


def _of_table(frame: pd.DataFrame, takes: Collection[str]) -> tuple[Problem, ...]:
    """Return the problem of a table that is none of answers, which makes others."""
    problem = problem_of(frame)
    return () if problem is None or (problem.unless and "values" in takes) else (problem,)


class _Apart(NamedTuple):
    """Columns and values that are no answers.

    Parameters
    ----------
    kinds : dict
        The kind of each column that is none of answers, by name.
    problems : list of str
    codes : set of str
        Values outside the levels of most columns.
    is_long : bool
        Whether a row is one answer.
    """

    kinds: dict[str, str]
    problems: list[str]
    codes: set[str]
    is_long: bool


def _values(raw: list[Values], asked: ColumnOptions) -> tuple[list[Values], bool]:
    """Return the values of chosen columns without codes of missing values; and whether all values are answers."""
    chosen = asked.chosen([s.name for s in raw])
    kept = [s for s in raw if s.name in chosen]
    codes = set(map(as_text, asked.missing))
    answers = {code for code in codes if code.strip().lower() == ALL_ANSWERS}
    of_words = [s for s in kept if not all(map(is_number, s.counts.keys() - answers))]  # where "none" is one of them
    kept = [s.without(codes - answers if s in of_words else codes) for s in kept]
    return (kept, True) if answers else ([s.without_no_answers for s in kept], False)


def _outer(contents: Sequence[Values]) -> dict[str, Column]:
    """Return columns that programs added, and boxes that were ticked or left empty, by name."""
    added = metadata_columns(contents)
    boxes = {s.name: code for s in contents if (code := constant.empty_box(s)) is not None}
    return {s.name: s.column(METADATA, []) for s in contents if s.name in added} | {
        s.name: kind_of(s.without({boxes[s.name]}))[0] for s in contents if s.name in boxes
    }


def _apart(
    frame: pd.DataFrame, rest: list[Values], outer: Mapping[str, Column], of_panel: bool, is_all: bool
) -> _Apart:
    """Find what is no answer: descriptions of rows, times, identifiers, other scales, and codes of missing values."""
    if is_all or all(s.counts.keys() <= constant.BITS for s in rest):
        return _Apart({}, [], set(), False)
    added = [name for name, column in outer.items() if column.kind == METADATA]
    apart, problems, is_long = _of_rows(_part(frame, [*added, *(s.name for s in rest)]), added, of_panel)
    times = time_columns(part := _part(frame, [s.name for s in rest if not s.ordered and s.name not in apart]))
    problems += problems_of_times(part, times, of_panel)
    apart |= dict.fromkeys(times, IDENTIFIER)
    compared = [s for s in rest if s.name not in apart]
    foreign = find_foreign(*_compared(compared))
    names = [s.name for s in compared if not s.ordered]
    many = {s.name for s in compared if s.numbers is not None and len(s.counts) > MOST_LEVELS}
    measured = {s.name for s in compared if s.name in many and is_unnamed_number(s.numbers, s.name)}
    on_scale = [name for i, name in enumerate(names) if i not in {*foreign.ids, *foreign.scales}]
    if not is_long:
        problems += [*_no_answers(foreign, names, many, measured), *_outside(foreign, _part(frame, on_scale))]
    apart |= {names[i]: IDENTIFIER for i in foreign.ids if i < len(names)}
    apart |= {names[i]: NUMBER for i in foreign.scales if i < len(names)}
    return _Apart(apart, problems, set(map(digits, foreign.codes)), is_long)


def _kinds(rest: Sequence[Values], apart: _Apart, takes: Collection[str]) -> dict[str, Column]:
    """Infer the kind of each column from its values, by name."""
    shown = [s.without(apart.codes) if apart.codes & s.counts.keys() else s for s in rest]
    columns = {column.name: column for column in share_levels([*map(kind_of, shown)], shown)}
    plain = [s for s in shown if s.name not in apart.kinds and not s.ordered]
    columns |= in_steps(plain) | number.without_scale(plain)
    columns |= {name: _no_answer(columns[name], kind) for name, kind in apart.kinds.items() if name in columns}
    return {name: _as_it_is(column) for name, column in columns.items()} if "numbers" in takes else columns


def _measured(columns: Sequence[Column], raw: Sequence[Values], asked: ColumnOptions, codes: set[str]) -> list[Values]:
    """Select columns of many numbers, or of numbers that are to be cut."""
    cut = {name for pattern in asked.cut for name in matching("cut", [pattern], [s.name for s in raw])}
    of = zip(columns, raw, strict=True)
    many = {c.name for c, s in of if c.kind in (NUMBER, COUNT) and len(s.counts) > MOST_LEVELS}
    return [s.without(codes) for s in raw if s.name in cut | many]


def _problems(
    frame: pd.DataFrame, columns: list[Column], contents: list[Values], rest: list[Values], apart: _Apart,
    declared: set[str], boxes: set[str], takes: Collection[str], in_order: Sequence[str],
) -> list[Problem]:  # fmt: skip
    """List the problems of columns of each kind."""
    numbers = [c for c in columns if c.kind in (NUMBER, COUNT) and c.name not in apart.kinds]
    few = number.problems_of_few([c for c in numbers if not number.are_many(c)], rest)
    pairs = list(zip(columns, contents, strict=True))
    ticks = [c for c in columns if constant.is_tick(c, len(frame))]
    texts = [
        *in_order,
        *constant.problems_of_boxes([c for c in columns if c.name in boxes]),
        *number.problems_of_many([c for c in numbers if number.are_many(c)], rest),
        *text.problems([(c, s) for c, s in pairs if c.kind == TEXT and c.name not in apart.kinds], frame),
        *several.problems([(c, s) for c, s in pairs if c.kind == SEVERAL], frame),
        *constant.problems_of_ticks(ticks),
        *constant.problems_of_words([c for c in columns if constant.is_one_word(c) and c not in ticks]),
        *nominal.problems(columns, declared | nominal.without_order(columns, contents), takes),
    ]
    return [Problem(text, unless=True) for text in few] + list(map(Problem, texts))


def require_readable(book: Codebook) -> None:
    """Refuse a table with problems, and list them all.

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


def _compared(contents: list[Values]) -> tuple[list[np.ndarray], list[str]]:
    """Return the values that comparisons of columns use (numbers of ordered categories), and their names."""

    def values(s: Values) -> np.ndarray:
        if s.ordered:
            return np.resize(np.arange(1, len(s.declared) + 1), max(len(s.declared), sum(s.counts.values())))
        return np.repeat([*s.counts], [*s.counts.values()]) if s.numbers is None else s.numbers

    return [values(s) for s in contents], [s.name for s in contents]


def _part(frame: pd.DataFrame, names: Collection[str]) -> pd.DataFrame:
    """Return some columns of a table, with texts as their names."""
    wanted = {*names}
    at = [i for i, name in enumerate(map(str, frame.columns)) if name in wanted]
    part = frame.iloc[:, at]
    return part.set_axis(list(map(str, part.columns)), axis=1)


def _of_rows(frame: pd.DataFrame, added: Collection[str], of_panel: bool) -> tuple[dict[str, str], list[str], bool]:
    """Find columns that describe rows (identifiers, counts), problems, and whether the table is in long format.

    Columns that a survey program ``added`` are among them only where a row is an event of a person.
    """
    every = answered(frame, added)
    if not len(every):
        return {}, [], False
    rest = every.drop(columns=list(added))
    rows = understood_rows(rest)
    is_long = rows.answers is not None
    kinds = {name: kind for name, kind in ((rows.person, IDENTIFIER), (rows.frequency, COUNT)) if name is not None}
    kinds |= {relation.columns[0]: NUMBER for relation in rows.totals}
    events = None if rows.person is None or is_long else event_columns(every, rows.person)
    kinds |= dict.fromkeys(events or (), METADATA)
    return kinds, problems_of_rows(every, added, rows, of_panel), is_long


def _no_answer(column: Column, kind: str) -> Column:
    kind = COUNT if is_count(column.name) else kind
    return column._replace(kind=kind, levels=(), does="row label, not analysed" if kind == IDENTIFIER else "")


def _as_it_is(column: Column) -> Column:
    """Take the numbers of a column as levels, if the user declares them answers."""
    return column._replace(kind=ORDERED, does="") if column.kind in (NUMBER, COUNT) else column


def _no_answers(foreign: Foreign, names: list[str], many: set[str], measured: set[str]) -> list[str]:
    """Describe columns that are no answers; measurements, which have ``many`` numbers, can be cut.

    Numbers that look like identifiers, but may be ``measured``, such as incomes, can be cut, too.
    """
    columns, what = foreign.columns(names)
    if not columns:
        return []
    more = f" and {len(columns) - MOST_NAMED} more" if len(columns) > MOST_NAMED else ""
    weight = next(filter(is_count, columns), None)
    hint = f", or give {argument('sample_weight', weight)} if it counts how often a row was observed" if weight else ""
    drop = preparing("drop", *columns[:MOST_NAMED])
    scales = [name for name in columns if name in {names[i] for i in foreign.scales if i < len(names)} | measured]
    what += " or a measurement" if columns[0] in measured and "identifier" in what else ""
    cuts = [f"{name}:4" for name in scales if name in many and not is_count(name)][:MOST_NAMED]
    cut = f"cut measurements into levels of equal counts with {preparing('cut', *cuts)}, or " if cuts else ""
    return [f"column {quoted(columns[0])} {what}; {cut}drop columns that are not answers with {drop}{more}{hint}"
            f"{weight_of_survey(columns)}"]  # fmt: skip


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
