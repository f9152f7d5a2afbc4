"""Exact values at one vector of parameters: log Z, mean statistics, marginals and the log likelihood of the data."""

from __future__ import annotations

import energies
import features
import numpy as np


def at(case: dict, data: dict, model: features.Model, mean: list[float]) -> dict:
    """Return values at the posterior mean, rounded to four decimals, by features and by formulas.

    Of several tables (groups, or rows before) there is one log Z for each; statistics are sums over tables, each
    with its number of observations, over their total.
    """
    theta = np.round(mean, 4) + 0.0
    log_z, expected, likelihood = [], np.zeros(len(theta)), 0.0
    n = sum(t.counts.sum() for t in model.tables)
    for table in model.tables:
        energy = table.features @ theta
        log_z.append(float(np.logaddexp.reduce(energy)))
        p = np.exp(energy - log_z[-1])
        expected += table.counts.sum() / n * (p @ table.features)
        likelihood += float(table.counts @ np.log(table.masks @ p))
    values = {name: np.array([value]) for name, value in zip(model.names, theta, strict=True)}
    other = float(np.ravel(energies.log_likelihood(case, data, values))[0])
    point = {
        "parameters": {k: float(v) for k, v in zip(model.names, theta, strict=True)},
        "log_z": [float(f"{z:.12g}") for z in log_z],
        "mean_statistics": {k: float(f"{v:.12g}") for k, v in zip(model.names, expected, strict=True)},
        "log_likelihood": {"first": float(f"{likelihood:.12g}"), "second": float(f"{other:.12g}"),
                           "value": float(f"{likelihood:.12g}"), "error": 1e-9 * (1 + abs(likelihood))},
    }  # fmt: skip
    if case["model"]["family"] not in ("compare", "panel"):
        point |= marginals(case, data, values)
    return point


def marginals(case: dict, data: dict, values: dict) -> dict:
    """Return the probability of each category of each visible node, and log p of all visible states, by formulas."""
    nodes, levels = data["nodes"], data["levels"]
    energy = energies.ENERGIES[case["model"]["family"]]
    table, log_z = energies.table(energy, nodes, levels, values, {**case["model"], "levels": levels})
    p = {x: float(np.exp(np.ravel(e - log_z)[0])) for x, e in table.items()}
    node = {
        name: [float(f"{sum(q for x, q in p.items() if x[i] == k):.12g}") for k in range(levels[i])]
        for i, name in enumerate(nodes)
    }
    return {
        "marginals": node,
        "states": [list(x) for x in p],
        "probabilities": [float(f"{q:.12g}") for q in p.values()],
    }
