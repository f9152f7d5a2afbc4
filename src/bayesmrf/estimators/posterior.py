"""Estimators of posteriors of a network: their one face, and what comes before their first draw."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, cast

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..answers.loo import compute as loo
from ..answers.result import Priors, Result
from ..answers.sensitivity import compute as sensitivity
from ..answers.statements import compute as statements
from ..answers.statements.probability import Probability
from ..answers.statistics import compute as answers
from ..data.states import States
from ..results.blocks import Columns, variable
from ..results.log_prior import add_log_prior
from ..results.statistics import INTERVAL
from ..results.stored import Kept
from ..types import Rows, Seed, Weights
from .base import missing_in
from .edge_prior import in_order
from .network import Network
from .pipeline import Sampled, Setup
from .predictive_checks import check_new
from .prepared import name_choices, prepare
from .refit import refit

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Posterior(Sampled, Network, BaseEstimator):
    """Estimators of posteriors: `GroupedMRF`, `BayesianMRF`, `SpikeSlabMRF` and `CompareMRF`.

    Such an estimator has parameters, the target of its chains and their kernel (`_target`), and what it sums up.
    """

    def fit(self, X: Rows, y: None = None, sample_weight: Weights = None, survey_weight: Weights = None) -> Self:
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
        return cast(Self, self._fit(X, sample_weight, None, survey_weight))

    def check(self, X: Rows, sample_weight: Weights = None, survey_weight: Weights = None) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, sample_weight, survey_weight=survey_weight)

    def predictive_checks(self, X: Rows, sample_weight: Weights = None, random_state: Seed = None) -> pd.DataFrame:
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
        return check_new(self, X, sample_weight, random_state)

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
        check_is_fitted(self)
        return answers.interval(self.posterior_, probability)

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
        if communities is None:  # those of the posterior, if the prior has blocks
            communities = self._of_fit.get("communities_")
        return answers.statistics(self._result, names, communities, probability, between, n_draws)

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
        return answers.statistic(self._result, function, of, name)

    def strength(self) -> xr.DataArray:
        """Compute the posterior of the strength centrality, the sum of absolute weights of the edges of each node.

        The weight of an edge with a table is the root mean square of its log odds ratios (`models.nominal.Nominal`).

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw, group where there are several, and node.
        """
        return answers.strength(self._result)

    def correlation(self) -> xr.DataArray:
        """Compute the posterior of the marginal correlation along each edge, by exact elimination at each draw."""
        return answers.correlation(self._result)

    def probability(
        self, statement: str | Callable[..., Any], n_prior: int | None = None, random_state: Seed = 0
    ) -> Probability:
        """Compute the posterior probability of a statement, its prior probability, and its Bayes factor.

        Parameters
        ----------
        statement : str or callable
            Comparisons of the weights of edges, joined by ``&``: ``"A--B > A--C"``, ``"A--B = 0 & B--C > 0.5"``. An
            edge alone, ``"A--B"``, stands for ``"A--B != 0"``. The weight of an absent edge is 0. Names with signs such
            as ``--`` or ``&`` in them are in quotes; names with spaces need none. With several groups of people each
            edge has its group: ``"A--B [g] > A--B [h]"``. An edge
            with a table of log odds has its strength, and so has an edge that it is compared with: the size of its
            weight. Or a function that returns whether a networkx graph of the edges
            that exist, with the attribute ``weight``, is as stated; of several groups of people, of the graph of each.
        n_prior : int, optional
            Number of draws from the prior; by default 100,000, and 2,000 for a function.
        random_state : int, Generator, RandomState or None
            For these.

        Returns
        -------
        Probability
            With its Monte Carlo error, the prior probability (exact for comparisons of different edges with 0, or one
            of two edges or of an edge in two groups; else simulated), and the
            Bayes factor against the complement with the error of its log10. The prior probability of groups of edges
            (`GroupedMRF`), of parameters that are shared, and of priors that cannot be drawn from is not known: it is
            NaN.

        Raises
        ------
        OptionError
            If the statement cannot be read.
        """
        return statements.compute(self._result, statement, n_prior, random_state)

    def sensitivity(
        self,
        X: Rows,
        sample_weight: Weights = None,
        checkpoint: str | PathLike[str] | None = None,
        survey_weight: Weights = None,
    ) -> pd.DataFrame:
        """Compute how the evidence for each edge depends on its prior: its inclusion, and the scale of its slab.

        Prior inclusion (a fixed p0 for all candidates) goes from 0.1 to 0.9 under the slab of the fit, and the scale of
        the slab from a quarter to four times that of the fit under its density. The draws of the fit are joined with
        those of at most four more runs along each path, each with as many draws, and made in the middle of the longest
        stretch of priors of which the runs so far tell too little (fewer than 1,000 effective draws;
        docs/sensitivity.md): first from 0.2 to 0.8 and from half to double the scale, then of the whole path. Groups of
        edges (`GroupedMRF`), whose weights have no slab, have the first path, and a density of blocks, whose p0 is not
        one number, the second.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            The data of the fit, which a stored run does not have.
        sample_weight : (n_samples,) array, optional
            As in the fit.
        checkpoint : path, optional
            Folder in which the runs are stored, each as a checkpoint, and from which they continue.
        survey_weight : (n_samples,) array, optional
            As in the fit.

        Returns
        -------
        DataFrame
            The table "sensitivity": ``prior`` ("inclusion" or "scale") and its ``value``, the shares of edges
            in each category of evidence, the effective number of draws, and whether these suffice
            (``trusted``). ``table("sensitivity-edges")`` has the inclusion and Bayes factor of each edge.

        Raises
        ------
        OptionError
            If no edge may be absent.
        DataError
            If X is other data than that of the fit.

        Warns
        -----
        ConvergenceWarning
            If some of the runs have not converged.
        """
        of_rows = {"sample_weight": sample_weight, "survey_weight": survey_weight}
        sensitivity.compute(self._result, refit(self, X, of_rows, checkpoint))
        return self.table("sensitivity")

    def add_log_likelihood(self, X: Rows, sample_weight: Weights = None, n_draws: int | None = None) -> pd.DataFrame:
        """Add the log likelihood of each observation under each draw to ``posterior_``, as ArviZ's `loo` reads it.

        Group ``log_likelihood`` has log p(x | theta) of each person; values that are missing are summed out. A row of
        weight 3 is three persons: leave-one-out leaves one of them out, and the other two stay. Group ``normaliser``
        has log Z of each draw and its standard error, 0 where it is exact (by elimination), else by annealed importance
        sampling as in `score`. That error is common to all persons, so that it counts n times in their sum. Group
        ``prediction`` has, for each node, the share of persons whose answer is the most probable one given their
        other answers (averaged over 100 draws), and that of the most frequent answer, the base rate.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Mostly the data of the fit, which a stored run does not have. Rows without any answer are left out.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0.
        n_draws : int, optional
            Evenly spaced draws of each chain that are used; None for all, which `arviz_stats.psense` needs.

        Returns
        -------
        DataFrame
            The table "loo".

        Raises
        ------
        OptionError
            If there are more than 2^28 log likelihoods.

        Warns
        -----
        ApproximateScoreWarning
            If the error of log Z may change the sum over persons by more than 1 nat.
        """
        loo.compute(self.posterior_, self._mixture, X, sample_weight, n_draws)
        return self.table("loo")

    def add_log_prior(self) -> None:
        """Add the log prior density of each draw to ``posterior_``, term by term, as `arviz_stats.psense` reads it.

        Group ``log_prior`` has the terms "density" (the probability of the graph, p0 integrated out), "slab" (of the
        weights of the edges that exist) and "biases"; of `CompareMRF` the first two are those of the differences, and
        "baseline" is that of the baselines; of `BayesianMRF` there are "weights" and "biases". A power of a slab is not
        normalised, and would change the prior odds of each edge. The mean of its log under the slab is therefore
        subtracted for each weight that exists: then it is, up to the square of the power less 1.

        Raises
        ------
        OptionError
            If the prior is that of groups of edges.
        """
        add_log_prior(self.posterior_, self._result.priors.log_terms(self.posterior_))

    @property
    def _result(self) -> Result:
        """What answers may know of the fit."""
        check_is_fitted(self)
        of_model = self._graph, self._family, self._coding, bool(self._settings.fields)
        return Result(self.posterior_, *of_model, self._labels, self._priors)

    @abstractmethod
    def _priors(self) -> Priors:
        """Return the priors of the fit."""

    def _prepare(self, X: Any, sample_weight: Any = None, groups: Any = None, survey_weight: Any = None) -> Setup:
        return prepare(self, X, sample_weight, groups, survey_weight)

    def _follow(self, tree: xr.DataTree, kept: Kept) -> None:
        self._graph, self.edges_, self._log_z = kept.graph, kept.graph.edges, {}
        self.model_ = tree.attrs["model"]
        self._family = self._object("model")
        self.missing_ = missing_in(tree)

    def _kept(self) -> Kept:
        """Return what is stored of this estimator; the graph of the data stands for given edges."""
        kept, option = super()._kept(), self._edges_option
        edges = {} if isinstance(kept.parameters[option], str) else {option: self._graph}
        priors = {name: in_order(getattr(self._settings, name), self._graph) for name in self._traits.priors}
        return kept._replace(parameters=kept.parameters | edges | priors)

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
        name_choices(self, self.posterior_.attrs["model"], self.posterior_.attrs["method"])
        self.theta_ = Columns(variable(self.posterior_, "theta")).means()
