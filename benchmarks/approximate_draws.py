"""Draws of approximate engines: is what `fit` says of them right?

Run ``python benchmarks/approximate_draws.py [NAME ...] [--fits N] [--seed N]`` with names among:

* ``wrong``: the distance that `fit` says for the mean that is farthest, and the true one, from a fit with the exact
  engine, both in standard deviations of the draws. Rows are of Ising models with random weights.
* ``right``: how many of N fits by exact engines the check takes for approximate.
"""

from __future__ import annotations

import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
from timing import arguments, machine, table

from bayesmrf import BayesianMRF
from bayesmrf.engines import Elimination
from bayesmrf.estimators.stein_check import remark_on_draws
from bayesmrf.graphs import from_edges
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Ising
from bayesmrf.priors import Normal
from bayesmrf.results.convergence import findings_of

_RUN = {"n_draws": 500, "n_warmup": 500, "n_chains": 2, "random_state": 0, "progress": False}
_GRAPHS = {
    "complete graph of 10 nodes": (nx.complete_graph(10), 0.15, 500),
    "grid of 6x6": (nx.grid_2d_graph(6, 6), 0.4, 1000),
    "grid of 10x10": (nx.grid_2d_graph(10, 10), 0.3, 1000),
}
_SAID = re.compile(r"the mean of (\S+) is too (large|small) by about (\d+)")


def wrong(rng: np.random.Generator, n_fits: int) -> None:
    """Compare what is said with the distance to the exact mean."""
    rows = []
    for name, (graph, size, n) in _GRAPHS.items():
        data, edges = _data(graph, size, n, rng)
        for ties in (None, "all"):
            exact = _fit(data, edges, "exact", ties)
            for engine in ("bethe", "tree", "mean-field"):
                if engine != "bethe" and ties is None:
                    continue  # bounds do not determine single parameters: chains do not converge
                found = _fit(data, edges, engine, ties)
                where = _SAID.search(" ".join(one.text for one in findings_of(found.posterior_)))
                gap = pd.Series(_draws(exact).mean(0) - _draws(found).mean(0), index=found.parameter_names_)
                gap /= _draws(found).std(0)
                place = where[1] if where else gap.abs().idxmax()
                said = f"{-float(where[3]) if where[2] == 'large' else float(where[3]):+.0f}" if where else "nothing"
                rows.append((name, "one coupling" if ties else "", engine, place, said, f"{gap[place]:+.1f}"))
    print(table(("data", "ties", "engine", "parameter", "said", "true"), *rows))


def right(rng: np.random.Generator, n_fits: int) -> None:
    """Count the fits by exact engines that the check takes for approximate."""
    n_said = 0
    for k in range(n_fits):
        n_nodes = int(rng.integers(3, 8))
        data, edges = _data(nx.complete_graph(n_nodes), 0.4, int(rng.integers(20, 500)), rng)
        est = _fit(data, edges, "exact", None, seed=k)
        model = Ising(from_edges(edges, tuple(data.columns)))
        exact = Likelihood(model, model.statistics(data.to_numpy().astype(np.int8)), len(data), Elimination())
        draws = est.posterior_["posterior"]["theta"].values
        n_said += remark_on_draws(exact, Normal(1.0), draws, model.feature_names, np.random.SeedSequence(k)) != ""
    print(f"{n_said} of {n_fits} fits by exact engines are taken for approximate")


def _data(graph: nx.Graph, size: float, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    labelled = nx.convert_node_labels_to_integers(graph)
    edges = [(f"v{i}", f"v{j}") for i, j in labelled.edges]
    names = tuple(f"v{i}" for i in labelled)
    model, engine = Ising(from_edges(edges, names)), Elimination()
    theta = np.concatenate([size * rng.choice([1.0, 1.0, -0.5], len(edges)), np.zeros(len(names))])
    states = engine.sample(model, theta, engine.prepare(model), n, rng)
    return pd.DataFrame(states.astype(int), columns=list(names)), edges


def _fit(data: pd.DataFrame, edges: list[tuple[str, str]], engine: str, ties: str | None, seed: int = 0) -> BayesianMRF:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {**_RUN, "random_state": seed}
        return BayesianMRF(edges, model="ising", engine=engine, ties=ties, **options).fit(data)


def _draws(est: BayesianMRF) -> np.ndarray:
    posterior = est.posterior_["posterior"]
    drawn: np.ndarray = posterior["phi" if "phi" in posterior else "theta"].values
    return drawn.reshape(-1, drawn.shape[2])


PARTS = {"wrong": wrong, "right": right}

if __name__ == "__main__":
    args = arguments(__doc__ or "", PARTS, fits=200, seed=0)
    print(machine())
    for name in args.names:
        PARTS[name](np.random.default_rng(args.seed), args.fits)
        print()
