"""Likelihoods by formulas: the second computation's view of a case.

Each energy is written as the formula of its model, a term at a time; parameters are arrays by name. No code is shared
with the first computation.
"""

from __future__ import annotations

from itertools import product

import numpy as np

Values = dict[str, np.ndarray]


def pair(t: Values, a: str, b: str) -> np.ndarray | float:
    """Return the weight of a pair of nodes, 0 where it is no candidate."""
    return t.get(f"{a}-{b}", 0.0)


def boltzmann(x: dict, t: Values, _: dict) -> np.ndarray:
    """Sum w_uv x_u x_v over pairs, and b_i x_i over nodes."""
    nodes = list(x)
    total = sum(t[i] * x[i] for i in nodes)
    return total + sum(pair(t, a, b) * (x[a] * x[b]) for k, a in enumerate(nodes) for b in nodes[k + 1 :])


def ising(x: dict, t: Values, model: dict) -> np.ndarray:
    """Take the same sum over -1 and +1."""
    return boltzmann({i: 1 if a else -1 for i, a in x.items()}, t, model)


def agreement(x: dict, t: Values, _: dict) -> np.ndarray:
    """Sum theta_uv over pairs that agree, and h_i s_i over nodes with s = -1 or +1."""
    nodes = list(x)
    total = sum(t[i] * (1 if x[i] else -1) for i in nodes)
    return total + sum(pair(t, a, b) for k, a in enumerate(nodes) for b in nodes[k + 1 :] if x[a] == x[b])


def ordinal(x: dict, t: Values, _: dict) -> np.ndarray:
    """Sum w_uv x_u x_v over pairs, and the threshold of each category but the lowest."""
    nodes, total = list(x), np.zeros(1)
    for i in nodes:
        if x[i]:
            total = total + t[i if i in t else f"{i}:{x[i]}"]
    return total + sum(pair(t, a, b) * (x[a] * x[b]) for k, a in enumerate(nodes) for b in nodes[k + 1 :])


def blume_capel(x: dict, t: Values, model: dict) -> np.ndarray:
    """Sum w_uv x_u x_v, and a_i x_i + b_i (x_i - r_i)^2 - b_i r_i^2."""
    nodes, total = list(x), np.zeros(1)
    for i, r in zip(nodes, model["neutral"], strict=True):
        total = total + t[f"{i}:linear"] * x[i] + t[f"{i}:quadratic"] * ((x[i] - r) ** 2 - r * r)
    return total + sum(pair(t, a, b) * (x[a] * x[b]) for k, a in enumerate(nodes) for b in nodes[k + 1 :])


def potts(x: dict, t: Values, _: dict) -> np.ndarray:
    """Sum J_uv over pairs that agree, and the field of each state but the first."""
    nodes, total = list(x), np.zeros(1)
    for i in nodes:
        if x[i]:
            total = total + t[f"{i}:{x[i]}"]
    return total + sum(pair(t, a, b) for k, a in enumerate(nodes) for b in nodes[k + 1 :] if x[a] == x[b])


def coordinates(m: int, category: int) -> list[float]:
    """Return the coordinates of a category among m: the vertex of a simplex with edges of length 1."""
    points = []
    for k in range(1, m):
        length = (k * (k + 1) * 2) ** 0.5
        points.append(1 / length if category < k else (-k / length if category == k else 0.0))
    return points


def nominal(x: dict, t: Values, model: dict) -> np.ndarray:
    """Sum phi(x_u)' W phi(x_v) over pairs, and mu_i . phi(x_i); thresholds of ordered nodes."""
    nodes, total, phi = list(x), np.zeros(1), {}
    for i, levels, is_nominal in zip(nodes, model["levels"], model["nominal"], strict=True):
        phi[i] = coordinates(levels, x[i]) if is_nominal else [float(x[i])]
        if is_nominal:
            total = total + sum(t[f"{i}:{k + 1}"] * a for k, a in enumerate(phi[i]))
        elif x[i]:
            total = total + t[i if levels == 2 else f"{i}:{x[i]}"]
    for k, a in enumerate(nodes):
        for b in nodes[k + 1 :]:
            for j, u in enumerate(phi[a]):
                for c, v in enumerate(phi[b]):
                    name = f"{a}-{b}={j + 1},{c + 1}" if len(phi[a]) * len(phi[b]) > 1 else f"{a}-{b}"
                    total = total + t[name] * (u * v)
    return total


def machine(x: dict, t: Values, model: dict) -> np.ndarray:
    """Return b . x + sum over hidden units of log(1 + exp(c_k + W_k . x)): the hidden units are summed out."""
    total = sum(t[i] * a for i, a in x.items())
    for k in range(model["n_hidden"]):
        field = t[f"h{k + 1}"] + sum(t[f"h{k + 1}-{i}"] * a for i, a in x.items())
        total = total + np.logaddexp(0, field)
    return total


ENERGIES = {
    "boltzmann": boltzmann, "ising": ising, "agreement": agreement, "ordinal": ordinal, "blume-capel": blume_capel,
    "potts": potts, "nominal": nominal, "rbm": machine,
}  # fmt: skip


def table(energy, nodes: list[str], levels: list[int], t: Values, model: dict) -> tuple[dict, np.ndarray]:
    """Return the energy of every state, and log Z."""
    energies = {x: energy(dict(zip(nodes, x, strict=True)), t, model) for x in product(*map(range, levels))}
    log_z = -np.inf
    for value in energies.values():
        log_z = np.logaddexp(log_z, value)
    return energies, log_z


def of_patterns(energies: dict, log_z: np.ndarray, patterns: list, counts: list) -> np.ndarray:
    """Return the log likelihood of patterns, in which None is missing and summed over."""
    total = 0.0
    for pattern, count in zip(patterns, counts, strict=True):
        fits = [e for x, e in energies.items() if all(a is None or a == b for a, b in zip(pattern, x, strict=True))]
        value = fits[0]
        for other in fits[1:]:
            value = np.logaddexp(value, other)
        total = total + count * (value - log_z)
    return total


def log_likelihood(case: dict, data: dict, t: Values) -> np.ndarray:
    """Return the log likelihood of the data of a case."""
    model, nodes, levels = {**case["model"], "levels": data["levels"]}, data["nodes"], data["levels"]
    if model["family"] == "compare":
        total = 0.0
        for label, sign, counts in zip(data["groups"], (-0.5, 0.5), data["counts"], strict=True):
            of_group = {i: t[f"{i} in {label}"] for i in nodes}
            for k, a in enumerate(nodes):
                for b in nodes[k + 1 :]:
                    of_group[f"{a}-{b}"] = t[f"baseline {a}-{b}"] + sign * t[f"difference {a}-{b}"]
            total = total + of_patterns(*table(boltzmann, nodes, levels, of_group, model), data["patterns"], counts)
        return total
    if model["family"] == "panel":
        return transitions(data, t)
    energies, log_z = table(ENERGIES[model["family"]], nodes, levels, t, model)
    return of_patterns(energies, log_z, data["patterns"], data["counts"])


def transitions(data: dict, t: Values) -> np.ndarray:
    """Return the log probability of each row given the row before it."""
    nodes, items, steps = data["nodes"], data.get("items", data["nodes"]), data["transitions"]
    total, tables = 0.0, {}
    for before, after, count in zip(steps["before"], steps["after"], steps["counts"], strict=True):
        if tuple(before) not in tables:
            pushed = dict(t)
            for i in items:
                pushed[i] = t[i] + sum(t[f"{j}>{i}"] * a for j, a in zip(nodes, before, strict=True))
            tables[tuple(before)] = table(boltzmann, items, data["levels"][: len(items)], pushed, {})
        energies, log_z = tables[tuple(before)]
        total = total + count * (energies[tuple(after)] - log_z)
    return total
