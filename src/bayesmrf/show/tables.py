"""What a table of results is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import OptionError
from ..names import LONGEST, shown
from ..results.bayes_factors import text_of
from ..results.marks import ERROR
from ..results.summary import Summary

if TYPE_CHECKING:
    import pandas as pd

UNKNOWN = "–"  # in the place of what is not known, such as the weight of an edge that never exists


@dataclass(frozen=True)
class Column:
    """Columns of a frame that are read together: one value, or the two ends of an edge or of an interval.

    Parameters
    ----------
    head : str
        Its head.
    fields : tuple of str
        Columns of the frame.
    each : str
        How a value is written.
    joint : str
        How the values are written together, where there is little room.
    heads : tuple of str
        Heads of the single values, where there is room.
    is_narrow : bool
        Whether it is shown where there is little room.
    longest : int or None
        Letters beyond which a text is cut.
    """

    head: str
    fields: tuple[str, ...]
    each: str = "{}"
    joint: str = "{}"
    heads: tuple[str, ...] = ()
    is_narrow: bool = True
    longest: int | None = LONGEST

    def apart(self) -> list[Column]:
        """Return a column for each field."""
        if not self.heads:
            return [self]
        parts = zip(self.heads, self.fields, strict=True)
        return [Column(head, (field,), self.each, longest=self.longest) for head, field in parts]

    def cell(self, row: Any) -> str:
        """Return its text in a row; names are made visible, and cut where they are long."""
        values = [getattr(row, field) for field in self.fields]
        if any(value is None or value != value for value in values):
            return UNKNOWN
        return self.joint.format(*map(self._text, values))

    def _text(self, value: Any) -> str:
        return shown(value, self.longest) if isinstance(value, str) else self.each.format(value)

    def is_text(self, rows: pd.DataFrame) -> bool:
        """Return whether it has texts."""
        from pandas.api.types import is_numeric_dtype

        return not is_numeric_dtype(rows[self.fields[0]])


def number(field: str, head: str = "", each: str = "{:.3f}", wide: str = "", is_narrow: bool = True) -> Column:
    """Return a column of numbers; ``wide`` is its head where there is room, if that is another one."""
    return Column(head or field, (field,), each, heads=(wide,) if wide else (), is_narrow=is_narrow)


def text(field: str, head: str = "", longest: int | None = LONGEST) -> Column:
    """Return a column of texts or labels."""
    return Column(head or field, (field,), longest=longest)


class Bounded(Column):
    """A column of Bayes factors, of which those at a bound are written as beyond it."""

    def _text(self, value: Any) -> str:
        return text_of(value)


class Worded(Column):
    """The column of the words of evidence, of which those near a limit are marked."""

    def cell(self, row: Any) -> str:
        """Return the word."""
        return f"{row.evidence}{'*' if row.near_limit else ''}"


class Marked(Column):
    """A column of figures of which those with too large an error are marked."""

    def cell(self, row: Any) -> str:
        """Return the figure."""
        figure = super().cell(row)
        return f"{figure}†" if figure != UNKNOWN and is_marked(self.fields[0], row) else figure


def is_marked(field: str, row: Any) -> bool:
    """Return whether the error of an inclusion, or of a weight, in a row is too large, if the row says so."""
    if field == "inclusion":
        return "inclusion_error" in row._fields and row.inclusion_error > ERROR
    return "few_draws" in row._fields and bool(row.few_draws)


FACTOR = Bounded("Bayes factor", ("bayes_factor",))
WORD = Worded("evidence", ("evidence",))
EVIDENCE = FACTOR, WORD
ENDS = Column("edge", ("first", "second"), "{}", "{} – {}", ("one end", "other end"))


def marked(field: str) -> Column:
    """Return the column of inclusions, or of weights, or of their differences."""
    return Marked(field, (field,), "{:.3f}")


def with_legend(said: str, rows: pd.DataFrame) -> str:
    """Return what is said below rows, and what their marks mean."""
    if "few_draws" not in rows or not (rows["few_draws"].any() or (rows["inclusion_error"] > ERROR).any()):
        return said
    return f"{said} †: inclusion with an error above {ERROR}, or too few draws for the weight and interval.".strip()


def interval(s: Summary) -> Column:
    """Return the column of the ends of an interval."""
    return Column(f"{100 * s.probability:g} % interval", ("lower", "upper"), "{:.3f}", "{} to {}", ("from", "to"))


@dataclass(frozen=True)
class Listing:
    """The rows of a table that are shown.

    Parameters
    ----------
    title : str
    rows : DataFrame
        They have the columns of the frame of the table.
    rest : str
        What is not shown; or what is said in place of a table without rows.
    sections : str
        A column whose changes are marked by a line between rows; "" for none.
    """

    title: str
    rows: pd.DataFrame
    rest: str = ""
    sections: str = ""


@dataclass(frozen=True)
class Table:
    """A table of results, which `est.table`, the terminal, the page and files show.

    Parameters
    ----------
    name : str
        Its name in `est.table`.
    frame : DataFrame
        All rows, with unrounded values and the names of the data.
    columns : tuple of Column
        How it is shown.
    narrow, wide : Listing or None
        The rows that the terminal and the page list; None where it is not listed.
    lead : str
        Sentences before it, on a terminal.
    note : str
        What its columns mean.
    """

    name: str
    frame: pd.DataFrame
    columns: tuple[Column, ...]
    narrow: Listing | None = None
    wide: Listing | None = None
    lead: str = ""
    note: str = ""

    def cells(self, listing: Listing, columns: Sequence[Column]) -> list[list[str]]:
        """Return the texts of the rows of a listing."""
        return [[column.cell(row) for column in columns] for row in listing.rows.itertuples(index=False)]


Make = Callable[[Any], Table]
Wanted = Callable[[Any], bool]


@dataclass(frozen=True)
class TableOf:
    """A table of the results of a kind, of those ``where`` there is one; called with a summary, it makes the table."""

    name: str  # in `est.table`
    of: type  # of summaries
    make: Make
    where: Wanted
    is_listed: bool  # else it is made when a user asks for it

    def __call__(self, s: Any) -> Table:
        """Make the table of a result."""
        return self.make(s)

    def is_in(self, s: Summary) -> bool:
        """Return whether a result has this table."""
        return isinstance(s, self.of) and self.where(s)

    @property
    def about(self) -> str:
        """What the table has."""
        return (self.make.__doc__ or "").partition("\n")[0]


def table(name: str, of: type, where: Wanted = lambda _: True, listed: bool = True) -> Callable[[Make], TableOf]:
    """Return a decorator of the function that makes a table; see `TableOf`."""
    return lambda make: TableOf(name, of, make, where, listed)


def at_most(most: int, n: int) -> int:
    """Return how many of ``n`` rows are listed: "1 more" would take as much room as the row."""
    return most + (n == most + 1)


def rest_of(n: int, most: int, which: str) -> str:
    """Return a remark that the first or strongest rows are listed, if there are more."""
    return f"The {most} {which} are listed; the result contains the other {n - most:,}." if n > most else ""


def first_rows(title: str, frame: pd.DataFrame, most: int, which: str = "", rest: str = "") -> Listing:
    """Return the listing of the first rows of a frame, with the legend of their marks.

    Parameters
    ----------
    title : str
    frame : DataFrame
    most : int
        How many are listed at most.
    which : str
        What these are, for the remark that there are more.
    rest : str
        Another remark.
    """
    rows = frame.iloc[:most]
    return Listing(title, rows, with_legend(rest or (rest_of(len(frame), most, which) if which else ""), rows))


def part_of(frame: pd.DataFrame, edge: Any) -> pd.DataFrame:
    """Return a copy of a frame, or its rows of one edge, by the names of the two ends.

    Raises
    ------
    OptionError
        If there are none.
    """
    if edge is None:
        return frame.copy()
    ends = {str(end) for end in edge} if isinstance(edge, tuple | list) else set()
    has_ends = {"first", "second"} <= set(frame.columns)
    is_edge = [set(pair) == ends for pair in zip(frame["first"], frame["second"], strict=True)] if has_ends else []
    if not any(is_edge):
        raise OptionError(
            option="edge", got=edge, expected="None, or the names of the two ends of an edge of the table"
        )
    return frame[is_edge].reset_index(drop=True)
