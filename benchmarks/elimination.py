"""Speed of exact elimination with a reused order: log Z, all moments, 1,000 samples.

Run ``python benchmarks/elimination.py [--turns N]``. Compared, where feasible, with `TreeDecompositionSampler` of
dwave-samplers (C++; extra ``bayesmrf[benchmark]``), with the same order, and enumeration of all 2^16 states by NumPy.
The versions alternate. The order is found once, and its time printed separately. All three are exact: the largest
differences of log Z and of P(ends of an edge agree) are also printed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import plain
from threadpoolctl import threadpool_limits
from timing import arguments, clock, duration, machine, table, turns

from bayesmrf import graphs
from bayesmrf.base import LOG_Z
from bayesmrf.engines import Elimination
from bayesmrf.graphs import Graph
from bayesmrf.inference.elimination.engine import EliminationPlan
from bayesmrf.models import Agreement

GRAPHS = {
    "4x4 grid": graphs.grid(4, 4),
    "10x10 grid": graphs.grid(10, 10),
    "15x15 grid": graphs.grid(15, 15),
    "tree, 8,191 nodes": graphs.binary_tree(12),
}
N_SAMPLES = 1000
QUESTIONS = ("log Z", "moments", "samples")
Version = dict[str, Callable[[], Any]]  # the call for each question; "check" gives log Z and the moments


def ours(model: Agreement, theta: np.ndarray, plan: EliminationPlan, rng: np.random.Generator) -> Version:
    engine = Elimination()
    return {
        "log Z": lambda: engine.infer(model, theta, plan, LOG_Z),
        "moments": lambda: engine.infer(model, theta, plan),
        "samples": lambda: engine.sample(model, theta, plan, N_SAMPLES, rng),
        "check": lambda: (lambda found: (found.log_z, found.moments))(engine.infer(model, theta, plan)),
    }


def dwave(model: Agreement, theta: np.ndarray, plan: EliminationPlan, rng: np.random.Generator) -> Version:
    import dimod
    from dwave.samplers import TreeDecompositionSampler

    form, sampler, order = model.pairwise(theta), TreeDecompositionSampler(), plan.order.tolist()
    edges = [(int(u), int(v)) for u, v in form.edges]
    bqm = dimod.BinaryQuadraticModel.from_ising(
        dict.fromkeys(range(model.graph.n_nodes), 0.0), dict(zip(edges, -form.coupling, strict=True)), -form.offset
    )

    def call(num_reads: int, marginals: bool) -> dict:
        seed = int(rng.integers(2**31))
        options = {"num_reads": num_reads, "marginals": marginals, "elimination_order": order, "seed": seed}
        return sampler.sample(bqm, **options).info

    def check() -> tuple[float, np.ndarray]:
        info = call(1, True)
        pairs = info["interaction_marginals"]
        tables = [pairs[e] if e in pairs else pairs[e[::-1]] for e in edges]
        return info["log_partition_function"], np.array([t[-1, -1] + t[1, 1] for t in tables])

    # It always draws, at least once.
    return {
        "log Z": lambda: call(1, False),
        "moments": lambda: call(1, True),
        "samples": lambda: call(N_SAMPLES, False),
        "check": check,
    }


def enumeration(model: Agreement, theta: np.ndarray, plan: EliminationPlan, rng: np.random.Generator) -> Version:
    if model.graph.n_nodes > 16:
        raise ImportError("too many states")
    agree = plain.agreements(model.graph.n_nodes, model.graph.edges)

    def moments() -> tuple[float, np.ndarray]:
        log_z = plain.log_z(theta, agree)
        return log_z, agree @ np.exp(theta @ agree - log_z)

    def samples() -> np.ndarray:
        log_weight = theta @ agree
        total = np.cumsum(np.exp(log_weight - log_weight.max()))
        state = np.searchsorted(total, rng.random(N_SAMPLES) * total[-1])
        return state[:, None] >> np.arange(model.graph.n_nodes) & 1

    return {"log Z": lambda: plain.log_z(theta, agree), "moments": moments, "samples": samples, "check": moments}


MAKERS = {"bayesmrf": ours, "dwave-samplers": dwave, "NumPy, 2^16 states": enumeration}


def compare(name: str, graph: Graph, n_turns: int, rng: np.random.Generator) -> None:
    model = Agreement(graph)
    theta = rng.normal(0, 0.8, graph.n_edges)
    Elimination().prepare(model)  # compiles
    plan = Elimination().prepare(model)
    order = clock(lambda: Elimination().prepare(model))
    versions: dict[str, Version] = {}
    left_out = []
    for version, make in MAKERS.items():
        try:
            versions[version] = make(model, theta, plan, rng)
        except ImportError as reason:
            left_out.append(f"{version} is left out: {reason}.")
    checks = {version: calls.pop("check")() for version, calls in versions.items()}
    calls = {f"{version}/{question}": call for version, v in versions.items() for question, call in v.items()}
    found = turns(calls, n_turns, rng)
    head = (f"{name}, width {plan.width}", "log Z", "moments", f"{N_SAMPLES} samples", "it / bayesmrf", "difference")
    rows: list[tuple[str, ...]] = [head]
    for version in versions:
        spent = [found[f"{version}/{q}"].cpu for q in QUESTIONS]
        best = [found[f"bayesmrf/{q}"].cpu for q in QUESTIONS]
        off = [np.abs(np.subtract(a, b)).max() for a, b in zip(checks[version], checks["bayesmrf"], strict=True)]
        ratios = " / ".join(f"{t / b:,.0f}" if t > 10 * b else f"{t / b:.2g}" for t, b in zip(spent, best, strict=True))
        rows.append((version, *map(duration, spent), ratios, f"{max(off):.0e}"))
    print(f"\n{table(*rows)}")
    print(f"The order was found once, in {duration(order.cpu)}.", *left_out)


if __name__ == "__main__":
    n_turns = arguments(__doc__, turns=15).turns
    print(f"{machine()}\nProcessor time of one thread, medians of {n_turns} turns.")
    generator = np.random.default_rng()
    with threadpool_limits(1):
        for name, graph in GRAPHS.items():
            compare(name, graph, n_turns, generator)
