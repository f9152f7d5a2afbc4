#!/usr/bin/env bash
# One would guess: a vector of R, x <- 6:1, is 6 5 4 3 2 1 in Python when it was saved by saveRDS, as 1:6 is 1 2 3 4 5 6.
# What happens (rdata 1.1.0, R 4.2.2): it is 6 5 4 3. R stores sequences that were not changed since as number, first and
# step, and rdata goes to one beyond the last value, which is one before it where the step is -1. Of a data frame whose
# columns are all of this kind, two rows are missing without a word; with another column pandas refuses the lengths.
# pyreadr 0.5.8 reads all six.
# Why it matters here: ranks, and items that are reversed by 5:1, are such sequences. The reader expands them by itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 rdata==1.1.0 pyreadr==0.5.8 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
# R 4.2.2 wrote this: x <- 6:1; saveRDS(x, "x.rds", compress = "xz")
base64 -d > x.rds <<'RDS'
/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4ACEAFBdACwCfBn5r/QdO56YNX7q0PQhTbNFUsTU1gy0osCkR2YyajC4VMBvu5x4D2f8vi27WY3HXHau
SqXEncrt399c0fNz1nlzN+n+wGIA4HP/cgH+ANcD43YAAWiFAQAAAG0BSOY+MA2LAgAAAAABWVo=
RDS
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import pyreadr
import rdata

print("rdata", version("rdata"), "pyreadr", version("pyreadr"))
seen = {"rdata": rdata.read_rds("x.rds").tolist(), "pyreadr": pyreadr.read_r("x.rds")[None].iloc[:, 0].tolist()}
print("6:1 is", seen)

assert seen == {"rdata": [6, 5, 4, 3], "pyreadr": [6, 5, 4, 3, 2, 1]}
PYTHON
