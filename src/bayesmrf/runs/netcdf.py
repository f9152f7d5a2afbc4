"""Results exported to one netCDF file (HDF5), which ArviZ, R, Julia and MATLAB read."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import StoreError

if TYPE_CHECKING:
    import xarray as xr

SUFFIX = ".nc"
ENGINES = {"h5netcdf": ("h5netcdf", "h5py"), "netcdf4": ("netCDF4",)}  # of xarray, and the packages that each needs


def write(tree: xr.DataTree, path: Path, overwrite: bool) -> None:
    """Write results to a file, which is there when it is complete; other files are never replaced."""
    engine = _engine(path)
    if path.exists() or path.is_symlink():
        ours = path.is_file() and _is_ours(path, engine)
        if not (ours and overwrite):
            holds = "holds results already; give another path or set overwrite=True" if ours else (
                "exists and was not written by bayesmrf; give another path")  # fmt: skip
            raise StoreError(f"{path} {holds}")
    bare: dict[str, Any] = {"_FillValue": None}
    unfilled = {f"/{key}": {name: bare for name in group.dataset.variables} for key, group in tree.children.items()}
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.unlink(missing_ok=True)
        tree.to_netcdf(partial, engine=engine, encoding=unfilled)
        partial.replace(path)
    except OSError as e:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written ({e.strerror or e}); make room, or give another path") from e


def _engine(path: Path) -> Any:
    """Return the first engine of xarray for netCDF that is installed."""
    for name, packages in ENGINES.items():
        if all(find_spec(package) for package in packages):
            return name
    raise StoreError(f"{path}: a netCDF file needs h5netcdf or netCDF4; run pip install 'bayesmrf[netcdf]', or save to "
                     "a folder")  # fmt: skip


def _is_ours(path: Path, engine: str) -> bool:
    """Return whether a file has results of this package."""
    import xarray as xr

    try:
        with xr.open_dataset(path, engine=engine) as dataset:
            return bool(dataset.attrs.get("inference_library") == "bayesmrf")
    except Exception:  # HDF5 raises any exception on a file of another kind
        return False
