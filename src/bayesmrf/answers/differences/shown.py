"""Tables and sections of a posterior over the differences between groups of people."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from ...results.median_model import ABOVE
from ...results.summary import DifferenceSummary
from ...show.figures import PictureOf
from ...show.page import Section, as_figure, listed, paragraph, picture, section_of
from ...show.tables import ENDS, EVIDENCE, Column, Table, at_most, first_rows, interval, marked, number, table, text
from ..edges import forest
from ..edges.networks import plot_networks
from ..edges.shown import (
    CLASSES_OF_DIFFERENCES,
    MOST_EDGES,
    OF_DIFFERENCE,
    counted,
    nodes_of,
    nodes_title,
    numbers,
    probable,
)
from ..registry import Answer

_MOST_DIFFERENCES, _MOST_NODES = 20, 10  # rows of the terminal
_OVERVIEW = (
    "The inclusion of a difference is the posterior probability that the groups have different weights of this edge: "
    "near 1 the data support a difference, near 0 that there is none. The density "
    "is the share of the edges that differ."
)
_CAPTION = "Inclusion of the difference of each edge; a minus marks likely negative ones."
_PAIR = Column("groups", ("group", "other"), "{}", "{1} − {0}", ("group", "other group"))


@table("differences", DifferenceSummary)
def differences(s: DifferenceSummary) -> Table:
    """Differences of all edges, the most probable first: a row for each edge and each pair of groups."""
    frame = s.differences.sort_values("inclusion", ascending=False, kind="stable", ignore_index=True)
    exists = " Exists: probability that the edge exists, in all groups." if s.may_be_absent else ""
    factor = OF_DIFFERENCE if s.evidence else ""
    where = "; pages and `est.table` have its" if factor else ", with its"
    return _differences(
        s, "differences", "edge", frame, _MOST_DIFFERENCES, ENDS,
        counted(s),
        f"Inclusion: probability that the groups differ in this edge. {factor}Difference: {s.direction}, given "
        f"that they differ{where} {interval(s).head}.{exists} {s.terms.meaning}",
    )  # fmt: skip


@table("node-differences", DifferenceSummary)
def node_differences(s: DifferenceSummary) -> Table:
    """Differences of all parameters of nodes, the most probable first, or the largest."""
    frame, node = s.bias_differences.reset_index(drop=True), s.terms.node
    note = "" if "inclusion" in frame else "They always differ, so that there is no inclusion."
    return _differences(s, "node-differences", node, frame, _MOST_NODES, text("parameter"), "", note)


def _differences(
    s: DifferenceSummary,
    name: str,
    noun: str,
    frame: pd.DataFrame,
    most: int,
    item: Column,
    lead: str,
    note: str,
) -> Table:
    uncertain = "inclusion" in frame
    columns = [item, *([_PAIR] if len(s.groups) > 2 else []), *([marked("inclusion")] if uncertain else [])]
    # On a terminal names of edges and words of evidence need the room of intervals.
    columns += [marked("difference"), replace(interval(s), is_narrow="evidence" not in frame)]
    columns += EVIDENCE if "evidence" in frame else []
    columns += [number("edge_inclusion", "exists", wide="edge exists")] if "edge_inclusion" in frame else []
    first, most = "most probable" if uncertain else "largest", at_most(most, len(frame))
    more = f"Not listed: {len(frame) - most:,} {'less probable' if uncertain else 'smaller'}."
    return Table(
        name,
        frame,
        tuple(columns),
        first_rows(f"Differences ({noun}), {first} first", frame, most, rest=more if len(frame) > most else ""),
        first_rows(f"{first.capitalize()} first", frame, MOST_EDGES, first),
        lead,
        note,
    )


@table("edges", DifferenceSummary)
def edges(s: DifferenceSummary) -> Table:
    """Weights of all edges in each group."""
    exists = [number("inclusion", "exists")] if s.may_be_absent else []
    note = (
        "Exists: probability that the edge exists, in all groups. Weight: mean where the edge exists, with its "
        f"{interval(s).head}."
    )
    return Table(
        "edges",
        s.weight_table,
        (ENDS, *exists, text("group"), number("weight"), interval(s)),
        note=note if s.may_be_absent else "",
    )


@table("nodes", DifferenceSummary)
def nodes(s: DifferenceSummary) -> Table:
    """Parameters of nodes in each group."""
    return nodes_of(s, s.node_table, (text("node", s.terms.node), text("group"), number("mean"), interval(s)))


def section(s: DifferenceSummary) -> list[Section]:
    """Return the sections of the page on differences."""
    if not differences.is_in(s):
        return []
    table = differences(s)
    networks = (
        f"The network of each group, and the differences with an {ABOVE}, in one layout. Width: mean; "
        f"dashed: negative; pale: 90 % interval contains zero, or less probable. Differences: {s.direction}."
    )
    networks += f" Last: evidence for differences. {CLASSES_OF_DIFFERENCES}" if s.evidence else ""
    return [
        ("Do the groups differ?", numbers(s) + as_figure(picture(lambda: plot_networks(s), networks))),
        ("Probability of each difference", probable(s, _CAPTION, _OVERVIEW)),
        ("Differences", paragraph(table.note) + listed(table)),
        ("Differences of the parameters of nodes", _bias_differences(s)),
        *section_of(nodes, nodes_title(s), s),
    ]


def _bias_differences(s: DifferenceSummary) -> str:
    table = node_differences(s)
    text = f"Differences of the parameters of nodes ({s.terms.node}): {s.direction}, with 90 % intervals (from, to)"
    text += f". {table.note}" if table.note else ", given that the groups differ in this parameter."
    return paragraph(text) + listed(table)


ANSWER = Answer(
    "differences",
    (differences, node_differences, edges, nodes),
    figures=(PictureOf("differences", DifferenceSummary, forest.draw_differences),),
    section=section,
    methods=("compare",),
)
