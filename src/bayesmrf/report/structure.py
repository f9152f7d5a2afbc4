"""Sections of the report on a posterior over which edges exist."""

from __future__ import annotations

from typing import Any

from .. import plots
from ..summary import InclusionSummary, StructureSummary, rows
from .page import Section, paragraph, picture
from .shared import details, page, rest_of

MOST_EDGES = 500  # rows of the table of edges
_NETWORK = (
    "Edges with an inclusion above 0.5. Width: mean weight where the edge exists; dashed: negative; pale: less "
    "probable."
)
CITE = (
    "Y. Chen and M. Welling, Bayesian Structure Learning for Markov Random Fields with a Spike and Slab Prior, "
    "Uncertainty in Artificial Intelligence (2012)"
)


def sections(summary: StructureSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    shown = "the density, the slab scale, the number of edges, and the parameters with the worst convergence"
    parts = [
        ("Which edges exist", inclusion(summary, "and the slab scale is the scale of the prior of their weights")),
        ("Network", picture(lambda: plots.plot_network(summary), _NETWORK)),
        ("Edges", _edges(summary)),
    ]
    return page(summary, parts, shown, "Number of edges", CITE)


def inclusion(s: InclusionSummary, also: str = "") -> str:
    """Return the number of edges, density, and inclusion of each edge; ``also`` explains other quantities."""
    text = (
        "The inclusion of an edge is the posterior probability that it exists: near 1 the data support the edge, near "
        "0 its absence, and in between they are inconclusive. The density is the share of the candidates that exist"
        f"{', ' if also else ''}{also}."
    )
    return probable(
        s, "Number of edges", "Inclusion of each edge; nodes that share edges are next to each other.", text
    )


def probable(s: InclusionSummary, number: str, caption: str, text: str) -> str:
    """Return the number of edges, the density, and the plot of inclusions, with an explanation."""
    numbers = paragraph(f"{number}: {s.n_edges_sentence}.") + paragraph(f"{s.density_sentence}.")
    return numbers + picture(lambda: plots.plot_inclusion(s), caption) + paragraph(text)


def given_existence(edge: Any, mean: float) -> list[str]:
    """Return the mean and the interval of an edge, which are known if it ever existed."""
    return [f"{v:.3f}" if edge.inclusion else "–" for v in (mean, edge.lower, edge.upper)]


def _edges(s: StructureSummary) -> str:
    of = f"The mean of a {s.terms.edge} and its 90 % interval (from, to) are those where the edge exists."
    text = f"{s.terms.meaning} {of}"
    found = s.edge_table.sort_values("inclusion", ascending=False, kind="stable")
    cells = [
        (e.first, e.second, f"{e.inclusion:.3f}", *given_existence(e, e.weight)) for e in rows(found.iloc[:MOST_EDGES])
    ]
    header = ["one end", "other end", "inclusion", "weight", "from", "to"]
    note = rest_of(found, MOST_EDGES, "most probable edges")
    return paragraph(text) + note + details("Candidates, most probable first", header, cells)
