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
from ..data.check_columns import rows_with_answers
from ..data.codebook import Codebook
from ..data.dependent_rows import warn_of_dependent_rows
from ..data.row_weights import is_weighted, n_rows, warn_of_forgotten_counts, warn_of_survey, warn_of_weights
from ..data.states import States
from ..declare.option import check_params, options_of
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
from .predictive_checks import Checked, can_be_checked, check_fit, check_table, checks_of
from .rarely_observed import Silent, warn_of_rare_levels
from .restored import Restored
from .sensitivity import Sensitive
from .statements import Statements

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Setup(NamedTuple):
    """All that comes before the first draw."""

    parts: Sequence[States]  # the data, of each group of people
    likelihood: Any  # `Likelihood`, or what has its place: its model, and the data
    kernel: Kernel
    method: str  # its name
    attrs: dict[str, Any]  # of the tree: "kind", whether draws are exact, and options that summaries and reports show
    sweeps: float  # Gibbs sweeps of single particles that a step is worth; 0 where moments are exact
    seeds: Any = None  # of the run, if random numbers were drawn from them
    constant: Mapping[str, np.ndarray] = {}  # arrays that are stored with the draws
    parameters: Sequence[str] | None = None  # names of the parameters that are sampled, if theta is a map of them
    own: Any = None  # what the estimator needs after the draws
    edges: EdgeTerms | None = None  # what the evidence for edges, or differences, needs of it
    observed: Mapping[str, Any] = {}  # what is stored of the data


class Sampled(Restored, RunOptions, BaseEstimator):
    """Estimators that sample a posterior, all by one fit.

    Such an estimator prepares what comes before the first draw, judges data and model, and sums up the draws.
    """

    @property
    def _labels(self) -> Sequence[Any]:
        """Labels of groups of people, if there are several."""
        return ()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @recorded
    def _fit(self, *data: Any) -> Any:
        s = self._prepare(*data)
        seeds = run_seed(self) if s.seeds is None else s.seeds
        declared = options_of(type(self))  # reports show those with a label
        labelled = {name: getattr(self._settings, name) for name, option in declared.items() if option.label}
        s = s._replace(seeds=seeds, attrs=labelled | s.attrs | self._columns_kept())
        several = {"group": len(self._labels)} if len(self._labels) else {}
        judged: list[xr.DataTree] = []  # the tree of the last look that had evidence

        def add_evidence(tree: xr.DataTree) -> None:
            if s.edges is not None:
                add_edge_evidence(tree, s.likelihood, s.edges, seeds)
                judged[:] = [tree]

        made = sample_posterior(
            self, s.likelihood.model, s.kernel, seeds, lambda d: self._tree(s, self._finish(s, d)), add_evidence,
            **several,
        )  # fmt: skip
        corrected = self._correct(s, made)
        draws = self._finish(s, corrected)
        self.posterior_ = self._tree(s, draws)
        keep(self.posterior_, self._kept())
        self._impute(s)
        if corrected is made and judged and judged[0]["posterior"].sizes["draw"] == draws.n_draws:
            self.posterior_["edge_evidence"] = judged[0]["edge_evidence"]
        else:
            add_evidence(self.posterior_)
        self._summarise()
        self._judge_data(s)
        tell_if_short(draws)
        has_converged = convergence.warn_unless_converged(self.posterior_)
        check_fit(self, s, seeds, has_converged)
        self._doubt(s, draws, has_converged)
        return self

    def _tree(self, setup: Setup, draws: Draws) -> xr.DataTree:
        """Return the draws with all that is stored with them."""
        return results.to_datatree(
            draws,
            setup.likelihood.model,
            attrs=setup.attrs,
            observed=setup.observed,
            constant=setup.constant,
            parameters=setup.parameters,
            groups=[str(label) for label in self._labels] or None,
        )

    def _kept(self) -> Kept:
        """Return what is stored of this estimator."""
        parameters = self.get_params(deep=False)
        parameters["columns"] = None if self._settings.columns is None else Codebook.read(self._settings.columns)
        is_named = "feature_names_in_" in self._of_fit
        return Kept(type(self).__name__, parameters, self._graph, self._coding, list(self._labels), is_named)

    @property
    def feature_names_(self) -> np.ndarray:
        """Names of the entries of ``theta_``; (n_features,) array of str: see the class."""
        check_is_fitted(self)
        return np.array(self.posterior_["posterior"].dataset["feature"].values.tolist(), dtype=object)

    @abstractmethod
    def _prepare(self, X: Any, *rows: Any) -> Setup:
        """Return all that comes before the first draw, or refuse options or data."""

    def _correct(self, setup: Setup, draws: Draws) -> Draws:
        """Return the draws in place of those that the chains made, when these have ended."""
        return draws

    def _finish(self, setup: Setup, draws: Draws) -> Draws:
        """Return the draws as they are judged and stored."""
        return draws

    def _impute(self, setup: Setup) -> None:
        """Store the probabilities of missing values."""

    @abstractmethod
    def _summarise(self) -> None:
        """Set the attributes that sum up the tree, and depend on it alone."""

    def _judge_data(self, setup: Setup) -> None:
        """Warn of what is wrong with the data, or with all chains."""

    @abstractmethod
    def _checks(self, setup: Setup, rng: np.random.Generator) -> Checked | None:
        """Compare the data with tables that the posterior predicts; None where that is not possible."""

    def _doubt(self, setup: Setup, draws: Draws, has_converged: bool) -> None:
        """Warn of what this estimator alone has."""


class Posterior(Statements, Sensitive, Observations, Sampled):
    """Estimators of posteriors: `GroupedMRF`, `BayesianMRF`, `SpikeSlabMRF` and `CompareMRF`.

    Such an estimator has parameters, the target of its chains and their kernel (`_target`), and what it sums up.
    """

    _needs_edges: ClassVar[bool] = True
    _method_option: ClassVar[str] = "method"  # or "kernel"
    _of_silent: ClassVar[str] = "Their inclusion and weights are"  # what the prior determines

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
        return self._fit(X, sample_weight, None, survey_weight)

    def check(self, X: Any, sample_weight: Any = None, survey_weight: Any = None) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, sample_weight, survey_weight=survey_weight)

    def _impute(self, setup: Setup) -> None:
        theta = variable(self.posterior_, "phi" if "phi" in self.posterior_["posterior"] else "theta")
        self.missing_ = missing_table(setup.likelihood, theta, setup.parts, setup.seeds)
        if len(self.missing_):
            results.add_missing(self.posterior_, self.missing_)

    def _judge_data(self, setup: Setup) -> None:
        check_modes(self, setup.parts, setup.seeds, setup.sweeps)
        warn_of_rare_levels(setup.parts, self._graph)
        if not warn_of_forgotten_counts(setup.parts):
            warn_of_dependent_rows(setup.parts)
        warn_of_weights(setup.parts)
        warn_of_survey(setup.parts, self._labels)

    def _checks(self, setup: Setup, rng: np.random.Generator) -> Checked | None:
        if is_weighted(setup.parts) or not can_be_checked(self):  # tables from the posterior have no weights
            return None
        parts: list[Any] = list(enumerate(setup.parts)) if len(setup.parts) > 1 else [(None, setup.parts[0])]
        return checks_of(self, parts, rng)

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
        model, samples = found.likelihood.model, found.likelihood.samples
        self._name_choices(model.name, found.method)
        attrs: dict[str, Any] = {"data_hash": hash_of_samples(self._graph, samples), "model": model.name}
        attrs |= {"chosen_model": self._chooses, "method": found.method}
        attrs |= {SURVEYED: n_rows(parts)} if is_weighted(parts) else {}
        sizes, sums = [sample.n_samples for sample in samples], [sample.s_bar for sample in samples]
        statistics = sums if len(samples) > 1 else sums[0]
        return found._replace(
            attrs=found.attrs | attrs,
            observed={"statistics": statistics, "n_samples": sum(sizes), "group_sizes": sizes},
            constant={**found.constant, **({FIELD: not_identified} if not_identified.any() else {})},
        )

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
        kept, option = super()._kept(), self._edges_option
        is_text = isinstance(kept.parameters[option], str)
        return kept if is_text else kept._replace(parameters=kept.parameters | {option: self._graph})

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

    def _summarise(self) -> None:
        """Set the attributes that sum up the tree, and depend on it alone."""
        self._name_choices(self.posterior_.attrs["model"], self.posterior_.attrs["method"])
        self.theta_ = Columns(variable(self.posterior_, "theta")).means()


def completed(kernel: Any, likelihood: Likelihood) -> Any:
    """Return a kernel for complete data with missing ones drawn before each step, if there are any."""
    if all(sample.hidden is None for sample in likelihood.samples):
        return kernel
    return DrawHiddenEntries(kernel, likelihood)
