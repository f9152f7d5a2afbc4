#!/usr/bin/env bash
# One would guess: times and durations that are appended to a store are written in its unit, rounded at worst, and the
# warning "can't be serialized faithfully with requested units 'hours'. Serializing with units 'minutes' instead" says
# that they keep their values.
# What happens (xarray 2026.9.0, zarr 3.1.6): the numbers are those of the finer unit, and the unit in the store stays
# what it was. Durations of 1 and 2 hours, to which 90 and 180 minutes are appended, are read as 1, 2, 90 and 180
# hours. A date in January 2020 is read as one in December 2029, since 3,630 minutes become as many days. It is so
# with append_dim and with region.
# Why it matters here: a panel grows by waves, whose first part has whole days and a later one has times of day. Unit
# and reference date have to be given in the first call, as the finest that will be needed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 xarray==2026.9.0 zarr==3.1.6 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import xarray as xr
import zarr

print("xarray", xr.__version__, "zarr", zarr.__version__)


def read_after(first, second, **where):
    """Return all values after a second part was written, and the warning."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        xr.Dataset({"x": ("wave", first)}).to_zarr("x.zarr", mode="w", zarr_format=2)
        xr.Dataset({"x": ("wave", second)}).to_zarr("x.zarr", **where)
        with xr.open_zarr("x.zarr") as read:
            return read["x"].values, [str(w.message)[:90] for w in told if "faithfully" in str(w.message)]


hours = np.array([60, 120], "m8[m]").astype("m8[ns]")
minutes = np.array([90, 180], "m8[m]").astype("m8[ns]")
days = np.array(["2020-01-01", "2020-01-02"], "M8[ns]")
noon = np.array(["2020-01-03T12:30", "2020-01-04"], "M8[ns]")
durations, said = read_after(hours, minutes, append_dim="wave")
print("durations in minutes:", durations.astype("m8[m]").astype(int).tolist(), said)
dates, said_of_dates = read_after(days, noon, append_dim="wave")
print("dates:", dates.astype("M8[m]").astype(str).tolist(), said_of_dates)
replaced, _ = read_after(hours, minutes, region={"wave": slice(0, 2)})
print("durations in a region, in minutes:", replaced.astype("m8[m]").astype(int).tolist())

assert durations.astype("m8[m]").astype(int).tolist() == [60, 120, 90 * 60, 180 * 60]
assert dates.astype("M8[D]").astype(str).tolist() == ["2020-01-01", "2020-01-02", "2029-12-09", "2031-10-30"]
assert replaced.astype("m8[m]").astype(int).tolist() == [90 * 60, 180 * 60]
assert len(said) == len(said_of_dates) == 1
PYTHON
