"""How many people does a study need? Tables of several sizes from known networks, and what their posteriors tell."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import families, graphs
from ..answers.predictions.partly_seen import draw_missing
from ..answers.study.planning import Plan
from ..data.states import are_ordered, levels_of
from ..declare.option import named
from ..declare.rule import PROBABILITY, SCALE, SEED, integer
from ..errors import BayesMRFWarning, DataError, OptionError, argument, in_python, in_words
from ..models.bases import edge_of
from ..results import posterior_of
from ..results.bayes_factors import LIMITS, bounded
from ..results.blocks import at_draws, variable
from ..results.convergence import verdict
from ..results.edge_evidence import evidence, has_evidence
from ..rng import as_seed_sequence
from ..runs.replicates import replicates as run_replicates
from ..samplers.tempered import Tempered
from ..types import Seed, Workers
from .compare import CompareMRF
from .loaded import load
from .panel import PanelMRF
from .spike_slab import SpikeSlabMRF

_DIFFERING = 0.2  # share of pairs that differ between two groups
_TABLES = 100  # that are drawn until one can be fitted
LEVELS, REPLICATES = integer(2, 12), integer(1, 10**6)
_OF_THE_TABLE = ("checkpoint", "columns", "executor")  # options of one table and its run, which simulations leave out
_OF_THE_RUN = (*_OF_THE_TABLE, "n_jobs", "progress", "random_state")  # options that simulations set or ignore


@dataclass(frozen=True, eq=False)
class Truth:
    """A known network of each group of people, and which edges exist or differ.

    Parameters
    ----------
    model : Model
    thetas : (n_groups, n_features) array
    exists : (n_edges,) bool array
    names : sequence of str
    levels : sequence of sequences
        Of each column.
    ordered : sequence of bool
        Whether they have an order.
    others : mapping
        Values of other variables of a posterior, by name.
    """

    model: Any
    thetas: np.ndarray
    exists: np.ndarray
    names: Sequence[str]
    levels: Sequence[Sequence[Any]]
    ordered: Sequence[bool]
    others: Mapping[str, Any] = field(default_factory=dict)

    def table(self, n: int, rng: np.random.Generator) -> tuple[Any, tuple[np.ndarray, ...]]:
        """Draw ``n`` rows, as equally many of each group as possible, and their groups."""
        groups = np.arange(n) % len(self.thetas)
        nothing = np.full(len(self.names), -1, dtype=np.int8)
        states = np.empty((n, len(self.names)), dtype=np.int8)
        for g, theta in enumerate(self.thetas):
            is_member = groups == g
            states[is_member] = draw_missing(self.model, theta, nothing, int(is_member.sum()), rng, Tempered())[0]
        return self.frame(states), (groups,)

    def frame(self, states: np.ndarray) -> Any:
        """Return states as a table, to which all levels are known, also those that do not occur."""
        import pandas as pd

        columns = {}
        for name, levels, has_order, x in zip(self.names, self.levels, self.ordered, states.T, strict=True):
            columns[name] = pd.Categorical.from_codes(x, dtype=pd.CategoricalDtype(list(levels), ordered=has_order))
        return pd.DataFrame(columns)

    def fitted(self, estimator: Any, n: int, rng: np.random.Generator) -> Any:
        """Return a copy of an estimator, fitted to a table of ``n`` rows; its warnings are counted by verdicts."""
        X, of_rows = self.table(n, rng)
        est = clone(estimator).set_params(random_state=int(rng.integers(2**31)), n_jobs=1, progress=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesMRFWarning)
            return est.fit(X, *of_rows) if isinstance(est, CompareMRF | PanelMRF) else est.fit(X)


def family_of(levels: int) -> Any:
    """Return the model of simulated answers with a number of levels."""
    return families.Boltzmann() if levels == 2 else families.Ordinal()


def factors(est: Any) -> np.ndarray:
    """Return the local Bayes factor of each edge or difference, (n_edges,), NaN of one that is forced or forbidden.

    Raises
    ------
    OptionError
        If the method of the estimator is one without them.
    """
    if not has_evidence(est.posterior_):
        raise OptionError(
            option="estimator", got=est.method_, expected="one whose method has Bayes factors of edges",
            remedy="take method='auto'",
        )  # fmt: skip
    return bounded(evidence(est.posterior_).log10)


def fitted_to_one(draw: Callable[[], Truth], estimator: Any, n: int, rng: np.random.Generator) -> tuple[Truth, Any]:
    """Return a truth and an estimator fitted to a table of it; both are drawn again if the table is refused.

    A table is refused for what is in it, such as constant columns. So positions of truths stay uniform, as they are
    given any table.
    """
    for _ in range(_TABLES):
        truth = draw()
        try:
            return truth, truth.fitted(estimator, n, rng)
        except DataError as e:
            last = e
    raise OptionError(
        option="n", got=n, expected=f"so large that one of {_TABLES} simulated tables can be fitted",
        remedy=f"the last one was refused ({last.text.rstrip('.')})",
    ) from last  # fmt: skip


@dataclass(frozen=True, eq=False)
class Replicate:
    """One simulated table and its fit: the item is the number of people, and that of the replicate."""

    source: Any  # makes a Truth from a generator and the number of the replicate
    estimator: Any
    entropy: Any

    def __call__(self, item: tuple[int, int]) -> dict[str, Any]:
        """Return numbers of edges that are found, ruled out and neither."""
        n, r = item
        truth = self.source.truth(np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(r,))), r)
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(r, n)))
        _, est = fitted_to_one(lambda: truth, self.estimator, n, rng)
        of, known = factors(est), dict(zip(map(tuple, truth.model.graph.edges), truth.exists, strict=True))
        exists = np.array([known.get(tuple(edge), False) for edge in est.edges_])
        of, exists = of[~np.isnan(of)], exists[~np.isnan(of)]  # certain edges are neither found nor ruled out
        is_found, out = of > LIMITS[1], of < 1 / LIMITS[1]
        return {
            "n": n,
            "edges": len(of),
            "present": int(exists.sum()),
            "absent": int((~exists).sum()),
            "found": int((is_found & exists).sum()),
            "ruled_out": int((out & ~exists).sum()),
            "inconclusive": int((~is_found & ~out).sum()),
            "wrongly_found": int((is_found & ~exists).sum()),
            "wrongly_ruled_out": int((out & exists).sum()),
            "verdict": verdict(est.posterior_).grade,
        }


@dataclass(frozen=True)
class Stated:
    """Random networks: a share ``density`` of the pairs has a weight, and answers are balanced."""

    nodes: int
    levels: int
    density: float
    weight: float
    difference: float | None

    @property
    def words(self) -> str:
        """The networks, in words."""
        of = f"{self.nodes} nodes of {self.levels} levels, {self.density:.0%} of the pairs with weight {self.weight:g}"
        if self.difference is None:
            return f"random networks of {of}"
        return f"two random networks of {of}, {_DIFFERING:.0%} with a difference of {self.difference:g}"

    def truth(self, rng: np.random.Generator, r: int) -> Truth:
        """Draw a network."""
        graph = graphs.complete(self.nodes)
        sizes = (self.levels,) * self.nodes
        model: Any = family_of(self.levels).on(graph, sizes, True)
        weights = np.zeros(graph.n_edges)
        weights[_some(self.density, graph.n_edges, rng)] = self.weight
        differs = np.zeros(graph.n_edges, dtype=bool)
        if self.difference is not None:
            differs[_some(_DIFFERING, graph.n_edges, rng)] = True
        half = 0.5 * (self.difference or 0.0) * differs * rng.choice([-1, 1], graph.n_edges)
        each = [weights] if self.difference is None else [weights - half, weights + half]
        thetas = np.array([self._balanced(graph, w) for w in each])
        exists = weights != 0 if self.difference is None else differs
        levels = [tuple(range(self.levels))] * self.nodes
        return Truth(model, thetas, exists, [f"x{i + 1}" for i in range(self.nodes)], levels, [True] * self.nodes)

    def _balanced(self, graph: Any, weights: np.ndarray) -> np.ndarray:
        """Return theta with the parameters of nodes that make the distribution symmetric."""
        total = np.zeros(self.nodes)
        for end in graph.edges.T:
            np.add.at(total, end, weights)
        steps = np.arange(1, self.levels) * (self.levels - 1) / 2
        return np.concatenate([weights, -(total[:, None] * steps).ravel()])


@dataclass(frozen=True, eq=False)
class Fitted:
    """Draws of a posterior as truths."""

    model: Any
    thetas: np.ndarray  # (n_replicates, n_groups, n_features)
    names: Sequence[str]
    levels: Sequence[Sequence[Any]]
    ordered: Sequence[bool]
    words: str

    def truth(self, rng: np.random.Generator, r: int) -> Truth:
        """Return the truth of a draw."""
        thetas = self.thetas[r % len(self.thetas)]
        exists = exist_or_differ(self.model, thetas)
        return Truth(self.model, thetas, exists, self.names, self.levels, self.ordered)


def exist_or_differ(model: Any, thetas: np.ndarray) -> np.ndarray:
    """Return whether each edge exists, of one group of people; or differs between several."""
    of_edge = edge_of(model)
    weights = thetas[:, : len(of_edge)]
    of_parameters = (weights != (0 if len(weights) == 1 else weights[:1])).any(axis=0)
    of_edges: np.ndarray = np.bincount(of_edge, of_parameters, model.n_edges) > 0
    return of_edges


def _some(share: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(n)[: max(1, round(share * n))]


@named
def plan(
    run: Any = None,
    n: Sequence[int] = (100, 250, 500, 1000),
    *,
    nodes: int = 10,
    levels: int = 2,
    density: float = 0.2,
    weight: float = 0.8,
    difference: float | None = None,
    estimator: Any = None,
    replicates: int = 50,
    folder: str | PathLike[str] | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    executor: Workers = None,
    progress: bool = True,
) -> Plan:
    """Simulate how many people it takes to find the edges of a network, or the differences between two.

    Each replicate draws a table of ``n`` people from a known network, and fits it. An edge with evidence (the local
    Bayes factor) above 10 is found, one below 1/10 is ruled out. A table that cannot be fitted, such as one with a
    column that is constant in every group, is drawn again.

    Parameters
    ----------
    run : estimator or path, optional
        A fitted `SpikeSlabMRF`, whose draws are the networks, or a fitted `CompareMRF`, whose draws are those of the
        groups of people; also a stored run. None takes random networks of ``nodes``, ``levels``, ``density`` and
        ``weight``.
    n : sequence of int
        Numbers of people; of all groups together, which are equally large.
    nodes, levels : int
        Number of columns, and of levels of each: 2 is yes/no, more are ordered.
    density : float
        Share of the pairs that have an edge.
    weight : float
        Its weight, a log odds ratio (of adjacent levels). All are positive, and answers are balanced.
    difference : float, optional
        Two groups differ by so much in a fifth of the pairs, and these differences are to be found.
    estimator : SpikeSlabMRF or CompareMRF, optional
        How tables are fitted: by default with the prior of ``run``, or default options.
    replicates : int
        Of each number of people.
    folder : path, optional
        Where replicates are kept. A study that was stopped goes on there, also with more replicates (of random
        networks) or other ``n``.
    random_state : int
        Seed.
    n_jobs : int, optional
        Processes, by default one for each core; -1 is one for each core, -2 leaves one core free.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Workers instead of ``n_jobs``.
    progress : bool

    Returns
    -------
    answers.study.planning.Plan
        ``frame`` and ``table`` have the shares with their errors, ``sentence`` sums them up; `plots.plot_plan` draws
        them, and `bayesmrf.report.write_plan` writes a page.

    Raises
    ------
    OptionError, StoreError
        If an option is not valid, or the folder contains another study.
    """
    sizes = [int(one) for one in np.atleast_1d(np.asarray(n, dtype=object))] if _are_counts(n) else None
    if sizes is None:
        raise OptionError(option="n", got=n, expected="integers > 1, of at most 10,000,000, such as (100, 250, 500)")
    REPLICATES.check("replicates", replicates)
    SEED.check("random_state", random_state)
    entropy = as_seed_sequence(random_state).entropy
    source: Stated | Fitted
    if run is None:
        integer(2, 1000).check("nodes", nodes)
        LEVELS.check("levels", levels)
        PROBABILITY.check("density", density)
        SCALE.check("weight", weight)
        if difference is not None:
            SCALE.check("difference", difference)
        source = Stated(int(nodes), int(levels), float(density), float(weight), difference)
        default: Any = SpikeSlabMRF() if difference is None else CompareMRF()
    else:
        source, default = _of_run(run, replicates)
    est = default if estimator is None else estimator
    if type(est) is not type(default):
        planned = "differences" if isinstance(default, CompareMRF) else "edges"
        expected = f"a {type(default).__name__}, as {planned} are to be found"
        raise OptionError(option="estimator", got=estimator, expected=expected)
    est = for_simulations(est)
    settings = {"study": "plan", "truth": source.words, "estimator": described(est), "seed": str(entropy)}
    if run is not None:
        settings["replicates"] = str(replicates)
    items = {f"n{size}-{r}": (size, r) for size in sizes for r in range(replicates)}
    how: dict[str, Any] = {"folder": folder, "n_jobs": n_jobs, "executor": executor, "progress": progress}
    results = run_replicates(Replicate(source, est, entropy), items, settings, "tables", **how)
    return Plan(results, "difference" if isinstance(est, CompareMRF) else "edge", source.words)


def _are_counts(n: Any) -> bool:
    values = np.atleast_1d(np.asarray(n, dtype=object)).tolist()
    return bool(values) and all(
        isinstance(v, int | np.integer) and not isinstance(v, bool) and 1 < v <= 10**7 for v in values
    )


def _of_run(run: Any, replicates: int) -> tuple[Fitted, Any]:
    """Return draws of a fitted estimator as truths, and an estimator with its prior for other tables."""
    est = load(run) if isinstance(run, str | PathLike) else run
    if not isinstance(est, SpikeSlabMRF | CompareMRF):
        expected = "a fitted SpikeSlabMRF or CompareMRF, or the path of such a run"
        expected = in_python(expected, "a result of structure or compare")
        remedy = in_python("leave it out, and state a network", "give one, or leave it out and state a network")
        got = in_words(run) if est is run else f"{str(run)!r}, a run of {type(est).__name__}"
        raise OptionError(f"{argument('run')} must be {expected}, got {got}; {remedy}.")
    draws = variable(posterior_of(est), "theta")
    numbers = np.unique(np.linspace(0, draws.shape[0] * draws.shape[1] - 1, replicates).astype(int))
    thetas = at_draws(draws, numbers)
    thetas = thetas if thetas.ndim == 3 else thetas[:, None]
    names = list(est._names)
    levels = [levels_of(est._coding, i) for i in range(len(names))]
    words = f"{len(numbers)} draws of a run of {type(est).__name__} on {len(names)} nodes"
    of_fit = est._settings
    options = {"prior": of_fit.prior, "model": est._family, "candidates": est._graph}
    options |= {"baseline": of_fit.baseline, "biases": of_fit.biases} if isinstance(est, CompareMRF) else {}
    digest = str(est.posterior_.attrs["data_hash"])[:12]
    return Fitted(
        est._model(), thetas, names, levels, are_ordered(est._coding, len(names)), f"{words} (data {digest})"
    ), type(est)(**options)


def for_simulations(estimator: Any) -> Any:
    """Return a copy of an estimator that fits simulated tables as it fits that of its user."""
    return clone(estimator).set_params(**dict.fromkeys(_OF_THE_TABLE))


def described(est: Any, every: bool = True) -> str:
    """Return an estimator and its options in words, which do not depend on addresses of objects.

    Not ``every`` option, but those that matter for a result and are not the default, are as in Python.
    """
    import re

    options = sorted(est.get_params(deep=False).items())
    usual = type(est)().get_params(deep=False)
    changed = ", ".join(f"{k}={v!r}" for k, v in options if k not in _OF_THE_RUN and repr(v) != repr(usual[k]))
    return re.sub(r" at 0x[0-9a-f]+", "", f"{type(est).__name__}({repr(options) if every else changed})")
