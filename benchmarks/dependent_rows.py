"""Rows that depend on those before them: is what `fit` says of them right?

Run ``python benchmarks/dependent_rows.py [NAME ...] [--tables N] [--seed N]`` with names among:

* ``known``: tables of 1,000 rows of five nodes, each the former one after a sweep that leaves a node as it is with some
  probability. Their distribution is the model, so that errors of exact maximum likelihood estimates, divided by their
  standard errors for independent rows, have the standard deviation that `dependent_rows` should say.
* ``data``: what it says of the data sets (needs ``BAYESMRF_DATA``).
"""

from __future__ import annotations

import numpy as np
from timing import arguments, machine, table

from bayesmrf import datasets, graphs
from bayesmrf.data.dependent_rows import dependent_rows
from bayesmrf.data.states import States, check_states
from bayesmrf.models import Boltzmann

_D, _ROWS = 5, 1000
_STATES = np.arange(2**_D)[:, None] >> np.arange(_D) & 1


def known(rng: np.random.Generator, n_tables: int) -> None:
    """Compare with the spread of estimates."""
    model = Boltzmann(graphs.complete(_D))
    features = np.array([model.statistics(x[None].astype(np.int8)) for x in _STATES])
    couplings = np.zeros((_D, _D))
    u, v = model.graph.edges.T
    couplings[u, v] = couplings[v, u] = rng.normal(0, 0.6, len(u))
    biases = rng.normal(0, 0.4, _D) - couplings.sum(axis=1) / 2
    theta = np.concatenate([couplings[u, v], biases])
    rows = []
    for kept in (0.0, 0.2, 0.6, 0.85):
        errors, said = [], []
        for _ in range(n_tables):
            x = _sweeps(couplings, biases, _probabilities(features, theta), kept, rng)
            errors.append(_error(features, theta, features[x @ 2 ** np.arange(_D)].mean(axis=0)))
            found = dependent_rows([States(x.astype(np.int8), model.graph.names, None, (0, 1))])
            said.append(1.0 if found is None else found.edges)
        spread = np.std(np.array(errors)[:, : len(u)])
        rows.append((f"{kept:g}", f"{spread:.2f}", f"{np.mean(said):.2f}", f"{np.mean(np.array(said) > 1):.2f}"))
    print(table(("left as it is", "sd of errors of weights", "said", "tables with a warning"), *rows))


def _probabilities(features: np.ndarray, theta: np.ndarray) -> np.ndarray:
    p: np.ndarray = np.exp(features @ theta)
    return p / p.sum()


def _sweeps(
    couplings: np.ndarray, biases: np.ndarray, p: np.ndarray, kept: float, rng: np.random.Generator
) -> np.ndarray:
    x, found = _STATES[rng.choice(len(p), p=p)].copy(), np.empty((_ROWS, _D), dtype=np.int64)
    for t in range(_ROWS):
        for i in np.flatnonzero(rng.random(_D) >= kept):
            x[i] = rng.random() < 1 / (1 + np.exp(-(couplings[i] @ x + biases[i])))
        found[t] = x
    return found


def _error(features: np.ndarray, theta: np.ndarray, s_bar: np.ndarray) -> np.ndarray:
    """Return the errors of the estimate in standard errors for independent rows."""
    at = theta.copy()
    for _ in range(50):
        p = _probabilities(features, at)
        mean = p @ features
        covariance = (features * p[:, None]).T @ features - np.outer(mean, mean)
        at = at + np.clip(np.linalg.solve(covariance, s_bar - mean), -1, 1)
    found: np.ndarray = (at - theta) / np.sqrt(np.diag(np.linalg.inv(covariance)) / _ROWS)
    return found


def data(rng: np.random.Generator, n_tables: int) -> None:
    """Say what is found in the data sets; ``rng`` and ``n_tables`` are not used."""
    del rng, n_tables
    tables = {
        "senate109(1)": datasets.senate109(1), "senate109(2)": datasets.senate109(2),
        "senate542()": datasets.senate542().replace(0, np.nan), "retina50()": datasets.retina50(),
        "news20()": datasets.news20()[0], "adhd()": datasets.adhd(), "wenchuan()": datasets.wenchuan(),
        "boredom()": datasets.boredom().select_dtypes("number"),
    }  # fmt: skip
    rows = []
    for name, x in tables.items():
        states = check_states(x, missing=True, n_states="keep")
        found = dependent_rows([states])
        said = ("–", "–", "–") if found is None else (
            f"{found.edges:.2f}", f"{found.nodes:.2f}", str(found.apart or "–"))  # fmt: skip
        rows.append((name, f"{len(x):,}", *said))
    print(table(("data", "rows", "weights", "means of nodes", "one row of"), *rows))


PARTS = {"known": known, "data": data}

if __name__ == "__main__":
    args = arguments(__doc__ or "", PARTS, tables=200, seed=0)
    print(machine())
    for name in args.names:
        PARTS[name](np.random.default_rng(args.seed), args.tables)
        print()
