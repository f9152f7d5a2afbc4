"""False and missed edges of every method, and the calibration of inclusion probabilities."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from papers.cells import Cell
from papers.store import Record

from . import baselines, data
from .common import BASELINES, SAMPLERS, Settings, fit, particles

BIAS_SCALE = 1.0  # of truth and prior of the small data sets; with 10, as elsewhere, most nodes would be constant
SMALL_NODES, SMALL_SAMPLES = 6, 100
BINS = np.linspace(0, 1, 11)
# Algorithm 1 on the small data sets: 2 million iterations.
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "block": {
        "exact": {"n_chains": 2, "n_draws": 2000, "n_warmup": 200},
        "reversible-jump": {"n_chains": 1, "n_draws": 600, "n_warmup": 200},
        "langevin": {"n_chains": 1, "n_draws": 1000, "n_warmup": 1000, "thin": 10},
    },
    "lattice": {
        "reversible-jump": {"n_chains": 1, "n_draws": 300, "n_warmup": 200, "n_iterations": 50},
        "langevin": {"n_chains": 1, "n_draws": 1000, "n_warmup": 1000, "thin": 10},
    },
    "small": {
        "exact": {"n_chains": 2, "n_draws": 2000, "n_warmup": 200},
        "reversible-jump": {"n_chains": 1, "n_draws": 1000, "n_warmup": 100},
        "langevin": {"n_chains": 1, "n_draws": 1000, "n_warmup": 500, "thin": 2},
    },
}


@dataclass(frozen=True)
class Calibration:
    """Block graphs, lattices, and small data sets whose truth is drawn from the prior.

    Parameters
    ----------
    block_nodes, side : int
        Of the block graphs and lattices.
    n_samples : tuple of int
        Sizes of the block graphs' data.
    lattice_samples : tuple of int
    lattices, small : int
        Lattices, and small data sets.
    options : mapping
        Of `SpikeSlabMRF`, for each part and sampler.
    replicates : int
        Block graphs.
    """

    block_nodes: int = 12
    side: int = 10
    n_samples: tuple[int, ...] = (100, 1000, 5000)
    lattice_samples: tuple[int, ...] = (1000,)
    lattices: int = 3
    small: int = 200
    options: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=lambda: OPTIONS)
    replicates: int = 20

    methods = (*SAMPLERS, *BASELINES)

    def describe(self) -> dict[str, Any]:
        """Return plain values; the numbers of data sets may increase."""
        return {"options": self.options, "block_nodes": self.block_nodes, "side": self.side}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return the cells of every method; the lattice has no exact posterior."""
        samplers = [m for m in methods if m in SAMPLERS]
        found: list[Cell] = [(r, n, m, "block") for r in range(replicates) for n in self.n_samples for m in methods]
        found += [(r, SMALL_SAMPLES, m, "small") for r in range(self.small * (replicates > 0)) for m in samplers]
        return found + [
            (r, n, m, "lattice")
            for r in range(min(self.lattices, replicates))
            for n in self.lattice_samples
            for m in methods
            if m != "exact"
        ]

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit one data set by one method."""
        replicate, n, method, part = cell
        truth, states = draw(settings, self.block_nodes, self.side, part, replicate, n)
        there, place = truth.there, self.methods.index(method)
        if method in BASELINES:
            began = time.monotonic()
            theta = baselines.choose(states, method, truth.model)
            seconds = time.monotonic() - began
            return {"seconds": seconds, **_count(theta[: truth.model.n_edges] != 0, there)}
        options = dict(self.options[part][method]) | particles(method, n)
        if part == "small":
            options["bias_scale"] = BIAS_SCALE
        key = (list(OPTIONS).index(part), replicate, n, 1 + place)
        estimator, seconds = fit(states, method, options, settings.seeds(*key), checkpoint)
        u, v = truth.model.graph.edges.T
        inclusion = estimator.inclusion_[u, v]
        kept = {"inclusion": inclusion, "true": there.astype(int)} if part != "lattice" else {}
        return {"seconds": seconds, **_count(inclusion > 0.5, there), **kept}


@lru_cache(maxsize=1)
def draw(
    settings: Settings, block_nodes: int, side: int, part: str, replicate: int, n: int
) -> tuple[data.Truth, np.ndarray]:
    """Return a true model and ``n`` states of it; smaller data are the first part of larger ones."""
    rng = settings.rng(list(OPTIONS).index(part), replicate, 0)
    if part == "block":
        truth = data.block(block_nodes, rng)
    elif part == "lattice":
        truth = data.lattice(side, rng)
    else:
        truth = data.from_prior(SMALL_NODES, BIAS_SCALE, rng)
    return truth, truth.draw(n, rng)


def _count(found: np.ndarray, there: np.ndarray) -> dict[str, int]:
    return {
        "edges": int(there.sum()),
        "false": int((found & ~there).sum()),
        "missed": int((~found & there).sum()),
    }


def rows(records: list[Record]) -> pd.DataFrame:
    """Return one row per fit."""
    found = []
    for record in records:
        replicate, n, method, part = record["cell"]
        about = {"part": part, "n": n, "method": method, "replicate": replicate}
        found.append(about | {k: record[k] for k in ("edges", "false", "missed", "seconds")})
    return pd.DataFrame(found)


def reliability(records: list[Record]) -> pd.DataFrame:
    """Return, by bins of inclusion: pairs, their mean inclusion, the share that exists, its standard error, and z.

    Pairs of one data set depend on each other through p0 and the slab, so the standard error is that of the sum of
    (exists - inclusion) over data sets.
    """
    found = []
    methods = [m for m in SAMPLERS if any(r["cell"][2:] == [m, "small"] for r in records)]
    for method in methods:
        mine = [r for r in records if r["cell"][2:] == [method, "small"]]
        p, there = (np.array([r[k] for r in mine], dtype=float) for k in ("inclusion", "true"))
        which = np.clip(np.digitize(p, BINS) - 1, 0, len(BINS) - 2)
        for k in range(len(BINS) - 1):
            here = which == k
            count = here.sum()
            if count == 0:
                continue
            excess = ((there - p) * here).sum(axis=1)
            error = np.sqrt((excess**2).sum()) / count
            found.append({
                "method": method, "bin": f"{BINS[k]:.1f}-{BINS[k + 1]:.1f}", "pairs": int(count),
                "inclusion": p[here].mean(), "exists": there[here].mean(), "error": error,
                "z": excess.sum() / count / error if error > 0 else 0.0,
            })  # fmt: skip
    return pd.DataFrame(found)


def measures(records: list[Record]) -> pd.DataFrame:
    """Return means over data sets of each part, and for the small ones the largest |z| and its p-value."""
    table = rows(records)
    if table.empty:
        return table
    about = {"data_sets": ("replicate", "size"), "edges": ("edges", "mean"), "false": ("false", "mean")}
    about |= {"most_false": ("false", "max"), "missed": ("missed", "mean"), "most_missed": ("missed", "max")}
    about |= {"seconds": ("seconds", "mean")}
    found = table.groupby(["part", "n", "method"], sort=False).agg(**about).reset_index()
    curve = reliability(records)
    for method, mine in curve.groupby("method") if len(curve) else ():
        small = (found["part"] == "small") & (found["method"] == method)
        worst = mine["z"].abs().max()
        found.loc[small, "worst_z"] = worst
        found.loc[small, "p_value"] = 1 - (1 - 2 * stats.norm.sf(worst)) ** len(mine)
        found.loc[small, "away"] = (mine["pairs"] * (mine["exists"] - mine["inclusion"]).abs()).sum() / mine[
            "pairs"
        ].sum()
    return found
