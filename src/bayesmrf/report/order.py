"""The sections of every report, in their order."""

from __future__ import annotations

from collections.abc import Sequence

from ..answers.registry import sections
from ..results.summary import Summary
from ..show.page import Section
from .shared import convergence, run_again, table_section, verdict, what_was_run


def page(s: Summary, parts: Sequence[Section], judged: str, traced: str, cite: str) -> list[Section]:
    """Return the sections of a report: the answer below the findings, other results, how they were computed.

    Answers that were missing come last.

    Parameters
    ----------
    s : Summary
    parts : sequence of Section
        Those of a kind of posterior, the answer first.
    judged : str
        Quantities whose convergence is shown.
    traced : str
        The quantity whose trace is plotted.
    cite : str
        Source of the method.
    """
    (title, answer), *others = parts
    return [
        (title, verdict(s) + answer),
        *others,
        *sections(s),
        *table_section(s, "columns", "Wording and levels of the items"),
        ("What was run", what_was_run(s)),
        ("Have the chains converged?", convergence(s, judged, traced)),
        ("Reproduce and cite", run_again(s, cite)),
        *table_section(s, "missing", "Missing values"),
    ]
