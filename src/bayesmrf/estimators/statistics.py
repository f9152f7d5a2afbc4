"""Statistics of the network of each draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import metrics
from ..base import EVERY_FAMILY
from ..declare.rule import NONE, Rule, choice, either, integer
from ..errors import OptionError, instead_of_exact
from ..graphs import Graph
from ..inference.elimination.engine import Elimination
from ..models.categorical import is_categorical
from ..models.display import display_of
from ..models.ising import Ising
from ..results.blocks import Columns, in_turn
from ..results.intervals import central, intervals
from ..results.statistics import INTERVAL, NetworkStatistics, has_weights
from .network import Network
from .tabulated import Tabulated

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import xarray as xr


_OF = choice("theta", "graph")
_FUNCTION = Rule("the name of a statistic, or a function", lambda v: isinstance(v, str) or callable(v))
_BETWEEN, _N_DRAWS = either(NONE, choice("nodes", "groups")), either(NONE, integer(1, 10**9))


class Statistics(Tabulated, Network):
    """Estimators with draws of theta: intervals, and the posterior of any statistic of the network.

    With several groups of people each has its network, and draws have a dimension of groups.
    """

    def interval(self, probability: float = 0.9) -> pd.DataFrame:
        """Compute the central posterior interval of each parameter that is sampled: columns mean, lower, upper.

        The weight of an edge is 0 in draws in which it is absent. With several groups of people there is a row for each
        parameter of each group.

        Parameters
        ----------
        probability : float

        Returns
        -------
        DataFrame
            Its index is the name of the parameter, or label of the group and name.
        """
        import pandas as pd

        check_is_fitted(self)
        posterior = self.posterior_["posterior"].dataset
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

    def _stacked(self, name: str) -> np.ndarray:
        """Draws of all chains, (n_draws, ...)."""
        values = np.asarray(self.posterior_["posterior"].dataset[name])
        return values.reshape(-1, *values.shape[2:])

    def _mean(self, name: str) -> float:
        """Posterior mean of a number, which is a constant where it was not sampled."""
        posterior, constant = (self.posterior_[group].dataset for group in ("posterior", "constant_data"))
        return float((posterior if name in posterior else constant)[name].mean())

    def statistics(
        self,
        names: Sequence[str] | None = None,
        communities: Any = None,
        probability: float = INTERVAL,
        between: str | None = None,
        n_draws: int | None = None,
    ) -> pd.DataFrame:
        """Tabulate statistics of nodes and of the network, each computed in the network of every draw.

        docs/statistics.md has the definitions. The distance along an edge is 1 / abs(weight): negative weights count by
        their size in all but expected influence.

        Parameters
        ----------
        names : sequence of str, optional
            Of nodes: "strength", "expected influence", "closeness", "betweenness", "bridge strength", "bridge expected
            influence", "predictability", "correct classification", "base rate". Of the network: "density", "global
            clustering", "average path", "largest component", "small-worldness". All that the posterior has by default.
        communities : mapping of node to label, or sequence of labels, optional
            Those between which edges are bridges.
        probability : float
            Of the intervals, which are those of highest density.
        between : {None, "nodes", "groups"}
            Tabulate the differences of a statistic between two nodes (the node minus the other), or between two groups
            of people (the other minus the group), with the probability that they are above 0.
        n_draws : int, optional
            Number of draws, evenly spaced over all that were kept. By default all of them; 100 for predictability, and
            as many as take a second for shortest paths in large networks.

        Returns
        -------
        DataFrame
            Columns node (empty for a statistic of the network), statistic, mean, lower, upper, and n_draws, the number
            of draws in which it is defined; with several groups of people first group.

        Raises
        ------
        OptionError
            If edges have no single weight or strength, or a statistic is not one of these.
        """
        check_is_fitted(self)
        _N_DRAWS.check("n_draws", n_draws)
        _BETWEEN.check("between", between)
        if communities is None:  # those of the posterior, if the prior has blocks
            communities = self._of_fit.get("communities_")
        found = NetworkStatistics(self._tree_with_weights(), communities, n_draws, self._model_of_draws())
        table = {None: found.table, "nodes": found.between_nodes, "groups": found.between_groups}[between]
        return table(names, probability)

    def _tree_with_weights(self) -> xr.DataTree:
        if not has_weights(self.posterior_):
            expected = "one with a single parameter for each edge, or columns without order"
            raise OptionError(option="model", got=self.model_, expected=expected, remedy="take `statistic`")
        return self.posterior_

    def _model_of_draws(self) -> tuple[Graph, Callable[[Graph], Any]] | None:
        """Return the graph and what makes the model on a graph; None of a form that is not known."""
        return (self._graph, self._model) if self._model().family in EVERY_FAMILY else None

    def statistic(self, function: Callable[..., Any] | str, of: str = "theta", name: str = "statistic") -> xr.DataArray:
        """Compute any function of the network for each draw, in ArviZ's form.

        Parameters
        ----------
        function : callable or str
            The name of a statistic of `statistics`. Or a function of theta (n_features,), in which the weight of an
            absent edge is 0; or of a networkx graph of the edges that exist in the draw, with edge attribute ``weight``
            and node attribute ``bias`` (in the Potts model an array, for each state but the first). Where an edge may
            be absent, its weight is ``g.get_edge_data(u, v, {"weight": 0})["weight"]``.
        of : {"theta", "graph"}
        name : str

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw, group where there are several, and those of the value.
        """
        import xarray as xr

        check_is_fitted(self)
        _FUNCTION.check("function", function)
        _OF.check("of", of)
        if isinstance(function, str):
            return self._named_statistic(function)
        theta = self.posterior_["posterior"].dataset["theta"]
        dims = list(theta.dims[:-1])
        draws = (draw for block in in_turn(theta.variable) for draw in block.reshape(-1, theta.shape[-1]))
        each = np.array([function(t if of == "theta" else self._network_of_draw(t)) for t in draws])
        values = each.reshape(*theta.shape[:-1], *each.shape[1:])
        extra = [f"{name}_dim_{i}" for i in range(each.ndim - 1)]
        return xr.DataArray(values, dims=[*dims, *extra], coords={d: theta.coords[d] for d in dims}, name=name)

    def _named_statistic(self, name: str) -> xr.DataArray:
        import xarray as xr

        theta, tree = self.posterior_["posterior"].dataset["theta"], self._tree_with_weights()
        found = NetworkStatistics(tree, None, theta.shape[0] * theta.shape[1], self._model_of_draws()).draws(name)
        dims: list[Any] = list(theta.dims[:-1])
        coords: dict[Any, Any] = {d: theta.coords[d] for d in dims}
        if found.ndim == len(dims):
            dims, coords = [*dims, "node"], coords | {"node": list(self._names)}
        values = found.reshape(*theta.shape[:-1], *found.shape[len(theta.shape) - 2 :])
        return xr.DataArray(values, dims=dims, coords=coords, name=name.replace(" ", "_"))

    def _network_of_draw(self, theta: np.ndarray) -> nx.Graph:
        """Return the network of a draw: an edge that is absent has the weight 0."""
        network = self._network(theta)
        network.remove_edges_from([(u, v) for u, v, weight in network.edges(data="weight") if not np.any(weight)])
        return network

    def strength(self) -> xr.DataArray:
        """Compute the posterior of the strength centrality, the sum of absolute weights of the edges of each node.

        The weight of an edge with a table is the root mean square of its log odds ratios (`models.nominal.Nominal`).

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw, group where there are several, and node.
        """
        import xarray as xr

        check_is_fitted(self)
        model = self._model()
        if not ((display := display_of(model)).is_one_each or display.has_tables):
            expected = "one with a single parameter for each edge"
            raise OptionError(option="model", got=model.name, expected=expected, remedy="take `statistic`")
        theta = self.posterior_["posterior"].dataset["theta"]
        dims, n = theta.dims[:-1], len(self._names)
        each = [metrics.strength(display.strength(draws), self.edges_, n) for draws in in_turn(theta.variable)]
        values = np.concatenate(each).reshape(*theta.shape[:-1], n)
        coords = {d: theta.coords[d] for d in dims} | {"node": list(self._names)}
        return xr.DataArray(values, dims=[*dims, "node"], coords=coords, name="strength")

    def correlation(self) -> xr.DataArray:
        """Compute the posterior of the marginal correlation along each edge, by exact elimination at each draw."""
        check_is_fitted(self)
        model, engine, own = Ising(self._graph), Elimination(), self._model()
        if is_categorical(own):
            raise OptionError(f"model: nodes of {own.name!r} may have more than two states, between which there is no "
                              "correlation; take `statistic`")  # fmt: skip
        with instead_of_exact("`strength`"):
            plan = engine.prepare(model)
        r, u, v = self._graph.n_edges, *self.edges_.T

        def correlate(theta: np.ndarray) -> np.ndarray:
            form = own.pairwise(theta)
            moments = engine.infer(model, np.concatenate([form.coupling, form.field]), plan).moments
            node = moments[r:]
            return (moments[:r] - node[u] * node[v]) / np.sqrt((1 - node[u] ** 2) * (1 - node[v] ** 2))

        found = self.statistic(correlate, name="correlation")
        return found.rename(correlation_dim_0="edge").assign_coords(edge=self._graph.edge_names)
