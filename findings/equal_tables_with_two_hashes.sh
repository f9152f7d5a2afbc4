#!/usr/bin/env bash
# One would guess: joblib.hash, by which joblib.Memory knows whether it has seen its arguments, is one for equal
# arguments of the same type: for a table and the same table made in another way, where table.equals(other) is True.
# What happens (joblib 1.6.0, pandas 3.1.1, NumPy 2.4.6): the hash is that of the memory. A table that had a column
# added, that is the first rows of a longer one, or that was read from a CSV file has another hash than the same table
# made at once; a part of an array has another one than its copy, an array by rows another one than by columns. A copy
# of the table has the hash of the table, so that a simple test finds nothing. Nothing is said; the cached result is
# computed again.
# Why it matters here: a fit takes minutes or hours, and whoever caches it by this hash computes it again after
# reading the same file in another way. A key of a run has to be computed from the values in one order and type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 joblib==1.6.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import io
from importlib.metadata import version

import joblib
import numpy as np
import pandas as pd

print("joblib", version("joblib"), "pandas", version("pandas"), "NumPy", version("numpy"))
at_once = pd.DataFrame({"a": [1, 2, 3], "b": [4, 5, 6]})
added = pd.DataFrame({"a": [1, 2, 3]})
added["b"] = [4, 5, 6]
ways = {
    "a copy": at_once.copy(),
    "a column added": added,
    "first rows": pd.concat([at_once, at_once]).head(3),
    "read from CSV": pd.read_csv(io.StringIO(at_once.to_csv(index=False))),
}
seen = {}
for name, table in ways.items():
    seen[name] = (table.equals(at_once), joblib.hash(table) == joblib.hash(at_once))
    print(f"{name}: equal {seen[name][0]}, same hash {seen[name][1]}")
a = np.arange(12.0).reshape(3, 4)
arrays = {"a part and its copy": (a[:, ::2], a[:, ::2].copy()), "by rows, by columns": (a, np.asfortranarray(a))}
for name, (one, other) in arrays.items():
    seen[name] = (np.array_equal(one, other), joblib.hash(one) == joblib.hash(other))
    print(f"{name}: equal {seen[name][0]}, same hash {seen[name][1]}")

calls = []


def fit(table):
    calls.append(len(table))
    return float(table.to_numpy().sum())


memory = joblib.Memory("cache", verbose=0)
cached = memory.cache(fit)
for table in (at_once, at_once.copy(), added):
    cached(table)
print("computations for three equal tables:", len(calls))

assert all(equal for equal, _ in seen.values())
assert seen["a copy"][1]
assert not any(same for name, (_, same) in seen.items() if name != "a copy")
assert len(calls) == 2
PYTHON
