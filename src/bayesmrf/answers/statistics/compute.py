"""Statistics of the network of each draw, and intervals of parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import metrics
from ...base import EVERY_FAMILY
from ...declare.rule import NONE, Rule, choice, either, integer
from ...errors import OptionError, instead_of_exact
from ...graphs import Graph
from ...inference.elimination.engine import Elimination
from ...models.categorical import is_categorical
from ...models.display import display_of
from ...models.ising import Ising
from ...results.blocks import Columns, in_turn
from ...results.intervals import central, intervals
from ...results.statistics import NetworkStatistics, require_weights
from ..networks import with_attributes
from ..result import Result

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import xarray as xr


_OF = choice("theta", "graph")
_FUNCTION = Rule("the name of a statistic, or a function", lambda v: isinstance(v, str) or callable(v))
_BETWEEN, _N_DRAWS = either(NONE, choice("nodes", "groups")), either(NONE, integer(1, 10**9))


def interval(tree: xr.DataTree, probability: float) -> pd.DataFrame:
    """Compute the central interval of each parameter that is sampled; see `bayesmrf.SpikeSlabMRF.interval`."""
    import pandas as pd

    posterior = tree["posterior"].dataset
    theta = posterior["phi" if "phi" in posterior else "theta"]
    tails = central(probability)

    def of_block(draws: np.ndarray) -> np.ndarray:
        flat = draws.reshape(draws.shape[0] * draws.shape[1], -1)
        return np.array([flat.mean(axis=0), *intervals(flat, tails)]).reshape(3, *draws.shape[2:])

    mean, lower, upper = Columns(theta.variable).map(of_block).reshape(3, -1)
    *groups, along = (theta[d].values.tolist() for d in theta.dims[2:])
    index = (
        pd.MultiIndex.from_product([*groups, along], names=["group", "feature"])
        if groups
        else pd.Index(along, name="feature")
    )
    return pd.DataFrame({"mean": mean, "lower": lower, "upper": upper}, index=index)


def statistics(
    result: Result,
    names: Sequence[str] | None,
    communities: Any,
    probability: float,
    between: str | None,
    n_draws: int | None,
) -> pd.DataFrame:
    """Tabulate statistics of nodes and of the network; see `bayesmrf.SpikeSlabMRF.statistics`."""
    _N_DRAWS.check("n_draws", n_draws)
    _BETWEEN.check("between", between)
    each = NetworkStatistics(require_weights(result.tree), communities, n_draws, _model_of_draws(result))
    table = {None: each.table, "nodes": each.between_nodes, "groups": each.between_groups}[between]
    return table(names, probability)


def _model_of_draws(result: Result) -> tuple[Graph, Callable[[Graph], Any]] | None:
    """Find the graph and what makes the model on a graph; None of a form that is not known."""
    return (result.graph, result.model_on) if result.model.family in EVERY_FAMILY else None


def statistic(result: Result, function: Callable[..., Any] | str, of: str, name: str) -> xr.DataArray:
    """Compute a function of the network of each draw; see `bayesmrf.SpikeSlabMRF.statistic`."""
    import xarray as xr

    _FUNCTION.check("function", function)
    _OF.check("of", of)
    if isinstance(function, str):
        return _named_statistic(result, function)
    theta = result.tree["posterior"].dataset["theta"]
    dims = list(theta.dims[:-1])
    draws = (draw for block in in_turn(theta.variable) for draw in block.reshape(-1, theta.shape[-1]))
    each = np.array([function(t if of == "theta" else _network_of_draw(result, t)) for t in draws])
    values = each.reshape(*theta.shape[:-1], *each.shape[1:])
    extra = [f"{name}_dim_{i}" for i in range(each.ndim - 1)]
    return xr.DataArray(values, dims=[*dims, *extra], coords={d: theta.coords[d] for d in dims}, name=name)


def _named_statistic(result: Result, name: str) -> xr.DataArray:
    import xarray as xr

    theta, tree = result.tree["posterior"].dataset["theta"], require_weights(result.tree)
    every = NetworkStatistics(tree, None, theta.shape[0] * theta.shape[1], _model_of_draws(result))
    each = every.draws(name)
    dims: list[Any] = list(theta.dims[:-1])
    coords: dict[Any, Any] = {d: theta.coords[d] for d in dims}
    if each.ndim == len(dims):
        dims, coords = [*dims, "node"], coords | {"node": list(result.graph.names)}
    values = each.reshape(*theta.shape[:-1], *each.shape[len(theta.shape) - 2 :])
    return xr.DataArray(values, dims=dims, coords=coords, name=name.replace(" ", "_"))


def _network_of_draw(result: Result, theta: np.ndarray) -> nx.Graph:
    """Make the network of a draw: an edge that is absent has the weight 0."""
    network = with_attributes(result.graph, result.model, theta)
    network.remove_edges_from([(u, v) for u, v, weight in network.edges(data="weight") if not np.any(weight)])
    return network


def strength(result: Result) -> xr.DataArray:
    """Compute the posterior of the strength centrality; see `bayesmrf.SpikeSlabMRF.strength`."""
    import xarray as xr

    model, graph = result.model, result.graph
    if not ((display := display_of(model)).is_one_each or display.has_tables):
        expected = "one with a single parameter for each edge"
        raise OptionError(option="model", got=model.name, expected=expected, remedy="take `statistic`")
    theta = result.tree["posterior"].dataset["theta"]
    dims, n = theta.dims[:-1], graph.n_nodes
    each = [metrics.strength(display.strength(draws), graph.edges, n) for draws in in_turn(theta.variable)]
    values = np.concatenate(each).reshape(*theta.shape[:-1], n)
    coords = {d: theta.coords[d] for d in dims} | {"node": list(graph.names)}
    return xr.DataArray(values, dims=[*dims, "node"], coords=coords, name="strength")


def correlation(result: Result) -> xr.DataArray:
    """Compute the posterior of the marginal correlation along each edge, by exact elimination at each draw."""
    graph, by_fields = result.graph, result.model
    model, engine = Ising(graph), Elimination()
    if is_categorical(by_fields):
        raise OptionError(f"model: nodes of {by_fields.name!r} may have more than two states, between which there is "
                          "no correlation; take `statistic`")  # fmt: skip
    with instead_of_exact("`strength`"):
        plan = engine.prepare(model)
    r, u, v = graph.n_edges, *graph.edges.T

    def correlate(theta: np.ndarray) -> np.ndarray:
        form = by_fields.pairwise(theta)
        moments = engine.infer(model, np.concatenate([form.coupling, form.field]), plan).moments
        node = moments[r:]
        return (moments[:r] - node[u] * node[v]) / np.sqrt((1 - node[u] ** 2) * (1 - node[v] ** 2))

    along = statistic(result, correlate, "theta", "correlation")
    return along.rename(correlation_dim_0="edge").assign_coords(edge=graph.edge_names)
