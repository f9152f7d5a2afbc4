"""Tables on the terminal and as CSV, and the verdicts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console

from papers.shown import table
from papers.store import Record

from . import hidden_units, measures, words
from .experiments import MEASURES
from .findings import verdicts


def show(experiment: str, records: list[Record], path: Path, quick: bool) -> list[Path]:
    """Print tables and verdicts, write the tables behind them as CSV, and return their paths."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    if not records:
        console.print("There are no records yet.")
        return []
    found = MEASURES[experiment](records)
    for title, frame in tables(experiment, records, found).items():
        console.print(table(title, frame))
    for verdict in verdicts(experiment, records, quick):
        console.print(str(verdict), soft_wrap=True, markup=False)
    every = hidden_units.rows(records) if experiment == "hidden-units" else words.rows(records)
    written = []
    for suffix, frame in {"": every, "-measures": found}.items():
        written.append(path.with_name(f"{path.stem}{suffix}.csv"))
        frame.to_csv(written[-1], index=False, float_format="%.7g")
    return written


def tables(experiment: str, records: list[Record], found: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """What is printed, by its title."""
    if experiment == "hidden-units":
        if found.empty:
            return {}
        groups = found.groupby(["method", "n"])
        table = groups[[c for c in ("chosen", "within", "seconds") if c in found]].mean()
        table.insert(1, "sd", groups["chosen"].std())
        return {"Hidden units chosen, of 5": table.join(groups.size().rename("machines")).reset_index()}
    out = {}
    for name, curve in measures.curves(words.rows(records)).items():
        axis = "n" if name == measures.DOCUMENTS else "k"
        title = f"{experiment}, by {name}: "
        for measure, what in (("away", "distance from AIS, nats a document"), ("log_evidence", "log evidence")):
            wide = curve.pivot_table(index="method", columns=axis, values=measure, sort=False)
            out[f"{title}{what}, means over subsets"] = wide.reset_index()
    numbers = found.drop(columns="replicate").groupby(["curve", "method"], sort=False).mean()
    out[f"{experiment}: measures, means over subsets"] = numbers.reset_index()
    return out
