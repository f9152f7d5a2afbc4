"""Data, models and priors of the cases.

Data are simulated once with fixed seeds from parameters that are written here; a case is data, a model and a prior.
"""

from __future__ import annotations

import itertools

import numpy as np
from energies import ENERGIES, boltzmann
from numpy.random import default_rng


def normal(scale: float) -> dict:
    """Return a normal law."""
    return {"type": "normal", "scale": scale}


def cauchy(scale: float) -> dict:
    """Return a Cauchy law, spherical where an edge has several parameters."""
    return {"type": "cauchy", "scale": scale}


def fixed(p: float) -> dict:
    """Return a fixed prior probability of every edge."""
    return {"type": "fixed", "value": p}


def beta(a: float, b: float) -> dict:
    """Return a Beta prior of the probability of an edge."""
    return {"type": "beta", "a": a, "b": b}


def draw(family: str, nodes: list[str], levels: list[int], t: dict, n: int, seed: int, **model) -> tuple[list, list]:
    """Simulate n rows; return all patterns that occur, and their counts."""
    states = list(itertools.product(*map(range, levels)))
    energies = [ENERGIES[family](dict(zip(nodes, x, strict=True)), t, {**model, "levels": levels}) for x in states]
    p = np.exp(np.array([float(np.ravel(e)[0]) for e in energies]))
    counts = default_rng(seed).multinomial(n, p / p.sum())
    return [list(x) for x, c in zip(states, counts, strict=True) if c], [int(c) for c in counts if c]


def table(name: str, about: str, nodes: str, levels: list[int], rows: tuple[list, list]) -> dict:
    """Return a data set of patterns and counts."""
    patterns, counts = rows
    return {"name": name, "description": about, "nodes": list(nodes), "levels": levels, "patterns": patterns,
            "counts": counts}  # fmt: skip


def with_holes(data: dict, share: float, seed: int) -> dict:
    """Return a data set whose answers are missing at random with this probability."""
    rng, holes = default_rng(seed), {}
    for pattern, count in zip(data["patterns"], data["counts"], strict=True):
        for _ in range(count):
            row = tuple(None if rng.random() < share else a for a in pattern)
            if any(a is not None for a in row):
                holes[row] = holes.get(row, 0) + 1
    patterns = sorted(holes, key=lambda row: [-1 if a is None else a for a in row])
    return {**data, "name": data["name"] + "-missing", "description": "A quarter of the answers to yesno3 are missing.",
            "patterns": [list(p) for p in patterns], "counts": [holes[p] for p in patterns]}  # fmt: skip


def two_groups() -> dict:
    """Simulate two groups that differ in one edge of three."""
    weights = [{"A-B": 0.9, "A-C": 0.2, "B-C": -0.5}, {"A-B": -0.3, "A-C": 0.4, "B-C": -0.5}]
    biases = [{"A": -0.3, "B": 0.1, "C": 0.2}, {"A": 0.2, "B": 0.0, "C": -0.1}]
    patterns = [list(x) for x in itertools.product((0, 1), repeat=3)]
    counts = []
    for g, n in enumerate((140, 160)):
        rows, occur = draw("boltzmann", list("ABC"), [2, 2, 2], weights[g] | biases[g], n, 70 + g)
        of = {tuple(r): c for r, c in zip(rows, occur, strict=True)}
        counts.append([of.get(tuple(p), 0) for p in patterns])
    return {"name": "groups3", "description": "Three yes/no nodes in two groups of 140 and 160 rows.",
            "nodes": list("ABC"), "levels": [2] * 3, "groups": ["no", "yes"], "patterns": patterns,
            "counts": counts}  # fmt: skip


def waves(
    name: str, nodes: str, lagged: dict, t: dict, n_people: int, n_waves: int, seed: int, spread: float = 0
) -> dict:
    """Simulate rows that follow each other, each given the one before; ``spread`` of intercepts of people."""
    rng, d, rows = default_rng(seed), len(nodes), []
    states = list(itertools.product((0, 1), repeat=d))
    for person in range(n_people):
        x = tuple(int(a) for a in rng.integers(0, 2, d))
        apart = {i: spread * (2 * a - 1 + rng.normal()) / 2 for i, a in zip(nodes, x, strict=True)} if spread else {}
        for wave in range(n_waves):
            rows.append([person, wave, *x])
            now = dict(t)
            for i in nodes:
                now[i] = (
                    t[i]
                    + apart.get(i, 0.0)
                    + sum(lagged.get(f"{j}>{i}", 0.0) * a for j, a in zip(nodes, x, strict=True))
                )
            p = np.exp([float(np.ravel(boltzmann(dict(zip(nodes, s, strict=True)), now, {}))[0]) for s in states])
            x = states[rng.choice(len(states), p=p / p.sum())]
    steps: dict = {}
    for first, second in itertools.pairwise(rows):
        if first[0] == second[0]:
            key = (tuple(first[2:]), tuple(second[2:]))
            steps[key] = steps.get(key, 0) + 1
    order = sorted(steps)
    return {"name": name, "description": f"{n_people} people in {n_waves} waves.", "nodes": list(nodes),
            "levels": [2] * d, "rows": rows, "row_columns": ["person", "wave", *nodes],
            "transitions": {"before": [list(b) for b, _ in order], "after": [list(a) for _, a in order],
                            "counts": [steps[k] for k in order]}}  # fmt: skip


def data_sets() -> list[dict]:
    """Simulate all data sets."""
    three = {"A-B": 0.8, "A-C": 0.5, "B-C": 0.1, "A": -0.4, "B": 0.1, "C": 0.3}
    four = {"A-B": 1.1, "A-D": 0.45, "B-C": -0.7, "C-D": 0.25, "A": -0.5, "B": 0.2, "C": 0.3, "D": 0.0}
    graded = {"A-B": 0.35, "A-C": 0.15, "B-C": 0.0, "A:1": 0.2, "A:2": -0.6, "B:1": 0.3, "B:2": 0.1, "C:1": 0.0,
              "C:2": -0.2}  # fmt: skip
    mixed = {"A-B": 0.7, "A-C": 0.3, "B-C": 0.1, "A": -0.6, "B:1": 0.2, "B:2": -0.3, "C:1": 0.3, "C:2": 0.1,
             "C:3": -0.5}  # fmt: skip
    named = {"A-B=1,1": 0.9, "A-B=2,1": -0.4, "A-C=1,1": 0.2, "A-C=2,1": 0.1, "B-C": 0.5, "A:1": 0.3, "A:2": -0.2,
             "B": -0.3, "C": 0.1}  # fmt: skip
    square = {"A-B=1,1": 0.9, "A-B=1,2": -0.3, "A-B=2,1": 0.2, "A-B=2,2": 0.8, "A:1": 0.2, "A:2": -0.1, "B:1": 0.0,
              "B:2": 0.3}  # fmt: skip
    neutral = {"A-B": 0.25, "A-C": 0.1, "B-C": 0.0}
    neutral |= {f"{i}:linear": -0.2 for i in "ABC"} | {f"{i}:quadratic": -0.3 for i in "ABC"}
    alike = {"A-B": 0.7, "A-C": 0.3, "B-C": 0.0, "A:1": 0.2, "A:2": -0.3, "B:1": 0.0, "B:2": 0.2, "C:1": 0.1,
             "C:2": 0.1}  # fmt: skip
    ring = {"A-B": 0.8, "B-C": 0.8, "C-D": -0.1, "A-D": 0.5, "A": 0.1, "B": -0.2, "C": 0.0, "D": 0.15}
    hidden = {"h1-A": 3.0, "h1-B": 2.5, "h1-C": -2.0, "A": -1.5, "B": -1.2, "C": 1.0, "h1": 0.0}
    yesno3 = table(
        "yesno3", "Three yes/no nodes.", "ABC", [2] * 3, draw("boltzmann", list("ABC"), [2] * 3, three, 200, 11)
    )
    return [
        yesno3,
        with_holes(yesno3, 0.25, 12),
        table("yesno4", "Four yes/no nodes.", "ABCD", [2] * 4, draw("boltzmann", list("ABCD"), [2] * 4, four, 250, 24)),
        table("ordered3", "Three ordered nodes of three levels.", "ABC", [3] * 3,
              draw("ordinal", list("ABC"), [3] * 3, graded, 200, 13)),
        table("mixed3", "A yes/no node, and ordered nodes of three and four levels.", "ABC", [2, 3, 4],
              draw("ordinal", list("ABC"), [2, 3, 4], mixed, 220, 14)),
        table("named3", "A node of three categories without order, and two yes/no nodes.", "ABC", [3, 2, 2],
              draw("nominal", list("ABC"), [3, 2, 2], named, 220, 15, nominal=[True, False, False])),
        table("named2", "Two nodes of three categories without order.", "AB", [3, 3],
              draw("nominal", list("AB"), [3, 3], square, 120, 16, nominal=[True, True])),
        table("neutral3", "Three ordered nodes of four levels, with a neutral category.", "ABC", [4] * 3,
              draw("blume-capel", list("ABC"), [4] * 3, neutral, 200, 17, neutral=[1, 2, 1])),
        table("labels3", "Three nodes with the same three labels.", "ABC", [3] * 3,
              draw("potts", list("ABC"), [3] * 3, alike, 220, 18)),
        two_groups(),
        waves("waves2", "AB", {"A>A": 0.9, "B>B": 0.5, "A>B": 0.7}, {"A-B": 0.6, "A": -0.5, "B": -0.6}, 60, 5, 19),
        waves("waves3", "ABC", {"A>A": 0.8, "A>B": 1.0, "B>C": 0.5}, {"A": -0.4, "B": -0.5, "C": 0.1}, 70, 5, 20),
        waves("people2", "AB", {"A>A": 0.6, "A>B": 0.8}, {"A": -0.3, "B": -0.4}, 50, 5, 23, spread=1.0),
        table("ring4", "Four yes/no nodes on a ring.", "ABCD", [2] * 4,
              draw("agreement", list("ABCD"), [2] * 4, ring, 200, 21)),
        table("hidden3", "Three yes/no nodes that depend on one hidden unit.", "ABC", [2] * 3,
              draw("rbm", list("ABC"), [2] * 3, hidden, 30, 22, n_hidden=1)),
    ]  # fmt: skip


def case(name: str, data: str, title: str, keywords: str, prior: dict, **model) -> dict:
    """Return a case."""
    return {"name": name, "title": title, "keywords": keywords.split(), "data_name": data,
            "model_name": model["family"], "results_name": name, "model": model, "prior": prior}  # fmt: skip


def cases() -> list[dict]:
    """List all cases."""
    half, wide = fixed(0.5), normal(10.0)
    pairs = {"type": "pairs", "values": {"A-B": 0.5, "A-C": 0.1, "A-D": 0.8, "B-C": 1.0, "B-D": 0.0, "C-D": 0.3}}
    mixture = {"type": "blocks", "partition": "mixture", "rate": 1.0, "concentration": 1.0, "within": [1, 1],
               "between": [1, 1]}  # fmt: skip
    process = {**mixture, "partition": "process", "within": [4, 1], "between": [1, 4]}
    one = normal(1.0)
    ring = ["A-B", "A-D", "B-C", "C-D"]
    uniform = {"type": "logistic-beta", "a": 1.0, "b": 1.0}
    crp = {"type": "dirichlet-process", "alpha": 1.0}
    return [
        case("boltzmann3-normal", "yesno3", "Yes/no over {0, 1}, normal slab", "yes-no spike-slab",
             {"density": half, "slab": one, "bias": wide}, family="boltzmann"),
        case("boltzmann3-all", "yesno3", "Yes/no over {0, 1}, all edges present", "yes-no parameters evidence",
             {"density": fixed(1.0), "slab": one, "bias": one}, family="boltzmann"),
        case("boltzmann3-none", "yesno3", "Yes/no over {0, 1}, no edges", "yes-no parameters evidence",
             {"density": fixed(0.0), "slab": one, "bias": one}, family="boltzmann"),
        case("ising3-normal", "yesno3", "Yes/no over {-1, +1}, normal slab", "yes-no spike-slab",
             {"density": half, "slab": normal(0.25), "bias": normal(2.0)}, family="ising"),
        case("boltzmann4-cauchy", "yesno4", "Four yes/no nodes, Cauchy slab, learnt density", "yes-no spike-slab",
             {"density": beta(1, 1), "slab": cauchy(1.0), "bias": wide}, family="boltzmann"),
        case("boltzmann4-pairs", "yesno4", "Prior probabilities of single pairs", "yes-no spike-slab pair-priors",
             {"density": pairs, "slab": one, "bias": wide}, family="boltzmann"),
        case("boltzmann4-blocks", "yesno4", "Stochastic blocks, mixture of finite mixtures", "yes-no spike-slab blocks",
             {"density": mixture, "slab": one, "bias": wide}, family="boltzmann"),
        case("boltzmann4-process", "yesno4", "Stochastic blocks, Dirichlet process", "yes-no spike-slab blocks",
             {"density": process, "slab": one, "bias": wide}, family="boltzmann"),
        case("boltzmann3-missing", "yesno3-missing", "Missing answers", "yes-no spike-slab missing",
             {"density": half, "slab": one, "bias": normal(2.0)}, family="boltzmann"),
        case("boltzmann3-precision", "yesno3", "Normal slab whose precision is learnt",
             "yes-no spike-slab learnt-scale",
             {"density": half, "slab": {"type": "normal-gamma", "shape": 5.0, "rate": 5.0}, "bias": wide},
             family="boltzmann"),
        case("boltzmann3-scale", "yesno3", "Cauchy slab whose scale is learnt", "yes-no spike-slab learnt-scale",
             {"density": half, "slab": {"type": "cauchy-gamma", "shape": 2.0, "rate": 2.0}, "bias": wide},
             family="boltzmann"),
        case("ordinal3-normal", "ordered3", "Ordered nodes, normal slab", "ordered spike-slab",
             {"density": half, "slab": normal(0.5), "bias": wide}, family="ordinal"),
        case("ordinal3-cauchy", "ordered3", "Ordered nodes, Cauchy slab, Beta thresholds", "ordered spike-slab",
             {"density": half, "slab": cauchy(2.0), "bias": {"type": "logistic-beta", "a": 0.5, "b": 0.5}},
             family="ordinal"),
        case("mixed3-normal", "mixed3", "Yes/no and ordered nodes", "yes-no ordered mixed spike-slab",
             {"density": half, "slab": normal(0.5), "bias": wide}, family="ordinal"),
        case("nominal3-normal", "named3", "A node without order and yes/no nodes", "nominal yes-no spike-slab",
             {"density": half, "slab": one, "bias": wide}, family="nominal", nominal=[True, False, False]),
        case("nominal2-cauchy", "named2", "Two nodes without order, Cauchy slab", "nominal spike-slab",
             {"density": half, "slab": cauchy(1.0), "bias": wide}, family="nominal", nominal=[True, True]),
        case("blume-capel3-normal", "neutral3", "Ordered nodes with a neutral category", "ordered spike-slab",
             {"density": half, "slab": normal(0.5), "bias": one}, family="blume-capel", neutral=[1, 2, 1]),
        case("potts3-normal", "labels3", "Nodes that agree or not", "potts spike-slab",
             {"density": half, "slab": normal(0.5), "bias": wide}, family="potts"),
        case("compare3-normal", "groups3", "Differences between two groups", "yes-no groups spike-slab",
             {"density": half, "slab": one, "bias": wide}, family="compare"),
        case("panel2-within", "waves2", "What follows what, and edges within a wave", "yes-no panel spike-slab",
             {"density": beta(1, 1), "slab": one, "bias": wide}, family="panel", within=True),
        case("panel3-lagged", "waves3", "What follows what", "yes-no panel spike-slab",
             {"density": half, "slab": one, "bias": wide}, family="panel", within=False),
        case("partition4-ring", "ring4", "Edges that share parameters", "yes-no partition shared-parameters",
             {"density": fixed(1.0), "partition": crp, "slab": uniform, "bias": wide}, family="agreement",
             candidates=ring),
        case("partition3-spike", "yesno3", "Edges that share parameters or are absent", "yes-no partition spike-slab",
             {"density": beta(5, 5), "partition": crp, "slab": uniform, "bias": wide}, family="agreement"),
        case("rbm3-1", "hidden3", "One hidden unit", "yes-no hidden evidence",
             {"density": fixed(1.0), "slab": one, "bias": one}, family="rbm", n_hidden=1),
        case("rbm3-0", "hidden3", "No hidden units", "yes-no hidden evidence",
             {"density": fixed(0.0), "slab": one, "bias": one}, family="boltzmann"),
        case("panel2-own", "people2", "What follows what, and people with own intercepts",
             "yes-no panel spike-slab own-intercepts",
             {"density": half, "slab": one, "bias": wide, "intercepts": {"type": "huang-wand", "df": 2, "scale": 1}},
             family="panel", within=False, intercepts="own"),
    ]  # fmt: skip
