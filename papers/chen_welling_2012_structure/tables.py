"""Tables on the terminal and as CSV."""

from __future__ import annotations

import pandas as pd
from rich.table import Table

from papers.shown import table
from papers.store import Record

from . import calibration, curves
from .experiments import MEASURES

COLUMNS = {
    "p0 learnt": ("density", "density_ratio", "cll", "precision", "recall", "f1", "cll_gain", "f1_gain", "seconds"),
    "over densities": ("peak", "peak_ratio", "sparse_loss", "dense_loss", "share_above", "best_f1", "sparse_strength",
                       "dense_strength"),
    "against exact, and mixing": ("inclusion_away", "inclusion_worst", "mean_away", "sd_ratio",
                                  "autocorrelation_time", "n_effective", "n_effective_least", "worst_z"),
}  # fmt: skip


def files(experiment: str, records: list[Record]) -> dict[str, pd.DataFrame]:
    """Return the tables that are written as CSV, by the end of the file name."""
    if experiment == "calibration":
        return {"": calibration.rows(records), "-reliability": calibration.reliability(records)}
    return {"": curves.rows(records), "-measures": MEASURES[experiment](records)}


def tables(experiment: str, records: list[Record]) -> list[Table]:
    """Return the tables of an experiment."""
    return [table(title, frame) for title, frame in _frames(experiment, records).items()]


def _frames(experiment: str, records: list[Record]) -> dict[str, pd.DataFrame]:
    found = MEASURES[experiment](records)
    if experiment == "calibration":
        curve = calibration.reliability(records)
        return {"False and missed edges, means over data sets": found} | ({"Reliability": curve} if len(curve) else {})
    out = {}
    groups = found.drop(columns="replicate").groupby(["n", "method"], sort=False)
    for title, columns in COLUMNS.items():
        there = [c for c in columns if c in found and found[c].notna().any()]
        if there:
            part = groups[there].mean().dropna(how="all", subset=[c for c in there if c != "seconds"])
            out[f"{experiment}: {title}, means over data sets"] = part.join(groups.size().rename("sets")).reset_index()
    return out
