"""Bayes factors of edges next to enumeration, and their errors: are they honest?

A table of yes/no columns has one right Bayes factor of each edge, by the evidences of all structures
(`tests/oracle/edge_evidence.py`). Many short runs with other seeds estimate it, each with an error: standardised by
these, the estimates of an edge have the standard deviation 1 if errors are honest. Also the processor time of the
factors, next to that of the fit.

    python benchmarks/edge_evidence.py [--nodes D] [--runs N] [--draws N] [--seed N]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from bayesmrf import SpikeSlabMRF, graphs
from bayesmrf.estimators import pipeline
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.results.edge_evidence import BOUND, evidence
from tests.oracle.edge_evidence import log10_factors, of_table

_PRIOR = SpikeSlab(density=Beta(1, 1), slab=Cauchy(1.0))
_SPENT: list[float] = []  # seconds of the factors of each run


def table(n_nodes: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a table in which each column but the first follows the one before, more or less."""
    X = rng.integers(0, 2, (n, n_nodes))
    for i in range(1, n_nodes):
        X[:, i] = np.where(rng.random(n) < 0.1 + 0.1 * i, X[:, i - 1], X[:, i])
    return X


def timed() -> None:
    """Have the seconds of the factors of each run recorded."""
    whole = pipeline.add_edge_evidence

    def recorded(*args: object) -> None:
        start = time.process_time()
        whole(*args)  # type: ignore[arg-type]
        _SPENT.append(time.process_time() - start)

    pipeline.add_edge_evidence = recorded


def main() -> None:
    """Print the largest deviations and the standard deviation of the standardised errors of each edge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, graph = np.random.default_rng(given.seed), graphs.complete(given.nodes)
    X = table(given.nodes, 200, rng)
    truth = log10_factors(of_table(X, 2, graph.edges, _PRIOR), _PRIOR, rng, 500)[0][0]
    timed()
    warnings.simplefilter("ignore")
    found, errors, start = [], [], time.process_time()
    for seed in range(given.runs):
        est = SpikeSlabMRF(
            prior=_PRIOR, method="exact", n_draws=given.draws, n_chains=2, random_state=seed, progress=False
        ).fit(X)
        one = evidence(est.posterior_)
        found.append(one.log10)
        errors.append(one.error)
    spent, (size, error) = time.process_time() - start, map(np.array, (found, errors))
    away = (size - truth) / error
    print(f"{given.nodes} nodes, {given.runs} runs of 2 x {given.draws:,} draws")
    print(f"{'edge':>8}{'log10':>10}{'mean away':>12}{'largest':>10}{'error':>10}{'sd of errors':>14}{'unknown':>9}")
    for e, name in enumerate(graph.edge_names):
        known = np.isfinite(error[:, e])
        beyond = abs(truth[e]) > BOUND
        row = f"{name:>8}{truth[e]:>10.2f}{(size[:, e] - truth[e]).mean():>12.3f}"
        row += f"{np.abs(size[:, e] - truth[e]).max():>10.3f}{np.median(error[known, e]):>10.3f}"
        print(f"{row}{away[known, e].std():>14.2f}{(~known).mean():>9.2f}{'  beyond the bounds' if beyond else ''}")
    print(f"processor time of the factors over that of the whole fits: {sum(_SPENT) / spent:.2f}")


if __name__ == "__main__":
    main()
