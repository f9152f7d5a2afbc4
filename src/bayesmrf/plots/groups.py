"""Plots of a posterior over groups of edges, which all number and colour groups by decreasing agreement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..names import shown
from ..results.summary import rows
from ..show.style import (
    COLOURS,
    GREY,
    INK,
    PALE,
    Intervals,
    axes,
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
