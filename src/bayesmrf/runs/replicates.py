"""Studies of many simulated data sets: one small file each, so that a study that was stopped goes on.

A file has the checksum of its result, of its name and of the settings of the study, so that none is taken for another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

from ..data.files import check_path
from ..declare.option import options_of
from ..declare.paths import path_of
from ..errors import StoreError, argument
from ..threads import count_jobs
from .identity import checksum
from .independent import run_each
from .lock import hold, is_lock
from .run_options import RunOptions
from .sealed import read_record, write_record

_STUDY, _FOLDER = "study.json", "replicates"
_OPTION = argument("folder")


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
    for option, value in {"n_jobs": n_jobs, "executor": executor, "progress": progress}.items():
        options_of(RunOptions)[option].rule.check(option, value)
    settings = json.loads(json.dumps(settings))
    study = checksum(settings)
    with _opened(folder, settings) as place:
        stored = {name: None if place is None else _read(place / f"{name}.json", study, name) for name in items}
        known = {name: value for name, value in stored.items() if value is not None}
        todo = [name for name in items if name not in known]
        inputs, n_jobs = [items[name] for name in todo], count_jobs(n_jobs, len(todo))
        with nullcontext(executor) if executor is not None or n_jobs == 1 else _processes(n_jobs) as workers:
            for i, result in run_each(function, inputs, text, executor=workers, progress=progress):
                known[todo[i]] = result
                if place is not None:
                    _write(place / f"{todo[i]}.json", result, study, todo[i])
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


@contextmanager
def _opened(folder: str | PathLike[str] | None, settings: dict[str, Any]) -> Iterator[Path | None]:
    """Lock the folder of a study, and give that of its replicates; a study without any leaves nothing behind."""
    if folder is None:
        yield None
        return
    path = path_of("folder", folder)
    check_path(path, f"{_OPTION}: ")
    if path.is_file():
        raise StoreError(f"{_OPTION} must be a folder, got the file {path}; give another path.")
    place, made = path / _FOLDER, [p for p in (path, *path.parents) if not p.exists()]
    try:
        with hold(path, option="folder"):
            _check_study(path, settings)
            try:
                with _written(place):
                    place.mkdir(exist_ok=True)
                _write(path / _STUDY, settings)
                yield place
            finally:
                _remove_empty(path)
    finally:
        with suppress(OSError):  # not empty
            for p in made:
                p.rmdir()


def _check_study(path: Path, settings: dict[str, Any]) -> None:
    """Refuse a folder of other files, or of another study; remains of an interrupted start are accepted."""
    stored = _read(path / _STUDY, remedy="remove the folder, or give another path")
    if stored is None:
        with _written(path):
            others = [p for p in path.iterdir() if p.name not in (_FOLDER, _partial(_STUDY)) and not is_lock(p.name)]
            if others or any((path / _FOLDER).glob("*.json")):
                raise StoreError(f"{_OPTION} {path} contains other files; give a new path.")
    elif stored != settings:
        wrong = next(k for k in {**stored, **settings} if stored.get(k) != settings.get(k))
        raise StoreError(f"{_OPTION} {path} contains a study with another {wrong} ({stored.get(wrong)}); "
                         "give another path.")  # fmt: skip


def _remove_empty(path: Path) -> None:
    """Remove what the start of a study has written, if there is no replicate."""
    with suppress(OSError):
        for partial in (path / _FOLDER).glob(_partial("*")):
            partial.unlink()
        (path / _FOLDER).rmdir()  # fails if it is not empty
        for name in (_STUDY, _partial(_STUDY)):
            (path / name).unlink(missing_ok=True)


def _partial(name: str) -> str:
    return f"{name}.partial"


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Name the argument where something cannot be written."""
    try:
        yield
    except OSError as e:
        raise StoreError(
            f"{_OPTION}: {path} cannot be written ({e.strerror}); free disk space and call again, or give another path."
        ) from e


def _write(path: Path, value: dict[str, Any], *of: str) -> None:
    with _written(path):
        write_record(path, value, *of)


def _read(path: Path, *of: str, remedy: str = "remove it, and call again") -> dict[str, Any] | None:
    return read_record(path, *of, remedy=remedy) if path.exists() or path.is_symlink() else None
