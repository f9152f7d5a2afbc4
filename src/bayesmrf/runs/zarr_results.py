"""Results as a zarr folder, which may be that of their checkpoint.

An untrusted folder must not run code, follow a link out of itself, or fill the memory. So its metadata are checked as
plain JSON before zarr or any codec reads it: only zarr format 3 is opened, with numbers, booleans and text, plain or
compressed by Zstandard, and sizes that agree with the files.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StoreError, argument, in_python
from . import netcdf
from .chain import Plan
from .checkpoint import UNTIL_GOOD, steps_of
from .lock import hold
from .store import (
    CHECKPOINT,
    DENSEST,
    FREE,
    LARGEST_RECORD,
    RECORD,
    as_written,
    damaged,
    is_ours,
    publish,
    read_json,
    read_kind,
    read_record,
    remove,
    unreadable,
)

if TYPE_CHECKING:
    import xarray as xr

_BLOCK = 2**25  # bytes of a variable from which on it is written by blocks
MOST_ABSENT = 4096  # chunks that may be missing, which zarr reads as zeros

_NUMBERS = {"bool": 1, "complex64": 8, "complex128": 16, "float16": 2, "float32": 4, "float64": 8}
_NUMBERS |= {f"{sign}int{8 * n}": n for sign in ("", "u") for n in (1, 2, 4, 8)}
_TEXT = "fixed_length_utf32"
_TEXTS = "string"  # of several lengths, packed by the codec vlen-utf8
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.]*")
_GROUP_KEYS = {"zarr_format", "node_type", "attributes"}
_ARRAY_KEYS = _GROUP_KEYS | {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"}
_OTHER_KEYS = {"dimension_names", "storage_transformers", "consolidated_metadata"}
_DECODED = {"scale_factor", "add_offset", "missing_value", "_Unsigned", "dtype"}  # attributes that change values
_BOOL = {"dtype": "bool"}, "int8"  # as xarray 2025.6 writes booleans
_BAD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def write(tree: xr.DataTree, path: Path, marker: Mapping[str, Any], overwrite: bool) -> None:
    """Replace the content of a folder; what it contains stays valid until the new results are complete."""
    if is_ours(path) and not overwrite:
        holds = "a checkpoint" if read_kind(path) == CHECKPOINT else "results"
        remedy = f"give another path or set {argument('overwrite', True)}"
        raise StoreError(f"{path} contains {holds} already; {remedy}")
    partial = path / "results.partial"
    with hold(path):
        try:
            remove(partial)
            _write(tree, partial)
            publish(path, partial, {"groups": list(tree.children), **marker})
        except OSError as e:
            with suppress(OSError):
                remove(partial)
            raise StoreError(f"{path} cannot be written ({e.strerror or e}); make room, or give another path") from e


def _write(tree: xr.DataTree, folder: Path) -> None:
    """Write a tree: first zeros in the place of large variables, then these by blocks, which alone are read."""
    import xarray as xr
    import zarr

    large: dict[str, Any] = {}
    light: dict[str, xr.Dataset] = {}
    for group, node in tree.children.items():
        own = {n: v for n, v in node.dataset.variables.items() if v.dtype.kind in "iuf" and v.nbytes > _BLOCK}
        large |= {f"{group}/{name}": v for name, v in own.items()}
        zeros = {n: (v.dims, np.broadcast_to(np.zeros((), v.dtype), v.shape), v.attrs) for n, v in own.items()}
        light[group] = node.to_dataset().assign(zeros)
    found = xr.DataTree.from_dict(light)
    found.attrs = tree.attrs
    found.to_zarr(folder, mode="w", consolidated=False, zarr_format=3)
    for place, v in large.items():
        array: Any = zarr.open_array(folder / place, mode="r+")
        for start in product(*(range(0, n, width) for n, width in zip(v.shape[:2], array.chunks[:2], strict=True))):
            some = tuple(slice(i, i + n) for i, n in zip(start, array.chunks[:2], strict=True))
            array[some] = v[some].values


def read(path: Path) -> tuple[xr.DataTree, dict[str, str]]:
    """Read results into memory; return them, and the checksums of their arrays."""
    import xarray as xr

    if not is_ours(path):
        what = "contains no results" if path.exists() else "does not exist"
        raise StoreError(f"{path} {what}; give the path that a run was written to")
    if read_kind(path) == CHECKPOINT:
        raise _unfinished(path)
    with as_written(path):
        attrs = read_record(path / RECORD)
        marker = attrs.pop("bayesmrf")
        digests, groups = dict(marker["digests"]), [str(group) for group in marker["groups"]]
        if not all(isinstance(value, str | int | float) for value in attrs.values()):
            raise TypeError
    found = {f"{group}/{name}" for group in groups for name in check_group(path / group)}
    if found != set(digests):
        raise damaged(path, f"missing or additional arrays: {', '.join(sorted(found ^ set(digests))):.80}")
    try:
        # Group by group: the folder may also contain the rest of a checkpoint.
        how: Any = {"engine": "zarr", "consolidated": False, "zarr_format": 3}
        how |= {"decode_times": False, "decode_timedelta": False}
        tree = xr.DataTree.from_dict({group: xr.open_dataset(path, group=group, **how).load() for group in groups})
    except Exception as e:  # zarr, its codecs and xarray raise any exception on a damaged file
        raise unreadable(path, e, "zarr") from e
    tree.attrs = {name: netcdf.plain(value) for name, value in attrs.items()}
    return tree, digests


def _unfinished(path: Path) -> StoreError:
    with as_written(path):
        steps, s = steps_of(path)
        kept = Plan(s["n_draws"], s["n_warmup"], s["thin"]).kept(min(steps))
    if UNTIL_GOOD in s:
        return StoreError(f"{path} contains an unfinished run, until good ({kept} draws of each of {s['n_chains']} "
                          "chains); call again with the same data, options and checkpoint to finish it")  # fmt: skip
    if kept >= s["n_draws"]:
        then = in_python(", which draws nothing, and then results.finish(estimator.posterior_, path)")
        return StoreError(f"{path} contains the draws of a run, but not its results; call again with the same "
                          f"data, options and checkpoint{then}")  # fmt: skip
    return StoreError(f"{path} contains an unfinished run ({kept} of {s['n_draws']} draws of each of "
                      f"{s['n_chains']} chains); call again with the same data, options and "
                      "checkpoint to finish it")  # fmt: skip


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
        if changes and (changes, record["data_type"]) != _BOOL:
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
    if kind == _TEXTS:
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
