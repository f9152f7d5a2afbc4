#!/usr/bin/env bash
# One would guess: a column of 32-bit floats has one answer to "x >= 0.7", whatever type pandas keeps it in, and ==
# and isin agree; to_csv writes the same text.
# What happens (pandas 3.1.1, pyarrow 26.0.1, NumPy 2.4.6): the stored 0.7 is >= 0.7 in columns of the types float32 and
# Float32, where 0.7 is rounded to 32 bits first, and it is not in a column of the type float[pyarrow], where the column
# is converted to 64 bits, as after read_parquet(..., dtype_backend="pyarrow"). == and isin contradict each other: in
# float32 and Float32 x == 0.7 holds and x.isin([0.7]) does not, in float[pyarrow] it is the reverse. to_csv writes 0.7 from float32 and Float32, and 0.699999988079071 from
# float[pyarrow] and from categories of 32 bits. (pyarrow.csv writes 0.7.)
# Why it matters here: answers such as 0.5, 0.7, 0.9 are kept as 32-bit floats by Stata and Parquet, and rules such as
# --binarize ">=0.7" and --missing-code 0.7 would depend on the type. So 32-bit floats are converted to the decimals that
# they are written as, before anything is compared.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 pyarrow==26.0.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

print("pandas", pd.__version__, "pyarrow", pa.__version__, "numpy", np.__version__)
x = pd.Series(np.array([0.5, 0.7, 0.9], np.float32), name="x")
x.to_frame().to_parquet("x.parquet")
columns = {
    "float32": x,
    "Float32": x.astype("Float32"),
    "arrow": pd.read_parquet("x.parquet", dtype_backend="pyarrow")["x"],
    "category": x.astype("category"),
}
seen = {}
for name, column in columns.items():
    compared = ["-"] * 2 if name == "category" else [(column >= 0.7).tolist(), (column == 0.7).tolist()]
    seen[name] = (*compared, column.isin([0.7]).tolist(), column.to_csv(index=False, header=False).split())
    print(f"{name:9s} >= 0.7: {seen[name][0]}; == 0.7: {seen[name][1]}; isin: {seen[name][2]}; to_csv: {seen[name][3]}")
out = io.BytesIO()
pa.csv.write_csv(pa.table({"x": x.to_numpy()}), out)
print("pyarrow.csv:", out.getvalue().decode().split())

short, long = ["0.5", "0.7", "0.9"], ["0.5", "0.699999988079071", "0.8999999761581421"]
for name in ("float32", "Float32"):
    assert seen[name] == ([False, True, True], [False, True, False], [False, False, False], short), name
assert seen["arrow"] == ([False, False, True], [False, False, False], [False, True, False], long)
assert seen["category"][3] == long
assert out.getvalue().decode().split()[1:] == short
PYTHON
