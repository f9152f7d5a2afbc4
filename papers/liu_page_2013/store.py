"""One CSV file for each run: a line a cell, written as it ends, so that a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bayesmrf.errors import StoreError


class Store:
    """Rows on disk.

    The first line holds the settings as JSON behind ``#``, the second the names of the columns. A line that has no end
    (the process was killed while it was written) is cut off.

    Parameters
    ----------
    path : path
    settings : mapping
        Plain values. A file with others is refused.
    columns : sequence of str

    Raises
    ------
    StoreError
        If the file is of a run with other settings.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], columns: Sequence[str]) -> None:
        self.path, self.columns = path, list(columns)
        head = f"# {json.dumps(settings, sort_keys=True)}\n{','.join(columns)}\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if path.exists() else ""
        if head.startswith(text):  # there is none, or it was killed while the head was written
            path.write_text(head)
        elif not text.startswith(head):
            raise StoreError(f"{path} is of a run with other settings; give another folder with --out, or move it")
        elif not text.endswith("\n"):
            os.truncate(path, len(text[: text.rindex("\n") + 1].encode()))

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one line, in one call of the operating system."""
        line = ",".join(f"{row[name]}" for name in self.columns) + "\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)

    def rows(self) -> pd.DataFrame:
        """All rows, in the order of their first three columns."""
        return read(self.path)


def read(path: Path) -> pd.DataFrame:
    """Rows of a file, in the order of replicate, point and method."""
    rows = pd.read_csv(path, comment="#")
    return rows.sort_values(list(rows.columns[:3]), ignore_index=True)
