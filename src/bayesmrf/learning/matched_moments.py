"""A check of estimates by persistent chains: are the moments of the model those of the data?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ConvergenceWarning, argument
from ..findings import NOTE, tell
from ..models.linear_map import LinearMap
from ..names import shown
from ..samplers.tempered import Tempered

_BATCHES, _EACH = 64, 8  # of states of the model
_FAR = 6.0  # standard errors


def warn_unless_matched(
    model: Any,
    theta: np.ndarray,
    s_bar: np.ndarray,
    n_samples: float,
    curve: LinearMap | None,
    rng: np.random.Generator,
    attribute: str = "theta_",
    estimate: str = "maximum likelihood estimate",
) -> bool:
    """Warn if means of statistics (of sums over tied ones) under the model are far from those of the data.

    Persistent chains follow theta, but not from mode to mode: they may match the data while the model does not. States
    of the model are therefore drawn by parallel tempering. The standard error is that of data and states.

    Parameters
    ----------
    model, theta, s_bar, n_samples, curve
        Of the estimate, as in `bayesmrf.learning.maximum_likelihood`.
    rng : Generator
    attribute : str
        Where the estimate is kept, for the message.
    estimate : str
        What it is; for a posterior mode ``s_bar`` is less what the prior holds back.

    Returns
    -------
    bool
        Whether they are as in the data.
    """
    states, _ = Tempered().draw(model, theta, _BATCHES * _EACH, rng)
    means = np.array([model.statistics(part) for part in np.split(states, _BATCHES)])
    target, size, names = s_bar, model.feature_high - model.feature_low, list(model.feature_names)
    if curve is not None:
        zero = np.zeros(curve.n_features)
        means = np.array([curve.pull_back(zero, row) for row in means])
        target, size, names = curve.pull_back(zero, s_bar), curve.pull_back(zero, size), list(curve.feature_names)
    n, mean = len(states), means.mean(axis=0)
    # Of one observation; at least that of a statistic that is different in one of the states.
    variance = np.maximum(_EACH * means.var(axis=0, ddof=1), size**2 / n)
    z = np.abs(mean - target) / np.sqrt(variance * (1 / n + 1 / n_samples))
    worst, far = int(z.argmax()), int((z > _FAR).sum())
    if far:
        tell(
            f"{attribute} is not the {estimate}, as persistent contrastive divergence has not "
            f"converged: the means of {far} of {len(z)} statistics differ between data and model by more than "
            f"{_FAR:.0f} standard errors, most that of {shown(names[worst])} "
            f"({target[worst]:.3g} in the data, {mean[worst]:.3g} in the model); give a sparser {argument('graph')}, "
            "for which the estimate is exact",
            ConvergenceWarning,
            NOTE,
        )
    return not far
