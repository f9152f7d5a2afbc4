"""Results in one netCDF file (HDF5), instead of a zarr folder.

The attribute ``bayesmrf`` of the file has the checksums that the record of a folder has. Values are read as they are
written: no attribute scales or decodes them, and HDF5 has no pickled objects. Files that ``tree.to_netcdf`` wrote have
no checksums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StoreError
from .identity import checksum
from .store import DENSEST, FORMAT, FREE, as_written

if TYPE_CHECKING:
    import xarray as xr

SUFFIX = ".nc"
ENGINES = {"h5netcdf": ("h5netcdf", "h5py"), "netcdf4": ("netCDF4",)}  # of xarray, and the packages that each needs
_AS_WRITTEN: Any = {"mask_and_scale": False, "decode_times": False, "decode_timedelta": False}
_MARK = "bayesmrf"


def write(tree: xr.DataTree, path: Path, marker: Mapping[str, Any], overwrite: bool) -> None:
    """Write results to a file, which is there when it is complete; other files are never replaced."""
    engine = _engine(path)
    if path.exists() or path.is_symlink():
        ours = path.is_file() and _is_ours(path, engine)
        if not (ours and overwrite):
            holds = "holds results already; give another path or set overwrite=True" if ours else (
                "exists and was not written by bayesmrf; give another path")  # fmt: skip
            raise StoreError(f"{path} {holds}")
    attrs = {name: plain(value) for name, value in tree.attrs.items() if name != _MARK}
    record = {"format": FORMAT, **marker}
    record["checksum"] = checksum([attrs, record])
    marked = tree.copy()
    marked.attrs = attrs | {_MARK: json.dumps(record)}
    bare: dict[str, Any] = {"_FillValue": None}
    unfilled = {f"/{key}": {name: bare for name in group.dataset.variables} for key, group in marked.children.items()}
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        marked.to_netcdf(partial, engine=engine, encoding=unfilled)
        partial.replace(path)
    except OSError as e:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written ({e.strerror or e}); make room, or give another path") from e


def read(path: Path) -> tuple[xr.DataTree, dict[str, str] | None]:
    """Read results into memory; return them, and the checksums of their arrays, if the file has some."""
    import xarray as xr

    engine = _engine(path)
    try:
        with xr.open_datatree(path, engine=engine, **_AS_WRITTEN) as f:
            sizes = [v.size * v.dtype.itemsize for node in f.subtree for v in node.dataset.variables.values()]
            if sum(sizes) > max(FREE, DENSEST * path.stat().st_size):
                raise ValueError(f"its arrays would take {sum(sizes):.3g} bytes in memory")
            tree = xr.DataTree.from_dict({key: node.to_dataset().load() for key, node in f.children.items()})
            attrs = {name: plain(value) for name, value in f.attrs.items()}
        for node in tree.subtree:
            node.attrs = {name: plain(value) for name, value in node.attrs.items()}
            for v in node.dataset.variables.values():
                is_text = v.dtype != object or all(type(text) is str for text in v.values.flat)
                if v.dtype.kind not in "biufOTU" or not is_text:
                    raise ValueError("an array is neither of numbers nor of text")
    except Exception as e:  # xarray, HDF5 and its filters raise any exception on a damaged file
        raise _damaged(path, f"{engine} cannot read it ({type(e).__name__}: {e!s:.200})") from e
    tree = tree.map_over_datasets(_unfilled)
    digests = None
    if _MARK in attrs:
        with as_written(path):
            record = json.loads(attrs.pop(_MARK))
            if record["format"] != FORMAT:
                raise StoreError(f"{path} has store format {record['format']!s:.9}, which this version cannot read; "
                                 "use the version that wrote it")  # fmt: skip
            digests, written = dict(record["digests"]), record.pop("checksum")
            if written != checksum([attrs, record]):
                raise _damaged(path, "its checksum is wrong")
    tree.attrs = attrs
    return tree, digests


def plain(value: Any) -> Any:
    """Return an attribute as all formats have it: a text, a float or an integer, of Python and not of numpy."""
    value = value.item() if isinstance(value, np.generic | np.ndarray) and np.size(value) == 1 else value
    return int(value) if isinstance(value, bool) else value


def _unfilled(data: xr.Dataset) -> xr.Dataset:
    """Return a dataset without what the format added to its arrays."""
    data = data.drop_encoding()
    for v in data.variables.values():
        v.attrs = {name: plain(value) for name, value in v.attrs.items() if name != "_FillValue"}
    return data


def _engine(path: Path) -> Any:
    """Return the first engine of xarray for netCDF that is installed."""
    for name, packages in ENGINES.items():
        if all(find_spec(package) for package in packages):
            return name
    raise StoreError(f"{path}: a netCDF file needs h5netcdf or netCDF4; run pip install 'bayesmrf[netcdf]', or use a "
                     "zarr folder")  # fmt: skip


def _is_ours(path: Path, engine: str) -> bool:
    """Return whether a file has results of this package."""
    import xarray as xr

    try:
        with xr.open_dataset(path, engine=engine) as found:
            return _MARK in found.attrs or found.attrs.get("inference_library") == _MARK
    except Exception:  # as for `read`
        return False


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(f"{path} is damaged, or has no results: {reason}; restore it from a copy, or give another path")
