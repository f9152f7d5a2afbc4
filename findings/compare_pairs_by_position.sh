#!/usr/bin/env bash
# One would guess: compare aligns the observations of two models by the labels of their dimension, as all arithmetic of
# xarray does, or refuses models whose labels are in another order.
# What happens (arviz-stats 0.8.0, xarray 2026.9.0): it pairs them by position. The same log likelihoods with the
# observations in another order, and labelled so, have the same elpd, but dse, the standard error of the difference, is
# hundreds of times as large, without a warning: a clear difference looks like none.
# Why it matters here: observations are the rows of a table, and long tables of waves come in any order. The transitions
# of a panel are therefore ordered by person and wave whatever the order of the table, and the page on leave-one-out
# says that two runs must have the rows of one table in one order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet arviz-stats[xarray]==0.8.0 numpy==2.4.6 xarray==2026.9.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import arviz_stats
import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
print("arviz-stats", version("arviz-stats"), "xarray", version("xarray"))
rng, n = np.random.default_rng(0), 200
mean, noise = rng.normal(-1, 1, n), 0.05 * rng.standard_normal((4, 500, n))


def model(order, shift):
    """Draws of log likelihoods of observations in an order, which is their label."""
    coords = {"chain": range(4), "draw": range(500)}
    values = ((mean + shift) + noise)[..., order]
    return xr.DataTree.from_dict({
        "posterior": xr.Dataset({"mu": (("chain", "draw"), rng.standard_normal((4, 500)))}, coords=coords),
        "log_likelihood": xr.Dataset({"y": (("chain", "draw", "obs"), values)}, coords=coords | {"obs": order}),
    })


whole, other = np.arange(n), rng.permutation(n)
found = {}
for name, order in (("same order", whole), ("other order", other)):
    table = arviz_stats.compare({"a": model(whole, 0.05), "b": model(order, 0.0)})
    found[name] = float(table["dse"].iloc[1])
    print(f"{name}: difference of elpd {float(table['elpd_diff'].iloc[1]):.2f}, dse {found[name]:.3f}")
assert found["other order"] > 100 * found["same order"]

by_label = (model(whole, 0.05)["log_likelihood"]["y"] - model(other, 0.0)["log_likelihood"]["y"]).mean(["chain", "draw"])
assert abs(by_label - 0.05).max() < 1e-9  # arithmetic aligns them
PYTHON
