"""Log likelihoods of single transitions of a panel under every draw, and how well items are predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.panel import Transitions
from ..errors import OptionError
from ..results.blocks import at_draws, variable
from ..results.observations import Observed, add_observations

_MOST = 2**28  # log likelihoods
_STATES = 2**31  # of rows under draws, where items of a wave have edges


def add_transitions(estimator: Any, values: np.ndarray, found: Transitions, n_draws: int | None) -> None:
    """Add the log density of each transition under each draw to the tree of an estimator, and its predictions."""
    if estimator.intercepts == "own":
        raise OptionError(
            option="intercepts",
            got="own",
            expected="'common', as waves of one person are not independent given the parameters",
            remedy="compare models by score on other people",
        )
    theta, model = variable(estimator.posterior_, "theta"), estimator._panel()
    n_chains, n_own = theta.shape[:2]
    kept = np.unique(np.linspace(0, n_own - 1, min(n_draws or n_own, n_own)).astype(int))
    numbers = (np.arange(n_chains)[:, None] * n_own + kept).ravel()
    before, after, d = values[found.before].astype(float), values[found.after].astype(int), model.n_nodes
    pairs, place = np.unique(np.hstack([before, after]), axis=0, return_inverse=True)
    states = float(np.prod([float(m) for m in model.sizes])) if model.within else 1.0
    for size, most, what in (
        (len(numbers) * len(before), _MOST, "log likelihoods"),
        (len(numbers) * len(pairs) * states, _STATES, "states of rows"),
    ):
        if size > most:
            raise OptionError(
                option="n_draws", got=n_draws, expected=f"smaller: {size:.2g} {what} are more than {most:.2g}"
            )
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
    seen = Observed(kept, each, ones, zero, zero, [], [len(before)], correct, base, "transitions")
    add_observations(estimator.posterior_, seen)
