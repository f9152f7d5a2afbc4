#!/usr/bin/env bash
# One would guess: the column BF10 of a table of pingouin is a column of numbers, as the columns r and p_val beside it
# are, so that sort_values puts the strongest evidence first.
# What happens (pingouin 0.7.0, pandas 3.1.1): it is a column of texts, rounded to three decimals or to four digits of
# the form 7.1e+05. Sorted, 9.2 comes before 16.3 and 7.1e+05, max() is no maximum, and above 9999 digits are lost.
# The functions that compute one Bayes factor (bayesfactor_pearson) return numbers.
# Why it matters here: tables of Bayes factors are sorted, and cut at 3 or 10. Whoever compares those of edges with
# those of correlations has to convert this column first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 pingouin==0.7.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import numpy as np
import pandas as pd
import pingouin

print("pingouin", version("pingouin"), "pandas", version("pandas"))
n = 60
base = np.linalg.qr(np.random.default_rng(0).standard_normal((n, 5)))[0]
base -= base.mean(axis=0)
base = np.linalg.qr(base)[0]  # uncorrelated columns
wanted = {"strong": 0.75, "some": 0.40, "weak": 0.35}
made = {"x": base[:, 0]}
for k, (name, r) in enumerate(wanted.items(), 1):
    made[name] = r * base[:, 0] + np.sqrt(1 - r**2) * base[:, k]
table = pingouin.pairwise_corr(pd.DataFrame(made), columns=[["x"], list(wanted)])
numbers = {name: float(pingouin.bayesfactor_pearson(r, n)) for name, r in wanted.items()}
texts = dict(zip(table["Y"], table["BF10"], strict=True))
ordered = table.sort_values("BF10", ascending=False)["Y"].tolist()
print("in the table:", texts)
print("by bayesfactor_pearson:", numbers)
print("sorted, largest first:", ordered, "- max():", table["BF10"].max())

assert all(isinstance(v, str) for v in texts.values())
assert sorted(numbers, key=numbers.get, reverse=True) == ["strong", "some", "weak"]
assert all(np.isclose(float(texts[k]), numbers[k], rtol=1e-3) for k in wanted)
assert ordered != ["strong", "some", "weak"] and ordered[0] == "weak"
assert table["BF10"].max() == texts["weak"]
PYTHON
