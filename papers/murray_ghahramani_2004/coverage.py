"""Are the credible intervals calibrated? Every kernel and engine on small models, with the exact posterior."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayesmrf import Graph
from bayesmrf.engines import Elimination
from bayesmrf.models import Boltzmann
from papers.cells import Cell
from papers.store import Record

from .common import Settings, fit, summary


class Method(NamedTuple):
    """Options of `BayesianMRF`, and the number of data sets (fewer for slow methods)."""

    options: dict[str, Any]
    n_data_sets: int


_MOMENTUM = {"kernel": "langevin", "precondition": True, "alpha": 0.9, "n_draws": 4000}
_NOISY = {"kernel": "langevin", "precondition": True, "epsilon": 0.3, "n_draws": 2000, "n_warmup": 1000, "thin": 10}
_WALK = {"kernel": "metropolis", "engine": "exact", "step_size": 0.4, "n_draws": 2000, "n_warmup": 500, "thin": 5}
_PSEUDO = {"kernel": "pseudo-posterior", "alpha": 0.9, "n_draws": 2000}
_EXCHANGE = {"kernel": "exchange", "step_size": 0.5, "n_draws": 4000, "n_warmup": 500}
METHODS: dict[str, Method] = {
    "reference": Method(_WALK, 200),
    "metropolis, exact": Method(_WALK, 200),
    "langevin adjusted, exact": Method(_MOMENTUM | {"engine": "exact", "adjusted": True, "epsilon": 0.4}, 200),
    "exchange, exact": Method(_EXCHANGE | {"engine": "exact"}, 60),
    "auxiliary-variable, exact": Method(
        {"kernel": "auxiliary-variable", "engine": "exact", "step_size": 0.6, "n_draws": 20_000, "n_warmup": 1000}, 8
    ),
    "langevin, exact": Method(_MOMENTUM | {"engine": "exact", "epsilon": 0.2}, 200),
    "langevin, brief": Method(_NOISY | {"engine": "brief"}, 200),
    "langevin, persistent": Method(_NOISY | {"engine": "persistent"}, 200),
    "exchange, gibbs": Method(_EXCHANGE | {"engine": "gibbs", "n_sweeps": 20}, 10),
    "mean-field": Method({"kernel": "metropolis", "engine": "mean-field", "step_size": 0.4, "n_draws": 1000}, 60),
    "tree": Method(_MOMENTUM | {"engine": "tree", "adjusted": True, "epsilon": 0.35}, 200),
    "bethe": Method(_MOMENTUM | {"engine": "bethe", "adjusted": True, "epsilon": 0.35}, 200),
    "pseudo-posterior": Method(_PSEUDO, 200),
    "pseudo-posterior, corrected": Method(_PSEUDO | {"corrected": True}, 200),
    "gibbs, exact": Method({"kernel": "gibbs", "engine": "exact", "n_draws": 2000}, 200),
    "hamiltonian, exact": Method({"kernel": "hamiltonian", "engine": "exact", "n_draws": 2000}, 200),
}


# The same with the default steps; chains start around the mode.
_DEFAULT = {"kernel": "langevin", "n_draws": 1000}
_SAMPLES = {"n_draws": 400, "n_warmup": 200}
COMPLETE: dict[str, Method] = {
    "reference": Method(_DEFAULT | {"engine": "exact", "adjusted": True, "n_draws": 2000, "thin": 2}, 60),
    "metropolis, exact": Method({"kernel": "metropolis", "engine": "exact", "n_draws": 600}, 20),
    "langevin adjusted, exact": Method(_DEFAULT | {"engine": "exact", "adjusted": True}, 60),
    "exchange, exact": Method({"kernel": "exchange", "engine": "exact"} | _SAMPLES, 4),
    "auxiliary-variable, exact": Method({"kernel": "auxiliary-variable", "engine": "exact"} | _SAMPLES, 4),
    "langevin, exact": Method(_DEFAULT | {"engine": "exact"}, 20),
    "langevin, brief": Method(_DEFAULT | {"engine": "brief"}, 20),
    "langevin, persistent": Method(_DEFAULT | {"engine": "persistent"}, 20),
    "mean-field": Method(_DEFAULT | {"engine": "mean-field", "adjusted": True}, 20),
    "tree": Method(_DEFAULT | {"engine": "tree", "adjusted": True}, 20),
    "bethe": Method(_DEFAULT | {"engine": "bethe", "adjusted": True}, 20),
    "pseudo-posterior": Method({"kernel": "pseudo-posterior", "n_draws": 1000}, 60),
    "pseudo-posterior, corrected": Method({"kernel": "pseudo-posterior", "n_draws": 1000, "corrected": True}, 60),
    "gibbs, exact": Method({"kernel": "gibbs", "engine": "exact", "n_draws": 1000}, 60),
    "hamiltonian, exact": Method({"kernel": "hamiltonian", "engine": "exact", "n_draws": 1000}, 60),
}
STUDIES = {"sparse": METHODS, "complete": COMPLETE}


class Problem(NamedTuple):
    """A true model and the data drawn from it."""

    graph: Graph
    theta: np.ndarray
    states: np.ndarray


@dataclass(frozen=True)
class Coverage:
    """Complete or random graphs of six to eight nodes; truth and prior are N(0, 1); exact samples.

    The truth is drawn from the prior, so that intervals of the exact posterior have exactly their nominal coverage on
    average over data sets.

    Parameters
    ----------
    graphs : {"sparse", "complete"}
        With as many edges as nodes, or all edges. On sparse graphs steps are fixed by hand and chains start at 0; on
        complete graphs, where such chains may never move, steps and starts are the defaults.
    n_samples : int
    shorter : int
        Draws and warm-up are divided by it.
    replicates : int
        Data sets.
    """

    graphs: str = "sparse"
    n_samples: int = 300
    shorter: int = 1
    replicates: int = 200

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the names of kernels and engines."""
        return tuple(STUDIES[self.graphs])

    def describe(self) -> dict[str, Any]:
        """Return plain values; the number of data sets may increase."""
        options = {name: method.options for name, method in STUDIES[self.graphs].items()}
        return {"n_samples": self.n_samples, "shorter": self.shorter, "options": options}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return all methods on a data set, then the next."""
        return [(r, m) for r in range(replicates) for m in methods if r < STUDIES[self.graphs][m].n_data_sets]

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit one data set by one method; a fit takes seconds and has no checkpoint."""
        replicate, name = cell
        problem = draw_problem(settings, self.graphs, self.n_samples, replicate)
        options = {"n_warmup": 500, "n_chains": 2} | STUDIES[self.graphs][name].options
        options["start"] = "zero" if self.graphs == "sparse" else "mode"
        for count in ("n_draws", "n_warmup"):
            options[count] = -(-options[count] // self.shorter)
        seeds = settings.seeds(replicate, 1 + self.methods.index(name))
        found = fit(problem.states, options | {"graph": problem.graph}, seeds)
        about = {"seconds": found.seconds, "acceptance": found.acceptance, "truth": problem.theta}
        about["frozen"] = int((found.theta == found.theta[:, :1]).all(axis=(1, 2)).sum())
        return about | summary(found.theta)


@lru_cache(maxsize=2)
def draw_problem(settings: Settings, graphs: str, n_samples: int, replicate: int) -> Problem:
    """Draw a data set, with six, seven and eight nodes in turn."""
    rng, n_nodes = settings.rng(replicate, 0), 6 + replicate % 3
    pairs = np.argwhere(np.tri(n_nodes, k=-1, dtype=bool))
    edges = pairs if graphs == "complete" else pairs[np.sort(rng.choice(len(pairs), n_nodes, replace=False))]
    graph = Graph(n_nodes, edges)
    model, engine = Boltzmann(graph), Elimination()
    theta = rng.standard_normal(model.n_features)
    return Problem(graph, theta, engine.sample(model, theta, engine.prepare(model), n_samples, rng))


def measures(records: list[Record]) -> pd.DataFrame:
    """Return one row per method: sd ratio to the reference, coverage, and Monte Carlo standard errors.

    Parameters of one data set are not independent: errors are from the spread of the means of data sets. ``less`` is
    coverage minus that of the reference on the same data sets, which removes the variation of the truths; ``frozen`` is
    the number of data sets on which a chain never moved.
    """
    reference = {r["cell"][0]: r for r in records if r["cell"][1] == "reference"}
    rows = {}
    for name in dict.fromkeys([*METHODS, *COMPLETE]):
        own = [r for r in records if r["cell"][1] == name and r["cell"][0] in reference]
        if not own:
            continue
        ratio, held, less, away = [], [], [], []
        for r in own:
            best = reference[r["cell"][0]]
            mean, sd, truth, lower, upper = (np.array(r[k]) for k in ("mean", "sd", "truth", "lower", "upper"))
            ratio.append(np.mean(sd / np.array(best["sd"])))
            held.append(np.mean((lower <= truth) & (truth <= upper)))
            less.append(held[-1] - np.mean((np.array(best["lower"]) <= truth) & (truth <= np.array(best["upper"]))))
            away.append(np.sqrt(np.mean(((mean - np.array(best["mean"])) / np.array(best["sd"])) ** 2)))
        ess = np.array([[np.nanmin(e), np.nanmedian(e)] for r in own for e in [np.array(r["ess"], dtype=float)]])
        rows[name] = {
            "data_sets": len(own),
            "sd_ratio": np.mean(ratio),
            "sd_ratio_error": standard_error(ratio),
            "coverage": np.mean(held),
            "coverage_error": standard_error(held),
            "less": np.mean(less),
            "less_error": standard_error(less),
            "distance": np.mean(away),
            "least_ess": np.median(ess[:, 0]),
            "ess": np.median(ess[:, 1]),
            "acceptance": np.mean([r["acceptance"] for r in own]),
            "frozen": np.sum([min(r.get("frozen", np.nan), 1) for r in own]),
            "seconds": np.mean([r["seconds"] for r in own]),
        }
    return pd.DataFrame(rows).T


def standard_error(values: list[float]) -> float:
    """Return the standard error of the mean; NaN for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
