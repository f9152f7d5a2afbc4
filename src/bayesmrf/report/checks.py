"""Section of every report on the posterior predictive checks."""

from __future__ import annotations

from .. import plots
from ..results.predictive_checks import GROUP
from ..results.summary import Summary
from ..results.tables import table_of
from .page import Section, paragraph, picture
from .shared import listed

_CAPTION = (
    "Each mark is a statistic of the data, less what the posterior expects; the shaded area is its 95 % interval, "
    "which one of twenty leaves by chance. Filled marks are outside after adjustment for the number of all checks."
)


def checks(s: Summary) -> list[Section]:
    """Return the section on whether the model predicts the data, if the run was checked."""
    if GROUP not in s.tree.children:
        return []
    found = table_of(s, "checks")
    told = [paragraph(sentence, "verdict fair") for sentence in found.lead.splitlines()]
    said = "".join(told) or paragraph("No check is outside.", "verdict good")
    drawn = picture(lambda: plots.plot_checks(s), _CAPTION)
    return [("Does the model fit?", said + drawn + paragraph(found.note) + listed(found))]
