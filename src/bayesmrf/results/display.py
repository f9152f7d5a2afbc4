"""What is shown of the parameters of a run, whose model may not be at hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graphs import Graph
from ..models.display import ParameterDisplay, PlainDisplay
from ..models.nominal import Nominal
from ..models.panel import Panel, named_kinds

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


def restored(
    name: str, attributes: Mapping[Any, Any], nodes: Sequence[str], edges: np.ndarray, features: Any, n_parameters: int
) -> ParameterDisplay:
    """Restore what is shown from the stored attributes of a model, `ParameterDisplay.as_attributes`.

    Parameters
    ----------
    name : str
        Of the model.
    attributes : mapping
    nodes : sequence of str
        Names.
    edges : (n_edges, 2) int array
    features : sequence of str
        Names of the entries of theta.
    n_parameters : int
        Number of parameters of an edge, if all have the same.
    """
    if "levels" not in attributes:
        kinds = named_kinds(len(nodes), len(edges)) if name == Panel.name else None
        return PlainDisplay(np.arange(len(edges) + 1) * n_parameters, features, kinds)
    levels = tuple(map(tuple, json.loads(attributes["levels"])))
    sizes, graph = tuple(map(len, levels)), Graph(len(nodes), edges, tuple(nodes))
    model = Nominal(graph, max(sizes), True, sizes, json.loads(attributes["ordered"]), state_names=levels)
    return model if len(features) > model.edge_starts[-1] else replace(model, fields=False)
