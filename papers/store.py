"""One file of JSON lines per run: one line per cell, written when the cell ends, so that a killed run continues."""

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


class Store:
    """Records on disk, after a first line with the settings that identify the run.

    An incomplete last line, from a killed process, is cut off.

    Parameters
    ----------
    path : path
    settings : mapping
        Plain values. A file with other settings raises `StoreError`.
    digits : int, optional
        Significant digits of the floats; None keeps all.

    Raises
    ------
    StoreError
        If the file belongs to a run with other settings, or cannot be written.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any], digits: int | None = DIGITS) -> None:
        self.path, self.digits = path, digits
        head = json.dumps({"settings": settings}, sort_keys=True) + "\n"
        with self._written():
            path.parent.mkdir(parents=True, exist_ok=True)
            text = path.read_text() if path.exists() else ""
            if head.startswith(text):  # no file, or a process killed while it wrote the head
                path.write_text(head)
            elif not text.startswith(head):
                raise StoreError(f"{path} is of a run with other settings; give another folder with --out, or move it")
            elif not text.endswith("\n"):
                os.truncate(path, len(text[: text.rindex("\n") + 1].encode()))

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record, in one call of the operating system."""
        line = f"{json.dumps(plain(record, self.digits))}\n".encode()
        with self._written():
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
            try:
                if os.write(file, line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            finally:
                os.close(file)

    def records(self) -> list[Record]:
        """Return all records, in the order of their cells."""
        return read(self.path)

    @contextmanager
    def _written(self) -> Iterator[None]:
        try:
            yield
        except OSError as e:
            raise StoreError(f"{self.path} cannot be written ({e.strerror}); free disk space, or give another "
                             "folder with --out; the same command continues from the records kept") from e  # fmt: skip


def read(path: Path) -> list[Record]:
    """Read the records of a file, in the order of their cells."""
    lines = path.read_text().splitlines()[1:]
    return sorted((json.loads(line) for line in lines), key=lambda record: tuple(record["cell"]))


def plain(value: Any, digits: int | None = DIGITS) -> Any:
    """Convert arrays to lists, floats to ``digits`` significant digits, and values that are not finite to None."""
    if isinstance(value, Mapping):
        return {str(k): plain(v, digits) for k, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v, digits) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        if not np.isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    return value
