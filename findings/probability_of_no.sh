#!/usr/bin/env bash
# One would guess: a logistic regression of a column of booleans, or of "no" and "yes", by a formula is that of the
# same column as an array, of the probability of True; or the formula is refused, as Logit refuses it.
# What happens (statsmodels 0.15.0, pandas 3.1.1): GLM with the family Binomial takes the formula, and all
# coefficients have the opposite sign. The formula makes two columns of it, for False and True, and GLM reads two
# columns as numbers of successes and failures: it models the probability of False, or of the level that is first in
# the alphabet. There is no warning. The same booleans as an array, or as 0 and 1, give the sign that one expects.
# Why it matters here: such regressions, one for each column given the others, are a check of learned weights. All
# weights would have the wrong sign, and pairs of them would agree with one another.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 scipy==1.17.1 statsmodels==0.15.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import pandas as pd
import statsmodels
import statsmodels.formula.api as smf
from statsmodels.api import GLM, Logit, add_constant
from statsmodels.genmod.families import Binomial

warnings.simplefilter("error")
print("statsmodels", statsmodels.__version__, "pandas", pd.__version__)
rng = np.random.default_rng(0)
x = rng.standard_normal(500)
yes = x + rng.logistic(size=500) > 0
table = pd.DataFrame({"x": x, "boolean": yes, "words": np.where(yes, "yes", "no"), "number": yes.astype(int)})
slopes = {name: smf.glm(f"{name} ~ x", table, family=Binomial()).fit().params["x"] for name in table.columns[1:]}
slopes["boolean, as an array"] = GLM(yes, add_constant(x), family=Binomial()).fit().params[1]
slopes["number, Logit"] = Logit.from_formula("number ~ x", table).fit(disp=0).params["x"]
for name, value in slopes.items():
    print(f"{name}: slope {value:.3f}")
try:
    Logit.from_formula("boolean ~ x", table)
except ValueError as e:
    print("Logit, boolean:", str(e)[:60], "...")
else:
    raise AssertionError("Logit takes booleans in a formula")

assert slopes["number"] > 0.5
assert np.isclose(slopes["boolean"], -slopes["number"]) and np.isclose(slopes["words"], -slopes["number"])
assert np.isclose(slopes["boolean, as an array"], slopes["number"])
assert np.isclose(slopes["number, Logit"], slopes["number"])
PYTHON
