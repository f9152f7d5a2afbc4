"""Features of models over all joint states: the first computation's view of a case.

A model is a list of tables. A table is the distribution proportional to exp(F theta) over a few states, with the counts
of what was observed: single states, or sets of states where answers are missing or units hidden.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Case = dict[str, Any]


@dataclass
class Table:
    """Features (n_states, n_parameters), which states each observation may be in, and how often it occurs."""

    features: np.ndarray
    masks: np.ndarray
    counts: np.ndarray


@dataclass
class Model:
    """Names of parameters, tables, and blocks of parameters of each edge."""

    names: list[str]
    tables: list[Table]
    edges: dict[str, list[int]]
    kinds: dict[str, str] = field(default_factory=dict)
    always: dict[str, list[int]] = field(default_factory=dict)


def product(levels: list[int]) -> np.ndarray:
    """List all joint states, the last node changing first."""
    return np.array(list(itertools.product(*map(range, levels))))


def contrasts(n: int) -> np.ndarray:
    """Return Helmert contrasts of n categories, each of squared length 1/2, (n - 1, n)."""
    rows = np.zeros((n - 1, n))
    for k in range(1, n):
        rows[k - 1, :k] = 1.0
        rows[k - 1, k] = -k
        rows[k - 1] /= np.sqrt(2.0 * k * (k + 1))
    return rows


def pairs_of(case: Case, data: Case) -> list[tuple[int, int]]:
    """List the candidate edges as pairs of numbers of nodes."""
    nodes = data["nodes"]
    listed = case["model"].get("candidates")
    if listed is None:
        return list(itertools.combinations(range(len(nodes)), 2))
    return [tuple(nodes.index(name) for name in edge.split("-")) for edge in listed]


def columns_of_node(case: Case, x: np.ndarray, i: int, n_levels: int) -> tuple[list[str], list[np.ndarray]]:
    """Return names, without that of the node, and features of the parameters of a node."""
    family, options = case["model"]["family"], case["model"]
    if family in ("ising", "agreement"):
        return [""], [2.0 * x[:, i] - 1]
    if family == "blume-capel":
        r = options["neutral"][i]
        return [":linear", ":quadratic"], [x[:, i] * 1.0, (x[:, i] - r) ** 2.0 - r**2]
    if family == "nominal" and options["nominal"][i]:
        rows = contrasts(n_levels)
        return [f":{k + 1}" for k in range(n_levels - 1)], [row[x[:, i]] for row in rows]
    if n_levels == 2:
        return [""], [1.0 * x[:, i]]
    return [f":{k}" for k in range(1, n_levels)], [1.0 * (x[:, i] == k) for k in range(1, n_levels)]


def columns_of_edge(case: Case, x: np.ndarray, pair: tuple[int, int], levels: list[int]) -> tuple[list, list]:
    """Return names, without that of the edge, and features of the parameters of an edge."""
    u, v = pair
    family = case["model"]["family"]
    if family in ("agreement", "potts"):
        return [""], [1.0 * (x[:, u] == x[:, v])]
    if family == "ising":
        return [""], [(2.0 * x[:, u] - 1) * (2.0 * x[:, v] - 1)]
    if family == "nominal":
        ends = []
        for i in pair:
            rows = contrasts(levels[i]) if case["model"]["nominal"][i] else np.arange(levels[i])[None] * 1.0
            ends.append(rows[:, x[:, i]])
        n, m = len(ends[0]), len(ends[1])
        names = [f"={j + 1},{k + 1}" for j in range(n) for k in range(m)]
        return (names if n * m > 1 else [""]), [ends[0][j] * ends[1][k] for j in range(n) for k in range(m)]
    return [""], [1.0 * x[:, u] * x[:, v]]


def pairwise(case: Case, data: Case) -> tuple[list[str], np.ndarray, dict[str, list[int]], np.ndarray]:
    """Return names, features of all states, parameters of each edge, and the states."""
    x, names, columns, edges = product(data["levels"]), [], [], {}
    for u, v in pairs_of(case, data):
        edge = f"{data['nodes'][u]}-{data['nodes'][v]}"
        more, features = columns_of_edge(case, x, (u, v), data["levels"])
        edges[edge] = list(range(len(names), len(names) + len(more)))
        names += [edge + name for name in more]
        columns += features
    for i, node in enumerate(data["nodes"]):
        more, features = columns_of_node(case, x, i, data["levels"][i])
        names += [node + name for name in more]
        columns += features
    return names, np.array(columns).T, edges, x


def masks_of(x: np.ndarray, patterns: list[list[int | None]]) -> np.ndarray:
    """Return which states each pattern may be in, (n_patterns, n_states)."""
    rows = np.array([[-1 if a is None else a for a in row] for row in patterns])
    return ((rows[:, None] == x) | (rows[:, None] < 0)).all(axis=2)


def build(case: Case, data: Case) -> Model:
    """Build the tables of a case."""
    builders = {"compare": compare, "panel": panel, "rbm": machine}
    family = case["model"]["family"]
    if family in builders:
        return builders[family](case, data)
    names, features, edges, x = pairwise(case, data)
    table = Table(features, masks_of(x, data["patterns"]), np.array(data["counts"], float))
    return Model(names, [table], edges)


def compare(case: Case, data: Case) -> Model:
    """Build two groups: weights b - d / 2 and b + d / 2, and biases of each group."""
    names, features, edges, x = pairwise({**case, "model": {"family": "boltzmann"}}, data)
    r = len(edges)
    biases = names[r:]
    all_names = [f"baseline {e}" for e in edges] + [f"difference {e}" for e in edges]
    tables = []
    for g, label in enumerate(data["groups"]):
        all_names += [f"{name} in {label}" for name in biases]
        design = np.zeros((len(x), 2 * r + 2 * len(biases)))
        design[:, :r] = features[:, :r]
        design[:, r : 2 * r] = features[:, :r] * (-0.5, 0.5)[g]
        start = 2 * r + g * len(biases)
        design[:, start : start + len(biases)] = features[:, r:]
        tables.append(Table(design, masks_of(x, data["patterns"]), np.array(data["counts"][g], float)))
    names_of_edges = list(edges)
    return Model(
        all_names,
        tables,
        {name: [r + k] for k, name in enumerate(names_of_edges)},
        always={f"baseline {name}": [k] for k, name in enumerate(names_of_edges)},
    )


def panel(case: Case, data: Case) -> Model:
    """Build one table for each row before: lagged weights, weights within a wave, intercepts.

    "items" of the data are those that are predicted, if not all are.
    """
    nodes, items = data["nodes"], data.get("items", data["nodes"])
    x, d = product(data["levels"][: len(items)]), len(items)
    within = list(itertools.combinations(range(d), 2)) if case["model"]["within"] else []
    kinds = {f"{a}>{b}": "autoregression" if a == b else "lagged" for a in nodes for b in items}
    kinds |= {f"{items[u]}-{items[v]}": "within" for u, v in within}
    names = list(kinds)
    edges = {name: [k] for k, name in enumerate(names)}
    before, after = np.array(data["transitions"]["before"]), np.array(data["transitions"]["after"])
    counts = np.array(data["transitions"]["counts"], float)
    tables = []
    for row in np.unique(before, axis=0):
        columns = [row[j] * 1.0 * x[:, i] for j in range(len(nodes)) for i in range(d)]
        columns += [1.0 * x[:, u] * x[:, v] for u, v in within] + [1.0 * x[:, i] for i in range(d)]
        same = (before == row).all(axis=1)
        tables.append(Table(np.array(columns).T, masks_of(x, after[same].tolist()), counts[same]))
    return Model(names + items, tables, edges, kinds)


def machine(case: Case, data: Case) -> Model:
    """Build a restricted Boltzmann machine: weights row by row of hidden units, visible biases, hidden biases."""
    nodes, n_hidden = data["nodes"], case["model"]["n_hidden"]
    d = len(nodes)
    x = product(data["levels"] + [2] * n_hidden)
    hidden = [f"h{k + 1}" for k in range(n_hidden)]
    names = [f"{h}-{v}" for h in hidden for v in nodes] + nodes + hidden
    columns = [1.0 * x[:, d + k] * x[:, j] for k in range(n_hidden) for j in range(d)]
    columns += [1.0 * x[:, j] for j in range(d + n_hidden)]
    patterns = [[*row, *[None] * n_hidden] for row in data["patterns"]]
    table = Table(np.array(columns).T, masks_of(x, patterns), np.array(data["counts"], float))
    return Model(names, [table], {name: [k] for k, name in enumerate(names[: d * n_hidden])})
