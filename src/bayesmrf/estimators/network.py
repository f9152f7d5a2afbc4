"""The model of an estimator on the graph of its data, and the fitted network, for networkx and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.frames import in_pandas, record_columns
from ..data.kinds.identifier import without_others
from ..data.nominal import warn_of_meanings
from ..data.read import choose, read
from ..data.row_weights import with_survey
from ..data.states import States
from ..families import AUTO, Custom, chosen_by_data, families_of
from ..graphs import Graph
from ..models.bases import edge_starts
from ..models.display import display_of
from ..results.fitted_model import model_on
from ..results.median_model import median_network
from .answers import Answers
from .base import read_graph

if TYPE_CHECKING:
    import networkx as nx

# Attributes of edges and of nodes of ``graph_``, and those of the estimator that they come from, where it has them.
_OF_EDGES = {"agreement": "agreement_", "group": "groups_", "potential": "potential_"}
_OF_NODES = {"group": "field_groups_"}


class Network(Answers):
    """Estimators of a network by one of several models: ``model_``, ``graph_``, ``edges_`` and ``feature_names_``.

    The model "auto" is "nominal" for data with categories without order (of estimators that have it), "ordinal" for
    others with ordered levels, else that of yes/no nodes. ``model_`` is the name of the
    model that was fitted. It stays the model of ``theta_`` until the next fit, whatever the parameters are set to.
    ``edges_``, (n_edges, 2), has the numbers of the ends of each edge; its order is that of all arrays of edges.
    """

    _yes_no: ClassVar[str] = "boltzmann"  # what "auto" is for yes/no nodes
    _edges_option: Any = "graph"  # the parameter with the edges
    model: Any
    fields: Any = True
    ties: Any = None
    theta_: np.ndarray
    edges_: np.ndarray
    model_: str
    _graph: Graph
    _names: tuple[str, ...]
    _coding: Any
    _log_z: Any
    _family: Any
    _has_fields: bool

    def _model(self, graph: Graph | None = None) -> Any:
        """Return the model on a graph, or on that of the data."""
        return model_on(graph or self._graph, self._family, self._coding, self._has_fields)

    def _object(self, name: str) -> Any:
        """Return the value of a parameter as an object; of the model "auto", the one that was chosen."""
        model = self._settings.model
        if name == "model" and callable(model):
            return Custom(model)
        if name == "model" and self._chooses:
            name = self._of_fit.get("model_", self._yes_no)
            return self._readers["model"](chosen_by_data(name))
        return super()._object(name)

    @property
    def _chooses(self) -> bool:
        model = self._settings.model
        return isinstance(model, str) and model == AUTO

    def _choose_model(self, X: Any, sample_weight: Any = None) -> Any:
        """Forget a former fit, choose the model by the data if it is "auto", and return the table with its types."""
        self._begin()
        table = self._typed(X, () if self._chooses else self._object("model").takes)
        # Counts of rows have the index of the table, and no labels.
        X = table if sample_weight is not None or table is X else without_others(table, X)
        if self._chooses:
            self.model_ = choose(X, sample_weight, self._yes_no, families_of(type(self).__name__).names)
        self._family, self._has_fields = self._object("model"), bool(self._settings.fields)
        return X

    def _read(
        self, X: Any, sample_weight: Any, missing: bool = False, progress: bool = False, survey_weight: Any = None
    ) -> States:
        """Read the data and the graph."""
        family, option = self._family, self._edges_option
        states = read(X, sample_weight, family, missing, self._settings.ties is not None)
        states = with_survey(states, survey_weight, in_pandas(X), len(X))
        record_columns(self, X, len(states.names))
        self._graph = read_graph(getattr(self._settings, option), states, progress, option)
        self.edges_ = self._graph.edges
        self._names, self._coding, self._log_z = states.names, states.coding, {}
        if family.shares_levels:
            name = type(family).__name__.lower()
            warn_of_meanings(states, self._graph.edges, self._model().category, name)
        return states

    @property
    def _inclusion(self) -> np.ndarray | None:
        """Inclusion of each edge (n_edges,); None if no edge may be absent."""
        found = self._of_fit.get("inclusion_")
        return None if found is None else found[tuple(self.edges_.T)]

    def _symmetric(self, values: np.ndarray) -> np.ndarray:
        """Return a value of each edge as a symmetric matrix."""
        found = np.zeros((self._graph.n_nodes, self._graph.n_nodes))
        u, v = self._graph.edges.T
        found[u, v] = found[v, u] = values
        return found

    @property
    def feature_names_(self) -> np.ndarray:
        """Names of the entries of ``theta_``: ``u-v`` for an edge, ``u`` for a node; (n_features,) array of str."""
        check_is_fitted(self)
        return np.array(self._model().feature_names, dtype=object)

    @property
    def graph_(self) -> nx.Graph:
        """The network: edges and nodes with what was estimated of them as attributes.

        Where edges may be absent, it has those with an inclusion above 0.5. Edges carry ``index`` (their row in
        ``edges_``), ``weight`` (that of ``theta_``, an array where an edge has several parameters) and, where the
        estimator has them, ``inclusion``, ``agreement``, ``group``, ``potential`` and (of tables of log odds)
        ``strength``. Nodes carry ``bias`` where there
        are fields (an array where nodes have more than two states), and ``group`` where fields are grouped.
        """
        check_is_fitted(self)
        found, inclusion = self._of_fit, self._inclusion
        edges, nodes = ({k: found[v] for k, v in of.items() if v in found} for of in (_OF_EDGES, _OF_NODES))
        if inclusion is not None:
            edges["inclusion"] = inclusion
        if self.theta_.ndim == 1 and (display := display_of(self._model())).has_tables:
            edges["strength"] = display.strength(self.theta_)
        network = self._network(self.theta_, edges, nodes)
        return network if inclusion is None else median_network(network)

    def _network(
        self, theta: np.ndarray, edges: dict[str, Any] | None = None, nodes: dict[str, Any] | None = None
    ) -> nx.Graph:
        """Return the graph with theta, and other arrays, as attributes of edges and nodes."""
        model, graph = self._model(), self._graph
        edges = {"weight": np.split(theta, edge_starts(model)[1:])[:-1]} | (edges or {})
        if model.fields:
            nodes = {"bias": np.split(theta, model.node_starts[:-1])[1:]} | (nodes or {})
        network = graph.to_networkx()
        for name, values in edges.items():
            for (u, v), value in zip(self.edges_, values, strict=True):
                network.edges[graph.names[u], graph.names[v]][name] = _plain(value)
        for name, values in (nodes or {}).items():
            for node, value in zip(graph.names, values, strict=True):
                network.nodes[node][name] = _plain(value)
        return network


def _plain(value: Any) -> Any:
    """A number of Python where there is one, else the array."""
    return value.item() if np.size(value) == 1 else np.asarray(value)
