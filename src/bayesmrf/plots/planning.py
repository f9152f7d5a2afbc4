"""Plot of a plan: shares of edges that are decided, by the number of people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..answers.study.planning import GOAL, Plan
from ..errors import OptionError
from ..show.style import COLOURS, GREY, PALE, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURVES = (("found", "true, found", "o", "-"), ("ruled_out", "absent, ruled out", "s", "--"),
           ("inconclusive", "inconclusive", "^", ":"))  # fmt: skip


def plot_plan(plan: Plan, ax: Axes | None = None) -> Axes:
    """Plot shares of true edges found, absent ones ruled out and inconclusive ones, with bars of two standard errors.

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
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("people")
    ax.set_ylabel(f"share of {plan.noun}s")
    ax.legend(frameon=False, fontsize=8, labelcolor=GREY)
    return ax
