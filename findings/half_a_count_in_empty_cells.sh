#!/usr/bin/env bash
# One would guess: Table and Table2x2 of statsmodels add 0.5 "to all values in the table" if any count is zero, as the
# docstring of shift_zeros says, and as the correction of Haldane and Anscombe does; Table then has nearly the
# chi-squared statistic of scipy.
# What happens (statsmodels 0.15.0, SciPy 1.17.1): 0.5 is added to the empty cells only, and always so unless
# shift_zeros=False. Of [[2, 0], [0, 2]] the odds ratio is 16, not 25. Where many cells are empty these halves are
# much of the table: of the diagonal 3, 4, 5 the statistic is 14.4, that of scipy is 24, and with 0.5 in all cells it
# is 17.2. A column that nobody chose gets a statistic, where scipy refuses the table.
# Why it matters here: tables of two ordered columns have empty cells more often than not, and independence is tested
# pair by pair. The tests depend on whether one cell of the table is empty.
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
import scipy
import statsmodels
from scipy.stats import chi2_contingency
from statsmodels.stats.contingency_tables import Table, Table2x2

warnings.simplefilter("error")
print("statsmodels", statsmodels.__version__, "SciPy", scipy.__version__)
two = np.array([[2, 0], [0, 2]])
small = Table2x2(two)
print("table of", two.tolist(), "is", small.table.tolist(), "with the odds ratio", small.oddsratio)
diagonal = np.diag([3, 4, 5])
statistics = {
    "Table": Table(diagonal).test_nominal_association().statistic,
    "Table, shift_zeros=False": Table(diagonal, shift_zeros=False).test_nominal_association().statistic,
    "scipy": chi2_contingency(diagonal, correction=False).statistic,
    "scipy, 0.5 in all cells": chi2_contingency(diagonal + 0.5, correction=False).statistic,
}
for name, value in statistics.items():
    print(f"diagonal 3, 4, 5, {name}: {value:.2f}")
empty = np.array([[0, 200], [0, 300]])
print("a column that nobody chose:", round(Table(empty).test_nominal_association().statistic, 4))
try:
    chi2_contingency(empty)
except ValueError as e:
    print("scipy:", str(e)[:70])
else:
    raise AssertionError("scipy takes it")

assert "add 0.5 to all values" in " ".join(Table.__doc__.split())
assert small.table.tolist() == [[2, 0.5], [0.5, 2]] and small.oddsratio == 16
assert np.isclose(statistics["Table"], 14.39, atol=0.01)
assert np.isclose(statistics["scipy"], 24) and np.isclose(statistics["Table, shift_zeros=False"], 24)
assert not np.isclose(statistics["Table"], statistics["scipy, 0.5 in all cells"], atol=0.1)
PYTHON
