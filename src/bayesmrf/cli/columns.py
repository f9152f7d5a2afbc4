"""The command ``bayesmrf columns``: what each column of a table is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError, OptionError, said
from . import common
from .column_flags import ColumnFlags
from .field_flags import flag
from .flags import command, observations

if TYPE_CHECKING:
    import pandas as pd

    from ..data.codebook import Codebook

SPREADSHEET_SAFE = (
    "Put an apostrophe before texts in CSV files that spreadsheets run as formulas, such as a column named =1+1."
)
_TEXTS = ("name", "kind", "levels", "counts", "codes", "question", "does")


@command
def columns(
    table: Path = observations("ANSWERS.csv", "any values"),
    out: Path | None = flag("Write the table, which --columns of the other commands takes back.", "COLUMNS.csv"),
    overwrite: bool = flag("Replace --out.", None, False, "--overwrite"),
    spreadsheet_safe: bool = flag(SPREADSHEET_SAFE, None, False, "--spreadsheet-safe"),
    *,
    column_flags: ColumnFlags,
) -> None:
    """Show what each column of a table is: its kind, its levels in order, missing values, and what is done with it."""
    from ..data.columns import described
    from ..data.infer_columns import problems_of
    from ..data.kinds.yes_no import problems_of_signs
    from ..data.spreadsheets import csv_of
    from ..show.page import check_out
    from .show import new_table
    from .table_options import read_votes

    if spreadsheet_safe and out is None:
        raise OptionError(option="spreadsheet_safe", got=True, expected="omitted without --out")
    if out is not None:
        check_out(out, overwrite)
    raw, _, _ = read_votes(table, asked=column_flags.asked, person=column_flags.combine_rows)
    console = common.new_console()
    from ..progress import announced  # imports numpy

    with announced("understanding the columns of the table", True):
        book = described(raw, column_flags.asked.of_columns)
    frame = book.frame()
    texts = [name for name in _TEXTS if (frame[name] != "").any()]
    printed = new_table("Columns", texts, ["missing"] if frame["missing"].any() else [])
    for row in frame.to_dict("records"):
        printed.add_row(*(str(row[str(column.header)]) for column in printed.columns))
    console.print(printed)
    if out is not None:
        (text,) = csv_of({"columns": frame}, spreadsheet_safe).values()
        out.write_text(text, encoding="utf-8", newline="")
        console.print(f"The table is in {out}; other commands take it, edited, with --columns {out}", soft_wrap=True)
    is_given = column_flags.asked.columns is not None
    for problem in [*problems_of(book), *problems_of_signs(book.columns), *_of_values(raw, book, is_given)]:
        console.print(f"Please decide: {said(problem, common.spoken)}.", soft_wrap=True)


def _of_values(table: pd.DataFrame, book: Codebook, is_given: bool) -> list[str]:
    """Return why a codebook that is given does not read a table: one lacks levels or columns of the other."""
    from ..data.typed_table import typed

    try:
        if is_given:
            typed(table, book)
    except DataError as e:
        return [e.text.rstrip(".")]
    return []
