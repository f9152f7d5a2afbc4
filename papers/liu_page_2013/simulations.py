"""Section 4: known groups of edges on trees and grids; estimates with known, estimated or no groups."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

from bayesmrf import Graph, GroupedMRF, MaximumLikelihoodMRF, graphs, metrics
from bayesmrf.engines import Elimination, Persistent
from bayesmrf.learning.maximum_likelihood import maximum_likelihood
from bayesmrf.methods import GROUPS
from bayesmrf.models import Agreement
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.samplers import gibbs
from papers.cells import Cell
from papers.options import method_of
from papers.store import Record

from .common import METHODS, Points, Settings, plain

PERSISTENT = "-persistent"
ACCEPTANCE = ("acceptance_groups", "acceptance_values")  # of auxiliary-variable


@dataclass(frozen=True)
class Simulation(Points):
    """Known truth (section 4): random groups, their values from Unif(0, 1); alpha = 1, one chain, no warm-up.

    Parameters
    ----------
    graph : tuple
        Name of a constructor in `bayesmrf.graphs`, and its arguments.
    n_groups : int
        As many as there are edges: every edge has a value of its own.
    bayes : mapping
        Options of `GroupedMRF` for each Bayesian method.
    points : tuple of int
        Numbers of training samples.
    replicates : int
        As in the paper.
    n_test : int
    n_sweeps : int
        Gibbs sweeps per sample; 0 for exact samples, with the exact likelihood of test data.
    persistent : bool
        Whether MLE and oracle are also computed by persistent contrastive divergence, as in the paper.
    """

    graph: tuple[Any, ...]
    n_groups: int
    bayes: Mapping[str, Mapping[str, Any]] = field(hash=False)
    points: tuple[int, ...] = tuple(range(100, 1001, 100))
    replicates: int = 50
    n_test: int = 1000
    n_sweeps: int = 0
    persistent: bool = False

    axis = "n"
    measures = (
        *("error", "log_likelihood", "vi_difference", "n_groups", "seconds"),
        *ACCEPTANCE,
        "data_z",
    )

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the names of the fitted methods."""
        return ("mle", "oracle", *self.bayes, *(f"{m}{PERSISTENT}" for m in ("mle", "oracle") if self.persistent))

    def make_graph(self) -> Graph:
        """Return the graph of all replicates."""
        name, *sizes = self.graph
        return getattr(graphs, name)(*sizes)

    def describe(self) -> dict[str, Any]:
        """Return plain values."""
        graph = self.make_graph()
        rest = {name: getattr(self, name) for name in ("n_groups", "n_test", "n_sweeps")}
        return {"n_nodes": graph.n_nodes, "n_edges": graph.n_edges, **rest, "bayes": plain(self.bayes)}

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit and measure one cell; ``seconds`` is processor time of one thread."""
        replicate, point, method = cell
        problem = _problem(self, settings, replicate)
        states = _training(self, settings, replicate, point)
        _warm_up(self, settings, method)
        rng = settings.rng(replicate, 2, point, METHODS.index(method))
        estimator = self.estimator(method, problem, rng)
        began = time.process_time()
        estimator.fit(states)
        found = {
            "seconds": time.process_time() - began,
            "error": metrics.mean_absolute_error(estimator.agreement_, problem.agreement),
            "log_likelihood": self._log_likelihood(problem.model, estimator.theta_, problem.test),
            "data_z": problem.data_z,
        }
        if isinstance(estimator, GroupedMRF):
            posterior = estimator.posterior_["posterior"]
            found["vi_difference"] = metrics.vi_difference(posterior["groups"].values, problem.groups, rng)
            found["n_groups"] = float(posterior["n_groups"].mean())
            stats = estimator.posterior_["sample_stats"]
            found |= {name: float(stats[name].mean()) for name in ACCEPTANCE if name in stats}
        return found

    def estimator(self, method: str, problem: Problem, rng: np.random.Generator, **options: Any) -> Any:
        """Return the unfitted estimator of a method."""
        graph = problem.model.graph
        if method not in self.bayes:
            ties = problem.groups if method.startswith("oracle") else None
            if method.endswith(PERSISTENT):
                return ByPersistentChains(problem.model, ties, rng)
            return MaximumLikelihoodMRF(graph, ties=ties, fields=False, random_state=rng)
        once = {"n_warmup": 0, "n_chains": 1, "n_jobs": 1, "progress": False, "random_state": rng}
        own, others = method_of(GROUPS, method, dict(self.bayes[method]) | once | options)
        return GroupedMRF(graph, method=own, fields=False, **others)

    def draw(self, model: Agreement, theta: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """Return samples, and the change of their mean log potential in the second half of the sweeps, in sds."""
        if not self.n_sweeps:
            engine = Elimination()
            return engine.sample(model, theta, engine.prepare(model), n, rng), np.nan
        chains, form = gibbs.start(n, model.graph.n_nodes, rng), model.pairwise(theta)
        gibbs.sweep(form, chains, self.n_sweeps - self.n_sweeps // 2)
        half = gibbs.to_states(chains, n)
        gibbs.sweep(form, chains, self.n_sweeps // 2)
        states = gibbs.to_states(chains, n)
        u, v = model.graph.edges.T
        change = ((states[:, u] == states[:, v]).astype(int) - (half[:, u] == half[:, v])) @ theta
        return states, float(change.mean() / change.std(ddof=1) * np.sqrt(n))

    def _log_likelihood(self, model: Agreement, theta: np.ndarray, states: np.ndarray) -> float:
        if self.n_sweeps:
            return metrics.log_pseudo_likelihood(model, theta, states)
        return metrics.log_likelihood(model, theta, states, Elimination())


class ByPersistentChains:
    """Maximum likelihood by persistent contrastive divergence, also where `MaximumLikelihoodMRF` is exact."""

    def __init__(self, model: Agreement, ties: np.ndarray | None, rng: np.random.Generator) -> None:
        self.model, self.ties, self.rng = model, ties, rng

    def fit(self, states: np.ndarray) -> None:
        """Fit to states."""
        labels = np.arange(self.model.n_edges) if self.ties is None else pd.factorize(self.ties)[0]
        curve = LinearMap.tied(labels, [f"edges {k}" for k in range(labels.max() + 1)])
        s_bar = self.model.statistics(states)
        self.theta_ = maximum_likelihood(self.model, s_bar, len(states), Persistent(), self.rng, curve).theta
        self.agreement_ = expit(self.theta_)


class Problem(NamedTuple):
    """The truth of a replicate, its test samples, and the result of the check in `Simulation.draw`."""

    model: Agreement
    groups: np.ndarray
    agreement: np.ndarray
    theta: np.ndarray
    test: np.ndarray
    data_z: float


@lru_cache(maxsize=2)
def _problem(plan: Simulation, settings: Settings, replicate: int) -> Problem:
    rng = settings.rng(replicate, 0)
    model = Agreement(plan.make_graph())
    apart = plan.n_groups == model.n_edges
    groups = np.arange(model.n_edges) if apart else rng.integers(plan.n_groups, size=model.n_edges)
    agreement = rng.random(plan.n_groups)[groups]
    theta = np.log(agreement) - np.log1p(-agreement)
    return Problem(model, groups, agreement, theta, *plan.draw(model, theta, plan.n_test, rng))


@lru_cache(maxsize=2)
def _training(plan: Simulation, settings: Settings, replicate: int, n: int) -> np.ndarray:
    problem = _problem(plan, settings, replicate)
    return plan.draw(problem.model, problem.theta, n, settings.rng(replicate, 1, n))[0]


@cache
def _warm_up(plan: Simulation, settings: Settings, method: str) -> None:
    """Fit once before the first timed fit, so that compiled code is loaded."""
    problem = _problem(plan, settings, 0)
    options = {"n_draws": 1} if method in plan.bayes else {}
    if method == "auxiliary-variable":
        options["n_walk"] = 2
    plan.estimator(method, problem, np.random.default_rng(0), **options).fit(problem.test[:20])
