"""Maximum likelihood, with free or tied parameters."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator

from ..declare.option import check_params, option
from ..declare.rule import COLUMNS, FLAG, SEED
from ..families import Custom, families_of, model_rule
from ..inference.auto import choose
from ..learning.matched_moments import warn_unless_matched
from ..learning.maximum_likelihood import maximum_likelihood
from ..models.categorical import states_of
from ..models.display import display_of
from ..results.summary import count
from ..rng import as_seed_sequence
from ..types import Rows, Weights
from .base import warn_of_unbalanced
from .network import Network, Traits, choose_model
from .ties import read_ties


@dataclass(eq=False, repr=False)
class MaximumLikelihoodMRF(Network, BaseEstimator):
    """Maximum likelihood estimate of the parameters of a Markov random field.

    It is in closed form on forests without fields, exact by elimination if that is cheap, and by persistent contrastive
    divergence otherwise. A `ConvergenceWarning` says if the means of statistics under the last are far from those of
    the data.

    Parameters
    ----------
    graph : edges, networkx graph, `Graph`, "complete" or "learn:K"
        As in `GroupedMRF`.
    model : {"auto", "agreement", "boltzmann", "ising", "potts", "ordinal", "nominal", "symmetric"}, an object of \
`bayesmrf.families`, or callable
        As in `BayesianMRF`, but "auto" is "agreement" for yes/no data; "symmetric" has a symmetric table of
        log potentials for each edge. A callable makes your own model from the `Graph` (`families.Custom`).
    ties : None, "all", "edges", sequence, or mapping (a Series)
        Which parameters are shared, as in `BayesianMRF`. Edges tied by their true groups give the oracle of Liu and
        Page (2013).
    fields : bool
        Whether nodes have parameters; see `GroupedMRF`.
    random_state : int, Generator, RandomState or None
    columns
        As in `GroupedMRF`.

    Attributes
    ----------
    theta_ : (n_features,) array
        Natural parameters: those of edges, then those of nodes.
    agreement_ : (n_edges,) array
        For the model "agreement", the agreement of each edge.
    method_ : {"closed form", "exact", "persistent"}
    model_ : str
        Name of the model.
    edges_ : (n_edges, 2) int array
    feature_names_ : (n_features,) array of str
        Names of ``theta_``: ``u-v`` for an edge, ``u`` for a node.
    graph_ : networkx.Graph
        Edges carry ``weight``, nodes ``bias`` where there are fields.
    """

    _readers = {"model": families_of("MaximumLikelihoodMRF").read}  # noqa: RUF012
    _traits = Traits(yes_no="agreement")

    graph: Any = "complete"
    model: Any = option("auto", model_rule("MaximumLikelihoodMRF"))
    ties: Any = None
    fields: bool = option(True, FLAG)
    random_state: Any = option(None, SEED)
    _: KW_ONLY
    columns: Any = option(None, COLUMNS)

    def _outcome(self) -> list[str]:
        nodes, edges = count(len(self._names), "node"), count(len(self.edges_), "edge")
        return [f"{nodes}, {edges}, model {self.model_}", f"Maximum of the likelihood, method {self.method_}"]

    def fit(
        self, X: Rows, y: None = None, sample_weight: Weights = None, survey_weight: Weights = None
    ) -> MaximumLikelihoodMRF:
        """Fit to states; see `GroupedMRF.fit` for the arguments."""
        check_params(self)
        X = choose_model(self, X, sample_weight)
        states = self._read(X, sample_weight, survey_weight=survey_weight)
        model = self._model()
        self.model_ = model.name
        display = display_of(model)
        tables_hold_fields = not (display.is_one_each or display.has_tables)
        if not (self._settings.fields or isinstance(self._family, Custom) or tables_hold_fields):
            warn_of_unbalanced(states)
        curve = read_ties(self._settings.ties, model)
        rng = np.random.default_rng(as_seed_sequence(self.random_state))
        s_bar = model.statistics(states.values, states.weights)
        engine = choose(self._graph, n_states=states_of(model))
        estimate = maximum_likelihood(model, s_bar, states.n_samples, engine, rng, curve)
        self.theta_, self.method_ = estimate.theta, estimate.method
        if estimate.method == "persistent":
            warn_unless_matched(model, estimate.theta, s_bar, states.n_samples, curve, rng)
        if display.is_agreement:
            self.agreement_ = expit(estimate.theta[: model.n_edges])
        return self
