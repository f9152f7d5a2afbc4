#!/usr/bin/env bash
# One would guess: ordered categories of pandas, low < mid < high, are ordered in polars (which has a type for it,
# Enum), or polars refuses to compare them.
# What happens (polars 2.1.0, pandas 3.1.1): from_pandas and read_parquet make them a Categorical, although Arrow says
# "ordered" in both. It sorts and compares by the alphabet, so that high > low is false, and back in pandas the order
# and the levels that do not occur are gone. An Enum keeps all of it on the way to pandas and back from its own Parquet
# file, so that a table of one file behaves in another way than that of the other.
# Why it matters here: the direction of an ordered answer is lost without a word when a table only passes through
# polars. Of tables of polars, Enum is read as ordered and Categorical is not.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1 polars==2.1.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import pandas as pd
import polars as pl
import pyarrow.parquet as pq

print("polars", pl.__version__, "pandas", pd.__version__)
levels = ["low", "mid", "high", "extreme"]
x = pd.DataFrame({"x": pd.Categorical(["low", "mid", "high"], levels, ordered=True)})
x.to_parquet("x.parquet")
print("Arrow says ordered:", pq.read_table("x.parquet").schema.field("x").type.ordered)
ways = {"from_pandas": pl.from_pandas(x), "read_parquet": pl.read_parquet("x.parquet")}
ways["Enum"] = ways["from_pandas"].with_columns(pl.col("x").cast(pl.Enum(levels)))
ways["Enum"].write_parquet("enum.parquet")
ways["Enum from Parquet"] = pl.read_parquet("enum.parquet")
seen = {}
for name, table in ways.items():
    back = table.to_pandas()["x"].cat
    above = (table["x"] > "low").to_list()
    seen[name] = (table["x"].dtype.base_type().__name__, above, back.categories.tolist(), bool(back.ordered))
    print(f"{name}: {seen[name][0]}; low, mid, high > low: {above}; back in pandas: {seen[name][2:]}")

assert pq.read_table("x.parquet").schema.field("x").type.ordered
lost = ("Categorical", [False, True, False], ["low", "mid", "high"], False)
assert seen["from_pandas"] == seen["read_parquet"] == lost
assert seen["Enum"] == seen["Enum from Parquet"] == ("Enum", [False, True, True], levels, True)
PYTHON
