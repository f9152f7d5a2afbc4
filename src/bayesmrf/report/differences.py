"""Sections of the report on the differences between groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import plots
from ..summary import DifferenceSummary
from .page import Section, paragraph, picture
from .shared import details, page, rest_of
from .structure import CITE, MOST_EDGES, probable

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = {
    "inclusion": "inclusion",
    "difference": "difference",
    "lower": "from",
    "upper": "to",
    "bayes_factor": "Bayes factor for",
    "bayes_factor_against": "against",
    "edge_inclusion": "edge exists",
}


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
        ("Differences of the parameters of nodes", _bias_differences(summary)),
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
    if s.may_be_absent:
        text += (
            " An edge exists, in all groups, if it has a baseline or the groups differ in it; the last column is the "
            "probability of this."
        )
    found = s.differences.sort_values("inclusion", ascending=False, kind="stable")
    return paragraph(text) + _listed(s, found, {"first": "one end", "second": "other end"})


def _bias_differences(s: DifferenceSummary) -> str:
    text = f"Differences of the parameters of nodes ({s.terms.node}): {s.direction}, with 90 % intervals (from, to)"
    if "inclusion" in s.bias_differences:
        text += ", given that the groups differ in this parameter."
    else:
        text += ". They always differ, so that there is no inclusion."
    return paragraph(text) + _listed(s, s.bias_differences, {"parameter": "parameter"})


def _listed(s: DifferenceSummary, found: pd.DataFrame, header: dict[str, str]) -> str:
    """Return a table of differences; ``header`` has the heads of its first columns."""
    uncertain = "inclusion" in found
    if len(s.groups) > 2:
        header |= {"group": "group", "other": "other group"}
    names = list(header)
    header |= {name: title for name, title in _COLUMNS.items() if name in found}
    styles = dict.fromkeys(header, "{:.3f}") | dict.fromkeys(("bayes_factor", "bayes_factor_against"), "{:.3g}")
    styles |= dict.fromkeys(names, "{}")
    cells = [
        ["–" if value != value else styles[c].format(value) for c, value in zip(header, row, strict=True)]
        for row in found[list(header)].iloc[:MOST_EDGES].itertuples(index=False)
    ]
    first = "most probable" if uncertain else "largest"
    note = rest_of(found, MOST_EDGES, first)
    return note + details(f"{first.capitalize()} first", list(header.values()), cells)
