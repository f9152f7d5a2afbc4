"""Groups of edges that share a parameter."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import convergence, partitions, results
from ..base import Engine
from ..data.dependent_rows import tell_of_rows
from ..data.states import States
from ..declare.option import check
from ..declare.rule import is_integer
from ..errors import ApproximatePosteriorWarning, OptionError, argument, in_words, instead_of_exact
from ..families import families_of
from ..findings import recorded, tell
from ..inference.auto import choose
from ..inference.elimination.two_states import Elimination
from ..learning.matched_moments import warn_unless_matched
from ..learning.maximum_likelihood import bound
from ..likelihood import Likelihood
from ..methods import GROUPS, Custom, MethodRow, Particle, kind_of, row_of
from ..models.categorical import is_categorical, states_of
from ..posterior.groups.auxiliary_variable import GroupedAuxiliaryVariable
from ..posterior.groups.exact import ExactMarginals
from ..posterior.groups.gibbs import GroupedGibbs
from ..posterior.hidden_entries import DrawHiddenEntries
from ..priors import Beta, DirichletProcess, Gamma, MultivariateNormal
from .base import data_hash, missing_table, require_edges, run_seed, sample_posterior, warn_of_unbalanced
from .engines import particle_sweeps, read_sample
from .grouped_methods import KERNELS, Problem, Request, choose_method, read
from .grouped_start import GroupedStart, find_start
from .mode_check import check_modes
from .own_kernels import engine_used, own_method_of_groups
from .parameter_posterior import ParameterPosterior
from .rarely_observed import rarely_observed, tell_of_rare

_SWEEPS = 10  # of all particles take less time than a scan of the edges
_NOISE = 0.32  # noise of particles in the log likelihood of an edge, in nats; not exceeded with ten per observation


class _Prepared(NamedTuple):
    """All that comes before the first draw; ``how`` names the method of the estimate where chains start."""

    request: Request
    states: States
    likelihood: Likelihood
    start: GroupedStart
    kernel: Any
    method: Any
    row: MethodRow
    seeds: np.random.SeedSequence
    how: str


@dataclass(eq=False, repr=False)
class GroupedMRF(ParameterPosterior):
    """Posterior of the groups of edges that share a parameter (Liu and Page 2013).

    The model: ``p(x) ~ prod_c a_c^[x_u = x_v] (1 - a_c)^[x_u != x_v]`` over the edges c = (u, v) of a graph, with
    a_c ~ G, G ~ DP(alpha, Beta(a, b)). See `bayesmrf.models.agreement.Agreement`.

    Parameters
    ----------
    graph : edges, DataFrame, networkx graph, `Graph`, "complete" or "learn:K"
        The edges, as pairs of column names or numbers. "learn:K" learns K edges by L1-penalised neighbourhood
        selection.
    candidates : as ``graph``, or None
        Instead of ``graph``, the edges that may exist. Each exists with the probability p0 of the prior, and existing
        edges share values.
    model : {"auto", "agreement", "ordinal", "potts", "symmetric"}, object of `bayesmrf.families` or callable
        * auto: ordinal if columns have more than two ordered levels, as in `BayesianMRF`, else agreement.
        * agreement: two states, as above.
        * ordinal: ordered levels, a number of them for each node; groups share a weight.
        * potts: many states, the same factor for each edge: `families.Potts`.
        * symmetric: many states, and a symmetric table of log potentials for each edge, which groups share:
          `families.Symmetric`.
        * A callable makes your own model from the `Graph` (`families.Custom`), a `PairwiseModel` whose features of
          edges are 0 or 1, or products of scores. Groups share the parameters of an edge, with the normal base of
          tables, by the methods exact and particle.
    fields : {False, True, "grouped"}
        Whether nodes have a field h_u, N(0, 10^2), sampled or (stripped-beta) at its tied maximum likelihood estimate;
        "grouped": fields shared by groups of nodes, by a Dirichlet process with a separate alpha with the same prior.
        Without fields the model implies that yes is as frequent as no in every column: independent columns with 85 %
        yes get strong edges. False warns (`FieldsWarning`) if a column contradicts that.
    prior : "dirichlet-process" or `priors.DirichletProcess`
        Such as ``DirichletProcess(alpha=Gamma(2, 1), base=Beta(1, 1), density=Beta(5, 5))``: a concentration, fixed or
        with a Gamma prior; the base distribution of an agreement, or of a weight of ordered levels (Normal(1) by
        default) or of the free entries of a table (Normal(1), or MultivariateNormal); and the prior of p0, with which
        edges may be absent. By default alpha = 1, a uniform base and, with ``candidates``, p0 ~ Beta(5, 5).
    method : str or an object of `bayesmrf.methods`
        `bayesmrf.support` lists which models, fields and priors each method supports.

        * auto: exact if elimination is cheap, else particle; with ``fields=False`` tree on forests. ``method_`` says
          which.
        * tree: exact, for forests, with ``fields=False``.
        * exact: exact, if elimination fits in memory.
        * particle: any graph; the full conditional distribution of one edge with moments from many particles, and
          splits and merges of groups: `methods.Particle`.
        * auxiliary-variable: Metropolis-Hastings with particles: `methods.AuxiliaryVariable`.
        * stripped-beta: approximate, for any graph, fast; overestimates the number of groups.

        ``methods.Custom`` makes your own kernel from the likelihood and the prior. It does not support grouped fields.
    n_draws, n_warmup, n_chains, thin : int
        Draws per chain, warm-up steps, number of chains, and steps per draw.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Number of chains run in parallel; None for one per core. Draws do not depend on it.
    executor : concurrent.futures.Executor, dask.distributed.Client or None
        Workers that run the chains, instead of threads (`bayesmrf.runs.run.sample`). Draws do not depend on them. It is
        shared by clones, and not pickled.
    progress : bool
        Whether to show progress: bars on a terminal, elsewhere a line a minute on standard error.
    checkpoint : path, `bayesmrf.Checkpoint` or None
        Zarr folder in which the run is saved, and from which a stopped run continues;
        ``Checkpoint(path, overwrite=True)`` replaces another run.

    Attributes
    ----------
    agreement_ : (n_edges,) array
        Posterior mean of each edge's agreement. For the model ordinal it is the logistic function of half its weight:
        the probability that two ends that are each in one of two adjacent categories, with even odds, are both in the
        lower or both in the higher one.
    theta_ : (n_features,) array
        Natural parameters: logit of ``agreement_`` (for the models ordinal and symmetric and your own, the posterior
        mean of the weights or tables), and posterior mean fields.
    potential_ : (n_edges, n_states, n_states) array
        For the model symmetric and your own, the posterior mean of each edge's table; ``agreement_`` is then that of
        the table (`bayesmrf.models.two_arrays.TwoArrays.agreement`).
    groups_ : (n_edges,) int array
        The partition that minimises the posterior expected variation of information. With a spike, of the edges with
        inclusion above 0.5, and -1 for the others.
    n_groups_ : pandas.Series
        Posterior probability of each number of groups.
    inclusion_ : (n_nodes, n_nodes) array
        With a spike, the probability that an edge exists; symmetric, 0 without a candidate.
    density_ : float
        With a spike, the posterior mean of p0.
    field_groups_ : (n_nodes,) int array
        With ``fields="grouped"``, the partition of the nodes that minimises the expected variation of information.
    method_, model_ : str
        Names of the method and of the model.
    mle_ : (n_edges,) array
        Maximum likelihood agreements, which ignore groups; without a spike. Missing values are summed over where that
        is exact; otherwise the estimate is that of the means over the rows that show both ends of an edge. For the
        model symmetric, the posterior mode without groups. ``posterior_.attrs["mle_method"]`` says which. Where it is
        by persistent chains, a `ConvergenceWarning` says if means of statistics are far from those of the data. Chains
        start from it; the posterior depends on it by the methods stripped-beta and auxiliary-variable only.
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    missing_ : DataFrame
        Row and node of each missing value of X, and the posterior probability that it is 1 (True), or of each of many
        states.
    edges_ : (n_edges, 2) int array
    feature_names_ : (n_features,) array of str
        Names of ``theta_``: ``u-v`` for an edge, ``u`` for a node.
    graph_ : networkx.Graph
        Edges (with a spike, those with inclusion above 0.5) carry ``weight``, ``agreement``, ``group`` and, with a
        spike, ``inclusion``; nodes carry ``bias`` and ``group`` where they have them.
    """

    read = {  # noqa: RUF012
        "model": families_of("GroupedMRF").read,
        "prior": lambda _: DirichletProcess(),
        "method": GROUPS.read,
    }
    yes_no = "agreement"
    graph: Any = "complete"
    candidates: Any = None
    model: Any = "auto"
    fields: bool | str = True
    prior: Any = "dirichlet-process"
    method: Any = "auto"

    @recorded
    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> GroupedMRF:
        """Sample the posterior.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            States coded {0, 1}, {-1, +1} or boolean; ordered levels, or any levels with model "potts" or
            "symmetric". Values that are missing (NaN) are drawn with the parameters, by the methods exact and particle,
            and by your own.
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.

        Raises
        ------
        DataError, GraphError, OptionError, StoreError
            If an option, the graph, the data or the checkpoint is not valid.
        """
        request, states, likelihood, start, kernel, method, row, seeds, how = self._prepare(X, sample_weight)
        model, n, s_bar, hidden = self._model(), states.n_samples, likelihood.s_bar, likelihood.hidden
        used = engine_used(kernel, model) if isinstance(method, Custom) else _engine(kernel)
        if hidden is not None:
            kernel = DrawHiddenEntries(kernel, likelihood)
        draws = sample_posterior(self, model, kernel, seeds)
        for name, asked in (("density", request.spike), ("field_groups", request.field_prior is not None)):
            if not asked:
                draws.values.pop(name, None)
        attrs, constant = self._attributes(request, method, model), {}
        if start.mle is not None:
            self.mle_ = model.agreement(start.mle)
            constant["mle"], attrs["mle_method"] = start.mle, how
        attrs["kind"] = kind_of(row, method, self._graph.is_forest and not model.fields)
        attrs["engine"] = "none" if used is None else used.name
        attrs["data_hash"] = data_hash(self._graph, s_bar, n, hidden)
        self.posterior_ = results.to_datatree(
            draws, model, attrs=attrs, observed={"statistics": s_bar, "n_samples": n}, constant=constant
        )
        self._summarise(model, request)
        self.missing_ = missing_table(likelihood, draws.values["theta"], states, seeds)
        if hidden is not None:
            results.add_missing(self.posterior_, self.missing_)
        by_particles = isinstance(method, Particle)
        sweeps = 0 if used is None else particle_sweeps(used)
        check_modes(self, [states], seeds, _SWEEPS * method.n_particles if by_particles else sweeps)
        tell_of_rare(states, rarely_observed(states, self._graph))
        tell_of_rows([states])
        convergence.warn_unless_converged(self.posterior_)
        if by_particles:
            self._warn_of_noise(draws.values["likelihood_noise"].mean(), method.n_particles, n)
        return self

    def check(self, X: Any, sample_weight: Any = None) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, sample_weight)

    def _prepare(self, X: Any, sample_weight: Any) -> _Prepared:
        check({"model": self.model}, "GroupedMRF")
        self._choose_model(X, sample_weight)
        request = read(self)
        option = "graph" if self.candidates is None else "candidates"
        states = self._read(X, sample_weight, self.progress, missing=True, option=option)
        model = self._model()
        request = request.of(model)
        self.model_ = model.name
        if not self.fields and request.family.shared != "table":  # which holds what fields do
            warn_of_unbalanced(states)
        require_edges(self._graph, option)
        n, missing = states.n_samples, bool((states.values < 0).any())
        method = choose_method(request, model, missing, n)
        row = row_of(method, GROUPS)
        self.method_ = row.name
        seeds = run_seed(self)
        rng = np.random.default_rng(seeds.spawn(1)[0])
        engine = Elimination() if self.method_ == "exact" else choose(self._graph, n_states=states_of(model))
        data = read_sample(model, states, engine)
        kernel: Any = None
        with instead_of_exact(argument("method", "particle")):
            likelihood = Likelihood(model, data.s_bar, n, engine, data.hidden)
            if isinstance(method, Custom):  # refused before the estimate is computed
                kernel, row = own_method_of_groups(GROUPS, method, likelihood, request.prior)
                self.method_ = row.name
            start = find_start(request, model, states, data, engine, rng)
            how = start.mle_method
            moments = start.moments(request, model, data)
            estimate = "maximum likelihood estimate" if request.family.shared != "table" else "posterior mode"
            if "persistent" in how and not warn_unless_matched(
                model, start.theta, moments, n, None, rng, "mle_", estimate
            ):
                how = how.replace("persistent", f"persistent, {convergence.NOT_CONVERGED}", 1)
            if kernel is None:
                kernel = KERNELS[self.method_](method, Problem(request, model, data.s_bar, n, start.theta, engine))
        return _Prepared(request, states, likelihood, start, kernel, method, row, seeds, how)

    def co_clustering(self, edges: Any) -> np.ndarray:
        """Return the posterior probability that pairs of given edges share a group.

        With a spike, absent edges share a group.

        Parameters
        ----------
        edges : sequence of int or str
            Numbers of edges in ``edges_``, or their names "u-v".

        Returns
        -------
        (m, m) array
        """
        check_is_fitted(self)
        check({"edges": edges})
        names = {name: i for i, name in enumerate(self._graph.edge_names)}
        legal = [e in names if isinstance(e, str) else is_integer(e) and 0 <= e < len(names) for e in edges]
        if not all(legal):
            unknown = list(edges)[legal.index(False)]
            raise OptionError(f"edges: {in_words(unknown)} is not an edge; names are like {next(iter(names))!r}")
        index = np.array([names[e] if isinstance(e, str) else e for e in edges], dtype=np.int64)
        return partitions.co_clustering(self._stacked("groups"), index)

    def _summarise(self, model: Any, request: Request) -> None:
        import pandas as pd

        r, spike, shared = model.n_edges, request.spike, request.family.shared
        self.agreement_ = self._stacked("agreement").mean(axis=0)
        limit = bound(1e12)
        logit = np.clip(np.log(self.agreement_) - np.log1p(-self.agreement_), -limit, limit)
        if shared != "agreement":
            self.theta_ = self._stacked("theta").mean(axis=0)
            if shared == "table":
                self.potential_ = model.table(self.theta_)
        else:
            self.theta_ = np.concatenate([logit, self._stacked("theta")[:, r:].mean(axis=0)])
        groups = self._stacked("groups")
        if spike:
            share = self._stacked("included").mean(axis=0)
            self.inclusion_ = self._symmetric(share)
            posterior, constant = self.posterior_["posterior"], self.posterior_["constant_data"]
            self.density_ = float((posterior if "density" in posterior else constant)["density"].mean())
            self.groups_ = np.full(r, -1)
            if (share > 0.5).any():
                self.groups_[share > 0.5] = partitions.point_partition(groups[:, share > 0.5])
        else:
            self.groups_ = partitions.point_partition(groups)
        results.add_partition(self.posterior_, "groups", self.groups_)
        if self.fields == "grouped":
            self.field_groups_ = partitions.point_partition(self._stacked("field_groups"))
            results.add_partition(self.posterior_, "field_groups", self.field_groups_)
        number, count = np.unique(self._stacked("n_groups"), return_counts=True)
        self.n_groups_ = pd.Series(count / count.sum(), index=pd.Index(number, name="n_groups"), name="probability")

    @staticmethod
    def _warn_of_noise(noise: float, n_particles: Any, n_samples: float) -> None:
        """Warn if there are too few particles: some noisy edges bias all, or fewer particles than observations."""
        if noise <= _NOISE and n_particles >= n_samples:
            return
        enough = int(max(n_particles * (noise / _NOISE) ** 2, n_samples)) + 1
        tell(
            f"Moments from {n_particles} particles put a noise of {noise:.2f} nats into the log likelihood of an edge "
            f"(exceeded by 5 % of the edges), and at most {_NOISE}, from no fewer particles than the {n_samples:g} "
            f"observations, is acceptable; use {argument('n_particles', enough)} or more.",
            ApproximatePosteriorWarning,
        )

    def _attributes(self, request: Request, method: Any, model: Any) -> dict[str, Any]:
        """Collect attributes of the data and the options for summaries and reports."""
        prior = request.prior
        shown: dict[str, Any] = {"model": model.name, "fields": self.fields, "method": self.method_}
        shown |= {} if isinstance(method, Custom) else asdict(method)
        shown |= {"alpha": _constants(prior.alpha), "spike": request.spike}
        if request.spike:
            shown["density"] = _constants(prior.density)
        if isinstance(prior.base, Beta):
            shown["base"] = _constants(prior.base)
        elif isinstance(prior.base, MultivariateNormal):
            shown["prior_scale"] = prior.base.covariance.tolist()
        else:
            shown["prior_scale"] = np.asarray(prior.base.scale).tolist()
        shown["chosen_model"] = self._chooses
        if is_categorical(model):
            shown["n_states"] = model.n_states
        if isinstance(self._coding, tuple):
            shown["levels"] = [str(level) for level in self._coding]
        return shown


def _constants(prior: Any) -> Any:
    """Return a number, or the two constants of a Beta or Gamma prior."""
    return list(astuple(prior)) if isinstance(prior, Beta | Gamma) else prior


def _engine(kernel: Any) -> Engine | None:
    """Return the engine of a sampler; None if it uses particles or needs no engine."""
    source = kernel.marginals if isinstance(kernel, GroupedGibbs) else kernel
    if isinstance(source, ExactMarginals):
        return source.engine
    return source.likelihood.engine if isinstance(source, GroupedAuxiliaryVariable) else None
