"""One CSV file for each run: a line a cell, written as it ends, so that a run that was killed goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from papers.store import Lines


class Store(Lines):
    """Rows on disk, behind the settings (plain values) as JSON after ``#`` and the names of the columns."""

    def __init__(self, path: Path, settings: Mapping[str, Any], columns: Sequence[str]) -> None:
        super().__init__(path, f"# {json.dumps(settings, sort_keys=True)}\n{','.join(columns)}\n")
        self.columns = list(columns)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row."""
        self.write(",".join(f"{row[name]}" for name in self.columns))

    def rows(self) -> pd.DataFrame:
        """All rows, in the order of their first three columns."""
        return read(self.path)


def read(path: Path) -> pd.DataFrame:
    """Rows of a file, in the order of replicate, point and method."""
    rows = pd.read_csv(path, comment="#")
    return rows.sort_values(list(rows.columns[:3]), ignore_index=True)
