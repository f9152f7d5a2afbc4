"""Answers in the order in which they are shown: the one list of rooms, for tables, pages and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..declare.rule import PROBABILITY
from ..errors import OptionError
from ..names import quoted
from ..progress import begin_part
from ..results.summary import Summary, summarise
from ..show.figures import PictureOf
from ..show.page import Section
from ..show.tables import Listing, Table, TableOf

if TYPE_CHECKING:
    import pandas as pd

# Their order is data, never that of imports.
ROOMS = (
    "edges", "differences", "parameters", "groups", "lagged", "communities", "structures", "statistics", "checks",
    "sensitivity", "loo", "statements", "predictions", "study", "evidence", "run",
)  # fmt: skip
_MAIN_TABLES = "differences", "lagged", "edges", "groups", "parameters"  # the first that a result has is its main one
_ENDS = ("first", "second"), ("source", "target")  # columns of the ends of edges, and of arrows


@dataclass(frozen=True)
class Answer:
    """What a room has for those who show it.

    Parameters
    ----------
    name : str
        That of the room, a folder whose module ``shown`` has its answer.
    tables : tuple of TableOf
        In their order; `est.table`, terminal, page and files have them.
    pictures : tuple of callable
        Functions of `bayesmrf.plots`.
    figures : tuple of PictureOf
        What `est.plot` and ``bayesmrf plot`` draw, by name.
    section : callable or None
        Returns the sections of the page on a run, none if it has no such result; None if the page of each kind of
        posterior places them.
    methods : tuple of str
        Methods of estimators that compute it, or read it off the draws.
    """

    name: str
    tables: tuple[TableOf, ...] = ()
    pictures: tuple[Callable[..., Any], ...] = ()
    figures: tuple[PictureOf, ...] = ()
    section: Callable[[Any], list[Section]] | None = None
    methods: tuple[str, ...] = ()


@cache
def answer(room: str) -> Answer:
    """Return the answer of a room, which is imported on first use."""
    declared: Answer = import_module(f".{room}.shown", __package__).ANSWER
    return declared


def answers() -> Iterator[Answer]:
    """Return all answers, in their order."""
    return map(answer, ROOMS)


def _tables(s: Summary) -> Iterator[TableOf]:
    return (table for room in answers() for table in room.tables if table.is_in(s))


def names_of(result: Any) -> list[str]:
    """Return the names of the tables that a result has.

    Parameters
    ----------
    result : estimator, xarray.DataTree, path or Summary
    """
    return [table.name for table in _tables(summarise(result))]


def all_tables(result: Any) -> Iterator[Table]:
    """Return all tables of a result that are listed, one after the other."""
    s = summarise(result)
    return (table(s) for table in _tables(s) if table.is_listed)


def every_table(result: Any) -> Iterator[tuple[str, Table]]:
    """Yield all tables of a result, and what each has."""
    s = summarise(result)
    return ((table.about, table(s)) for table in _tables(s))


def table_of(result: Any, name: str, probability: float = 0.9) -> Table:
    """Return a table of a result.

    Parameters
    ----------
    result : estimator, xarray.DataTree, path or Summary
    name : str
        One of `names_of`.
    probability : float
        Of the central intervals.

    Raises
    ------
    OptionError
        If the result has no such table.
    """
    PROBABILITY.check("probability", probability)
    s = summarise(result, probability)
    tables = {table.name: table for table in _tables(s)}
    if not (isinstance(name, str) and name in tables):
        expected = f"a table of this result: {', '.join(map(quoted, tables))}"
        raise OptionError(option="name", got=name, expected=expected)
    return tables[name](s)


def matrix_of(result: Any, column: str) -> pd.DataFrame:
    """Return a column of the main table of a result as a matrix of all nodes.

    Parameters
    ----------
    result : estimator, xarray.DataTree, path or Summary
    column : str
        Of the main table: numbers or words, one for each pair.

    Raises
    ------
    OptionError
        If the main table has no such column, or is not about pairs of nodes, or a pair has several values.
    """
    import pandas as pd

    s = summarise(result)
    tables = {table.name: table for table in _tables(s)}
    name = _main_table(tables)
    frame = pd.DataFrame() if name is None else tables[name](s).frame
    ends = next((ends for ends in _ENDS if {*ends} <= {*frame.columns}), None)
    if ends is None or not isinstance(column, str) or column not in {*frame.columns} - {*ends}:
        known = [] if ends is None else [c for c in frame.columns if c not in ends]
        expected = f"a column of the table {name}: {', '.join(map(quoted, known))}" if known else "a result about pairs"
        raise OptionError(option="column", got=column, expected=expected)
    rows = frame[[*ends, column]].drop_duplicates()
    if rows.duplicated([*ends]).any():
        remedy = f"table({quoted(name)}) has a row for each"
        raise OptionError(option="column", got=column, expected="a column with one value for each pair", remedy=remedy)
    square = rows.pivot(index=ends[0], columns=ends[1], values=column)
    square = square.reindex(index=s.names, columns=s.names).rename_axis(index=None, columns=None)
    return square if ends == _ENDS[1] else square.combine_first(square.T).reindex(index=s.names, columns=s.names)


def _main_table(tables: dict[str, TableOf]) -> str | None:
    return next((name for name in _MAIN_TABLES if name in tables), None)


def main_rows(result: Any, n: int) -> tuple[Table, list[str], list[list[str]]] | None:
    """Return the main table of a result, its heads, and the texts of its first ``n`` rows; None if it has none.

    Parameters
    ----------
    result : estimator, xarray.DataTree, path or Summary
    n : int
    """
    s = summarise(result)
    tables = {table.name: table for table in _tables(s)}
    name = _main_table(tables)
    if name is None:
        return None
    made = tables[name](s)
    rows = (made.frame if made.wide is None else made.wide.rows).head(n)
    return made, [column.head for column in made.columns], made.cells(Listing("", rows), made.columns)


def figures_of(s: Summary) -> dict[str, PictureOf]:
    """Return the pictures that a result has, by name."""
    return {figure.name: figure for room in answers() for figure in room.figures if figure.is_in(s)}


def sections(s: Summary) -> list[Section]:
    """Return the sections of the page that the registered answers have."""
    made: list[Section] = []
    for room in answers():
        if room.section is not None:
            begin_part(room.name)
            made += room.section(s)
    return made
