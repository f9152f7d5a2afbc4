"""Tables on the terminal."""

from __future__ import annotations

import pandas as pd
from rich.table import Table

from papers.shown import table
from papers.store import Record

from . import coronary
from .experiments import MEASURES

TITLES = {
    "coronary": "Six risk factors of 1,841 men: each method against exact Metropolis",
    "artificial": "Random Boltzmann machines: posterior against truth",
    "labels": "Labels on points: where sigma lies",
    "labels-chains": "Labels on sparse chains of points: where sigma lies",
    "coverage": "Small models on sparse graphs: sds against exact, and coverage of 95 % intervals",
    "coverage-complete": "Small models on complete graphs: sds against exact, and coverage of 95 % intervals",
}


def tables(experiment: str, records: list[Record]) -> list[Table | str]:
    """Return the tables and notes of an experiment."""
    found = [table(title, _flat(frame)) for title, frame in _frames(experiment, records).items()]
    return [*found, *notes(experiment, records)]


def _frames(experiment: str, records: list[Record]) -> dict[str, pd.DataFrame]:
    found = MEASURES[experiment](records)
    if experiment == "artificial" and len(found):
        counts = found.groupby(["edges", "scale", "method"]).size().rename("systems")
        found = found.drop(columns="replicate").groupby(["edges", "scale", "method"]).mean()
        found = found.join(counts)
    out = {TITLES[experiment]: found}
    if experiment == "coronary":
        away = coronary.distances(records)
        for column, title in (("distance", "(mean - exact mean) / exact sd"), ("sd_ratio", "sd / exact sd")):
            if len(away):
                out[f"Parameters: {title}"] = away[column].unstack("method", sort=False)
    return out


def notes(experiment: str, records: list[Record]) -> list[str]:
    """Describe how the data of each artificial system were drawn, and which posteriors were omitted."""
    if experiment != "artificial":
        return []
    lines: dict[object, str] = {}
    for r in records:
        replicate, n_edges, scale, method = r["cell"]
        place = f"system {replicate}, {n_edges} edges, scale {scale:g}"
        lines[place] = f"{place}: width {r['width']} ({r['entries']:.2g} table entries); data by {r['data']}"
        if "skipped" in r:
            lines[place, method] = f"{place}: no {method} posterior, {r['skipped']}"
    return list(lines.values())


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.reset_index(names=None if isinstance(frame.index, pd.MultiIndex) else frame.index.name or "method")
