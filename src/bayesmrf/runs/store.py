"""Folders of this package on disk: records and arrays that stay valid if the process is killed at any moment.

A record is a JSON file, replaced atomically, with its own checksum and those of its arrays. That of a folder is its
zarr.json, as results are a zarr group, of which a missing chunk is read as zeros; arrays of a checkpoint are .npz
files. Folders may be untrusted: nothing is unpickled, `bayesmrf.runs.zarr_results` checks a zarr group before it is
opened, and no link is followed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

from ..data.files import EVIDENCE, TASK, check_path
from ..declare.option import Checked, needs, option
from ..declare.rule import FLAG, MOST_CHAINS, PATH, integer, optional
from ..errors import BayesMRFError, StoreError, argument, in_python
from .identity import checksum
from .lock import is_lock

# Of a checkpoint; estimators have no option of this name.
OVERWRITE = f"{in_python('Checkpoint(path, ')}{argument('overwrite', True)}{in_python(')')}"

FORMAT = 3
CHECKPOINT, RESULTS = "checkpoint", "results"
RECORD = "zarr.json"
LARGEST_RECORD = 2**26  # bytes of a record
FREE = 2**30  # bytes of arrays that may be declared without any on the disk (chunks of zeros are not stored)
DENSEST = 1000  # bytes of further arrays for each byte on the disk
_GROUP = {"zarr_format": 3, "node_type": "group"}


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
        ours = "bayesmrf" in read_json(path / RECORD)["attributes"]
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
    evidence = (path / EVIDENCE).is_file() or any(path.glob(f"{TASK}*/{EVIDENCE}"))
    if evidence and not (path / RECORD).exists():
        raise StoreError(f"{path} has evidences of models, which no other command reads; give the same command of "
                         "bayesmrf evidence again to print them")  # fmt: skip
    inner = sorted(p.parent for p in path.glob("*/zarr.json") if p.parent.suffix != ".partial")
    if inner and not (path / RECORD).exists():
        raise StoreError(f"{path} is not a result, but a folder of {len(inner)}; give one of them, such as {inner[0]}")


def read_kind(path: Path) -> str:
    """Return the content of a store of this package: `CHECKPOINT` or `RESULTS`."""
    with as_written(path):
        marker = read_record(path / RECORD)["bayesmrf"]
        version, holds = marker["format"], marker["holds"]
        if type(version) is not int or holds not in (CHECKPOINT, RESULTS):
            raise ValueError
    if version != FORMAT:
        raise StoreError(f"{path} has store format {version}, which this version cannot read; use the version "
                         "that wrote it")  # fmt: skip
    return str(holds)


def publish(path: Path, partial: Path, marker: Mapping[str, Any]) -> None:
    """Replace the content of ``path`` by the zarr group ``partial``, a folder inside it.

    A checkpoint in ``path`` stays valid until the record is replaced, and results until the new folders take their
    places.
    """
    attributes = json.loads((partial / RECORD).read_bytes())["attributes"]
    sync(partial)
    children, replaced = [p for p in partial.iterdir() if p.is_dir()], path / "replaced.partial"
    remove(replaced)
    replaced.mkdir()
    for child in children:  # renamed, not removed, so that old and new folders are mixed for an instant only
        if (path / child.name).exists():
            (path / child.name).rename(replaced / child.name)
        child.rename(path / child.name)
    write_marker(path, RESULTS, marker, attributes)
    clear(path, keep={RECORD, *(c.name for c in children)})


def clear(path: Path, keep: set[str] | frozenset[str] = frozenset()) -> None:
    """Remove the files of this package in ``path``, its record last; other files are not changed."""
    for p in path.iterdir():
        if p.name not in keep and (p.name == CHECKPOINT or (p / RECORD).exists() or p.name.endswith(".partial")):
            remove(p)
    if RECORD not in keep:
        (path / RECORD).unlink(missing_ok=True)


def write_marker(path: Path, holds: str, about: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
    """Replace the record of a folder, which says what it contains."""
    marker = {"format": FORMAT, "holds": holds, **about}
    write_record(path / RECORD, {**attributes, "bayesmrf": marker}, **_GROUP)


def write_record(file: Path, attributes: Mapping[str, Any], **about: Any) -> None:
    """Replace a record atomically, with the checksum of its attributes."""
    value = {**about, "attributes": {**attributes, "checksum": checksum(attributes)}}
    partial = file.with_name(f"{file.name}.partial")
    write_new(partial, lambda f: f.write(json.dumps(value).encode()))
    partial.replace(file)
    sync(file.parent, deep=False)


def write_new(file: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Write a file and flush it to disk; an existing file is removed, without following a link."""
    file.unlink(missing_ok=True)
    with file.open("xb") as f:
        write(f)
        f.flush()
        os.fsync(f.fileno())


@contextmanager
def open_plain(path: Path, largest: float = math.inf) -> Iterator[BufferedReader]:
    """Open a regular file of limited size that is not a link.

    Raises
    ------
    OSError, ValueError
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > largest:
            raise ValueError("it is not a regular file, or too large")
        yield file


def read_json(path: Path) -> Any:
    """Read a JSON file that is a regular file of limited size, and not a link.

    Raises
    ------
    OSError, ValueError
    """
    with open_plain(path, LARGEST_RECORD) as file:
        try:
            return json.loads(file.read())
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def read_record(file: Path) -> dict[str, Any]:
    """Return the attributes of a record that `write_record` wrote.

    Raises
    ------
    StoreError
        If they are missing or damaged.
    """
    try:
        attributes = read_json(file)["attributes"]
        written = attributes.pop("checksum")
        good = written == checksum(attributes)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise damaged(file, f"it cannot be read ({type(e).__name__})") from e
    if not good:
        raise damaged(file, "its checksum is wrong")
    return dict(attributes)


def damaged(place: Path, reason: str) -> StoreError:
    """Return the error for a store that is incomplete or changed."""
    return StoreError(f"{place} is damaged: {reason}; restore the folder from a copy, or start again with "
                      f"{argument('overwrite', True)} or another path")  # fmt: skip


def digest_of(name: str, shape: tuple[int, ...], parts: Iterator[np.ndarray]) -> str:
    """Return the checksum of an array: of its name, type, shape and contents, of which there is a part at least."""
    h = hashlib.blake2b(digest_size=16)
    for i, a in enumerate(parts):
        if a.dtype.kind in "OTU" or not a.size:  # zarr does not store the type of empty text arrays
            a = np.frombuffer("\0".join(map(str, a.ravel())).encode(), np.uint8)
            shape = a.shape
        if i == 0:
            h.update(f"{name}{a.dtype.str}{shape}".encode())
        h.update(np.ascontiguousarray(a).reshape(-1).view(np.uint8).data)
    return h.hexdigest()


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write arrays to a new .npz file, those packed that become much smaller; return the checksum of the file."""

    def write(f: BinaryIO) -> None:
        with ZipFile(f, "w", compresslevel=1) as packed:  # as numpy's savez, which packs all arrays or none
            for name, a in arrays.items():
                head = a.ravel("K")[: 2**13].tobytes()
                packed.compression = ZIP_DEFLATED if 2 * len(zlib.compress(head, 1)) < len(head) else ZIP_STORED
                with packed.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, a, allow_pickle=False)

    write_new(file, write)
    with file.open("rb") as f:
        return _digest_of_file(f)


def read_arrays(file: Path, digest: str) -> dict[str, np.ndarray]:
    """Read arrays of numbers from a .npz file of this checksum."""
    try:
        with open_plain(file) as f:
            if _digest_of_file(f) != digest:
                raise damaged(file, "its contents have changed since they were written")
            f.seek(0)
            with np.load(f, allow_pickle=False) as found:
                size = sum(member.file_size for member in found.zip.infolist())
                if size > max(FREE, DENSEST * os.fstat(f.fileno()).st_size):
                    raise ValueError(f"its arrays would take {size:.3g} bytes in memory")
                arrays = dict(found)
        if not all(isinstance(a, np.ndarray) and a.dtype.kind in "biufc" for a in arrays.values()):
            raise ValueError("an array is not of numbers")
    except StoreError:
        raise
    except Exception as e:  # zipfile and numpy raise any exception on a damaged file
        raise unreadable(file, e, "numpy") from e
    return arrays


def _digest_of_file(file: BufferedReader) -> str:
    return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def unreadable(place: Path, e: Exception, reader: str) -> StoreError:
    """Return the error for a store that cannot be read: damaged, unless the reason lies elsewhere."""
    reason = f"{reader} cannot read it ({type(e).__name__}: {e!s:.200})"
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
