"""Choice of the default prior of edges: 40 priors on data from known networks, and on two real data sets.

Run ``python benchmarks/edge_priors.py [--jobs N] [--cluster tcp://HOST:PORT] [simulated] [real] [large] [table]``;
seeds are fixed. A file that is there is completed by what it lacks: slabs, or single fits of ``large``.
``simulated`` (7 minutes on one core) fits networks of 8, 12 and 16 nodes by the exact sampler and writes
``edge_priors.csv`` next to this file: for each network, number of observations and prior

* ``loss``: Kullback-Leibler divergence of the posterior predictive from the truth, in nats per observation: how much
  lower the expected log score of a new observation is than under the truth. It is summed over all states.
* ``false``, ``missed``: edges with inclusion above 0.5 that are absent from the truth, as a share of the absent ones;
  edges of the truth with inclusion of at most 0.5, as a share of them.
* ``share``: share of the candidates whose inclusion is above 0.5.
* ``covers``, ``width``: coverage and mean width of the central 90 % intervals of the weights, given that the edge
  exists, of edges whose inclusion is above 0.5.

``real`` (7 minutes) writes ``edge_priors_real.csv``: edges with inclusion above 0.5, and the mean log score of the half
of the rows that was held out, for the symptoms of ADHD and of stress after an earthquake (in the folder
BAYESMRF_DATA). ``large`` (30 minutes) fits networks of 50 nodes by reversible jumps with some of the priors and writes
``edge_priors_large.csv``, with one record for each fit: false, expected false and missed edges, the log probability of
the true structure for each pair, and the log score of an answer given the 49 others in 4,000 new rows. ``table`` prints
the tables of docs/notes/edge_priors.md from these files.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config

from bayesmrf import SpikeSlabMRF, graphs
from bayesmrf.engines import Elimination
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.priors import Beta, SpikeSlab, read_slab
from bayesmrf.runs import run
from bayesmrf.runs.independent import run_each
from bayesmrf.runs.workers import connect

SIMULATED, FROM_DATA, LARGE = (Path(__file__).with_name(f"edge_priors{end}.csv") for end in ("", "_real", "_large"))
SEED = 12
SLABS = (
    "5,5",
    "normal:0.5",
    "normal:1",
    "normal:2",
    "cauchy:0.5",
    "cauchy:1",
    "cauchy:2.5",
    "cauchy:2,2",
    "moment:0.5",
    "moment:1",
)
DENSITIES = ("Beta(5, 5)", "Beta(1, 1)", "Beta(1, nodes)", "0.5")
# Share of the pairs with an edge (a degree where > 1), the smallest and largest |weight|, and the share of weights < 0.
NETWORKS = {
    "empty": (0.0, 0.0, 0.0, 0.5),
    "sparse, weak": (2.0, 0.3, 0.9, 0.5),
    "sparse, strong": (2.0, 1.0, 3.0, 0.5),
    "dense, weak": (1.0, 0.1, 0.5, 0.0),
    "dense, strong": (0.6, 0.5, 1.5, 0.5),
    "strong only": (3.0, 1.0, 2.0, 0.5),
}
SMALL = tuple(NETWORKS)[:5]
OBSERVATIONS = (100, 500, 5000)
SIZES = {8: (3, OBSERVATIONS), 12: (2, OBSERVATIONS), 16: (1, (500,))}  # nodes: data sets, observations
N_LARGE, ROWS_LARGE, NEW_ROWS, SWEEPS = 50, 1000, 4000, 300  # nodes, observations, rows held out, Gibbs sweeps of data
LARGE_SLABS = ("cauchy:1", "moment:0.5", "moment:1", "cauchy:2,2", "cauchy:2.5")
LARGE_SETS = [("strong only", 0), ("sparse, weak", 0), ("strong only", 1), ("empty", 0), ("strong only", 2)]
REAL = {"adhd": (["group"], 1), "wenchuan": ([], 4)}  # columns dropped, and the lowest level that counts as yes


def prior_of(slab: str, density: str, n_nodes: int) -> SpikeSlab:
    """Return a prior by its names."""
    p0 = {"Beta(5, 5)": Beta(5, 5), "Beta(1, 1)": Beta(1, 1), "Beta(1, nodes)": Beta(1, n_nodes), "0.5": 0.5}[density]
    return SpikeSlab(p0, read_slab(slab))


def states_of(n_nodes: int) -> np.ndarray:
    """Return all states, (2^n_nodes, n_nodes)."""
    return (np.arange(1 << n_nodes)[:, None] >> np.arange(n_nodes) & 1).astype(np.float32)


def features_of(states: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the statistics of each state."""
    return np.concatenate([states[:, edges[:, 0]] * states[:, edges[:, 1]], states], axis=1)


def network(name: str, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Draw weights of all pairs, and biases that make yes and no about equally frequent."""
    share, low, high, negative = NETWORKS[name]
    u, v = graphs.complete(n_nodes).edges.T
    there = rng.random(len(u)) < (share if share <= 1 else share / (n_nodes - 1))
    weights = there * rng.uniform(low, high, len(u)) * np.where(rng.random(len(u)) < negative, -1, 1)
    half = np.bincount(u, weights, n_nodes) + np.bincount(v, weights, n_nodes)
    return np.concatenate([weights, rng.normal(0, 0.5, n_nodes) - half / 2])


def draws_of(states: np.ndarray, prior: SpikeSlab, n_draws: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Return draws of theta, five scans apart, and log Z of each."""
    model = Boltzmann(graphs.complete(states.shape[1]))
    s_bar = model.statistics(states.astype(np.int8))
    kernel = SpikeSlabExact(Likelihood(model, s_bar, len(states), Elimination()), prior, n_scans=5)
    values = run.sample(
        kernel, n_draws=n_draws, n_warmup=30, n_chains=1, random_state=SEED, n_jobs=1, progress=False
    ).values
    theta = values["theta"][0]
    return theta, theta @ s_bar - values["log_likelihood"][0] / len(states)


def log_predictive(features: np.ndarray, theta: np.ndarray, log_z: np.ndarray) -> np.ndarray:
    """Return the log probability of each row under the mixture of every other draw."""
    log_p = features @ theta[::2].T.astype(np.float32) - log_z[::2].astype(np.float32)
    top = log_p.max(axis=1)
    return top + np.log(np.exp(log_p - top[:, None]).mean(axis=1))


def simulated(n_nodes: int, name: str, k: int, slabs: tuple[str, ...]) -> list[dict[str, object]]:
    """Return one record for each number of observations and prior, for data set k."""
    features = features_of(states_of(n_nodes), graphs.complete(n_nodes).edges)
    rng = np.random.default_rng([SEED, n_nodes, list(NETWORKS).index(name), k])
    truth, records = network(name, n_nodes, rng), []
    log_p = features @ truth
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    rows = rng.choice(len(p), size=max(OBSERVATIONS), p=p)
    for n in SIZES[n_nodes][1]:
        for slab, density in product(slabs, DENSITIES):
            theta, log_z = draws_of(features[rows[:n], -n_nodes:], prior_of(slab, density, n_nodes))
            loss = p @ (np.log(np.maximum(p, 1e-300)) - log_predictive(features, theta, log_z))
            about = {"network": name, "n": n, "nodes": n_nodes, "slab": slab, "density": density}
            records.append(about | {"loss": loss} | edges_found(theta, truth, n_nodes))
    return records


def gibbs_rows(truth: np.ndarray, n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of the model ``truth``, each a Gibbs chain of its own."""
    u, v = graphs.complete(N_LARGE).edges.T
    weights, rows = np.zeros((N_LARGE, N_LARGE)), rng.integers(0, 2, (n_rows, N_LARGE)).astype(float)
    weights[u, v] = weights[v, u] = truth[: len(u)]
    for _ in range(SWEEPS):
        for i in range(N_LARGE):
            logit = rows @ weights[i] + truth[len(u) + i]
            rows[:, i] = rng.random(n_rows) < 1 / (1 + np.exp(-logit))
    return rows


def node_scores(theta: np.ndarray, rows: np.ndarray) -> float:
    """Return the mean log probability of an answer given the others, averaged over the draws ``theta``."""
    u, v = graphs.complete(N_LARGE).edges.T
    p, weights = np.zeros(rows.shape), np.zeros((N_LARGE, N_LARGE))
    for draw in theta:
        weights[u, v] = weights[v, u] = draw[: len(u)]
        p += 1 / (1 + np.exp(-(2 * rows - 1) * (rows @ weights + draw[len(u) :])))
    return float(np.log(p / len(theta)).mean())


def large(name: str, k: int, slab: str) -> list[dict[str, object]]:
    """Return the record of one fit of data set k of a network of `N_LARGE` nodes, with the density Beta(1, 1)."""
    rng = np.random.default_rng([SEED, N_LARGE, list(NETWORKS).index(name), k])
    truth = network(name, N_LARGE, rng)
    rows = gibbs_rows(truth, ROWS_LARGE + NEW_ROWS, rng)
    est = SpikeSlabMRF(
        prior=SpikeSlab(Beta(1, 1), read_slab(slab)), method="reversible-jump", n_draws=400, n_warmup=200, n_chains=2,
        random_state=SEED, n_jobs=1, progress=False,
    ).fit(rows[:ROWS_LARGE].astype(int))  # fmt: skip
    theta = est.posterior_["posterior"]["theta"].values
    theta, r = theta.reshape(-1, theta.shape[-1]), len(truth) - N_LARGE
    share, is_true = (theta[:, :r] != 0).mean(axis=0), truth[:r] != 0
    found, kept = share > 0.5, (len(theta) * share + 0.5) / (len(theta) + 1)
    about = {"network": name, "data": k, "slab": slab}
    about |= {"expected_false": (1 - share[found]).sum(), "structure": np.log(np.where(is_true, kept, 1 - kept)).mean()}
    about |= {"score": node_scores(theta[::20], rows[ROWS_LARGE:]), "best": node_scores(truth[None], rows[ROWS_LARGE:])}
    about |= {"p0": est.density_, "scale": est.slab_scale_}
    return [about | edges_found(theta, truth, N_LARGE)]


def edges_found(theta: np.ndarray, truth: np.ndarray, n_nodes: int) -> dict[str, object]:
    """Count false, missed and included candidates."""
    r = len(truth) - n_nodes
    weights, true = theta[:, :r], truth[:r]
    found = (weights != 0).mean(axis=0) > 0.5
    covers, width = 0, 0.0
    for e in np.flatnonzero(found):
        low, high = np.quantile(weights[weights[:, e] != 0, e], [0.05, 0.95])
        covers += low <= true[e] <= high
        width += high - low
    counts = {"n_false": (found & (true == 0)).sum(), "n_absent": (true == 0).sum()}
    counts |= {"n_missed": (~found & (true != 0)).sum(), "n_true": (true != 0).sum()}
    return counts | {"n_found": found.sum(), "n_pairs": r, "n_covers": covers, "sum_width": width}


def summarised(records: pd.DataFrame) -> pd.DataFrame:
    """Average over sizes and data sets, with equal weights for sizes."""
    keys = ["network", "n", "slab", "density"]
    loss = records.groupby([*keys, "nodes"], sort=False)["loss"].mean().groupby(keys, sort=False).mean()
    sums = records.groupby(keys, sort=False)[[c for c in records if c.startswith(("n_", "sum_"))]].sum()
    with np.errstate(invalid="ignore"):
        shares = {
            "loss": loss,
            "false": sums["n_false"] / sums["n_absent"],
            "missed": sums["n_missed"] / sums["n_true"],
            "share": sums["n_found"] / sums["n_pairs"],
            "covers": sums["n_covers"] / sums["n_found"],
            "width": sums["sum_width"] / sums["n_found"],
        }
    return pd.DataFrame(shares).reset_index()


def real(name: str, slab: str) -> list[dict[str, object]]:
    """Return one record for each prior of the density."""
    drop, least = REAL[name]
    table = pd.read_csv(Path(os.environ["BAYESMRF_DATA"]) / f"{name}.csv").drop(columns=drop)
    states = (table.to_numpy() >= least).astype(np.float32)
    states = states[np.random.default_rng(SEED).permutation(len(states))]
    edges, half, records = graphs.complete(states.shape[1]).edges, len(states) // 2, []
    for density in DENSITIES:
        prior = prior_of(slab, density, states.shape[1])
        theta, _ = draws_of(states, prior)
        found = ((theta[:, : len(edges)] != 0).mean(axis=0) > 0.5).sum()
        score = log_predictive(features_of(states[half:], edges), *draws_of(states[:half], prior)).mean()
        about = {"data": name, "slab": slab, "density": density}
        records.append(about | {"edges": found, "candidates": len(edges), "score": score})
    return records


def records_of(
    part: Callable[..., list[dict[str, object]]], tasks: list[tuple[Any, ...]], jobs: int = 1, executor: Any = None
) -> pd.DataFrame:
    """Return the records of all tasks, in their order."""
    given = jobs == 1 or executor is not None
    pool = nullcontext(executor) if given else ProcessPoolExecutor(jobs, get_context("spawn"))
    with parallel_config(n_jobs=1), pool as executor:
        found = dict(run_each(lambda task: part(*task), tasks, part.__name__, executor=executor))
    return pd.DataFrame([record for i in sorted(found) for record in found[i]])


def completed(path: Path, keys: list[str], wanted: list[tuple[Any, ...]]) -> tuple[pd.DataFrame, list[tuple[Any, ...]]]:
    """Return what a file has, and which of the ``wanted`` values of some of its columns it lacks."""
    if not path.exists():
        return pd.DataFrame(), wanted
    table = pd.read_csv(path)
    there = set(table[keys].astype(str).itertuples(index=False, name=None))
    return table, [w for w in wanted if tuple(map(str, w)) not in there]


def by_prior(simulated: pd.DataFrame, data: pd.DataFrame) -> pd.DataFrame:
    """Return one row per prior: means over networks and numbers of observations, and results on the real data.

    ``loss``: geometric mean of the ratio to the smallest loss of any prior; ``worst``: the largest ratio; ``all in``:
    the number of pairs of network and n in which 95 % of the absent edges are included.
    """
    keys = ["slab", "density"]
    found = simulated.assign(ratio=simulated["loss"] / simulated.groupby(["network", "n"])["loss"].transform("min"))
    groups = found.groupby(keys, sort=False)
    table = groups["ratio"].agg(loss=lambda x: np.exp(np.log(x).mean()), worst="max")
    table[["false", "missed"]] = groups[["false", "missed"]].mean()
    # Without true edges, every edge found is false, and its interval excludes 0.
    table[["covers", "width"]] = (
        found[found["network"] != "empty"].groupby(keys, sort=False)[["covers", "width"]].mean()
    )
    table["all in"] = (found["false"] >= 0.95).groupby([found[k] for k in keys], sort=False).sum()
    for name, rows in data.groupby("data", sort=False):
        table[[f"{name} edges", f"{name} score"]] = rows.set_index(keys)[["edges", "score"]]
    return table.reset_index()


def print_tables() -> None:
    simulated, data = pd.read_csv(SIMULATED), pd.read_csv(FROM_DATA)
    print(by_prior(simulated, data).to_string(index=False, float_format="%.3f"), end="\n\n")
    for measure in ("loss", "false", "missed"):
        columns = simulated.pivot_table(measure, ["slab", "density"], ["network", "n"], sort=False)
        print(f"{measure}\n{columns.to_string(float_format='%.3f')}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=["simulated", "real", "large", "table", []], default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cluster", help="scheduler of a dask cluster that runs the fits")
    given = parser.parse_args()
    executor = given.cluster and connect(given.cluster)
    parts, slabs = given.parts or ["simulated", "real", "large", "table"], [(slab,) for slab in SLABS]
    if "simulated" in parts:
        table, missing = completed(SIMULATED, ["slab"], slabs)
        of = tuple(slab for (slab,) in missing)
        tasks = [(n_nodes, name, k, of) for n_nodes in SIZES for name in SMALL for k in range(SIZES[n_nodes][0])]
        if missing:
            table = pd.concat([table, summarised(records_of(simulated, tasks, given.jobs, executor))])
            table.to_csv(SIMULATED, index=False, float_format="%.4g")
    if "real" in parts:
        table, missing = completed(FROM_DATA, ["data", "slab"], list(product(REAL, SLABS)))
        if missing:
            table = pd.concat([table, records_of(real, missing, given.jobs, executor)])
            table.to_csv(FROM_DATA, index=False, float_format="%.5g")
    if "large" in parts:
        wanted = [(*of, slab) for of in LARGE_SETS for slab in LARGE_SLABS]
        table, missing = completed(LARGE, ["network", "data", "slab"], wanted)
        for i in range(0, len(missing), given.jobs):  # in pieces, so that a study that is stopped goes on
            table = pd.concat([table, records_of(large, missing[i : i + given.jobs], given.jobs, executor)])
            table.to_csv(LARGE, index=False, float_format="%.5g")
    if "table" in parts:
        print_tables()


if __name__ == "__main__":
    main()
