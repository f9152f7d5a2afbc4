"""Plots of the uncertainty of a partition of the edges: which edges share a group, and how far the draws differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import partitions
from ...results.summary import summarise
from ...show.style import INK, axes, colour_bar, group_colours, grouped, no_edges, plot_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CO_CLUSTERED = 300
_BOUNDS = {
    "most distant": "most distant (horizontal)",
    "fewest groups": "fewest groups (upper)",
    "most groups": "most groups (lower)",
}


@plot_of("GroupedMRF, or SpikeSlabMRF with blocks of nodes")
def plot_co_clustering(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the posterior probability that two edges share a group, or two nodes a block, in the order of the point
    partition.

    If edges may be absent, those with an inclusion above 0.5 are shown, and absent edges share a group. With more than
    300 edges or nodes an evenly spaced selection is shown.
    """
    whole = summarise(tree)
    if whole.communities is not None:
        number, what, shares = whole.communities.allocation, "nodes", "a block"
        order, draws = np.argsort(number, kind="stable"), whole.communities.draws
    else:
        summary = grouped(whole)
        if not len(summary.shown):
            return no_edges(ax)
        order, draws, number = summary.by_group.index.to_numpy(), summary.stacked("groups"), summary.groups + 1
        what, shares = "edges", "a group"
    n = len(order)
    if n > _MOST_CO_CLUSTERED:
        order = order[np.linspace(0, n - 1, _MOST_CO_CLUSTERED).round().astype(int)]
    together = partitions.co_clustering(draws, order)
    ax = axes(ax, (5.4, 4.5))
    image = ax.imshow(together, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    group = number[order]
    starts = np.flatnonzero(np.diff(group, prepend=0))
    for cut in starts[1:] - 0.5:
        ax.axhline(cut, color=INK, linewidth=0.5, alpha=0.5)
        ax.axvline(cut, color=INK, linewidth=0.5, alpha=0.5)
    middle, wide = (starts + np.append(starts[1:], len(group)) - 1) / 2, np.diff(starts, append=len(group))
    ticks = wide >= 0.04 * len(group)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(middle[ticks], [str(g) for g in group[starts][ticks]])
    by = "group" if what == "edges" else "community"
    few = f" ({len(group)} of {n:,})" if len(group) < n else ""
    ax.set(xlabel=f"{what}{few}, by {by}", ylabel=f"{what}, by {by}")
    ax.tick_params(length=0)
    colour_bar(ax, image, f"probability of sharing {shares}")
    return ax


@plot_of("GroupedMRF")
def plot_credible_ball(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the point partition and the bounds of its 95 % credible ball.

    Edges are in the order of the point partition, coloured by their group in each of the four partitions. A group of a
    bound has the colour of the group of the point partition with which it shares most edges, each colour once; other
    groups are grey. If edges may be absent, those with an inclusion above 0.5 are shown, and those absent from a bound
    form a group of it.
    """
    from matplotlib.colors import to_rgba

    summary = grouped(tree)
    if not len(summary.shown):
        return no_edges(ax)
    ball, table, center = summary.ball, summary.ball_table, summary.groups[summary.shown]
    order = np.lexsort((-summary.likely["agreement"], center))
    hues = group_colours(len(summary.group_table))
    strips, lone = np.empty((4, len(order), 4)), False
    for row, groups in zip(strips, (center, ball.horizontal[0], ball.upper[0], ball.lower[0]), strict=True):
        match, spare = _matched(groups, center)
        greys = [to_rgba(str(level)) for level in (0.8, 0.55, 0.7)]  # neighbouring unmatched groups differ
        colours = np.array([hues[m] if m >= 0 else greys[n % 3] for m, n in zip(match, spare, strict=True)])
        row[:] = colours[groups[order]]
        lone |= bool((match < 0).any())
    ax = axes(ax, (7.2, 2.5))
    for y, strip in enumerate(strips):
        ax.imshow(strip[None], extent=(0, len(order), y + 0.4, y - 0.4), aspect="auto", interpolation="nearest")
    cuts = np.flatnonzero(np.diff(center[order])) + 1
    ax.vlines(cuts, -0.4, 3.4, colors="white", linewidth=0.8)
    said = [f"{_BOUNDS.get(name, name)}\n{r.groups} groups" + (f", {r.distance:.2f} nats" if name in _BOUNDS else "")
            for name, r in zip(table.index, table.itertuples(index=False), strict=True)]  # fmt: skip
    ax.set_yticks(range(4), said, fontsize=8)
    ax.set(xlim=(0, len(order)), ylim=(3.5, -0.5), xticks=[])
    ax.set_xlabel(f"{len(order):,} edges, by group" + ("; grey: groups without a counterpart" if lone else ""))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"{100 * ball.share:.0f} % of the draws are within {ball.radius:.2f} nats", fontsize=9, color=INK)
    return ax


def _matched(groups: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Match each group to a group of ``center``, or to none (-1), so that they share most edges.

    The second array numbers the unmatched groups.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array

    both = coo_array((np.ones(len(groups)), (groups, center))).toarray()
    match = np.full(len(both), -1)
    rows, columns = linear_sum_assignment(both, maximize=True)
    shared = both[rows, columns] > 0
    match[rows[shared]] = columns[shared]
    return match, np.cumsum(match < 0)
