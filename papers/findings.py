"""Verdicts: each finding is a bound on a table of measures, in the paper's expected.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

NOT_JUDGED = "quick run"
Finding = Mapping[str, Any]


class Verdict(NamedTuple):
    """Whether a finding holds; None if its methods have not been run, or if the run is too small to judge it."""

    finding: str
    source: str
    holds: bool | None
    numbers: str

    def __str__(self) -> str:
        words = {True: "HOLDS", False: "FAILS", None: "NOT RUN"}
        word = "NOT JUDGED " if self.numbers == NOT_JUDGED else words[self.holds]
        return f"{word:8}[{self.source}] {self.finding}: {self.numbers}"


def as_judged(finding: Finding, quick: bool) -> Finding | None:
    """Return the finding with the bounds for this run; None for a quick run that is too small to judge it.

    A finding that a quick run can judge has an entry ``quick`` with the bounds and points that differ.
    """
    if not quick:
        return finding
    return {**finding, **finding["quick"]} if "quick" in finding else None


def means(table: pd.DataFrame, measure: str, methods: list[str], axis: str | None = None) -> pd.DataFrame:
    """Return the mean of a measure at each point of ``axis`` and for each method, over replicates with all ``methods``.

    Parameters
    ----------
    table : DataFrame
        One row per cell with a column ``method``, or one row per method; ``replicate`` may be missing.
    measure : str
    methods : list of str
    axis : str, optional
        Column of the points; by default there is one point.
    """
    rows = table if "method" in table else table.rename_axis("method").reset_index()
    if measure not in rows:
        return pd.DataFrame(columns=methods)
    rows = rows.assign(replicate=rows.get("replicate", 0), point=rows[axis] if axis else 0)
    wide = rows.pivot_table(index=["point", "replicate"], columns="method", values=measure)
    return wide.reindex(columns=methods).dropna().groupby(level="point").mean()


def evaluate(finding: Finding, table: pd.DataFrame, axis: str | None = None, quick: bool = False) -> Verdict:
    """Compare one finding with a table of measures.

    The number that must lie strictly between ``above`` and ``below``, at every point of ``axis`` (or at those of
    ``at``), is the mean of ``measure`` for the method ``of`` ("value"), its ratio to that for ``to`` ("ratio"), or
    their difference ("difference"), over the rows that agree with ``where``; or, once, Spearman's correlation of that
    value or difference with the point ("trend"). Both methods are compared over the same replicates.
    """
    name, source = finding["finding"], finding["source"]
    judged = as_judged(finding, quick)
    if judged is None:
        return Verdict(name, source, None, NOT_JUDGED)
    of, to, measure, kind = judged["of"], judged.get("to"), judged["measure"], judged["kind"]
    for column, value in judged.get("where", {}).items():
        table = table[table[column] == value]
    methods = [of] if to is None else [of, to]
    found = means(table, measure, methods, axis)
    if "at" in judged:
        found = found[found.index.isin(judged["at"])]
    if found.empty or (kind == "trend" and len(found) < 2):
        return Verdict(name, source, None, f"no rows with {' and '.join(methods)}")
    numbers = found[of]
    if to is not None:
        numbers = numbers / found[to] if kind == "ratio" else numbers - found[to]
    text = _listed(numbers) if axis else f"{numbers.item():.3g}"
    if kind == "trend":
        numbers = pd.Series([pd.Series(found.index).corr(numbers.reset_index(drop=True), method="spearman")])
        text = f"{text}; rank correlation {numbers.item():.2f}"
    elif to is not None and not axis:
        text = f"{text} ({found[of].item():.3g} against {found[to].item():.3g})"
    holds = ((numbers > judged.get("above", -np.inf)) & (numbers < judged.get("below", np.inf))).all()
    wanted = " and ".join(f"{word} {judged[word]:g}" for word in ("above", "below") if word in judged)
    word = "" if kind == "value" else f"{kind} "
    return Verdict(name, source, bool(holds), f"{measure} {word}{text}; expected {wanted}")


def _listed(numbers: pd.Series) -> str:
    if len(numbers) <= 3:
        return ", ".join(f"{value:.4g} at {point}" for point, value in numbers.items())
    return f"{numbers.min():.4g} to {numbers.max():.4g} over {len(numbers)} points"
