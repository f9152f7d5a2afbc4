#!/usr/bin/env bash
# One would guess: a variable of a Zarr store that xarray has opened and not loaded is copied to another store in pieces
# (to_zarr), as it is stored in chunks, and both stores can be larger than the memory.
# What happens (xarray 2026.9.0, zarr 3.1.6, without dask): the whole variable is loaded: the memory in use grows by
# more than its size, while its chunks are a hundredth of it. Afterwards it is unloaded again, so that nothing shows it.
# Why it matters here: draws of a large model, and of a run with a thinner copy, are larger than what a computer has.
# Stores are copied chunk by chunk.
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
import tracemalloc
import warnings

import numpy as np
import xarray as xr
import zarr

warnings.simplefilter("ignore")  # of consolidated metadata
print("xarray", xr.__version__, "zarr", zarr.__version__)
draws = np.random.default_rng(0).normal(size=(1000, 10_000))
xr.Dataset({"theta": (("draw", "edge"), draws)}).to_zarr("a.zarr", encoding={"theta": {"chunks": (10, 10_000)}})
size = draws.nbytes
del draws
opened = xr.open_zarr("a.zarr", chunks=None)
assert not opened["theta"].variable._in_memory
tracemalloc.start()
opened.to_zarr("b.zarr")
peak = tracemalloc.get_traced_memory()[1]
stored = zarr.open("b.zarr")["theta"]
print(f"variable: {size / 1e6:.0f} MB in chunks of {stored.chunks}; memory while it is copied: {peak / 1e6:.0f} MB")
print("in memory afterwards:", opened["theta"].variable._in_memory)

assert stored.chunks == (10, 10_000)
assert peak > size
assert not opened["theta"].variable._in_memory
PYTHON
