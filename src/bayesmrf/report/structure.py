"""Sections of the report on a posterior over which edges exist."""

from __future__ import annotations

from .. import plots
from ..summary import InclusionSummary, StructureSummary, rows
from .page import Section, paragraph, picture, table
from .shared import convergence, missing, run_again, what_was_run

MOST_EDGES = 500  # rows of the table of edges
CITE = (
    "Y. Chen and M. Welling, Bayesian Structure Learning for Markov Random Fields with a Spike and Slab Prior, "
    "Uncertainty in Artificial Intelligence (2012)"
)


def sections(summary: StructureSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    shown = "the density, the slab scale, the number of edges, and the parameters with the worst convergence"
    named = [
        ("What was run", what_was_run(summary, summary.method_sentence)),
        ("Which edges exist", inclusion(summary, "and the slab scale is the scale of the prior of their weights")),
        ("Network", _network(summary)),
        ("Edges", _edges(summary)),
    ]
    if len(summary.missing_table):
        named.append(("Missing values", missing(summary)))
    return [
        *named,
        ("Have the chains converged?", convergence(summary, shown, "Number of edges")),
        ("Reproduce and cite", run_again(summary, CITE)),
    ]


def inclusion(s: InclusionSummary, also: str = "") -> str:
    """Return the number of edges, density, and inclusion of each edge; ``also`` explains other quantities."""
    text = (
        "The inclusion of an edge is the posterior probability that it exists: near 1 the data support the edge, near "
        "0 its absence, and in between they are inconclusive. The density is the share of the candidates that exist"
        f"{', ' if also else ''}{also}."
    )
    shown = picture(
        lambda: plots.plot_inclusion(s), "Inclusion of each edge; nodes that share edges are next to each other."
    )
    return (
        paragraph(f"Number of edges: {s.n_edges_sentence}.")
        + paragraph(f"{s.density_sentence}.")
        + shown
        + paragraph(text)
    )


def _network(s: StructureSummary) -> str:
    return picture(
        lambda: plots.plot_network(s),
        "Edges with an inclusion above 0.5. Width: mean weight where the edge exists; dashed: negative; pale: less "
        "probable.",
    )


def _edges(s: StructureSummary) -> str:
    of = f"The mean of a {s.terms.edge} and its 90 % interval (from, to) are those where the edge exists."
    text = f"{s.terms.meaning} {of}"
    found, note = s.edge_table.sort_values("inclusion", ascending=False, kind="stable"), ""
    if len(found) > MOST_EDGES:
        note = paragraph(
            f"The {MOST_EDGES} most probable edges are listed; the result contains the other "
            f"{len(found) - MOST_EDGES:,}."
        )
    cells = [
        (
            e.first,
            e.second,
            f"{e.inclusion:.3f}",
            *(f"{v:.3f}" if e.inclusion else "–" for v in (e.weight, e.lower, e.upper)),
        )
        for e in rows(found.iloc[:MOST_EDGES])
    ]
    header = ["one end", "other end", "inclusion", "weight", "from", "to"]
    listed = table(header, cells, sortable=True)
    return f"{paragraph(text)}{note}<details open><summary>Candidates, most probable first</summary>{listed}</details>"
