"""What comes before the first draw of a posterior of a network, and what its data give rise to after the last."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import results
from ..data.dependent_rows import warn_of_dependent_rows
from ..data.row_weights import is_weighted, n_rows, warn_of_forgotten_counts, warn_of_survey, warn_of_weights
from ..declare.option import check_params
from ..progress import announced
from ..results.blocks import variable
from ..results.identified import FIELD
from ..results.surveyed import SURVEYED
from .base import hash_of_samples, missing_table, require_edges
from .edge_prior import named_pairs
from .mode_check import check_modes
from .network import choose_model, is_auto
from .pipeline import Setup
from .predictive_checks import checks_of_fit
from .rarely_observed import Silent, warn_of_rare_levels


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
