"""Groups of edges that share a parameter."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from .. import convergence, partitions, results
from ..base import Engine
from ..errors import ApproximatePosteriorWarning, OptionError, in_words
from ..inference.auto import choose
from ..inference.elimination.two_states import Elimination
from ..learning.maximum_likelihood import bound, maximum_likelihood
from ..learning.sparse_path import sparse_start
from ..models.agreement import Agreement
from ..models.categorical import states_of
from ..models.symmetric import Symmetric
from ..options import check
from ..priors import Beta, Gamma
from ..rules import is_integer
from ..states import States
from .base import PairwiseMRF, data_hash, options_shown, run_seed, sample_posterior, warn_of_unbalanced
from .grouped_methods import build_kernel, check_options, choose_method, kind, n_particles, priors
from .grouped_states import agreement_of, states_model, states_start

_NOISE = 0.32  # nats that particles may put into the log likelihood of an edge: ten an observation never put more


class GroupedMRF(PairwiseMRF):
    """Posterior of the groups of edges that share a parameter (Liu and Page 2013).

    The model: ``p(x) ~ prod_c a_c^[x_u = x_v] (1 - a_c)^[x_u != x_v]`` over the edges c = (u, v) of a graph, with
    a_c ~ G, G ~ DP(alpha, Beta(a, b)). See `bayesmrf.models.agreement.Agreement`.

    Parameters
    ----------
    graph : edges, DataFrame, networkx graph, `Graph`, "complete" or "learn:K"
        Pairs of column names or numbers. "learn:K" learns K edges by L1-penalised neighbourhood selection.
    candidate : "all", or as ``graph``, or None
        With ``spike=True``, the edges that may exist; None for those of ``graph``.
    spike : bool
        Whether edges may be absent: each exists with probability p0, and only those that do share values. Methods exact
        and particle.
    density : (a, b), `priors.Beta` or float
        Beta prior of p0, or its fixed value.
    method : {"auto", "tree", "exact", "particle", "auxiliary-variable", "stripped-beta"}
        * auto: exact where elimination is cheap, else particle; with ``fields=False`` tree on forests. ``method_`` says
          which.
        * tree: exact, for forests, with ``fields=False``.
        * exact: exact, wherever elimination fits in memory.
        * particle: any graph; the exact law of one edge with moments from many particles, and splits and merges of
          groups.
        * auxiliary-variable: Metropolis-Hastings with particles; exact with ``inner="exact", restart=False``.
        * stripped-beta: approximate, for any graph, fast; over-estimates the number of groups.
    alpha : float or (shape, rate) or `priors.Gamma`
        Concentration of the Dirichlet process, fixed or with a Gamma prior.
    base : (a, b)
        Base distribution Beta(a, b) of an agreement.
    model : {"agreement", "potts", "symmetric"}
        * agreement: two states, as above.
        * potts: ``n_states`` states, the same factor for each edge.
        * symmetric: ``n_states`` states, and a symmetric table of log potentials for each edge, which edges share
          whole; its free entries are N(0, ``prior_scale``^2). See `bayesmrf.models.symmetric.Symmetric`.

        The latter two with the methods exact and particle, and without a spike or grouped fields.
    n_states : int or "auto"
        Of models with many states, whose data are 0, ..., n_states - 1; "auto" takes the levels that occur, in their
        order.
    prior_scale : float, or array
        Of the model symmetric: standard deviation of the free entries of a table (one, or one for each), or their
        covariance matrix.
    fields : {False, True, "grouped"}
        Whether nodes have a field h_u, N(0, 10^2): of their own, sampled or (stripped-beta) at its tied maximum
        likelihood estimate; or shared by groups of nodes, by a Dirichlet process with the same prior of its own alpha
        (methods exact and particle). Without fields the model says that yes is as frequent as no in every column:
        independent columns with 85 % yes get strong edges. False warns (`FieldsWarning`) where a column contradicts
        that.
    n_particles : int or None
        States of x in memory of method particle; None for ten for each observation, 1,024 at least, within 1 GiB a
        chain.
    n_draws, n_warmup, n_chains, thin : int
    inner : {"gibbs", "exact"}
        How auxiliary-variable draws its particles.
    n_sweeps : int
        Gibbs sweeps of each particle, with ``inner="gibbs"``.
    n_proposals, n_walk : int
    sigma_q : float
    restart : bool
        M, S, sigma_Q of auxiliary-variable, and whether its walk restarts at the tied estimate as published; see
        `bayesmrf.posterior.groups.auxiliary_variable`.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Number of chains run in parallel; None for one on each core. Draws do not depend on it.
    progress : bool
        Whether to show bars (never shown when not on a terminal).
    checkpoint : path or None
        Zarr folder in which the run is kept as it goes, and from which a run that was stopped continues.
    overwrite : bool
        Start anew where the checkpoint holds another run.

    Attributes
    ----------
    agreement_ : (n_edges,) array
        Posterior mean of each edge's agreement.
    theta_ : (n_features,) array
        Natural parameters used by `score` and `sample`: logit of ``agreement_``, and posterior mean fields.
    potential_ : (n_edges, n_states, n_states) array
        Of the model symmetric, the posterior mean of each edge's table; its ``agreement_`` is that of the table's
        reward of agreement (`bayesmrf.models.symmetric.Symmetric.agreement`).
    groups_ : (n_edges,) int array
        The partition that minimises the posterior expected variation of information. With a spike, that of the edges
        with inclusion above 0.5, and -1 for the others.
    n_groups_ : pandas.Series
        Posterior probability of each number of groups.
    inclusion_ : (n_nodes, n_nodes) array
        With a spike, the probability that an edge exists; symmetric, 0 where there is no candidate.
    density_ : float
        With a spike, the posterior mean of p0.
    field_groups_ : (n_nodes,) int array
        With ``fields="grouped"``, the partition of the nodes that minimises the expected variation of information.
    method_ : str
        The method that was run.
    mle_ : (n_edges,) array
        Grouping-blind maximum likelihood agreements; without a spike.
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    edges_ : (n_edges, 2) int array
    graph_ : Graph
    """

    def __init__(
        self,
        graph: Any = "complete",
        method: str = "auto",
        alpha: Any = 1.0,
        base: Any = (1.0, 1.0),
        model: str = "agreement",
        n_states: int | str = "auto",
        prior_scale: Any = 1.0,
        fields: bool | str = True,
        candidate: Any = None,
        spike: bool = False,
        density: Any = (5.0, 5.0),
        n_particles: int | None = None,
        n_draws: int = 1000,
        n_warmup: int = 200,
        n_chains: int = 4,
        thin: int = 1,
        inner: str = "gibbs",
        n_sweeps: int = 50,
        n_proposals: int = 5,
        n_walk: int = 100,
        sigma_q: float = 0.001,
        restart: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: bool = True,
        checkpoint: Any = None,
        overwrite: bool = False,
    ):
        self.graph = graph
        self.method = method
        self.alpha = alpha
        self.base = base
        self.model = model
        self.n_states = n_states
        self.prior_scale = prior_scale
        self.fields = fields
        self.candidate = candidate
        self.spike = spike
        self.density = density
        self.n_particles = n_particles
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.n_chains = n_chains
        self.thin = thin
        self.inner = inner
        self.n_sweeps = n_sweeps
        self.n_proposals = n_proposals
        self.n_walk = n_walk
        self.sigma_q = sigma_q
        self.restart = restart
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint
        self.overwrite = overwrite

    def _model(self) -> Any:
        if self.model != "agreement":
            return states_model(self, self.graph_, len(self._coding))
        return Agreement(self.graph_, bool(self.fields))

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> GroupedMRF:
        """Sample the posterior.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            States coded {0, 1}, {-1, +1} or boolean.
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.

        Raises
        ------
        DataError, GraphError, OptionError, StoreError
            One sentence each: what came, what is wanted, the remedy.
        """
        check_options(self)
        priors(self)  # refuse their constants before any work
        n_states = None if self.model == "agreement" else self.n_states
        states = self._read(X, sample_weight, self.progress, n_states=n_states, **self._which_edges())
        model = self._model()
        if not self.fields and self.model != "symmetric":  # whose tables hold what fields do
            warn_of_unbalanced(states)
        if model.n_edges == 0:
            option = "graph" if self.candidate is None else "candidate"
            raise OptionError(f"{option}: it has no edges, so there is nothing to group; give at least one edge")
        self.method_ = choose_method(self, model)
        s_bar, n = model.statistics(states.values, states.weights), states.n_samples
        seeds = run_seed(self)
        rng = np.random.default_rng(seeds.spawn(1)[0])
        engine = Elimination() if self.method_ == "exact" else choose(self.graph_, n_states=states_of(model))
        start, constant, told = self._start(model, states, s_bar, engine, rng)
        kernel = build_kernel(self.method_, self, model, s_bar, n, start, engine)
        draws = sample_posterior(self, model, kernel, seeds)
        for name, asked in (("density", self.spike), ("field_groups", self.fields == "grouped")):
            if not asked:
                draws.values.pop(name, None)
        draws.values["agreement"] = agreement_of(model, draws.values["theta"])
        draws.dims["agreement"] = ("edge",)
        attrs = self._attributes(model, s_bar, n)
        self.posterior_ = results.to_datatree(
            draws,
            model,
            attrs=attrs | {"kind": kind(self.method_, self, model), "engine": _engine_name(kernel)} | told,
            observed={"statistics": s_bar, "n_samples": n},
            constant=constant,
        )
        self._summarise(model)
        convergence.warn_unless_converged(self.posterior_)
        if self.method_ == "particle":
            self._warn_of_noise(draws.values["likelihood_noise"].mean(), attrs["n_particles"], n)
        return self

    def co_clustering(self, edges: Any) -> np.ndarray:
        """Posterior probability that each two of the edges asked for share a group.

        With a spike, edges that are both absent share the group of those.

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
        names = {name: i for i, name in enumerate(self.graph_.edge_names)}
        legal = [e in names if isinstance(e, str) else is_integer(e) and 0 <= e < len(names) for e in edges]
        if not all(legal):
            unknown = list(edges)[legal.index(False)]
            raise OptionError(f"edges: {in_words(unknown)} is not an edge; names are like {next(iter(names))!r}")
        index = np.array([names[e] if isinstance(e, str) else e for e in edges], dtype=np.int64)
        return partitions.co_clustering(self._stacked("groups"), index)

    def _stacked(self, name: str) -> np.ndarray:
        values = np.asarray(self.posterior_["posterior"].dataset[name])
        return values.reshape(-1, *values.shape[2:])

    def _which_edges(self) -> dict[str, Any]:
        if self.candidate is None:
            return {}
        everything = isinstance(self.candidate, str) and self.candidate == "all"
        return {"graph": "complete" if everything else self.candidate, "option": "candidate"}

    def _start(
        self, model: Any, states: States, s_bar: np.ndarray, engine: Engine, rng: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
        """Where the chain starts, at the maximum likelihood or (spike) at a sparse estimate, and what is told of it."""
        r = model.n_edges
        if self.model != "agreement":
            start, how = states_start(self, model, s_bar, states.n_samples, engine, rng)
            self.mle_ = agreement_of(model, start)
            return start, {"mle": start}, {"mle_method": how}
        if not self.spike:
            mle = maximum_likelihood(model, s_bar, states.n_samples, engine, rng)
            self.mle_ = expit(mle.theta[:r])
            return mle.theta, {"mle": mle.theta}, {"mle_method": mle.method}
        start, found = np.zeros(model.n_features), sparse_start(model.graph, states)
        if found is not None:
            start[:r] = found[:r] / 2  # over {0, 1}, a weight is twice the logit of the agreement
        if model.fields:
            limit = 1 - 1 / states.n_samples
            start[r:] = np.arctanh(np.clip(s_bar[r:], -limit, limit))
        return start, {}, {}

    def _summarise(self, model: Any) -> None:
        import pandas as pd

        r = model.n_edges
        self.agreement_ = self._stacked("agreement").mean(axis=0)
        limit = bound(1e12)
        logit = np.clip(np.log(self.agreement_) - np.log1p(-self.agreement_), -limit, limit)
        if isinstance(model, Symmetric):
            self.theta_ = self._stacked("theta").mean(axis=0)
            self.potential_ = model.table(self.theta_)
        else:
            self.theta_ = np.concatenate([logit, self._stacked("theta")[:, r:].mean(axis=0)])
        groups = self._stacked("groups")
        if self.spike:
            share, (u, v) = self._stacked("included").mean(axis=0), self.edges_.T
            self.inclusion_ = np.zeros((self.graph_.n_nodes, self.graph_.n_nodes))
            self.inclusion_[u, v] = self.inclusion_[v, u] = share
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
    def _warn_of_noise(noise: float, n_particles: int, n_samples: float) -> None:
        """Few noisy edges mislead all; with fewer particles than observations, those that look quiet are wrong too."""
        if noise <= _NOISE and n_particles >= n_samples:
            return
        enough = int(max(n_particles * (noise / _NOISE) ** 2, n_samples)) + 1
        warnings.warn(
            f"n_particles: {n_particles} for {n_samples:g} observations put a noise of {noise:.2f} nats into the log "
            f"likelihood of an edge (exceeded by 5 % of the edges), and at most {_NOISE}, from no fewer particles than "
            f"observations, is wanted; give {enough} or more",
            ApproximatePosteriorWarning,
            stacklevel=3,
        )

    def _attributes(self, model: Any, s_bar: np.ndarray, n: float) -> dict[str, Any]:
        """Collect what summaries and reports say of the data and of the options."""
        shown, (prior, _) = options_shown(self), priors(self)
        shown["alpha"] = [prior.alpha.shape, prior.alpha.rate] if isinstance(prior.alpha, Gamma) else prior.alpha
        for name in ("n_states", "prior_scale", "density"):
            del shown[name]
        if self.spike:
            p0 = prior.density
            shown["density"] = [p0.a, p0.b] if isinstance(p0, Beta) else p0
        if self.model == "symmetric":
            shown["prior_scale"] = np.asarray(self.prior_scale).tolist()
            del shown["base"]
        else:
            shown["base"] = [prior.base.a, prior.base.b]
        if self.method_ == "particle":
            shown["n_particles"] = n_particles(self, model, n)
        if self.model != "agreement":
            shown |= {"n_states": model.n_states, "levels": [str(level) for level in self._coding]}
        return shown | {"data_hash": data_hash(self.graph_, s_bar, n), "method": self.method_}


def _engine_name(kernel: Any) -> str:
    likelihood = getattr(kernel, "likelihood", None)
    return likelihood.engine.name if likelihood is not None else "none"
