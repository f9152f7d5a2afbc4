"""A folder of finished evidences: one line each, written as they come."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError
from ..files import check_path
from .common import check_writable

if TYPE_CHECKING:
    from ..evidence.target import Evidence

_FIELDS = ("log_evidence", "standard_error", "method", "n_samples", "n_features", "parts", "status", "data_hash")


def request_of(table: Any, weights: Any, asked: dict[str, Any]) -> str:
    """Checksum of the data and of all options that results depend on."""
    import pandas as pd

    digest = hashlib.sha256(repr((sorted(asked.items()), list(table.columns))).encode())
    for part in (table, weights):
        if part is not None:
            digest.update(pd.util.hash_pandas_object(part, index=False).to_numpy().tobytes())
    return digest.hexdigest()


class EvidenceStore:
    """``evidence.jsonl`` in a folder: a line about the request, then one for each model and method.

    Parameters
    ----------
    folder : Path
    request : str
        Of `request_of`: results of another one are refused.
    seed : int or None
        None takes that of the folder, where there is one, else ``fresh``.
    fresh : int
    overwrite : bool
        Begin anew.
    """

    def __init__(self, folder: Path, request: str, seed: int | None, fresh: int, overwrite: bool):
        check_path(folder, "--out: ")
        if folder.exists() and not folder.is_dir():
            raise StoreError(f"--out: {folder} is a file, a folder is wanted; give another path")
        check_writable(folder)
        self.path = folder / "evidence.jsonl"
        self.cells: dict[tuple[str, str], dict[str, Any]] = {}
        if self.path.exists() and not overwrite:
            head, whole = self._read()
            if head.get("request") != request or seed not in (None, head.get("seed")):
                raise StoreError(f"--out: {self.path} holds results of other data, options or another seed; give "
                                 "another path, or --overwrite to replace it")  # fmt: skip
            self.seed = int(head["seed"])
            os.truncate(self.path, whole)  # a line that a kill left torn
            return
        self.seed = fresh if seed is None else seed
        folder.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps({"bayesmrf": "evidence", "request": request, "seed": self.seed}) + "\n")

    def _read(self) -> tuple[dict[str, Any], int]:
        """The first line, and how many bytes hold whole lines."""
        text = self.path.read_bytes()
        whole = text.rfind(b"\n") + 1
        try:
            head, *cells = [json.loads(line) for line in text[:whole].splitlines()]
            if head["bayesmrf"] != "evidence":
                raise ValueError
            self.cells = {(c["model"], c["method"]): c for c in cells}
        except (ValueError, KeyError, TypeError):
            raise StoreError(f"--out: {self.path} is not of this command; give another path, or --overwrite to replace "
                             "it") from None  # fmt: skip
        return head, whole

    def add(self, model: Any, found: Evidence, seconds: float) -> None:
        """Write one result, whole or not at all."""
        cell = {"model": str(model)} | {name: _plain(getattr(found, name)) for name in (*_FIELDS, "prior")}
        cell["seconds"] = round(seconds, 3)
        with self.path.open("a") as file:
            file.write(json.dumps(cell, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.cells[str(model), found.method] = cell

    def evidence(self, model: Any, method: str) -> Evidence:
        """A result, without its arrays."""
        from ..evidence.target import Evidence

        cell = self.cells[str(model), method]
        found = {name: cell[name] for name in (*_FIELDS, "prior")}
        for name in ("log_evidence", "standard_error"):
            found[name] = math.nan if found[name] is None else found[name]
        found["parts"] = {k: math.nan if v is None else v for k, v in found["parts"].items()}
        return Evidence(**found)


def _plain(value: Any) -> Any:
    """What JSON can hold; null for what is not finite."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, str):
        return value
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and isinstance(value, int) else number
