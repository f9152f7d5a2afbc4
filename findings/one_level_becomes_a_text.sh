#!/usr/bin/env bash
# One would guess: a list of one text among the attributes of a Dataset, such as the levels ["never"] of an item, is a
# list again when it is read, as a list of two is.
# What happens (xarray 2026.9.0, h5netcdf 1.8.2, zarr 3.1.6): from a NetCDF file a list of one is its element:
# ["never"] is "never", [3] is 3, and an array of one number is a number. Lists of two texts are lists, lists of two
# numbers are arrays. From zarr all are lists, also what was an array. Nothing is said.
# Why it matters here: names of levels, columns and groups are kept in attributes. len(levels) is 5, and a loop over
# them has n, e, v, e, r; it goes wrong only for tables with one column, or one group. Such lists are kept as one text
# of JSON.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 xarray==2026.9.0 h5py==3.16.0 h5netcdf==1.8.2 zarr==3.1.6 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
print("xarray", version("xarray"), "h5netcdf", version("h5netcdf"), "zarr", version("zarr"))
attributes = {
    "one level": ["never"],
    "two levels": ["never", "often"],
    "one number": [3],
    "two numbers": [3, 4],
    "array of one": np.array([0.5]),
}
made = xr.Dataset({"x": ("row", [1, 2])}, attrs=attributes)
made.to_netcdf("x.nc", engine="h5netcdf")
made.to_zarr("x.zarr", zarr_format=2)
seen = {}
for name, read in {"NetCDF": xr.open_dataset("x.nc", engine="h5netcdf"), "zarr": xr.open_zarr("x.zarr")}.items():
    with read:
        seen[name] = dict(read.attrs)
    print(f"{name}: {seen[name]}")

assert seen["NetCDF"]["one level"] == "never" and seen["NetCDF"]["two levels"] == ["never", "often"]
assert np.ndim(seen["NetCDF"]["one number"]) == np.ndim(seen["NetCDF"]["array of one"]) == 0
assert np.ndim(seen["NetCDF"]["two numbers"]) == 1
assert seen["zarr"] == {k: np.asarray(v).tolist() for k, v in attributes.items()}
PYTHON
