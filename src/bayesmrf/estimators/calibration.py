"""Simulation-based calibration of an estimator, for the sizes and priors of a user."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from sklearn.base import clone

from ..answers.study.calibration import Calibration
from ..declare.option import check_params, named
from ..declare.rule import SEED, integer
from ..errors import OptionError
from ..results.blocks import stacked, variable
from ..results.convergence import verdict
from ..rng import as_seed_sequence
from ..runs.replicates import replicates as run_replicates
from ..types import Seed, Workers
from .bayesian import BayesianMRF
from .compare import CompareMRF
from .grouped import GroupedMRF
from .loaded import load
from .panel import PanelMRF
from .planning import LEVELS, REPLICATES, described, fitted_to_one, for_simulations
from .prior_truths import FromPrior
from .spike_slab import SpikeSlabMRF

_TAKEN = (SpikeSlabMRF, CompareMRF, BayesianMRF, GroupedMRF, PanelMRF)
_NEEDED: dict[str, tuple[Any, ...]] = {  # options that say which edges there are, or what is equal
    "candidates": ("complete", None),
    "graph": ("complete",),
    "neutral": (None,),
    "ties": (None,),
    "biases": ("free",),
}


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
        truth, est = fitted_to_one(lambda: self.source.truth(rng), self.estimator, self.n, rng)
        draws = stacked(variable(est.posterior_, "theta").values).reshape(-1, *truth.thetas.shape)
        names, several = est.feature_names_, len(truth.thetas) > 1
        pit = {}
        for g, theta in enumerate(truth.thetas):
            for j, name in enumerate(names):
                label = f"theta[{name}]" + (f" of group {g}" if several else "")
                pit[label] = position(draws[:, g, j], theta[j], rng)
        for name, values in truth.others.items():
            drawn = stacked(variable(est.posterior_, name).values)
            for at, value in np.ndenumerate(values):
                label = f"{name}[{', '.join(truth.names[i] for i in at)}]" if at else name
                pit[label] = position(drawn[:, *at], value, rng)
        inclusions: dict[str, Any] = {"inclusion": [], "exists": []}
        if "included" in est.posterior_["posterior"].dataset:
            included = stacked(variable(est.posterior_, "included").values)
            n_there = included.sum(axis=1)
            pit["number of differences" if several else "number of edges"] = position(n_there, truth.exists.sum(), rng)
            inclusions = {"inclusion": included.mean(axis=0).tolist(), "exists": truth.exists.astype(int).tolist()}
        return {"pit": pit} | inclusions | {"verdict": verdict(est.posterior_).grade}


def position(draws: np.ndarray, truth: float, rng: np.random.Generator) -> float:
    """Return the share of draws below the truth, in (0, 1); ties are broken at random."""
    below, equal = int((draws < truth).sum()), int((draws == truth).sum())
    return float((below + rng.random() * (equal + 1)) / (len(draws) + 1))


@named
def calibrate(
    estimator: Any,
    n: int,
    *,
    nodes: int = 5,
    levels: int = 2,
    groups: int = 2,
    waves: int = 4,
    replicates: int = 200,
    prior: Any = None,
    folder: str | PathLike[str] | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    executor: Workers = None,
    progress: bool = True,
) -> Calibration:
    """Simulate whether the posteriors of an estimator are calibrated: truths from its prior, tables, fits, positions.

    A table that cannot be fitted, such as one with a column that is constant in every group, is drawn again with its
    truth: positions stay uniform, as they are given any table.

    Parameters
    ----------
    estimator : SpikeSlabMRF, CompareMRF, BayesianMRF, GroupedMRF or PanelMRF; or the path of a stored run of one
        Its options are those of the fits; candidates and graph must be complete, and biases free. Edges of groups must
        share a number: a table is refused.
    n : int
        Rows of a table, of all groups together; people of a panel.
    nodes, levels : int
        Number of columns, and of levels of each: 2 is yes/no, more are ordered.
    groups : int
        Groups of people of `CompareMRF`.
    waves : int
        Waves of each person of `PanelMRF`. The first one is drawn uniformly, the others from the truth.
    replicates : int
        Number of tables.
    prior : object of `bayesmrf.priors`, optional
        Prior of the truths, if another one than that of the estimator: how much do intervals suffer from a wrong prior?
    folder : path, optional
        Where replicates are kept. A study that was stopped goes on there, also with more of them.
    random_state : int
        Seed.
    n_jobs : int, optional
        Processes, by default one for each core; -1 is one for each core, -2 leaves one core free.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Workers instead of ``n_jobs``.
    progress : bool

    Returns
    -------
    answers.study.calibration.Calibration
        ``frame`` and ``table`` have the p-value of each quantity and the coverage of intervals, ``inclusion`` the share
        of edges that exist by their inclusion, and ``sentence`` the verdict; `plots.plot_calibration` draws positions.

    Raises
    ------
    OptionError, StoreError
        If an option is not valid, or the folder contains another study.
    """
    if isinstance(estimator, str | PathLike):
        estimator = load(estimator)
    if type(estimator) not in _TAKEN:
        expected = f"a {', '.join(kind.__name__ for kind in _TAKEN[:-1])} or {_TAKEN[-1].__name__}"
        raise OptionError(option="estimator", got=estimator, expected=expected)
    estimator = for_simulations(estimator)
    options = estimator.get_params(deep=False)
    if not isinstance(estimator.model, str):
        options |= {name: value for name, value in vars(estimator.model).items() if name in _NEEDED}
    for name, value in options.items():
        legal = _NEEDED.get(name, (value,))
        if not any(value is one or (isinstance(value, str) and value == one) for one in legal):
            expected, remedy = f"{legal[0]!r} in a calibration", "calibrate with the other options alone"
            raise OptionError(option=name, got=value, expected=expected, remedy=remedy)
    integer(2, 10**7).check("n", n)
    integer(2, 100).check("nodes", nodes)
    LEVELS.check("levels", levels)
    integer(2, 100).check("groups", groups)
    integer(2, 1000).check("waves", waves)
    REPLICATES.check("replicates", replicates)
    SEED.check("random_state", random_state)
    truths = estimator if prior is None else clone(estimator).set_params(prior=prior)
    check_params(truths)
    entropy = as_seed_sequence(random_state).entropy
    source = FromPrior(truths, int(nodes), int(levels), int(groups), int(waves))
    source.truth(np.random.default_rng(0))  # refuses what has no draws of its prior
    setting = f"{n:,} {source.words}, truths from the prior of {described(truths, every=False)}"
    settings = {"study": "calibrate", "setting": setting, "estimator": described(estimator)}
    settings |= {"truths": described(truths), "seed": str(entropy)}
    items = {f"r{r}": r for r in range(replicates)}
    how: dict[str, Any] = {"folder": folder, "n_jobs": n_jobs, "executor": executor, "progress": progress}
    results = run_replicates(Replicate(source, estimator, int(n), entropy), items, settings, "tables", **how)
    return Calibration(results, setting)
