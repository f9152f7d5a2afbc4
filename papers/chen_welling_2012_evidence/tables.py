"""Tables on the terminal and as CSV."""

from __future__ import annotations

import pandas as pd
from rich.table import Table

from papers.shown import table
from papers.store import Record

from . import hidden_units, measures, words
from .experiments import MEASURES


def files(experiment: str, records: list[Record]) -> dict[str, pd.DataFrame]:
    """Return the tables that are written as CSV, by the end of the file name."""
    every = hidden_units.rows(records) if experiment == "hidden-units" else words.rows(records)
    return {"": every, "-measures": MEASURES[experiment](records)}


def tables(experiment: str, records: list[Record]) -> list[Table]:
    """Return the tables of an experiment."""
    return [table(title, frame) for title, frame in _frames(experiment, records).items()]


def _frames(experiment: str, records: list[Record]) -> dict[str, pd.DataFrame]:
    found = MEASURES[experiment](records)
    if experiment == "hidden-units":
        if found.empty:
            return {}
        groups = found.groupby(["method", "n"])
        means = groups[[c for c in ("chosen", "within", "seconds") if c in found]].mean()
        means.insert(1, "sd", groups["chosen"].std())
        return {"Hidden units chosen, of 5": means.join(groups.size().rename("machines")).reset_index()}
    out = {}
    for name, curve in measures.curves(words.rows(records)).items():
        axis = "n" if name == measures.DOCUMENTS else "k"
        title = f"{experiment}, by {name}: "
        away = curve.pivot_table(index="method", columns=axis, values="away", sort=False)
        out[f"{title}distance from AIS, nats a document, means over subsets"] = away.reset_index()
        first = curve[curve["replicate"] == 0]  # with all methods
        log_evidence = first.pivot_table(index="method", columns=axis, values="log_evidence", sort=False)
        out[f"{title}log evidence of the first subset"] = log_evidence.reset_index()
    numbers = found.drop(columns="replicate").groupby(["curve", "method"], sort=False).mean()
    out[f"{experiment}: measures, means over subsets"] = numbers.reset_index()
    return out
