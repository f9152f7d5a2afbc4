"""Log likelihoods of single transitions of a panel under every draw, and how well items are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.transitions import Transitions
from ..errors import OptionError
from ..results.blocks import at_draws, variable
from ..results.observations import LOG_LIKELIHOODS, MOST, Observed, add_observations, check_size, spaced_draws

_STATES = 2**31  # of rows under draws, where items of a wave have edges


def add_transitions(estimator: Any, values: np.ndarray, steps: Transitions, n_draws: int | None) -> None:
    """Add the log density of each transition under each draw to the tree of an estimator, and its predictions."""
    if estimator._settings.intercepts == "own":
        raise OptionError(
            option="intercepts",
            got="own",
            expected="'common', as waves of one person are not independent given the parameters",
            remedy="compare models by score on other people",
        )
    theta, model = variable(estimator.posterior_, "theta"), estimator._panel()
    n_chains, n_own = theta.shape[:2]
    kept, numbers = spaced_draws(n_chains, n_own, n_draws)
    before, after, d = values[steps.before].astype(float), values[steps.after].astype(int), model.n_nodes
    pairs, place = np.unique(np.hstack([before, after]), axis=0, return_inverse=True)
    check_size(len(numbers) * len(before), MOST, LOG_LIKELIHOODS, n_draws)
    if model.within:
        if not estimator._is_summed(pairs):
            expected = (
                f"False where {len(pairs):,} transitions times {model.n_states:,.0f} states of a row are too many"
            )
            raise OptionError(option="within", got=True, expected=expected, remedy="compare models by score")
        check_size(len(numbers) * len(pairs) * model.n_states, _STATES, "states of rows", n_draws)
    log_p, p = np.empty((len(numbers), len(pairs))), 0.0
    for k, draw in enumerate(at_draws(theta, numbers)):
        log_p[k] = estimator._log_density(draw, pairs[:, :d], pairs[:, d:].astype(int), 0.0)
        p = p + estimator._probabilities(draw, pairs[:, :d], 0.0)
    likely = np.asarray(p).argmax(axis=2)[place.ravel()]
    correct = (likely == after).mean(axis=0)
    base = np.array([np.bincount(x).max() / len(x) for x in after.T])
    zero = np.zeros((n_chains, len(kept)))  # Z of each row is exact, and is part of its log density
    each = log_p[:, place.ravel()].reshape(n_chains, len(kept), -1)
    ones = np.ones(len(before), int)
    observations = Observed(
        kept, each, np.arange(len(before)), ones, zero, zero, [], [len(before)], correct, base, "transitions"
    )
    add_observations(estimator.posterior_, observations)
