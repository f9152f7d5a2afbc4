"""Tables and section of which edges exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results.edge_evidence import evidence_table, has_evidence
from ...results.median_model import ABOVE, EDGES, NO_EDGE
from ...results.summary import InclusionSummary, StructureSummary, Summary
from ...show.page import Section, listed, paragraph, picture, section_of
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
from ..run.shown import log_odds
from .inclusion import plot_inclusion
from .network import plot_network
from .networks import plot_evidence_network, plot_networks

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
_NETWORK = f"{EDGES.capitalize()}. Width: mean weight where the edge exists; dashed: negative; pale: less probable."
_WEIGHTS = (
    f"Left: {EDGES}. Width and saturation: mean weight where the edge exists; dashed: "
    "negative. Right: evidence for each edge, in the same layout."
)
CLASSES_OF_EVIDENCE = (
    "Blue: included, with a Bayes factor above 10; yellow: excluded, below 1/10; dashed: weaker evidence, grey where "
    "it is inconclusive."
)


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


@table("evidence", InclusionSummary, lambda s: has_evidence(s.tree) and not s.has_lags, listed=False)
def evidence(s: InclusionSummary) -> Table:
    """Bayes factor of each edge, or difference, against its absence, the largest first."""
    frame = evidence_table(s.tree)
    return Table(
        "evidence",
        frame,
        (ENDS, *EVIDENCE, number("log10_bf_error", "error of log10"), number("pareto_k", "Pareto k")),
        wide=Listing("", frame.iloc[:MOST_EDGES], rest_of(len(frame), MOST_EDGES, "largest Bayes factors")),
        lead=opening(s),
        note=OF_DIFFERENCE if s.has_populations else BAYES_FACTOR,
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


def section(s: StructureSummary) -> list[Section]:
    """Return the sections of the page on which edges exist."""
    if not edges.is_in(s):
        return []
    table = edges(s)
    return [
        ("Which edges exist", inclusion_part(s, "and the slab scale is the scale of the prior of their weights")),
        _network(s),
        ("Edges", paragraph(table.note) + listed(table)),
        *section_of(log_odds, "Log odds of categories", s),
        *section_of(nodes, nodes_title(s), s),
    ]


def _network(s: StructureSummary) -> Section:
    """Draw the network of weights and, where it is known, the evidence for each edge next to it."""
    if s.evidence:
        drawn = picture(lambda: plot_networks(s), f"{_WEIGHTS} {CLASSES_OF_EVIDENCE}")
        return "Weights and evidence", drawn
    return "Network", picture(lambda: plot_network(s), _NETWORK)


def nodes_title(s: Summary) -> str:
    """Return what parameters of nodes are called in a title."""
    return f"{s.terms.node.capitalize()}{'es' if s.terms.node.endswith('s') else 's'}"


def inclusion_part(s: InclusionSummary, also: str = "") -> str:
    """Return the number of edges, density, and inclusion of each edge; ``also`` explains other quantities."""
    text = (
        "The inclusion of an edge is the posterior probability that it exists: near 1 the data support the edge, near "
        "0 its absence, and in between they are inconclusive. The density is the share of the candidates that exist"
        f"{', ' if also else ''}{also}."
    )
    return probable(s, "Inclusion of each edge; nodes that share edges are next to each other.", text)


def probable(s: InclusionSummary, caption: str, text: str) -> str:
    """Return the number of edges, the density, and the plot of inclusions, with an explanation."""
    opening = [s.doubt_sentence] if s.doubt_sentence else []
    lines = [*opening, f"{s.number.capitalize()}: {s.n_edges_sentence}.", f"{s.density_sentence}."]
    return "".join(map(paragraph, lines)) + picture(lambda: plot_inclusion(s), caption) + paragraph(text)


ANSWER = Answer(
    "edges",
    (edges, evidence, nodes),
    (plot_inclusion, plot_network, plot_networks, plot_evidence_network),
    section,
    methods=("evidence_table",),
)
