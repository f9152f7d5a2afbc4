"""Which findings hold: each is a bound on what was measured, written down in expected.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from papers.quick import NOT_JUDGED, as_judged
from papers.store import Record

from .experiments import MEASURES

EXPECTED: dict[str, list[dict[str, Any]]] = json.loads(Path(__file__).with_name("expected.json").read_text())


class Verdict(NamedTuple):
    """Whether a finding holds; None where the methods it is about have not been run, or in a run too small to tell."""

    finding: str
    source: str
    holds: bool | None
    numbers: str

    def __str__(self) -> str:
        words = {True: "HOLDS", False: "FAILS", None: "NOT RUN"}
        word = "NOT JUDGED " if self.numbers == NOT_JUDGED else words[self.holds]
        return f"{word:8}[{self.source}] {self.finding}: {self.numbers}"


def evaluate(expectation: Mapping[str, Any], table: pd.DataFrame, quick: bool = False) -> Verdict:
    """Compare one entry of expected.json with a table of measures, a row for each method (and system).

    The number that must lie strictly between ``above`` and ``below`` is the mean of ``measure`` for the method ``of``
    ("value"), its ratio to that for ``to`` ("ratio"), or their difference ("difference"), over the rows that agree with
    ``where``; both methods are compared over the same systems.
    """
    finding, source = expectation["finding"], expectation["source"]
    judged = as_judged(expectation, quick)
    if judged is None:
        return Verdict(finding, source, None, NOT_JUDGED)
    expectation = judged
    of, to, measure, kind = expectation["of"], expectation.get("to"), expectation["measure"], expectation["kind"]
    rows = table if "method" in table else table.rename_axis("method").reset_index()
    for column, value in expectation.get("where", {}).items():
        rows = rows[rows[column] == value]
    rows = rows.assign(replicate=rows.get("replicate", 0))
    methods = [of] if to is None else [of, to]
    if measure not in rows:
        values = pd.DataFrame()
    else:
        values = rows.pivot_table(index="replicate", columns="method", values=measure).reindex(columns=methods).dropna()
    if values.empty:
        return Verdict(finding, source, None, f"no rows with {' and '.join(methods)}")
    means = values.mean()
    number = float(means[of])
    text = f"{number:.3g}"
    if to is not None:
        text = f"{number:.3g} against {means[to]:.3g}"
        number = number / float(means[to]) if kind == "ratio" else number - float(means[to])
        text = f"{kind} {number:.3g} ({text})"
    holds = expectation.get("above", -np.inf) < number < expectation.get("below", np.inf)
    wanted = " and ".join(f"{word} {expectation[word]:g}" for word in ("above", "below") if word in expectation)
    return Verdict(finding, source, bool(holds), f"{measure} {text}; wanted: {wanted}")


def verdicts(experiment: str, records: list[Record], quick: bool = False) -> list[Verdict]:
    """All findings of an experiment, in the order of expected.json."""
    table = MEASURES[experiment](records)
    return [evaluate(expectation, table, quick) for expectation in EXPECTED[experiment]]
