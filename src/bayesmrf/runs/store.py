"""Folders of this package on disk: records and arrays that stay valid if the process is killed at any moment.

A record is the attributes of a zarr group, replaced atomically, with its own checksum and those of its arrays, since
zarr reads a missing chunk as zeros. Folders may be untrusted: nothing is opened before `bayesmrf.runs.zarr_check` has
checked it, and no link is followed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.files import EVIDENCE, TASK, check_path
from ..declare.option import Checked
from ..errors import BayesMRFError, StoreError, argument, in_python
from .identity import checksum
from .lock import is_lock
from .zarr_check import check_group, read_json

# Of a checkpoint; estimators have no option of this name.
OVERWRITE = f"{in_python('Checkpoint(path, ')}{argument('overwrite', True)}{in_python(')')}"

FORMAT = 2
READABLE = (1, FORMAT)  # formats of results; a checkpoint of an older one cannot be continued
CHECKPOINT, RESULTS = "checkpoint", "results"
CHUNK = 2**26  # bytes of an array in one file, about
GROUP = {"zarr_format": 3, "node_type": "group"}


@dataclass(frozen=True)
class Checkpoint(Checked):
    """Where the run of an estimator is stored.

    Parameters
    ----------
    path : path
        Zarr folder. A run that was stopped continues from it.
    overwrite : bool
        Whether to replace another run in the folder.
    chain : int, optional
        Run this chain alone, from 0. Other processes may run others in the same folder. A call without ``chain``
        continues with all chains, and has all draws.
    command : tuple of str
        Command line of the run, for ``bayesmrf collect``.
    """

    path: str | os.PathLike[str]
    overwrite: bool = False
    chain: int | None = None
    command: tuple[str, ...] = ()


def as_checkpoint(checkpoint: Any) -> Checkpoint | None:
    """Return a checkpoint that may be given as a path."""
    return checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)


def is_ours(path: Path) -> bool:
    """Return whether ``path`` contains a store of this package; False if nothing is there.

    Raises
    ------
    StoreError
        If ``path`` contains something that this package did not write.
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
    try:
        ours = "bayesmrf" in read_json(path / "zarr.json")["attributes"]
    except PermissionError as e:
        raise StoreError(f"{path} cannot be read ({e.strerror}: zarr.json); give another path") from e
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise StoreError(f"{path} is not a store of bayesmrf, or its zarr.json is damaged; it was not changed; "
                         "give another path, or remove it yourself")  # fmt: skip
    return True


def check_single(path: Path) -> None:
    """Refuse a folder of evidences, or of the results of several methods, where one result is read."""
    check_path(path)
    if has_evidence(path):
        raise StoreError(f"{path} has evidences of models, which no other command reads; give the same command of "
                         "bayesmrf evidence again to print them")  # fmt: skip
    inner = sorted(p.parent for p in path.glob("*/zarr.json") if p.parent.suffix != ".partial")
    if inner and not (path / "zarr.json").exists():
        raise StoreError(f"{path} is not a result, but a folder of {len(inner)}; give one of them, such as {inner[0]}")


def has_evidence(path: Path) -> bool:
    """Return whether ``path`` is a folder of evidences, and not a result."""
    found = (path / EVIDENCE).is_file() or any(path.glob(f"{TASK}*/{EVIDENCE}"))
    return found and not (path / "zarr.json").exists()


def read_kind(path: Path) -> str:
    """Return the content of a store of this package: `CHECKPOINT` or `RESULTS`."""
    with as_written(path):
        marker = read_record(path)["bayesmrf"]
        version, holds = marker["format"], marker["holds"]
        if type(version) is not int or holds not in (CHECKPOINT, RESULTS):
            raise ValueError
    if version not in READABLE:
        raise StoreError(f"{path} has store format {version}, which this version cannot read; use the version "
                         "that wrote it")  # fmt: skip
    if holds == CHECKPOINT and version != FORMAT:
        raise StoreError(f"{path} contains an unfinished run of an older version, which cannot be continued; finish "
                         f"it with that version, give another path, or use {OVERWRITE}")  # fmt: skip
    return str(holds)


def publish(path: Path, partial: Path, marker: Mapping[str, Any]) -> None:
    """Replace the content of ``path`` by the zarr group ``partial``, a folder inside it.

    A checkpoint in ``path`` stays valid until the record is replaced, and results until the new folders take their
    places.
    """
    attributes = json.loads((partial / "zarr.json").read_bytes())["attributes"]
    sync(partial)
    children, replaced = [p for p in partial.iterdir() if p.is_dir()], path / "replaced.partial"
    remove(replaced)
    replaced.mkdir()
    for child in children:  # renamed, not removed, so that old and new folders are mixed for an instant only
        if (path / child.name).exists():
            (path / child.name).rename(replaced / child.name)
        child.rename(path / child.name)
    write_record(path, {**attributes, "bayesmrf": {"format": FORMAT, "holds": RESULTS, **marker}})
    clear(path, keep={"zarr.json", *(c.name for c in children)})


def clear(path: Path, keep: set[str] | frozenset[str] = frozenset()) -> None:
    """Remove the files of this package in ``path``, its record last; other files are not changed."""
    for p in path.iterdir():
        if p.name not in keep and ((p / "zarr.json").exists() or p.name.endswith(".partial")):
            remove(p)
    if "zarr.json" not in keep:
        (path / "zarr.json").unlink(missing_ok=True)


def write_record(folder: Path, attributes: Mapping[str, Any]) -> None:
    """Replace the attributes of a zarr group atomically, with their checksum."""
    body = {**attributes, "checksum": checksum(attributes)}
    partial = folder / "zarr.json.partial"
    partial.unlink(missing_ok=True)  # without following a link
    with partial.open("x") as f:
        json.dump({**GROUP, "attributes": body}, f)
        f.flush()
        os.fsync(f.fileno())
    partial.replace(folder / "zarr.json")
    sync(folder, deep=False)


def read_record(folder: Path) -> dict[str, Any]:
    """Return the attributes of a zarr group that `write_record` wrote.

    Raises
    ------
    StoreError
        If they are missing or damaged.
    """
    try:
        attributes = read_json(folder / "zarr.json")["attributes"]
        written = attributes.pop("checksum")
        good = written == checksum(attributes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise damaged(folder / "zarr.json", f"it cannot be read ({type(e).__name__})") from e
    if not good:
        raise damaged(folder / "zarr.json", "its checksum is wrong")
    return dict(attributes)


def damaged(place: Path, reason: str) -> StoreError:
    """Return the error for a store that is incomplete or changed."""
    return StoreError(f"{place} is damaged: {reason}; restore the folder from a copy, or start again with "
                      f"{argument('overwrite', True)} or another path")  # fmt: skip


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """Return the checksum of names, types, shapes and contents."""
    h = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        a = arrays[name]
        if a.dtype.kind in "OTU" or not a.size:  # zarr does not store the type of empty text arrays
            a = np.frombuffer("\0".join(map(str, a.ravel())).encode(), np.uint8)
        h.update(f"{name}{a.dtype.str}{a.shape}".encode())
        h.update(np.ascontiguousarray(a).reshape(-1).view(np.uint8).data)
    return h.hexdigest()


def write_arrays(folder: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write a group of arrays, replacing a previous one; return their digest."""
    import zarr  # slow to import, and not needed without checkpoints

    remove(folder)
    group = zarr.create_group(folder, zarr_format=3)
    for name, a in arrays.items():
        row = max(1, a[:1].nbytes) if a.ndim else 1
        chunks = tuple(max(1, n) for n in (min(a.shape[0], CHUNK // row), *a.shape[1:])) if a.ndim else ()
        group.create_array(name, shape=a.shape, dtype=a.dtype, chunks=chunks)[...] = a
    sync(folder)
    return digest_of(arrays)


def read_arrays(folder: Path, digest: str) -> dict[str, np.ndarray]:
    """Read a group of arrays and check their digest."""
    import zarr

    names = check_group(folder)
    try:
        arrays = {name: np.asarray(zarr.open_array(folder / name, mode="r", zarr_format=3)[...]) for name in names}
    except Exception as e:  # zarr and its codecs raise any exception on a damaged file
        raise unreadable(folder, e) from e
    if digest_of(arrays) != digest:
        raise damaged(folder, "its contents have changed since they were written")
    return arrays


def unreadable(place: Path, e: Exception) -> StoreError:
    """Return the error for a store that zarr cannot read: damaged, unless the reason lies elsewhere."""
    reason = f"zarr cannot read it ({type(e).__name__}: {e!s:.200})"
    if isinstance(e, MemoryError | ImportError | PermissionError):
        return StoreError(f"{place}: {reason}; the folder may be intact, so read it where memory, packages and "
                          "permissions suffice")  # fmt: skip
    return damaged(place, reason)


@contextmanager
def as_written(place: Path) -> Iterator[None]:
    """Turn errors from missing or wrong entries of a record into a StoreError."""
    try:
        yield
    except BayesMRFError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as e:
        raise damaged(place, f"its record was not written by this package ({type(e).__name__})") from e


def remove(folder: Path) -> None:
    """Remove a folder with its contents, a file or a link."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)


def sync(folder: Path, deep: bool = True) -> None:
    """Flush a folder to the disk, so that no record is written before its arrays."""
    if os.name != "posix":  # folders cannot be opened on other systems
        return
    for p in [*(folder.rglob("*") if deep else ()), folder]:
        handle = os.open(p, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
