"""One file of JSON lines for each run: a line a cell, written as it ends, so that a killed run goes on where it was."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bayesmrf.errors import StoreError

Record = dict[str, Any]
DIGITS = 4  # significant; Monte Carlo errors are larger


class Lines:
    """A file that begins with a head, which tells runs apart, and grows by whole lines.

    A line that has no end (the process was killed while it was written) is cut off.

    Parameters
    ----------
    path : path
    head : str
        A file with another one is refused.

    Raises
    ------
    StoreError
        If the file is of a run with other settings.
    """

    def __init__(self, path: Path, head: str) -> None:
        self.path = path
        with self._written():
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text() if path.exists() else ""
            if head.startswith(text):  # there is none, or it was killed while the head was written
                path.write_text(head)
            elif not text.startswith(head):
                raise StoreError(f"{path} is of a run with other settings; give another folder with --out, or move it")
            elif not text.endswith("\n"):
                os.truncate(path, len(text[: text.rindex("\n") + 1].encode()))

    def write(self, line: str) -> None:
        """Add one line, in one call of the operating system."""
        with self._written():
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                whole = f"{line}\n".encode()
                if os.write(file, whole) < len(whole):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(file)

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise StoreError(f"{self.path} cannot be written ({e.strerror}); make room on the disk, or give another "
                             "folder with --out; the same command goes on with what is kept") from e  # fmt: skip


class Store(Lines):
    """Records on disk, behind a line with the settings: plain values."""

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        super().__init__(path, json.dumps({"settings": settings}, sort_keys=True) + "\n")

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record."""
        self.write(json.dumps(plain(record)))

    def records(self) -> list[Record]:
        """All records, in the order of their cells."""
        return read(self.path)


def read(path: Path) -> list[Record]:
    """Records of a file, in the order of their cells."""
    lines = path.read_text().splitlines()[1:]
    return sorted((json.loads(line) for line in lines), key=lambda record: tuple(record["cell"]))


def plain(value: Any) -> Any:
    """Arrays as lists, floats with `DIGITS` significant digits; what is not finite is null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value
