"""A run on disk: a zarr folder that a kill at any moment leaves whole.

Layout, all of it zarr groups and arrays::

    run.zarr/zarr.json                          what the folder holds: a checkpoint with its settings, or results
    run.zarr/checkpoint/chain_0/zarr.json       the chain's commit record
    run.zarr/checkpoint/chain_0/draws_2/groups  the draws between two commits, never touched again
    run.zarr/checkpoint/chain_0/state_1/...     State and generator, in two places by turns

A commit writes the new draws and then the State beside the last one; what makes it valid is the record, replaced in one
move. Whatever was half written is in nobody's record and is written again. Records carry a checksum, and those of the
arrays they stand for, since zarr reads a missing chunk as zeros.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from .errors import StoreError
from .files import check_path
from .identity import checksum, difference

FORMAT = 2
READABLE = (1, FORMAT)  # formats of results; a checkpoint of an older one cannot be continued
CHECKPOINT, RESULTS = "checkpoint", "results"
CHUNK = 2**26  # bytes of an array in one file, about
GROUP = {"zarr_format": 3, "node_type": "group"}


class Position(NamedTuple):
    """Where a chain stood at its last commit."""

    steps: int
    state: Any
    generator: np.ndarray


class ChainStore:
    """The commits of one chain.

    Parameters
    ----------
    folder : Path
        The chain's own folder; chains never write into another's.
    chain : int
        Its number, and
    run : str
        the checksum of its run, which are part of each commit: a folder of another chain is refused.
    """

    def __init__(self, folder: Path, chain: int, run: str) -> None:
        self.folder, self.whose = folder, {"run": run, "chain": chain}
        self.record: dict[str, Any] = {"steps": 0, "draws": [], "slot": 1, "run_time": 0.0}
        self.due = 0.0

    def load(self) -> Position | None:
        """Read the last commit; None before the first."""
        if not (self.folder / "zarr.json").exists():
            return None
        record = read_record(self.folder)["commit"]
        if {name: record[name] for name in self.whose} != self.whose:
            raise damaged(self.folder, "its commits are of another chain or run; it was copied or renamed")
        self.record = record
        arrays = _read_arrays(self.folder / f"state_{self.record['slot']}", self.record["digest"])
        state = _unflatten(self.record["state"], arrays)
        return Position(self.record["steps"], state, arrays["generator"])

    def load_draws(self) -> list[dict[str, np.ndarray]]:
        """Read the draws of all commits, in their order."""
        return [_read_arrays(self.folder / f"draws_{i}", digest) for i, digest in enumerate(self.record["draws"])]

    def commit(
        self, steps: int, state: Any, generator: np.ndarray, draws: Mapping[str, np.ndarray], run_time: float
    ) -> None:
        """Keep ``draws`` made since the last commit, the State after ``steps`` steps, and the generator."""
        began = time.monotonic()
        arrays: dict[str, np.ndarray] = {"generator": generator}
        spec, digests, slot = _flatten(state, "state", arrays), list(self.record["draws"]), 1 - self.record["slot"]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(len(a) for a in draws.values()):
                digests.append(_write_arrays(self.folder / f"draws_{len(digests)}", draws))
            digest = _write_arrays(self.folder / f"state_{slot}", arrays)
            record = self.whose | {
                "steps": steps,
                "draws": digests,
                "slot": slot,
                "digest": digest,
                "state": spec,
                "run_time": run_time,
            }
            write_record(self.folder, {"commit": record})
        except OSError as e:
            raise StoreError(f"checkpoint: cannot write {self.folder} ({e}); make room on the disk and call again: "
                             "the run continues from its last commit") from e  # fmt: skip
        self.record, now = record, time.monotonic()
        self.due = now + pause(run_time, now - began)


def pause(run_time: float, cost: float) -> float:
    """Seconds from a commit to the next: a kill may lose 2 % of a long run, and commits may take 2 % of its time."""
    return max(2.0, 0.02 * run_time, 50 * cost)


def open_checkpoint(
    path: Path, settings: dict[str, Any], fresh_seed: dict[str, Any], overwrite: bool
) -> tuple[dict[str, Any], list[ChainStore]]:
    """Open the checkpoint of a run, or begin one.

    Parameters
    ----------
    path : Path
        Folder, made if it is not there.
    settings : dict
        Plain JSON values that make the run what it is, in the order in which they are compared; ``identity`` is that of
        its kernel (`bayesmrf.identity.record_of`). A seed of None stands for the one in the store; ``n_draws`` may be
        larger than in the store.
    fresh_seed : dict
        Stands for a seed of None where nothing is stored.
    overwrite : bool
        Begin anew where another run, or results, are.

    Returns
    -------
    settings : dict
        With the seed that holds.
    chains : list of ChainStore

    Raises
    ------
    StoreError
        If the folder is not ours, holds another run or results, is damaged, or cannot be written.
    """
    settings = json.loads(json.dumps(settings))
    if is_ours(path) and not overwrite:
        if what(path) == RESULTS:
            raise StoreError(
                f"checkpoint: {path} holds finished results; load them, give another path, or set overwrite=True"
            )
        stored = read_record(path)["bayesmrf"]["settings"]
        settings["seed"] = settings["seed"] or stored["seed"]
        _compare(path, settings, stored)
        settings = stored | {"n_draws": settings["n_draws"]}
    else:
        settings["seed"] = settings["seed"] or fresh_seed
    try:
        path.mkdir(parents=True, exist_ok=True)
        if overwrite:
            clear(path)
        write_record(path, {"bayesmrf": {"format": FORMAT, "holds": CHECKPOINT, "settings": settings}})
        (path / CHECKPOINT).mkdir(exist_ok=True)
        write_record(path / CHECKPOINT, {})
    except OSError as e:
        raise StoreError(f"checkpoint: {path} cannot be written ({e}); give a folder that can be made") from e
    run = checksum({name: value for name, value in settings.items() if name != "n_draws"})
    return settings, [ChainStore(path / CHECKPOINT / f"chain_{i}", i, run) for i in range(settings["n_chains"])]


def is_ours(path: Path) -> bool:
    """Whether ``path`` holds a store of this package; False where nothing is.

    Raises
    ------
    StoreError
        If there is something that this package did not write.
    """
    check_path(path)
    if not path.exists() and not path.is_symlink():
        return False
    if not path.is_dir():
        raise StoreError(f"{path} is a file, a folder is wanted; give another path")
    if all(p.name.endswith(".partial") for p in path.iterdir()):
        return False
    try:
        ours = "bayesmrf" in json.loads((path / "zarr.json").read_bytes())["attributes"]
    except (OSError, ValueError, KeyError, TypeError):
        ours = False
    if not ours:
        raise StoreError(f"{path} is not a store of bayesmrf, or its zarr.json is damaged, and is left as it is; "
                         "give another path, or remove it yourself")  # fmt: skip
    return True


def what(path: Path) -> str:
    """What a store of ours holds: `CHECKPOINT` or `RESULTS`."""
    marker = read_record(path)["bayesmrf"]
    if marker["format"] not in READABLE:
        raise StoreError(f"{path} has store format {marker['format']}, which this version cannot read; use the version "
                         "that wrote it")  # fmt: skip
    if marker["holds"] == CHECKPOINT and marker["format"] != FORMAT:
        raise StoreError(f"{path} holds an unfinished run of an older version, which this one cannot continue; finish "
                         "it with that version, give another path, or set overwrite=True")  # fmt: skip
    return marker["holds"]


def progress_of(path: Path) -> tuple[int, dict[str, Any]]:
    """Steps of the shortest chain of a checkpoint, and its settings."""
    settings = read_record(path)["bayesmrf"]["settings"]
    folders = [path / CHECKPOINT / f"chain_{i}" for i in range(settings["n_chains"])]
    return min(read_record(f)["commit"]["steps"] if (f / "zarr.json").exists() else 0 for f in folders), settings


def publish(path: Path, partial: Path, marker: Mapping[str, Any]) -> None:
    """Make the zarr group ``partial``, a folder inside ``path``, what ``path`` holds, and drop what it held before.

    Until the record of ``path`` is replaced a checkpoint in it stays valid.
    """
    attributes = json.loads((partial / "zarr.json").read_bytes())["attributes"]
    _sync(partial)
    children = [p for p in partial.iterdir() if p.is_dir()]
    for child in children:
        _remove(path / child.name)
        child.rename(path / child.name)
    write_record(path, {**attributes, "bayesmrf": {"format": FORMAT, "holds": RESULTS, **marker}})
    clear(path, keep={"zarr.json", *(c.name for c in children)})


def clear(path: Path, keep: set[str] | frozenset[str] = frozenset()) -> None:
    """Remove what this package wrote into ``path``, its record last; anything else in the folder stays."""
    for p in path.iterdir():
        if p.name not in keep and ((p / "zarr.json").exists() or p.name.endswith(".partial")):
            _remove(p)
    if "zarr.json" not in keep:
        (path / "zarr.json").unlink(missing_ok=True)


def write_record(folder: Path, attributes: Mapping[str, Any]) -> None:
    """Replace the attributes of a zarr group in one move, with their checksum."""
    body = {**attributes, "checksum": checksum(attributes)}
    partial = folder / "zarr.json.partial"
    with partial.open("w") as f:
        json.dump({**GROUP, "attributes": body}, f)
        f.flush()
        os.fsync(f.fileno())
    partial.replace(folder / "zarr.json")
    _sync(folder, deep=False)


def read_record(folder: Path) -> dict[str, Any]:
    """Attributes of a zarr group that `write_record` wrote.

    Raises
    ------
    StoreError
        If they are missing or damaged.
    """
    try:
        attributes = json.loads((folder / "zarr.json").read_bytes())["attributes"]
        written = attributes.pop("checksum")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise damaged(folder / "zarr.json", f"it cannot be read ({type(e).__name__})") from e
    if written != checksum(attributes):
        raise damaged(folder / "zarr.json", "its checksum is wrong")
    return attributes


def damaged(place: Path, reason: str) -> StoreError:
    """The error for a store that was cut short or changed."""
    return StoreError(f"{place} is damaged: {reason}; bring the folder back from a copy, or begin anew with "
                      "overwrite=True or another path")  # fmt: skip


def digest_of(arrays: Mapping[str, np.ndarray]) -> str:
    """Checksum of names, types, shapes and contents."""
    h = hashlib.blake2b(digest_size=16)
    for name in sorted(arrays):
        a = arrays[name]
        if a.dtype.kind in "OTU":
            a = np.frombuffer("\0".join(map(str, a.ravel())).encode(), np.uint8)
        h.update(f"{name}{a.dtype.str}{a.shape}".encode())
        h.update(np.ascontiguousarray(a).reshape(-1).view(np.uint8).data)
    return h.hexdigest()


def _compare(path: Path, settings: dict[str, Any], stored: dict[str, Any]) -> None:
    """Refuse a checkpoint of another run, naming the first setting that differs."""

    def flat(s: dict[str, Any]) -> dict[str, Any]:
        rest = {name: s[name] for name in ("n_chains", "n_warmup", "thin", "seed", "n_draws")}
        return {"version": s["version"], "kernel": s["kernel"], **s["identity"], **rest}

    more = max(settings["n_draws"], stored["n_draws"])  # a run may become longer
    found = difference(flat(settings), flat(stored | {"n_draws": more}))
    if found:
        raise StoreError(f"checkpoint: {path} belongs to another run: {found}; give another path, the settings of that "
                         "run, or overwrite=True")  # fmt: skip


def _write_arrays(folder: Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Write a group of arrays anew; return their digest."""
    import zarr  # slow to import, and not wanted without checkpoints

    _remove(folder)
    group = zarr.create_group(folder)
    for name, a in arrays.items():
        row = max(1, a[:1].nbytes) if a.ndim else 1
        chunks = tuple(max(1, n) for n in (min(a.shape[0], CHUNK // row), *a.shape[1:])) if a.ndim else ()
        group.create_array(name, shape=a.shape, dtype=a.dtype, chunks=chunks)[...] = a
    _sync(folder)
    return digest_of(arrays)


def _read_arrays(folder: Path, digest: str) -> dict[str, np.ndarray]:
    """Read a group of arrays and check their digest."""
    import zarr

    try:
        names = sorted(p.name for p in folder.iterdir() if p.is_dir())
        arrays = {name: np.asarray(zarr.open_array(folder / name, mode="r")[...]) for name in names}
    except Exception as e:  # zarr and its codecs raise what they please on a damaged file
        raise damaged(folder, f"zarr cannot read it ({type(e).__name__})") from e
    if digest_of(arrays) != digest:
        raise damaged(folder, "the contents are not those that were written")
    return arrays


def _flatten(value: Any, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Put the arrays of a State into ``arrays`` and describe the rest in plain JSON values."""
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        a = arrays[name] = np.asarray(value)
        # The order of summation, and with it the last bit, can depend on the order of the axes.
        fortran = a.flags.f_contiguous and not a.flags.c_contiguous
        return {"array": name, "fortran": fortran, "scalar": isinstance(value, np.generic)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        if _find(kind) is type(value):
            return {
                "type": kind,
                "fields": {f: _flatten(getattr(value, f), f"{name}.{f}", arrays) for f in value._fields},
            }
    raise TypeError(f"{name}: a {type(value).__qualname__} cannot be kept in a checkpoint; State holds arrays, "
                    "numbers, None and NamedTuples of them, whose classes stand at the top of a module")  # fmt: skip


def _unflatten(spec: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Inverse of `_flatten`."""
    if "array" in spec:
        a = arrays[spec["array"]]
        return a[()] if spec["scalar"] else _aligned(a, "F" if spec["fortran"] else "C")
    if "type" in spec:
        kind = _find(spec["type"])
        fields = {f: _unflatten(s, arrays) for f, s in spec["fields"].items()}
        if getattr(kind, "_fields", None) != tuple(fields):
            raise StoreError(f"checkpoint: the State {spec['type']} is not known here, or has other fields; "
                             "use the version and the kernel that wrote it, or overwrite=True")  # fmt: skip
        return kind(**fields)
    return spec["value"]


def _aligned(a: np.ndarray, order: Literal["C", "F"]) -> np.ndarray:
    """A copy that begins on a cache line, as the lanes of a fresh run do."""
    memory = np.empty(a.nbytes + 64, np.uint8)
    out = memory[-memory.ctypes.data % 64 :][: a.nbytes].view(a.dtype).reshape(a.shape, order=order)
    out[...] = a
    return out


def _find(kind: str) -> Any:
    """A class among the modules that are loaded: a name in a file never makes this package import anything."""
    module, _, name = kind.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _remove(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    else:
        folder.unlink(missing_ok=True)


def _sync(folder: Path, deep: bool = True) -> None:
    """Bring a folder to the disk, so that a record never gets there before what it stands for."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    for p in [*(folder.rglob("*") if deep else ()), folder]:
        handle = os.open(p, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
