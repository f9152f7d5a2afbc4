"""Tables of a posterior over which edges exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results.edge_evidence import evidence_table, has_evidence
from ...results.median_model import ABOVE, EDGES, NO_EDGE
from ...results.summary import DifferenceSummary, PanelSummary, StructureSummary, Summary
from ...results.summary.inclusion import InclusionSummary
from ...show.tables import (
    ENDS,
    FACTOR,
    WORD,
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
from ..registry import Answer

if TYPE_CHECKING:
    import pandas as pd

MOST_EDGES, MOST_LIKELY = 500, 20  # rows of the page, and of the terminal
NONE_LIKELY = f"{NO_EDGE.capitalize()}."
EVIDENCE = FACTOR, WORD
_WORDS = (
    "with the probability of others held; included: above 10, weakly: above 3, excluded: below 1/10; *: a limit lies "
    "within two errors, or the error is not known. "
)
BAYES_FACTOR = f"Bayes factor: local, of the edge against its absence, {_WORDS}"
OF_DIFFERENCE = f"Bayes factor: local, of the difference against none, {_WORDS}"
STRONGEST = f"{ABOVE.capitalize()}, strongest first"


@table("edges", StructureSummary)
def edges(s: StructureSummary) -> Table:
    """Candidates by decreasing inclusion; the terminal lists those that are likely, the strongest first."""
    frame = s.edge_table.sort_values("inclusion", ascending=False, kind="stable", ignore_index=True)
    most = at_most(MOST_LIKELY, len(s.strongest))
    shown = EVIDENCE if s.evidence else ()
    strongest, first = s.strongest.iloc[:most], frame.iloc[:MOST_EDGES]
    rest = rest_of(len(frame), MOST_EDGES, "most probable edges")
    return Table(
        "edges",
        frame,
        (ENDS, marked("inclusion"), marked("weight"), interval(s), *shown),
        Listing(STRONGEST, strongest, with_legend(weaker(len(s.strongest), most), strongest)),
        Listing("Candidates, most probable first", first, with_legend(rest, first)),
        f"{opening(s)}Number of edges: {s.n_edges_sentence}.\n{s.density_sentence}.",
        f"Inclusion: probability of the edge. Weight: mean of the {s.terms.edge} where the edge exists, with its "
        f"{interval(s).head}. {BAYES_FACTOR if shown else ''}{s.terms.meaning}",
    )


def opening(s: InclusionSummary) -> str:
    """Return how sure the words of the headline are, as a line before others."""
    return f"{s.doubt_sentence}\n" if s.doubt_sentence else ""


@table("evidence", InclusionSummary, lambda s: has_evidence(s.tree) and not isinstance(s, PanelSummary), listed=False)
def evidence(s: InclusionSummary) -> Table:
    """Bayes factor of each edge, or difference, against its absence, the largest first."""
    frame = evidence_table(s.tree)
    return Table(
        "evidence",
        frame,
        (ENDS, *EVIDENCE, number("log10_bf_error", "error of log10"), number("pareto_k", "Pareto k")),
        wide=Listing("", frame.iloc[:MOST_EDGES], rest_of(len(frame), MOST_EDGES, "largest Bayes factors")),
        lead=opening(s),
        note=OF_DIFFERENCE if isinstance(s, DifferenceSummary) else BAYES_FACTOR,
    )


def weaker(n: int, most: int) -> str:
    """Return how many of ``n`` likely edges are not among the first, or that there is none."""
    if not n:
        return NONE_LIKELY
    return f"Not listed: {n - most:,} weaker {EDGES}." if n > most else ""


@table("nodes", StructureSummary)
def nodes(s: StructureSummary) -> Table:
    """Parameters of nodes."""
    return nodes_of(s, s.node_table, (text("node", s.terms.node), number("mean"), interval(s)))


def nodes_of(s: Summary, frame: pd.DataFrame, columns: tuple[Column, ...]) -> Table:
    """Return a table of parameters of nodes."""
    listed = Listing("", frame.iloc[:MOST_EDGES], rest_of(len(frame), MOST_EDGES, f"first ({s.terms.node})"))
    return Table("nodes", frame, columns, wide=listed, note=s.terms.meaning)


ANSWER = Answer("edges", (edges, evidence, nodes), methods=("evidence_table",))
