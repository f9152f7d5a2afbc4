"""Folders of runs on disk, which stay valid if the process is killed at any moment.

What a folder contains is in its `RECORD`, which is replaced atomically: a checkpoint with its settings
(`bayesmrf.runs.checkpoint`), or results, whose arrays are in one .npz file (`bayesmrf.results.on_disk`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.files import EVIDENCE, TASK, check_path
from ..declare.option import Checked, needs, option
from ..declare.rule import FLAG, MOST_CHAINS, PATH, integer, optional
from ..errors import StoreError, argument, in_python
from .lock import is_lock
from .sealed import as_written, open_plain, parse, read_record, sync, write_record

# Of a checkpoint; estimators have no option of this name.
OVERWRITE = f"{in_python('Checkpoint(path, ')}{argument('overwrite', True)}{in_python(')')}"

FORMAT = 4
CHECKPOINT, RESULTS = "checkpoint", "results"
RECORD = "record.json"
ARRAYS = ("results.npz", "results-1.npz")  # of results, and of those that replace them, in turn
_FORMER, _FORMER_FORMATS = "zarr.json", "1 to 3"
_KEY = "bayesmrf"


@dataclass(frozen=True)
class Checkpoint(Checked):
    """Where the run of an estimator is stored.

    Parameters
    ----------
    command : tuple of str
        Command line of the run, for ``bayesmrf collect``.
    joins : bool
        Whether to judge the draws that are there, and to make no more (`bayesmrf.errors.MoreDrawsError`).
    chain
        Other processes may run others in the same folder. A call without ``chain`` continues with all chains, and has
        all draws.
    """

    path: str | os.PathLike[str] = field(metadata=needs(PATH, "Folder. A run that was stopped continues from it."))
    overwrite: bool = option(False, FLAG, "Whether to replace another run in the folder.")
    chain: int | None = option(None, optional(integer(0, MOST_CHAINS - 1)), "Run this chain alone, from 0.")
    command: tuple[str, ...] = ()
    joins: bool = False


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return a checkpoint that may be given as a path."""
    return checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)


def is_ours(path: Path) -> bool:
    """Return whether ``path`` contains a store of this package; False if nothing is there.

    Raises
    ------
    StoreError
        If ``path`` contains something that this package did not write, or in a form that it does not read any more.
    """
    check_path(path)
    if not path.exists() and not path.is_symlink():
        return False
    if not path.is_dir():
        raise StoreError(f"{path} must be a folder, but is a file; give another path.")
    try:
        names = [p.name for p in path.iterdir()]
    except OSError as e:
        raise StoreError(f"{path} cannot be read ({e.strerror}); give another path") from e
    if all(name.endswith(".partial") or is_lock(name) for name in names):
        return False
    if _has_mark(path, RECORD):
        return True
    if _FORMER in names and _has_mark(path, _FORMER, "attributes"):
        raise StoreError(f"{path} has a store format of {_FORMER_FORMATS}, which only versions before the release of "
                         "0.2.0 read; use the version that wrote it, or run again with another path")  # fmt: skip
    raise StoreError(f"{path} is not a store of bayesmrf, or its {RECORD} is damaged; it was not changed; "
                     "give another path, or remove it yourself")  # fmt: skip


def _has_mark(path: Path, name: str, *within: str) -> bool:
    """Check whether this package wrote a JSON file in a folder, whatever else the file contains."""
    try:
        with open_plain(path / name) as file:
            content = parse(file.read())
        for key in within:
            content = content[key]
        return _KEY in content
    except PermissionError as e:
        raise StoreError(f"{path} cannot be read ({e.strerror}: {name}); give another path") from e
    except (OSError, ValueError, KeyError, TypeError):
        return False


def check_single(path: Path) -> None:
    """Refuse a folder of evidences, or of the results of several methods, where one result is read."""
    check_path(path)
    evidence = (path / EVIDENCE).is_file() or any(path.glob(f"{TASK}*/{EVIDENCE}"))
    if evidence and not (path / RECORD).exists():
        raise StoreError(f"{path} has evidences of models, which no other command reads; give the same command of "
                         "bayesmrf evidence again to print them")  # fmt: skip
    inner = sorted(p.parent for p in path.glob(f"*/{RECORD}"))
    if inner and not (path / RECORD).exists():
        raise StoreError(f"{path} is not a result, but a folder of {len(inner)}; give one of them, such as {inner[0]}")


def read_kind(path: Path) -> str:
    """Return the content of a store of this package: `CHECKPOINT` or `RESULTS`."""
    with as_written(path):
        marker = read_record(path / RECORD)[_KEY]
        version, holds = marker["format"], marker["holds"]
        if type(version) is not int or holds not in (CHECKPOINT, RESULTS):
            raise ValueError
    if version != FORMAT:
        raise StoreError(f"{path} has store format {version}, which this version cannot read; use the version "
                         "that wrote it")  # fmt: skip
    return str(holds)


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of a checkpoint."""
    with as_written(path):
        return dict(read_record(path / RECORD)["settings"])


def publish(path: Path, name: str, about: Mapping[str, Any]) -> None:
    """Replace the content of ``path`` by results, whose arrays are in it as ``name``, with ".partial" behind.

    What the folder contained stays valid until the record is replaced; see `place_of_arrays`.
    """
    partial = path / f"{name}.partial"
    (path / name).unlink(missing_ok=True)  # of results before those that are replaced
    sync(path, deep=False)
    write_marker(path, RESULTS, about)
    partial.replace(path / name)
    clear(path, keep={RECORD, name})


def place_of_arrays(path: Path, name: str) -> Path:
    """Return the file of arrays that the record of ``path`` names, also if the process that wrote it was killed."""
    if name not in ARRAYS:
        raise ValueError
    partial = path / f"{name}.partial"
    return partial if partial.exists() and not (path / name).exists() else path / name


def clear(path: Path, keep: set[str] | frozenset[str] = frozenset()) -> None:
    """Remove the files of this package in ``path``, its record last; other files are not changed."""
    for p in path.iterdir():
        if p.name not in keep and (p.name in (CHECKPOINT, *ARRAYS) or p.name.endswith(".partial")):
            remove(p)
    if RECORD not in keep:
        (path / RECORD).unlink(missing_ok=True)


def write_marker(path: Path, holds: str, about: Mapping[str, Any]) -> None:
    """Replace the record of a folder, which says what it contains."""
    write_record(path / RECORD, {_KEY: {"format": FORMAT, "holds": holds}, **about})


def remove(folder: Path) -> None:
    """Remove a folder with its contents, a file or a link."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)
