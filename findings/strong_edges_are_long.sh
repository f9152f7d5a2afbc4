#!/usr/bin/env bash
# One would guess: kamada_kawai_layout, whose weight is "the edge attribute that holds the numerical value used for
# the edge weight", puts nodes with a strong edge near to each other, as spring_layout and forceatlas2_layout do.
# What happens (networkx 3.6.1): the weight is the length of the edge, and it is used without being asked for
# (weight="weight"). In a triangle with the weights 10, 1, 1 the strong edge is the longest, twice as long as the
# others, as if these were the strong ones; in the two other layouts it is the shortest. kamada_kawai_layout(g,
# weight=None) draws an equilateral triangle.
# Why it matters here: pictures of networks put what belongs together side by side. Nodes of a learned network are
# therefore laid out by its edges alone, without their weights.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 scipy==1.17.1 networkx==3.6.1 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import networkx as nx
import numpy as np

print("networkx", nx.__version__)
g = nx.Graph()
g.add_weighted_edges_from([("a", "b", 10.0), ("b", "c", 1.0), ("a", "c", 1.0)])


def lengths(place):
    """Return the length of the strong edge, divided by the mean of the others."""
    length = {e: np.linalg.norm(np.subtract(place[e[0]], place[e[1]])) for e in g.edges}
    return round(float(length["a", "b"] / np.mean([length["a", "c"], length["b", "c"]])), 2)


seen = {
    "kamada_kawai_layout": lengths(nx.kamada_kawai_layout(g)),
    "kamada_kawai_layout, weight=None": lengths(nx.kamada_kawai_layout(g, weight=None)),
    "spring_layout": lengths(nx.spring_layout(g, seed=0)),
    "forceatlas2_layout": lengths(nx.forceatlas2_layout(g, weight="weight", seed=0)),
}
for name, ratio in seen.items():
    print(f"{name}: the strong edge is {ratio} times as long as the others")

assert seen["kamada_kawai_layout"] > 1.9
assert abs(seen["kamada_kawai_layout, weight=None"] - 1) < 0.1
assert seen["spring_layout"] < 0.7 and seen["forceatlas2_layout"] < 0.9
PYTHON
