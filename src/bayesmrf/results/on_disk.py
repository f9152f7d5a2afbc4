"""Results on disk: a record with the structure of a tree, and one .npz file of its arrays.

An array is the member ``group/name`` of the file, which `numpy.load` reads. Texts, such as the names of edges, are in
the record, and many of them in the file: as bytes of UTF-8, with a zero between two of them. Of results from strangers
the record, the directory of the file and the headers of its arrays are compared with each other, and with what this
module writes, before anything is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StoreError, argument, in_python
from ..runs.chain import Plan
from ..runs.checkpoint import UNTIL_GOOD, steps_of
from ..runs.draws import SparseDraws, SparseRows, is_packed
from ..runs.lock import hold
from ..runs.sealed import Array, Arrays, Member, as_written, check_json, open_arrays, read_record, write_arrays
from ..runs.store import ARRAYS, CHECKPOINT, RECORD, is_ours, place_of_arrays, publish, read_kind

if TYPE_CHECKING:
    import xarray as xr

GROUPS = (
    "posterior", "sample_stats", "observed_data", "constant_data", "posterior_predictive", "mode_check",
    "log_likelihood", "log_prior", "normaliser", "loo", "prediction", "predictive_checks", "sensitivity",
    "edge_evidence",
)  # fmt: skip
_NEEDED = {"posterior", "observed_data", "constant_data"}
_NAME = re.compile(r"[^/\0]{1,100}")  # of a variable, a dimension or an attribute
_ENTRIES, _MAY_BE = {"dims", "shape", "type", "coordinate", "attributes"}, {"texts", "sparse"}
_TEXT = "text"
_IN_RECORD = 2**14  # characters of texts that are in the record
_LONGEST = 2**25  # bytes of texts in the file, or so many times what they take on the disk:
_DENSEST_TEXT = 16
_MOST = 2**20  # texts, and entries along an axis, or as many as the file has bytes
_MOST_VARIABLES = 2**8  # of a group
_BLOCK = 2**22  # bytes of draws that are read together


def plain(value: Any) -> Any:
    """Return an attribute as all formats have it: a text, a float or an integer, of Python and not of numpy."""
    value = value.item() if isinstance(value, np.generic | np.ndarray) and np.size(value) == 1 else value
    return int(value) if isinstance(value, bool) else value


# Written


def write(tree: xr.DataTree, path: Path, overwrite: bool) -> None:
    """Replace the content of a folder; what it contains stays valid until the new results are complete."""
    if is_ours(path) and not overwrite:
        holds = "a checkpoint" if read_kind(path) == CHECKPOINT else "results"
        remedy = f"give another path or set {argument('overwrite', True)}"
        raise StoreError(f"{path} contains {holds} already; {remedy}")
    record, arrays = _described(tree)
    with hold(path):
        name = next(name for name in ARRAYS if not is_ours(path) or name != _arrays_of(path))
        partial = path / f"{name}.partial"
        try:
            digest = write_arrays(partial, arrays)
            _check_readable(partial, record)
            publish(path, name, record | {"arrays": [name, digest]})
        except OSError as e:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise StoreError(f"{path} cannot be written ({e.strerror or e}); make room, or give another path") from e


def _check_readable(arrays: Path, record: Mapping[str, Any]) -> None:
    """Refuse results that `read` would refuse, such as those with attributes of a user that are lists."""
    try:
        with open_arrays(arrays) as stored:
            _Wanted(record, stored)
    except StoreError as e:
        arrays.unlink()
        raise StoreError(f"these results cannot be stored: {e.__cause__}; give them names, attributes and arrays as "
                         "functions of bayesmrf do") from e  # fmt: skip


def _arrays_of(path: Path) -> Any:
    """Find the name of the file of arrays of results; None if there are none, or if they are damaged."""
    with suppress(StoreError):
        return read_record(path / RECORD).get("arrays", [None])[0]


def _described(tree: xr.DataTree) -> tuple[dict[str, Any], dict[str, np.ndarray | Array]]:
    """Describe the structure of a tree, and collect its arrays by the names of their members."""
    arrays: dict[str, np.ndarray | Array] = {}
    groups: dict[str, Any] = {}
    for group, node in tree.children.items():
        if group not in GROUPS or node.children:
            raise StoreError(f"the group {group!r:.80} is none that bayesmrf makes, and cannot be stored; remove it "
                             "from the tree")  # fmt: skip
        data = node.dataset
        variables = {str(name): _variable(f"{group}/{name}", v, arrays) for name, v in data.variables.items()}
        for name, about in variables.items():
            about["coordinate"] = name in data.coords
        groups[group] = {"attributes": _attributes(node.attrs, f"{group}/", arrays), "variables": variables}
    return {"attributes": _attributes(tree.attrs, "", arrays), "groups": groups}, arrays


def _variable(name: str, v: xr.Variable, arrays: dict[str, np.ndarray | Array]) -> dict[str, Any]:
    """Describe a variable, and add its array."""
    from .sparse_array import draws_of

    about: dict[str, Any] = {"dims": list(v.dims), "shape": list(v.shape), "type": v.dtype.str}
    about["attributes"] = {str(key): plain(value) for key, value in v.attrs.items()}
    sparse = draws_of(v)
    if sparse is not None:
        about["sparse"] = sparse.dtype.str
        arrays[name] = Array(v.dtype, v.shape, _in_turn(v))
    elif v.dtype.kind in "biufc":
        arrays[name] = v.values
    else:
        about["type"], texts = _TEXT, v.values.ravel().tolist()
        if not all(isinstance(text, str) for text in texts):
            raise StoreError(f"the variable {name!r:.80} has values that are neither numbers nor texts, and cannot be "
                             "stored; make them texts")  # fmt: skip
        if sum(map(len, texts)) <= _IN_RECORD or any("\0" in text for text in texts):
            about["texts"] = texts
        else:
            arrays[name] = _encoded("\0".join(texts))
    return about


def _in_turn(v: xr.Variable) -> Iterator[np.ndarray]:
    """Read draws, chain after chain, in blocks."""
    width = max(1, _BLOCK // max(1, v.dtype.itemsize * prod(v.shape[2:])))
    for chain in range(v.shape[0]):
        for start in range(0, v.shape[1], width):
            yield v[chain, start : start + width].values


def _attributes(values: Mapping[Any, Any], prefix: str, arrays: dict[str, np.ndarray | Array]) -> dict[str, Any]:
    """Convert attributes to plain values, and move long texts to the arrays."""
    attributes = {str(name): plain(value) for name, value in values.items()}
    for name, value in attributes.items():
        try:
            _check_text_of(value)
        except ValueError as e:
            raise StoreError(f"the attribute {name!r:.80} cannot be stored: {e}; give options that are smaller") from e
        if isinstance(value, str) and len(value) > _IN_RECORD and _NAME.fullmatch(name):
            arrays[f"{prefix}attributes/{name}"] = _encoded(value)
            attributes[name] = None
    return attributes


def _encoded(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)


# Read


def read(path: Path) -> xr.DataTree:
    """Read results into memory."""
    import xarray as xr

    if not is_ours(path):
        what = "contains no results" if path.exists() else "does not exist"
        raise StoreError(f"{path} {what}; give the path that a run was written to")
    if read_kind(path) == CHECKPOINT:
        raise _unfinished(path)
    with as_written(path):
        record = read_record(path / RECORD)
        name, digest = record["arrays"]
        with open_arrays(place_of_arrays(path, name)) as stored:
            wanted = _Wanted(record, stored)
            stored.verify(digest)
            tree = xr.DataTree.from_dict({group: wanted.dataset(group) for group in record["groups"]})
            tree.attrs = wanted.attributes("")
    return tree


class _Wanted:
    """The structure of results in a record, which is compared with the file of arrays before anything is decoded."""

    def __init__(self, record: Mapping[str, Any], stored: Arrays) -> None:
        self.record, self.stored, self.groups = record, stored, record["groups"]
        if not _NEEDED <= set(self.groups) <= set(GROUPS):
            raise ValueError("it has other groups")
        self.members = set[str]()
        self._check_attributes("")
        for group, about in self.groups.items():
            if set(about) != {"attributes", "variables"} or len(about["variables"]) > _MOST_VARIABLES:
                raise ValueError(f"the group {group} is another one")
            self._check_attributes(f"{group}/")
            sizes: dict[str, int] = {}
            for name, v in about["variables"].items():
                self._check_variable(group, name, v, sizes)
        if more := sorted(set(stored.members) - self.members):
            raise ValueError(f"additional arrays: {', '.join(more):.80}")

    def _check_variable(self, group: str, name: str, v: Mapping[str, Any], sizes: dict[str, int]) -> None:
        place = f"{group}/{name}"
        dims, shape, kind = v["dims"], v["shape"], v["type"]
        if not _ENTRIES <= set(v) <= _ENTRIES | _MAY_BE or not isinstance(v["coordinate"], bool):
            raise ValueError(f"{place} has other entries")
        named = all(isinstance(text, str) and _NAME.fullmatch(text) for text in (name, *dims))
        if not named or len(set(dims)) < len(dims) or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"{place} has other dimensions")
        for dim, n in zip(dims, shape, strict=True):
            if sizes.setdefault(dim, n) != n or (0 in shape and n > _MOST):
                raise ValueError(f"{place} has another size along {dim}")
        if not all(isinstance(value, str | int | float) for value in v["attributes"].values()):
            raise ValueError(f"{place} has other attributes")
        if "texts" in v:
            if kind != _TEXT or len(v["texts"]) != prod(shape) or not all(isinstance(t, str) for t in v["texts"]):
                raise ValueError(f"{place} has other texts")
            return
        m = self._member(place)
        if kind == _TEXT:
            self._check_text(place, prod(shape))
        elif (m.dtype.str, m.shape) != (kind, tuple(shape)):
            raise ValueError(f"{place} has another type or shape in the file")
        if "sparse" in v and not is_packed(v["sparse"], kind, m.shape, m.fortran):
            raise ValueError(f"{place} is not sparse")

    def _member(self, place: str) -> Member:
        if place not in self.stored.members:
            raise ValueError(f"{place} is missing")
        self.members.add(place)
        return self.stored.members[place]

    def _check_text(self, place: str, n: int) -> None:
        m = self._member(place)
        most = max(_LONGEST, _DENSEST_TEXT * m.info.compress_size)
        if m.dtype != np.uint8 or m.info.file_size > most or n > max(_MOST, m.info.compress_size):
            raise ValueError(f"{place} has too long texts")

    def _check_attributes(self, prefix: str) -> None:
        """Check attributes, and the texts among them that are JSON, of which functions decode some later."""
        attributes = self._about(prefix)
        for name, value in attributes.items():
            if value is None:
                self._check_text(f"{prefix}attributes/{name}", 1)
            elif not isinstance(value, str | int | float):
                raise TypeError(f"the attribute {name} is neither text nor number")
            else:
                _check_text_of(value)

    def _about(self, prefix: str) -> dict[str, Any]:
        attributes: dict[str, Any] = (self.groups[prefix[:-1]] if prefix else self.record)["attributes"]
        return attributes

    def attributes(self, prefix: str) -> dict[str, Any]:
        """Read the attributes of a group, or those of the tree."""
        attributes = {
            name: self._text(f"{prefix}attributes/{name}") if value is None else value
            for name, value in self._about(prefix).items()
        }
        for value in attributes.values():
            _check_text_of(value)
        return attributes

    def dataset(self, group: str) -> xr.Dataset:
        """Read a group."""
        import xarray as xr

        about = self.groups[group]["variables"]
        read = {name: self._read(f"{group}/{name}", v) for name, v in about.items()}
        coords = {name: v for name, v in read.items() if about[name]["coordinate"]}
        data = {name: v for name, v in read.items() if name not in coords}
        return xr.Dataset(data, coords, self.attributes(f"{group}/"))

    def _read(self, place: str, v: Mapping[str, Any]) -> xr.Variable:
        import xarray as xr

        from .sparse_array import variable

        dims, shape = v["dims"], tuple(v["shape"])
        if "sparse" in v:
            draws = variable(dims, self._draws(place, shape, np.dtype(v["sparse"])))
            draws.attrs = dict(v["attributes"])
            return draws
        if v["type"] != _TEXT:
            return xr.Variable(dims, self.stored.read(place), v["attributes"])
        texts = v["texts"] if "texts" in v else self._texts(place, prod(shape))
        values = np.empty(len(texts), dtype=object)
        values[:] = texts
        return xr.Variable(dims, values.reshape(shape), v["attributes"])

    def _text(self, place: str) -> str:
        return self.stored.read(place).tobytes().decode("utf-8", "surrogatepass")

    def _texts(self, place: str, n: int) -> list[str]:
        data = self.stored.read(place)
        if np.count_nonzero(data == 0) != n - 1:
            raise ValueError(f"{place} has another number of texts")
        return data.tobytes().decode("utf-8", "surrogatepass").split("\0")

    def _draws(self, place: str, shape: tuple[int, ...], dtype: np.dtype) -> SparseDraws:
        """Read draws that are mostly zeros: no more of them than a block is an array at a time."""
        of_draw = prod(shape[2:]) * dtype.itemsize
        blocks = self.stored.blocks(place, of_draw * max(1, _BLOCK // of_draw))
        chains = [SparseRows(shape[2:], dtype) for _ in range(shape[0])]
        at = 0
        for data in blocks:
            draws = np.frombuffer(data, dtype).reshape(-1, *shape[2:])
            if dtype.kind == "b" and np.frombuffer(data, np.uint8).max() > 1:
                raise ValueError(f"{place} has numbers other than 0 and 1")
            while len(draws):
                chain, first = divmod(at, shape[1])
                part = draws[: shape[1] - first]
                chains[chain].extend(part)
                draws, at = draws[len(part) :], at + len(part)
        return SparseDraws([rows.parts(shape[1]) for rows in chains], shape, dtype)


def _check_text_of(value: Any) -> None:
    """Check an attribute that may be JSON, of which functions make values later."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        check_json(value)


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
