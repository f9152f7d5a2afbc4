#!/usr/bin/env bash
# One would guess: threshold_proportional(W, 0.5), which keeps "a proportion p of the strongest weights", keeps those
# that are largest without their sign, as weight_conversion(W, "normalize") in the same package divides by the largest
# of these.
# What happens (bctpy 0.6.1): it keeps the largest with their sign. Of the weights -0.9, 0.2, 0.1, -0.05 the half that
# stays is 0.2 and 0.1; with p=0.75 it is these and -0.05, and the strongest edge is the last to enter. Nothing is
# said of negative weights. threshold_absolute(W, 0.1) removes all that are negative.
# Why it matters here: edges of a Markov random field have both signs, and an edge that inhibits may be the strongest.
# Networks have to be cut at |weight|, or by the probability that an edge exists.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1 bctpy==0.6.1 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import bct
import numpy as np

warnings.simplefilter("error")
print("bctpy", version("bctpy"))
w = np.zeros((4, 4))
for (i, j), value in {(0, 1): -0.9, (1, 2): 0.2, (2, 3): 0.1, (0, 3): -0.05}.items():
    w[i, j] = w[j, i] = value


def weights(matrix):
    return sorted(matrix[np.triu_indices(4, 1)][matrix[np.triu_indices(4, 1)] != 0].tolist())


pairs = 6
seen = {f"{k} of 4 edges": weights(bct.threshold_proportional(w.copy(), k / pairs)) for k in (2, 3, 4)}
seen["absolute, 0.1"] = weights(bct.threshold_absolute(w.copy(), 0.1))
for name, kept in seen.items():
    print(f"{name}: {kept}")
print("normalized:", weights(bct.weight_conversion(w.copy(), "normalize")))

assert seen["2 of 4 edges"] == [0.1, 0.2]
assert seen["3 of 4 edges"] == [-0.05, 0.1, 0.2]
assert seen["4 of 4 edges"] == [-0.9, -0.05, 0.1, 0.2]
assert seen["absolute, 0.1"] == [0.1, 0.2]
assert min(weights(bct.weight_conversion(w.copy(), "normalize"))) == -1
PYTHON
