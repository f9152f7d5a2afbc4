"""Studies of many simulated data sets: one small file each, so that a study that was stopped goes on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

from ..declare.rule import JOBS, optional
from ..errors import StoreError, argument
from .independent import run_each
from .jobs import count_jobs

_STUDY, _FOLDER = "study.json", "replicates"


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
        Processes, as in `bayesmrf.runs.jobs.count_jobs`; 1 is this one.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Workers instead of ``n_jobs``.
    progress : bool

    Raises
    ------
    OptionError
        If ``n_jobs`` is 0, or no integer.
    StoreError
        If the folder contains another study, a damaged file, or cannot be written.
    """
    optional(JOBS).check("n_jobs", n_jobs)
    place = None if folder is None else _opened(Path(folder), json.loads(json.dumps(settings)))
    stored = {name: None if place is None else _read(place / f"{name}.json") for name in items}
    known = {name: value for name, value in stored.items() if value is not None}
    todo = [name for name in items if name not in known]
    n_jobs = count_jobs(n_jobs, len(todo))
    with nullcontext(executor) if executor is not None or n_jobs == 1 else _processes(n_jobs) as workers:
        for i, result in run_each(function, [items[name] for name in todo], text, executor=workers, progress=progress):
            known[todo[i]] = result
            if place is not None:
                _write(place / f"{todo[i]}.json", result)
    return [known[name] for name in items]


@contextmanager
def _processes(n: int) -> Iterator[Executor]:
    """Start processes of this machine, which end with the context, at once if it was left by an error.

    They are not loky's reusable ones: a process that was forked would wait for those of its parent for ever.
    """
    pool = ProcessPoolExecutor(n)
    try:
        yield pool
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise
    pool.shutdown()


def _opened(folder: Path, settings: dict[str, Any]) -> Path:
    if folder.is_file():
        raise StoreError(f"{argument('folder')} must be a folder, got the file {folder}; give another path.")
    found = _read(folder / _STUDY)
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


def _write(path: Path, value: dict[str, Any]) -> None:
    partial = path.with_suffix(".partial")
    try:
        partial.write_text(json.dumps(value), encoding="utf-8")
        partial.replace(path)
    except OSError as e:
        raise StoreError(f"{path} cannot be written ({e.strerror}); free disk space, or give another path.") from e


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as e:
        raise StoreError(f"{path} is damaged ({e}); remove it, and call again.") from e
    return found
