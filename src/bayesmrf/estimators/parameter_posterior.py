"""Posterior summaries of a network from draws of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError, instead_of_exact
from ..inference.elimination.two_states import Elimination
from ..intervals import central, intervals
from ..models.categorical import is_categorical
from ..models.ising import Ising
from ..runs.run_options import RunOptions
from .base import MissingValues
from .chosen_model import ChosenModel
from .predictive import Predictive
from .tabulated import Tabulated

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import xarray as xr


def of_draws(estimator: Any, function: Callable[..., Any], of: str, name: str) -> xr.DataArray:
    """Compute a function of each draw of theta (chain, draw, ..., feature), or of its network, in ArviZ's form."""
    import xarray as xr

    check_is_fitted(estimator)
    if of not in ("theta", "graph"):
        raise OptionError(option="of", got=of, expected="'theta' or 'graph'")
    theta = estimator.posterior_["posterior"].dataset["theta"]
    given, dims = np.asarray(theta), list(theta.dims[:-1])
    draws = given.reshape(-1, given.shape[-1])
    each = np.array([function(t if of == "theta" else _network(estimator, t)) for t in draws])
    values = each.reshape(*given.shape[:-1], *each.shape[1:])
    extra = [f"{name}_dim_{i}" for i in range(each.ndim - 1)]
    return xr.DataArray(values, dims=[*dims, *extra], coords={d: theta.coords[d] for d in dims}, name=name)


def strength_of_draws(estimator: Any) -> xr.DataArray:
    """Compute the strength of each node, of each draw of theta (chain, draw, ..., feature), in ArviZ's form."""
    import xarray as xr

    theta, graph = estimator.posterior_["posterior"].dataset["theta"], estimator._graph
    incidence = np.zeros((graph.n_edges, graph.n_nodes))
    incidence[np.arange(graph.n_edges)[:, None], graph.edges] = 1
    values = np.abs(np.asarray(theta)[..., : graph.n_edges]) @ incidence
    dims = theta.dims[:-1]
    coords = {d: theta.coords[d] for d in dims} | {"node": list(graph.names)}
    return xr.DataArray(values, dims=[*dims, "node"], coords=coords, name="strength")


def _network(estimator: Any, theta: np.ndarray) -> nx.Graph:
    """Return the network of a draw: an edge that is absent has the weight 0."""
    network = estimator._network(theta)
    network.remove_edges_from([(u, v) for u, v, weight in network.edges(data="weight") if not np.any(weight)])
    return network


class ParameterPosterior(MissingValues, Tabulated, RunOptions, ChosenModel, Predictive, BaseEstimator):
    """Estimators of posteriors: intervals, and the posterior of any statistic of the network."""

    def interval_(self, probability: float = 0.9) -> pd.DataFrame:
        """Compute the central posterior interval of each parameter that is sampled: columns mean, lower, upper.

        The weight of an edge is 0 in draws in which it is absent.
        """
        import pandas as pd

        check_is_fitted(self)
        tied = "phi" in self.posterior_["posterior"].dataset
        draws = self._stacked("phi" if tied else "theta")
        lower, upper = intervals(draws, central(probability))
        index = pd.Index(self.parameter_names_ if tied else self.feature_names_, name="feature")
        return pd.DataFrame({"mean": draws.mean(axis=0), "lower": lower, "upper": upper}, index=index)

    def _stacked(self, name: str) -> np.ndarray:
        """Draws of all chains, (n_draws, ...)."""
        values = np.asarray(self.posterior_["posterior"].dataset[name])
        return values.reshape(-1, *values.shape[2:])

    def statistic(self, function: Callable[..., Any], of: str = "theta", name: str = "statistic") -> xr.DataArray:
        """Compute any function of the network for each draw, in ArviZ's form.

        Parameters
        ----------
        function : callable
            Of theta (n_features,), in which the weight of an absent edge is 0; or of a networkx graph of the edges that
            exist in the draw, with edge attribute ``weight`` and node attribute ``bias`` (in the Potts model an array,
            for each state but the first). Where an edge may be absent, its weight is
            ``g.get_edge_data(u, v, {"weight": 0})["weight"]``.
        of : {"theta", "graph"}
        name : str

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw, and those of the value.
        """
        return of_draws(self, function, of, name)

    def strength(self) -> xr.DataArray:
        """Compute the posterior of the strength centrality, the sum of absolute weights of the edges of each node."""
        check_is_fitted(self)
        if self._model().n_parameters > 1:
            expected = "one with a single parameter for each edge"
            raise OptionError(option="model", got=self._model().name, expected=expected, remedy="take `statistic`")
        return strength_of_draws(self)

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
