"""Check whether a zarr folder may be opened, from its metadata as plain JSON, before zarr or any codec reads it.

An untrusted folder must not run code, follow a link out of itself, or fill the memory. So only zarr format 3 is opened,
with numbers, booleans and text, plain or compressed by Zstandard, and sizes that agree with the files.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from ..errors import StoreError

LARGEST_RECORD = 2**26  # bytes of a zarr.json
FREE = 2**30  # bytes of arrays that may be declared without any on the disk (chunks of zeros are not stored)
DENSEST = 1000  # bytes of further arrays for each byte on the disk
MOST_ABSENT = 4096  # chunks that may be missing, which zarr reads as zeros

_NUMBERS = {"bool": 1, "complex64": 8, "complex128": 16, "float16": 2, "float32": 4, "float64": 8}
_NUMBERS |= {f"{sign}int{8 * n}": n for sign in ("", "u") for n in (1, 2, 4, 8)}
_TEXT = "fixed_length_utf32"
_OLD_TEXT = "string"  # of format 1, packed by the codec vlen-utf8
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")
_GROUP_KEYS = {"zarr_format", "node_type", "attributes"}
_ARRAY_KEYS = _GROUP_KEYS | {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"}
_OTHER_KEYS = {"dimension_names", "storage_transformers", "consolidated_metadata"}
_DECODED = {"scale_factor", "add_offset", "missing_value", "_Unsigned", "dtype"}  # attributes that change values
_OLD_BOOL = {"dtype": "bool"}, "int8"  # as older versions of xarray write booleans
_BAD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


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


def check_group(folder: Path) -> list[str]:
    """Check a group of arrays, and return their names.

    Raises
    ------
    StoreError
        If it contains anything that this package does not write.
    """
    try:
        if folder.is_symlink() or not _NAME.fullmatch(folder.name):
            raise ValueError("it is a link, or has an unusual name")
        _check_group_record(read_json(folder / "zarr.json"))
        names, on_disk, declared, n_absent = [], 0, 0, 0
        for entry in _entries(folder):
            if entry.name == "zarr.json":
                continue
            if not entry.is_dir(follow_symlinks=False) or not _NAME.fullmatch(entry.name):
                raise ValueError(f"{entry.name!r:.80} is not an array")
            names.append(entry.name)
            array = _Declared(read_json(folder / entry.name / "zarr.json"))
            n_files, size = array.check_chunks(folder / entry.name)
            on_disk, declared = on_disk + size, declared + array.n_chunks * array.chunk_bytes
            n_absent += max(0, array.n_chunks - n_files)
        if declared > max(FREE, DENSEST * on_disk) or n_absent > MOST_ABSENT:
            raise ValueError(f"its arrays would take {declared:.3g} bytes in memory, and take {on_disk:,} on the disk")
    except (OSError, RuntimeError, *_BAD) as e:
        raise StoreError(f"{folder} is damaged, or was not written by this package: {e!s:.200}; restore it from a "
                         "copy, or give another path") from e  # fmt: skip
    return names


def _entries(folder: str | Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _check_group_record(record: Any) -> None:
    if set(record) - _OTHER_KEYS != _GROUP_KEYS or (record["zarr_format"], record["node_type"]) != (3, "group"):
        raise ValueError("its zarr.json is not that of a group of format 3")
    if record.get("consolidated_metadata") is not None:
        raise ValueError("it has consolidated metadata")


class _Declared:
    """The allowed entries of the zarr.json of an array."""

    def __init__(self, record: Any) -> None:
        if not _ARRAY_KEYS <= set(record) <= _ARRAY_KEYS | _OTHER_KEYS:
            raise ValueError("a zarr.json has missing or unusual entries")
        if (record["zarr_format"], record["node_type"]) != (3, "array") or record.get("storage_transformers"):
            raise ValueError("a zarr.json is not that of a plain array of format 3")
        if not isinstance(record["attributes"], dict):
            raise ValueError("an array has unusual attributes")
        changes = {name: value for name, value in record["attributes"].items() if name in _DECODED}
        if changes and (changes, record["data_type"]) != _OLD_BOOL:
            raise ValueError("an array has attributes that change its values")
        if record["chunk_key_encoding"] != {"name": "default", "configuration": {"separator": "/"}}:
            raise ValueError("an array has chunks of unusual names")
        grid = record["chunk_grid"]
        if grid["name"] != "regular" or set(grid["configuration"]) != {"chunk_shape"}:
            raise ValueError("an array has an unusual chunk grid")
        shape, chunk = record["shape"], grid["configuration"]["chunk_shape"]
        if not all(type(n) is int and n >= 0 for n in shape) or not all(type(n) is int and n > 0 for n in chunk):
            raise ValueError("a shape is not made of integers")
        if len(shape) > 8:
            raise ValueError("an array has too many dimensions")
        self.grid = [-(-n // c) for n, c in zip(shape, chunk, strict=True)]
        self.n_chunks = math.prod(self.grid)
        self.is_text, size = _size_of(record["data_type"])
        self.chunk_bytes = math.prod(chunk) * size
        self.is_packed = _check_codecs(record["codecs"], self.is_text)

    def check_chunks(self, folder: Path) -> tuple[int, int]:
        """Check the files of the chunks; return their number and their size."""
        n_files = total = 0
        todo = [folder]
        while todo:
            for entry in _entries(todo.pop()):
                if entry.is_dir(follow_symlinks=False):
                    todo.append(Path(entry.path))
                elif not entry.is_file(follow_symlinks=False):
                    raise ValueError(f"{entry.name!r:.80} is a link or not a regular file")
                elif entry.name != "zarr.json":
                    n_files, total = n_files + 1, total + entry.stat(follow_symlinks=False).st_size
                    self._check_chunk(Path(entry.path))
        return n_files, total

    def _check_chunk(self, path: Path) -> None:
        """Refuse a chunk whose decompressed size differs from the declared one, or is too large for text."""
        with path.open("rb") as file:
            size = _unpacked_size(file.read(18)) if self.is_packed else os.fstat(file.fileno()).st_size
        if not self.is_text and size == self.chunk_bytes:
            return
        good = self.is_text and size <= LARGEST_RECORD
        if good and self.is_packed:
            from numcodecs.zstd import decompress  # as slow to import as zarr

            # The codec allocates as many texts as the chunk declares.
            good = int.from_bytes(decompress(path.read_bytes())[:4], "little") * 8 == self.chunk_bytes
        if not good:
            raise ValueError("a chunk does not have the declared size")


def _size_of(kind: Any) -> tuple[bool, int]:
    """Return whether a type is text of variable length, and the bytes of an element."""
    if kind == _OLD_TEXT:
        return True, 8
    if isinstance(kind, dict):
        size = kind["configuration"]["length_bytes"]
        if kind["name"] != _TEXT or type(size) is not int or not 0 < size <= 2**20:
            raise ValueError("an array is neither of numbers nor of text")
        return False, size
    if kind not in _NUMBERS:
        raise ValueError("an array is neither of numbers nor of text")
    return False, _NUMBERS[kind]


def _check_codecs(codecs: Any, is_text: bool) -> bool:
    """Refuse codecs that this package does not use; return whether chunks are compressed."""
    first, *rest = [(codec["name"], codec.get("configuration") or {}) for codec in codecs]
    plain = [("vlen-utf8", {})] if is_text else [("bytes", {"endian": "little"}), ("bytes", {})]
    packed = len(rest) == 1 and rest[0][0] == "zstd" and set(rest[0][1]) <= {"level", "checksum"}
    if first not in plain or not (packed or not (rest or is_text)):
        raise ValueError("an array has a codec other than bytes and zstd")
    return packed


def _unpacked_size(head: bytes) -> int:
    """Return the declared size of a Zstandard frame (RFC 8878, section 3.1.1.1)."""
    if head[:4] != b"\x28\xb5\x2f\xfd":
        raise ValueError("a chunk is not a Zstandard frame")
    flags = head[4]
    single = bool(flags & 0x20)
    n_bytes = (1 if single else 0, 2, 4, 8)[flags >> 6]
    if n_bytes == 0:
        raise ValueError("a chunk does not declare its size")
    start = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
    return int.from_bytes(head[start : start + n_bytes], "little") + (256 if n_bytes == 2 else 0)
