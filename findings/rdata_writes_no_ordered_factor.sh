#!/usr/bin/env bash
# One would guess: a column of ordered categories of pandas that rdata.write_rds writes is an ordered factor in R, and ordered
# again when rdata reads it, as its reader makes ordered categories of ordered factors.
# What happens (rdata 1.1.0, pandas 3.1.1): the class in the file is "factor" alone, with the levels in their order. Read again,
# the categories have no order, without a warning; of the same file R would say is.ordered(x) is FALSE.
# Why it matters here: the order of answers chooses the model. A test that writes files of R with this package tests
# columns without order, whatever it wrote; ordered factors in tests must come from R itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 rdata==1.1.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import pandas as pd
import rdata

print("rdata", version("rdata"), "pandas", version("pandas"))
levels = ["low", "middle", "high"]
column = pd.Categorical(["low", "high", "middle"], levels, ordered=True)
rdata.write_rds("x.rds", pd.DataFrame({"x": column}))
text = str(rdata.parser.parse_file("x.rds").object)
again = rdata.read_rds("x.rds")["x"]
print("classes in the file:", [name for name in ("ordered", "factor") if f"b'{name}'" in text])
print("levels", list(again.cat.categories), "ordered", again.cat.ordered)

assert "b'factor'" in text and "b'ordered'" not in text
assert list(again.cat.categories) == levels
assert not again.cat.ordered
PYTHON
