#!/usr/bin/env bash
# One would guess: hdi(..., prob=0.9, method="multimodal") of a parameter that is exactly zero in seven draws of ten and
# about one in the others is two intervals, zero and that around one, which together have at least nine draws of ten.
# What happens (arviz-stats 0.8.0): the density is estimated on a grid with a bandwidth that the equal draws make tiny,
# and an interval that has one point of the grid does not reach the draws: the first is 0.0016 to 0.0016, zero is in
# none. The slab falls into splinters, of which ten are kept (max_modes), with a warning. All intervals together have a
# sixth of the draws instead of nine tenths. Zeros and ones that are stored as floats get two intervals, 0.00098 to
# 0.00098 and 0.99902 to 0.99902, that contain no draw at all, without a warning; as integers they get 0 to 1.
# Why it matters here: draws of an edge that may be absent are of this kind. Its intervals are quantiles of the draws, and
# the probability that it exists is reported by itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 arviz-base==0.8.2 "arviz-stats[xarray]==0.8.0" 2>/dev/null || {
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

print("arviz-stats", version("arviz-stats"), "arviz-base", version("arviz-base"))
rng = np.random.default_rng(1)
exists = rng.random((4, 1000)) < 0.3
draws = {"edge": np.where(exists, rng.normal(1, 0.2, (4, 1000)), 0.0), "float": exists * 1.0, "integer": exists * 1}
seen = {}
for name, x in draws.items():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tree = arviz_base.from_dict({"posterior": {"x": x}})
        found = arviz_stats.hdi(tree, prob=0.9, method="multimodal")["x"].values
    inside = np.any([(low <= x) & (x <= high) for low, high in found], axis=0).mean()
    seen[name] = (len(found), float(inside), any("mode" in str(w.message) for w in told))
    first = found[0].round(5).tolist()
    print(f"{name}: {len(found)} intervals, first {first}, with {inside:.1%} of the draws; warned: {seen[name][2]}")

assert seen["edge"][0] == 10
assert seen["edge"][1] < 0.2
assert seen["float"][:2] == (2, 0.0)
assert seen["integer"][:2] == (1, 1.0)
assert [warned for _, _, warned in seen.values()] == [True, False, False]
PYTHON
