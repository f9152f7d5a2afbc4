"""Section of the report on the sensitivity to the prior of edges."""

from __future__ import annotations

from .. import plots
from ..results.summary import Summary
from ..results.tables import table_of
from ..results.tables.sensitivity import has_sensitivity
from .page import Section, paragraph, picture
from .shared import listed

_CAPTION = (
    "Above: shares of edges by their Bayes factor. Below: the Bayes factor of each edge; dotted: 10 and 1/10. Dashed: "
    "the prior of the fit. Triangles: runs, whose draws were joined; hatched: too few draws."
)


def sensitivity(s: Summary) -> list[Section]:
    """Return the section, if the sensitivity was computed."""
    if not has_sensitivity(s):
        return []
    found = table_of(s, "sensitivity")
    drawn = picture(lambda: plots.plot_sensitivity(s), _CAPTION)
    return [("Sensitivity to the prior", drawn + paragraph(found.note) + listed(found))]
