#!/usr/bin/env bash
# One would guess: the argument of psislw, which "computes log weights for Pareto-smoothed importance sampling", is the
# logs of the raw weights, as in the paper and as in arviz 0.x, so that weights with the tail index 1 have a Pareto k
# near 1.
# What happens (arviz-stats 0.8.0, numpy 2.4.6): it is minus these logs, such as log likelihoods for weights of
# leave-one-out; the docstring says "array-like". With the logs themselves k is near -1: the tail that is looked at is
# that of the smallest weights, which cannot fail, and everything is reported as reliable.
# Why it matters here: Pareto k says whether the error of a Bayes factor is known, and with the other sign it always
# would be. So terms are negated, and a test has terms with a known tail.
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

import numpy as np
from arviz_stats.base import array_stats

print("arviz-stats", version("arviz-stats"), "numpy", np.__version__)
log_weights = np.random.default_rng(0).exponential(size=4000)  # of Pareto weights with the tail index k = 1
found = {sign: float(array_stats.psislw(sign * log_weights)[1]) for sign in (1, -1)}
print(f"k of the logs {found[1]:.2f}, of minus the logs {found[-1]:.2f}")
assert found[1] < 0 and 0.8 < found[-1] < 1.4
assert "log" not in (array_stats.psislw.__doc__ or "").split("Parameters")[1].split("r_eff")[0]
PYTHON
