"""Posterior predictive checks: how often a true model is flagged, and a planted interaction of three nodes found.

Yes/no tables of 6 to 8 nodes and 500 rows from a network with random weights, by enumeration. The planted interaction
of nodes 0, 1 and 2 is the product of their states in {-1, +1}, times SIZE / 8: the log odds ratio of two of them
differs by SIZE between the states of the third, and its mean over them is that of the network.

    python benchmarks/predictive_checks.py --true 200 --planted 100 --size 2.5 --out checks.csv
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from bayesmrf import SpikeSlabMRF
from bayesmrf.findings import loaded

N = 500


def table_of(n_nodes: int, size: float, rng: np.random.Generator) -> np.ndarray:
    """Draw a network, and a table from it with an interaction of ``size`` of the first three nodes."""
    every = np.indices((2,) * n_nodes).reshape(n_nodes, -1).T
    u, v = np.triu_indices(n_nodes, 1)
    weights = np.where(rng.random(len(u)) < 0.35, rng.normal(0, 0.8, len(u)), 0)
    log_p = (
        every @ rng.normal(0, 0.5, n_nodes) + (every[:, u] * every[:, v] - (every[:, u] + every[:, v]) / 2) @ weights
    )
    log_p = log_p + size / 8 * np.prod(2 * every[:, :3] - 1, axis=1)
    p = np.exp(log_p - log_p.max())
    return every[rng.choice(len(every), N, p=p / p.sum())]


def run(kind: str, seed: int, size: float) -> dict[str, object]:
    """Fit one table, and return what the checks find."""
    rng = np.random.default_rng([seed, kind == "planted"])
    n_nodes = 6 + seed % 3
    X = table_of(n_nodes, size if kind == "planted" else 0.0, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = SpikeSlabMRF(random_state=seed, progress=False, n_jobs=1).fit(X)
    frame = est.table("checks")
    out = frame[frame["outside"]]
    told = sum(one.kind == "ModelFitWarning" for one in loaded(est.posterior_.attrs["findings"]))
    return {
        "kind": kind,
        "seed": seed,
        "nodes": n_nodes,
        "told": told,
        "families": " ".join(sorted(set(out["family"]))),
        "found": bool((out["what"] == "0, 1 and 2").any()),
        "p": frame["p_adjusted"].min(),
        "replicates": est.posterior_["predictive_checks"].attrs["n_replicates"],
    }


def main() -> None:
    """Run the study; tables that are in the file are not drawn again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--true", type=int, default=200)
    parser.add_argument("--planted", type=int, default=100)
    parser.add_argument("--size", type=float, default=2.5)
    parser.add_argument("--out", type=Path, default=Path("checks.csv"))
    given = parser.parse_args()
    done = pd.read_csv(given.out).to_dict("records") if given.out.exists() else []
    known = {(row["kind"], row["seed"]) for row in done}
    for kind, n in (("planted", given.planted), ("true", given.true)):
        for seed in range(n):
            if (kind, seed) not in known:
                done.append(run(kind, seed, given.size))
                pd.DataFrame(done).to_csv(given.out, index=False)
    frame = pd.DataFrame(done)
    for kind, some in frame.groupby("kind"):
        told, by_it = int((some["told"] > 0).sum()), int(some["found"].sum())
        print(f"{kind}: {len(some)} tables, {told} flagged, {by_it} by 0, 1 and 2")


if __name__ == "__main__":
    main()
