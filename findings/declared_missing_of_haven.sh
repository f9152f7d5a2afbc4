#!/usr/bin/env bash
# One would guess: what R says of a column, is.na(smoke) is FALSE FALSE TRUE TRUE and is.ordered(mood) is TRUE, is so in
# Python, too, when the .rds file is read; or one is warned where it is not.
# What happens (pyreadr 0.5.8, rdata 1.1.0): values that the package haven keeps as declared missing (na_values,
# na_range) are plain answers in both: smoke is 1, 2, -9, 97. pyreadr says nothing, and the ordered factor has lost its
# order. rdata keeps the order, and warns that the class haven_labelled_spss is unknown, which is said of any labelled
# column, also of one without missing codes; of the attributes, na_values, na_range and labels, nothing is left.
# Why it matters here: -9 and 97 become levels of an ordered answer. So the attributes are read from the tree that rdata
# parses, before it is converted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 pandas==3.1.1 pyreadr==0.5.8 rdata==1.1.0 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
# R 4.2.2 with haven 2.5.1 wrote this:
#   d <- data.frame(mood = factor(c("often", "never", NA, "often"), c("never", "rarely", "often"), ordered = TRUE))
#   d$smoke <- labelled_spss(c(1, 2, -9, 97), c(no = 1, yes = 2, refused = -9), na_values = -9, na_range = c(90, Inf))
#   saveRDS(d, "d.rds", compress = "xz")
base64 -d > d.rds <<'RDS'
/Td6WFoAAAFpIt42AgAhARYAAAB0L+Wj4AKTAR5dACwCfBn5r/QdO56YNX7q0PQhTbNFUsa9mj0ULuRQl2CJ5yBifSoUXeWN8Vb+rbCMXP3wN5Ny
1TxLJXqefFKPgQIbiTdF3XPrsEf+3vpESBimVdUTF6ZSWc6y+BE4mVBuOWe6CFuTsYxXN33mop/NR7yIAtRlQoJhvLoCcHl8NlZJeYaJuNePBaZh
ORO0Y9KRYNFjvOqmh3LgWUeGCSVtmaCWb05eZEm6uBWWSyh8BhyGmWJ4CsCUe2PGLmEcim6i8ZUfu5Fr1urzuKFmZ7JdzopMIYEkwhNZmzCbjWgV
ZoqER6Zu9TEF4xDGaMzVkezGxq1UoKX1//BPyqKjrU4TjycGAktabt4B/YPPjaMCwP9vf5aIQkfV4UgJQU8w1QAAAADJUhZSAAG2ApQFAADNw+9B
PjANiwIAAAAAAVla
RDS
"$folder/venv/bin/python" - <<'PYTHON'
import warnings
from importlib.metadata import version

import pyreadr
import rdata

print("pyreadr", version("pyreadr"), "rdata", version("rdata"))
seen = {}
for name, read in (("pyreadr", lambda: pyreadr.read_r("d.rds")[None]), ("rdata", lambda: rdata.read_rds("d.rds"))):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        table = read()
    mood, smoke = table["mood"], table["smoke"]
    said = any("haven_labelled_spss" in str(w.message) for w in told)
    seen[name] = (bool(mood.cat.ordered), smoke.tolist(), said, table.attrs | smoke.attrs)
    print(f"{name}: mood ordered: {mood.cat.ordered}; smoke: {smoke.tolist()}; warned of the class: {said}")

assert seen == {
    "pyreadr": (False, [1, 2, -9, 97], False, {}),
    "rdata": (True, [1, 2, -9, 97], True, {}),
}
PYTHON
