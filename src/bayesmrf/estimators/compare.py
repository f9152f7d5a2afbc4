"""Do the networks of several groups of people differ, and in which edges?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..answers.loo import compute as loo
from ..answers.networks import of_differences, symmetric, with_attributes
from ..answers.result import Priors
from ..answers.sensitivity import compute as sensitivity
from ..data.group_labels import check_compared, check_group, code_of, read_groups, warn_of_absent_levels
from ..data.states import States
from ..errors import OptionError
from ..families import AUTO, families_of
from ..families import Custom as CustomModel
from ..inference.chains import Persistent
from ..inference.elimination.engine import Elimination
from ..methods import COMPARISONS
from ..methods.rows import row_of
from ..models.bases import has_contrasts
from ..models.node_features import require_invariant_biases
from ..parameters import CompareParameters
from ..posterior.edges.differences import DifferencePrior, check_size, contrasts, group_likelihood
from ..priors import SpikeSlab
from ..results.blocks import Columns, mean_of, variable
from ..results.differences import compared, exist_in_groups
from ..results.display import display_in
from ..results.median_model import in_median_model
from ..results.stored import Kept
from ..runs.run import Draws
from ..types import Column, Rows, Seed, Stored, Weights
from .bank_error import judge_bank
from .built_kernels import edge_method
from .comparison_methods import DifferencesProblem
from .edge_evidence import evidence_table, terms_of_differences
from .edge_prior import as_attribute, constants, default_prior, in_order, in_words, like, warn_of_taper
from .engines import read_sample
from .fitted_priors import spiked_priors
from .network import Traits
from .pipeline import Setup, completed
from .posterior import Posterior
from .predictive_checks import check_new
from .refit import refit

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import xarray as xr

_PRIORS = "prior", "baseline"  # parameters
_EXACT = 2**18  # joint states with which "auto" is "exact": up to 10 ms a scan


@dataclass(eq=False, repr=False)
class CompareMRF(CompareParameters, Posterior):
    r"""Posterior of the differences between the networks of two or more groups of people.

    The weight of edge uv in group g is

    .. math:: w_{guv} = b_{uv} + c_g \cdot d_{uv},

    a baseline b, the mean over groups, and a difference d, which is 0 (the groups do not differ in this edge) with
    probability 1 - p0, and has a normal or Cauchy distribution otherwise. Two groups have the weights
    :math:`b \mp d / 2`. With G > 2 groups d has G - 1 coordinates, which are 0 or not together, and a spherical
    distribution such that the difference of any two groups has the scale of the slab. The biases (or thresholds) of
    nodes are free in each group.

    Parameters
    ----------
    candidates : "complete", edges, DataFrame, networkx graph or `Graph`
        Edges that may have a weight.
    prior : "spike-slab" or `priors.SpikeSlab`
        Prior of the differences: of p0, the share of the edges that differ, and of the size of a difference; and of the
        biases. "spike-slab" has p0 = 1/2, so that the Bayes factor of an edge does not depend on how many others
        differ, Cauchy differences of scale 1, and normal biases of scale 10.
    baseline : "slab", "spike-slab", or an object of `priors`
        Prior of the baselines: "slab", the slab of ``prior`` for every edge; "spike-slab", the same slab and a spike,
        with a p0 of its own that is uniform on (0, 1), so that baselines may be absent; or another slab
        (`priors.Cauchy`, `priors.Normal`) or `priors.SpikeSlab`, whose biases are those of ``prior``.
    biases : {"free", "slab", "spike-slab"}
        Biases (thresholds) are free in each group; or have a baseline, with the prior of biases, and a difference, with
        the slab of the differences of edges, or their spike and slab.
    method : {"auto", "exact", "reversible-jump"} or an object of `bayesmrf.methods`
        * auto: exact with at most 2^18 joint states (18 yes/no columns, seven columns of five levels), else
          reversible-jump. ``method_`` says which.
        * exact (`methods.Exact`): all joint states of the nodes, at most 2^23, are summed over in each group.
        * reversible-jump (`methods.ReversibleJump`): log Z from a bank of states of each group, or moments from
          persistent chains that follow its parameters; they are never extrapolated.

        ``methods.Custom`` makes your own kernel from the likelihood and the priors.
    model : {"auto", "boltzmann", "ordinal", "potts"}, object of `bayesmrf.families` or callable
        Weights and biases of yes/no columns, weights and thresholds of ordered answers, or couplings and fields of
        columns with the same levels in any order, as in `BayesianMRF`. A callable makes your own model
        (`families.Custom`), as in `SpikeSlabMRF`. A level that a group never has stays in the model, with its prior; so
        does a column that is constant in one group.
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, executor, progress, checkpoint, columns
        As in `GroupedMRF`.

    Attributes
    ----------
    groups_ : (n_groups,) array
        Labels of the groups, sorted; categories in their order.
    difference_inclusion_ : (n_nodes, n_nodes) array
        Probability that the groups differ in an edge; symmetric, 0 without a candidate.
    edge_inclusion_ : (n_nodes, n_nodes) array
        Probability that an edge exists, because its baseline is present or the groups differ in it; in both cases it
        exists in all groups. Symmetric, 0 without a candidate. Below 1 only if baselines may be absent.
    weights_ : (n_groups, n_nodes, n_nodes) array
        Posterior mean of the weight of each edge in each group, given that the edge exists; symmetric, 0 without a
        candidate, and if the edge never exists. Of an edge with a table it is the strength of its mean.
    theta_ : (n_groups, n_features) array
        Posterior means of the weights of each group, given that the edge exists (0 if it never does), and of its
        biases.
    graph_ : networkx.Graph
        Edges in which the groups differ with a probability above 0.5, with the attributes ``inclusion`` and
        ``difference``: the mean weights of the other groups minus that of the first (an array if they are several).
    graphs_ : dict of label to networkx.Graph
        The network of each group: edges with ``weight``, nodes with ``bias``. If baselines may be absent, it has the
        edges with `edge_inclusion_` above 0.5.
    density_ : float
        Posterior mean of p0.
    method_, model_ : str
        Names of the method and of the model.
    missing_ : DataFrame
        Row and node of each missing value of X, and the posterior probability that it is 1 (for "ordinal", of each
        level).
    posterior_ : xarray.DataTree
        Draws in ArviZ's form: ``theta`` (chain, draw, group, feature), ``included`` (chain, draw, edge).
    edges_, feature_names_
        As in `SpikeSlabMRF`.

    Examples
    --------
    >>> from bayesmrf import CompareMRF, datasets
    >>> men = datasets.coronary()
    >>> est = CompareMRF(n_draws=300, random_state=1, progress=False)
    >>> est = est.fit(men[["B", "C", "D"]], men["A"], sample_weight=men["count"])
    >>> print(est.table("differences")[["first", "second", "evidence"]].to_string(index=False))
    first second     evidence
        B      C inconclusive
        B      D weakly equal
        C      D weakly equal
    """

    _readers = {"method": COMPARISONS.read, "model": families_of("CompareMRF").read}  # noqa: RUF012
    _edges_option = "candidates"
    _traits = Traits(silent="The differences between groups in them are", priors=_PRIORS)

    @property
    def _labels(self) -> Sequence[Any]:
        return list(self.groups_.tolist())

    def _object(self, name: str) -> Any:
        """Build the object that the value of a parameter stands for."""
        if name == "prior" and isinstance(self._settings.prior, str):
            return replace(default_prior(self._object("model")), density=0.5)
        if name == "baseline":
            prior, baseline = self._object("prior"), self._settings.baseline
            if isinstance(baseline, str):
                baseline = prior.slab if baseline == "slab" else SpikeSlab(slab=prior.slab)
            return baseline.with_biases_of(prior)  # which have one prior
        return super()._object(name)

    def fit(
        self, X: Rows, groups: Column = None, sample_weight: Weights = None, survey_weight: Weights = None
    ) -> CompareMRF:
        """Sample the posterior.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Yes/no data in one coding or, for "ordinal", ordered levels. Missing values (NaN) are drawn with the
            parameters.
        groups : (n_samples,) sequence
            Label of the group of each row: texts, numbers, or categories (pandas, polars' ``Enum``), whose order is
            that of the groups; a Series with the index of ``X``. No label may be missing or blank.
        sample_weight : (n_samples,) array, optional
            How many times each row was seen: integers >= 0; a Series with the index of ``X``.
        survey_weight : (n_samples,) array, optional
            Weights of a survey, as in `SpikeSlabMRF.fit`; they are scaled in each group separately.
        """
        return cast(CompareMRF, self._fit(X, sample_weight, groups, survey_weight))

    def check(  # type: ignore[override]
        self, X: Rows, groups: Column = None, sample_weight: Weights = None, survey_weight: Weights = None
    ) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, sample_weight, groups, survey_weight)

    def _follow(self, tree: xr.DataTree, kept: Kept) -> None:
        super()._follow(tree, kept)
        self.groups_ = np.array(kept.labels, dtype=object)

    def _parts(self, states: States, X: Any, groups: Any) -> list[States]:
        self.groups_, code = read_groups(groups, X, len(X))
        code = code[states.given_rows]
        parts = [states.at(np.flatnonzero(code == g)) for g in range(len(self.groups_))]
        for label, part in zip(self.groups_, parts, strict=True):
            check_group(label, part)
        check_compared(parts)
        warn_of_absent_levels(self.groups_, parts)
        return parts

    def _target(self, parts: list[States], request: None) -> Setup:
        model = self._model()
        require_invariant_biases(self._object("prior"), model)
        if isinstance(self._family, CustomModel):
            like(model)
        if self._settings.biases != "free" and has_contrasts(model).any():
            # Contrasts with priors of their own would depend on the order of the categories.
            raise OptionError(option="biases", got=self._settings.biases, expected="'free' with columns without order")
        n_states = prod([model.n_states] * model.graph.n_nodes)
        chosen = "exact" if n_states <= _EXACT else "reversible-jump"
        row = row_of(chosen if self._settings.method == AUTO else self._settings.method, COMPARISONS)
        method = row.options() if isinstance(self._settings.method, str) else self._settings.method
        if row.name == "exact":
            check_size(model)
        samples = [read_sample(model, part, Elimination()) for part in parts]
        contrast = contrasts([s.n_samples for s in samples])
        likelihood = group_likelihood(model, samples, contrast, Persistent(), self._settings.biases)
        of_differences, of_baselines = (in_order(self._object(name), self._graph) for name in _PRIORS)
        prior = DifferencePrior(contrast, of_differences, of_baselines, self._settings.biases)
        problem = DifferencesProblem(likelihood, prior, self._settings.n_warmup, parts)
        built, row = edge_method(COMPARISONS, row, method, problem)
        attrs = {
            "prior": as_attribute(prior.prior),
            "baseline": in_words(prior.baseline),
            "kind": row.kind,
        } | built.attrs
        constant = constants(prior.prior, self._graph) | constants(prior.baseline, self._graph, "baseline_probability")
        setup = parts, likelihood, completed(built.kernel, likelihood), row.name, attrs, built.sweeps
        return Setup(*setup, constant=constant, edges=terms_of_differences(likelihood, prior, row.name == "exact"))

    def _summarise(self) -> None:
        super()._summarise()
        display = display_in(self.posterior_)
        exist = Columns(variable(self.posterior_, "theta"), 0, None, exist_in_groups, display)
        self.difference_inclusion_ = symmetric(self._graph, Columns(variable(self.posterior_, "included")).means())
        share = exist.means()
        self.edge_inclusion_ = symmetric(self._graph, share)
        starts = display.edge_starts
        self.theta_[:, : starts[-1]] /= np.repeat(np.where(share > 0, share, 1), np.diff(starts))
        self.weights_ = np.array([symmetric(self._graph, weights) for weights in display.numbers(self.theta_)])
        self.density_ = mean_of(self.posterior_, "density")

    def _doubt(self, setup: Setup, draws: Draws, has_converged: bool) -> None:
        if setup.attrs.get("moments") == "bank":
            judge_bank(self.posterior_, setup.likelihood.model, setup.kernel)
        row = COMPARISONS.find(self.method_)
        priors = [self._object(name) for name in _PRIORS] if row is not None and row.births == "any" else []
        # Baselines may have the slab of differences.
        for slab in dict.fromkeys(p.slab for p in priors if p.has_spike):
            warn_of_taper(slab)

    def score(  # type: ignore[override]
        self, X: Rows, groups: Column, sample_weight: Weights = None, average: str = "bayes", clamped: Any = None
    ) -> float:
        r"""Compute the mean log predictive density of an observation in the network of its group, in nats.

        .. math:: \log p(x \mid g) = \log \frac1K \sum_{k=1}^K \exp(\theta_{kg} \cdot s(x) - \log Z(\theta_{kg})),

        where :math:`\theta_{kg}` are the parameters of group g in 100 draws. ``groups`` has the label of the group of
        each row, one of ``groups_``, and is a Series with the index of ``X`` or another sequence.

        It can be compared with the score of one network for all rows, such as that of `bayesmrf.SpikeSlabMRF`. Log Z is
        computed, and an `ApproximateScoreWarning` given, as by `SpikeSlabMRF.score`: ``score_kind_`` says whether log Z
        is exact in all groups, and ``log_z_error_`` is its mean standard error over the draws of all groups. Missing
        values are summed out, and nodes ``clamped`` to their values, as there.
        """
        return self._mixture.score(X, average, sample_weight, groups, clamped)

    def score_samples(  # type: ignore[override]
        self, X: Rows, groups: Column, average: str = "bayes", clamped: Any = None
    ) -> np.ndarray:
        """Compute the log predictive density of each row in the network of its group; see `score`."""
        return self._mixture.score_samples(X, average, groups, clamped)

    def sample(  # type: ignore[override]
        self,
        n_samples: int = 1,
        group: Any = None,
        random_state: Seed = None,
        average: str = "bayes",
        clamped: Any = None,
    ) -> np.ndarray:
        """Draw states from the network of the group with the label ``group``; see `SpikeSlabMRF.sample`."""
        mixture, random_state = self._mixture, self.random_state if random_state is None else random_state
        return mixture.sample(n_samples, random_state, average, clamped, code_of(group, self.groups_))

    def predict_conditional(  # type: ignore[override]
        self, X: Rows, groups: Column, nodes: Sequence[str | int], average: str = "bayes"
    ) -> np.ndarray:
        r"""Compute the probability of each joint state of some nodes, given the other nodes of each row and its group.

        .. math:: p(x_A \mid x_{-A}, g) = \frac1K \sum_{k=1}^K p(x_A \mid x_{-A}, \theta_{kg}),

        exactly for each draw; see `SpikeSlabMRF.predict_conditional`.
        """
        return np.exp(self._mixture.conditional(X, nodes, average, is_read=False, groups=groups))

    def conditional_log_likelihood(  # type: ignore[override]
        self, X: Rows, groups: Column, nodes: Sequence[str | int], average: str = "bayes"
    ) -> np.ndarray:
        """Compute the log of `predict_conditional` at the states that X has, (n_samples,)."""
        return self._mixture.conditional(X, nodes, average, is_read=True, groups=groups)

    def predictive_checks(  # type: ignore[override]
        self, X: Rows, groups: Column, sample_weight: Weights = None, random_state: Seed = None
    ) -> pd.DataFrame:
        """Compare a table with tables from the networks of the groups; see `SpikeSlabMRF.predictive_checks`."""
        return check_new(self, X, sample_weight, random_state, groups)

    def sensitivity(  # type: ignore[override]
        self,
        X: Rows,
        groups: Column,
        sample_weight: Weights = None,
        checkpoint: Stored = None,
        survey_weight: Weights = None,
    ) -> pd.DataFrame:
        """Compute how the evidence for differences depends on their prior; see `SpikeSlabMRF.sensitivity`."""
        of_rows = {"groups": groups, "sample_weight": sample_weight, "survey_weight": survey_weight}
        sensitivity.compute(self._result, refit(self, X, of_rows, checkpoint))
        return self.table("sensitivity")

    def add_log_likelihood(  # type: ignore[override]
        self, X: Rows, groups: Column, sample_weight: Weights = None, n_draws: int | None = None
    ) -> pd.DataFrame:
        """Add the log likelihood of each person in the network of its group; see `SpikeSlabMRF.add_log_likelihood`."""
        loo.compute(self.posterior_, self._mixture, X, sample_weight, n_draws, groups)
        return self.table("loo")

    evidence_table = evidence_table

    def _priors(self) -> Priors:
        return spiked_priors(self._graph, self._object("prior"), self._object("baseline"), len(self.groups_))

    @property
    def graphs_(self) -> dict[Any, nx.Graph]:
        """The network of each group: edges with ``weight``, nodes with ``bias``; see the class."""
        check_is_fitted(self)
        networks = [with_attributes(self._graph, self._model(), theta) for theta in self.theta_]
        absent = np.array(self._names, dtype=object)[self.edges_[~in_median_model(self._inclusion)]].tolist()
        for network in networks:
            network.remove_edges_from(absent)
        return dict(zip(self.groups_, networks, strict=True))

    @property
    def _inclusion(self) -> np.ndarray:
        return np.asarray(self.edge_inclusion_[tuple(self.edges_.T)])

    @property
    def graph_(self) -> nx.Graph:
        """Edges in which the groups differ with a probability above 0.5; see the class."""
        check_is_fitted(self)
        return of_differences(self._graph, self.weights_, self.difference_inclusion_)

    def compare(self, draws: xr.DataArray, probability: float = 0.9) -> pd.DataFrame:
        """Compare a quantity of the groups, such as `strength`: its posterior in each, and the pairwise differences.

        Parameters
        ----------
        draws : xarray.DataArray
            From `statistic` or `strength`.
        probability : float
            Of the central intervals.

        Returns
        -------
        DataFrame
            Columns mean, lower, upper; one row for each group and for each difference "b - a" of two groups, for each
            value of the quantity.
        """
        check_is_fitted(self)
        return compared(draws, probability)
