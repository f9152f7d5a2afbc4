"""Which of the paper's findings hold: each is a bound on means over replicates, written down in expected.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from papers.quick import NOT_JUDGED, as_judged

EXPECTED: dict[str, Any] = json.loads(Path(__file__).with_name("expected.json").read_text())


class Verdict(NamedTuple):
    """Whether a finding holds; None where the methods it is about have not been run, or in a run too small to tell."""

    finding: str
    holds: bool | None
    numbers: str

    def __str__(self) -> str:
        words = {True: "HOLDS", False: "FAILS", None: "NOT RUN"}
        word = "NOT JUDGED " if self.numbers == NOT_JUDGED else words[self.holds]
        return f"{word:8}{self.finding}: {self.numbers}"


def means(rows: pd.DataFrame, measure: str, methods: Sequence[str]) -> pd.DataFrame:
    """Mean of a measure at each point, a column for each method, over the replicates that have all of ``methods``."""
    axis = rows.columns[1]
    table = rows.pivot_table(index=[axis, "replicate"], columns="method", values=measure).reindex(columns=list(methods))
    return table.dropna().groupby(level=axis).mean()


def evaluate(expectation: Mapping[str, Any], rows: pd.DataFrame, quick: bool = False) -> Verdict:
    """Compare what was found with one entry of expected.json.

    The entry's ``kind`` says which number must lie strictly between ``above`` and ``below``: at every point (or those
    of ``at``) the mean of ``measure`` for the method ``of`` ("value"), its ratio to that of the method ``to`` ("ratio")
    or their difference ("difference"); or, once, Spearman's correlation of that value or difference with the point
    ("trend"). Both methods are compared over the same replicates.
    """
    judged = as_judged(expectation, quick)
    if judged is None:
        return Verdict(expectation["finding"], None, NOT_JUDGED)
    expectation = judged
    of, to, measure, kind = expectation["of"], expectation.get("to"), expectation["measure"], expectation["kind"]
    table = means(rows, measure, [of] if to is None else [of, to])
    if "at" in expectation:
        table = table[table.index.isin(expectation["at"])]
    if table.empty or (kind == "trend" and len(table) < 2):
        return Verdict(expectation["finding"], None, f"no rows with {' and '.join(filter(None, (of, to)))}")
    numbers = table[of]
    if to is not None:
        numbers = numbers / table[to] if kind == "ratio" else numbers - table[to]
    if kind == "trend":
        rank = pd.Series(table.index).corr(numbers.reset_index(drop=True), method="spearman")
        ends = f"{numbers.iloc[0]:.4g} at {table.index[0]}, {numbers.iloc[-1]:.4g} at {table.index[-1]}"
        numbers, text = pd.Series([rank]), f"{ends}; rank correlation {rank:.2f}"
    else:
        listed = ", ".join(f"{value:.4g} at {point}" for point, value in numbers.items())
        text = listed if len(numbers) <= 3 else f"{numbers.min():.4g} to {numbers.max():.4g} over {len(numbers)} points"
    low, high = expectation.get("above", -np.inf), expectation.get("below", np.inf)
    holds = bool(((numbers > low) & (numbers < high)).all())
    wanted = " and ".join(f"{word} {expectation[word]:g}" for word in ("above", "below") if word in expectation)
    return Verdict(expectation["finding"], holds, f"{kind} of {measure} {text} (wanted: {wanted})")


def verdicts(experiment: str, rows: pd.DataFrame, quick: bool = False) -> list[Verdict]:
    """All findings of an experiment, in the order of expected.json."""
    return [evaluate(expectation, rows, quick) for expectation in EXPECTED[experiment]["findings"]]
