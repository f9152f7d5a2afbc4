"""Edges, or differences, that are not identified: the rows say nothing of their inclusion and weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

FIELD = "not_identified"  # of ``constant_data``, where there are any: whether the rows say nothing of each edge


def not_identified(tree: xr.DataTree) -> np.ndarray:
    """Return whether the rows say nothing of each edge, or difference: (n_edges,) bool."""
    constant = tree["constant_data"].dataset
    if FIELD not in constant:
        return np.zeros(constant.sizes.get("edge", 0), dtype=bool)
    return np.asarray(constant[FIELD].values, dtype=bool)


def judged_features(tree: xr.DataTree, edge_of: np.ndarray) -> np.ndarray:
    """Return which entries of theta are judged for convergence, (n_features,) bool.

    The weight of an edge that is not identified and the biases of its ends are known together only: a change of one is
    made up for by the others, and draws follow such a ridge of the likelihood slowly, over the width of the prior.

    Parameters
    ----------
    tree : xarray.DataTree
    edge_of : (n_weights,) array
        The edge of each of the first entries.
    """
    silent, labels = not_identified(tree), [str(label) for label in tree["posterior"].dataset["feature"].values]
    judged = np.ones(len(labels), dtype=bool)
    if not silent.any():
        return judged
    constant = tree["constant_data"].dataset
    names = [str(name) for name in constant["node"].values]
    ends = {names[i] for i in np.unique(constant["edges"].values[silent])}
    judged[: len(edge_of)] = ~silent[edge_of]
    for i in range(len(edge_of), len(labels)):
        of = [name for name in names if labels[i] == name or labels[i].startswith((f"{name}=", f"{name}:"))]
        judged[i] = max(of, key=len, default="") not in ends
    return judged
