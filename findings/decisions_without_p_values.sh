#!/usr/bin/env bash
# One would guess: a p-value that is not defined (NaN, a test of a column that never varies) is left out of a
# correction for many tests, as in p.adjust of R, or is refused, as by scipy.stats.false_discovery_control.
# What happens (statsmodels 0.15.0): multipletests counts it as a test, and what it spoils depends on the method. With
# fdr_bh and fdr_by all corrected p-values are NaN, and the decisions next to them still say which are rejected. With
# bonferroni and holm only that one is NaN, and the others are corrected for one test too many. With hommel nothing is
# rejected any more. There is no warning.
# Why it matters here: tables of pairs have such tests, since an item that all answer alike has no association. A
# table that shows corrected p-values shows none, and one that shows stars shows stars.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1 statsmodels==0.15.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import scipy.stats
import statsmodels
from statsmodels.stats.multitest import multipletests

warnings.simplefilter("error")
print("statsmodels", statsmodels.__version__, "scipy", scipy.__version__)
p = np.array([0.001, 0.011, 0.015, 0.5])
seen = {}
for method in ("fdr_bh", "fdr_by", "bonferroni", "holm", "hommel"):
    for name, values in (("defined", p), ("one NaN", np.append(p, np.nan))):
        rejected, corrected = multipletests(values, 0.05, method)[:2]
        seen[method, name] = (int(rejected.sum()), int(np.isnan(corrected).sum()), corrected)
        print(f"{method}, {name}: {seen[method, name][0]} rejected, corrected {corrected.round(4).tolist()}")

for method in ("fdr_bh", "fdr_by"):
    assert seen[method, "one NaN"][:2] in ((3, 5), (1, 5))
    assert seen[method, "one NaN"][0] > 0
for method in ("bonferroni", "holm"):
    assert seen[method, "one NaN"][1] == 1
    assert seen[method, "one NaN"][2][0] == 5 * p[0] and seen[method, "defined"][2][0] == 4 * p[0]
assert seen["hommel", "defined"][0] == 3 and seen["hommel", "one NaN"][:2] == (0, 5)
try:
    scipy.stats.false_discovery_control(np.append(p, np.nan))
except ValueError as e:
    print("scipy:", e)
else:
    raise AssertionError("scipy takes NaN")
PYTHON
