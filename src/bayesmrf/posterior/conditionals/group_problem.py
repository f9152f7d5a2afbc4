"""The constants of scans and jumps over groups of people, or over one, for any number of parameters of an edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.bases import edge_starts, has_lines
from ...priors import SpikeSlab
from .centred import CentredLines, centred_lines
from .group_lines import GroupProblem, stacked_lines
from .pair_tables import independent_tables, regression_pull
from .spike import EdgePrior, edge_prior, plain_prior, prior_scales


def lines_of(model: Any, s_bar: np.ndarray, n: float, tilt: float) -> CentredLines:
    """Return `centred_lines` of a model whose edges have one parameter, or several."""
    pull = None if has_lines(model) else regression_pull(model, independent_tables(model, s_bar, n))
    return centred_lines(model, s_bar, n, tilt, pull)


def one_group_problem(model: Any, lines: CentredLines, prior: SpikeSlab, rivals: np.ndarray) -> GroupProblem:
    """Return the constants for one group: its edges are baselines that may be absent, without differences."""
    none, plain = np.zeros((1, 0)), plain_prior()
    priors = prior.slab, plain, prior.slab, edge_prior(prior, model.graph), "free", rivals
    return group_problem(model, stacked_lines([lines]), none, none[0], *priors)


def group_problem(
    model: Any,
    lines: CentredLines,
    contrast: np.ndarray,
    drift: np.ndarray,
    slab: Any,
    prior: EdgePrior,
    baseline_slab: Any,
    baseline: EdgePrior,
    biases: str,
    rivals: np.ndarray,
) -> GroupProblem:
    """Return the constants for the ``lines`` of all groups, stacked.

    Parameters
    ----------
    model : NodeFeatures
    lines : CentredLines
    contrast : (G, q) array
    drift : (q,) array
        Mean of the contrasts over all observations.
    slab, prior
        Of the differences.
    baseline_slab, baseline
        Of the baselines.
    biases : {"free", "slab", "spike-slab"}
        Whether parameters of nodes have baselines and differences, and whether these may be absent.
    rivals : (n_pairs, 2) array
    """
    starts, n_features = edge_starts(model), model.n_features
    of_nodes = np.arange(starts[-1] + 1, n_features + 1 if biases != "free" else 0)
    places = np.concatenate([starts, of_nodes])
    q, sizes = contrast.shape[1], np.diff(places)
    tops = np.array([
        [baseline_slab.log_constant(k) for k in sizes.tolist()],
        [slab.log_constant(q * k) if q else 0.0 for k in sizes.tolist()],
    ]).reshape(2, -1)  # fmt: skip
    n_absent = (len(sizes) if biases == "spike-slab" else model.n_edges) if q else 0
    return GroupProblem(
        lines, np.insert(contrast, 0, 1.0, axis=1), np.insert(drift, 0, 0.0), prior, baseline,
        prior_scales(baseline, int(starts[-1]), n_features), model.n_edges, places, tops,
        n_spiked=int(places[-1]), n_absent=n_absent, rivals=rivals,
    )  # fmt: skip
