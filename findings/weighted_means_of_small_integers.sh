#!/usr/bin/env bash
# One would guess: x.weighted(w).mean() of xarray is a mean, between the smallest and the largest value, whatever
# integers x and w are kept in, as x.mean() and x.sum() are: they add up in 64 bits.
# What happens (xarray 2026.9.0, NumPy 2.4.6): products and sums of weights are computed in the type of the data and the
# weights. Three hundred ones with weights 1 in int8 have the mean 6.8, since the sum of the weights is 300 - 256 = 44.
# The values 100, 100, 100 in int8 with weights True, True, False have the weighted sum -56 and the mean -28. There is
# no warning; with weights in int64 or float64 all is right.
# Why it matters here: answers are kept in int8, counts of rows and indicators of groups in small integers and booleans.
# Whoever weights draws or answers of a stored run by these must convert one of them first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 xarray==2026.9.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import xarray as xr

warnings.simplefilter("error")
print("xarray", xr.__version__, "NumPy", np.__version__)
ones, hundreds = xr.DataArray(np.ones(300), dims="row"), xr.DataArray(np.full(3, 100, np.int8), dims="row")
some = xr.DataArray([True, True, False], dims="row")
seen = {}
for kind in ("int8", "int64", "float64"):
    weighted = ones.weighted(xr.ones_like(ones, dtype=kind))
    seen[kind] = (float(weighted.sum_of_weights()), round(float(weighted.mean()), 3))
    print(f"300 ones with weights 1 in {kind}: sum of weights {seen[kind][0]:g}, mean {seen[kind][1]}")
for kind in ("bool", "int64"):
    weighted = hundreds.weighted(some.astype(kind))
    seen["100", kind] = (int(weighted.sum()), float(weighted.mean()))
    print(f"100, 100, 100 in int8 with weights {some.values.tolist()} in {kind}: sum, mean {seen['100', kind]}")
print("without weights:", int(hundreds.sum()), float(hundreds.mean()))

assert seen == {
    "int8": (44, 6.818),
    "int64": (300, 1.0),
    "float64": (300, 1.0),
    ("100", "bool"): (-56, -28.0),
    ("100", "int64"): (200, 100.0),
}
assert (int(hundreds.sum()), float(hundreds.mean())) == (300, 100.0)
PYTHON
