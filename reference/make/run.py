"""Make data, posteriors and results of the reference suite: ``python reference/make/run.py [names]``.

Needs NumPy and SciPy only, and about 15 minutes of one core.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path

import energies
import features
import graded
import numpy as np
import people
import persons
import points
import quadrature
import sampling
import structures
import summaries
from cases import cases, data_sets

ROOT = Path(__file__).parents[1]
SIZES = {0: 1, 1: 24, 2: 24, 3: 20, 4: 16, 5: 13, 6: 12, 7: 9, 8: 7, 9: 6, 10: 6, 11: 5, 12: 5}
N_MACHINE = 15  # points a coordinate for a posterior of several modes
N_SOBOL = {"rbm": 2**16, "other": 2**13}
PANEL_EDGES = ["A>A", "A>B", "B>A", "B>B"]
INTEGRALS: dict[tuple, list] = {}  # of structures that several cases have


def first(case: dict, data: dict) -> tuple[list[str], list[dict]]:
    """Return labels of structures, and quantities by two sizes of the rule."""
    model = features.build(case, data)
    listed = structures.structures(case, model, data["nodes"])
    prior = case["prior"]
    rules: list[list[tuple]] = [[], []]
    is_machine = case["model"]["family"] == "rbm"
    for s in listed:
        n = N_MACHINE if is_machine else SIZES[s.spread.shape[1]]
        density = quadrature.Density(prior, s.blocks, s.biases)
        rule = quadrature.integrate_by_prior if is_machine else quadrature.integrate
        if prior["slab"]["type"] == "cauchy-gamma":
            n, rule = 8, graded.integrate_graded
        key = ("first", *key_of(case), s.label)
        if key not in INTEGRALS:
            INTEGRALS[key] = rule(model, s.spread, density, (n - 1, n))
        for kept, value in zip(rules, INTEGRALS[key], strict=True):
            kept.append(value)
    labels, log_priors = [s.label for s in listed], np.array([s.log_prior for s in listed])
    results = []
    for kept in rules:
        values = [np.array(v) for v in zip(*kept, strict=True)]
        result = summaries.summarize(labels, log_priors, *values)
        result |= of_partitions(case, data, labels, result["structure_probability"], first_blocks)
        results.append(result)
    return labels, results


def key_of(case: dict) -> tuple[str, ...]:
    """Return what the integrals of structures depend on."""
    return case["data_name"], str(case["model"]), str(case["prior"]["slab"]), str(case["prior"]["bias"])


def second(case: dict, data: dict, labels: list[str], seed: int) -> list[dict]:
    """Return quantities of each replicate."""
    model = features.build(case, data)  # names of parameters only
    edges, prior = list(model.edges), case["prior"]
    by_structure, log_priors = [], []
    for k, label in enumerate(labels):
        target = target_of(case, data, model, label)
        rule = sampling.integrate_mixture if case["model"]["family"] == "rbm" else sampling.integrate
        key = ("second", *key_of(case), label)
        if key not in INTEGRALS:
            INTEGRALS[key] = rule(target, N_SOBOL.get(case["model"]["family"], N_SOBOL["other"]), seed + 100 * k)
        by_structure.append(INTEGRALS[key])
        log_priors.append(np.log(prior_of(label, edges, model.kinds, prior, data["nodes"])))
    results = []
    for r in range(sampling.N_REPLICATES):
        values = [np.array([s[j][r] for s in by_structure]) for j in range(3)]
        result = summaries.summarize(labels, np.array(log_priors), *values)
        result |= of_partitions(case, data, labels, result["structure_probability"], second_blocks)
        results.append(result)
    return results


def target_of(case: dict, data: dict, model: features.Model, label: str) -> sampling.Target:
    """Return the integrand of a structure by names of parameters."""
    edges, names = model.edges, model.names
    of_edges = [[names[i] for i in block] for block in edges.values()]
    always = [[names[i] for i in block] for block in model.always.values()]
    weights = {n for block in of_edges + always for n in block}
    biases = [n for n in names if n not in weights]
    if "partition" in case["prior"]:
        groups: dict[str, list[str]] = {}
        for c, block in zip(label, of_edges, strict=True):
            groups.setdefault(c, []).extend(block)
        absent = groups.pop(".", [])
        return sampling.Target(case, data, names, [[g] for g in groups.values()], biases, absent)
    present = [block for c, block in zip(label, of_edges, strict=True) if c == "1"]
    absent = [n for c, block in zip(label, of_edges, strict=True) if c == "0" for n in block]
    return sampling.Target(case, data, names, [[[n] for n in b] for b in always + present], biases, absent)


def prior_of(label: str, edges: list[str], kinds: dict, prior: dict, nodes: list[str]) -> float:
    """Return the prior probability of a structure by the second computation."""
    included = {e: int(c != ("." if "partition" in prior else "0")) for e, c in zip(edges, label, strict=True)}
    if "partition" in prior:
        included = {e: int(c != ".") for e, c in zip(edges, label, strict=True)}
    p = 1.0
    for kind in dict.fromkeys(kinds.get(e, "edge") for e in edges):
        of_kind = {e: y for e, y in included.items() if kinds.get(e, "edge") == kind}
        p *= sampling.structure_prior(of_kind, prior["density"], nodes)
    if "partition" in prior:
        alpha, before = prior["partition"]["alpha"], []
        for c in label.replace(".", ""):
            p *= (before.count(c) or alpha) / (alpha + len(before))
            before.append(c)
    return p


def of_partitions(case: dict, data: dict, labels: list[str], p: np.ndarray, blocks) -> dict:
    """Return what is known of groups of edges, or of blocks of nodes."""
    if "partition" in case["prior"]:
        return summaries.together(labels, p)
    density = case["prior"]["density"]
    if density["type"] != "blocks":
        return {}
    nodes, total = data["nodes"], {}
    edges = ["-".join(pair) for pair in itertools.combinations(nodes, 2)]
    for label, q in zip(labels, p, strict=True):
        for partition, share in blocks(label, edges, density, nodes).items():
            total[partition] = total.get(partition, 0.0) + q * share
    order = sorted(total)
    d = len(nodes)
    number = [sum(total[z] for z in order if max(z) + 1 == k) for k in range(1, d + 1)]
    same = [sum(total[z] for z in order if z[u] == z[v]) for u, v in itertools.combinations(range(d), 2)]
    return {"block_probability": np.array([total[z] for z in order]), "number_of_blocks": np.array(number),
            "same_block": np.array(same)}  # fmt: skip


def first_blocks(label: str, edges: list[str], density: dict, nodes: list[str]) -> dict:
    """Return probabilities of partitions of the nodes given the edges, by closed forms."""
    ends = [tuple(nodes.index(end) for end in edge.split("-")) for edge in edges]
    joint = structures.joint_with_blocks(tuple(map(int, label)), ends, density)
    top = np.logaddexp.reduce(list(joint.values()))
    return {z: float(np.exp(value - top)) for z, value in joint.items()}


def second_blocks(label: str, edges: list[str], density: dict, nodes: list[str]) -> dict:
    """Return the same by quadrature and addition of assignments."""
    included = {e: int(c) for e, c in zip(edges, label, strict=True)}
    joint = sampling.blocks_and_edges(included, density, nodes)
    total = sum(joint.values())
    return {z: value / total for z, value in joint.items()}


def own_intercepts(case: dict, data: dict, seed: int) -> tuple[list[str], dict]:
    """Do what `compute` does for people with intercepts of their own, by two importance samplers."""
    crowd = people.People(data)
    names = [*PANEL_EDGES, "A", "B", *people.SCALES, *people.SLOPES]
    labels, by_structure = [], ([], [])
    for k, included in enumerate(itertools.product((0, 1), repeat=4)):
        labels.append("".join(map(str, included)))
        by_structure[0].append(people.integrate(crowd, included, case["prior"], seed + 100 * k))
        present = [e for e, y in zip(PANEL_EDGES, included, strict=True) if y]
        by_structure[1].append(sampling.integrate(persons.Persons(case, data, names, present), 1024, seed + 100 * k))
        print(labels[-1], [s[-1][0].mean() for s in by_structure], flush=True)
    half = np.full(len(labels), -4 * np.log(2.0))
    both = []
    for listed in by_structure:
        replicates = [
            summaries.summarize(labels, half, *(np.array([s[j][r] for s in listed]) for j in range(3)))
            for r in range(sampling.N_REPLICATES)
        ]
        draws = {q: np.array([r[q] for r in replicates]) for q in replicates[0]}
        both.append({q: (v.mean(axis=0), v.std(axis=0, ddof=1) / np.sqrt(len(v)) + 1e-10) for q, v in draws.items()})
    return labels, {q: combine(*both[0][q], *both[1][q]) for q in both[0]}


def compute(case: dict, data: dict, seed: int) -> tuple[list[str], dict]:
    """Return labels of structures, and each quantity with its error and both computations."""
    if case["model"].get("intercepts") == "own":
        return own_intercepts(case, data, seed)
    labels, (coarse, fine) = first(case, data)
    replicates = second(case, data, labels, seed)
    quantities = {}
    for name, value in fine.items():
        error = np.abs(value - coarse[name]) + 1e-10 * (1 + np.abs(value))
        draws = np.array([r[name] for r in replicates])
        other, other_error = draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
        quantities[name] = combine(value, error, other, other_error + 1e-10 * (1 + np.abs(other)))
    return labels, quantities


def combine(value: np.ndarray, error: np.ndarray, other: np.ndarray, other_error: np.ndarray) -> dict:
    """Take the computation with the smaller error; the error is at least the difference of both."""
    with np.errstate(invalid="ignore"):
        best = np.where(error <= other_error, value, other)
        bound = np.maximum(np.minimum(error, other_error), np.abs(value - other))
    columns = {"value": best, "error": bound, "first": value, "first_error": error, "second": other,
               "second_error": other_error}  # fmt: skip
    return {k: [None if np.isnan(a) else float(f"{a:.10g}") for a in v] for k, v in columns.items()}


def by_items(case: dict, data: dict, seed: int) -> dict:
    """Compute a panel without edges within waves: its items are independent given the wave before."""
    total: dict = {}
    logs = []
    for k, item in enumerate(data["nodes"]):
        steps = data["transitions"]
        of_item = {**case, "data_name": f"{case['data_name']} {item}"}
        part = {**data, "items": [item], "transitions": {**steps, "after": [[row[k]] for row in steps["after"]]}}
        _, quantities = compute(of_item, part, seed + 10_000 * k)
        names = features.build(case, part).names
        logs.append(quantities["log_evidence"])
        for name in ("mean", "sd", "inclusion", "log10_bayes_factor"):
            for i, parameter in enumerate(names[: len(quantities[name]["value"])]):
                total.setdefault(name, {})[parameter] = {c: v[i] for c, v in quantities[name].items()}
    order = features.build(case, data).names
    result = {"log_evidence": {c: [sum(q[c][0] for q in logs)] for c in logs[0]}}
    for name, of in total.items():
        rows = [of[p] for p in order if p in of]
        result[name] = {c: [row[c] for row in rows] for c in rows[0]}
    return result


def names_of(case: dict, data: dict, labels: list[str], quantities: dict) -> dict:
    """Return what the entries of each quantity are called."""
    model, nodes = features.build(case, data), data["nodes"]
    edges = list(model.edges)
    more = [*people.SCALES, *people.SLOPES] if case["model"].get("intercepts") == "own" else []
    pairs = ["-".join(p) for p in itertools.combinations(nodes, 2)]
    names = {
        "log_evidence": ["log p(data)"], "structure_log_evidence": labels, "structure_probability": labels,
        "mean": model.names + more, "sd": model.names + more, "inclusion": edges, "log10_bayes_factor": edges,
        "co_clustering": [f"{a} {b}" for a, b in itertools.combinations(edges, 2)],
        "number_of_groups": list(map(str, range(len(edges) + 1))),
        "number_of_blocks": list(map(str, range(1, 1 + len(nodes)))),
        "same_block": pairs,
        "block_probability": ["".join(map(str, z)) for z in sorted(structures.set_partitions(len(nodes)))],
    }  # fmt: skip
    return {k: names[k] for k in quantities}


def write(folder: str, name: str, value: dict) -> None:
    """Write a JSON file, a list of numbers on one line."""
    text = json.dumps(value, indent=1, ensure_ascii=False)
    short = []
    depth = 0
    for line in text.splitlines():
        stripped = line.strip()
        if depth:
            short[-1] += (" " if short[-1][-1] == "," else "") + stripped
        else:
            short.append(line)
        depth += stripped.count("[") - stripped.count("]")
    path = ROOT / folder / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(short) + "\n", encoding="utf-8")


def main(only: list[str]) -> None:
    """Make all files, or the results of some cases."""
    data = {d["name"]: d for d in data_sets()}
    for name, value in data.items():
        write("data", name, value)
    for k, case in enumerate(cases()):
        of = data[case["data_name"]]
        model = features.build(case, of)
        more = [*people.SCALES, *people.SLOPES] if case["model"].get("intercepts") == "own" else []
        stored = {**case, "parameters": model.names + more, "edges": list(model.edges)}
        write("posteriors", case["name"], stored)
        if only and case["name"] not in only:
            continue
        start = time.perf_counter()
        has_own = case["model"].get("intercepts") == "own"
        if case["model"]["family"] == "panel" and not case["model"]["within"] and not has_own:
            labels, quantities = [], by_items(case, of, 7 + k)
        else:
            labels, quantities = compute(case, of, 7 + k)
        names = names_of(case, of, labels, quantities)
        result = {"name": case["name"], "quantities": {q: {"names": names[q], **v} for q, v in quantities.items()}}
        if not has_own:
            result["point"] = points.at(case, of, model, quantities["mean"]["value"])
        write("results", case["name"], result)
        worst = {q: f"{max((e for e in v['error'] if e is not None), default=0):.1e}" for q, v in quantities.items()}
        print(case["name"], f"{time.perf_counter() - start:.0f} s", worst, flush=True)


if __name__ == "__main__":
    assert energies.ENERGIES
    main(sys.argv[1:])
