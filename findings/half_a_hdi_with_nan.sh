#!/usr/bin/env bash
# One would guess: of draws of which some are NaN, and without skipna, arviz_stats.hdi returns NaN for both ends, as
# arviz_stats.eti does, and as means of numpy do.
# What happens (arviz-stats 0.8.0, numpy 2.4.6): the upper end is NaN, and the lower end is a number that is no end of
# any interval of the draws: the shortest interval is looked for among differences of sorted draws, NaN is sorted to the
# end, and the place of the smallest of differences that contain NaN is that of the first NaN. With skipna=True both
# ends are right.
# Why it matters here: statistics of networks are not defined in some draws (paths of an empty network), and a table
# with the lower ends alone would look right. So such draws are left out before.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet arviz-stats[xarray]==0.8.0 numpy==2.4.6 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

import arviz_stats
import numpy as np

print("arviz-stats", version("arviz-stats"), "numpy", np.__version__)
draws = np.random.default_rng(0).standard_normal(1000)
draws[:5] = np.nan
lower, upper = arviz_stats.hdi(draws, 0.95)
ends = arviz_stats.eti(draws, 0.95)
right = arviz_stats.hdi(draws, 0.95, skipna=True)
print(f"hdi {lower:.3f} to {upper}; eti {ends}; hdi of the others {np.round(right, 3)}")
assert np.isfinite(lower) and np.isnan(upper) and np.isnan(ends).all()
assert lower > right[0] + 0.2  # about 5 % of the draws are below it
PYTHON
