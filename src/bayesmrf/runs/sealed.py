"""Records and arrays on disk: with checksums, and read within bounds.

A record is a JSON value with its own checksum: a file that is replaced atomically, or a line. Arrays are members of a
.npz file, whose checksum is in a record. Files may be damaged or untrusted, so no link is followed, nothing is
unpickled, and what a file costs is known before any of it is decoded: of a record from its brackets and commas, of
arrays from the directory of the archive and from their headers, whose sizes must agree with the bytes of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from ..errors import BayesMRFError, StoreError, argument
from ..memory import machine_bytes
from .identity import checksum

LARGEST_RECORD = 2**24  # bytes
MOST_VALUES, DEEPEST = 2**20, 64  # of a JSON text: each value takes up to 100 bytes in memory
MOST_ARRAYS, LARGEST_DIRECTORY = 2**12, 2**20  # of a .npz file
DENSEST = 256  # bytes of an array for each that it takes on the disk: zlib's fastest level packs zeros into 1/229
_BLOCK = 2**22  # bytes of an array that are read at a time
_SPARSEST = 16  # a file without holes takes more than this part of its size on a disk that compresses, too
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biufc]\d{1,2})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*\d{0,18})\), \} *\n"
)
_ANOTHER_PATH = f"restore the folder from a copy, or start again with {argument('overwrite', True)} or another path"


# Records


def seal(value: Mapping[str, Any], *of: Any) -> str:
    """Return a JSON text with the checksum of a value, and of the run or the place that it is ``of``."""
    return json.dumps({**value, "checksum": checksum([value, *of])})


def unseal(text: str | bytes, *of: Any) -> dict[str, Any]:
    """Return the value of `seal`.

    Raises
    ------
    ValueError
        If the text is another one, is of something else, or costs too much to read.
    """
    value = parse(text)
    if not isinstance(value, dict) or "checksum" not in value:
        raise ValueError("it has no checksum")
    written = value.pop("checksum")
    if written != checksum([value, *of]):
        raise ValueError("its checksum is wrong")
    return value


def parse(text: str | bytes) -> Any:
    """Read a JSON text of limited size, in which each name occurs once; raise ValueError for another one."""
    check_json(text)
    return json.loads(text, object_pairs_hook=_once)


def check_json(text: str | bytes) -> None:
    """Refuse a JSON text that is nested deeply, or has too many values, before any of it is read."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(data) > LARGEST_RECORD:
        raise ValueError(f"it has more than {LARGEST_RECORD:,} bytes")
    marks = np.frombuffer(data.replace(rb"\\", b"--").replace(rb"\"", b"--"), np.uint8)  # no escaped quotes
    marks = marks[~np.logical_xor.accumulate(marks == ord('"'))]  # outside texts
    begins, ends = ((marks == a) | (marks == b) for a, b in (b"[{", b"]}"))
    if np.count_nonzero(begins) + np.count_nonzero(marks == ord(",")) > MOST_VALUES:
        raise ValueError(f"it has more than {MOST_VALUES:,} values")
    places = np.flatnonzero(begins | ends)
    if np.where(begins[places], 1, -1).cumsum().max(initial=0) > DEEPEST:
        raise ValueError("it is nested too deeply")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise ValueError("a name occurs twice")
    return mapping


def write_record(file: Path, value: Mapping[str, Any], *of: Any) -> None:
    """Replace a record atomically."""
    text = seal(value, *of).encode()
    try:
        check_json(text)
    except ValueError as e:
        raise StoreError(f"{file} cannot be written, as {e}; give texts and arrays of options that are smaller") from e
    partial = file.with_name(f"{file.name}.partial")
    write_new(partial, lambda f: f.write(text))
    partial.replace(file)
    sync(file.parent, deep=False)


def read_record(file: Path, *of: Any, remedy: str = _ANOTHER_PATH) -> dict[str, Any]:
    """Return a record that `write_record` wrote.

    Raises
    ------
    StoreError
        If it is missing or damaged.
    """
    try:
        with open_plain(file, LARGEST_RECORD) as f:
            return unseal(f.read(), *of)
    except OSError as e:
        raise damaged(file, f"it cannot be read ({type(e).__name__})", remedy) from e
    except (ValueError, RecursionError) as e:
        reason = "its checksum is wrong" if "checksum is" in str(e) else f"it cannot be read ({type(e).__name__})"
        raise damaged(file, reason, remedy) from e


# Arrays


class Array(NamedTuple):
    """An array to write: its type and shape, and its contents in parts."""

    dtype: np.dtype
    shape: tuple[int, ...]
    parts: Iterable[np.ndarray]
    fortran: bool = False


def write_arrays(file: Path, arrays: Mapping[str, np.ndarray | Array]) -> str:
    """Write arrays to a new .npz file, those packed that become much smaller; return the checksum of the file."""

    def write(f: BinaryIO) -> None:
        with ZipFile(f, "w", compresslevel=1) as packed:  # as numpy's savez, which packs all arrays or none
            for name, a in arrays.items():
                a = _whole(a) if isinstance(a, np.ndarray) else a
                if a.dtype.kind not in "biufc":
                    raise TypeError(f"{name} is an array of type {a.dtype}, and not of numbers")
                parts = (np.asarray(part, a.dtype).tobytes() for part in a.parts)
                first = next(parts, b"")
                head = first[: 2**13]
                packed.compression = ZIP_DEFLATED if 2 * len(zlib.compress(head, 1)) < len(head) else ZIP_STORED
                with packed.open(f"{name}.npy", "w", force_zip64=True) as member:
                    about = {"descr": a.dtype.str, "fortran_order": a.fortran, "shape": a.shape}
                    np.lib.format.write_array_header_1_0(member, about)
                    member.write(first)
                    for part in parts:
                        member.write(part)

    write_new(file, write)
    with file.open("rb") as f:
        return digest_of_file(f)


def _whole(a: np.ndarray) -> Array:
    fortran = a.flags.f_contiguous and not a.flags.c_contiguous
    flat, n = a.reshape(-1, order="F" if fortran else "C"), max(1, _BLOCK // max(1, a.itemsize))
    return Array(a.dtype, a.shape, (flat[i : i + n] for i in range(0, flat.size, n)), fortran)


def read_arrays(file: Path, digest: str) -> dict[str, np.ndarray]:
    """Read arrays of numbers from a .npz file of this checksum."""
    with open_arrays(file) as stored:
        stored.verify(digest)
        return {name: stored.read(name) for name in stored.members}


class Member(NamedTuple):
    """An array of a file, as its header and the directory of the file declare it."""

    info: ZipInfo
    start: int
    dtype: np.dtype
    shape: tuple[int, ...]
    fortran: bool


class Arrays:
    """The arrays of an open .npz file, of which nothing but headers has been read."""

    def __init__(self, file: BufferedReader, path: Path) -> None:
        self.file, self.path = file, path
        about = os.fstat(file.fileno())
        if 0 < 512 * _SPARSEST * getattr(about, "st_blocks", 0) < about.st_size - _BLOCK:
            raise ValueError("it has holes")
        _check_directory(file, about.st_size)
        self.zip = ZipFile(file)
        infos = self.zip.infolist()
        if sum(info.compress_size for info in infos) > about.st_size:
            raise ValueError("its members overlap")
        self.members = {info.filename.removesuffix(".npy"): self._member(info) for info in infos}
        if len(self.members) < len(infos):
            raise ValueError("a name occurs twice")
        size = sum(info.file_size for info in infos)
        if size > machine_bytes():
            raise MemoryError(f"its arrays take {size / 2**30:.1f} GiB, more than the memory of this machine")

    def _member(self, info: ZipInfo) -> Member:
        """Check the size of a member, and read the header of its array."""
        if info.flag_bits & 0x1 or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or info.is_dir():
            raise ValueError("a member is neither plain nor deflated")
        packed, size = info.compress_size, info.file_size
        most = packed if info.compress_type == ZIP_STORED else DENSEST * packed
        if size > most:
            raise ValueError(f"an array would take {size:.3g} bytes in memory, and takes {packed:,} on the disk")
        with self.zip.open(info) as member:
            head = member.read(10)
            length = int.from_bytes(head[8:], "little")
            header = _HEADER.fullmatch(member.read(length)) if head[:8] == b"\x93NUMPY\x01\x00" else None
        if header is None:
            raise ValueError("a member is no array of numbers")
        dtype, shape = np.dtype(header[1].decode()), tuple(int(n) for n in header[3].split(b",") if n.strip())
        if len(shape) > 8 or 10 + length + math.prod(shape) * dtype.itemsize != size:
            raise ValueError("an array has another size than it declares")
        return Member(info, 10 + length, dtype, shape, header[2] == b"True")

    def verify(self, digest: str) -> None:
        """Refuse a file of another checksum."""
        self.file.seek(0)
        if digest_of_file(self.file) != digest:
            raise damaged(self.path, "its contents have changed since they were written")

    def blocks(self, name: str, size: int = _BLOCK) -> Iterator[bytes]:
        """Read the contents of an array, ``size`` bytes at a time."""
        m = self.members[name]
        left = m.info.file_size - m.start
        with self.zip.open(m.info) as member:
            member.read(m.start)
            while left:
                data = member.read(min(size, left))
                if not data:
                    raise ValueError("an array is shorter than it declares")
                left -= len(data)
                yield data
            member.read(1)  # compares the checksum of the member

    def read(self, name: str) -> np.ndarray:
        """Read an array."""
        m = self.members[name]
        array, at = np.empty(math.prod(m.shape), m.dtype), 0
        memory = array.view(np.uint8)
        for data in self.blocks(name):
            memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
            at += len(data)
        return array.reshape(m.shape, order="F" if m.fortran else "C")


@contextmanager
def open_arrays(file: Path) -> Iterator[Arrays]:
    """Open a .npz file of arrays of numbers, after its directory and their headers were checked.

    Raises
    ------
    StoreError
        If it cannot be read, also while it is open.
    """
    try:
        with open_plain(file) as f:
            yield Arrays(f, file)
    except BayesMRFError:
        raise
    except Exception as e:  # zipfile and numpy raise any exception on a damaged file
        raise unreadable(file, e) from e


def _check_directory(file: BufferedReader, size: int) -> None:
    """Refuse an archive with a large directory, which zipfile would read as a whole."""
    file.seek(max(0, size - 98))  # the end record, after those of a large file
    tail = file.read()
    end = tail[-22:]
    if end[:4] != b"PK\x05\x06" or end[20:] != b"\0\0":
        raise ValueError("it is no archive, or is cut short")
    count, length = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if count == 2**16 - 1 or 2**32 - 1 in (length, int.from_bytes(end[16:20], "little")):
        if tail[:4] != b"PK\x06\x06":
            raise ValueError("it has no directory")
        count, length = int.from_bytes(tail[32:40], "little"), int.from_bytes(tail[40:48], "little")
    if count > MOST_ARRAYS or length > LARGEST_DIRECTORY:
        raise ValueError("it has too many members")


def digest_of_file(file: BufferedReader) -> str:
    """Return the checksum of a file from where it is."""
    return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


# Files


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


def damaged(place: Path, reason: str, remedy: str = _ANOTHER_PATH) -> StoreError:
    """Return the error for something on the disk that is incomplete or changed."""
    return StoreError(f"{place} is damaged: {reason}; {remedy}")


def unreadable(place: Path, e: Exception) -> StoreError:
    """Return the error for a store that cannot be read: damaged, unless the reason lies elsewhere."""
    reason = f"it cannot be read ({type(e).__name__}: {e!s:.200})"
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
