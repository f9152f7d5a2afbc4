"""Pictures of a posterior over groups of edges: numbered and coloured by falling agreement, alike in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import partitions
from .style import COLOURS, GREY, INK, MOST_NAMED, PALE, axes, group_colours, grouped, whole_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CO_CLUSTERED = 300
_MOST_LISTED = 40  # groups that have a row with examples
_LONGEST = 50  # letters of the examples
_BOUNDS = {
    "most distant": "most distant (horizontal)",
    "fewest groups": "fewest groups (upper)",
    "most groups": "most groups (lower)",
}


def plot_n_groups(tree: Any, ax: Axes | None = None) -> Axes:
    """Posterior probability of each number of groups.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    p = grouped(tree).n_groups
    ax = axes(ax, (4.6, 2.9))
    bars = ax.bar(p.index, p.to_numpy(), width=0.8, color=COLOURS[0])
    if len(p) <= 12:
        ax.bar_label(bars, [f"{v:.2f}" if v >= 0.005 else "" for v in p], fontsize=8, color=GREY, padding=2)
    whole_numbers(ax.xaxis)
    ax.set_xlim(p.index.min() - 1, p.index.max() + 1)
    ax.set_ylim(0, 1.12 * p.max())
    ax.set(xlabel="number of groups", ylabel="posterior probability")
    return ax


def plot_groups(tree: Any, ax: Axes | None = None) -> Axes:
    """Table of the groups: agreement with 90 % interval, number of edges, and examples of them by name.

    Of more than 40 groups the largest have a row.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    summary = grouped(tree)
    table = summary.group_table
    shown = table.loc[table["size"].nlargest(_MOST_LISTED).index].sort_index()
    colour, place = group_colours(len(table))[shown.index - 1], np.arange(len(shown))
    ax = axes(ax, (8.6, 1.2 + 0.24 * len(shown)))
    ax.axvline(0.5, color=PALE, linewidth=1, zorder=1)
    lines: dict[str, Any] = {"colors": colour, "linewidth": 3, "alpha": 0.6, "zorder": 2}
    ax.hlines(place, shown["low"], shown["high"], **lines)
    ax.scatter(shown["agreement"], place, s=26, color=colour, zorder=3)
    ax.set_yticks(place, [f"group {g}" for g in shown.index], fontsize=8)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    for x, head, align in ((1.13, "edges", "right"), (1.17, "for example", "left")):
        ax.text(x, 1.0, head, fontsize=8, color=GREY, ha=align, va="bottom", transform=ax.transAxes)
    for y, g in enumerate(shown.index):
        tried = ["; ".join(summary.examples(g, most)) for most in (3, 2, 1)]
        named = next((t for t in tried if len(t) <= _LONGEST), f"{tried[-1][: _LONGEST - 1]}…")
        across = ax.get_yaxis_transform()
        ax.text(1.13, y, f"{shown['size'][g]:,}", fontsize=8, color=INK, ha="right", va="center", transform=across)
        ax.text(1.17, y, named, fontsize=8, color=INK, va="center", parse_math=False, transform=across)
    few = "" if len(shown) == len(table) else f"; the {len(shown)} largest of {len(table):,} groups"
    ax.set_xlabel(f"agreement, 90 % interval (0.5: an edge says nothing){few}")
    return ax


def plot_credible_ball(tree: Any, ax: Axes | None = None) -> Axes:
    """How far groupings may differ within the 95 % credible ball: the point partition, and the bounds below it.

    Edges stand side by side in the order of the point partition, coloured by the group they have in each of the four
    partitions. A group of a bound has the colour of the group of the point partition with which it shares most edges,
    each colour once; those left over are grey.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    from matplotlib.colors import to_rgba

    summary = grouped(tree)
    ball, table, center = summary.ball, summary.ball_table, summary.groups
    order = np.lexsort((-summary.edge_table["agreement"], center))
    hues = group_colours(len(summary.group_table))
    strips, lone = np.empty((4, len(order), 4)), False
    for row, groups in zip(strips, (center, ball.horizontal[0], ball.upper[0], ball.lower[0]), strict=True):
        match, spare = _matched(groups, center)
        greys = [to_rgba(str(level)) for level in (0.8, 0.55, 0.7)]  # neighbours among the left over differ
        own = np.array([hues[m] if m >= 0 else greys[n % 3] for m, n in zip(match, spare, strict=True)])
        row[:] = own[groups[order]]
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


def plot_agreement(tree: Any, ax: Axes | None = None) -> Axes:
    """Agreement of each edge with its 90 % interval, by group, beside the grouping-blind maximum likelihood estimate.

    Up to 60 edges have a row each with their name; more are drawn side by side without.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    summary = grouped(tree)
    table = summary.edge_table.sort_values(["group", "agreement"], ascending=[True, False], kind="stable")
    colour = group_colours(len(summary.group_table))[table["group"] - 1]
    place, named = np.arange(len(table)), len(table) <= MOST_NAMED
    ax = axes(ax, (7.2, max(2.0, 0.9 + 0.19 * len(table))) if named else (7.2, 3.6))
    value, mle = table["agreement"].to_numpy(), table["mle"].to_numpy()
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    blind: dict[str, Any] = {
        "s": 16 if named else 6,
        "marker": "D",
        "facecolors": "none" if named else GREY,
        "edgecolors": GREY,
    }
    blind |= {"linewidths": 0.9 if named else 0, "zorder": 2, "label": "maximum likelihood, blind to groups"}
    mean: dict[str, Any] = {
        "s": 20 if named else 5,
        "color": colour,
        "zorder": 4,
        "label": "posterior mean, 90 % interval",
    }
    thickness = 2 if named else max(0.5, min(2.0, 300 / len(table)))
    lines: dict[str, Any] = {
        "colors": colour,
        "linewidth": thickness,
        "alpha": 0.6,
        "zorder": 3,
        "rasterized": len(table) > 2000,
    }
    if named:
        ax.axvline(0.5, color=PALE, linewidth=1, zorder=1)
        ax.hlines(place, low, high, **lines)
        ax.scatter(mle, place, **blind)
        ax.scatter(value, place, **mean)
        ax.set_yticks(
            place,
            [f"{a} – {b}" for a, b in zip(table["first"], table["second"], strict=True)],
            fontsize=8,
            parse_math=False,
        )
        ax.set_ylim(len(table) - 0.4, -0.6)
        ax.set_xlabel("agreement (0.5: the edge says nothing)")
        ax.tick_params(axis="y", length=0)
    else:
        ax.axhline(0.5, color=PALE, linewidth=1, zorder=1)
        ax.vlines(place, low, high, **lines)
        ax.scatter(place, mle, rasterized=len(table) > 2000, **blind)
        ax.scatter(place, value, rasterized=len(table) > 2000, **mean)
        ax.set_xlim(-0.01 * len(table), 1.01 * len(table))
        ax.set(xlabel=f"{len(table):,} edges, by group", ylabel="agreement (0.5: the edge says nothing)")
    _name_groups(ax, table["group"].to_numpy(), group_colours(len(summary.group_table)), down=named)
    handles, labels = ax.get_legend_handles_labels()
    legend = ax.legend(
        handles,
        labels,
        loc="lower left" if named else "upper left",
        bbox_to_anchor=(0, 1.0) if named else (0, -0.16),
        ncols=2,
        frameon=False,
        fontsize=8,
        borderaxespad=0.2,
    )
    for handle in legend.legend_handles[1:]:
        if handle is not None:
            handle.set(color=INK, sizes=[20])
    return ax


def plot_co_clustering(tree: Any, ax: Axes | None = None) -> Axes:
    """Posterior probability that two edges share a group, edges in the order of the point partition.

    Of more than 300 edges an evenly spaced choice is shown.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    summary = grouped(tree)
    table = summary.edge_table.sort_values(["group", "agreement"], ascending=[True, False], kind="stable")
    order = table.index.to_numpy()
    if len(order) > _MOST_CO_CLUSTERED:
        order = order[np.linspace(0, len(order) - 1, _MOST_CO_CLUSTERED).round().astype(int)]
    together = partitions.co_clustering(summary.stacked("groups"), order)
    ax = axes(ax, (5.4, 4.5))
    image = ax.imshow(together, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    group = summary.groups[order] + 1
    starts = np.flatnonzero(np.diff(group, prepend=0))
    for cut in starts[1:] - 0.5:
        ax.axhline(cut, color=INK, linewidth=0.5, alpha=0.5)
        ax.axvline(cut, color=INK, linewidth=0.5, alpha=0.5)
    middle, wide = (starts + np.append(starts[1:], len(group)) - 1) / 2, np.diff(starts, append=len(group))
    ticks = wide >= 0.04 * len(group)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(middle[ticks], [str(g) for g in group[starts][ticks]])
    few = f" ({len(group)} of {summary.n_edges:,})" if len(group) < summary.n_edges else ""
    ax.set(xlabel=f"edges{few}, by group", ylabel="edges, by group")
    ax.tick_params(length=0)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, pad=0.02)
    bar.set_label("probability of sharing a group", fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=GREY)
    bar.outline.set_visible(False)
    return ax


def plot_estimates(truth: Any, estimates: Mapping[str, Any], groups: Any, ax: Axes | None = None) -> Axes:
    """Errors of several estimates of the agreements, where the truth is known.

    Parameters
    ----------
    truth : (n_edges,) array
        True agreements.
    estimates : mapping of str to (n_edges,) array
        What each estimator found.
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
        ax.text((start + end - 1) / 2, 0.99, f"truth {truth[order[start]]:.2f}", fontsize=8, color=GREY, ha="center",
                va="top", transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xticks([])
    ax.set_xlim(-0.6, len(order) - 0.4)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.12 * (high - low))
    ax.set(xlabel=f"{len(order)} edges, by true group", ylabel="estimated minus true agreement")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5, frameon=False, fontsize=8, borderaxespad=0.2)
    return ax


def _name_groups(ax: Axes, group: np.ndarray, colours: np.ndarray, down: bool) -> None:
    """Write the number of each group that has room beside its edges, which are sorted by group."""
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


def _matched(groups: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group of ``center`` that each group goes with, -1 for none, so that together they share most.

    Beside it a number among those that go with none.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.sparse import coo_array

    both = coo_array((np.ones(len(groups)), (groups, center))).toarray()
    match = np.full(len(both), -1)
    rows, columns = linear_sum_assignment(both, maximize=True)
    shared = both[rows, columns] > 0
    match[rows[shared]] = columns[shared]
    return match, np.cumsum(match < 0)
