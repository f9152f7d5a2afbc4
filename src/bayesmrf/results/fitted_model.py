"""The model of the draws of a run, on the graph of its data or on a part of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..data.states import are_ordered, levels_of
from ..families import AUTO, FAMILIES, chosen_by_data
from ..graphs import Graph
from ..models.bases import with_levels
from .stored import NotKept, kept_in

if TYPE_CHECKING:
    import xarray as xr


def model_on(graph: Graph, family: Any, coding: Any, fields: bool) -> Any:
    """Return the model of a family on a graph whose nodes have the levels of data of some ``coding``."""
    levels = [levels_of(coding, i) for i in range(graph.n_nodes)]
    sizes = tuple(map(len, levels))
    model = family.on(graph, sizes, fields, are_ordered(coding, len(sizes)))
    return with_levels(model, tuple(map(_texts, levels)))


def _texts(levels: Sequence[Any]) -> tuple[str, ...]:
    """Write each level as text, with few digits if these differ."""
    short = tuple(f"{level:g}" if isinstance(level, float) else str(level) for level in levels)
    return short if len(set(short)) == len(short) else tuple(map(str, levels))


def fitted_model(tree: xr.DataTree) -> tuple[Graph, Callable[[Graph], Any]] | None:
    """Return the graph of the draws of a tree, and what makes its model on a graph; None where that is not stored."""
    kept = kept_in(tree)
    if kept is None or isinstance(kept.parameters.get("model"), NotKept):
        return None
    family, fields = kept.parameters["model"], bool(kept.parameters.get("fields", True))
    if family == AUTO:
        name = tree.attrs["model"]
        if FAMILIES.find(name) is None:  # of a store that somebody else wrote
            raise ValueError(name)
        family = chosen_by_data(name)
    family = FAMILIES.read(family)
    return kept.graph, lambda graph: model_on(graph, family, kept.coding, fields)
