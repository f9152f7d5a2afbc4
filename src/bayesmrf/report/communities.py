"""Section of the report on communities of nodes."""

from __future__ import annotations

from .. import plots
from ..results.summary import StructureSummary
from ..results.tables import table_of
from .page import Section, paragraph, picture
from .shared import listed


def communities(s: StructureSummary) -> list[Section]:
    """Return the section, if the prior has blocks of nodes."""
    if s.communities is None:
        return []
    numbers, members = table_of(s, "blocks"), table_of(s, "communities")
    caption = "Probability that two nodes share a block, in the order of communities, which are divided by lines."
    sentence = s.communities.sentence
    text = paragraph(f"{sentence[0].upper()}{sentence[1:]}.") + picture(lambda: plots.plot_co_clustering(s), caption)
    text += paragraph(members.note) + listed(members) + paragraph(numbers.note) + listed(numbers)
    return [("Communities", text)]
