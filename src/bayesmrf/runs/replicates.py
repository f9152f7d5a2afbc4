"""Studies of many simulated data sets: one small file each, so that a study that was stopped goes on.

A file has the checksum of its result, of its name and of the settings of the study, so that none is taken for another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from os import PathLike
from pathlib import Path
from typing import Any

from joblib import cpu_count
from joblib.externals.loky import get_reusable_executor

from ..errors import StoreError, argument
from .identity import checksum
from .independent import run_each
from .sealed import read_record, write_record

_STUDY, _FOLDER = "study.json", "replicates"


class Processes(Executor):
    """Processes of this machine, which start again after one was killed."""

    def __init__(self, n: int) -> None:
        self.n = n

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a call in one of them."""
        return get_reusable_executor(self.n).submit(function, *args, **kwargs)


def replicates(
    function: Callable[[Any], dict[str, Any]],
    items: Mapping[str, Any],
    settings: dict[str, Any],
    text: str,
    *,
    folder: str | PathLike[str] | None = None,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool = True,
) -> list[dict[str, Any]]:
    """Call a function for each item, and return the results, which are stored as they come.

    Parameters
    ----------
    function : callable
        Its result is written as JSON, and depends on the item alone.
    items : mapping
        The items by name: letters, digits and dashes.
    settings : dict
        What all items of a study have in common: plain values.
    text : str
        Before the line of progress.
    folder : path, optional
        Where results are kept. Those that are there are not computed again; a study of other settings is refused.
    n_jobs : int, optional
        Processes; one for each core by default, and 1 is this one.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Workers instead of ``n_jobs``.
    progress : bool

    Raises
    ------
    StoreError
        If the folder contains another study, a damaged file, or cannot be written.
    """
    settings = json.loads(json.dumps(settings))
    place, study = None if folder is None else _opened(Path(folder), settings), checksum(settings)
    stored = {name: None if place is None else _read(place / f"{name}.json", study, name) for name in items}
    known = {name: value for name, value in stored.items() if value is not None}
    todo = [name for name in items if name not in known]
    n_jobs = min(cpu_count() if n_jobs is None else n_jobs, max(1, len(todo)))
    if executor is None and n_jobs > 1:
        executor = Processes(n_jobs)
    for i, result in run_each(function, [items[name] for name in todo], text, executor=executor, progress=progress):
        known[todo[i]] = result
        if place is not None:
            _write(place / f"{todo[i]}.json", result, study, todo[i])
    return [known[name] for name in items]


def _opened(folder: Path, settings: dict[str, Any]) -> Path:
    if folder.is_file():
        raise StoreError(f"{argument('folder')} must be a folder, got the file {folder}; give another path.")
    found = _read(folder / _STUDY, remedy="remove the folder, or give another path")
    if found is None and folder.is_dir() and any(folder.iterdir()):
        raise StoreError(f"{argument('folder')} {folder} contains other files; give a new path.")
    if found is not None and found != settings:
        wrong = next(k for k in {**found, **settings} if found.get(k) != settings.get(k))
        raise StoreError(f"{argument('folder')} {folder} contains a study with another {wrong} ({found.get(wrong)}); "
                         "give another path.")  # fmt: skip
    try:
        (folder / _FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise StoreError(f"{folder} cannot be written ({e.strerror}); give another path.") from e
    _write(folder / _STUDY, settings)
    return folder / _FOLDER


def _write(path: Path, value: dict[str, Any], *of: str) -> None:
    try:
        write_record(path, value, *of)
    except OSError as e:
        raise StoreError(f"{path} cannot be written ({e.strerror}); free disk space, or give another path.") from e


def _read(path: Path, *of: str, remedy: str = "remove it, and call again") -> dict[str, Any] | None:
    return read_record(path, *of, remedy=remedy) if path.exists() or path.is_symlink() else None
