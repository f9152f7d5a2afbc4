"""Shared parameters of edges or nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import OptionError
from ..models.bases import edge_of, edge_starts, has_contrasts, has_scored_nodes, with_levels
from ..models.linear_map import LinearMap

_EXPECTED = "None, 'all', 'edges', one label for each edge, or labels by the names of edges and nodes"


def read_ties(ties: Any, model: Any) -> LinearMap | None:
    """Return the map from the sampled parameters to those of the model; None if nothing is tied.

    Edges with the same label share their parameters, and so do nodes; edges come first. The parameters of label k are
    named ``edges k`` or ``nodes k``; free parameters keep their names.

    Raises
    ------
    OptionError
        If there is not a label for each edge, a name is not known, or two parameters would have the same name.
    """
    if ties is None:
        return None
    graph = model.graph
    if isinstance(ties, str):
        if ties not in ("all", "edges"):
            raise OptionError(option="ties", got=ties, expected=_EXPECTED)
        edges: list[Any] = [""] * graph.n_edges
        nodes: list[Any] = ["" if ties == "all" else None] * graph.n_nodes
    elif isinstance(ties, Mapping) or hasattr(ties, "items"):
        edges, nodes = _by_name(dict(ties.items()), graph)
    else:
        edges, nodes = _in_order(ties, graph.n_edges), [None] * graph.n_nodes
    of_nodes = has_contrasts(model)
    is_contrast = [*of_nodes[graph.edges].any(axis=1), *of_nodes]
    if any(k is not None and is_own for k, is_own in zip([*edges, *nodes], is_contrast, strict=True)):
        raise OptionError(
            option="ties", got=ties, expected="None, or labels of ordered and yes/no columns and of their edges",
            remedy="categories without order have no counterparts in another column",
        )  # fmt: skip
    if not of_nodes.any() and has_scored_nodes(model) and any(k is not None for k in nodes):
        raise OptionError(option="ties", got=ties, expected="None, 'edges' or labels of edges with neutral categories")
    names, label = list(model.feature_names), np.empty(model.n_features, dtype=np.int64)
    # States of nodes that are tied are the same by their numbers: the levels may have other names at each node.
    numbered = with_levels(model, None).feature_names
    phi: dict[str, tuple[int, Any]] = {}
    starts = edge_starts(model)
    of_node = np.repeat(np.arange(graph.n_nodes), np.diff(model.node_starts))
    parts = ((edges, 0, edge_of(model), "edges"), (nodes, int(starts[-1]), of_node, "nodes"))
    for labels, start, item, kind in parts:
        several = len(item) > len(labels)  # of each edge, or of some nodes
        for i in range(start, start + len(item)):
            k = labels[item[i - start]]
            _, mark, which = numbered[i].rpartition("=")  # of several parameters of an edge or node
            name = names[i] if k is None else f"{kind} {k}".strip() + (mark + which if several and mark else "")
            key = (kind, i) if k is None else (kind, k)
            label[i], other = phi.setdefault(name, (len(phi), key))
            if other != key:
                expected = f"labels that give each parameter a name of its own ({name!r} would be the name of two)"
                raise OptionError(option="ties", got=ties, expected=expected, remedy="use another label or column name")
    return LinearMap.tied(label, tuple(phi))


def n_edge_parameters(model: Any, curve: LinearMap | None) -> int:
    """Return the number of sampled parameters of edges, which come first."""
    n = int(edge_starts(model)[-1])
    return n if curve is None else int(curve.columns[:n].max(initial=-1)) + 1


def _in_order(ties: Any, n_edges: int) -> list[Any]:
    try:
        labels = list(ties)
    except TypeError:
        raise OptionError(option="ties", got=ties, expected=_EXPECTED) from None
    if len(labels) != n_edges or any(np.ndim(k) for k in labels):
        raise OptionError(option="ties", got=f"{len(labels)} labels", expected=f"{n_edges} labels, one for each edge")
    return labels


def _by_name(ties: dict[Any, Any], graph: Any) -> tuple[list[Any], list[Any]]:
    """Put in order the labels of edges, named ``u-v`` or (u, v) in either order, and of nodes; None if not named."""
    u_names, v_names = ([graph.names[i] for i in end] for end in graph.edges.T)
    place: dict[Any, int] = {}
    for e, (u, v) in enumerate(zip(u_names, v_names, strict=True)):
        place |= dict.fromkeys([f"{u}-{v}", f"{v}-{u}", (u, v), (v, u)], e)
    node = {name: i for i, name in enumerate(graph.names)}
    edges: list[Any] = [None] * graph.n_edges
    nodes: list[Any] = [None] * graph.n_nodes
    named: set[int] = set()
    for item, label in ties.items():
        key = tuple(map(str, item)) if isinstance(item, tuple) else str(item)
        if key in place:
            if place[key] in named:
                remedy = "an edge has no direction: label it once"
                raise OptionError(option="ties", got=item, expected="one label for each edge", remedy=remedy)
            named.add(place[key])
            edges[place[key]] = label
        elif key in node:
            nodes[node[key]] = label
        else:
            raise OptionError(option="ties", got=item, expected="labels by the names of edges (u-v) and nodes of the "
                              "graph")  # fmt: skip
    return edges, nodes
