"""Tables, picture and section of lagged edges and edges within a wave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...results.median_model import ABOVE, EDGES
from ...results.summary import PanelSummary
from ...show.drawn_networks import beyond_loops, draw_arrows, draw_edges, name_nodes
from ...show.figures import PictureOf, resized
from ...show.layout import layout
from ...show.network_style import ALPHAS, paler, signed
from ...show.page import Section, as_figure, paragraph, picture, section_of
from ...show.style import INK, axes, of_kind, plot_of
from ...show.tables import Column, Listing, Table, interval, number, table, text
from ..edges.shown import counted, edges_of, nodes_of, nodes_title
from ..registry import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FROM_TO = Column("edge", ("source", "target"), "{}", "{} → {}", ("from the wave before", "to"))
_ALL = "Most probable first"
_MOST_NAMED = 60  # nodes that are named
_NETWORKS = (
    f"{EDGES.capitalize()}. Arrows: from a wave to the next, loops for autoregression. Width: mean weight "
    "where the edge exists; dashed: negative; pale: less probable."
)


@table("lagged", PanelSummary)
def lagged(s: PanelSummary) -> Table:
    """Lagged edges, autoregressions among them, by decreasing inclusion."""
    frame = s.edge_table.iloc[: s.n_lagged].rename(columns={"first": "source", "second": "target"})
    titles = f"Lagged edges with {ABOVE}, strongest first", _ALL
    return edges_of(s, "lagged", frame, titles, lead=counted(s), ends=_FROM_TO)


@table("within", PanelSummary, lambda s: s.within)
def within(s: PanelSummary) -> Table:
    """Edges within a wave, by decreasing inclusion."""
    frame = s.edge_table.iloc[s.n_lagged :].drop(columns="kind")
    return edges_of(s, "within", frame, (f"Edges within a wave with {ABOVE}, strongest first", _ALL))


@table("nodes", PanelSummary)
def nodes(s: PanelSummary) -> Table:
    """Parameters of items."""
    return nodes_of(s, s.node_table, (text("node", s.terms.node), number("mean"), interval(s)))


@table("intercepts", PanelSummary, lambda s: s.attrs["intercepts"] == "own")
def intercepts(s: PanelSummary) -> Table:
    """Standard deviations of the intercepts of people, given the first wave."""
    frame, columns = s.intercept_table, (text("node", "item"), number("mean", "sd of people"), interval(s))
    listing = Listing("How much people differ, apart from the first wave", frame)
    note = "In units of the log odds of the item (of each step up, where it is ordered)."
    return Table("intercepts", frame, columns, listing, listing, note=note)


@table("transitions", PanelSummary)
def transitions(s: PanelSummary) -> Table:
    """How many pairs of rows follow each other, and how many are left out."""
    t = s.numbers_of_transitions
    rows = [
        ("rows", t["rows"]),
        ("people or series", t["people"]),
        ("pairs of successive rows", t["pairs"]),
        *([("nights (or breaks between sessions), which lags do not cross", t["nights"])] if t.get("nights") else []),
        ("left out: waves in between are not in the table", t["gaps"]),
        ("left out: answers are missing", 0 if t.get("completed") else t["missing"]),
        ("used", t["used"]),
        *([("used, with missing answers", t["missing"])] if t.get("completed") and t["missing"] else []),
    ]
    frame = pd.DataFrame(rows, columns=["what", "number"])
    return Table("transitions", frame, (text("what", longest=None), number("number", each="{:,}")))


@plot_of("PanelMRF")
def plot_panel(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the lagged network, and next to it the network within a wave if there is one, in one layout.

    Edges with an inclusion above 0.5 are drawn: wide if strong, dashed if negative, pale if less probable; widths of
    both networks have one scale. Arrows lead from an item to those that follow it, a loop to the item itself.
    """
    s = of_kind(tree, PanelSummary, "a posterior of PanelMRF; use plot_network")
    n_panels = 1 + s.within
    ax = axes(ax, (5.2 * n_panels, 5.0))
    ax.axis("off")
    likely, ends = s.in_median_model, s.ends
    weights = np.nan_to_num(s.edge_table["weight"].to_numpy())
    top = float(np.abs(weights[likely]).max(initial=0.0))
    joined = ends[likely & (ends[:, 0] != ends[:, 1])]
    angle = 2 * np.pi * np.arange(len(s.names)) / len(s.names)
    place = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if len(joined) >= len(s.names):  # else most nodes would be far away
        place = layout(len(s.names), joined)
    low, high = place.min(axis=0), place.max(axis=0)
    room = 0.22 * float((high - low).max() + 1e-9)  # for loops and names
    lagged = np.arange(len(ends)) < s.n_lagged
    for k, (title, edges) in enumerate((("lagged", lagged & likely), ("within a wave", ~lagged & likely))[:n_panels]):
        panel = ax.inset_axes((k / n_panels, 0.1, 0.96 / n_panels, 0.84))
        look = signed(weights[edges], paler(s.inclusion[edges]), "weight", *ALPHAS, top)
        if k == 0:
            draw_arrows(panel, place, ends[edges], look)
        else:
            draw_edges(panel, place[ends[edges]], look, look.order)
        panel.scatter(place[:, 0], place[:, 1], s=40, color=INK, zorder=2, linewidths=0)
        if len(s.names) <= _MOST_NAMED:
            drawn, n = ends[edges], len(s.names)
            has_loop = np.isin(np.arange(n), drawn[drawn[:, 0] == drawn[:, 1], 0])
            anchors, is_below = beyond_loops(place, has_loop)
            name_nodes(panel, list(s.names), anchors, np.bincount(drawn.ravel(), minlength=n), is_below)
        panel.set_title(title if edges.any() else f"{title}: no {ABOVE}", fontsize=9, color=INK)
        panel.set_aspect("equal")
        panel.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
        panel.axis("off")
        if look.handles:
            panel.legend(handles=look.handles, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False,
                         fontsize=7, handlelength=3.2)  # fmt: skip
    return ax


def section(s: PanelSummary) -> list[Section]:
    """Return the sections of the page on what follows what."""
    if not lagged.is_in(s):
        return []
    numbers = paragraph(f"Number of edges: {s.n_edges_sentence}.") + paragraph(f"{s.density_sentence}.")
    return [
        ("Which edges exist", numbers + as_figure(picture(lambda: plot_panel(s), _NETWORKS))),
        *section_of(lagged, "Lagged edges", s),
        *section_of(within, "Edges within a wave", s),
        *section_of(nodes, nodes_title(s), s),
        *section_of(intercepts, "How much people differ", s),
    ]


ANSWER = Answer(
    "lagged",
    (lagged, within, nodes, intercepts, transitions),
    (plot_panel,),
    (PictureOf("panel", PanelSummary, resized(plot_panel)),),
    section,
)
