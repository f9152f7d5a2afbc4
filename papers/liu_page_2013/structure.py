"""Groups and structure at once: which edges exist and which share a value, compared with methods for one of the two.

Block models whose edges have one of three values, with a known truth, and the votes of the Senate, with a model
trained on one session that predicts the other. Not in the paper, whose graphs are given.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from bayesmrf import Graph, GroupedMRF, SpikeSlabMRF, datasets, graphs, metrics
from bayesmrf.base import Model
from bayesmrf.data.states import States, check_states
from bayesmrf.engines import Elimination
from bayesmrf.learning.sparse_path import cross_validated, pseudo_likelihood_path
from bayesmrf.models import Agreement, Boltzmann
from bayesmrf.priors import Beta, Gamma, SpikeSlab
from papers.cells import Cell
from papers.store import Record

from .common import N_EDGES, STRUCTURE_METHODS, Points, Settings, plain

N_BLOCKS, WITHIN, ACROSS = 3, 0.8, 0.1  # of the block models, and their probabilities of an edge
N_FOLDS = 5
ONCE: dict[str, Any] = {"n_chains": 1, "n_jobs": 1, "progress": False}


class Estimate(NamedTuple):
    """Estimates of a method for every pair of nodes, in lexicographic order, and the model it predicts with."""

    included: np.ndarray  # (m,) bool
    groups: np.ndarray  # (m,) labels, -1 for no edge
    agreement: np.ndarray  # (m,) posterior mean, or the L1 estimate
    n_groups: float
    model: Model
    theta: np.ndarray


def estimate(
    method: str, states: np.ndarray, n_edges: int, options: Mapping[str, Any], rng: np.random.Generator
) -> Estimate:
    """Fit a method.

    Parameters
    ----------
    method : str
        "spike-*" find edges and groups at once ("-fields": with node fields in groups); "*-learnt" groups on the
        graph with ``n_edges`` edges learnt by neighbourhood selection; "spike-slab" edges with separate weights;
        "l1-*" L1-penalised pseudo-likelihood, at the penalty selected by cross-validation or with the number of edges
        nearest to ``n_edges``.
    states : (n_samples, n_nodes) array in {0, 1}
    n_edges : int
        Number of edges, for methods that need it.
    options : mapping
        Of the estimator.
    rng : Generator
    """
    n_nodes = states.shape[1]
    if method.startswith("l1-"):
        return _l1(method, check_states(states), n_edges, rng)
    options = ONCE | dict(options) | {"random_state": rng}
    if method == "spike-slab":
        # The prior of Chen and Welling (2012).
        return _of_spike_slab(
            SpikeSlabMRF(prior=SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0)), **options).fit(states), n_nodes
        )
    kind = method.removesuffix("-learnt").removesuffix("-fields").removeprefix("spike-")
    if method.startswith("spike-"):
        options |= {"candidates": "complete", "fields": "grouped" if method.endswith("-fields") else False}
    else:
        options |= {"graph": f"learn:{n_edges}", "fields": False}
    return _of_groups(GroupedMRF(method=kind, **options).fit(states), n_nodes)


def _of_groups(fitted: GroupedMRF, n_nodes: int) -> Estimate:
    place = _places(fitted.edges_, n_nodes)
    groups, agreement = np.full(n_nodes * (n_nodes - 1) // 2, -1), np.full(n_nodes * (n_nodes - 1) // 2, 0.5)
    groups[place], agreement[place] = fitted.groups_, fitted.agreement_
    number = float(fitted.posterior_["posterior"]["n_groups"].mean())
    model = Agreement(Graph(n_nodes, fitted.edges_), bool(fitted.fields))
    return Estimate(groups >= 0, groups, agreement, number, model, fitted.theta_)


def _of_spike_slab(fitted: SpikeSlabMRF, n_nodes: int) -> Estimate:
    theta = np.asarray(fitted.posterior_["posterior"]["theta"])
    theta = theta.reshape(-1, theta.shape[2])
    u, v = np.triu_indices(n_nodes, 1)
    m = len(u)
    # Over {0, 1}, a weight is twice the logit of the agreement.
    agreement = expit(theta[:, :m] / 2).mean(axis=0)
    return _apart(fitted.inclusion_[u, v] > 0.5, agreement, theta.mean(axis=0), n_nodes)


def _l1(method: str, states: States, n_edges: int, rng: np.random.Generator) -> Estimate:
    n_nodes = states.values.shape[1]
    m = n_nodes * (n_nodes - 1) // 2
    if method == "l1-cv":
        theta, _ = cross_validated(states, pseudo_likelihood_path, N_FOLDS, int(rng.integers(2**31)))
    else:
        theta = pseudo_likelihood_path(states).at_density(n_edges / m)
    return _apart(theta[:m] != 0, expit(theta[:m] / 2), theta, n_nodes)


def _apart(included: np.ndarray, agreement: np.ndarray, theta: np.ndarray, n_nodes: int) -> Estimate:
    """Put every edge in a separate group."""
    groups = np.where(included, np.arange(len(included)), -1)
    return Estimate(included, groups, agreement, float(included.sum()), Boltzmann(graphs.complete(n_nodes)), theta)


def _places(edges: np.ndarray, n_nodes: int) -> np.ndarray:
    """Return the indices of edges among all pairs."""
    number = np.zeros((n_nodes, n_nodes), int)
    u, v = np.triu_indices(n_nodes, 1)
    number[u, v] = number[v, u] = np.arange(len(u))
    return number[edges[:, 0], edges[:, 1]]


@dataclass(frozen=True)
class Blocks(Points):
    """Three blocks of nodes; edges within are likely, and each has one of three values.

    Parameters
    ----------
    n_nodes : int
    agreements : tuple of float
        The values; each edge has any of them with the same probability.
    options : mapping
        Of the estimators, for each method that has some.
    points : tuple of int
        Numbers of training samples.
    replicates, n_test : int
    """

    n_nodes: int = 12
    agreements: tuple[float, ...] = (0.75, 0.6, 0.35)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    points: tuple[int, ...] = (100, 300, 1000)
    replicates: int = 20
    n_test: int = 1000

    axis = "n"
    measures = ("f1", "vi", "error", "lpl_test", "n_edges", "n_groups", "seconds")
    methods = STRUCTURE_METHODS[:-1]

    def describe(self) -> dict[str, Any]:
        """Return plain values; points and replicates may be added."""
        names = ("n_nodes", "agreements", "n_test", "options")
        return {name: getattr(self, name) for name in names} | {"agreements": list(self.agreements)}

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit and measure one cell; likelihoods are relative to that of the truth, ``seconds`` is processor time."""
        replicate, n, method = cell
        truth = _truth(self, settings, replicate)
        states = truth.draw(n, settings.rng(replicate, 1, n))
        rng = settings.rng(replicate, 2, n, STRUCTURE_METHODS.index(method))
        options = self.options.get(method, {})
        _warm_up(self, method)
        began = time.process_time()
        found = estimate(method, states, int(truth.there.sum()), options, rng)
        seconds = time.process_time() - began
        hits = int((found.included & truth.there).sum())
        lpl = metrics.log_pseudo_likelihood(found.model, found.theta, truth.test)
        return {
            "f1": 2 * hits / max(1, int(found.included.sum() + truth.there.sum())),
            "vi": metrics.variation_of_information(found.groups, truth.groups),
            "error": metrics.mean_absolute_error(found.agreement, truth.agreement),
            "lpl_test": lpl - metrics.log_pseudo_likelihood(truth.model, truth.theta, truth.test),
            "n_edges": int(found.included.sum()),
            "n_groups": found.n_groups,
            "seconds": seconds,
        }


@dataclass(frozen=True, eq=False)
class Truth:
    """A block model: labels of all pairs of nodes (-1: no edge), their agreements, and test samples."""

    model: Agreement
    groups: np.ndarray
    agreement: np.ndarray
    test: np.ndarray

    @property
    def there(self) -> np.ndarray:
        """Return which pairs are edges."""
        return self.groups >= 0

    @property
    def theta(self) -> np.ndarray:
        """Return the natural parameters of all pairs."""
        return logit(self.agreement)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw exact samples, by elimination on the existing edges."""
        return _samples(self.model.graph, self.groups, self.agreement, n, rng)


def _samples(graph: Graph, groups: np.ndarray, agreement: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    there = groups >= 0
    model, engine = Agreement(Graph(graph.n_nodes, graph.edges[there])), Elimination()
    return engine.sample(model, logit(agreement[there]), engine.prepare(model), n, rng)


@lru_cache(maxsize=1)
def _truth(plan: Blocks, settings: Settings, replicate: int) -> Truth:
    rng = settings.rng(replicate, 0)
    graph = graphs.complete(plan.n_nodes)
    u, v = graph.edges.T * N_BLOCKS // plan.n_nodes
    there = rng.random(graph.n_edges) < np.where(u == v, WITHIN, ACROSS)
    groups = np.where(there, rng.integers(len(plan.agreements), size=graph.n_edges), -1)
    agreement = np.append(plan.agreements, 0.5)[groups]
    return Truth(Agreement(graph), groups, agreement, _samples(graph, groups, agreement, plan.n_test, rng))


@cache
def _warm_up(plan: Blocks, method: str) -> None:
    """Fit once before the first timed fit, so that compiled code is loaded."""
    rng = np.random.default_rng(0)
    options = dict(plan.options.get(method, {}))
    options |= {name: 2 for name in ("n_draws", "n_warmup") if name in options}
    estimate(method, rng.integers(0, 2, (50, 6)), 4, options, rng)


@dataclass(frozen=True)
class SenateStructure(Points):
    """Votes of the 109th Congress: all 4,851 pairs of senators are candidates.

    Parameters
    ----------
    n_edges : int
        Of the learnt graphs, as in experiment senate.
    options : mapping
        Of the estimators, for each method that has some.
    """

    n_edges: int = N_EDGES
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    points: tuple[int, ...] = (1, 2)
    replicates: int = 1

    axis = "session"
    measures = ("lpl_train", "lpl_test", "n_edges", "n_groups", "seconds")
    methods = STRUCTURE_METHODS[1:]

    def describe(self) -> dict[str, Any]:
        """Return plain values."""
        return {"n_edges": self.n_edges, "options": plain(self.options)}

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Fit on one session and measure on both."""
        replicate, session, method = cell
        train, test = (check_states(datasets.senate109(s)).values for s in (session, 3 - session))
        rng = settings.rng(replicate, 2, session, STRUCTURE_METHODS.index(method))
        began = time.process_time()
        found = estimate(method, train, self.n_edges, self.options.get(method, {}), rng)
        seconds = time.process_time() - began
        return {
            "lpl_train": metrics.log_pseudo_likelihood(found.model, found.theta, train),
            "lpl_test": metrics.log_pseudo_likelihood(found.model, found.theta, test),
            "n_edges": int(found.included.sum()),
            "n_groups": found.n_groups,
            "seconds": seconds,
        }
