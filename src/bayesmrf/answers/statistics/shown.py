"""Table, picture and section of the statistics of nodes and networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import OptionError
from ...names import shown
from ...results.statistics import INTERVAL, NAMES, OF_LAGS, OF_NODES, has_weights
from ...results.summary import Summary, summarise
from ...show.figures import Figure, PictureOf, shrink
from ...show.page import Section, listed, paragraph, picture
from ...show.style import COLOURS, GREY, INK, MOST_NAMED, PANELS, as_text, axes, name_rows
from ...show.tables import Column, Table, first_rows, number, table, text
from ..registry import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_USUAL = (*OF_LAGS, "strength", "expected influence", "closeness", "betweenness", "predictability")
_COLUMNS, _LONGEST = 5, 24
_NARROWEST, _SMALLER = 1.6, 0.72  # inches of a panel, and texts, in a figure for a paper
_CAPTION = "Statistics of the nodes, largest first: posterior mean and 95 % interval of highest density."
MOST_ROWS = 1000  # of the page


@table("statistics", Summary, lambda s: has_weights(s.tree), listed=False)
def statistics(s: Summary) -> Table:
    """Statistics of nodes and networks, by name, with mean and 95 % interval of highest density."""
    frame = s.statistics.table()
    groups = (text("group"),) if "group" in frame else ()
    ends = Column(f"{100 * INTERVAL:g} % HDI", ("lower", "upper"), "{:.3f}", "{} to {}", ("from", "to"))
    columns = (text("statistic"), *groups, text("node"), number("mean"), ends, number("n_draws", "draws", "{:,}"))
    left_out = [name for name in s.statistics.names if name not in s.statistics.shown]
    slow = f" Not computed, as they take long: {', '.join(left_out)}; est.statistics has them." if left_out else ""
    order = frame.assign(rank=frame.groupby("statistic", sort=False).ngroup())
    wide = order.sort_values(["rank", "mean"], ascending=[True, False], kind="stable").drop(columns="rank")
    return Table(
        "statistics",
        frame,
        columns,
        wide=first_rows("Statistics of nodes and of the network, largest first", wide, MOST_ROWS, "first rows"),
        note="Each was computed in every posterior draw, in which absent edges count as 0; shown are posterior means "
        "and highest-density intervals (HDI), over the draws in which it is defined. The distance along an edge is "
        "1 / |weight|, so that negative weights count by their size in all but expected influence." + slow,
    )  # fmt: skip


def plot_statistics(
    tree: Any, names: Sequence[str] | None = None, communities: Any = None, panels: Sequence[Axes] | None = None
) -> np.ndarray:
    """Plot statistics of nodes, a panel each: posterior mean and 95 % interval of highest density, largest first.

    Groups of people have colours and markers of their own, in the order of their mean over all groups. With more than
    60 nodes the largest are shown. Statistics of the whole network are in the table "statistics".

    Parameters
    ----------
    tree : estimator, xarray.DataTree, path or Summary
        BayesianMRF, SpikeSlabMRF, CompareMRF, GroupedMRF or PanelMRF, fitted, its ``posterior_``, or the path of a
        stored run.
    names : sequence of str, optional
        Statistics of nodes, as in the method `statistics`; by default strength, expected influence, closeness,
        betweenness and predictability, those that the posterior has, and of a panel those of lagged edges.
    communities : mapping of node to label, or sequence of labels, optional
        For statistics of bridges.
    panels : sequence of Axes, optional
        Where to draw, one for each statistic.

    Returns
    -------
    (n_statistics,) array of Axes

    Raises
    ------
    OptionError
        If there is no such statistic, edges have no single weight, or ``panels`` are too few.
    """
    summary = summarise(tree)
    if not has_weights(summary.tree):
        raise OptionError("tree must be a posterior in which each edge has a weight or a strength; this one has tables "
                          "of parameters, or no edges.")  # fmt: skip
    statistics = summary.statistics if communities is None else summary.statistics.with_communities(communities)
    NAMES.check("names", names)
    PANELS.check("panels", panels)
    wanted = [name for name in _USUAL if name in statistics.shown] if names is None else [names] if isinstance(
        names, str) else list(names)  # fmt: skip
    if unknown := [name for name in wanted if name not in OF_NODES]:
        raise OptionError(
            option="names", got=unknown[0], expected=f"names of statistics of nodes: {', '.join(OF_NODES)}"
        )
    table = statistics.table(wanted)
    drawn_on = _panels(len(wanted), min(len(statistics.nodes), MOST_NAMED)) if panels is None else list(panels)
    if len(drawn_on) < len(wanted):
        raise OptionError(option="panels", got=len(drawn_on), expected=f"at least {len(wanted)} axes")
    for name, ax in zip(wanted, drawn_on, strict=False):
        _panel(table[table["statistic"] == name], name, statistics.groups, axes(ax, (1, 1)))
    if statistics.groups is not None:
        as_text(drawn_on[0].legend(frameon=False, fontsize=7, loc="lower right"))
    return np.array(drawn_on[: len(wanted)], dtype=object)


def _panels(n: int, n_rows: int, width: float = 0.0) -> list[Axes]:
    """Return axes of a new figure, as wide as a figure for a paper if that is known."""
    from matplotlib.figure import Figure

    columns = min(n, int(width // _NARROWEST) if width else _COLUMNS)
    rows, height = -(-n // columns), max(1.8, 0.8 + 0.19 * n_rows) if width == 0 else 0.45 + 0.115 * n_rows
    figure = Figure(figsize=(width or max(3.6, 2.3 * columns), rows * height), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in grid[n:]:
        spare.remove()
    return list(grid[:n])


def _figure(s: Summary, options: Figure) -> Any:
    """Draw the usual statistics at the width of a figure."""
    names = [name for name in _USUAL if name in s.statistics.shown]
    panels = _panels(len(names), min(len(s.names), MOST_NAMED), max(options.inches, _NARROWEST))
    drawn = plot_statistics(s, names, panels=panels)
    figure: Any = panels[0].get_figure(root=True)
    legend = panels[0].get_legend()
    if legend is not None:  # of groups of people
        legend.remove()
        handles, labels = panels[0].get_legend_handles_labels()
        as_text(figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False))
    shrink(figure, _SMALLER)
    return drawn


def _panel(table: Any, name: str, groups: Sequence[str] | None, ax: Axes) -> None:
    """Draw one statistic."""
    order = table.groupby("node", sort=False)["mean"].mean().sort_values(ascending=False, kind="stable").index
    nodes = order[:MOST_NAMED]
    for g, group in enumerate(groups or [None]):
        rows = table if group is None else table[table["group"] == group]
        rows = rows.set_index("node").loc[nodes]
        place = np.arange(len(nodes)) + (0 if groups is None else 0.5 * (g / max(len(groups) - 1, 1) - 0.5))
        colour, mark = COLOURS[(g + 2 * (groups is None)) % len(COLOURS)], "osD^v"[g % 5]
        ax.hlines(place, rows["lower"], rows["upper"], colors=colour, linewidth=2, alpha=0.6)
        label = None if group is None else shown(group, _LONGEST)
        ax.scatter(rows["mean"], place, s=16, color=colour, zorder=3, marker=mark, label=label)
    name_rows(ax, [shown(node, _LONGEST) for node in nodes])
    if name.endswith("influence") or name == "autoregression":
        ax.axvline(0, color=GREY, linewidth=0.6, zorder=0)
    else:
        ax.set_xlim(left=min(0.0, ax.get_xlim()[0]) if name != "base rate" else None)
    few = f"\n({len(nodes)} of {len(order):,} nodes)" if len(nodes) < len(order) else ""
    ax.set_title(f"{name}{few}", fontsize=9, color=INK)


def section(s: Summary) -> list[Section]:
    """Return the section, if each edge has a weight or a strength."""
    if not has_weights(s.tree):
        return []
    table = statistics(s)
    html = picture(lambda: plot_statistics(s)[0], _CAPTION) + paragraph(table.note) + listed(table)
    return [("Statistics of nodes and of the network", html)]


ANSWER = Answer(
    "statistics",
    (statistics,),
    (plot_statistics,),
    (PictureOf("statistics", Summary, _figure, lambda s: has_weights(s.tree)),),
    section,
    methods=("statistics", "statistic", "strength", "correlation", "interval"),
)
