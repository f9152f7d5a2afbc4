"""Tables on the terminal, and figures in files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure
from rich.table import Table

from .store import Record

STYLE = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}
Makers = Mapping[str, Callable[[list[Record]], Figure | None]]


def draw(makers: Makers, records: list[Record], folder: Path, name: str) -> list[Path]:
    """Write the figures for which there are records, named by ``name`` and their suffix; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with mpl.rc_context(STYLE):
        for suffix, make in makers.items() if records else ():
            figure = make(records)
            if figure is not None:
                paths.append(folder / f"{name}{suffix}.png")
                figure.savefig(paths[-1], dpi=110)
    return paths


def table(title: str, frame: pd.DataFrame) -> Table:
    """Format a frame for the terminal: text to the left, numbers to the right with three digits, nothing for NaN."""
    found = Table(title=title)
    for name in frame.columns:
        found.add_column(str(name), justify="left" if frame[name].dtype == object else "right")
    for row in frame.itertuples(index=False):
        found.add_row(*(_format(v) for v in row))
    return found


def _format(value: object) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)
