"""Structures of the first computation: which parameters are present or shared, and closed forms of their prior.

A structure is a matrix from its free parameters to all parameters, with the blocks of weights and the biases
among them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import comb, exp, factorial, lgamma, log

import numpy as np
from features import Case, Model


@dataclass
class Structure:
    """Label, log prior probability, map from free to all parameters, blocks of free weights, free biases."""

    label: str
    log_prior: float
    spread: np.ndarray
    blocks: list[list[int]]
    biases: list[int]


def log_beta(a: float, b: float) -> float:
    """Return the log of the Beta function."""
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def set_partitions(n: int) -> list[tuple[int, ...]]:
    """List all partitions of n items as labels by first appearance."""
    every: list[tuple[int, ...]] = [()]
    for _ in range(n):
        every = [(*head, label) for head in every for label in range(max(head, default=-1) + 2)]
    return every


def log_process(labels: tuple[int, ...], alpha: float) -> float:
    """Return the log probability of a partition under a Dirichlet process."""
    n, sizes = len(labels), np.bincount(labels) if labels else []
    return len(sizes) * log(alpha) + sum(lgamma(s) for s in sizes) + lgamma(alpha) - lgamma(alpha + n)


def log_mixture(labels: tuple[int, ...], rate: float, concentration: float) -> float:
    """Return the same under a mixture of finite mixtures: K - 1 is Poisson, shares are Dirichlet."""
    n, sizes, total = len(labels), np.bincount(labels), 0.0
    for k in range(len(sizes), 100):
        ways = log(comb(k, len(sizes))) + log(factorial(len(sizes)))
        shares = lgamma(k * concentration) - lgamma(k * concentration + n)
        shares += sum(lgamma(concentration + s) - lgamma(concentration) for s in sizes)
        total += exp((k - 1) * log(rate) - rate - lgamma(k) + ways + shares)
    return log(total)


def log_nodes(labels: tuple[int, ...], blocks: dict) -> float:
    """Return the log prior probability of a partition of the nodes."""
    if blocks["partition"] == "process":
        return log_process(labels, blocks["concentration"])
    return log_mixture(labels, blocks["rate"], blocks["concentration"])


def joint_with_blocks(included: tuple[int, ...], ends: list[tuple[int, int]], blocks: dict) -> dict:
    """Return the log probability of the edges and each partition of the nodes."""
    joint = {}
    for labels in set_partitions(1 + max(map(max, ends))):
        counts: dict[tuple[int, int], list[int]] = {}
        for y, (u, v) in zip(included, ends, strict=True):
            pair = counts.setdefault(tuple(sorted((labels[u], labels[v]))), [0, 0])
            pair[1 - y] += 1
        value = log_nodes(labels, blocks)
        for (r, s), (present, absent) in counts.items():
            a, b = blocks["within" if r == s else "between"]
            value += log_beta(a + present, b + absent) - log_beta(a, b)
        joint[labels] = value
    return joint


def log_edges(included: tuple[int, ...], density: dict, edges: list[str], nodes: list[str]) -> float:
    """Return the log prior probability that just these edges are present."""
    k, m = sum(included), len(included)
    if density["type"] == "fixed":
        p = [density["value"]] * m
    elif density["type"] == "pairs":
        p = [density["values"][edge] for edge in edges]
    elif density["type"] == "beta":
        a, b = density["a"], density["b"]
        return log_beta(a + k, b + m - k) - log_beta(a, b)
    else:
        ends = [tuple(nodes.index(end) for end in edge.split("-")) for edge in edges]
        joint = np.array(list(joint_with_blocks(included, ends, density).values()))
        return float(np.logaddexp.reduce(joint))
    chances = [q if y else 1 - q for y, q in zip(included, p, strict=True)]
    return -np.inf if min(chances) == 0 else sum(map(log, chances))


def structures(case: Case, model: Model, nodes: list[str]) -> list[Structure]:
    """List the structures that have a prior probability."""
    if "partition" in case["prior"]:
        return partitions(case, model)
    n, edges = len(model.names), list(model.edges)
    kinds = [model.kinds.get(edge, "edge") for edge in edges]
    always = [i for block in model.always.values() for i in block]
    weights = {i for block in model.edges.values() for i in block} | set(always)
    biases = [i for i in range(n) if i not in weights]
    listed = []
    for included in itertools.product((0, 1), repeat=len(edges)):
        prior = 0.0
        for kind in dict.fromkeys(kinds):
            of_kind = [k for k, other in enumerate(kinds) if other == kind]
            names = [edges[k] for k in of_kind]
            prior += log_edges(tuple(included[k] for k in of_kind), case["prior"]["density"], names, nodes)
        if prior == -np.inf:
            continue
        blocks = [*model.always.values(), *(model.edges[e] for e, y in zip(edges, included, strict=True) if y)]
        kept = [i for block in blocks for i in block] + biases
        place = {i: k for k, i in enumerate(kept)}
        spread = np.zeros((n, len(kept)))
        spread[kept, range(len(kept))] = 1.0
        reduced = [[place[i] for i in block] for block in blocks]
        label = "".join(map(str, included))
        listed.append(Structure(label, prior, spread, reduced, [place[i] for i in biases]))
    return listed


def partitions(case: Case, model: Model) -> list[Structure]:
    """List the partitions of the edges; with a density, of those that are present ("." where absent)."""
    r, n, prior = len(model.edges), len(model.names), case["prior"]
    d = n - r
    presences = itertools.product((0, 1), repeat=r) if prior["density"]["type"] != "fixed" else [(1,) * r]
    listed = []
    for included in presences:
        present = [e for e in range(r) if included[e]]
        edges = log_edges(included, prior["density"], list(model.edges), [])
        for labels in set_partitions(len(present)):
            k = 1 + max(labels, default=-1)
            spread = np.zeros((n, k + d))
            spread[range(r, n), range(k, k + d)] = 1.0
            text = ["."] * r
            for e, label in zip(present, labels, strict=True):
                spread[e, label] = 1.0
                text[e] = str(label)
            log_prior = edges + log_process(labels, prior["partition"]["alpha"])
            listed.append(Structure("".join(text), log_prior, spread, [[c] for c in range(k)], list(range(k, k + d))))
    return listed
