"""Pictures of a posterior over groups of edges.

Every function draws on the `matplotlib.axes.Axes` given, or on those of a new figure (``ax.figure``), and returns them.
None of them touches pyplot, so that they work the same in scripts, notebooks and servers. Groups are numbered and
coloured by falling agreement, alike in all pictures; the colours (Okabe and Ito) can be told apart by the colour-blind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import partitions
from .summary import Summary, count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B", "#4D4D4D")
_INK, _GREY, _PALE = "#1f2430", "#6b7280", "#d6dae0"
_MOST_NAMED = 60  # edges that get a row with their name
_MOST_LABELLED_NODES = 120
_MOST_CO_CLUSTERED = 300
_MOST_CROWDED = 40  # nodes that stay as their springs put them
_MOST_IN_LEGEND = 8


def plot_n_groups(tree: Any, ax: Axes | None = None) -> Axes:
    """Posterior probability of each number of groups.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    p = _summary(tree).n_groups
    ax = _axes(ax, (4.6, 2.9))
    bars = ax.bar(p.index, p.to_numpy(), width=0.8, color=_COLOURS[0])
    if len(p) <= 12:
        ax.bar_label(bars, [f"{v:.2f}" if v >= 0.005 else "" for v in p], fontsize=8, color=_GREY, padding=2)
    _whole_numbers(ax.xaxis)
    ax.set_xlim(p.index.min() - 1, p.index.max() + 1)
    ax.set_ylim(0, 1.12 * p.max())
    ax.set(xlabel="number of groups", ylabel="posterior probability")
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
    summary = _summary(tree)
    table = summary.edge_table.sort_values(["group", "agreement"], ascending=[True, False], kind="stable")
    colour = _group_colours(len(summary.group_table))[table["group"] - 1]
    place, named = np.arange(len(table)), len(table) <= _MOST_NAMED
    ax = _axes(ax, (7.2, max(2.0, 0.9 + 0.19 * len(table))) if named else (7.2, 3.6))
    value, mle = table["agreement"].to_numpy(), table["mle"].to_numpy()
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    blind: dict[str, Any] = {
        "s": 16 if named else 6,
        "marker": "D",
        "facecolors": "none" if named else _GREY,
        "edgecolors": _GREY,
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
        ax.axvline(0.5, color=_PALE, linewidth=1, zorder=1)
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
        ax.axhline(0.5, color=_PALE, linewidth=1, zorder=1)
        ax.vlines(place, low, high, **lines)
        ax.scatter(place, mle, rasterized=len(table) > 2000, **blind)
        ax.scatter(place, value, rasterized=len(table) > 2000, **mean)
        ax.set_xlim(-0.01 * len(table), 1.01 * len(table))
        ax.set(xlabel=f"{len(table):,} edges, by group", ylabel="agreement (0.5: the edge says nothing)")
    _name_groups(ax, table["group"].to_numpy(), _group_colours(len(summary.group_table)), down=named)
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
            handle.set(color=_INK, sizes=[20])
    return ax


def plot_network(tree: Any, ax: Axes | None = None) -> Axes:
    """The graph: edges coloured by group, wide where strong, dashed where the ends tend to differ.

    Width grows with abs(logit agreement). Nodes are laid out by Kamada and Kawai's springs (beyond 300 nodes by those
    of Fruchterman and Reingold) on the graph alone, so that the picture does not depend on the posterior; beyond 40
    nodes crowds are spread out. Nodes without edges are named only.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    summary = _summary(tree)
    table, groups, names = summary.edge_table, summary.group_table, np.array(summary.names, dtype=object)
    linked, ends = np.unique(summary.ends, return_inverse=True)
    ends = ends.reshape(-1, 2)
    colours, place = _group_colours(len(groups)), _layout(len(linked), ends)
    a = table["agreement"].clip(1e-6, 1 - 1e-6).to_numpy()
    strength = np.abs(np.log(a / (1 - a)))
    width = 0.5 + 3.5 * strength / max(strength.max(), 1.0) if len(a) <= 500 else np.full(len(a), 0.6)
    ax = _axes(ax, (7.2, 6.2))
    segments, order = place[ends], np.argsort(strength)
    for dashed in (False, True):
        chosen = order[(a[order] < 0.5) == dashed]
        ax.add_collection(
            LineCollection(
                segments[chosen],
                colors=colours[summary.groups[chosen]],
                linewidths=width[chosen],
                linestyles=(0, (2.5, 1.2)) if dashed else "solid",
                alpha=0.85,
                zorder=1,
                capstyle="butt" if dashed else "round",
            )
        )
    n = len(place)
    ax.scatter(place[:, 0], place[:, 1], s=30 if n <= 60 else 10 if n <= 200 else 3, color=_INK, zorder=2, linewidths=0)
    if n <= _MOST_LABELLED_NODES:
        _name_nodes(ax, list(names[linked]), place, np.bincount(ends.ravel()))
    if n < len(names):
        alone = np.delete(names, linked)
        some = ", ".join(alone[:5]) + (", …" if len(alone) > 5 else "")
        ax.set_title(
            f"not drawn: {count(len(alone), 'node')} without edges ({some})", fontsize=8, color=_GREY, parse_math=False
        )
    ax.autoscale_view()
    ax.margins(0.08)
    if n <= _MOST_CROWDED:
        ax.set_aspect("equal")
    ax.axis("off")
    shown = list(groups.index[: _MOST_IN_LEGEND if len(groups) > _MOST_IN_LEGEND + 1 else None])
    handles = [
        Line2D(
            [],
            [],
            color=colours[g - 1],
            linewidth=2.5,
            linestyle=(0, (2.5, 1.2)) if groups["agreement"][g] < 0.5 else "solid",
            label=f"group {g}: agreement {groups['agreement'][g]:.2f}, {count(groups['size'][g], 'edge')}",
        )
        for g in shown
    ]
    if len(shown) < len(groups):
        handles.append(Line2D([], [], color="none", label=f"and {len(groups) - len(shown)} more groups"))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False, fontsize=8)
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
    summary = _summary(tree)
    table = summary.edge_table.sort_values(["group", "agreement"], ascending=[True, False], kind="stable")
    order = table.index.to_numpy()
    if len(order) > _MOST_CO_CLUSTERED:
        order = order[np.linspace(0, len(order) - 1, _MOST_CO_CLUSTERED).round().astype(int)]
    together = partitions.co_clustering(summary.stacked("groups"), order)
    ax = _axes(ax, (5.4, 4.5))
    image = ax.imshow(together, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    group = summary.groups[order] + 1
    starts = np.flatnonzero(np.diff(group, prepend=0))
    for cut in starts[1:] - 0.5:
        ax.axhline(cut, color=_INK, linewidth=0.5, alpha=0.5)
        ax.axvline(cut, color=_INK, linewidth=0.5, alpha=0.5)
    middle, wide = (starts + np.append(starts[1:], len(group)) - 1) / 2, np.diff(starts, append=len(group))
    ticks = wide >= 0.04 * len(group)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks(middle[ticks], [str(g) for g in group[starts][ticks]])
    few = f" ({len(group)} of {summary.n_edges:,})" if len(group) < summary.n_edges else ""
    ax.set(xlabel=f"edges{few}, by group", ylabel="edges, by group")
    ax.tick_params(length=0)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, pad=0.02)
    bar.set_label("probability of sharing a group", fontsize=9, color=_INK)
    bar.ax.tick_params(labelsize=8, colors=_GREY)
    bar.outline.set_visible(False)
    return ax


def plot_trace(tree: Any, ax: Axes | None = None) -> Axes:
    """Number of groups along each chain: pale the draws, bold their running mean over a twentieth of the run.

    Chains that have forgotten their start wander over the same range.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``GroupedMRF.posterior_``, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    n_groups = _summary(tree)["posterior"]["n_groups"]
    ax = _axes(ax, (7.2, 2.6))
    window = max(1, n_groups.sizes["draw"] // 20)
    draw, chains = n_groups["draw"].values, n_groups["chain"].values
    colours = _group_colours(len(chains))
    for chain, values, colour in zip(chains, n_groups.values, colours, strict=True):
        running = np.convolve(values, np.full(window, 1 / window), mode="valid")
        at = draw[window - 1 :] - (window - 1) / 2
        ax.plot(draw, values, color=colour, linewidth=0.5, alpha=0.3, rasterized=values.size > 5000)
        ax.plot(at, running, color=colour, linewidth=1.5, label=f"chain {chain}")
    _whole_numbers(ax.yaxis)
    ax.set_xlim(0, max(1, draw[-1]))
    ax.set(xlabel="draw", ylabel="number of groups")
    if len(chains) <= _MOST_IN_LEGEND:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, frameon=False, fontsize=8, borderaxespad=0.2)
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
    ax = _axes(ax, (7.2, 3.2))
    ax.axhline(0, color=_INK, linewidth=1, zorder=1)
    for i, (name, value) in enumerate(estimates.items()):
        x = place + step * (i - (len(estimates) - 1) / 2)
        error, colour = (np.asarray(value) - truth)[order], _COLOURS[i % len(_COLOURS)]
        ax.vlines(x, 0, error, color=colour, linewidth=1, alpha=0.5, zorder=2)
        ax.scatter(x, error, s=16, color=colour, marker="oDs^v"[i % 5], label=name, zorder=3)
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[0]] - 1))
    for start, end in zip(starts, np.append(starts[1:], len(order)), strict=True):
        if start:
            ax.axvline(start - 0.5, color=_PALE, linewidth=1, zorder=0)
        ax.text((start + end - 1) / 2, 0.99, f"truth {truth[order[start]]:.2f}", fontsize=8, color=_GREY, ha="center",
                va="top", transform=ax.get_xaxis_transform())  # fmt: skip
    ax.set_xticks([])
    ax.set_xlim(-0.6, len(order) - 0.4)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.12 * (high - low))
    ax.set(xlabel=f"{len(order)} edges, by true group", ylabel="estimated minus true agreement")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5, frameon=False, fontsize=8, borderaxespad=0.2)
    return ax


def _summary(tree: Any) -> Summary:
    return tree if isinstance(tree, Summary) else Summary(tree)


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes given, or those of a new figure, in the house style."""
    if ax is None:
        from matplotlib.figure import Figure

        ax = Figure(figsize=size, layout="constrained").subplots()
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_PALE)
    ax.tick_params(colors=_GREY, labelsize=8)
    ax.xaxis.label.set(size=9, color=_INK)
    ax.yaxis.label.set(size=9, color=_INK)
    return ax


def _group_colours(n_groups: int) -> np.ndarray:
    """A colour for each group: told apart by hue while hues last, else along one scale."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba_array

    if n_groups <= len(_COLOURS):
        return to_rgba_array(_COLOURS[:n_groups])
    return colormaps["viridis"](np.linspace(0.92, 0.0, n_groups))


def _whole_numbers(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))


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
            (ax.axhline if down else ax.axvline)(start - 0.5, color=_PALE, linewidth=0.6, zorder=0)


def _layout(n_nodes: int, ends: np.ndarray) -> np.ndarray:
    """Places (n_nodes, 2) of nodes all of which have edges, the long side of the picture across."""
    import networkx as nx
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    g = nx.Graph()
    g.add_nodes_from(range(n_nodes))
    g.add_edges_from(ends.tolist())
    if n_nodes <= 2 or n_nodes > 300:
        found = nx.spring_layout(g, seed=0)
    else:
        links = csr_array((np.ones(len(ends)), ends.T), shape=(n_nodes, n_nodes))
        d = shortest_path(links, directed=False, unweighted=True)
        d[~np.isfinite(d)] = d[np.isfinite(d)].max() + 1  # components side by side
        found = nx.kamada_kawai_layout(g, dist={i: dict(enumerate(row)) for i, row in enumerate(d.tolist())})
    place = np.array([found[i] for i in range(n_nodes)])
    place = place - place.mean(axis=0)
    place = place @ np.linalg.svd(place, full_matrices=False)[2].T
    if n_nodes > _MOST_CROWDED:  # halfway to an even spread along each axis: crowds become readable
        rank = place.argsort(axis=0).argsort(axis=0) / (n_nodes - 1) - 0.5
        place = place / np.ptp(place, axis=0) + rank
    return place


def _name_nodes(ax: Axes, names: list[str], place: np.ndarray, degree: np.ndarray) -> None:
    """Write names above their nodes, those with many edges first; where many would overlap, some are left out."""
    n, figure = len(names), ax.get_figure(root=True)
    size, most = (9, 24) if n <= 30 else (7, 16) if n <= 60 else (5.5, 12)
    assert figure is not None
    inch = np.ptp(place, axis=0) / (0.85 * figure.get_size_inches() * ax.get_position().size)
    taken: list[tuple[float, float, float]] = []
    for i in np.argsort(-degree, kind="stable"):
        name, (x, y) = names[i], place[i]
        short = name if len(name) <= most else name[: most - 1] + "…"
        width, height = 0.62 * size / 72 * len(short) * inch[0], 0.9 * size / 72 * inch[1]
        if n > 30 and any(abs(x - u) < (width + w) / 2 and abs(y - v) < height for u, v, w in taken):
            continue
        taken.append((x, y, width))
        ax.annotate(
            short,
            (x, y),
            xytext=(0, 5 if n <= 30 else 3.5),
            textcoords="offset points",
            ha="center",
            fontsize=size,
            color=_INK,
            zorder=3,
            parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4},
        )
