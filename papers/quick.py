"""Findings in a quick run (``--quick``), which is smaller than what the bounds of a full run are made for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOT_JUDGED = "quick run"


def as_judged(expectation: Mapping[str, Any], quick: bool) -> Mapping[str, Any] | None:
    """The expectation with the bounds for this run; None for a quick run that is too small to judge it.

    A finding that a quick run can carry has an entry ``quick`` with the bounds and points that differ there.
    """
    if not quick:
        return expectation
    return {**expectation, **expectation["quick"]} if "quick" in expectation else None
