"""Which findings hold: each is a bound on what was measured, written down in expected.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from papers.murray_ghahramani_2004.findings import Verdict, evaluate
from papers.store import Record

from .experiments import MEASURES

EXPECTED: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_name("expected.json").read_text())


def verdicts(experiment: str, records: list[Record], quick: bool = False) -> list[Verdict]:
    """All findings of an experiment, in the order of expected.json."""
    table = MEASURES[experiment](records)
    return [evaluate(expectation, table, quick) for expectation in EXPECTED[experiment]]
