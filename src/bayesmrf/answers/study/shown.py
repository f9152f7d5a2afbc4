"""Pictures and pages of studies of simulated tables: a plan, and a calibration."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...errors import OptionError
from ...names import shown
from ...show.page import Section, check_out, listed, paragraph, picture, table, write_page
from ...show.style import COLOURS, GREY, PALE, axes
from ..registry import Answer
from .calibration import LEVEL, Calibration, uniform_tails
from .planning import GOAL, Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = (("found", "true, found", "o", "-"), ("ruled_out", "absent, ruled out", "s", "--"),
           ("undecided", "undecided", "^", ":"))  # fmt: skip
_NAMED = 4  # quantities outside that are named


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Plot shares of true edges found, absent ones ruled out and undecided ones, with bars of two standard errors.

    Parameters
    ----------
    plan : answers.study.planning.Plan
        From `bayesmrf.plan`.
    ax : Axes, optional
        Where to draw.
    """
    if not isinstance(plan, Plan):
        raise OptionError(option="plan", got=plan, expected="a result of bayesmrf.plan")
    frame, ax = plan.frame, axes(ax, (5.6, 3.4))
    for i, (name, label, marker, line) in enumerate(_CURVES):
        if np.isfinite(frame[name]).any():
            error = 2 * np.nan_to_num(frame[f"{name}_error"])
            options = {"color": COLOURS[i], "marker": marker, "linestyle": line, "markersize": 4.5, "capsize": 2.5}
            ax.errorbar(frame["n"], frame[name], error, label=label, linewidth=1.2, **options)  # type: ignore[arg-type]
    ax.axhline(GOAL, color=PALE, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xticks(frame["n"].to_numpy(), [f"{n:,}" for n in frame["n"]])
    ax.minorticks_off()
    ax.set(ylim=(-0.02, 1.02), xlabel="people", ylabel=f"share of {plan.noun}s")
    ax.legend(frameon=False, fontsize=8, labelcolor=GREY)
    return ax


def plot_calibration(calibration: Calibration, ax: Axes | None = None) -> Axes:
    """Plot the distribution function of the positions of the truth, less the uniform one, of each quantity.

    The whole curve of a calibrated quantity stays in the shaded band with probability 0.99. Bolder curves leave it
    after adjustment for the number of all.

    Parameters
    ----------
    calibration : answers.study.calibration.Calibration
        From `bayesmrf.calibrate`.
    ax : Axes, optional
        Where to draw.
    """
    from scipy.stats import binom

    if not isinstance(calibration, Calibration):
        raise OptionError(option="calibration", got=calibration, expected="a result of bayesmrf.calibrate")
    n, ax = len(calibration.replicates), axes(ax, (5.6, 3.4))
    grid, level = np.linspace(0, 1, 201), float(np.quantile(uniform_tails(n), LEVEL))
    band = (binom.ppf(level, n, grid) / n - grid, binom.isf(level, n, grid) / n - grid)
    ax.fill_between(grid, *np.where((grid > 0) & (grid < 1), band, 0.0), color=PALE, alpha=0.6, linewidth=0)
    out = calibration.frame.set_index("quantity")["p_adjusted"] < LEVEL
    named = [name for name in out.index[out] if name in calibration.pit][:_NAMED]
    for name, u in calibration.pit.items():
        curve = (u[:, None] <= grid).mean(axis=0) - grid
        if name in named:
            ax.plot(grid, curve, color=COLOURS[named.index(name) % len(COLOURS)], linewidth=1.6, label=shown(name))
        else:
            ax.plot(grid, curve, color=GREY, linewidth=0.6, alpha=0.5)
    ax.axhline(0, color=GREY, linewidth=0.7)
    ax.set(xlabel="position of the truth in the posterior", ylabel="observed less uniform")
    if named:
        ax.legend(frameon=False, fontsize=8, labelcolor=GREY)
    return ax


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
        sections.append(("Edges by inclusion", table(["mean inclusion", "share that exists", "edges"], rows)))
    return write_page(
        path, "Are intervals calibrated?", "Simulated tables, whose truths are drawn from a prior.", sections
    )


ANSWER = Answer("study", pictures=(plot_plan, plot_calibration))
