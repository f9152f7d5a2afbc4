"""Section of reports on the structures that were visited."""

from __future__ import annotations

from ..results.summary import InclusionSummary, Summary
from ..results.tables import table_of
from .page import Section, paragraph
from .shared import listed


def structures(s: Summary) -> list[Section]:
    """Return the section, if edges (or their differences) may be absent."""
    if not (isinstance(s, InclusionSummary) and s.spike):
        return []
    found = table_of(s, "structures")
    return [("Structures", paragraph(found.note) + (listed(found) if found.wide else ""))]
