"""A folder of finished evidences: one line each, written as they are computed, by one process or a task a model."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.files import EVIDENCE, TASK
from ..errors import StoreError
from ..runs.lock import hold
from ..runs.sealed import LARGEST_RECORD, open_plain, seal, unseal
from .common import check_folder

if TYPE_CHECKING:
    from ..evidence.target import Evidence

_FIELDS = ("log_evidence", "standard_error", "method", "n_samples", "n_features", "parts", "status", "data_hash")


class EvidenceStore:
    """The file ``evidence.jsonl`` in a folder: a line for the request, then one for each model and method.

    Each line has the checksum of its values, and of the request.

    It is created or replaced with the first result, so that a request that is refused before leaves nothing behind and
    everything that was there.

    Parameters
    ----------
    folder : Path
    request : str
        From `bayesmrf.cli.common.checksum`; results of another request raise `StoreError`.
    seed : int or None
        None takes that of the folder if there is one, else ``fresh``.
    fresh : int
    overwrite : bool
        Whether to replace the results in the folder.
    replaced : sequence of Path
        Folders that are removed then, too.
    """

    def __init__(
        self,
        folder: Path,
        request: str,
        seed: int | None,
        fresh: int,
        overwrite: bool,
        replaced: Sequence[Path] = (),
    ):
        self.path = folder / EVIDENCE
        self.cells: dict[tuple[str, str], dict[str, Any]] = {}
        self._request, self._replaced = request, replaced
        head, whole = ({}, 0) if overwrite or not self.path.exists() else self._read()
        self._begun = bool(head)
        self.seed = fresh if seed is None else seed
        if head:
            if head["request"] != request or seed not in (None, head["seed"]):
                raise StoreError(f"--out: {self.path} contains results of other data, options or another seed; "
                                 "give another path, or --overwrite to replace it.")  # fmt: skip
            self.seed = head["seed"]
            with _written(self.path):
                os.truncate(self.path, whole)  # an incomplete line, after a kill or on a full disk

    def _read(self) -> tuple[dict[str, Any], int]:
        """Return the first line (empty if it is incomplete) and the number of bytes of complete lines."""
        try:
            with open_plain(self.path, LARGEST_RECORD) as file:
                text = file.read()
            whole = text.rfind(b"\n") + 1
            if whole == 0 and (not text or text.startswith(b'{"bayesmrf": "evidence"'[: len(text)])):
                return {}, 0
            first, *lines = text[:whole].splitlines()
            head = unseal(first)
            if (head["bayesmrf"], type(head["request"]), type(head["seed"])) != ("evidence", str, int):
                raise ValueError
        except (OSError, ValueError, LookupError, TypeError):
            raise StoreError(f"--out: {self.path} was not written by this command, or its first line is damaged; give "
                             "another path, or --overwrite to replace it.") from None  # fmt: skip
        for number, line in enumerate(lines, 2):
            try:
                cell = unseal(line, head)
                _check_cell(cell)
            except (ValueError, LookupError, TypeError, AttributeError):
                raise StoreError(f"--out: {self.path} is damaged in line {number}; remove this line, and give the same "
                                 "command again, which computes it again.") from None  # fmt: skip
            self.cells[cell["model"], cell["method"]] = cell
        return head, whole

    def add(self, model: Any, evidence: Evidence, seconds: float) -> None:
        """Append one result, as one complete line."""
        cell = {"model": str(model)} | {name: _plain(getattr(evidence, name)) for name in (*_FIELDS, "prior")}
        self.write([cell | {"seconds": round(seconds, 6)}])

    def write(self, cells: Iterable[dict[str, Any]]) -> None:
        """Append those results that are not in the file yet."""
        new = {(c["model"], c["method"]): c for c in cells if (c["model"], c["method"]) not in self.cells}
        head = {"bayesmrf": "evidence", "request": self._request, "seed": self.seed}
        lines = [seal(cell, head) for cell in new.values()]
        with _written(self.path):
            if lines and not self._begun:
                partial = self.path.with_name(f"{self.path.name}.partial")
                partial.unlink(missing_ok=True)
                _append(partial, [seal(head)])
                partial.replace(self.path)
                for folder in self._replaced:
                    shutil.rmtree(folder)
                self._begun = True
            if lines:
                _append(self.path, lines)
        self.cells |= new

    def evidence(self, model: Any, method: str) -> Evidence:
        """Return a result, without its arrays."""
        from ..evidence.target import Evidence

        cell = self.cells[str(model), method]
        values = {name: cell[name] for name in (*_FIELDS, "prior")}
        for name in ("log_evidence", "standard_error"):
            values[name] = math.nan if values[name] is None else values[name]
        values["parts"] = {k: math.nan if v is None else v for k, v in values["parts"].items()}
        return Evidence(**values)


@contextmanager
def opened(folder: Path, request: str, seed: int | None, fresh: int, overwrite: bool) -> Iterator[EvidenceStore]:
    """Open the store of a folder (see `EvidenceStore`) and lock it; results of tasks are added to it."""
    check_folder(folder)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with hold(folder, option="out"):
            joined: list[dict[str, Any]] = []
            parts = sorted(path.parent for path in folder.glob(f"{TASK}*/{EVIDENCE}"))
            for part in parts:
                with opened(part, request, seed, fresh, overwrite) as task:
                    seed, joined = task.seed, [*joined, *task.cells.values()]
            store = EvidenceStore(folder, request, seed, fresh, overwrite, parts if overwrite else ())
            store.write(joined)
            yield store
    finally:
        with suppress(OSError):  # not empty
            for path in made:
                path.rmdir()


def _append(path: Path, lines: Iterable[str]) -> None:
    """Append lines to a file, and bring them to the disk."""
    with path.open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise StoreError(f"--out: {path} cannot be written ({e.strerror}); free disk space and give the same command "
                         "again to continue, or give another path.") from e  # fmt: skip


def _check_cell(cell: dict[str, Any]) -> None:
    """Raise an error for a line that `EvidenceStore.add` did not write."""
    texts = [cell[name] for name in ("model", "method", "status", "data_hash", "prior")]
    values = [cell["log_evidence"], cell["standard_error"], *cell["parts"].values()]
    numbers = [cell["n_samples"], cell["n_features"], *(v for v in values if v is not None)]
    if not all(isinstance(v, str) for v in texts) or not all(isinstance(v, int | float) for v in numbers):
        raise TypeError


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent; None for a number that is not finite."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, str):
        return value
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and isinstance(value, int) else number
