"""What comes before the first draw of a posterior of a network, and what its data give rise to after the last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import results
from ..data.dependent_rows import warn_of_dependent_rows
from ..data.row_weights import is_weighted, n_rows, warn_of_forgotten_counts, warn_of_survey, warn_of_weights
from ..data.states import ColumnLevels, States, levels_of
from ..declare.option import check_params
from ..inference.unseen_modes import CountTails, ModelTails, ModeSearch, Unseen, count_tails, unseen
from ..progress import announced
from ..results.blocks import spread_draws, variable
from ..results.edge_evidence import FIELD
from ..results.surveyed import SURVEYED
from ..rng import OTHER, descendant
from .base import hash_of_samples, missing_table, require_edges
from .edge_prior import named_pairs
from .network import choose_model, is_auto
from .pipeline import Setup
from .predictive_checks import checks_of_fit
from .rarely_observed import Silent, warn_of_rare_levels

_CHECKED = 20  # draws, at most
_SHARE = 0.05  # of the sweeps of a run that its check may take


def prepare(estimator: Any, X: Any, sample_weight: Any, groups: Any, survey_weight: Any) -> Setup:
    """Return all that comes before the first draw of an estimator, or refuse options or data."""
    check_params(estimator)
    with announced("understanding the columns of the table", estimator.progress):
        table = choose_model(estimator, X, sample_weight)
    request = estimator._request()
    with announced("reading and checking the table", estimator.progress):
        states = estimator._read(table, sample_weight, True, estimator.progress, survey_weight)
    if estimator._traits.needs_edges:
        require_edges(estimator._graph, estimator._edges_option)
    parts = estimator._parts(states, X, groups)
    silent = Silent.of(parts, estimator._graph, estimator._labels)
    estimator._graph, not_identified = silent.settle(estimator._graph, _asked(estimator), estimator._traits.silent)
    estimator.edges_ = estimator._graph.edges
    with announced("choosing how and where the chains start", estimator.progress):
        setup = estimator._target(parts, request)
    model, samples = setup.likelihood.model, setup.likelihood.samples
    name_choices(estimator, model.name, setup.method)
    attrs: dict[str, Any] = {"data_hash": hash_of_samples(estimator._graph, samples), "model": model.name}
    attrs |= {"chosen_model": is_auto(estimator._settings.model), "method": setup.method}
    attrs |= {SURVEYED: n_rows(parts)} if is_weighted(parts) else {}
    sizes, sums = [sample.n_samples for sample in samples], [sample.s_bar for sample in samples]
    statistics = sums if len(samples) > 1 else sums[0]
    return setup._replace(
        attrs=setup.attrs | attrs,
        observed={"statistics": statistics, "n_samples": sum(sizes), "group_sizes": sizes},
        constant={**setup.constant, **({FIELD: not_identified} if not_identified.any() else {})},
        impute=impute,
        judge_data=judge_data,
        check=checks_of_fit,
    )


def _asked(estimator: Any) -> np.ndarray:
    """Return which edges a user names, or must exist, (n_edges,)."""
    option, graph = estimator._edges_option, estimator._graph
    named = [named_pairs(estimator._object(name), graph) for name in estimator._traits.priors]
    every = option == "graph" or not isinstance(getattr(estimator._settings, option), str)
    return np.full(graph.n_edges, every) | np.any(named, axis=0)


def name_choices(estimator: Any, model: str, method: str) -> None:
    """Set the names of the model and of the method (or kernel)."""
    estimator.model_ = model
    setattr(estimator, f"{estimator._traits.method}_", method)


def impute(estimator: Any, setup: Setup) -> None:
    """Compute and store the probabilities of missing values."""
    tree = estimator.posterior_
    theta = variable(tree, "phi" if "phi" in tree["posterior"] else "theta")
    estimator.missing_ = missing_table(setup.likelihood, theta, setup.parts, setup.seeds)
    if len(estimator.missing_):
        results.add_missing(tree, estimator.missing_)


def judge_data(estimator: Any, setup: Setup) -> None:
    """Warn of modes that chains never visit, and of what is wrong with the data."""
    parts = setup.parts
    check_modes(estimator, parts, setup.seeds, setup.sweeps)
    warn_of_rare_levels(parts, estimator._graph)
    if not warn_of_forgotten_counts(parts):
        warn_of_dependent_rows(parts)
    warn_of_weights(parts)
    warn_of_survey(parts, estimator._labels)


def check_modes(estimator: Any, samples: Sequence[States], seeds: np.random.SeedSequence, sweeps: float) -> None:
    """Search kept draws for unseen modes, and add the result to ``posterior_``.

    The draws are evenly spread over all chains, the last of each among them. Their number depends on that of the sweeps
    only, never on the time that they take; a run that is too short for one is not checked. If there are several groups
    of people, each is searched, and the result is that of the group whose model exceeds its data most.

    Parameters
    ----------
    estimator : GroupedMRF, BayesianMRF, SpikeSlabMRF or CompareMRF
        With its draws summarised.
    samples : sequence of States
        The data of each group; theta has a dimension of groups if they are several.
    seeds : numpy.random.SeedSequence
        Of the run, whose own random numbers do not change.
    sweeps : float
        Gibbs sweeps of single particles that a step of one chain is worth; 0 where moments are exact.
    """
    tree = estimator.posterior_
    theta = variable(tree, "theta")
    n_chains, n_draws = theta.shape[:2]
    steps = n_chains * (tree.attrs["n_warmup"] + n_draws * tree.attrs["thin"])
    search, data = ModeSearch(), [count_tails(states) for states in samples]
    n = min(_CHECKED, int(_SHARE * steps * sweeps / sum(search.work(tails) for tails in data)))
    if n < 1:
        return
    rng = descendant(seeds, OTHER)
    which = spread_draws(n_chains, n_draws, n)
    checked = np.array([theta[draw].values for draw in which]).reshape(len(which), len(samples), -1)
    searched = [
        _search(estimator, checked[:, g], states, tails, search, rng)
        for g, (states, tails) in enumerate(zip(samples, data, strict=True))
    ]
    g = max(range(len(samples)), key=lambda g: searched[g][-1].ratio)
    group = str(estimator.groups_[g]) if len(samples) > 1 else ""
    each, model_tails, worst = searched[g]
    coding = samples[g].coding
    has_column_levels = isinstance(coding, ColumnLevels)  # a category has another level in each column
    level = f"category {worst.state}" if has_column_levels else str(levels_of(coding, 0)[worst.state])
    results.add_mode_check(tree, which, each, model_tails, worst, level, group)


def _search(
    estimator: Any, thetas: np.ndarray, states: States, data: CountTails, search: ModeSearch, rng: np.random.Generator
) -> tuple[list[Unseen], list[ModelTails], Unseen]:
    """Find the tail of each theta that exceeds the data's most, what chains show there, and the worst tail."""
    present = estimator._mixture.present
    fields = [present(theta) for theta in thetas]
    model_tails = [search.tails(model, at, states, data, rng) for model, at in fields]
    each = [unseen(one.mean, one.error, data, search.n_followed) for one in model_tails]
    worst = max(each)
    if worst.ratio <= 1:
        mean = np.mean([one.mean for one in model_tails], axis=0)
        error = np.sqrt(np.mean([one.error**2 for one in model_tails], axis=0) / len(model_tails))
        worst = unseen(mean, error, data, search.n_followed)
    return each, model_tails, worst
