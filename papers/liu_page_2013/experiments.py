"""What is run: the models, data and estimators of sections 4 and 5, one cell (replicate, point, method) at a time.

A cell depends on the seed and on its own coordinates alone, so that cells may run in any order and in any process.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bayesmrf import datasets, graphs, metrics
from bayesmrf.errors import BoundaryWarning, ConvergenceWarning, FieldsWarning
from bayesmrf.estimators import GroupedMRF, MaximumLikelihoodMRF
from bayesmrf.graphs import Graph
from bayesmrf.inference.auto import is_cheap
from bayesmrf.inference.elimination.two_states import Elimination
from bayesmrf.learning.sparse import learn_graph
from bayesmrf.models.agreement import Agreement
from bayesmrf.samplers import gibbs
from bayesmrf.states import check_states

from . import structure

# The place in this list is part of a cell's seed: new names go to the end.
METHODS = (
    "mle",
    "oracle",
    "tree",
    "exact",
    "auxiliary-variable",
    "stripped-beta",
    "mle-fields",
    "stripped-beta-fields",
    "particle",
    "particle-fields",
    "particle-grouped-fields",
)

ACCEPTANCE = ("acceptance_groups", "acceptance_values")  # of auxiliary-variable


class Cell(NamedTuple):
    """One fit: ``point`` is the number of training samples or, in the Senate, the session trained on."""

    replicate: int
    point: int
    method: str


@dataclass(frozen=True)
class Settings:
    """What the numbers of a run depend on; all rows of a file share them."""

    experiment: str
    seed: int = 0
    quick: bool = False

    def generator(self, *key: int) -> np.random.Generator:
        """A generator for one purpose: the SeedSequence's descendant at ``key``."""
        place = (tuple(FULL).index(self.experiment), *key)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=place))

    @property
    def plan(self) -> Plan:
        """What is run under these settings."""
        return (QUICK if self.quick else FULL)[self.experiment]

    def describe(self) -> dict[str, Any]:
        """Plain values that tell whether two runs are of the same kind."""
        return asdict(self) | {"plan": self.plan.describe()}


def run_cell(settings: Settings, cell: Cell) -> dict[str, Any]:
    """Fit and measure.

    Returns
    -------
    dict
        The cell's row: one value for each of the plan's columns, NaN where there is none. ``seconds`` is processor time
        of the fit, which runs in one thread, so that it hardly depends on what else the machine does.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        # Small samples have edges whose ends always agree; their maximum likelihood estimates are bounded (README).
        warnings.simplefilter("ignore", BoundaryWarning)
        # Lengths of chains are the paper's, and what is judged is how far the estimates are from the truth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FieldsWarning)  # its model of votes has no fields
        found = settings.plan.run(settings, cell)
    key = {"replicate": cell.replicate, settings.plan.axis: cell.point, "method": cell.method}
    return key | {name: found.get(name, np.nan) for name in settings.plan.measures}


@dataclass(frozen=True)
class Simulation:
    """Known truth (section 4): random groups, their values from Unif(0, 1); alpha = 1, one chain, no warm-up.

    Parameters
    ----------
    make_graph : callable
    n_groups : int
    bayes : mapping
        Options of `GroupedMRF` for each Bayesian method.
    points : tuple of int
        Numbers of training samples.
    replicates : int
        As in the paper.
    n_test : int
    n_sweeps : int
        Gibbs sweeps behind each sample; 0 for exact samples, with which goes the exact likelihood of test data.
    """

    make_graph: Callable[[], Graph]
    n_groups: int
    bayes: Mapping[str, Mapping[str, Any]]
    points: tuple[int, ...] = tuple(range(100, 1001, 100))
    replicates: int = 50
    n_test: int = 1000
    n_sweeps: int = 0

    axis = "n"
    measures = (
        *("error", "log_likelihood", "vi_difference", "n_groups", "seconds"),
        *ACCEPTANCE,
        "data_z",
    )

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of what is fitted."""
        return ("mle", "oracle", *self.bayes)

    def describe(self) -> dict[str, Any]:
        """Plain values."""
        graph = self.make_graph()
        rest = {name: getattr(self, name) for name in ("n_groups", "n_test", "n_sweeps")}
        return {"n_nodes": graph.n_nodes, "n_edges": graph.n_edges, **rest, "bayes": _plain(self.bayes)}

    def run(self, settings: Settings, cell: Cell) -> dict[str, float]:
        """Fit and measure one cell."""
        problem = _problem(settings, cell.replicate)
        states = _training(settings, cell.replicate, cell.point)
        _warm_up(settings, cell.method)
        rng = settings.generator(cell.replicate, 2, cell.point, METHODS.index(cell.method))
        estimator = self.estimator(cell.method, problem, rng)
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
        """The estimator of a method, not fitted."""
        graph = problem.model.graph
        if method not in self.bayes:
            groups = problem.groups if method == "oracle" else None
            return MaximumLikelihoodMRF(graph, groups, fields=False, random_state=rng)
        once = {"n_warmup": 0, "n_chains": 1, "n_jobs": 1, "progress": False, "random_state": rng}
        return GroupedMRF(graph, method=method, alpha=1.0, fields=False, **(dict(self.bayes[method]) | once | options))

    def draw(self, model: Agreement, theta: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """Samples, and by how many standard errors their mean log potential moved in the second half of the sweeps."""
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


class Problem(NamedTuple):
    """The truth of a replicate, its test samples, and how these passed the check of `Simulation.draw`."""

    model: Agreement
    groups: np.ndarray
    agreement: np.ndarray
    theta: np.ndarray
    test: np.ndarray
    data_z: float


@lru_cache(maxsize=2)
def _problem(settings: Settings, replicate: int) -> Problem:
    plan, rng = settings.plan, settings.generator(replicate, 0)
    assert isinstance(plan, Simulation)
    model = Agreement(plan.make_graph())
    groups = rng.integers(plan.n_groups, size=model.n_edges)
    agreement = rng.random(plan.n_groups)[groups]
    theta = np.log(agreement) - np.log1p(-agreement)
    return Problem(model, groups, agreement, theta, *plan.draw(model, theta, plan.n_test, rng))


@lru_cache(maxsize=2)
def _training(settings: Settings, replicate: int, n: int) -> np.ndarray:
    plan, problem = settings.plan, _problem(settings, replicate)
    assert isinstance(plan, Simulation)
    return plan.draw(problem.model, problem.theta, n, settings.generator(replicate, 1, n))[0]


@cache
def _warm_up(settings: Settings, method: str) -> None:
    """Fit once in this process before the first fit that is timed, so that compiled code is loaded."""
    plan, problem = settings.plan, _problem(settings, 0)
    assert isinstance(plan, Simulation)
    options = {"n_draws": 1, "n_walk": 2} if method in plan.bayes else {}
    plan.estimator(method, problem, np.random.default_rng(0), **options).fit(problem.test[:20])


@dataclass(frozen=True)
class Senate:
    """Votes of the 109th Congress (section 5): train on one session, test on the other.

    The paper's graph is read off a figure of Banerjee et al. (2008); here one with as many edges is learnt on the
    training session. Such graphs turn out to be narrow, so that the exact log likelihood can stand beside the paper's
    log pseudo-likelihood.
    Methods ending in "-fields" are ours: each senator has a field too, or ("-grouped-fields") groups of senators share
    one. Their chains start far from where they settle, as all fields have to move together, so that the first
    ``n_warmup_fields`` steps are dropped.
    """

    n_draws: int = 3000
    n_edges: int = 279
    n_warmup_fields: int = 300
    points: tuple[int, ...] = (1, 2)
    replicates: int = 1

    axis = "session"
    measures = ("n_train", "lpl_train", "lpl_test", "ll_train", "ll_test", "n_groups", "seconds")
    methods = (
        "mle",
        "stripped-beta",
        "particle",
        "mle-fields",
        "stripped-beta-fields",
        "particle-fields",
        "particle-grouped-fields",
    )

    def describe(self) -> dict[str, Any]:
        """Plain values."""
        return {"n_draws": self.n_draws, "n_edges": self.n_edges, "n_warmup_fields": self.n_warmup_fields}

    def run(self, settings: Settings, cell: Cell) -> dict[str, float]:
        """Fit and measure one cell."""
        votes = datasets.senate109(cell.point)
        train, test = check_states(votes), check_states(datasets.senate109(3 - cell.point))
        graph = _senate_graph(cell.point, self.n_edges)
        method = cell.method.removesuffix("-fields").removesuffix("-grouped")
        rng = settings.generator(cell.replicate, 2, cell.point, METHODS.index(cell.method))
        model = Agreement(graph, fields=cell.method.endswith("-fields"))
        if method == "mle":
            estimator: Any = MaximumLikelihoodMRF(graph, fields=model.fields, random_state=rng)
        else:
            estimator = GroupedMRF(
                graph,
                method=method,
                alpha=1.0,
                fields="grouped" if "-grouped" in cell.method else model.fields,
                n_draws=self.n_draws,
                n_warmup=self.n_warmup_fields if model.fields else 0,
                n_chains=1,
                n_jobs=1,
                progress=False,
                random_state=rng,
            )
        began = time.process_time()
        estimator.fit(votes)
        found = {
            "seconds": time.process_time() - began,
            "n_train": train.n_samples,
            "lpl_train": metrics.log_pseudo_likelihood(model, estimator.theta_, train.values),
            "lpl_test": metrics.log_pseudo_likelihood(model, estimator.theta_, test.values),
        }
        if is_cheap(graph):
            found["ll_train"] = metrics.log_likelihood(model, estimator.theta_, train.values, Elimination())
            found["ll_test"] = metrics.log_likelihood(model, estimator.theta_, test.values, Elimination())
        if method != "mle":
            found["n_groups"] = float(estimator.posterior_["posterior"]["n_groups"].mean())
        return found


@lru_cache(maxsize=2)
def _senate_graph(session: int, n_edges: int) -> Graph:
    return learn_graph(check_states(datasets.senate109(session)), n_edges, n_jobs=1)


def _plain(options: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    return {method: dict(values) for method, values in options.items()}


_TREE = Simulation(partial(graphs.binary_tree, 12), 25, {"tree": {"n_draws": 500}}, replicates=500)
_SMALL = Simulation(
    partial(graphs.grid, 4, 4),
    5,
    {
        "exact": {"n_draws": 100},
        "auxiliary-variable": {"n_draws": 500, "n_proposals": 5, "sigma_q": 0.001, "n_walk": 100, "n_sweeps": 50},
        "stripped-beta": {"n_draws": 100},
        "particle": {"n_draws": 100},
    },
)
_LARGE = Simulation(
    partial(graphs.grid, 30, 30), 10, {"stripped-beta": {"n_draws": 100}, "particle": {"n_draws": 100}}, n_sweeps=5000
)
_FEW_STEPS = {"n_draws": 20, "n_proposals": 5, "sigma_q": 0.001, "n_walk": 20, "n_sweeps": 20}
_FEW_POINTS = (100, 400, 1000)

Plan = Simulation | Senate | structure.Blocks | structure.SenateStructure
FULL: dict[str, Plan] = {"tree": _TREE, "small-grid": _SMALL, "large-grid": _LARGE, "senate": Senate()}
FULL |= structure.FULL
QUICK: dict[str, Plan] = {
    "tree": replace(
        _TREE,
        make_graph=partial(graphs.binary_tree, 9),
        bayes={"tree": {"n_draws": 200}},
        points=_FEW_POINTS,
        replicates=4,
    ),
    "small-grid": replace(
        _SMALL,
        bayes=dict(_SMALL.bayes) | {"auxiliary-variable": _FEW_STEPS},
        points=_FEW_POINTS,
        replicates=10,
    ),
    "large-grid": replace(
        _LARGE,
        make_graph=partial(graphs.grid, 16, 16),
        bayes={"stripped-beta": {"n_draws": 50}, "particle": {"n_draws": 50}},
        points=_FEW_POINTS,
        replicates=3,
        n_sweeps=2000,
    ),
    "senate": Senate(n_draws=200),
    **structure.QUICK,
}
