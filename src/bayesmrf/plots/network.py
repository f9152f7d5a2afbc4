"""The graph, its edges drawn by what the posterior says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import OptionError
from ..summary import GroupedSummary, ParameterSummary, StructureSummary, count, summarise
from .style import COLOURS, DASHED, GREY, INK, MOST_IN_LEGEND, axes, group_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELLED_NODES = 120
_MOST_CROWDED = 40  # nodes that stay as their springs put them
_MOST_WEIGHED = 500  # edges of groups whose width is told apart


class _Look(NamedTuple):
    """How edges are drawn: colours with alpha (n_edges, 4), widths, dashed or not, order; and the legend."""

    colours: np.ndarray
    widths: np.ndarray
    dashed: np.ndarray
    order: np.ndarray
    handles: list[Any]


def plot_network(tree: Any, ax: Axes | None = None) -> Axes:
    """The graph: edges coloured by group, or by sign where there are no groups, wide where strong, dashed below zero.

    Where edges come and go, those with an inclusion above 0.5 are drawn, as strong as they are on average where they
    exist, the paler the less probable.

    Width grows with the size of the parameter: abs(logit agreement) of groups. Groups are dashed where the ends tend to
    differ, parameters where they are negative, and edges whose 90 % interval holds zero are pale. Nodes are laid out by
    Kamada and Kawai's springs (beyond 300 nodes by those of Fruchterman and Reingold) on the graph alone, so that the
    picture does not depend on the posterior; beyond 40 nodes crowds are spread out. Nodes without edges are named only.

    Parameters
    ----------
    tree : xarray.DataTree or Summary
        ``posterior_`` of `GroupedMRF`, `BayesianMRF` or `SpikeSlabMRF`, or what `bayesmrf.results.load` reads.
    ax : Axes, optional
        Where to draw.
    """
    from matplotlib.collections import LineCollection

    summary = summarise(tree)
    if isinstance(summary, ParameterSummary) and not summary.n_weights and summary.n_edges:
        raise OptionError("tree: edges of this model have no parameters of their own, so there is nothing to colour")
    names = np.array(summary.names, dtype=object)
    linked, ends = np.unique(summary.drawn, return_inverse=True)
    ends = ends.reshape(-1, 2)
    place = _layout(len(linked), ends)
    look = _look(summary)
    ax = axes(ax, (7.2, 6.2))
    segments = place[ends]
    for dashed in (False, True):
        chosen = look.order[look.dashed[look.order] == dashed]
        ax.add_collection(
            LineCollection(
                segments[chosen],
                colors=look.colours[chosen],
                linewidths=look.widths[chosen],
                linestyles=DASHED if dashed else "solid",
                zorder=1,
                capstyle="butt" if dashed else "round",
            )
        )
    n = len(place)
    ax.scatter(place[:, 0], place[:, 1], s=30 if n <= 60 else 10 if n <= 200 else 3, color=INK, zorder=2, linewidths=0)
    if 0 < n <= _MOST_LABELLED_NODES:
        _name_nodes(ax, list(names[linked]), place, np.bincount(ends.ravel()))
    if n < len(names):
        alone = np.delete(names, linked)
        some = ", ".join(alone[:5]) + (", …" if len(alone) > 5 else "")
        ax.set_title(
            f"not drawn: {count(len(alone), 'node')} without edges ({some})", fontsize=8, color=GREY, parse_math=False
        )
    ax.autoscale_view()
    ax.margins(0.08)
    if n <= _MOST_CROWDED:
        ax.set_aspect("equal")
    ax.axis("off")
    ax.legend(handles=look.handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=2, frameon=False, fontsize=8,
              handlelength=3.2)  # fmt: skip
    return ax


def _look(summary: GroupedSummary | ParameterSummary | StructureSummary) -> _Look:
    if isinstance(summary, GroupedSummary):
        return _by_group(summary)
    return _by_inclusion(summary) if isinstance(summary, StructureSummary) else _by_sign(summary)


def _by_group(summary: GroupedSummary) -> _Look:
    groups, a = summary.group_table, summary.edge_table["agreement"].clip(1e-6, 1 - 1e-6).to_numpy()
    colours, strength = group_colours(len(groups)), np.abs(np.log(a / (1 - a)))
    width = 0.5 + 3.5 * strength / max(strength.max(), 1.0) if len(a) <= _MOST_WEIGHED else np.full(len(a), 0.6)
    shown = list(groups.index[: MOST_IN_LEGEND if len(groups) > MOST_IN_LEGEND + 1 else None])
    handles = [
        _line(
            f"group {g}: agreement {groups['agreement'][g]:.2f}, {count(groups['size'][g], 'edge')}",
            colours[g - 1],
            2.5,
            bool(groups["agreement"][g] < 0.5),
        )
        for g in shown
    ]
    if len(shown) < len(groups):
        handles.append(_line(f"and {len(groups) - len(shown)} more groups", "none"))
    own = colours[summary.groups].copy()
    own[:, 3] = 0.85
    return _Look(own, width, a < 0.5, np.argsort(strength), handles)


def _by_sign(summary: ParameterSummary) -> _Look:
    table = summary.table[summary.table["is_edge"]]
    value, clear = table["mean"].to_numpy(), table["clear"].to_numpy()
    sure, doubtful = ("90 % interval clear of zero", 0.9), ("90 % interval holds zero", 0.35)
    return _signed(value, np.where(clear, sure[1], doubtful[1]), summary.terms.edge, sure, doubtful)


def _by_inclusion(summary: StructureSummary) -> _Look:
    table = summary.likely
    alpha = 0.2 + 0.7 * (2 * table["inclusion"].to_numpy() - 1)
    return _signed(table["weight"].to_numpy(), alpha, "weight", ("inclusion 1", 0.9), ("inclusion 0.5", 0.2))


def _signed(
    value: np.ndarray, alpha: np.ndarray, noun: str, sure: tuple[str, float], doubtful: tuple[str, float]
) -> _Look:
    """Colour and dashes by sign, width by size; ``sure`` and ``doubtful`` say what two of the alphas mean."""
    from matplotlib.colors import to_rgba

    size, top = np.abs(value), max(float(np.abs(value).max(initial=0)), 1e-12)
    positive, negative = (np.array(to_rgba(c)) for c in COLOURS[:2])
    own = np.where((value < 0)[:, None], negative, positive)
    own[:, 3] = alpha
    mark = float(f"{top / 2:.1g}")
    handles = [
        _line(f"{noun} +{mark:g}", positive, _width(mark, top)),
        _line(f"{noun} −{mark:g}", negative, _width(mark, top), True),
        *(_line(label, (*to_rgba(GREY)[:3], a), 1.5) for label, a in (sure, doubtful)),
    ]
    return _Look(own, _width(size, top), value < 0, np.lexsort((size, alpha)), handles if len(value) else [])


def _width(size: Any, top: float) -> Any:
    """Width in points of an edge whose parameter has this size."""
    return 0.6 + 4.4 * size / top


def _line(label: str, colour: Any, width: float = 1.0, dashed: bool = False) -> Any:
    """A line in the legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linewidth=width, linestyle=DASHED if dashed else "solid", label=label)


def _layout(n_nodes: int, ends: np.ndarray) -> np.ndarray:
    """Places (n_nodes, 2) of nodes all of which have edges, the long side of the picture across."""
    import networkx as nx
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    g = nx.Graph()
    g.add_nodes_from(range(n_nodes))
    g.add_edges_from(ends.tolist())
    if n_nodes == 0:
        return np.empty((0, 2))
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
            color=INK,
            zorder=3,
            parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4},
        )
