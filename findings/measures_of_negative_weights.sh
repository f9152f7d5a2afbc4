#!/usr/bin/env bash
# One would guess: measures that need shortest paths refuse negative weights, all of them; and the clustering of
# weighted edges, which "has been generalized to support negative edge weights" (docstring), is between -1 and 1.
# What happens (networkx 3.6.1): closeness and harmonic centrality refuse them. Betweenness of nodes and edges, and
# percolation centrality, whose docstrings ask for weights above zero, return numbers that depend on the order in which
# the edges were added: one graph of four nodes has betweenness 0.67 or 0.33 at a node. Clustering divides by the
# largest weight, not by the largest absolute one: a triangle of weights 0.01, -1, -1 has the coefficient 21.5, one of
# -0.25, -0.5, -1 has 2.
# Why it matters here: weights of a Markov random field have both signs. Measures of a learned graph need distances that
# are positive, such as 1 / |weight|, and a normalization by the largest |weight|.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet numpy==2.4.6 networkx==3.6.1 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import networkx as nx

print("networkx", nx.__version__)
edges = [("a", "b", 0.5), ("b", "c", 0.5), ("a", "c", -0.5), ("c", "d", 0.5)]
two_orders = [edges, [edges[1], edges[0], *edges[2:]]]


def graph(weighted):
    made = nx.Graph()
    made.add_nodes_from("abcd")
    made.add_weighted_edges_from(weighted)
    return made


def refuses(measure, **options):
    try:
        measure(graph(edges), **options)
    except ValueError as e:
        return "negative weights" in str(e)
    return False


seen = {}
for measure in (nx.betweenness_centrality, nx.percolation_centrality, nx.edge_betweenness_centrality):
    found = [measure(graph(order), weight="weight") for order in two_orders]
    first = ("a", "b") if measure is nx.edge_betweenness_centrality else "a"
    seen[measure.__name__] = [round(f[first], 3) for f in found]
    print(f"{measure.__name__} of {first} for two orders of the same edges:", seen[measure.__name__])
refused = {m.__name__: refuses(m, distance="weight") for m in (nx.closeness_centrality, nx.harmonic_centrality)}
print("refused by:", refused)
triangles = {(0.01, -1, -1): 21.544, (-0.25, -0.5, -1): 2.0, (0.25, 0.5, 1): 0.5}
for weights, expected in triangles.items():
    triangle = graph([(u, v, w) for (u, v), w in zip(("ab", "bc", "ac"), weights, strict=True)])
    c = nx.clustering(triangle, weight="weight")["a"]
    print("clustering in a triangle of", weights, "is", round(c, 3))
    assert round(c, 3) == expected

assert seen["betweenness_centrality"] == seen["percolation_centrality"] == [0.667, 0.333]
assert len(set(seen["edge_betweenness_centrality"])) == 2
assert all(refused.values())
PYTHON
