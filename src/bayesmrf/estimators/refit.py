"""Runs of a fit under another prior of its edges."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from ..declare.rule import PATH, optional
from ..errors import BayesMRFWarning
from .estimator import STEERING

if TYPE_CHECKING:
    import xarray as xr

_CHECKPOINT = optional(PATH)


def refit(estimator: Any, X: Any, more: Mapping[str, Any], checkpoint: Any) -> Callable[[Any, str, int], xr.DataTree]:
    """Return what fits the estimator to X again, under another prior of its edges, with as many draws.

    Parameters
    ----------
    estimator : fitted estimator
    X : array or DataFrame
    more : mapping
        Further arguments of ``fit``.
    checkpoint : path or None
        Folder in which runs are stored, by name.
    """
    _CHECKPOINT.check("checkpoint", checkpoint)

    def run(prior: Any, name: str, seed: int) -> xr.DataTree:
        of_fit = estimator._settings.get_params(deep=False)
        other = clone(estimator).set_params(**{name: v for name, v in of_fit.items() if name not in STEERING})
        other.set_params(
            **estimator._result.priors.under(prior),
            random_state=seed,
            n_draws=estimator.posterior_["posterior"].sizes["draw"],
            checkpoint=None if checkpoint is None else Path(checkpoint) / name,
        )
        with warnings.catch_warnings():  # those about the run are not those of the fit
            warnings.simplefilter("ignore", BayesMRFWarning)
            other.fit(X, **more)
        tree: xr.DataTree = other.posterior_
        return tree

    return run
