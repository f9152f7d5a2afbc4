"""The command that puts a fit of bgms next to a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import common
from .field_flags import flag


def bgms(
    run: common.Finished,
    fit: Annotated[
        Path,
        typer.Argument(
            metavar="FIT.rds",
            help='What R wrote: saveRDS(coef(fit), "fit.rds"), or write.csv(fit$posterior_mean_indicator, "fit.csv").',
        ),
    ],
    bgms_version: str | None = flag("Version of bgms, if the file does not say it.", "X.Y.Z", shown="0.2.0"),
    out: Path | None = flag("Write all pairs as a table of comma-separated values.", "TABLE.csv"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
) -> None:
    """Put a fit of the R package bgms next to a result of structure: edge by edge, with what differs and why."""
    common.say_at_once(f"reading {run.name}")
    from ..bgms import MOST, next_to_bgms
    from ..data.spreadsheets import csv_of
    from ..show.page import check_out
    from ..show.tables import ENDS, Listing, Table, number, text
    from .show import show_table

    if out is not None:
        check_out(out, overwrite)
    table, sentences = next_to_bgms(common.finished(run), fit, bgms_version)
    pairs = [("inclusion", "inclusion_bgms", "bgms: inclusion")]
    pairs += [("weight", "weight_bgms", "bgms: weight")] if table["weight_bgms"].notna().any() else []
    columns = [ENDS, text("evidence"), text("evidence_bgms", "bgms: evidence")]
    columns += [column for own, theirs, head in pairs for column in (number(own), number(theirs, head))]
    console, listing = common.new_console(), Listing("Pairs, largest difference first", table.head(MOST))
    show_table(Table("bgms", table, tuple(columns), lead=sentences[0], note=" ".join(sentences[1:])), listing, console)
    if out is not None:
        (content,) = csv_of({"bgms": table}, False).values()
        out.write_text(content, encoding="utf-8", newline="")
        console.print(f"All {len(table):,} pairs are in {out}", soft_wrap=True)
