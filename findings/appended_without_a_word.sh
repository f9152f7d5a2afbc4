#!/usr/bin/env bash
# One would guess: to_zarr with append_dim refuses draws of another type than those that the store has, as it does for
# texts of another length ("Mismatched dtypes").
# What happens (xarray 2026.9.0, zarr 3.1.6): only texts are compared. Numbers are cast to the type of the store: 300
# and -200 appended to int8 are 44 and 56, -1 appended to uint8 is 255, and 2 and 0.5 appended to booleans are True,
# all without a warning. NaN appended to int64 is the smallest integer, with one.
# Why it matters here: runs are continued, and the first part decides the type. Answers in int8, counts, or edges that
# were stored as booleans are changed when the second part is of another type, such as counts beyond 127.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 xarray==2026.9.0 zarr==3.1.6 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import xarray as xr
import zarr

warnings.filterwarnings("ignore", "Consolidated metadata")
print("xarray", xr.__version__, "zarr", zarr.__version__)


def appended(first, second):
    """Return what is read of the second part, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "Consolidated metadata")
        xr.Dataset({"x": ("draw", first)}).to_zarr("x.zarr", mode="w", zarr_format=2)
        try:
            xr.Dataset({"x": ("draw", second)}).to_zarr("x.zarr", append_dim="draw")
        except ValueError as e:
            return str(e).split(" for ")[0], 0
        with xr.open_zarr("x.zarr") as read:
            return read["x"].values[len(first):].tolist(), len(told)


cases = {
    "texts": (np.array(["a", "b"]), np.array(["never"])),
    "int8": (np.array([1, 2], np.int8), np.array([300, -200])),
    "uint8": (np.array([1, 2], np.uint8), np.array([-1, 3], np.int8)),
    "bool": (np.array([True, False]), np.array([2.0, 0.5, 0.0])),
    "int64": (np.array([1, 2]), np.array([np.nan, 3.0])),
}
seen = {name: appended(*parts) for name, parts in cases.items()}
for name, (first, second) in cases.items():
    print(f"{second.tolist()} appended to {first.dtype}: {seen[name][0]}, warnings: {seen[name][1]}")

assert seen["texts"][0] == "Mismatched dtypes"
assert seen["int8"] == ([44, 56], 0)
assert seen["uint8"] == ([255, 3], 0)
assert seen["bool"] == ([True, True, False], 0)
assert seen["int64"][0][0] < -(2**62) and seen["int64"][1] > 0
PYTHON
