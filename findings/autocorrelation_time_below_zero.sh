#!/usr/bin/env bash
# One would guess: the autocorrelation time of a chain that alternates, so that its mean is known better than that of
# independent draws, is estimated as a small positive number, as in arviz, or the estimate is refused.
# What happens (emcee 3.1.6, arviz-stats 0.8.0): integrated_time sums up to the first window that is five times the
# sum, and a sum below one ends at once, with the first terms of alternating signs. Of an autoregression with the
# coefficient -0.5 the time is 1/3, and the estimate of 20,000 draws is near 0; with -0.9 it is 1/19, and the estimate
# is -0.8. Nothing is said, although quiet is False. The effective number of draws is infinite or negative. With
# coefficients of 0 and 0.5 it is right.
# Why it matters here: samplers that flip a spin wherever they can make such chains. Standard errors of means of these
# must not be computed from this estimate.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1 emcee==3.1.6 arviz-stats[xarray]==0.8.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import arviz_stats
import numpy as np
from emcee.autocorr import integrated_time
from scipy.signal import lfilter

warnings.simplefilter("error")
print("emcee", version("emcee"), "arviz-stats", version("arviz-stats"))
rng, n = np.random.default_rng(0), 20_000
seen = {}
for r in (-0.9, -0.5, 0.0, 0.5):
    x = lfilter([1.0], [1.0, -r], rng.standard_normal(n))
    seen[r] = (float(integrated_time(x)[0]), n / float(arviz_stats.ess(x[None], method="mean")))
    print(f"coefficient {r}: time {(1 + r) / (1 - r):.3f}, by emcee {seen[r][0]:.3f}, by arviz {seen[r][1]:.3f}")

assert seen[-0.9][0] < -0.5
assert abs(seen[-0.5][0]) < 0.1
for r in (0.0, 0.5):
    assert abs(seen[r][0] * (1 - r) / (1 + r) - 1) < 0.1
assert all(time > 0 for _, time in seen.values())
PYTHON
