#!/usr/bin/env bash
# One would guess: in a function that numba compiles, a[0:3] = (x, y, z) is three assignments to memory, since the
# length of the tuple is part of its type, and costs as much to compile as these.
# What happens (numba 0.68.1): the tuple becomes an array first, and the lengths are compared at run time. The text of
# the error for unequal lengths is built in the compiled code, with the functions for texts and their conversion of
# integers: about ten times the code, and seconds to compile, in each function that does so.
# Why it matters here: functions are compiled on the first call, and tests and first runs wait for it. Tuples are
# written number by number.
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
import time

import numba
import numpy as np

print("numba", numba.__version__)


@numba.njit
def warm_up(a, x, y, z):
    a[0] = x + y + z


@numba.njit
def one_by_one(a, x, y, z):
    a[0], a[1], a[2] = x, y, z


@numba.njit
def by_slice(a, x, y, z):
    a[0:3] = (x, y, z)


size = {}
for f in (warm_up, one_by_one, by_slice):
    a, start = np.zeros(3), time.perf_counter()
    f(a, 1.0, 2.0, 3.0)
    seconds = time.perf_counter() - start
    (code,) = f.inspect_llvm().values()
    size[f.py_func.__name__] = len(code.splitlines())
    with_texts = "unicode" in code
    lines = size[f.py_func.__name__]
    print(f"{f.py_func.__name__}: {lines} lines of LLVM, compiled in {seconds:.1f} s, with texts: {with_texts}")
    assert with_texts == (f is by_slice)
    assert f is warm_up or a.tolist() == [1, 2, 3]

assert size["by_slice"] > 5 * size["one_by_one"]
PYTHON
