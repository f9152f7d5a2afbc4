"""The one fit of the estimators of posteriors: from a table to a tree of draws, and what is to be said of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import results
from ..base import Kernel
from ..data.codebook import Codebook
from ..data.dependent_rows import tell_of_rows
from ..data.forgotten_counts import tell_of_forgotten_counts
from ..data.observed import rows_with_answers
from ..data.states import States
from ..data.survey_weight import is_weighted, n_rows, tell_of_survey
from ..data.weights_as_counts import tell_of_weights
from ..declare.option import check_params
from ..declare.rule import SEED
from ..findings import recorded
from ..likelihood import Likelihood
from ..posterior.hidden_entries import DrawHiddenEntries
from ..progress import announced
from ..results import convergence
from ..results.blocks import Columns, variable
from ..results.identified import FIELD
from ..results.stored import Kept, keep
from ..results.surveyed import SURVEYED, refuse_surveyed
from ..results.until_good import tell_if_short
from ..rng import as_seed_sequence
from ..runs.run import Draws
from ..runs.run_options import RunOptions
from .base import hash_of_samples, missing_in, missing_table, require_edges, run_seed, sample_posterior
from .edge_evidence import EdgeTerms, add_edge_evidence
from .mode_check import check_modes
from .observations import Observations
from .predictive_checks import check_fit, check_table
from .rarely_observed import Silent, tell_of_rare
from .restored import Restored
from .sensitivity import Sensitive
from .statements import Statements

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Setup(NamedTuple):
    """All that comes before the first draw."""

    parts: Sequence[States]  # the data, of each group of people
    likelihood: Likelihood
    kernel: Kernel
    method: str  # its name
    attrs: dict[str, Any]  # of the tree: "kind", whether draws are exact, and options that summaries and reports show
    sweeps: float  # Gibbs sweeps of single particles that a step is worth; 0 where moments are exact
    seeds: np.random.SeedSequence | None = None  # of the run, if random numbers were drawn from them
    constant: Mapping[str, np.ndarray] = {}  # arrays that are stored with the draws
    parameters: Sequence[str] | None = None  # names of the parameters that are sampled, if theta is a map of them
    own: Any = None  # what the estimator needs after the draws
    edges: EdgeTerms | None = None  # what the evidence for edges, or differences, needs of it


class Posterior(Restored, Statements, Sensitive, Observations, RunOptions, BaseEstimator):
    """Estimators of posteriors: `GroupedMRF`, `BayesianMRF`, `SpikeSlabMRF` and `CompareMRF`.

    Such an estimator has parameters, the target of its chains and their kernel (`_target`), and what it sums up.
    """

    _needs_edges: ClassVar[bool] = True
    _method_option: ClassVar[str] = "method"  # or "kernel"
    _of_silent: ClassVar[str] = "Their inclusion and weights are"  # what the prior determines

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: None = None, sample_weight: Any = None, survey_weight: Any = None) -> Any:
        """Sample the posterior.

        Missing values of X (NaN) are hidden variables: the posterior is given the observed values.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Yes/no data coded {0, 1}, {-1, +1} or boolean; ordered levels; or any levels with the models "nominal",
            "potts" and "symmetric". Values may be missing (NaN), unless the method does not support that.
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            How many times each row was seen: integers >= 0; a Series with the index of ``X``.
        survey_weight : (n_samples,) array, optional
            Weights of a survey, numbers > 0: how many people of the population each row stands for; a Series with the
            index of ``X``. Row i enters the likelihood as p(x_i)^w_i, with weights whose sum is the effective
            sample size (sum w)^2 / sum w^2. No answers may be missing, and kernels that draw data ("exchange",
            "auxiliary-variable") and brief chains are refused. A row with a count (``sample_weight``) stands
            for that many people, each with this weight.

        Raises
        ------
        DataError, GraphError, OptionError, StoreError
            If an option, the graph, the data or the checkpoint is not valid.

        Warns
        -----
        BayesMRFWarning
            Of every doubt about the result. ``table("findings")`` lists them.
        """
        return self._fit(X, sample_weight, survey_weight)

    def check(self, X: Any, sample_weight: Any = None, survey_weight: Any = None) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, sample_weight, survey_weight=survey_weight)

    @recorded
    def _fit(self, X: Any, sample_weight: Any, survey_weight: Any, groups: Any = None) -> Any:
        s = self._prepare(X, sample_weight, groups, survey_weight)
        seeds = run_seed(self) if s.seeds is None else s.seeds
        s, model, samples = s._replace(seeds=seeds), s.likelihood.model, s.likelihood.samples
        several = {} if len(samples) == 1 else {"group": len(samples)}
        attrs: dict[str, Any] = {"data_hash": hash_of_samples(self._graph, samples), "model": model.name}
        attrs |= {"chosen_model": self._chooses, "method": s.method} | self._columns_kept()
        attrs |= {SURVEYED: n_rows(s.parts)} if is_weighted(s.parts) else {}
        sizes, sums = [sample.n_samples for sample in samples], [sample.s_bar for sample in samples]

        def tree_of(draws: Draws) -> xr.DataTree:
            return results.to_datatree(
                draws,
                model,
                attrs=s.attrs | attrs,
                observed={"statistics": sums if several else sums[0], "n_samples": sum(sizes), "group_sizes": sizes},
                constant=s.constant,
                parameters=s.parameters,
                groups=[str(label) for label in self._labels] or None,
            )

        judged: list[xr.DataTree] = []  # the tree of the last look that had evidence

        def add_evidence(tree: xr.DataTree) -> None:
            if s.edges is not None:
                add_edge_evidence(tree, s.likelihood, s.edges, seeds)
                judged[:] = [tree]

        made = sample_posterior(
            self, model, s.kernel, seeds, lambda d: tree_of(self._finish(s, d)), add_evidence, **several
        )
        corrected = self._correct(s, made)
        draws = self._finish(s, corrected)
        self.posterior_ = tree_of(draws)
        keep(self.posterior_, self._kept())
        theta = variable(self.posterior_, "phi" if "phi" in draws.fields else "theta")
        self.missing_ = missing_table(s.likelihood, theta, s.parts, seeds)
        if len(self.missing_):
            results.add_missing(self.posterior_, self.missing_)
        if corrected is made and judged and judged[0]["posterior"].sizes["draw"] == draws.n_draws:
            self.posterior_["edge_evidence"] = judged[0]["edge_evidence"]
        else:
            add_evidence(self.posterior_)
        self._summarise()
        check_modes(self, s.parts, seeds, s.sweeps)
        tell_of_rare(s.parts, self._graph)
        if not tell_of_forgotten_counts(s.parts):
            tell_of_rows(s.parts)
        tell_of_weights(s.parts)
        tell_of_survey(s.parts, self._labels)
        tell_if_short(draws)
        has_converged = convergence.warn_unless_converged(self.posterior_)
        if not is_weighted(s.parts):  # tables from the posterior have no weights
            check_fit(self, s.parts, seeds, has_converged)
        self._doubt(s, draws, has_converged)
        return self

    def predictive_checks(self, X: Any, sample_weight: Any = None, random_state: Any = None) -> pd.DataFrame:
        """Compare a table with tables of its size from the posterior: answers, pairs, triples, sums and single rows.

        `fit` does this with its own data; ``table("checks")`` has the result.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Missing values are drawn given the others by each draw. Of a large table evenly spaced rows are used.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.
        random_state : int, Generator, RandomState or None
            None draws from the estimator's own ``random_state``.

        Returns
        -------
        DataFrame
            One row for each check: its family, the group of people, what is compared, its value in the data, the mean
            and the ends of the 95 % interval of replicates given what the posterior has fitted, the two-sided p-value
            alone and adjusted for all checks, and whether the data are outside (adjusted p-value below 0.02).
        """
        return self._predictive_checks(X, sample_weight, random_state)

    def _predictive_checks(self, X: Any, sample_weight: Any, random_state: Any, groups: Any = None) -> pd.DataFrame:
        check_is_fitted(self)
        refuse_surveyed(self.posterior_, "predictive_checks", "tables from the posterior have no weights")
        states = self._new(X, sample_weight)
        SEED.check("random_state", random_state)
        rng = np.random.default_rng(as_seed_sequence(self.random_state if random_state is None else random_state))
        kept = rows_with_answers(states.values, states.weights)
        parts = [(g, np.intersect1d(mine, kept)) for g, mine in self._codes(groups, X, len(states.values))]
        return check_table(self, [(g, states.at(mine)) for g, mine in parts if len(mine)], rng)

    def _prepare(self, X: Any, sample_weight: Any = None, groups: Any = None, survey_weight: Any = None) -> Setup:
        check_params(self)
        with announced("understanding the columns of the table", self.progress):
            table = self._choose_model(X, sample_weight)
        request = self._request()
        with announced("reading and checking the table", self.progress):
            states = self._read(table, sample_weight, True, self.progress, survey_weight)
        if self._needs_edges:
            require_edges(self._graph, self._edges_option)
        parts = self._parts(states, X, groups)
        silent = Silent.of(parts, self._graph, self._labels)
        self._graph, not_identified = silent.settle(self._graph, self._asked(), self._of_silent)
        self.edges_ = self._graph.edges
        with announced("choosing how and where the chains start", self.progress):
            found = self._target(parts, request)
        self._name_choices(found.likelihood.model.name, found.method)
        return found._replace(constant={**found.constant, FIELD: not_identified}) if not_identified.any() else found

    def _asked(self) -> np.ndarray:
        """Return which edges the user names, (n_edges,)."""
        return np.full(self._graph.n_edges, not isinstance(getattr(self._settings, self._edges_option), str))

    def _name_choices(self, model: str, method: str) -> None:
        self.model_ = model
        setattr(self, f"{self._method_option}_", method)

    def _follow(self, tree: xr.DataTree, kept: Kept) -> None:
        self._graph, self.edges_, self._log_z = kept.graph, kept.graph.edges, {}
        self.model_ = tree.attrs["model"]
        self._family, self._has_fields = self._object("model"), bool(self._settings.fields)
        self.missing_ = missing_in(tree)

    def _kept(self) -> Kept:
        """Return what is stored of this estimator; the graph of the data stands for given edges."""
        given, option = self.get_params(deep=False), self._edges_option
        given |= {} if isinstance(given[option], str) else {option: self._graph}
        given["columns"] = None if self._settings.columns is None else Codebook.read(self._settings.columns)
        is_named = "feature_names_in_" in self._of_fit
        return Kept(type(self).__name__, given, self._graph, self._coding, list(self._labels), is_named)

    @property
    def feature_names_(self) -> np.ndarray:
        """Names of the entries of ``theta_``: ``u-v`` for an edge, ``u`` for a node; (n_features,) array of str."""
        check_is_fitted(self)
        return np.array(self.posterior_["posterior"].dataset["feature"].values.tolist(), dtype=object)

    @property
    def _prior_of_edges(self) -> Any:
        """The prior of which edges exist and of their weights."""
        return self._object("prior")

    def _request(self) -> Any:
        """Return options as they are understood together, or refuse them, before the table is read."""

    def _parts(self, states: States, X: Any, groups: Any) -> list[States]:
        """Return the data of each group of people."""
        return [states]

    @abstractmethod
    def _target(self, parts: list[States], request: Any) -> Setup:
        """Return likelihood and kernel for the data."""

    def _correct(self, setup: Setup, draws: Draws) -> Draws:
        """Return the draws in place of those that the chains made, when these have ended."""
        return draws

    def _finish(self, setup: Setup, draws: Draws) -> Draws:
        """Return the draws as they are judged and stored."""
        return draws

    def _summarise(self) -> None:
        """Set the attributes that sum up the tree, and depend on it alone."""
        self._name_choices(self.posterior_.attrs["model"], self.posterior_.attrs["method"])
        self.theta_ = Columns(variable(self.posterior_, "theta")).means()

    def _doubt(self, setup: Setup, draws: Draws, has_converged: bool) -> None:
        """Tell of doubts that this estimator alone has."""


def completed(kernel: Any, likelihood: Likelihood) -> Any:
    """Return a kernel for complete data with missing ones drawn before each step, if there are any."""
    if all(sample.hidden is None for sample in likelihood.samples):
        return kernel
    return DrawHiddenEntries(kernel, likelihood)
