#!/usr/bin/env bash
# One would guess: from_dict refuses two variables whose dimension has the same name and another length, as
# xarray.Dataset does ("conflicting sizes for dimension"), and as it does itself where coordinates are given.
# What happens (arviz-base 0.8.2, arviz-stats 0.8.0, xarray 2026.9.0): the shorter one is filled up with NaN, without
# a warning, and its integers become floats. So it is with a dimension of items, and with draws and chains: if one
# parameter has 100 draws and another one 50, its mean, ESS and R-hat in the summary are NaN.
# Why it matters here: parameters of nodes and of edges are of different number, and a thinned parameter has fewer
# draws. A typing error in a name of a dimension gives parameters that do not exist. Stored draws are therefore made
# by xarray itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 xarray==2026.9.0 arviz-base==0.8.2 arviz-stats[xarray]==0.8.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import arviz_base
import arviz_stats
import numpy as np
import xarray as xr

warnings.simplefilter("error")
print("arviz-base", version("arviz-base"), "arviz-stats", version("arviz-stats"), "xarray", xr.__version__)
rng = np.random.default_rng(0)


def refused(make):
    try:
        make()
    except ValueError as e:
        return "conflicting sizes" in str(e)
    return False


both = {"node": rng.integers(0, 2, (4, 100, 3), np.int8), "edge": rng.standard_normal((4, 100, 5))}
dims = {name: ["item"] for name in both}
tree = arviz_base.from_dict({"posterior": both}, dims=dims)["posterior"]
full = {name: (("chain", "draw", "item"), x) for name, x in both.items()}
ways = {
    "xarray.Dataset": refused(lambda: xr.Dataset(full)),
    "from_dict with coords": refused(
        lambda: arviz_base.from_dict({"posterior": both}, dims=dims, coords={"item": list("abcde")})
    ),
}
print("sizes:", dict(tree.sizes), "type of the integers:", tree["node"].dtype)
print("NaN among three nodes with 400 draws each:", int(tree["node"].isnull().sum()), "- refused by:", ways)
draws = {"a": rng.standard_normal((4, 100)), "b": rng.standard_normal((4, 50))}
summary = arviz_stats.summary(arviz_base.from_dict({"posterior": draws}))
print(summary[["mean", "ess_bulk", "r_hat"]])

assert tree["node"].sizes["item"] == 5 and tree["node"].dtype.kind == "f"
assert int(tree["node"].isnull().sum()) == 2 * 400
assert all(ways.values())
assert np.isnan(summary.loc["b", ["mean", "ess_bulk", "r_hat"]].astype(float)).all()
assert np.isfinite(summary.loc["a", ["mean", "ess_bulk", "r_hat"]].astype(float)).all()
PYTHON
