"""Stored runs as estimators: `load`."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ..declare.option import named
from ..errors import StoreError
from ..results.stored import read_kept
from ..runs.sealed import as_written
from .bayesian import BayesianMRF
from .compare import CompareMRF
from .grouped import GroupedMRF
from .panel import PanelMRF
from .pipeline import Sampled
from .restored import restored
from .spike_slab import SpikeSlabMRF

_KINDS: dict[str, type[Sampled]] = {
    k.__name__: k for k in (GroupedMRF, BayesianMRF, SpikeSlabMRF, CompareMRF, PanelMRF)
}


@named
def load(path: str | PathLike[str]) -> Any:
    """Return the fitted estimator of a stored run, which tabulates, predicts and scores as the one that was saved.

    ``posterior_`` is the tree of its draws, which `bayesmrf.results.load` alone returns. A run stores no answers:
    continuing it takes the data again. Objects of users, such as a `methods.Custom`, are not stored either: what needs
    them says so.

    Parameters
    ----------
    path : path
        The folder of a run.

    Returns
    -------
    GroupedMRF, BayesianMRF, SpikeSlabMRF, CompareMRF or PanelMRF

    Raises
    ------
    StoreError
        If there are no results, if the run is not finished (the message states its progress), or if something is
        damaged.
    """
    tree, kept = read_kept(path)
    if kept.kind not in _KINDS:
        raise StoreError(f"{path} contains a run of {kept.kind}; use the method load of this class")
    with as_written(Path(path)):
        return restored(_KINDS[kept.kind], tree, kept)
