"""Tables on the terminal and as CSV, and the verdicts."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console

from papers.shown import table
from papers.store import Record

from . import calibration, curves
from .experiments import MEASURES
from .findings import verdicts

COLUMNS = {
    "p0 learnt": ("density", "density_ratio", "cll", "precision", "recall", "f1", "cll_gain", "f1_gain", "seconds"),
    "over densities": ("peak", "peak_ratio", "sparse_loss", "dense_loss", "share_above", "best_f1", "sparse_strength",
                       "dense_strength"),
    "against exact, and mixing": ("inclusion_away", "inclusion_worst", "mean_away", "sd_ratio",
                                  "autocorrelation_time", "n_effective", "n_effective_least", "worst_z"),
}  # fmt: skip


def show(experiment: str, records: list[Record], path: Path, quick: bool) -> list[Path]:
    """Print tables and verdicts, write the tables behind them as CSV, and return their paths."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    if not records:
        console.print("There are no records yet.")
        return []
    for title, frame in tables(experiment, records).items():
        console.print(table(title, frame))
    for verdict in verdicts(experiment, records, quick):
        console.print(str(verdict), soft_wrap=True, markup=False)
    written = []
    for suffix, frame in files(experiment, records).items():
        written.append(path.with_name(f"{path.stem}{suffix}.csv"))
        frame.to_csv(written[-1], index=False, float_format="%.5g")
    return written


def files(experiment: str, records: list[Record]) -> dict[str, pd.DataFrame]:
    """What is written as CSV, by the end of its name."""
    if experiment == "calibration":
        return {"": calibration.rows(records), "-reliability": calibration.reliability(records)}
    return {"": curves.rows(records), "-measures": MEASURES[experiment](records)}


def tables(experiment: str, records: list[Record]) -> dict[str, pd.DataFrame]:
    """What is printed, by its title."""
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
