"""Groups of tables at default options: effective draws of the slowest parameter, where edges have one of three tables.

Run ``python benchmarks/tables.py [exact] [particle]``.
"""

import sys
import time
import warnings

import numpy as np

from bayesmrf import GroupedMRF, graphs
from bayesmrf.engines import Elimination
from bayesmrf.models import Symmetric
from bayesmrf.results.rank_diagnostics import rank_diagnostics

GRID, M = graphs.grid(2, 4), 3


def answers(seed, n):
    """States of n rows, with one of three tables for each edge and no fields."""
    rng, engine, model = np.random.default_rng(seed), Elimination(), Symmetric(GRID, M, fields=True)
    tables = rng.normal(0, 0.7, (3, model.n_parameters))[rng.integers(0, 3, model.n_edges)].ravel()
    theta = np.concatenate([tables, np.zeros(model.n_features - len(tables))])
    return engine.sample(model, theta, engine.prepare(model), n, rng)


def main(methods):
    """Print one line for each data set and method."""
    print("seed    n method     processor s  least effective draws  R-hat  warned")
    for seed in (3, 4, 5):
        for n in (200, 600):
            X = answers(seed, n)
            for method in methods:
                start = time.process_time()
                with warnings.catch_warnings(record=True) as said:
                    warnings.simplefilter("always")
                    est = GroupedMRF(
                        GRID, model="symmetric", method=method, random_state=seed, n_jobs=1, progress=False
                    ).fit(X)
                took = time.process_time() - start
                found = rank_diagnostics(est.posterior_["posterior"]["theta"].values)
                least, r_hat = found.ess_bulk.min(), found.r_hat.max()
                print(
                    f"{seed:4d} {n:4d} {method:9s} {took:12.0f} {least:22.0f}  {r_hat:.3f}  {len(said) > 0}", flush=True
                )


if __name__ == "__main__":
    main(sys.argv[1:] or ("exact", "particle"))
