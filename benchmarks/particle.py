"""Speed of groups from particles (`GroupedMRF(method="particle")`): time by size of the graph, and a large fit.

Run ``python benchmarks/particle.py scaling|hubs|parts|fit|error|grid [--side N] [--steps N] [--picture FILE]``.
``scaling`` makes a few steps of the kernel on square grids from 10^3 to 10^6 edges, with 1,024 particles on each, and
plots the times. ``hubs`` does the same on scale-free graphs whose largest nodes have about 1,000 neighbours.
``parts`` profiles a step with ten particles per observation, ``fit`` runs one chain from data to summaries. Chains
start near the truth, as from a maximum likelihood estimate. BLAS uses one thread.

``error`` compares default runs with exact ones: number of groups, means of edges (the largest difference, in posterior
standard deviations) and their standard deviations, for two seeds each.

``grid`` fits graphs as the large grid of Liu and Page (2013; 30 x 30 nodes, ten groups, n = 1,000) after a warm-up: the
number of groups, and the error of the agreements, of 20 replicates.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from edges import pattern_data
from scipy.special import expit, logit
from threadpoolctl import threadpool_limits
from timing import Seconds, clock, duration, machine, median, peak, stages, table

from bayesmrf import GroupedMRF, graphs
from bayesmrf.graphs import Graph
from bayesmrf.models import Agreement
from bayesmrf.posterior.groups import two_states
from bayesmrf.posterior.groups.gibbs import GroupedGibbs
from bayesmrf.posterior.groups.items import Logits
from bayesmrf.posterior.groups.kernels import particle_groups
from bayesmrf.posterior.groups.two_states import default_particles
from bayesmrf.priors import DirichletProcess
from bayesmrf.samplers import gibbs
from bayesmrf.states.memory import HUB

SIDES = (23, 41, 71, 127, 224, 400, 707)  # from 1,012 to 998,284 edges
N_GROUPS, N_SWEEPS, N_PARTICLES = 10, 15, 1024
PARTS = {
    "clusters": [(two_states, "flip_clusters")],
    "edges": [(two_states, "scan_groups")],
    "pairs": [(two_states, "scan_pairs")],
    "values": [(two_states, name) for name in ("scan_coordinates", "group_counts", "move_values")],
    "splits, merges": [(Logits, "propose"), (two_states, "accept_jump"), (Logits, "apply")],
    "packing": [(two_states, name) for name in ("unpack", "pack", "fill_hubs")],
}


def scale_free(n_nodes: int, rng: np.random.Generator, largest: float, mean: float = 4) -> Graph:
    """Draw a Chung-Lu graph: expected degrees decrease as a power of the rank, from ``largest``, with given mean."""
    rank, low, high = np.arange(1, n_nodes + 1), 0.0, 3.0
    for _ in range(60):
        power = (low + high) / 2
        weight = largest * rank**-power
        low, high = (power, high) if weight.mean() > mean else (low, power)
    ends = rng.choice(n_nodes, (int(weight.sum() / 2), 2), p=weight / weight.sum())
    return Graph(n_nodes, np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0))


def simulated(
    graph: Graph, n: int, rng: np.random.Generator, low: float, high: float, n_sweeps: int = N_SWEEPS
) -> tuple[np.ndarray, np.ndarray]:
    """Draw states and their theta: ten groups, agreements from Unif(low, high)."""
    model = Agreement(graph)
    theta = logit(rng.uniform(low, high, N_GROUPS)[rng.integers(N_GROUPS, size=graph.n_edges)])
    chains = gibbs.start(n, graph.n_nodes, rng)
    gibbs.sweep(model.pairwise(theta), chains, n_sweeps)
    return gibbs.to_states(chains, n), theta


def kernel_of(
    graph: Graph, n: int, m: int, rng: np.random.Generator, low: float = 0.0, high: float = 1.0
) -> GroupedGibbs:
    """Return the kernel on simulated data, started near the truth."""
    states, theta = simulated(graph, n, rng, low, high)
    model = Agreement(graph)
    start = theta + 0.1 * rng.standard_normal(len(theta))
    return particle_groups(model, model.statistics(states), n, DirichletProcess(1.0), start, m)


def steps(kernel: GroupedGibbs, n_steps: int, rng: np.random.Generator) -> tuple[Seconds, dict[str, float]]:
    """Return the median time of a step, without the first, and the processor time of its parts.

    One scan moves the particles to the start; the time of a step does not depend on it.
    """
    with mock.patch.object(two_states, "START_SWEEPS", 1):
        state, _ = kernel.step(rng, kernel.init(rng))

    def one() -> None:
        nonlocal state
        state, _ = kernel.step(rng, state)

    with stages(PARTS) as spent:
        found = [clock(one) for _ in range(n_steps)]
    return median(found), {part: spent[part] / n_steps for part in PARTS}


def scaling(n_steps: int, picture: Path | None, sides: tuple[int, ...] = SIDES) -> None:
    rows, found = [("edges", "step, wall", "step, CPU", "CPU, us an edge", "peak GiB")], []
    for side in sides:
        rng = np.random.default_rng(side)
        kernel = kernel_of(graphs.grid(side, side), 100, N_PARTICLES, rng)
        spent, _ = steps(kernel, n_steps, rng)
        edges = kernel.model.n_edges
        found.append((edges, spent.cpu))
        rows.append(
            (f"{edges:,}", duration(spent.wall), duration(spent.cpu), f"{spent.cpu / edges * 1e6:.1f}", f"{peak():.2f}")
        )
        print("  ".join(rows[-1]), flush=True)
    slope = np.polyfit(*np.log(np.array(found)).T, 1)[0]
    print(f"\n{table(*rows)}\nTime grows as edges^{slope:.3f}.")
    if picture:
        draw(np.array(found), picture)


def draw(found: np.ndarray, path: Path) -> None:
    """Plot the processor time of a step against edges, with a line at the mean cost per edge."""
    from matplotlib.figure import Figure

    edges, seconds = found.T
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.loglog(edges, np.exp(np.mean(np.log(seconds / edges))) * edges, color="0.7", label="linear")
    axes.loglog(edges, seconds, "o-", color="C0", label=f"one step, {N_PARTICLES:,} particles")
    axes.set_xlabel("edges of a square grid")
    axes.set_ylabel("processor time, seconds")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


def hubs(n_steps: int) -> None:
    rows = [("graph", "nodes", "edges", "largest degree", "step, CPU", "CPU, us an edge")]
    graphs_of = {
        "scale-free": lambda rng: scale_free(20_000, rng, largest=1200),
        "the same without hubs": lambda rng: scale_free(20_000, rng, largest=HUB),
        "grid": lambda rng: graphs.grid(141, 141),
    }
    for name, make in graphs_of.items():
        rng = np.random.default_rng(0)
        graph = make(rng)
        spent, _ = steps(kernel_of(graph, 100, N_PARTICLES, rng, 0.4, 0.6), n_steps, rng)
        degree = np.diff(graph.adjacency.starts).max()
        each = f"{spent.cpu / graph.n_edges * 1e6:.1f}"
        rows.append((name, f"{graph.n_nodes:,}", f"{graph.n_edges:,}", f"{degree:,}", duration(spent.cpu), each))
    print(table(*rows))


def parts(n_steps: int, side: int, n: int = 1000) -> None:
    rng = np.random.default_rng(0)
    m = default_particles(n, side * side)
    whole, found = steps(kernel_of(graphs.grid(side, side), n, m, rng), n_steps, rng)
    rows = [("part", "CPU"), *((part, duration(t)) for part, t in found.items()), ("all", duration(whole.cpu))]
    print(f"{side} x {side} grid, {m:,} particles, wall {duration(whole.wall)}, peak {peak():.2f} GiB\n{table(*rows)}")


def fit(n_steps: int, side: int, n: int = 1000) -> None:
    rng = np.random.default_rng(0)
    graph = graphs.grid(side, side)
    states, theta = simulated(graph, n, rng, 0.0, 1.0)
    estimator = GroupedMRF(
        graph, method="particle", fields=False, n_draws=n_steps, n_warmup=0, n_chains=1, random_state=0, progress=False
    )
    spent = clock(lambda: estimator.fit(states))
    error = np.abs(estimator.agreement_ - 1 / (1 + np.exp(-theta))).mean()
    number = (estimator.n_groups_.index * estimator.n_groups_).sum()
    print(
        f"{side} x {side} grid, {graph.n_edges:,} edges, n = {n}, {n_steps} steps: wall {duration(spent.wall)} "
        f"(the chain {duration(estimator.posterior_.attrs['run_time'])}), CPU {duration(spent.cpu)}, "
        f"peak {peak():.2f} GiB, mean error {error:.4f}, {number:.1f} groups"
    )


def items_data(n_states: int, n_nodes: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw answers on a scale, whose common factor has half of the variance."""
    answers = rng.standard_normal((n, 1)) + rng.standard_normal((n, n_nodes))
    return np.digitize(answers, np.quantile(answers, np.arange(1, n_states) / n_states))


def error(n_draws: int) -> None:
    rng = np.random.default_rng(0)
    grid = graphs.grid(4, 4)
    data = {
        "two patterns, 90:10": (pattern_data([0.9, 0.1], rng), {}),
        "two patterns, 50:50": (pattern_data([0.5, 0.5], rng), {}),
        "three patterns": (pattern_data([0.5, 0.3, 0.2], rng), {}),
        "grid 4x4": (simulated(grid, 1000, rng, 0.4, 0.9)[0], {"graph": grid}),
        "10 items, yes/no": (items_data(2, 10, 500, rng), {}),
        "6 items, 4 answers": (items_data(4, 6, 500, rng), {"model": "ordinal"}),
        "6 items, 3 answers, a table": (items_data(3, 6, 500, rng), {"model": "symmetric"}),
    }
    rows = [("data", "groups, exact", "groups, particles", "largest difference", "ratio of sds")]
    for name, (states, options) in data.items():
        found = {}
        for method in ("exact", "particle"):
            own = {"n_draws": n_draws, "progress": False, "method": method} | options
            runs = [GroupedMRF(random_state=seed, **own).fit(states) for seed in (1, 2)]
            theta = np.concatenate([e.posterior_["posterior"]["theta"].values for e in runs])
            groups = [f"{(e.n_groups_.index * e.n_groups_).sum():.2f}" for e in runs]
            found[method] = ", ".join(groups), theta.mean(axis=(0, 1)), theta.std(axis=(0, 1))
        (one, mean, sd), (two, other, other_sd) = found["exact"], found["particle"]
        rows.append((name, one, two, f"{np.abs((other - mean) / sd).max():.2f}", f"{(other_sd / sd).mean():.2f}"))
        print("  ".join(rows[-1]), flush=True)
    print(table(*rows))


def grid(n_warmup: int, n_draws: int = 200, n_replicates: int = 20) -> None:
    rows, model = [], Agreement(graphs.grid(30, 30))
    for replicate in range(n_replicates):
        states, theta = simulated(model.graph, 1000, np.random.default_rng([0, replicate]), 0.0, 1.0, 2000)
        estimator = GroupedMRF(
            model.graph, method="particle", fields=False, n_draws=n_draws, n_warmup=n_warmup, n_chains=1,
            random_state=replicate, progress=False,
        ).fit(states)  # fmt: skip
        number = (estimator.n_groups_.index * estimator.n_groups_).sum()
        rows.append((number, np.abs(estimator.agreement_ - expit(theta)).mean()))
        print(f"replicate {replicate}: {number:.1f} groups, mean error {rows[-1][1]:.4f}", flush=True)
    mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(n_replicates)
    print(f"all: {mean[0]:.2f} ± {error[0]:.2f} groups, mean error {mean[1]:.4f} ± {error[1]:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("scaling", "hubs", "parts", "fit", "error", "grid"))
    parser.add_argument("--side", type=int, default=300)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    print(machine())
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if args.what == "scaling":
            scaling(args.steps or 3, args.picture)
        elif args.what == "hubs":
            hubs(args.steps or 3)
        elif args.what == "parts":
            parts(args.steps or 3, args.side)
        elif args.what == "error":
            error(args.steps or 1500)
        elif args.what == "grid":
            grid(args.steps or 300)
        else:
            fit(args.steps or 100, args.side)
