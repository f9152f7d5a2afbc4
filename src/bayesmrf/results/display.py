"""What is shown of the parameters of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..models.display import ParameterDisplay
from ..models.restored import restored

if TYPE_CHECKING:
    import xarray as xr


def display_in(tree: xr.DataTree) -> ParameterDisplay:
    """Return what is shown of the parameters of a run, as its model says."""
    constant, posterior = tree["constant_data"].dataset, tree["posterior"].dataset
    edges, n_parameters = np.asarray(constant["edges"]), constant.sizes.get("edge_parameter", 1)
    if "phi" not in posterior and len(edges):
        n_parameters = max(n_parameters, int(tree.attrs.get("n_edge_parameters", 0)) // len(edges))
    names = constant["node"].values if "node" in constant.variables else range(int(edges.max(initial=-1)) + 1)
    nodes = [str(name) for name in names]
    return restored(
        str(tree.attrs.get("model")), constant.attrs, nodes, edges, posterior["feature"].values, n_parameters
    )
