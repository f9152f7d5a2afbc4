"""Plots of the graph, with edges drawn by their posterior."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...names import short_names
from ...results.summary import GroupedSummary, InclusionSummary, ParameterSummary, count
from ...show.layout import layout
from ...show.networks import ALPHAS, Look, doubt, draw_edges, line_of, name_nodes, paler, signed
from ...show.style import GREY, INK, MOST_IN_LEGEND, PALE, axes, group_colours, plot_of, undirected

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELLED_NODES = 120
_MOST_EQUAL = 40  # nodes up to which the plot is square
_FLAT = 0.25  # height of a drawn network, relative to its width
_MOST_WIDE = 500  # edges of groups that may be wide, and edges that are in colour whatever their length
_MOST_INK = 150  # total length of the edges in colour, in sizes of the plot
_MOST_PLACED = 3000  # nodes that are placed for grey edges
_LONGEST = 20  # letters of the name of a node without edges
_LINE = 110  # letters of a line above the plot
_LEFT_OF_MANY = 1000  # edges that are drawn if there are more nodes


@plot_of("GroupedMRF, BayesianMRF, SpikeSlabMRF or (differences) CompareMRF")
def plot_network(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the graph: edges coloured by group, or by sign without groups, wide if strong, dashed if negative.

    If edges may be absent, those with an inclusion above 0.5 are drawn, with their mean strength given that they exist,
    and paler if less probable.

    The width increases with the absolute parameter, abs(logit agreement) for groups. Groups are dashed if the ends tend
    to differ, and edges whose 90 % interval contains zero are pale. Nodes are laid out by the springs of Kamada and
    Kawai on the graph alone, so that their positions do not depend on the posterior; beyond 40 nodes dense regions are
    spread out. Nodes without edges are only named. Where the prior has blocks, nodes are coloured by community.

    If there are many edges, the strongest are in colour and the others grey: at least 500, and more up to a total
    length of 150 times the size of the plot. Beyond 3,000 nodes only the strongest 1,000 edges are drawn.
    """
    from matplotlib.collections import LineCollection

    summary = undirected(tree)
    if summary.n_edges and not summary.has_network:
        raise OptionError(
            "tree must be the posterior of a model with a parameter for each edge; this model has none, use "
            "plot_parameters."
        )
    names = np.array(summary.names, dtype=object)
    look, kept = _LOOKS[summary.styled_by](summary), np.arange(len(summary.drawn))
    if len(np.unique(summary.drawn)) > _MOST_PLACED:
        kept = np.sort(look.order[-_LEFT_OF_MANY:])
    linked, ends = np.unique(summary.drawn[kept], return_inverse=True)
    ends = ends.reshape(-1, 2)
    place = layout(len(linked), ends)
    segments = np.zeros((len(summary.drawn), 2, 2))
    segments[kept] = place[ends]
    order = look.order[np.isin(look.order, kept)]
    span = np.ptp(place, axis=0) + 1e-9 if len(place) else 1.0
    ink = np.cumsum(np.linalg.norm(np.diff(segments[order[::-1]], axis=1)[:, 0] / span, axis=1))
    strong = order[max(0, len(order) - max(_MOST_WIDE, int(np.searchsorted(ink, _MOST_INK)))) :]
    said = []
    if len(strong) < len(look.order):
        rest = "grey" if len(kept) == len(look.order) else "grey or not drawn"
        said.append(f"in colour: the {len(strong):,} strongest of {len(look.order):,} edges; the others: {rest}")
    ax = axes(ax, (7.2, 6.2))
    grey = np.setdiff1d(kept, strong)
    if len(grey):
        dense = len(grey) > 2000
        ax.add_collection(LineCollection(segments[grey], colors=PALE, linewidths=0.5, zorder=0.5, rasterized=dense))
    draw_edges(ax, segments, look, strong)
    n = len(place)
    colours, size = [INK] * n, 30 if n <= 60 else 10 if n <= 200 else 3
    communities, handles = summary.communities, look.handles
    if communities is not None and communities.allocation.max() > 1:
        each = group_colours(int(communities.allocation.max()))
        colours, size = list(each[communities.allocation[linked] - 1]), 2 * size
        handles = [*handles, *(_dot(f"community {k + 1}", each[k]) for k in range(min(len(each), MOST_IN_LEGEND)))]
    ax.scatter(place[:, 0], place[:, 1], s=size, color=colours, zorder=2, linewidths=0)
    if 0 < n <= _MOST_LABELLED_NODES:
        name_nodes(ax, list(names[linked]), place, np.bincount(ends.ravel()))
    if n < len(names):
        alone = np.delete(names, np.unique(summary.drawn))
        if len(alone):
            examples = ", ".join(short_names(list(alone), _LONGEST)[:5]) + (", …" if len(alone) > 5 else "")
            said.append(f"not drawn: {count(len(alone), 'node')} without edges ({examples})")
    lines = [line for text in said for line in wrap(text, _LINE)]
    ax.set_title("\n".join(lines), fontsize=8, color=GREY, parse_math=False)
    ax.autoscale_view()
    ax.margins(0.08)
    if n <= _MOST_EQUAL:
        ax.set_aspect("equal")
        width, height = np.ptp(place, axis=0) if n else (1.0, 1.0)
        if height < _FLAT * width:  # nodes in a row leave room for their names
            ax.set_ylim(-_FLAT * width, _FLAT * width)
    ax.axis("off")
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False, fontsize=8,
              handlelength=3.2)  # fmt: skip
    return ax


def _by_group(summary: GroupedSummary) -> Look:
    groups, table = summary.group_table, summary.likely
    a = table["agreement"].clip(1e-6, 1 - 1e-6).to_numpy()
    colours, strength = group_colours(len(groups)), np.abs(np.log(a / (1 - a)))
    width = 0.5 + (3.5 if len(a) <= _MOST_WIDE else 1.0) * strength / strength.max(initial=1.0)
    shown = list(groups.index[: MOST_IN_LEGEND if len(groups) > MOST_IN_LEGEND + 1 else None])
    handles = [
        line_of(
            f"group {g}: agreement {groups['agreement'][g]:.2f}, {count(groups['size'][g], 'edge')}",
            colours[g - 1],
            2.5,
            bool(groups["agreement"][g] < 0.5),
        )
        for g in shown
    ]
    if len(shown) < len(groups):
        handles.append(line_of(f"and {len(groups) - len(shown)} more groups", "none"))
    edge_colours = colours[summary.groups[summary.shown]].copy()
    edge_colours[:, 3] = 0.85
    if summary.spike:
        edge_colours[:, 3] = paler(table["inclusion"].to_numpy())
        handles += doubt(*ALPHAS) if len(a) else []
    return Look(edge_colours, width, a < 0.5, np.argsort(strength), handles)


def _by_sign(summary: ParameterSummary) -> Look:
    table = summary.table[summary.table["is_edge"]]
    value, clear = table["mean"].to_numpy(), table["clear"].to_numpy()
    sure, doubtful = ("90 % interval excludes zero", 0.9), ("90 % interval contains zero", 0.35)
    alpha = np.where(clear, sure[1], doubtful[1])
    return signed(value, alpha, summary.terms.edge, sure, doubtful, unsigned=~summary.display.signed)


def by_inclusion(summary: InclusionSummary) -> Look:
    """Style edges that are likely to exist, or to differ between groups, by their mean."""
    table, unsigned = summary.likely, ~summary.display.signed[summary.in_median_model]
    alpha = paler(table["inclusion"].to_numpy())
    return signed(table["weight"].to_numpy(), alpha, summary.weighed, *ALPHAS, unsigned=unsigned)


_LOOKS: dict[str, Callable[[Any], Look]] = {"group": _by_group, "sign": _by_sign, "inclusion": by_inclusion}


def _dot(label: str, colour: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, marker="o", linestyle="none", label=label)
