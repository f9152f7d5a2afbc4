"""Pictures of a posterior over groups of edges, which all number and colour groups by decreasing agreement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import partitions
from ...names import shown
from ...results.summary import rows, summarise
from ...show.style import (
    COLOURS,
    GREY,
    INK,
    PALE,
    Intervals,
    axes,
    colour_bar,
    group_colours,
    grouped,
    legend_of,
    name_rows,
    no_edges,
    plot_of,
    set_integer_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LISTED = 40  # groups that have a row with examples
_LONGEST = 50  # letters of the examples
_MOST_CO_CLUSTERED = 300
_BOUNDS = {
    "most distant": "most distant (horizontal)",
    "fewest groups": "fewest groups (upper)",
    "most groups": "most groups (lower)",
}


@plot_of("GroupedMRF")
def plot_n_groups(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the posterior probability of each number of groups."""
    p = grouped(tree).n_groups
    ax = axes(ax, (4.6, 2.9))
    bars = ax.bar(p.index, p.to_numpy(), width=0.8, color=COLOURS[0])
    if len(p) <= 12:
        ax.bar_label(bars, [f"{v:.2f}" if v >= 0.005 else "" for v in p], fontsize=8, color=GREY, padding=2)
    set_integer_ticks(ax.xaxis)
    ax.set_xlim(p.index.min() - 1, p.index.max() + 1)
    ax.set_ylim(0, 1.12 * p.max())
    ax.set(xlabel="number of groups", ylabel="posterior probability")
    return ax


@plot_of("GroupedMRF")
def plot_groups(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot a table of the groups: agreement with 90 % interval, number of edges, and examples by name.

    With more than 40 groups only the largest have a row.
    """
    summary = grouped(tree)
    if not len(summary.shown):
        return no_edges(ax)
    table = summary.group_table
    listed = table.loc[table["size"].nlargest(_MOST_LISTED).index].sort_index()
    colour, place = group_colours(len(table))[listed.index - 1], np.arange(len(listed))
    ax = axes(ax, (8.6, 1.2 + 0.24 * len(listed)))
    ax.axvline(0.5, color=PALE, linewidth=1, zorder=1)
    lines: dict[str, Any] = {"colors": colour, "linewidth": 3, "alpha": 0.6, "zorder": 2}
    ax.hlines(place, listed["lower"], listed["upper"], **lines)
    ax.scatter(listed["agreement"], place, s=26, color=colour, zorder=3)
    name_rows(ax, [f"group {g}" for g in listed.index])
    for x, head, align in ((1.13, "edges", "right"), (1.17, "for example", "left")):
        ax.text(x, 1.0, head, fontsize=8, color=GREY, ha=align, va="bottom", transform=ax.transAxes)
    for y, g in enumerate(listed.index):
        tried = ["; ".join(summary.examples(g, most)) for most in (3, 2, 1)]
        named = next((t for t in tried if len(t) <= _LONGEST), shown(tried[-1], _LONGEST))
        across = ax.get_yaxis_transform()
        ax.text(1.13, y, f"{listed['size'][g]:,}", fontsize=8, color=INK, ha="right", va="center", transform=across)
        ax.text(1.17, y, named, fontsize=8, color=INK, va="center", parse_math=False, transform=across)
    few = "" if len(listed) == len(table) else f"; the {len(listed)} largest of {len(table):,} groups"
    ax.set_xlabel(f"agreement, 90 % interval (0.5: no effect){few}")
    return ax


@plot_of("GroupedMRF")
def plot_agreement(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the agreement of each edge with its 90 % interval, by group, and its maximum likelihood estimate.

    If edges may be absent, those with an inclusion above 0.5 are shown, with their agreement given that they exist and
    without that estimate. Up to 60 edges have a row each with their name; more are drawn next to each other without
    names.
    """
    summary = grouped(tree)
    if not len(summary.shown):
        return no_edges(ax)
    table, blind_too = summary.by_group, not summary.spike
    colour = group_colours(len(summary.group_table))[table["group"] - 1]
    frame = Intervals(ax, len(table), 0.5, PALE)
    ax, named = frame.ax, frame.named
    frame.lines(table["lower"].to_numpy(), table["upper"].to_numpy(), colour)
    if blind_too:
        blind: dict[str, Any] = {"s": 16 if named else 6, "marker": "D", "facecolors": "none" if named else GREY}
        blind |= {"edgecolors": GREY, "linewidths": 0.9 if named else 0, "zorder": 2}
        frame.points(table["mle"], label=f"{summary.mle_name}, ignoring groups", **blind)
    mean: dict[str, Any] = {"s": 20 if named else 5, "color": colour, "zorder": 4}
    frame.points(table["agreement"].to_numpy(), label="posterior mean, 90 % interval", **mean)
    longest = _LONGEST // 2
    names = [f"{shown(e.first, longest)} – {shown(e.second, longest)}" for e in rows(table)]
    frame.label(names, f"{len(table):,} edges, by group", "agreement (0.5: no effect)")
    _name_groups(ax, table["group"].to_numpy(), group_colours(len(summary.group_table)), down=named)
    for handle in legend_of(ax, 1 if named else 2, below=not named).legend_handles[-1:]:
        if handle is not None:
            handle.set(color=INK, sizes=[20])
    return ax


def plot_estimates(truth: Any, estimates: Mapping[str, Any], groups: Any, ax: Axes | None = None) -> Axes:
    """Plot the errors of several estimates of the agreements, if the truth is known.

    Parameters
    ----------
    truth : (n_edges,) array
        True agreements.
    estimates : mapping of str to (n_edges,) array
        Estimated agreements by name of the estimator.
    groups : (n_edges,) int array
        True groups; edges are ordered by them.
    ax : Axes, optional
        Where to draw.
    """
    truth, groups = np.asarray(truth), np.asarray(groups)
    order = np.lexsort((groups, -truth))
    place, step = np.arange(len(order)), 0.6 / max(1, len(estimates))
    ax = axes(ax, (7.2, 3.2))
    ax.axhline(0, color=INK, linewidth=1, zorder=1)
    for i, (name, value) in enumerate(estimates.items()):
        x = place + step * (i - (len(estimates) - 1) / 2)
        error, colour = (np.asarray(value) - truth)[order], COLOURS[i % len(COLOURS)]
        ax.vlines(x, 0, error, color=colour, linewidth=1, alpha=0.5, zorder=2)
        ax.scatter(x, error, s=16, color=colour, marker="oDs^v"[i % 5], label=name, zorder=3)
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    for start, end in zip(starts, np.append(starts[1:], len(order)), strict=True):
        if start:
            ax.axvline(start - 0.5, color=PALE, linewidth=1, zorder=0)
        ax.text((start + end - 1) / 2, 0.99, f"{truth[order[start]]:.2f}", fontsize=8, color=GREY, ha="center",
                va="top", transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xticks([])
    ax.set_xlim(-0.6, len(order) - 0.4)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.12 * (high - low))
    ax.set_xlabel(f"{len(order)} edges, by true group, with its agreement on top")
    ax.set_ylabel("estimated minus true agreement")
    legend_of(ax, 5)
    return ax


def _name_groups(ax: Axes, group: np.ndarray, colours: np.ndarray, down: bool) -> None:
    """Write the number of each group next to its edges, which are sorted by group, if there is room."""
    starts = np.flatnonzero(np.diff(group, prepend=0))
    ends = np.append(starts[1:], len(group))
    for start, end in zip(starts, ends, strict=True):
        g, middle = group[start], (start + end - 1) / 2
        if down:
            ax.text(1.01, middle, f"group {g}", color=colours[g - 1], fontsize=8, va="center",
                    transform=ax.get_yaxis_transform())  # fmt: skip
        elif end - start >= 0.03 * len(group):
            ax.text(middle, 1.01, f"{g}", color=colours[g - 1], fontsize=8, ha="center", va="bottom",
                    transform=ax.get_xaxis_transform())  # fmt: skip
        if start:
            (ax.axhline if down else ax.axvline)(start - 0.5, color=PALE, linewidth=0.6, zorder=0)


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
    ax.set_title(f"{100 * ball.share:.0f} % credible ball: radius {ball.radius:.2f} nats", fontsize=9, color=INK)
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
