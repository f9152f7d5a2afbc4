"""Flags that say what the columns of a table are, which every command that reads one has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from .field_flags import flag

if TYPE_CHECKING:
    from ..data.column_options import ColumnOptions

_NAMES = "names, q5-q9, mood_*, or several with commas"


@dataclass(kw_only=True)
class ColumnFlags:
    """Options of every command that reads a table; they become those of `bayesmrf.data.prepare`."""

    keep: list[str] | None = flag(f"Columns to read: {_NAMES}.", "COLUMNS", shown="all")
    drop: list[str] | None = flag("Columns to leave out, named as those of --keep.", "COLUMNS")
    columns: Path | None = flag("What each column is: the table of bayesmrf columns, edited.", "COLUMNS.csv")
    combine_rows: str | None = flag(
        "Column that identifies people; the rows of each person become one, with the only value in each other column.",
        "COLUMN",
    )
    levels: list[str] | None = flag(
        "Words, or numbers, in their order, for all columns that have no others.", "WORD,WORD,..."
    )
    yes: str | None = flag("Answers that mean yes, in all columns that have no others.", "WORD,...")
    no: str | None = flag("Answers that mean no; a blank one, as in --no '', is an empty cell.", "WORD,...")
    reverse: list[str] | None = flag("Columns to put in the opposite order.", "COLUMNS")
    cut: list[str] | None = flag(
        "Columns of numbers, and how many levels with equal counts to make of each.", "COLUMNS:N"
    )
    merge: list[str] | None = flag("Levels of columns that become one.", "COLUMNS:LEVEL,LEVEL")
    ordered: list[str] | None = flag("Columns of numbers that are in order, though no scale.", "COLUMNS")
    nominal: list[str] | None = flag("Columns that are names without order.", "COLUMNS")
    split: list[str] | None = flag(
        "Columns with several answers in a cell; each answer becomes a yes/no column.", "COLUMNS"
    )
    order_as_given: bool = flag(
        "The order of words is right, though it is that of the alphabet.", None, False, "--order-as-given"
    )
    missing_code: list[str] | None = flag(
        "Code of a missing value, such as -9. Use 'none' if every value is valid, however far from the others.",
        "CODE",
    )

    @cached_property
    def asked(self) -> ColumnOptions:
        """What these options say, once they are read."""
        from ..data.column_options import ColumnOptions

        named = (
            "keep", "drop", "columns", "levels", "yes", "no", "reverse", "cut", "merge", "ordered", "nominal", "split",
            "order_as_given",
        )  # fmt: skip
        return ColumnOptions.of(**{name: getattr(self, name) for name in named}, missing=self.missing_code)
