#!/usr/bin/env bash
# One would guess: distances of scipy that are for yes and no treat answers 0, 1, 2 in one way: any answer but 0 is a
# yes, as the distance of Jaccard does, or they are refused.
# What happens (SciPy 1.17.1): "jaccard", "yule", "rogerstanimoto", "russellrao" and "sokalsneath" take any number but
# 0 as a yes. "dice" multiplies and adds the numbers themselves, so that two rows of answers 1, 2, 0, 1 and 1, 3, 0, 0
# have the distance -0.75, and equal rows 2, 2, 0, 1 have -0.8. There is no warning. With booleans these are 0.2 and
# 0.
# Why it matters here: rows of a questionnaire are compared and clustered by such distances, and columns of three
# levels are often among those of two. Clustering takes the smallest distance first, and that is one below zero.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import scipy
from scipy.spatial.distance import pdist

warnings.simplefilter("error")
print("SciPy", scipy.__version__)
answers = np.array([[1, 2, 0, 1], [1, 3, 0, 0]])
same = np.array([[2, 2, 0, 1], [2, 2, 0, 1]])
seen = {}
for metric in ("jaccard", "yule", "rogerstanimoto", "russellrao", "sokalsneath", "dice"):
    seen[metric] = (pdist(answers, metric)[0], pdist(answers != 0, metric)[0])
    print(f"{metric}: of the answers {seen[metric][0]:.3f}, of answer != 0 {seen[metric][1]:.3f}")
itself = pdist(same, "dice")[0], pdist(same != 0, "dice")[0]
print("dice of two equal rows: of the answers", itself[0], "of answer != 0", itself[1])

assert np.isclose(seen["dice"][0], -0.75) and np.isclose(seen["dice"][1], 0.2)
assert all(np.isclose(*pair) for metric, pair in seen.items() if metric != "dice")
assert itself[0] < 0 and itself[1] == 0
PYTHON
