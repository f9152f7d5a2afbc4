"""A check of kept draws for modes that the particles of a run never visit; see `bayesmrf.inference.unseen_modes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import results
from ..data.states import ColumnLevels, States, levels_of
from ..inference.unseen_modes import CountTails, ModelTails, ModeSearch, Unseen, count_tails, unseen
from ..results.blocks import variable
from ..rng import OTHER, descendant

_CHECKED = 20  # draws, at most
_SHARE = 0.05  # of the sweeps of a run that its check may take


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


def spread_draws(n_chains: int, n_draws: int, n: int) -> list[tuple[int, int]]:
    """Return the chain and number of about ``n`` draws, evenly spread, the last of each chain first among them."""
    each = max(1, min(n // n_chains, n_draws))
    draws = ((np.arange(each) + 1) * n_draws) // each - 1
    return [(c, int(t)) for c in range(min(n, n_chains)) for t in draws]
