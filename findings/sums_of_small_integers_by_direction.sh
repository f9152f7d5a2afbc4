#!/usr/bin/env bash
# One would guess: polars adds up small integers without a wrap, in whichever direction: sum() of a column of Int8,
# also in groups, over windows and cumulated, is an Int64.
# What happens (polars 2.1.0): sum_horizontal, the sum over the columns of a row, stays in the type of the columns: 30
# answers of 5 in Int8 have the sum -106, without a warning. mean_horizontal divides this sum, and the mean of thirty
# fives is -3.5. If one column is of a wider type, both are right.
# Why it matters here: a sum score is the sum over items, and files of R, Stata and Parquet keep answers in small
# integers. The score of those who answer highest becomes negative.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet polars==2.1.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import polars as pl

warnings.simplefilter("error")
print("polars", pl.__version__)
items = [f"item{k}" for k in range(30)]


def score(kinds):
    """Return the sum and mean of a row with the answer 5 to all items."""
    row = pl.DataFrame({name: pl.Series([5], dtype=kind) for name, kind in zip(items, kinds, strict=True)})
    found = row.select(pl.sum_horizontal(items).alias("sum"), pl.mean_horizontal(items).alias("mean"))
    return found["sum"].dtype, found["sum"][0], found["mean"][0]


column = pl.DataFrame({"g": [1] * 30, "x": pl.Series([5] * 30, dtype=pl.Int8)})
down = {
    "sum": column["x"].sum(),
    "in groups": column.group_by("g").agg(pl.sum("x"))["x"][0],
    "over": column.select(pl.sum("x").over("g"))["x"][0],
    "cumulated": column.select(pl.cum_sum("x"))["x"][-1],
}
seen = {
    "Int8": score([pl.Int8] * 30),
    "one Int16": score([pl.Int8] * 29 + [pl.Int16]),
    "Float64": score([pl.Float64] * 30),
}
print("thirty fives in Int8, down a column:", down)
for name, (kind, total, mean) in seen.items():
    print(f"thirty fives along a row, {name}: sum {total} ({kind}), mean {mean}")

assert set(down.values()) == {150}
assert seen["Int8"][:2] == (pl.Int8, -106) and round(seen["Int8"][2], 3) == -3.533
assert seen["one Int16"][1:] == (150, 5.0) and seen["Float64"][1:] == (150.0, 5.0)
PYTHON
