"""The page of a plan."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..plots.planning import plot_plan
from ..results.planning import Plan
from .page import check_out, paragraph, picture, write_page
from .shared import listed


def write_plan(plan: Plan, out: str | PathLike[str], overwrite: bool = False) -> Path:
    """Write the page of a plan: what it says, a picture and a table.

    Parameters
    ----------
    plan : results.planning.Plan
        From `bayesmrf.plan`.
    out : path
        The page.
    overwrite : bool
        Replace another file of that name; a page of this package is always replaced.

    Raises
    ------
    StoreError
        If the file exists and is no page of this package, or cannot be written.
    """
    path, table = check_out(out, overwrite, replace_own=True), plan.table
    caption = "Bars are two standard errors of the simulation; the line is at four of five."
    body = paragraph(table.lead) + picture(lambda: plot_plan(plan), caption) + paragraph(table.note) + listed(table)
    return write_page(path, "How many people?", f"Simulated from {plan.truth}.", [("Shares of decided pairs", body)])
