"""Sections of the report on the differences between groups."""

from __future__ import annotations

from .. import plots
from ..summary import DifferenceSummary, rows
from .page import Section, paragraph, picture
from .shared import details, page, rest_of
from .structure import CITE, MOST_EDGES, given_existence, probable


def sections(summary: DifferenceSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    shown = (
        "the density, the slab scale, the number of edges that differ, and the parameters with the worst convergence"
    )
    networks = (
        "The network of each group, and the differences with an inclusion above 0.5, in one layout. Width: mean; "
        f"dashed: negative; pale: 90 % interval contains zero, or less probable. Differences: {summary.direction}."
    )
    parts = [
        ("Do the groups differ?", _overview(summary)),
        ("Networks", picture(lambda: plots.plot_networks(summary), networks)),
        ("Differences", _differences(summary)),
    ]
    return page(summary, parts, shown, "Number of edges that differ", CITE)


def _overview(s: DifferenceSummary) -> str:
    text = (
        "The inclusion of a difference is the posterior probability that the groups have different weights of this "
        "edge: near 1 the data support a difference, near 0 that there is none, and in between they are inconclusive. "
        "The density is the share of the edges that differ."
    )
    caption = "Inclusion of the difference of each edge; a minus marks likely negative ones."
    return probable(s, "Number of edges that differ", caption, text)


def _differences(s: DifferenceSummary) -> str:
    text = (
        f"{s.terms.meaning} A difference is {s.direction}; its mean and 90 % interval (from, to) are given that the "
        "groups differ in this edge. Bayes factors compare a difference with none, all other edges being uncertain."
    )
    found = s.differences.sort_values("inclusion", ascending=False, kind="stable")
    many = len(s.groups) > 2
    cells = [
        (
            d.first,
            d.second,
            *((d.group, d.other) if many else ()),
            f"{d.inclusion:.3f}",
            *given_existence(d, d.difference),
            f"{d.bayes_factor:.3g}",
            f"{d.bayes_factor_against:.3g}",
        )
        for d in rows(found.iloc[:MOST_EDGES])
    ]
    header = ["one end", "other end", *(["group", "other group"] if many else []), "inclusion", "difference", "from",
              "to", "Bayes factor for", "against"]  # fmt: skip
    note = rest_of(found, MOST_EDGES, "most probable")
    return paragraph(text) + note + details("Most probable first", header, cells)
