"""Pictures of networks: of one, of weights and evidence, and of those of groups of people."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...names import short_names
from ...results.categories import words_in
from ...results.median_model import EDGES, in_median_model
from ...results.summary import INTERVAL, AnySummary, DifferenceSummary, StructureSummary, Summary, count, summarise
from ...show.drawn_networks import Network, draw_edges, draw_networks, name_nodes
from ...show.layout import layout
from ...show.network_style import MOST_WIDE, by_evidence, by_inclusion, look_of, signed
from ...show.style import GREY, INK, MOST_IN_LEGEND, PALE, axes, group_colours, plot_of, undirected

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELLED_NODES = 120
_MOST_EQUAL = 40  # nodes up to which the plot is square
_FLAT = 0.25  # height of a drawn network, relative to its width
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
    look, kept = look_of(summary), np.arange(len(summary.drawn))
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
    strong = order[max(0, len(order) - max(MOST_WIDE, int(np.searchsorted(ink, _MOST_INK)))) :]
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


def _dot(label: str, colour: Any) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, marker="o", linestyle="none", label=label)


@plot_of("SpikeSlabMRF or CompareMRF")
def plot_evidence_network(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the evidence for each pair: that its edge exists, or that the groups differ in it, in five classes.

    Blue edges are included and yellow ones excluded by their Bayes factor; paler and grey ones, of which the evidence
    is weaker, are dashed. Edges that the prior forces are black, those that it forbids are not drawn. The positions of
    the nodes are those of `plot_networks`. Nodes with long or many names are numbered.

    Raises
    ------
    OptionError
        If the run has no Bayes factors of its edges.
    """
    s = summarise(tree)
    if s.has_lags or not s.evidence:
        raise OptionError("tree must be a run with Bayes factors of its edges; use plot_network for its network.")
    return draw_networks(ax, s.names, _placed(s), [_evidence(s)], 1, 6.0)


@plot_of("SpikeSlabMRF or CompareMRF")
def plot_networks(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot networks next to each other in one layout: weights and evidence; or those of groups of people.

    Of a run of SpikeSlabMRF these are the edges with an inclusion above 0.5, wide and saturated if strong and dashed if
    negative, and the evidence for each pair, as in `plot_evidence_network`.

    Of CompareMRF it is the network of each group, then the edges in which they differ, and the evidence for each
    difference. Edges are wide if strong, and dashed if negative; the widths of all groups have one scale. Those whose
    90 % interval contains zero are pale. Where edges may be absent, those that exist with a probability above 0.5 are
    drawn, with their weights given that they exist. Differences are drawn if their inclusion is above 0.5: of two
    groups by the sign of the difference, the second group minus the first; of more groups by the largest difference.
    """
    s = summarise(tree)
    if not s.has_populations and (s.has_lags or not s.evidence):
        single = "plot_network for a single network" if s.has_network else "plot_parameters"
        raise OptionError(f"tree must be a posterior of CompareMRF, or of SpikeSlabMRF with evidence; use {single}.")
    networks = [*_NETWORKS[s.has_populations](s), *([_evidence(s)] if s.evidence else [])]
    columns = min(len(networks), 3 if len(networks) != 4 else 2)
    return draw_networks(ax, s.names, _placed(s), networks, columns, 4.6 if columns == 2 else 3.6)


def _weights(s: StructureSummary) -> list[Network]:
    """Style the likely edges, in width and saturation by their weights."""
    weight = s.likely["weight"].to_numpy()
    share = np.abs(weight) / max(np.abs(weight).max(initial=0.0), 1e-12)
    none = ("", 0.0)
    look = signed(weight, 0.3 + 0.65 * share, s.terms.edge, none, none, unsigned=~s.display.signed[s.in_median_model])
    handles = [handle for handle in look.handles if handle.get_label()]
    return [Network(f"weights of {EDGES}", s.drawn, look._replace(handles=handles))]


def _groups(s: DifferenceSummary) -> list[Network]:
    """Style the network of each group, and the differences that are likely."""
    means, low, high = s.weights_given(INTERVAL).reshape(3, s.n_edges, -1).swapaxes(1, 2)
    exist = in_median_model(s.existence)
    means, low, high = means[:, exist], low[:, exist], high[:, exist]
    sure, doubtful = ("90 % interval excludes zero", 0.9), ("90 % interval contains zero", 0.25)
    looks = [
        signed(mean, np.where((a > 0) | (b < 0), sure[1], doubtful[1]), s.terms.edge, sure, doubtful,
               float(np.abs(means).max(initial=0.0)), ~s.display.signed[exist])
        for mean, a, b in zip(means, low, high, strict=True)
    ]  # fmt: skip
    titles = [f"{name} (n = {size:g})" for name, size in zip(s.groups, s.sizes, strict=True)]
    looks = [*[look._replace(handles=[]) for look in looks[:-1]], looks[-1]]  # one legend for all groups
    networks = [Network(title, s.ends[exist], look) for title, look in zip(titles, looks, strict=True)]
    return [*networks, Network("differences", s.drawn, by_inclusion(s))]


_NETWORKS: dict[bool, Callable[[Any], list[Network]]] = {True: _groups, False: _weights}  # whether there are groups


def _evidence(s: Summary) -> Network:
    """Style all pairs, by the class of their evidence."""
    return Network(f"evidence for {s.thing}s", s.ends, by_evidence(s.evidence["evidence"], words_in(s.tree)))


def _placed(s: AnySummary) -> np.ndarray:
    """Place the nodes: by the likely edges, or of groups of people by all."""
    return layout(len(s.names), s.ends if s.has_populations else s.drawn)
