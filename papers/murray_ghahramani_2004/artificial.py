"""Section 6.1, the 100-node systems with 204 and 500 random edges (figure 2), and systems with stronger weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bayesmrf import Graph
from bayesmrf.engines import Elimination
from bayesmrf.errors import OptionError
from bayesmrf.inference.elimination.engine import cost
from bayesmrf.models import Boltzmann
from bayesmrf.models.pairwise import Pairwise, log_potential
from bayesmrf.samplers import cftp, gibbs
from papers.cells import Cell
from papers.store import Record

from .common import Settings, fit, histogram, split_r_hat, summary

NEAR = 0.1  # as in figure 2
N_BINS = 40
N_SHOWN = 6  # parameters whose histograms are kept
LARGEST = 2**26  # entries of all tables of an elimination that samples the data once: below a second
LARGEST_EXACT = 2**24  # the same for a posterior, with thousands of solves of about 0.15 s
# "loopy" has the stationary distribution of loopy Metropolis, p(theta) exp(N (theta . s_bar - log Z_Bethe(theta))), but
# moves all parameters with one solve; "loopy-walk" is the paper's random walk, 329 sweeps of 304 (100,000 proposals).
OPTIONS: dict[str, dict[str, Any]] = {
    "loopy": {"kernel": "langevin", "engine": "bethe", "adjusted": True, "epsilon": 0.04, "alpha": 0.97}
    | {"n_draws": 2000, "n_warmup": 4000, "thin": 10},
    "brief": {"kernel": "langevin", "engine": "brief", "epsilon": 0.05}
    | {"n_draws": 2000, "n_warmup": 10_000, "thin": 50},
    "exact": {"kernel": "langevin", "engine": "exact", "adjusted": True, "precondition": True}
    | {"epsilon": 0.2, "alpha": 0.95, "n_draws": 1000, "n_warmup": 300},
    "loopy-walk": {"kernel": "metropolis", "engine": "bethe", "step_size": 0.1, "n_draws": 329, "n_warmup": 0},
}


class System(NamedTuple):
    """A true model, the data drawn from it, and how they were drawn."""

    graph: Graph
    theta: np.ndarray
    states: np.ndarray
    how: str
    width: int
    entries: float


@dataclass(frozen=True)
class Artificial:
    """Random graphs, weights from N(0, scale^2) and biases from N(0, 1), which is the prior too; data drawn exactly.

    Parameters
    ----------
    n_nodes, n_samples : int
    systems : tuple of (int, float)
        Number of edges and scale. Figure 2 is of those with scale 1.
    options : mapping
        Of `BayesianMRF`, for each method.
    n_chains : int
    replicates : int
        Systems of each kind.
    """

    n_nodes: int = 100
    n_samples: int = 100
    systems: tuple[tuple[int, float], ...] = ((204, 1.0), (500, 1.0), (204, 2.0), (500, 2.0), (204, 4.0))
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: OPTIONS)
    n_chains: int = 2
    replicates: int = 2

    methods = tuple(OPTIONS)

    def describe(self) -> dict[str, Any]:
        """Return plain values; the number of systems may increase."""
        options = {name: dict(values) for name, values in self.options.items()}
        names = ("n_nodes", "n_samples", "n_chains")
        return {"options": options, **{name: getattr(self, name) for name in names}}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return all methods for the first kind of system; no exact posterior and no random walk for the others."""
        return [
            (r, n_edges, scale, method)
            for r in range(replicates)
            for n_edges, scale in self.systems
            for method in methods
            if method in ("loopy", "brief") or (n_edges, scale) == self.systems[0]
        ]

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit one system by one method."""
        replicate, n_edges, scale, method = cell
        system = draw_system(settings, self.n_nodes, self.n_samples, replicate, n_edges, scale)
        found_in = {"width": system.width, "entries": system.entries, "data": system.how}
        if method == "exact" and system.entries > LARGEST_EXACT:
            return {"skipped": "the graph is too wide", **found_in}
        options = dict(self.options[method])
        seeds = settings.seeds(replicate, n_edges, round(100 * scale), 1 + self.methods.index(method))
        options |= {"graph": system.graph, "prior_scale": scale, "bias_scale": 1.0, "n_chains": self.n_chains}
        options["start"] = "zero"
        found = fit(system.states, options, seeds, checkpoint=checkpoint)
        theta = found.theta
        half = theta.shape[1] // 2
        halves = np.concatenate([theta[:, :half], theta[:, -half:]])
        shown = np.linspace(0, theta.shape[2] - 1, N_SHOWN).astype(int)
        return {
            "seconds": found.seconds,
            "acceptance": found.acceptance,
            **found_in,
            "truth": system.theta,
            "near": (np.abs(theta - system.theta) < NEAR).mean(axis=(0, 1)),
            "r_hat": split_r_hat(halves.mean(axis=1), halves.std(axis=1)),
            **summary(theta),
            "shown": shown,
            "shown_features": [found.features[i] for i in shown],
            "histogram": histogram(theta[:, :, shown], N_BINS),
        }


@lru_cache(maxsize=2)
def draw_system(settings: Settings, n_nodes: int, n_samples: int, replicate: int, n_edges: int, scale: float) -> System:
    """Draw a random graph, its parameters, and ``n_samples`` states.

    Data are exact by elimination if the graph is narrow, else by coupling from the past, else approximate by parallel
    tempering; ``how`` says which.
    """
    rng = settings.rng(replicate, n_edges, round(100 * scale), 0)
    pairs = np.argwhere(np.tri(n_nodes, k=-1, dtype=bool))
    graph = Graph(n_nodes, pairs[np.sort(rng.choice(len(pairs), n_edges, replace=False))])
    model = Boltzmann(graph)
    theta = rng.standard_normal(model.n_features)
    theta[:n_edges] *= scale
    width, size = cost(graph, float(2**40))
    engine = Elimination()
    if size / 8 <= LARGEST:
        states = engine.sample(model, theta, engine.prepare(model), n_samples, rng)
        return System(graph, theta, states, "elimination", width, size / 8)
    try:
        found = cftp.sample_exact(model.pairwise(theta), n_samples, rng)
        how, states = f"coupling from the past, {found.depths.max()} sweeps", found.states
    except OptionError as e:
        states = tempered(model.pairwise(theta), n_samples, rng)
        how = f"parallel tempering, since {e}"
    return System(graph, theta, states, how, width, size / 8)


def tempered(
    model: Pairwise, n_samples: int, rng: np.random.Generator, n_levels: int = 16, n_rounds: int = 4000
) -> np.ndarray:
    """Draw one state per parallel tempering run (Swendsen and Wang 1986), approximately.

    Level k has the log potential times beta_k = k / (n_levels - 1), so that the lowest is uniform. A round is a Gibbs
    sweep at every level and a proposal to exchange the states of each second pair of neighbours.
    """
    beta = np.arange(n_levels) / (n_levels - 1)
    forms = [model._replace(coupling=b * model.coupling, field=b * model.field) for b in beta]
    levels = [gibbs.start(n_samples, len(model.field), rng) for _ in beta]
    for i in range(n_rounds):
        for form, chains in zip(forms, levels, strict=True):
            gibbs.sweep(form, chains, 1)
        potential = [log_potential(model, gibbs.to_states(chains, n_samples)) for chains in levels]
        for k in range(i % 2, n_levels - 1, 2):
            gain = (beta[k + 1] - beta[k]) * (potential[k] - potential[k + 1])
            lanes = np.zeros(levels[k].states.shape[0] * gibbs.LANES, dtype=bool)
            lanes[:n_samples] = np.log1p(-rng.random(n_samples)) < gain
            swap = lanes.reshape(-1, 1, gibbs.LANES)
            low, high = levels[k].states.copy(), levels[k + 1].states
            levels[k].states[...] = np.where(swap, high, low)
            levels[k + 1].states[...] = np.where(swap, low, high)
    return gibbs.to_states(levels[-1], n_samples)


def measures(records: list[Record]) -> pd.DataFrame:
    """Return one row per cell: share of the posterior near the truth, its width, and coverage of its intervals.

    ``error`` and ``sd`` are in units of the prior's sd; ``distance`` and ``sd_ratio`` are relative to the exact
    posterior of the same system, if available: root mean square distance of means in its sds, and median sd ratio.
    """
    done = [r for r in records if "skipped" not in r]
    exact = {tuple(r["cell"][:3]): r for r in done if r["cell"][3] == "exact"}
    rows = []
    for r in done:
        replicate, n_edges, scale, method = r["cell"]
        names = ("truth", "mean", "sd", "lower", "upper", "ess", "r_hat")
        truth, mean, sd, lower, upper, ess, r_hat = (np.array(r[k], dtype=float) for k in names)
        prior = np.where(np.arange(len(truth)) < n_edges, scale, 1.0)
        row = {
            "replicate": replicate,
            "edges": n_edges,
            "scale": scale,
            "method": method,
            "near": np.mean(r["near"]),
            "error": np.sqrt(np.mean(((mean - truth) / prior) ** 2)),
            "sd": np.mean(sd / prior),
            "coverage": np.mean((lower <= truth) & (truth <= upper)),
            "r_hat": np.nanquantile(r_hat, 0.9),
            "ess": np.nanmedian(ess),
            "acceptance": r["acceptance"],
            "seconds": r["seconds"],
        }
        if method != "exact" and (best := exact.get((replicate, n_edges, scale))):
            away = (mean - np.array(best["mean"])) / np.array(best["sd"])
            row |= {"distance": np.sqrt(np.mean(away**2)), "sd_ratio": np.median(sd / np.array(best["sd"]))}
        rows.append(row)
    return pd.DataFrame(rows)
