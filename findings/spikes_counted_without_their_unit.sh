#!/usr/bin/env bash
# One would guess: spikes in ms and edges of bins in s, both with their units by the package quantities, are counted
# in one unit or refused, since spikes < edge, ==, np.clip and + convert or refuse them.
# What happens (quantities 0.16.4, NumPy 2.4.6): np.histogram, np.digitize, np.searchsorted, np.interp,
# np.concatenate, np.isin and np.array_equal use the numbers without their units, and nothing is said. Spikes at 100,
# 1500 and 2500 ms are in none of the bins from 0 to 3 s; np.isin says that 1 s is among [1 ms], where == says that it
# is not. Joined, 1 s and 500 ms are 1 and 500 without a unit.
# Why it matters here: spike trains of neo are such arrays, and recordings give times in ms or s. A table of binned
# spikes made by np.histogram is full of zeros, or has all spikes in its first bin. So times are rescaled and stripped
# of their unit first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 quantities==0.16.4 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import quantities as pq

warnings.simplefilter("error")
print("quantities", pq.__version__, "NumPy", np.__version__)
spikes, edges = np.array([100.0, 1500.0, 2500.0]) * pq.ms, np.array([0.0, 1.0, 2.0, 3.0]) * pq.s
second, milli = np.array([1.0]) * pq.s, np.array([1.0]) * pq.ms
kept = {
    "spikes < 1 s": (spikes < edges[1]).tolist(),
    "1 s == 1 ms": (second == milli).tolist(),
    "clip at 2 s": np.clip(spikes, 0 * pq.s, 2 * pq.s).magnitude.tolist(),
}
lost = {
    "histogram": np.histogram(spikes, edges)[0].tolist(),
    "digitize": np.asarray(np.digitize(spikes, edges)).tolist(),
    "searchsorted": [int(i) for i in np.searchsorted(edges, spikes)],
    "isin": np.isin(second, milli).tolist(),
    "array_equal": bool(np.array_equal(second, milli)),
    "interp": float(np.interp(1500 * pq.ms, edges, [0, 10, 20, 30])),
    "concatenate": str(np.concatenate([second, 500 * milli])),
}
for name, value in (kept | lost).items():
    print(f"{name}: {value}")
right = np.histogram(spikes.rescale("s").magnitude, edges.magnitude)[0].tolist()
print("histogram after rescale:", right)

assert kept == {"spikes < 1 s": [True, False, False], "1 s == 1 ms": [False], "clip at 2 s": [100.0, 1500.0, 2000.0]}
assert right == [1, 1, 1] and lost["histogram"] == [0, 0, 0]
assert lost["digitize"] == lost["searchsorted"] == [4, 4, 4]
assert lost["isin"] == [True] and lost["array_equal"] and lost["interp"] == 30
assert lost["concatenate"] == "[  1. 500.] dimensionless"
PYTHON
