"""Fitted estimators that a stored run brings back."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import StoreError, UnknownArgumentError
from ..results.stored import Kept, read_kept
from ..runs.sealed import as_written
from .estimator import keep_settings
from .fitted_columns import restore_columns

if TYPE_CHECKING:
    import xarray as xr


def load_as(kind: Any, path: str | PathLike[str]) -> Any:
    """Return the estimator of a class that a stored run brings back.

    Raises
    ------
    StoreError
        If there is no finished run of this class.
    """
    tree, kept = read_kept(path)
    if kept.kind != kind.__name__:
        raise StoreError(f"{path} contains a run of {kept.kind}; use {kept.kind}.load, or bayesmrf.load")
    with as_written(Path(path)):
        return restored(kind, tree, kept)


def restored(kind: Any, tree: xr.DataTree, kept: Kept) -> Any:
    """Return the fitted estimator of a class with the draws of a tree."""
    try:
        est = kind(**kept.parameters)
    except UnknownArgumentError as e:  # the record is of another program
        raise ValueError(str(e)) from None
    keep_settings(est)
    restore_columns(est, {str(name): value for name, value in tree.attrs.items()})
    est._names, est._coding, est.posterior_ = kept.graph.names, kept.coding, tree
    est.n_features_in_ = len(kept.graph.names)
    if kept.is_named:
        est.feature_names_in_ = np.array(kept.graph.names, dtype=object)
    est._follow(tree, kept)
    est._summarise()
    return est
