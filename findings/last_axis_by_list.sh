#!/usr/bin/env bash
# One would guess: a[:, :, [1, 2, 3]] and a[:, :, 1:4].copy() are the same array, with the same mean.
# What happens (NumPy 2.4.6): they have the same values, but a list as the last index puts that axis first in memory:
# strides are (8000, 8, 32000), neither C nor Fortran. Sums then go over the memory in another order, and means and
# standard deviations differ in the last bit. np.take(a, [1, 2, 3], axis=2) has the order of C.
# Why it matters here: summaries of selected parameters must be those of all parameters, bit for bit, and those of a
# stored run the ones of the run itself. Arrays that are selected by lists are made contiguous, or taken.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np

print("NumPy", np.__version__)
a = np.random.default_rng(0).normal(size=(4, 1000, 30))
ways = {"list": a[:, :, [1, 2, 3]], "slice": a[:, :, 1:4].copy(), "take": np.take(a, [1, 2, 3], axis=2)}
for name, b in ways.items():
    assert (b == ways["slice"]).all()
    print(f"{name}: strides {b.strides}, means {b.mean(axis=(0, 1)).tolist()}")

assert ways["list"].strides == (8000, 8, 32000)
assert ways["take"].strides == ways["slice"].strides == (24000, 24, 8)
means = {name: b.mean(axis=(0, 1)) for name, b in ways.items()}
assert (means["take"] == means["slice"]).all()
assert (means["list"] != means["slice"]).any()
assert np.allclose(means["list"], means["slice"], rtol=0, atol=1e-15)
PYTHON
