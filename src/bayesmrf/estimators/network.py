"""Estimators of a network by one of several models: its model on the graph of the data, and its predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from ..answers.networks import with_attributes
from ..answers.predictions.mixture import Mixture
from ..data.chosen_model import choose
from ..data.codebook import Codebook
from ..data.frames import in_pandas, record_columns
from ..data.kinds.identifier import without_others
from ..data.nominal_states import warn_of_meanings
from ..data.read import read
from ..data.row_weights import with_survey
from ..data.states import States
from ..families import AUTO, Custom, chosen_by_data, families_of
from ..graphs import Graph
from ..models.display import display_of
from ..results.blocks import variable
from ..results.fitted_model import model_on
from ..results.median_model import median_network
from ..types import Rows, Seed, Weights
from .base import read_graph
from .estimator import Estimator, begin
from .fitted_columns import reading, type_table

if TYPE_CHECKING:
    import networkx as nx

# Attributes of edges and of nodes of ``graph_``, and those of the estimator that they come from, where it has them.
_OF_EDGES = {"agreement": "agreement_", "group": "groups_", "potential": "potential_"}
_OF_NODES = {"group": "field_groups_"}


class Traits(NamedTuple):
    """What sets the fit of an estimator apart."""

    yes_no: str = "boltzmann"  # the model that "auto" is for yes/no nodes
    method: str = "method"  # the parameter with the method; or "kernel"
    needs_edges: bool = True
    silent: str = "Their inclusion and weights are"  # what the prior determines of edges of which rows say nothing
    priors: tuple[str, ...] = ()  # parameters whose priors may give pairs probabilities of their own


class Network(Estimator, DensityMixin):
    """Estimators of a network by one of several models: ``model_``, ``graph_``, ``edges_`` and ``feature_names_``.

    The model "auto" is "nominal" for data with categories without order (of estimators that have it), "ordinal" for
    others with ordered levels, else that of yes/no nodes. ``model_`` is the name of the
    model that was fitted. It stays the model of ``theta_`` until the next fit, whatever the parameters are set to.
    ``edges_``, (n_edges, 2), has the numbers of the ends of each edge; its order is that of all arrays of edges.
    """

    _traits: ClassVar[Traits] = Traits()
    _edges_option: Any = "graph"  # the parameter with the edges
    model: Any
    fields: Any = True
    ties: Any = None
    random_state: Any
    theta_: np.ndarray
    edges_: np.ndarray
    model_: str
    _graph: Graph
    _coding: Any
    _codebook: Codebook | None
    _log_z: Any
    _family: Any
    _engine: Any = None  # the user's own, in the fit, of models whose compiled form it alone knows

    def _model(self, graph: Graph | None = None) -> Any:
        """Return the model on a graph, or on that of the data."""
        return model_on(graph or self._graph, self._family, self._coding, bool(self._settings.fields))

    def _object(self, name: str) -> Any:
        """Return the value of a parameter as an object; of the model "auto", the one that was chosen."""
        model = self._settings.model
        if name == "model" and callable(model):
            return Custom(model)
        if name == "model" and is_auto(model):
            name = self._of_fit.get("model_", self._traits.yes_no)
            return self._readers["model"](chosen_by_data(name))
        return super()._object(name)

    def _read(
        self, X: Any, sample_weight: Any, missing: bool = False, progress: bool = False, survey_weight: Any = None
    ) -> States:
        """Read the data and the graph."""
        family, option = self._family, self._edges_option
        states = read(X, sample_weight, family, missing, self._settings.ties is not None)
        if survey_weight is not None:
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
        inclusion = self._of_fit.get("inclusion_")
        return None if inclusion is None else inclusion[tuple(self.edges_.T)]

    @property
    def _mixture(self) -> Mixture:
        """What predicts: the field of ``theta_``, or those of the draws."""
        check_is_fitted(self)
        tree, labels = self._of_fit.get("posterior_"), self._labels
        return Mixture(
            reading(self),
            self._model,
            self._graph,
            self.theta_,
            None if tree is None else variable(tree, "theta"),
            self._inclusion,
            np.array(labels, dtype=object) if len(labels) else None,
            self._engine,
            self._log_z,
        )

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
        of_fit, inclusion, model = self._of_fit, self._inclusion, self._model()
        edges, nodes = ({k: of_fit[v] for k, v in of.items() if v in of_fit} for of in (_OF_EDGES, _OF_NODES))
        if inclusion is not None:
            edges["inclusion"] = inclusion
        if self.theta_.ndim == 1 and (display := display_of(model)).has_tables:
            edges["strength"] = display.strength(self.theta_)
        network = with_attributes(self._graph, model, self.theta_, edges, nodes)
        return network if inclusion is None else median_network(network)

    def score(
        self, X: Rows, y: None = None, sample_weight: Weights = None, average: str = "bayes", clamped: Any = None
    ) -> float:
        """Compute the mean log predictive density of an observation, in nats.

        It is exact where elimination takes a second at most for each draw. Elsewhere log Z of a draw is an estimate by
        annealed importance sampling, with the mean standard error ``log_z_error_``. Where that is above 0.1 nats, or
        the standard error of the average over 100 draws is, an `ApproximateScoreWarning` says so. ``score_kind_`` says
        how log Z is computed. The pseudo-likelihood, another quantity, is `bayesmrf.metrics.log_pseudo_likelihood`.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Missing values are summed out. Rows without any answer that is not ``clamped`` are left out.
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.
        average : {"bayes", "mean"}
            The log of the mean density over 100 draws, or the log density at ``theta_`` (without the edges whose
            inclusion is 0.5 or less). They are the same for `MaximumLikelihoodMRF`, which has no draws.
        clamped : sequence, optional
            Nodes, by name or by number, that are held at their values in each row: the density is that of the other
            values given these, under each draw. Where all rows have them, log Z is not needed.
        """
        return self._mixture.score(X, average, sample_weight, clamped=clamped)

    def score_samples(self, X: Rows, average: str = "bayes", clamped: Any = None) -> np.ndarray:
        """Compute the log predictive density of each row of X, in nats, (n_samples,); see `score`.

        It is NaN for rows without any answer (that is not ``clamped``), of which an `EmptyRowsWarning` says how many
        there are. An `ApproximateScoreWarning` says how many rows have a standard error above 0.25 nats, as few of the
        100 draws give them most of their density.
        """
        return self._mixture.score_samples(X, average, clamped=clamped)

    def sample(
        self, n_samples: int = 1, random_state: Seed = None, average: str = "bayes", clamped: Any = None
    ) -> np.ndarray:
        """Draw states from the mixture ("bayes") or from the one model ("mean"), in the coding of the data fitted.

        They are exact where elimination is cheap, else by parallel tempering, which visits all modes of a model.

        Parameters
        ----------
        n_samples : int
        random_state : int, Generator, RandomState or None
            None draws from the estimator's own ``random_state``.
        average : {"bayes", "mean"}
            As in `score`.
        clamped : mapping, Series, or (n_rows, n_nodes) array or DataFrame, optional
            Values that are held: of some nodes, by name or by number; or a table with missing values. Others are drawn
            given these under each draw, as in `predict_conditional`. A table has ``n_samples`` states for each row, one
            row after another.
        """
        random_state = self.random_state if random_state is None else random_state
        return self._mixture.sample(n_samples, random_state, average, clamped)

    def predict_conditional(self, X: Rows, nodes: Sequence[str | int], average: str = "bayes") -> np.ndarray:
        r"""Compute the probability of each joint state of some nodes, given the other nodes of each row.

        .. math:: p(x_A \mid x_{-A}) = \frac1K \sum_{k=1}^K p(x_A \mid x_{-A}, \theta_k),

        exactly for each draw, by the sum over the joint states of the nodes A.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            The values of the nodes A are not used. Values of others may be missing, and are summed out of the
            probability given the values that the row has (where they are too many for an exact sum, averaged over 64
            draws of them under each :math:`\theta_k`). A row without any other answer has the marginal probability.
        nodes : sequence
            Nodes by name or by number, at most 16 (fewer if they have many states: m^g <= 2^16).
        average : {"bayes", "mean"}
            A mixture over 100 draws, or the model with ``theta_`` (without the edges whose inclusion is 0.5 or less:
            "Bayes PM").

        Returns
        -------
        (n_samples, m^g) array
            Of g nodes with m states: the first of them is the highest digit of the number of a joint state.
        """
        return np.exp(self._mixture.conditional(X, nodes, average, is_read=False))

    def conditional_log_likelihood(self, X: Rows, nodes: Sequence[str | int], average: str = "bayes") -> np.ndarray:
        """Compute the log probability of the states of some nodes, given the other nodes of each row, in nats.

        It is the log of `predict_conditional` at the states that X has, (n_samples,), summed over those of the nodes
        that are missing; NaN for rows in which all of them are, of which an `EmptyRowsWarning` tells.
        """
        return self._mixture.conditional(X, nodes, average, is_read=True)

    @property
    def score_kind_(self) -> str:
        """What `score` is: a log likelihood or log predictive, with log Z exact or by annealed importance sampling."""
        return self._mixture.score_kind

    @property
    def log_z_error_(self) -> float:
        """Mean standard error of log Z over the draws behind `score`; 0 where it is exact."""
        return self._mixture.log_z_error


def is_auto(model: Any) -> bool:
    """Return whether the data choose the model."""
    return isinstance(model, str) and model == AUTO


def choose_model(estimator: Network, X: Any, sample_weight: Any = None) -> Any:
    """Forget a former fit, choose the model by the data if it is "auto", and return the table with its types."""
    begin(estimator)
    chooses = is_auto(estimator._settings.model)
    table, is_plain = type_table(estimator, X, () if chooses else estimator._object("model").takes)
    # Counts of rows have the index of the table, and no labels.
    X = table if sample_weight is not None or table is X else without_others(table, X)
    if chooses:
        yes_no, models = estimator._traits.yes_no, families_of(type(estimator).__name__).names
        estimator.model_ = yes_no if is_plain else choose(X, sample_weight, yes_no, models)
    estimator._family = estimator._object("model")
    return X
