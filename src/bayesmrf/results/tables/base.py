"""What a table of results is, and the register of those of each kind of posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...declare.rule import PROBABILITY
from ...errors import OptionError
from ...names import LONGEST, quoted, shown
from ..bayes_factors import text_of
from ..marks import ERROR
from ..summary import Summary, summarise

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
        found = super().cell(row)
        return f"{found}†" if found != UNKNOWN and is_marked(self.fields[0], row) else found


def is_marked(field: str, row: Any) -> bool:
    """Return whether the error of an inclusion, or of a weight, in a row is too large, if the row says so."""
    if field == "inclusion":
        return "inclusion_error" in row._fields and row.inclusion_error > ERROR
    return "few_draws" in row._fields and bool(row.few_draws)


FACTOR = Bounded("Bayes factor", ("bayes_factor",))
WORD = Worded("evidence", ("evidence",))
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
_TABLES: list[tuple[str, type, Make, Wanted, bool]] = []


def table(name: str, of: type, where: Wanted = lambda _: True, listed: bool = True) -> Callable[[Make], Make]:
    """Register a function as the table ``name`` of the posteriors of a kind, of those ``where`` there is one.

    One that is not ``listed`` is made when a user asks for it.
    """

    def register(make: Make) -> Make:
        _TABLES.append((name, of, make, where, listed))
        return make

    return register


def _of(s: Summary, every: bool = True) -> Iterator[tuple[str, Make]]:
    return ((n, make) for n, of, make, where, listed in _TABLES if isinstance(s, of) and where(s) and (every or listed))


def names_of(result: Any) -> list[str]:
    """Return the names of the tables that a result has.

    Parameters
    ----------
    result : estimator, xarray.DataTree, path or Summary
    """
    return [name for name, _ in _of(summarise(result))]


def all_tables(result: Any) -> Iterator[Table]:
    """Return all tables of a result that are listed, one after the other."""
    s = summarise(result)
    return (make(s) for _, make in _of(s, every=False))


def every_table(result: Any) -> Iterator[tuple[str, Table]]:
    """Yield all tables of a result, and what each has."""
    s = summarise(result)
    return (((make.__doc__ or "").partition("\n")[0], make(s)) for _, make in _of(s))


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
    made = dict(_of(s))
    if not (isinstance(name, str) and name in made):
        raise OptionError(option="name", got=name, expected=f"a table of this result: {', '.join(map(quoted, made))}")
    return made[name](s)


def at_most(most: int, n: int) -> int:
    """Return how many of ``n`` rows are listed: "1 more" would take as much room as the row."""
    return most + (n == most + 1)


def rest_of(n: int, most: int, which: str) -> str:
    """Return a remark that the first or strongest rows are listed, if there are more."""
    return f"The {most} {which} are listed; the result contains the other {n - most:,}." if n > most else ""
