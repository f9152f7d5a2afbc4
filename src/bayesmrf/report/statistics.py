"""Section of every report on the statistics of nodes and networks."""

from __future__ import annotations

from .. import plots
from ..results.statistics import has_weights
from ..results.summary import Summary
from ..results.tables import table_of
from .page import Section, paragraph, picture
from .shared import listed

_CAPTION = "Statistics of the nodes, largest first: posterior mean and 95 % interval of highest density."


def statistics(s: Summary) -> list[Section]:
    """Return the section, if each edge has a weight or a strength."""
    if not has_weights(s.tree):
        return []
    found = table_of(s, "statistics")
    html = picture(lambda: plots.plot_statistics(s)[0], _CAPTION) + paragraph(found.note) + listed(found)
    return [("Statistics of nodes and of the network", html)]
