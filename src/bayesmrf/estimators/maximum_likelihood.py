"""Maximum likelihood, grouping-blind or tied."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from ..errors import OptionError
from ..inference.auto import choose
from ..learning.maximum_likelihood import maximum_likelihood
from ..models.agreement import Agreement
from ..options import check_params
from ..rng import as_seed_sequence
from .base import PairwiseMRF, warn_of_unbalanced


class MaximumLikelihoodMRF(PairwiseMRF):
    """Maximum likelihood estimate of an agreement model: grouping-blind, or tied by known groups (the oracle).

    Exact by elimination where it is cheap, S / n on forests, persistent contrastive divergence elsewhere.

    Parameters
    ----------
    graph : edges, networkx graph, `Graph`, "complete" or "learn:K"
        As in `GroupedMRF`.
    groups : (n_edges,) int array, optional
        Edges with the same label share one parameter.
    fields : bool
        Whether nodes have a field of their own; see `GroupedMRF`.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    agreement_ : (n_edges,) array
    theta_ : (n_features,) array
        Natural parameters: logit of the agreements, then fields.
    method_ : {"closed form", "exact", "persistent"}
    edges_, graph_
        The graph used.
    """

    def __init__(self, graph: Any = "complete", groups: Any = None, fields: bool = True, random_state: Any = None):
        self.graph = graph
        self.groups = groups
        self.fields = fields
        self.random_state = random_state

    def _model(self) -> Agreement:
        return Agreement(self.graph_, bool(self.fields))

    def _groups(self, model: Agreement) -> np.ndarray | None:
        groups = None if self.groups is None else np.asarray(self.groups)
        if groups is not None and groups.shape != (model.n_edges,):
            raise OptionError(
                f"groups: shape {groups.shape} came, ({model.n_edges},) is wanted, one label for each edge"
            )
        return groups

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> MaximumLikelihoodMRF:
        """Fit to states; see `GroupedMRF.fit` for the arguments."""
        check_params(self)
        states = self._read(X, sample_weight)
        model = self._model()
        if not self.fields:
            warn_of_unbalanced(states)
        groups = self._groups(model)
        rng = np.random.default_rng(as_seed_sequence(self.random_state))
        s_bar = model.statistics(states.values, states.weights)
        found = maximum_likelihood(model, s_bar, states.n_samples, choose(self.graph_), rng, groups)
        self.theta_, self.method_ = found.theta, found.method
        self.agreement_ = expit(found.theta[: model.n_edges])
        return self
