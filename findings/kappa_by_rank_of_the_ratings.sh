#!/usr/bin/env bash
# One would guess: cohen_kappa_score with weights="quadratic" weights a disagreement by the squared difference of the
# two ratings, so that 2 against 5 is worse than 2 against 3; and ratings that are texts are refused, or have no such
# weights.
# What happens (scikit-learn 1.9.1): the weights are those of the places among the ratings that occur, in sorted
# order. Where nobody chose 3 and 4, the ratings 1, 2, 5 have the kappa of 1, 2, 3. It changes when one more row
# contains the missing level, or when all levels are given as labels. Texts are sorted by the alphabet, and never,
# often, rarely are one step apart.
# Why it matters here: a level that nobody chose is part of the scale. Agreement of two waves or of two raters has to
# be computed with the labels of the whole scale, in their order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import sklearn
from sklearn.metrics import cohen_kappa_score

warnings.simplefilter("error")
print("scikit-learn", sklearn.__version__)
a, b = [1, 2, 5, 5, 1, 2, 1, 5], [1, 5, 5, 2, 1, 2, 2, 5]
close = {1: 1, 2: 2, 5: 3}
words = {1: "never", 2: "rarely", 5: "often"}


def kappa(x, y, **options):
    return round(float(cohen_kappa_score(x, y, weights="quadratic", **options)), 3)


def by_definition(x, y):
    """One minus the mean squared difference, divided by that of all pairs."""
    observed = sum((i - j) ** 2 for i, j in zip(x, y, strict=True)) / len(x)
    return round(1 - observed / (sum((i - j) ** 2 for i in x for j in y) / len(x) ** 2), 3)


seen = {
    "ratings 1, 2, 5": kappa(a, b),
    "called 1, 2, 3": kappa([close[i] for i in a], [close[i] for i in b]),
    "all levels as labels": kappa(a, b, labels=[1, 2, 3, 4, 5]),
    "never, rarely, often": kappa([words[i] for i in a], [words[i] for i in b]),
    "by definition": by_definition(a, b),
}
for name, value in seen.items():
    print(f"{name}: {value}")

assert seen["ratings 1, 2, 5"] == seen["called 1, 2, 3"] == 0.727
assert seen["all levels as labels"] == seen["by definition"] == 0.608
assert seen["never, rarely, often"] not in (0.727, 0.608)
PYTHON
