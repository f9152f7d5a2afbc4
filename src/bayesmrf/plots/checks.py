"""Plot of the posterior predictive checks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..names import shown
from ..results.predictive_checks import FAMILIES, OF_PANELS, checks_in
from ..results.summary import summarise
from .style import COLOURS, GREY, PALE, axes, plot_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 3  # checks outside that are named, of each family


@plot_of("An estimator of posteriors")
def plot_checks(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot how far each statistic of the data is from its predictions, in half widths of the 95 % interval, by family.

    Filled marks are outside after adjustment for the number of all checks; some of them are named.
    """
    frame = checks_in(summarise(tree).tree)
    if frame is None:
        raise OptionError("tree must have predictive checks; this run was too short, or has too many nodes: use "
                          "est.predictive_checks, or run more draws.")  # fmt: skip
    families = [name for name in dict.fromkeys((*FAMILIES, *OF_PANELS)) if (frame["family"] == name).any()]
    ax = axes(ax, (6.4, 0.8 + 0.55 * len(families)))
    ax.axvspan(-1, 1, color=PALE, alpha=0.6, linewidth=0)
    for y, name in enumerate(families):
        some = frame[frame["family"] == name]
        away = (some["observed"] - some["expected"]).to_numpy()
        half = np.where(away < 0, some["expected"] - some["lower"], some["upper"] - some["expected"]).astype(float)
        away = away / np.where(half > 0, half, np.nan)
        out = some["outside"].to_numpy()
        level = y + np.linspace(-0.22, 0.22, 5)[np.arange(len(some)) % 5]  # side by side
        ax.plot(away[~out], level[~out], "o", markersize=2.5, markerfacecolor="none", markeredgecolor=GREY, alpha=0.6)
        ax.plot(away[out], level[out], "D", markersize=4.5, color=COLOURS[1])
        for i in np.flatnonzero(out)[:_NAMED]:
            at = float(away[i]), float(level[i])
            options: dict[str, Any] = {"fontsize": 7, "color": COLOURS[1], "parse_math": False}
            ax.annotate(shown(some["what"].iloc[i]), at, (4, 3), textcoords="offset points", **options)
    ax.axvline(0, color=GREY, linewidth=0.7)
    ax.set_yticks(range(len(families)), families)
    ax.set_ylim(len(families) - 0.4, -0.6)
    ax.set_xlabel("observed less expected, in half widths of the 95 % interval")
    return ax
