#!/usr/bin/env bash
# One would guess: value labels (1 never, 2 sometimes, 3 always) become the same categories whether pandas reads them
# from an SPSS or a Stata file: all levels, in the order of their codes.
# What happens (pandas 3.1.1, pyreadstat 1.3.7): the same table is read in two ways, and neither has all levels.
# read_spss: categories in the order of the alphabet, without order, without the levels that do not occur, although the
# file says that the column is ordinal. read_stata: in the order of the codes, ordered, also where the labels are of
# regions, and without the levels that do not occur, although to_stata had written one for each category. Where one code
# of a column has no label, read_spss makes it a category, too, and read_stata mixes codes and labels.
# Why it matters here: "always < never < sometimes" turns weights around, an order of regions is none, and a level that
# nobody chose is part of the scale. So files are read as codes, and labels and measures separately.
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
import pandas as pd
import pyreadstat

print("pandas", pd.__version__, "pyreadstat", pyreadstat.__version__)
often, regions = {1: "never", 2: "sometimes", 3: "always"}, {1: "west", 2: "east", 3: "north"}
table = pd.DataFrame({"all": [3.0, 1, 2], "two": [3.0, 1, 1], "region": [1.0, 2, 3], "part": [1.0, 2, 3]})
labels = {"all": often, "two": often, "region": regions, "part": {1: "never", 3: "always"}}
measure = {"all": "ordinal", "two": "ordinal", "region": "nominal", "part": "ordinal"}
pyreadstat.write_sav(table, "t.sav", variable_value_labels=labels, variable_measure=measure)
pyreadstat.write_dta(table, "t.dta", variable_value_labels=labels)
seen = {}
for name, read in (("read_spss", pd.read_spss("t.sav")), ("read_stata", pd.read_stata("t.dta"))):
    seen[name] = {c: (read[c].cat.categories.tolist(), bool(read[c].cat.ordered)) for c in read}
    print(name, seen[name])

written = pd.Categorical(["never", "always"], ["never", "sometimes", "always"], ordered=True)
pd.DataFrame({"two": written}).to_stata("w.dta", write_index=False)
again = pd.read_stata("w.dta")["two"].cat.categories.tolist()
stored = list(pyreadstat.read_dta("w.dta")[1].variable_value_labels["two"].values())
print("in the file of to_stata:", stored, "and read again:", again)

assert seen["read_spss"] == {
    "all": (["always", "never", "sometimes"], False),
    "two": (["always", "never"], False),
    "region": (["east", "north", "west"], False),
    "part": ([2.0, "always", "never"], False),
}
assert seen["read_stata"] == {
    "all": (["never", "sometimes", "always"], True),
    "two": (["never", "always"], True),
    "region": (["west", "east", "north"], True),
    "part": (["never", 2.0, "always"], True),
}
assert (stored, again) == (["never", "sometimes", "always"], ["never", "always"])
PYTHON
