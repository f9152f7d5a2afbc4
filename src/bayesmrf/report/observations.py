"""Section of the report on how well persons, and their single answers, are predicted."""

from __future__ import annotations

from ..results.summary import Summary
from ..results.tables import table_of
from ..results.tables.observations import has_observations, unit_of
from .page import Section, paragraph
from .shared import listed


def observations(s: Summary) -> list[Section]:
    """Return the section, if log likelihoods of persons were added."""
    if not has_observations(s):
        return []
    shown = [table_of(s, name) for name in ("loo", "prediction")]
    return [(f"How well are {unit_of(s)} predicted?", "".join(paragraph(t.note) + listed(t) for t in shown))]
