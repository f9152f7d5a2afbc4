"""Fitted estimators of stored runs."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import StoreError, UnknownArgumentError
from ..results.stored import Kept, read_kept
from ..runs.sealed import as_written

if TYPE_CHECKING:
    import xarray as xr


class Restored:
    """Estimators of answers that a stored run brings back."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the fitted estimator of a stored run, which tabulates, predicts and scores as the one that was saved.

        Parameters
        ----------
        path : path
            The folder of a run.

        Raises
        ------
        StoreError
            If there is no finished run of this class.
        """
        tree, kept = read_kept(path)
        if kept.kind != cls.__name__:
            raise StoreError(f"{path} contains a run of {kept.kind}; use {kept.kind}.load, or bayesmrf.load")
        with as_written(Path(path)):
            return cls._restored(tree, kept)

    @classmethod
    def _restored(cls, tree: xr.DataTree, kept: Kept) -> Self:
        make: Any = cls
        try:
            est = make(**kept.parameters)
        except UnknownArgumentError as e:  # the record is of another program
            raise ValueError(str(e)) from None
        est._keep_settings()
        est._restore_columns({str(name): value for name, value in tree.attrs.items()})
        est._names, est._coding, est.posterior_ = kept.graph.names, kept.coding, tree
        est.n_features_in_ = len(kept.graph.names)
        if kept.is_named:
            est.feature_names_in_ = np.array(kept.graph.names, dtype=object)
        est._follow(tree, kept)
        est._summarise()
        return est

    def _follow(self, tree: xr.DataTree, kept: Kept) -> None:
        """Set the attributes that this class has in addition, and that its summary needs."""
