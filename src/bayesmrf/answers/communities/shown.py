"""Tables and section of the blocks of nodes: their number, and the community of each node."""

from __future__ import annotations

from typing import Any

from ...results.bayes_factors import text_of
from ...results.summary import StructureSummary
from ...show.figures import PictureOf
from ...show.page import Section, listed, paragraph, picture
from ...show.tables import Bounded, Listing, Table, number, rest_of, table, text
from ..edges.drawn import draw_communities
from ..groups.pictures import plot_co_clustering
from ..registry import Answer

_MOST = 300  # nodes of the page


class _Signed(Bounded):
    """A column of Bayes factors, some of which are bounds for another reason than their size."""

    def cell(self, row: Any) -> str:
        """Return its text in a row."""
        return text_of(row.bayes_factor, row.bound) if row.bayes_factor == row.bayes_factor else super().cell(row)


@table("blocks", StructureSummary, lambda s: s.communities is not None)
def blocks(s: StructureSummary) -> Table:
    """Numbers of blocks, with probability, prior, and Bayes factor against one block."""
    assert s.communities is not None
    frame = s.communities.numbers
    factor = _Signed("Bayes factor", ("bayes_factor",))
    columns = (text("blocks"), number("probability"), number("error"), number("prior"), factor)
    return Table(
        "blocks",
        frame,
        columns,
        Listing("Number of blocks of nodes", frame),
        Listing("Number of blocks of nodes", frame),
        f"Communities: {s.communities.sentence}.",
        "Blocks that have a node, with the Monte Carlo error of their probability. Bayes factor: against one block; of "
        "k against l blocks it is the ratio of theirs. With < or > it is a bound: more draws may move it away from 1.",
    )


@table("communities", StructureSummary, lambda s: s.communities is not None)
def communities(s: StructureSummary) -> Table:
    """The community of each node: the partition with the least expected variation of information."""
    assert s.communities is not None
    frame = s.communities.members
    rows = frame.sort_values(["community", "probability"], ascending=[True, False], kind="stable")
    columns = (text("node"), number("community", each="{}"), number("probability"))
    few = Listing("Communities of nodes", rows.iloc[:_MOST], rest_of(len(rows), _MOST, "first nodes"), "community")
    return Table(
        "communities",
        frame,
        columns,
        few,
        few,
        note="Probability: of sharing a block with another node of the community, on average; of a node alone, of not "
        "sharing its block.",
    )


def section(s: StructureSummary) -> list[Section]:
    """Return the section, if the prior has blocks of nodes."""
    if not communities.is_in(s):
        return []
    assert s.communities is not None
    numbers, members = blocks(s), communities(s)
    caption = "Probability that two nodes share a block, in the order of communities, which are divided by lines."
    sentence = s.communities.sentence
    html = paragraph(f"{sentence[0].upper()}{sentence[1:]}.") + picture(lambda: plot_co_clustering(s), caption)
    html += paragraph(members.note) + listed(members) + paragraph(numbers.note) + listed(numbers)
    return [("Communities", html)]


ANSWER = Answer(
    "communities",
    (blocks, communities),
    figures=(PictureOf("communities", StructureSummary, draw_communities, lambda s: s.communities is not None),),
    section=section,
)
