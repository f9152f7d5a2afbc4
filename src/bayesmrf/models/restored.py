"""What is shown of the parameters of a stored run, whose model is not at hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graphs import Graph
from .display import ParameterDisplay, PlainDisplay
from .nominal import Nominal
from .panel import Panel, named_kinds


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
