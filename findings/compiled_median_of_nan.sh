#!/usr/bin/env bash
# One would guess: np.median of values of which one is NaN is NaN in a function that numba compiles, as in NumPy, and
# as np.mean, np.max and np.quantile(x, 0.5) are in the same function.
# What happens (numba 0.68.1, NumPy 2.4.6): it is a number, and it depends on the order of the values: the values are
# partitioned by comparisons that are false for NaN. The same five values in their 120 orders have several medians,
# some of them NaN; not compiled there is one, NaN.
# Why it matters here: a number that looks right takes the place of "not defined", and two chains that hold the same
# draws in another order do not have the same one. So medians of draws are not taken in compiled functions.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 numba==0.68.1 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from itertools import permutations

import numba
import numpy as np

print("numba", numba.__version__, "NumPy", np.__version__)
warnings.simplefilter("ignore")


def median(x):
    return np.median(x)


def others(x):
    return np.mean(x), np.max(x), np.quantile(x, 0.5)


compiled, compiled_others = numba.njit(median), numba.njit(others)
orders = [np.array(x) for x in permutations([0.0, 1.0, 2.0, 3.0, np.nan])]
found = {str(float(compiled(x.copy()))) for x in orders}
plain = {str(float(median(x))) for x in orders}
rest = {str(float(v)) for x in orders for v in compiled_others(x.copy())}
print("medians of five values, one of them NaN, in all orders: compiled", sorted(found), "NumPy", sorted(plain))
print("compiled mean, max and quantile(0.5):", sorted(rest))

assert plain == rest == {"nan"}
assert len(found - {"nan"}) > 1
PYTHON
