"""Printed summaries of a result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from ..answers.registry import all_tables
from ..results.summary import Summary
from ..show.tables import Listing, Table, Worded

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Printed


def show(summary: Summary, console: Console) -> None:
    """Print the answer, the findings of the run, what was run, and the tables."""
    options = "".join(f"; {label} {value}" for label, value in summary.printed_options.items())
    tables = {table.name: table for table in all_tables(summary) if table.narrow}
    console.print(f"\n{summary.headline}." if summary.headline else "", style="bold")
    findings = tables.pop("findings")
    show_table(findings, findings.narrow, console)
    console.print(f"\n{summary.data_sentence}")
    console.print(f"Method: {summary.method_sentence}{options}. Its draws are {summary.kind_sentence}.")
    console.print(f"{summary.draws_sentence}; {summary.time_sentence}.")
    for table in tables.values():
        console.print()
        show_table(table, table.narrow, console)


def show_table(table: Table, listing: Listing | None, console: Console) -> None:
    """Print a table, or the sentence in its place, between its sentences."""
    assert listing is not None
    if table.lead:
        console.print(f"{table.lead}\n" if len(listing.rows) else table.lead)
    if len(listing.rows):
        columns = [column for column in table.columns if column.is_narrow]
        cells = table.cells(listing, columns)
        printed = new_table(listing.title, (), ())
        sizes = [max(map(len, texts)) for texts in zip(*cells, strict=True)]
        heads = [column.head for column in columns]
        if _width(sizes, heads) > console.width:
            heads = ["\n".join(wrap(h, n, break_long_words=False)) for h, n in zip(heads, sizes, strict=True)]
        is_narrow = _width(sizes, heads) > console.width
        for i, (column, head) in enumerate(zip(columns, heads, strict=True)):
            left = column.is_text(listing.rows)
            # Words of evidence stay whole; names of edges are cut, as they can be long.
            whole = max(len(word) for row in cells for word in row[i].split()) if isinstance(column, Worded) else None
            printed.add_column(head, justify="left" if left else "right", no_wrap=not left,
                               width=whole if is_narrow else None)  # fmt: skip
        marks = listing.rows[listing.sections] if listing.sections else [""] * len(listing.rows)
        last = None
        for mark, row in zip(marks, cells, strict=True):
            if last not in (None, mark):
                printed.add_section()
            printed.add_row(*row)
            last = mark
        console.print(printed)
    if listing.rest:
        console.print(listing.rest)
    if table.note and len(listing.rows):
        console.print(table.note)


def _width(sizes: Sequence[int], heads: Sequence[str]) -> int:
    """Return the width of a printed table, of whose columns the widest cells and the heads are given."""
    return 1 + sum(3 + max(n, *map(len, head.splitlines())) for n, head in zip(sizes, heads, strict=True))


def new_table(title: str, texts: Iterable[str], numbers: Iterable[str]) -> Printed:
    """Return a table with columns of texts, then of numbers."""
    from rich.table import Table as Printed

    table = Printed(title=title, title_justify="left")
    for name in texts:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
