"""Trace plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...declare.rule import Rule, optional
from ...names import shown
from ...results.summary import summarise
from ...show.style import MOST_IN_LEGEND, axes, group_colours, legend_of, plot_of, set_integer_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LONGEST = 30  # letters of a label, which is as high as the axes
_MOST_POINTS = 2000  # of a chain that are drawn


@plot_of("GroupedMRF, BayesianMRF, SpikeSlabMRF, CompareMRF or PanelMRF")
def plot_trace(tree: Any, ax: Axes | None = None, feature: str | None = None) -> Axes:
    """Plot one quantity along each chain: draws pale, their running mean over a twentieth of the run bold.

    Converged chains vary over the same range. For long chains an evenly spaced selection of draws is shown.

    ``feature`` is a parameter, as in coordinate ``feature``; by default it is the number of groups, the number of edges
    if they may be absent, or else the parameter with the largest R-hat. Parameters of a posterior of CompareMRF differ
    between groups, and are not shown.

    Raises
    ------
    OptionError
        If ``feature`` is not a parameter of the posterior, or the posterior is of CompareMRF.
    """
    optional(Rule("the name of a parameter", lambda v: isinstance(v, str))).check("feature", feature)
    summary = summarise(tree)
    label, series = summary.trace() if feature is None else (feature, summary.trace_of(feature))
    ax = axes(ax, (7.2, 2.6))
    window = max(1, series.sizes["draw"] // 20)
    draw, chains = series["draw"].values, series["chain"].values
    every = -(-len(draw) // _MOST_POINTS)
    for chain, values, colour in zip(chains, series.values, group_colours(len(chains)), strict=True):
        running = np.convolve(values, np.full(window, 1 / window), mode="valid")
        at = draw[window - 1 :] - (window - 1) / 2
        ax.plot(draw[::every], values[::every], color=colour, linewidth=0.5, alpha=0.3)
        dot = "o" if len(at) == 1 else None  # a line of one point is invisible
        ax.plot(at[::every], running[::every], color=colour, linewidth=1.5, marker=dot, label=f"chain {chain}")
    if np.issubdtype(series.dtype, np.integer):
        set_integer_ticks(ax.yaxis)
    ax.set_xlim(0, max(1, draw[-1]))
    ax.set_xlabel("draw")
    ax.set_ylabel(shown(label, _LONGEST), parse_math=False)
    if len(chains) <= MOST_IN_LEGEND:
        legend_of(ax, 4)
    return ax
