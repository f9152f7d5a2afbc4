"""Speed of Gibbs sweeps on a 30 x 30 grid, compared with C++, NumPy, thrml and dwave-samplers.

Run ``python benchmarks/gibbs_kernel.py``. The versions alternate in random order, so that other work slows all equally,
and the table has medians of spin updates per second. Every version ends with the same check: the mean of x_u x_v over
all edges, which must agree. C++ needs g++; thrml and dwave-samplers come with the extra ``bayesmrf[benchmark]``, and
missing versions are skipped with a note.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bayesmrf.graphs import Graph
from bayesmrf.models.pairwise import Pairwise, pairwise
from bayesmrf.samplers import gibbs

SIDE, N_TURNS = 30, 51
Version = tuple[int, Callable[[], None], Callable[[], np.ndarray]]  # sweeps in one call, the call, states in {-1, +1}


def grid_model(rng: np.random.Generator) -> tuple[Graph, Pairwise]:
    """Return couplings that mix within tens of sweeps, as the check requires."""
    node = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    right, down = (node[:, :-1], node[:, 1:]), (node[:-1], node[1:])
    graph = Graph(node.size, np.vstack([np.column_stack([a.ravel(), b.ravel()]) for a, b in (right, down)]))
    return graph, pairwise(graph, rng.uniform(0.1, 0.3, graph.n_edges), rng.normal(0, 0.1, node.size), 0)


def ours(model: Pairwise, n_chains: int, rng: np.random.Generator, n_jobs: int = 1) -> Version:
    chains, n_sweeps = gibbs.start(n_chains, len(model.field), rng), 8

    def call() -> None:
        gibbs.sweep(model, chains, n_sweeps, n_jobs)

    return n_sweeps, call, lambda: 2 * gibbs.to_states(chains, n_chains) - 1


class CppModel(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("starts", "neighbours", "edge_of", "coupling", "field")]


def compile_cpp() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "gibbs_kernel.so"
        source = Path(__file__).with_suffix(".cpp")
        flags = ["-O3", "-march=native", "-ffast-math", "-std=c++17", "-shared", "-fPIC"]
        subprocess.run(["g++", *flags, str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def cpp(function: str) -> Callable[..., Version]:
    def make(model: Pairwise, n_chains: int, rng: np.random.Generator) -> Version:
        library = compile_cpp()
        if not hasattr(library, function):
            raise ImportError("this processor has no AVX-512")
        chains, n_sweeps = gibbs.start(n_chains, len(model.field), rng), 8
        arrays = CppModel(*(getattr(model, name).ctypes.data for name, _ in CppModel._fields_))
        sizes = [ctypes.c_int64(n) for n in chains.states.shape[:2]]
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in chains]

        def call() -> None:
            getattr(library, function)(arrays, *sizes, *pointers, ctypes.c_int64(n_sweeps))

        return n_sweeps, call, lambda: 2 * gibbs.to_states(chains, n_chains) - 1

    return make


def plain_numpy(model: Pairwise, n_chains: int, rng: np.random.Generator) -> Version:
    x = rng.choice(np.array([-1, 1], dtype=np.float32), size=(len(model.field), n_chains))
    rows = [slice(a, b) for a, b in zip(model.starts[:-1], model.starts[1:], strict=True)]
    neighbours = [model.neighbours[r] for r in rows]
    couplings = [model.coupling[model.edge_of[r]].astype(np.float32) for r in rows]

    def call() -> None:
        for i, (j, w) in enumerate(zip(neighbours, couplings, strict=True)):
            up = rng.random(n_chains, dtype=np.float32) < (1 + np.tanh(model.field[i] + w @ x[j])) / 2
            x[i] = np.where(up, 1, -1)

    return 1, call, lambda: x.T


def thrml(model: Pairwise, n_chains: int, rng: np.random.Generator) -> Version:
    import jax
    import thrml
    from thrml.models.ising import IsingEBM, IsingSamplingProgram, hinton_init

    nodes = [thrml.SpinNode() for _ in model.field]
    edges = [(nodes[u], nodes[v]) for u, v in model.edges]
    ising = IsingEBM(nodes, edges, *map(jax.numpy.asarray, (model.field, model.coupling)), jax.numpy.asarray(1.0))
    black = np.indices((SIDE, SIDE)).sum(axis=0).ravel() % 2
    blocks = [thrml.Block([n for n, b in zip(nodes, black, strict=True) if b == colour]) for colour in (0, 1)]
    program = IsingSamplingProgram(ising, blocks, clamped_blocks=[])
    # One sample, after warm-up; the states go from call to call.
    n_sweeps = 8
    schedule = thrml.SamplingSchedule(n_warmup=n_sweeps, n_samples=1, steps_per_sample=1)

    @jax.jit
    @jax.vmap
    def run(key, start):
        return [s[0] for s in thrml.sample_states(key, program, schedule, start, [], blocks)]

    key = jax.random.key(int(rng.integers(2**31)))
    states = hinton_init(key, ising, blocks, (n_chains,))

    def call() -> None:
        nonlocal key, states
        key, use = jax.random.split(key)
        states = jax.block_until_ready(run(jax.random.split(use, n_chains), states))

    def found() -> np.ndarray:
        x = np.empty((n_chains, len(nodes)), dtype=np.int8)
        for colour in (0, 1):
            x[:, black == colour] = 2 * np.asarray(states[colour], dtype=np.int8) - 1
        return x

    return n_sweeps, call, found


def dwave_samplers(model: Pairwise, n_chains: int, rng: np.random.Generator) -> Version:
    import dimod
    from dwave.samplers import SimulatedAnnealingSampler

    couplings = {(int(u), int(v)): -w for w, (u, v) in zip(model.coupling, model.edges, strict=True)}
    bqm = dimod.BinaryQuadraticModel.from_ising(dict(enumerate(-model.field)), couplings)
    sampler, n_sweeps, x = SimulatedAnnealingSampler(), 100, np.empty((n_chains, len(model.field)))

    def call() -> None:
        # At one temperature with heat-bath acceptance, annealing is Gibbs sampling in the order of the nodes.
        x[...] = sampler.sample(
            bqm,
            num_reads=n_chains,
            beta_schedule_type="custom",
            beta_schedule=[1.0],
            num_sweeps_per_beta=n_sweeps,
            proposal_acceptance_criteria="Gibbs",
            seed=int(rng.integers(2**31)),
        ).record.sample

    return n_sweeps, call, lambda: x


def compare(n_chains: int) -> None:
    rng = np.random.default_rng()
    graph, model = grid_model(rng)
    makers = {
        "bayesmrf": ours,
        "bayesmrf, 2 threads": lambda *a: ours(*a, n_jobs=2),
        "C++, AVX-512 by hand": cpp("sweep_by_hand"),
        "C++, plain loops": cpp("sweep_plain"),
        "NumPy": plain_numpy,
        "thrml": thrml,
        "dwave-samplers": dwave_samplers,
    }
    versions: dict[str, Version] = {}
    for name, make in makers.items():
        try:
            versions[name] = make(model, n_chains, rng)
        except (ImportError, FileNotFoundError) as reason:
            print(f"{name} is left out: {reason}")
    for n_sweeps, call, _ in versions.values():  # compile, and warm up
        for _ in range(-(-50 // n_sweeps)):
            call()
    rates: dict[str, list[float]] = {name: [] for name in versions}
    for _ in range(N_TURNS):
        for name in rng.permutation(list(versions)):
            n_sweeps, call, _ = versions[name]
            begin = time.perf_counter()
            call()
            rates[name].append(n_chains * graph.n_nodes * n_sweeps / (time.perf_counter() - begin))
    median = {name: float(np.median(r)) for name, r in rates.items()}
    print(f"\n{SIDE} x {SIDE} grid, {n_chains} chains, {os.cpu_count()} processors, medians of {N_TURNS} turns")
    print(f"{'':24}{'updates/s':>12}{'bayesmrf / it':>16}{'mean x_u x_v':>16}")
    u, v = graph.edges.T
    for name, (_, _, found) in versions.items():
        x = found()
        pair = np.mean(x[:, u] * x[:, v], axis=1)
        check = f"{pair.mean():.4f} ± {pair.std() / np.sqrt(n_chains):.4f}"
        print(f"{name:24}{median[name]:12.2e}{median['bayesmrf'] / median[name]:16.2f}{check:>18}")


if __name__ == "__main__":
    for n_chains in (64, 1024):
        compare(n_chains)
