"""Sections of the report on the differences between groups."""

from __future__ import annotations

from .. import plots
from ..answers.differences.shown import nodes
from ..answers.edges.shown import CLASSES_OF_EVIDENCE, nodes_title, probable
from ..answers.registry import table_of
from ..results.median_model import ABOVE
from ..results.summary import DifferenceSummary
from ..show.page import Section, listed, paragraph, picture, section_of


def sections(summary: DifferenceSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    networks = (
        f"The network of each group, and the differences with an {ABOVE}, in one layout. Width: mean; "
        f"dashed: negative; pale: 90 % interval contains zero, or less probable. Differences: {summary.direction}."
    )
    networks += f" Last: evidence for differences. {CLASSES_OF_EVIDENCE}" if summary.evidence else ""
    return [
        ("Do the groups differ?", _overview(summary)),
        ("Networks", picture(lambda: plots.plot_networks(summary), networks)),
        ("Differences", _differences(summary)),
        ("Differences of the parameters of nodes", _bias_differences(summary)),
        *section_of(nodes, nodes_title(summary), summary),
    ]


def _overview(s: DifferenceSummary) -> str:
    text = (
        "The inclusion of a difference is the posterior probability that the groups have different weights of this "
        "edge: near 1 the data support a difference, near 0 that there is none, and in between they are inconclusive. "
        "The density is the share of the edges that differ."
    )
    caption = "Inclusion of the difference of each edge; a minus marks likely negative ones."
    return probable(s, caption, text)


def _differences(s: DifferenceSummary) -> str:
    differences = table_of(s, "differences")
    return paragraph(differences.note) + listed(differences)


def _bias_differences(s: DifferenceSummary) -> str:
    differences = table_of(s, "node-differences")
    text = f"Differences of the parameters of nodes ({s.terms.node}): {s.direction}, with 90 % intervals (from, to)"
    text += f". {differences.note}" if differences.note else ", given that the groups differ in this parameter."
    return paragraph(text) + listed(differences)
