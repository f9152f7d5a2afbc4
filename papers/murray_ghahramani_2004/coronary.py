"""Section 6.1, first system: six risk factors of 1,841 men, a complete graph (figure 1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesmrf import datasets
from bayesmrf.base import Inference
from bayesmrf.engines import Bethe, FromExact
from papers.cells import Cell
from papers.store import Record

from .common import Settings, fit, histogram, split_r_hat, summary

N_MEN = 1841


@dataclass(frozen=True)
class Expectations(Bethe):
    """Belief propagation for expectations alone, with which Metropolis estimates ratios of Z by equation (8)."""

    answers = frozenset({"moments"})
    walks_by = ""


@dataclass(frozen=True)
class Reused(FromExact):
    """Exact samples from the same random numbers at every theta: the moments are a function of theta."""

    def infer(self, *arguments: Any, **named: Any) -> Inference:
        """Return the moments, and the random numbers as they were."""
        state = named["state"] if "state" in named else arguments[-1]
        return replace(super().infer(*arguments, **named), state=state)


OPTIONS: dict[str, dict[str, Any]] = {
    "exact": {"kernel": "metropolis", "engine": "exact", "step_size": 0.1},
    "mean-field": {"kernel": "metropolis", "engine": "mean-field", "step_size": 0.1},
    "tree": {"kernel": "metropolis", "engine": "tree", "step_size": 0.1},
    "loopy": {"kernel": "metropolis", "engine": "bethe", "step_size": 0.1},
    "brief": {"kernel": "langevin", "engine": "brief", "epsilon": 0.01},
    "loopy-ratio": {"kernel": "metropolis", "engine": Expectations(), "step_size": 0.1},
    "loopy-langevin": {"kernel": "langevin", "engine": "bethe", "epsilon": 0.03},
    "samples": {"kernel": "langevin", "engine": FromExact(n_samples=N_MEN), "epsilon": 0.03},
    "samples-reused": {"kernel": "langevin", "engine": Reused(n_samples=N_MEN), "epsilon": 0.03},
}
LOOPY = ("loopy-ratio", "loopy-langevin")  # by expectations, as in equations (8) and (10)
N_BINS = 80
CLOSE = 0.25  # of a posterior sd: a nearer mean, with an sd within 10 %, is hard to distinguish by eye


@dataclass(frozen=True)
class Coronary:
    """All methods on one data set; replicates are chains from theta = 0, each with its own seed.

    Parameters
    ----------
    n_iterations, n_warmup : int
        Sweeps of Metropolis over the 21 parameters, or steps of Langevin, kept and dropped.
        n_tree, n_tree_warmup : int
        The same for tree Metropolis, whose solves are slow.
    replicates : int
    """

    n_iterations: int = 100_000
    n_warmup: int = 5_000
    n_tree: int = 10_000
    n_tree_warmup: int = 1_000
    replicates: int = 2

    methods = tuple(OPTIONS)

    def describe(self) -> dict[str, Any]:
        """Return plain values; the number of chains may increase."""
        return {k: v for k, v in asdict(self).items() if k != "replicates"}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return one chain of each method, then another of each."""
        return [(r, method) for r in range(replicates) for method in methods]

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Run one chain."""
        replicate, method = cell
        table = datasets.coronary()
        n_draws, n_warmup = self.n_iterations, self.n_warmup
        if method == "tree":
            n_draws, n_warmup = self.n_tree, self.n_tree_warmup
        options = OPTIONS[method] | {"n_draws": n_draws, "n_warmup": n_warmup, "n_chains": 1, "start": "zero"}
        seeds = settings.seeds(replicate, self.methods.index(method))
        found = fit(table[list("ABCDEF")], options, seeds, table["count"], checkpoint)
        theta = found.theta[0]
        quarters = np.array_split(theta, 4)
        first = self.n_iterations // theta.shape[1]  # sweeps with this number of proposals
        marks = np.unique(np.geomspace(10, len(theta), 40).astype(int))
        return {
            "seconds": found.seconds,
            "acceptance": found.acceptance,
            "features": found.features,
            **summary(found.theta),
            "quarter_mean": [q.mean(axis=0) for q in quarters],
            "quarter_sd": [q.std(axis=0) for q in quarters],
            "first_mean": theta[:first].mean(axis=0),
            "first_sd": theta[:first].std(axis=0),
            "range_at": marks,
            "range": [np.ptp(theta[:mark], axis=0).mean() for mark in marks],
            "histogram": histogram(found.theta, N_BINS),
        }


def pooled(records: list[Record], method: str) -> pd.DataFrame:
    """Return mean, sd and split R-hat of each parameter over all chains of a method; no rows if it was not run."""
    chains = [r for r in records if r["cell"][1] == method]
    if not chains:
        return pd.DataFrame(columns=["mean", "sd", "r_hat"])
    mean, sd = (np.array([r[k] for r in chains]) for k in ("mean", "sd"))
    parts, spreads = (np.concatenate([r[k] for r in chains]) for k in ("quarter_mean", "quarter_sd"))
    return pd.DataFrame(
        {
            "mean": mean.mean(axis=0),
            "sd": np.sqrt((sd**2).mean(axis=0) + mean.var(axis=0)),
            "r_hat": split_r_hat(parts, spreads),
        },
        index=chains[0]["features"],
    )


def distances(records: list[Record]) -> pd.DataFrame:
    """Return (mean - exact mean) / exact sd, and sd / exact sd, for each approximate method and each parameter."""
    exact, parts = pooled(records, "exact"), {}
    for method in OPTIONS:
        own = pooled(records, method)
        if method != "exact" and len(own) and len(exact):
            distance, ratio = (own["mean"] - exact["mean"]) / exact["sd"], own["sd"] / exact["sd"]
            parts[method] = pd.DataFrame({"distance": distance, "sd_ratio": ratio, "r_hat": own["r_hat"]})
    return pd.concat(parts, names=["method", "parameter"]) if parts else pd.DataFrame()


def measures(records: list[Record]) -> pd.DataFrame:
    """Return one row per method: distance from exact, convergence, and growth of the range."""
    rows: dict[str, dict[str, float]] = {}
    table = distances(records)
    for method in OPTIONS:
        chains = [r for r in records if r["cell"][1] == method]
        if not chains:
            continue
        own = pooled(records, method)
        late = [r["range"][-1] / np.interp(r["range_at"][-1] / 10, r["range_at"], r["range"]) for r in chains]
        within = [split_r_hat(np.array(r["quarter_mean"]), np.array(r["quarter_sd"])).max() for r in chains]
        row = rows[method] = {
            "chains": len(chains),
            "seconds": float(np.mean([r["seconds"] for r in chains])),
            "acceptance": float(np.mean([r["acceptance"] for r in chains])),
            "least_ess": min(np.nanmin(np.array(r["ess"], dtype=float)) for r in chains),
            "r_hat": own["r_hat"].max(),
            "chain_r_hat": float(np.max(within)),
            "range": float(np.mean([r["range"][-1] for r in chains])),
            "growth": float(np.mean(late)),
            "important": float((np.abs(own["mean"] / own["sd"]) > 3).sum()),
        }
        if method != "exact" and len(table):
            part = table.loc[method]
            away, ratio = part["distance"].abs(), part["sd_ratio"]
            row |= {
                "close": float(((away < CLOSE) & ratio.between(0.9, 1.1)).mean()),
                "within_one": float((away < 1).mean()),
                "distance": away.median(),
                "worst_distance": away.max(),
                "sd_ratio": ratio.median(),
            }
        if method in LOOPY and len(table) and len(loopy := pooled(records, "loopy")):
            away = (own["mean"] - loopy["mean"]).abs() / pooled(records, "exact")["sd"]
            row |= {"from_loopy": away.median(), "sd_to_loopy": (own["sd"] / loopy["sd"]).median()}
    return pd.DataFrame(rows).T
