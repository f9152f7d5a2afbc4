"""Sections of the report on the differences between groups."""

from __future__ import annotations

from .. import plots
from ..answers.registry import table_of
from ..results.median_model import ABOVE
from ..results.summary import DifferenceSummary
from ..show.page import Section, listed, paragraph, picture
from .order import page
from .shared import table_section
from .structure import CITE, EVIDENCE, judged, nodes_title, probable


def sections(summary: DifferenceSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    networks = (
        f"The network of each group, and the differences with an {ABOVE}, in one layout. Width: mean; "
        f"dashed: negative; pale: 90 % interval contains zero, or less probable. Differences: {summary.direction}."
    )
    networks += f" Last: evidence for differences. {EVIDENCE}" if summary.evidence else ""
    parts = [
        ("Do the groups differ?", _overview(summary)),
        ("Networks", picture(lambda: plots.plot_networks(summary), networks)),
        ("Differences", _differences(summary)),
        ("Differences of the parameters of nodes", _bias_differences(summary)),
        *table_section(summary, "nodes", nodes_title(summary)),
    ]
    return page(summary, parts, judged(summary, "the number of edges that differ"), "Number of edges that differ", CITE)


def _overview(s: DifferenceSummary) -> str:
    text = (
        "The inclusion of a difference is the posterior probability that the groups have different weights of this "
        "edge: near 1 the data support a difference, near 0 that there is none, and in between they are inconclusive. "
        "The density is the share of the edges that differ."
    )
    caption = "Inclusion of the difference of each edge; a minus marks likely negative ones."
    return probable(s, "Number of edges that differ", caption, text)


def _differences(s: DifferenceSummary) -> str:
    differences = table_of(s, "differences")
    return paragraph(differences.note) + listed(differences)


def _bias_differences(s: DifferenceSummary) -> str:
    differences = table_of(s, "node-differences")
    text = f"Differences of the parameters of nodes ({s.terms.node}): {s.direction}, with 90 % intervals (from, to)"
    text += f". {differences.note}" if differences.note else ", given that the groups differ in this parameter."
    return paragraph(text) + listed(differences)
