"""Plot of the posterior predictive checks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..names import shown
from ..results.predictive_checks import FAMILIES, OF_PANELS, checks_in, first_row, things
from ..results.summary import summarise
from .style import COLOURS, GREY, PALE, axes, plot_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 3  # checks outside that are named at most, of each family
_SIZE = 7.0  # of their names, in points


@plot_of("An estimator of posteriors")
def plot_checks(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot how far each statistic of the data is from its predictions, in half widths of the 95 % interval, by family.

    Filled marks are outside after adjustment for the number of all checks; some of them are named, where there is room.
    """
    summary = summarise(tree)
    frame = checks_in(summary.tree)
    if frame is None:
        raise OptionError("tree must have predictive checks; this run was too short, or has too many nodes: use "
                          "est.predictive_checks, or run more draws.")  # fmt: skip
    frame = frame.assign(what=things(frame, first_row(summary.attrs)))
    families = [name for name in dict.fromkeys((*FAMILIES, *OF_PANELS)) if (frame["family"] == name).any()]
    ax = axes(ax, (6.4, 0.8 + 0.55 * len(families)))
    ax.axvspan(-1, 1, color=PALE, alpha=0.6, linewidth=0)
    marks = list[tuple[float, float, str, str]]()
    for y, name in enumerate(families):
        some = frame[frame["family"] == name]
        away = (some["observed"] - some["expected"]).to_numpy()
        half = np.where(away < 0, some["expected"] - some["lower"], some["upper"] - some["expected"]).astype(float)
        away = away / np.where(half > 0, half, np.nan)
        out = some["outside"].to_numpy()
        level = y + np.linspace(-0.22, 0.22, 5)[np.arange(len(some)) % 5]  # side by side
        ax.plot(away[~out], level[~out], "o", markersize=2.5, markerfacecolor="none", markeredgecolor=GREY, alpha=0.6)
        ax.plot(away[out], level[out], "D", markersize=4.5, color=COLOURS[1])
        marks += [(away[i], level[i], name, shown(some["what"].iloc[i])) for i in np.flatnonzero(out)]
    ax.axvline(0, color=GREY, linewidth=0.7)
    ax.set_yticks(range(len(families)), families)
    ax.set_ylim(len(families) - 0.4, -0.6)
    ax.set_xlabel("observed less expected, in half widths of the 95 % interval")
    _name(ax, marks)
    return ax


def _name(ax: Axes, marks: list[tuple[float, float, str, str]]) -> None:
    """Write names to the right of the first marks of each family, without those that would overlap other things."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    points = 72 * figure.get_size_inches() * ax.get_position().size
    across, down = points / np.abs([np.subtract(*ax.get_xlim()), np.subtract(*ax.get_ylim())])
    taken = [(x * across - 3, x * across + 3, y * down) for x, y, *_ in marks]
    named: dict[str, int] = {}
    for x, y, family, name in marks:
        left, top = x * across + 4, y * down
        right = left + 0.55 * _SIZE * len(name)
        is_free = not any(left < end and start < right and abs(top - at) < _SIZE for start, end, at in taken)
        if is_free and named.setdefault(family, 0) < _NAMED:
            named[family] += 1
            taken.append((left, right, top))
            box = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4}
            ax.annotate(name, (x, y), (4, 3), textcoords="offset points", fontsize=_SIZE, color=COLOURS[1],
                        parse_math=False, bbox=box)  # fmt: skip
