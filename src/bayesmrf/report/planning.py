"""The pages of studies of simulated tables: a plan, and a calibration."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ..answers.study.calibration import Calibration
from ..answers.study.planning import Plan
from ..plots.calibration import plot_calibration
from ..plots.planning import plot_plan
from ..show.page import Section, check_out, listed, paragraph, picture, table, write_page


def write_plan(plan: Plan, out: str | PathLike[str], overwrite: bool = False) -> Path:
    """Write the page of a plan: what it says, a picture and a table.

    Parameters
    ----------
    plan : answers.study.planning.Plan
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
    path, shares = check_out(out, overwrite, replace_own=True), plan.table
    caption = "Bars are two standard errors of the simulation; the line is at four of five."
    body = paragraph(shares.lead) + picture(lambda: plot_plan(plan), caption) + paragraph(shares.note) + listed(shares)
    return write_page(path, "How many people?", f"Simulated from {plan.truth}.", [("Shares of decided pairs", body)])


def write_calibration(calibration: Calibration, out: str | PathLike[str], overwrite: bool = False) -> Path:
    """Write the page of a calibration: what it says, a picture, coverage, and edges by inclusion.

    Parameters
    ----------
    calibration : answers.study.calibration.Calibration
        From `bayesmrf.calibrate`.
    out, overwrite
        As in `write_plan`.

    Raises
    ------
    StoreError
        As in `write_plan`.
    """
    path, quantities = check_out(out, overwrite, replace_own=True), calibration.table
    caption = "Distribution functions of the positions of truths among draws, less that of a uniform number. The whole "
    caption += "curve of a calibrated quantity is in the band with probability 0.99."
    body = paragraph(quantities.lead) + picture(lambda: plot_calibration(calibration), caption)
    sections: list[Section] = [("Positions of the truth", body + paragraph(quantities.note) + listed(quantities))]
    if len(inclusion := calibration.inclusion):
        rows = [[f"{p:.3f}", f"{y:.3f} ± {e:.3f}", f"{n:,}"] for p, y, e, n in inclusion.itertuples(index=False)]
        head = ["mean inclusion", "share that exists", "edges"]
        sections.append(("Edges by inclusion", table(head, rows)))
    return write_page(
        path, "Are intervals calibrated?", "Simulated tables, whose truths are drawn from a prior.", sections
    )
