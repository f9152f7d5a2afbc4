#!/usr/bin/env bash
# Ordered categories that are integers survive Feather, and are lost in Parquet.
#
# One would guess: a pandas column of ordered categories 3 < 2 < 1 comes back from Parquet as it was written, as one of
# texts does; Arrow stores both as dictionaries, and the metadata that pandas adds to the file says "categorical" and
# ordered: true.
# What happens: from Parquet the column comes back as plain numbers (float64 with a missing value, int64 else; int64 of
# Arrow with dtype_backend="pyarrow"), without a warning. From Feather it comes back as ordered categories.
# Why it matters here: the order of categories is the direction of an ordered answer. A questionnaire whose answers were
# reversed by categories has weights of the opposite sign when it was saved as Parquet; read it from Feather, or give the
# order again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet "pandas==3.1.1" "pyarrow==26.0.1" 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/env/bin/python" - <<'PYTHON'
import json

import pandas as pd
import pyarrow
import pyarrow.parquet as pq

print("pandas", pd.__version__, "pyarrow", pyarrow.__version__)
numbers = pd.Categorical([3, 2, 1, 2], [3, 2, 1], ordered=True)
words = pd.Categorical(["c", "b", "a", "b"], ["c", "b", "a"], ordered=True)
table = pd.DataFrame({"numbers": numbers, "words": words})
table.to_parquet("table.parquet")
table.to_feather("table.feather")

seen = {
    name: {column: str(kind) for column, kind in read.dtypes.items()}
    for name, read in (
        ("feather", pd.read_feather("table.feather")),
        ("parquet", pd.read_parquet("table.parquet")),
        ("parquet, Arrow types", pd.read_parquet("table.parquet", dtype_backend="pyarrow")),
    )
}
about = json.loads(pq.read_schema("table.parquet").metadata[b"pandas"])["columns"]
stated = {c["name"]: (c["pandas_type"], c["metadata"]) for c in about}
for name, kinds in seen.items():
    print(f"{name}: {kinds}")
print("what the metadata of the Parquet file says of the numbers:", stated["numbers"])

assert pd.read_feather("table.feather")["numbers"].cat.categories.tolist() == [3, 2, 1]
assert seen["parquet"]["numbers"] == "int64"
assert "int64" in seen["parquet, Arrow types"]["numbers"]
assert seen["parquet"]["words"] == "category"
assert stated["numbers"][0] == "categorical" and stated["numbers"][1]["ordered"] is True
PYTHON
