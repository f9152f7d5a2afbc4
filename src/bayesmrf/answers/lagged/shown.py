"""Tables and section of lagged edges and edges within a wave."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...results.median_model import ABOVE, EDGES, in_median_model
from ...results.summary import PanelSummary
from ...show.page import Section, paragraph, picture, section_of
from ...show.tables import (
    ENDS,
    Column,
    Listing,
    Table,
    at_most,
    interval,
    marked,
    number,
    rest_of,
    table,
    text,
    with_legend,
)
from ..edges.shown import BAYES_FACTOR, EVIDENCE, MOST_EDGES, MOST_LIKELY, nodes_of, nodes_title, opening, weaker
from ..registry import Answer
from .panel import plot_panel

_FROM_TO = Column("edge", ("source", "target"), "{}", "{} → {}", ("from the wave before", "to"))
_NETWORKS = (
    f"{EDGES.capitalize()}. Arrows: from a wave to the next, loops for autoregression. Width: mean weight "
    "where the edge exists; dashed: negative; pale: less probable."
)


def _edges(s: PanelSummary, name: str, frame: pd.DataFrame, ends: Column, title: str, lead: str) -> Table:
    frame = frame.sort_values("inclusion", ascending=False, kind="stable", ignore_index=True)
    likely = frame[in_median_model(frame["inclusion"])].sort_values(
        "weight", key=np.abs, ascending=False, kind="stable"
    )
    most, shown = at_most(MOST_LIKELY, len(likely)), EVIDENCE if s.evidence else ()
    strongest, first = likely.iloc[:most], frame.iloc[:MOST_EDGES]
    rest = rest_of(len(frame), MOST_EDGES, "most probable edges")
    return Table(
        name,
        frame,
        (ends, marked("inclusion"), marked("weight"), interval(s), *shown),
        Listing(title, strongest, with_legend(weaker(len(likely), most), strongest)),
        Listing("Most probable first", first, with_legend(rest, first)),
        lead,
        f"Inclusion: probability of the edge. Weight: mean where the edge exists, with its {interval(s).head}. "
        f"{BAYES_FACTOR if shown else ''}{s.terms.meaning}",
    )


@table("lagged", PanelSummary)
def lagged(s: PanelSummary) -> Table:
    """Lagged edges, autoregressions among them, by decreasing inclusion."""
    frame = s.edge_table.iloc[: s.n_lagged].rename(columns={"first": "source", "second": "target"})
    lead = f"{opening(s)}Number of edges: {s.n_edges_sentence}.\n{s.density_sentence}."
    return _edges(s, "lagged", frame, _FROM_TO, f"Lagged edges with {ABOVE}, strongest first", lead)


@table("within", PanelSummary, lambda s: s.within)
def within(s: PanelSummary) -> Table:
    """Edges within a wave, by decreasing inclusion."""
    frame = s.edge_table.iloc[s.n_lagged :].drop(columns="kind")
    return _edges(s, "within", frame, ENDS, f"Edges within a wave with {ABOVE}, strongest first", "")


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


def section(s: PanelSummary) -> list[Section]:
    """Return the sections of the page on what follows what."""
    if not lagged.is_in(s):
        return []
    numbers = paragraph(f"Number of edges: {s.n_edges_sentence}.") + paragraph(f"{s.density_sentence}.")
    return [
        ("Which edges exist", numbers + picture(lambda: plot_panel(s), _NETWORKS)),
        *section_of(lagged, "Lagged edges", s),
        *section_of(within, "Edges within a wave", s),
        *section_of(nodes, nodes_title(s), s),
        *section_of(intercepts, "How much people differ", s),
    ]


ANSWER = Answer("lagged", (lagged, within, nodes, intercepts, transitions), (plot_panel,), section)
