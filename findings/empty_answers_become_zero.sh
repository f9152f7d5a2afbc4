#!/usr/bin/env bash
# One would guess: read_dta with user_missing=True, which keeps the missing values .a to .z of a Stata file as the
# letters "a" to "z", leaves the plain missing value "." as it is without that option: NaN.
# What happens (pyreadstat 1.3.7, pandas 3.1.1): in a column of integers that has letters, "." is read as the number
# 0. In a column of floats it is NaN, and in a column of integers without letters, too; so it is without the option.
# pandas reads "." from the same file. Nothing is said. With the value labels applied, 0 is one more category.
# Why it matters here: an answer that was not given becomes the lowest level, or a "no", only in the columns where
# somebody refused to answer. So files are read without this option.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 pyreadstat==1.3.7 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import pandas as pd
import pyreadstat

warnings.simplefilter("error")
print("pyreadstat", pyreadstat.__version__, "pandas", pd.__version__)
columns = {
    "integers and letters": [1, 2, "a", None],
    "floats and letters": [1.0, 2.0, "a", float("nan")],
    "integers alone": [1, 2, 2, None],
}
seen = {}
for name, values in columns.items():
    table = pd.DataFrame({"x": pd.Series(values, dtype=object)})
    pyreadstat.write_dta(table, "x.dta", missing_user_values={"x": ["a"]})
    with pd.read_stata("x.dta", iterator=True, convert_missing=True) as file:
        stored = [str(v) for v in file.read()["x"]]
    kept = pyreadstat.read_dta("x.dta", user_missing=True)[0]["x"].astype(object)
    plain = pyreadstat.read_dta("x.dta")[0]["x"]
    seen[name] = (stored[-1], kept.where(kept.notna(), "NaN").tolist(), plain.isna().tolist()[-1])
    print(f"{name}: stored {stored}; with user_missing=True {seen[name][1]}; NaN without it: {seen[name][2]}")

assert {stored for stored, _, _ in seen.values()} == {"."}
assert all(missing for _, _, missing in seen.values())
assert seen["integers and letters"][1] == [1, 2, "a", 0]
assert seen["floats and letters"][1] == [1.0, 2.0, "a", "NaN"]
assert seen["integers alone"][1] == [1, 2, 2, "NaN"]
PYTHON
