"""Simulation-based calibration of an estimator, for the sizes and priors of a user."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import graphs
from ..declare.rule import COUNT, SEED, integer
from ..errors import OptionError
from ..families import AUTO
from ..models.bases import edge_starts
from ..priors import ProperPrior, SpikeSlab
from ..results.blocks import stacked, variable
from ..results.calibration import Calibration
from ..results.convergence import verdict
from ..rng import as_seed_sequence
from ..runs.replicates import replicates as run_replicates
from .bayesian import BayesianMRF
from .compare import CompareMRF
from .planning import LEVELS, Truth, described, exist_or_differ, family_of
from .prior_draws import draw_edges, draw_groups, prior_of
from .spike_slab import SpikeSlabMRF

_GROUPS = 2  # of people, of CompareMRF


@dataclass(frozen=True, eq=False)
class FromPrior:
    """Truths from the prior of an estimator."""

    estimator: Any
    nodes: int
    levels: int

    def truth(self, rng: np.random.Generator) -> Truth:
        """Draw the parameters of each group of people."""
        est, graph = self.estimator, graphs.complete(self.nodes)
        sizes = (self.levels,) * self.nodes
        # As fit names it: "auto" is chosen by the levels.
        family = est._object("model") if est.model != AUTO else family_of(self.levels)
        model = family.on(graph, sizes, True)
        if isinstance(est, BayesianMRF):
            thetas = self._prior(model).sample(1, model.n_features, rng)
        else:
            named = clone(est).set_params(model=family)
            prior, counts = named._object("prior"), np.diff(edge_starts(model))
            n_groups = _GROUPS if isinstance(est, CompareMRF) else 1
            edges = prior_of(prior, graph, np.arange(graph.n_edges))
            if n_groups > 1:
                baseline = prior_of(named._object("baseline"), graph, np.arange(graph.n_edges))
                weights = draw_groups(edges, baseline, n_groups, counts, 1, rng)[0]
            else:
                weights = draw_edges(edges, counts, 1, rng)[0]
            biases = self._biases(prior, (n_groups, model.n_features - weights.shape[1]), rng)
            thetas = np.hstack([weights, biases])
        exists = exist_or_differ(model, thetas)
        names = [f"x{i + 1}" for i in range(self.nodes)]
        return Truth(model, thetas, exists, names, [tuple(range(self.levels))] * self.nodes, [True] * self.nodes)

    def _prior(self, model: Any) -> ProperPrior:
        prior = self.estimator._prior(model, None)
        if not isinstance(prior, ProperPrior):
            raise OptionError(option="prior", got=prior, expected="a prior that can be sampled, such as priors.Normal")
        return prior

    @staticmethod
    def _biases(prior: SpikeSlab, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
        if prior.biases is not None:
            return prior.biases.sample(*shape, rng)
        return prior.bias_scale * rng.standard_normal(shape)


@dataclass(frozen=True, eq=False)
class Replicate:
    """One table from the prior, and where its truth lies in the posterior: the item is its number."""

    source: FromPrior
    estimator: Any
    n: int
    entropy: Any

    def __call__(self, r: int) -> dict[str, Any]:
        """Return positions of the truth, and inclusions."""
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(r,)))
        truth = self.source.truth(rng)
        est = truth.fitted(self.estimator, self.n, rng)
        draws = stacked(variable(est.posterior_, "theta").values).reshape(-1, *truth.thetas.shape)
        names, several = est.feature_names_, len(truth.thetas) > 1
        pit = {}
        for g, theta in enumerate(truth.thetas):
            for j, name in enumerate(names):
                label = f"theta[{name}]" + (f" of group {g}" if several else "")
                pit[label] = position(draws[:, g, j], theta[j], rng)
        found: dict[str, Any] = {"inclusion": [], "exists": []}
        if not isinstance(est, BayesianMRF):
            included = stacked(variable(est.posterior_, "included").values)
            n_there = included.sum(axis=1)
            pit["number of differences" if several else "number of edges"] = position(n_there, truth.exists.sum(), rng)
            found = {"inclusion": included.mean(axis=0).tolist(), "exists": truth.exists.astype(int).tolist()}
        return {"pit": pit} | found | {"verdict": verdict(est.posterior_).grade}


def position(draws: np.ndarray, truth: float, rng: np.random.Generator) -> float:
    """Return the share of draws below the truth, in (0, 1); ties are broken at random."""
    below, equal = int((draws < truth).sum()), int((draws == truth).sum())
    return float((below + rng.random() * (equal + 1)) / (len(draws) + 1))


def calibrate(
    estimator: Any,
    n: int,
    *,
    nodes: int = 5,
    levels: int = 2,
    replicates: int = 200,
    prior: Any = None,
    folder: str | PathLike[str] | None = None,
    random_state: Any = 0,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool = True,
) -> Calibration:
    """Simulate whether the posteriors of an estimator are calibrated: truths from its prior, tables, fits, positions.

    Parameters
    ----------
    estimator : SpikeSlabMRF, CompareMRF or BayesianMRF
        Its options are those of the fits; candidates and graph must be complete, and biases free. `CompareMRF` has two
        groups of people.
    n : int
        Rows of a table, of all groups together.
    nodes, levels : int
        Number of columns, and of levels of each: 2 is yes/no, more are ordered.
    replicates : int
        Number of tables.
    prior : object of `bayesmrf.priors`, optional
        Prior of the truths, if another one than that of the estimator: how much do intervals suffer from a wrong prior?
    folder : path, optional
        Where replicates are kept. A study that was stopped goes on there, also with more of them.
    random_state : int
        Seed.
    n_jobs : int, optional
        Processes, by default one for each core.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Workers instead of ``n_jobs``.
    progress : bool

    Returns
    -------
    results.calibration.Calibration
        ``frame`` and ``table`` have the p-value of each quantity and the coverage of intervals, ``inclusion`` the share
        of edges that exist by their inclusion, and ``sentence`` the verdict; `plots.plot_calibration` draws positions.

    Raises
    ------
    OptionError, StoreError
        If an option is not valid, or the folder contains another study.
    """
    if type(estimator) not in (SpikeSlabMRF, CompareMRF, BayesianMRF):
        expected = "a SpikeSlabMRF, CompareMRF or BayesianMRF"
        raise OptionError(option="estimator", got=estimator, expected=expected)
    asked = {"candidates": "complete", "graph": "complete", "ties": None, "biases": "free"}
    for name, value in estimator.get_params(deep=False).items():
        if name in asked and not (isinstance(value, type(asked[name])) and value == asked[name]):
            raise OptionError(option=name, got=value, expected=f"{asked[name]!r} in a calibration")
    integer(2, 10**7).check("n", n)
    integer(2, 100).check("nodes", nodes)
    LEVELS.check("levels", levels)
    COUNT.check("replicates", replicates)
    SEED.check("random_state", random_state)
    truths = estimator if prior is None else clone(estimator).set_params(prior=prior)
    entropy, source = as_seed_sequence(random_state).entropy, FromPrior(truths, int(nodes), int(levels))
    source.truth(np.random.default_rng(0))  # refuses what has no draws of its prior
    setting = f"{n:,} rows of {nodes} nodes with {levels} levels, truths from the prior of {described(truths)}"
    settings = {"study": "calibrate", "setting": setting, "estimator": described(estimator), "seed": str(entropy)}
    found = run_replicates(
        Replicate(source, estimator, int(n), entropy),
        {f"r{r}": r for r in range(replicates)},
        settings,
        "tables",
        folder=folder,
        n_jobs=n_jobs,
        executor=executor,
        progress=progress,
    )
    return Calibration(found, setting)
