"""Models at all densities, on block graphs, lattices and images (figures 2 to 11)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayesmrf import SpikeSlabMRF, graphs
from bayesmrf.engines import Gibbs
from bayesmrf.models import Boltzmann
from papers.cells import Cell
from papers.store import Record

from . import baselines, data
from .common import BASELINES, LEARNT, PATH, SAMPLERS, Settings, fit, particles

MIXING = ("momentum 0.9", "momentum 0")  # figure 2, as methods of their own
LONG = "langevin-long"  # how long Algorithm 1 has to run until it agrees with exact: on one data set
DENSITIES = (1e-4, 0.001, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)
# Algorithm 1 makes the paper's 10^7 iterations, a tenth of its draws are kept.
OPTIONS: dict[str, dict[str, Any]] = {
    "exact": {"n_chains": 2, "n_draws": 2000, "n_warmup": 200},
    "reversible-jump": {"n_chains": 1, "n_draws": 600, "n_warmup": 200},
    "langevin": {"n_chains": 1, "n_draws": 1000, "n_warmup": 1000, "thin": 10},
    "momentum 0.9": {"n_chains": 1, "n_draws": 10_000, "n_warmup": 1000, "alpha": 0.9},
    "momentum 0": {"n_chains": 1, "n_draws": 10_000, "n_warmup": 1000, "alpha": 0.0},
}
LONG_OPTIONS = {"n_chains": 1, "n_draws": 3000, "n_warmup": 10_000, "thin": 100}  # 3 x 10^8 iterations
# With 5,000 candidates an iteration updates a fiftieth of them, so a draw is one round of all.
LARGE = OPTIONS | {"reversible-jump": {"n_chains": 1, "n_draws": 300, "n_warmup": 200, "n_iterations": 50}}
N_SHOWN = 36  # sampled images of figure 11
SWEEPS = 500  # behind a sampled image of a single model
LAG_STEP = 10  # draws between the lags of the autocorrelations that are kept
N_BINS = 30


class Task(NamedTuple):
    """Data to fit, data to test on, and the truth if known."""

    states: np.ndarray
    test: data.Test
    truth: data.Truth | None
    model: Boltzmann


@dataclass(frozen=True)
class Curves:
    """All methods at all densities.

    Parameters
    ----------
    kind : {"block", "lattice", "mnist"}
    size : int
        Nodes of a block graph, side of a lattice.
    n_samples : tuple of int
        Sizes of the data.
    methods : tuple of str
    densities : tuple of float
        Fixed p0.
    n_test : int
        States to test on; block graphs are tested on all states.
    options : mapping
        Of `SpikeSlabMRF`, for each sampler.
    replicates : int
        True models and data sets, or draws of images.
    """

    kind: str
    size: int
    n_samples: tuple[int, ...]
    methods: tuple[str, ...]
    densities: tuple[float, ...] = DENSITIES
    n_test: int = 1000
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: OPTIONS)
    replicates: int = 10

    def describe(self) -> dict[str, Any]:
        """Return plain values; sizes of data, densities and replicates may increase."""
        options = {name: dict(values) for name, values in self.options.items()}
        return {"options": options, "kind": self.kind, "size": self.size, "n_test": self.n_test}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return samplers with p0 learnt and fixed, baselines once, figure 2 and the long chain on one data set."""
        found: list[Cell] = []
        for r in range(replicates):
            for n in self.n_samples:
                for method in methods:
                    if method in (*MIXING, LONG):
                        found += [(r, n, method, LEARNT)] * (r == 0 and n == self.n_samples[0])
                    elif method in BASELINES:
                        found.append((r, n, method, PATH))
                    else:
                        found += [(r, n, method, s) for s in (LEARNT, *(f"{p:g}" for p in self.densities))]
        return found

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit one data set by one method."""
        replicate, n, method, setting = cell
        task = draw_task(settings, self.kind, self.size, self.n_test, replicate, n)
        best: dict[str, Any] = {}
        if task.truth is not None:
            best = {"best": task.test.of_model(*task.truth), "true_density": task.truth.there.mean()}
        if method in BASELINES:
            began = time.monotonic()
            thetas = baselines.path(task.states, method, task.model)
            seconds = time.monotonic() - began
            rng = settings.rng(replicate, n, 2)
            return {"seconds": seconds, **best, "rows": [self._point(task, method, t, rng) for t in thetas]}
        options = dict(self.options.get(method, LONG_OPTIONS)) | particles(method, n)
        sampler = "langevin" if method in (*MIXING, LONG) else method
        if setting != LEARNT:
            options["density"] = float(setting)
        place = [*SAMPLERS, *MIXING, LONG].index(method)
        key = (replicate, n, 3 + place, 0 if setting == LEARNT else round(1e6 * float(setting)))
        estimator, seconds = fit(task.states, sampler, options, settings.seeds(*key), checkpoint)
        about = {"seconds": seconds, **best, "density": estimator.density_, "slab_scale": estimator.slab_scale_}
        draws = estimator.posterior_["posterior"].dataset["theta"].values
        if method in MIXING:
            return about | _mixing(draws)
        if method == LONG:
            r = task.model.n_edges
            found = {"inclusion": _inclusion(draws, task.model), **_conditional(draws, r)}
            return about | found | _hardest(draws[0, :, :r])
        rows = [self._posterior(task, method, estimator, a, settings.rng(*key, 1)) for a in ("bayes", "mean")]
        about |= {"rows": rows, "inclusion": _inclusion(draws, task.model)}
        if self.kind == "block":
            about |= _conditional(draws, task.model.n_edges)
        return about

    def _posterior(
        self, task: Task, method: str, estimator: SpikeSlabMRF, average: str, rng: np.random.Generator
    ) -> dict[str, Any]:
        r = task.model.n_edges
        u, v = task.model.graph.edges.T
        inclusion = estimator.inclusion_[u, v]
        weights = np.where(inclusion > 0.5, estimator.theta_[:r], 0.0)
        density = inclusion.mean() if average == "bayes" else (weights != 0).mean()
        row = {"model": label(method, average), "density": density, "cll": task.test.of_posterior(estimator, average)}
        row |= _recovery(task.truth, weights)
        if self.kind == "lattice":
            row["weights"] = _weights(task.truth, weights)
        if self.kind == "mnist":
            row["images"] = _packed(estimator.sample(N_SHOWN, rng.integers(2**31), average))
        return row

    def _point(self, task: Task, method: str, theta: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
        weights = theta[: task.model.n_edges]
        row = {"model": label(method), "density": (weights != 0).mean(), "cll": task.test.of_model(task.model, theta)}
        row |= _recovery(task.truth, weights)
        if self.kind == "lattice":
            row["weights"] = _weights(task.truth, weights)
        if self.kind == "mnist":
            model, there = data.present(task.model, theta)
            engine = Gibbs(n_sweeps=SWEEPS)
            row["images"] = _packed(engine.sample(model, there, engine.prepare(model), N_SHOWN, rng))
        return row


@lru_cache(maxsize=1)
def draw_task(settings: Settings, kind: str, size: int, n_test: int, replicate: int, n: int) -> Task:
    """Return a true model, ``n`` states of it and test data; or images. Smaller data are the first of larger ones."""
    rng = settings.rng(replicate, 0)
    if kind == "mnist":
        train, test = data.patches()
        states = train[rng.permutation(len(train))[:n]]
        d = states.shape[1]
        found = data.windows(test[:n_test], (data.N_ROWS, data.N_COLUMNS), settings.rng(replicate, 1))
        return Task(states, found, None, Boltzmann(graphs.complete(d)))
    truth = data.block(size, rng) if kind == "block" else data.lattice(size, rng)
    states = truth.draw(n, rng)
    if kind == "block":
        found = data.all_states(truth)
    else:
        found = data.windows(truth.draw(n_test, settings.rng(replicate, 1)), (size, size), settings.rng(replicate, 2))
    return Task(states, found, truth, truth.model)


def label(method: str, average: str = "") -> str:
    """Return the name of a model in tables and figures."""
    return f"{method}, PM" if average == "mean" else method


def _recovery(truth: data.Truth | None, weights: np.ndarray) -> dict[str, Any]:
    """Return precision, recall, F1, and the strength: median of |found| / |true| over the true edges found."""
    if truth is None:
        return {}
    found, there = weights != 0, truth.there
    both = found & there
    precision = both.sum() / found.sum() if found.any() else np.nan
    true = truth.theta[: len(weights)]
    ratio = np.abs(weights[both] / true[both])
    return {
        "precision": precision,
        # A small graph may have no edge.
        "recall": both.sum() / there.sum() if there.any() else np.nan,
        "f1": 2 * both.sum() / (found.sum() + there.sum()) if there.any() else np.nan,
        "false": int((found & ~there).sum()),
        "missed": int((~found & there).sum()),
        "strength": float(np.median(ratio)) if len(ratio) else np.nan,
        "error": float(np.abs(weights - true).mean()),
    }


def _weights(truth: data.Truth | None, weights: np.ndarray) -> dict[str, Any]:
    """Return the weights found, and the true ones (figure 8)."""
    assert truth is not None
    found = weights != 0
    return {"value": weights[found], "true": truth.theta[: len(weights)][found]}


def _inclusion(draws: np.ndarray, model: Boltzmann) -> np.ndarray:
    return (draws[:, :, : model.n_edges] != 0).mean(axis=(0, 1))


def _conditional(draws: np.ndarray, n_edges: int) -> dict[str, Any]:
    """Return mean, sd and histogram of each weight given its edge exists, and how often it does."""
    flat = draws.reshape(-1, draws.shape[2])[:, :n_edges]
    mean, sd, low, high = np.full((4, n_edges), np.nan)
    counts = np.zeros((n_edges, N_BINS), dtype=int)
    for e in range(n_edges):
        there = flat[flat[:, e] != 0, e]
        if len(there) > 1:
            mean[e], sd[e] = there.mean(), there.std()
            low[e], high[e] = there.min(), there.max()
            counts[e] = np.histogram(there, N_BINS)[0]
    return {"mean": mean, "sd": sd, "low": low, "high": high, "counts": counts}


def _mixing(draws: np.ndarray) -> dict[str, Any]:
    """Return autocorrelation up to a quarter of the run and its time; mean, sd and share of draws that are not 0."""
    correlation = _correlations(draws[0])
    return {
        "mean": draws[0].mean(axis=0),
        "sd": draws[0].std(axis=0),
        "correlation": correlation[::LAG_STEP].T,
        "time": [_time(c) for c in correlation.T],
        "inclusion": (draws[0] != 0).mean(axis=0),
    }


def _correlations(x: np.ndarray) -> np.ndarray:
    """Return the autocorrelations of each column up to a quarter of its length."""
    x = x - x.mean(axis=0)
    power = np.abs(np.fft.rfft(x, 2 ** int(np.ceil(np.log2(2 * len(x)))), axis=0)) ** 2
    return np.fft.irfft(power, axis=0)[: len(x) // 4] / np.maximum((x**2).sum(axis=0), 1e-300)


def _hardest(draws: np.ndarray) -> dict[str, Any]:
    """Return the trace of the slowest-mixing uncertain edge (0.05 < inclusion < 0.95).

    Also return the effective sample size of the inclusion of each uncertain edge.
    """
    there = (draws != 0).astype(float)
    doubt = np.flatnonzero((there.mean(axis=0) > 0.05) & (there.mean(axis=0) < 0.95))
    if not len(doubt):
        return {}
    times = np.array([_time(c) for c in _correlations(there[:, doubt]).T])
    slowest = int(doubt[np.argmax(times)])
    return {"hardest": slowest, "trace": np.round(draws[:, slowest], 4), "n_effective": len(draws) / times}


def _time(correlation: np.ndarray) -> float:
    """Return 1 + 2 times the sum of correlations up to the first that is not positive."""
    stop = np.flatnonzero(correlation <= 0)
    return float(2 * correlation[: stop[0] if len(stop) else None].sum() - 1)


def _packed(states: np.ndarray) -> list[str]:
    return ["".join("1" if x > 0 else "0" for x in row) for row in states]


def rows(records: list[Record]) -> pd.DataFrame:
    """Return one row per model and density."""
    found = []
    for record in records:
        replicate, n, _, setting = record["cell"]
        for row in record.get("rows", ()):
            plain = {k: v for k, v in row.items() if k not in ("weights", "images")}
            about = {"replicate": replicate, "n": n, "method": plain.pop("model"), "p0": setting}
            found.append(about | plain | {"best": record.get("best"), "seconds": record["seconds"]})
    table = pd.DataFrame(found)
    shares = table.columns.intersection(["precision", "recall", "f1", "strength"])
    table[shares] = table[shares].astype(float)  # None, as JSON has it, becomes NaN
    return table
