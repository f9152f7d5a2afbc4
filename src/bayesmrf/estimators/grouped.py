"""Groups of edges that share a parameter."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from .. import partitions, results, run
from ..base import Kernel
from ..errors import ApproximatePosteriorWarning, OptionError
from ..inference.auto import choose
from ..inference.elimination import Elimination, cost
from ..learning.maximum_likelihood import bound, maximum_likelihood
from ..learning.persistent import PersistentMLE
from ..likelihood import Likelihood
from ..models.agreement import Agreement
from ..posterior.grouped_auxiliary_variable import GroupedAuxiliaryVariable
from ..posterior.grouped_exact import GroupedExact
from ..posterior.grouped_particle import GroupedParticle, default_particles
from ..posterior.grouped_stripped_beta import GroupedStrippedBeta
from ..posterior.grouped_tree import GroupedTree
from ..priors import Beta, DirichletProcess, Gamma
from ..samplers.gibbs import Gibbs, check_positive
from .base import PairwiseMRF, check_choice, data_hash, sample_posterior

METHODS = ("auto", "tree", "exact", "particle", "auxiliary-variable", "stripped-beta")
_RECORDED = ["alpha", "base", "fields", "inner", "n_sweeps", "n_proposals", "n_walk", "sigma_q", "restart"]
_EXACT_WORK = 2.0**28  # edges times bytes of tables: a scan of method "exact" then takes some tenth of a second
_NOISE = 0.3  # nats that particles may put into the log likelihood of an edge


class GroupedMRF(PairwiseMRF):
    """Posterior of the groups of edges that share a parameter (Liu and Page 2013).

    The model: ``p(x) ~ prod_c a_c^[x_u = x_v] (1 - a_c)^[x_u != x_v]`` over the edges c = (u, v) of a graph, with
    a_c ~ G, G ~ DP(alpha, Beta(a, b)). See `bayesmrf.models.agreement.Agreement`.

    Parameters
    ----------
    graph : edges, DataFrame, networkx graph, `Graph`, "complete" or "learn:K"
        Pairs of column names or numbers. "learn:K" learns K edges by L1-penalised neighbourhood selection.
    method : {"auto", "tree", "exact", "particle", "auxiliary-variable", "stripped-beta"}
        * auto: tree on forests without fields, exact where elimination is cheap, else particle; ``method_`` says which.
        * tree: exact, for forests without fields.
        * exact: exact, wherever elimination fits in memory.
        * particle: any graph; the exact law of one edge with moments from many particles, and splits and merges of
          groups.
        * auxiliary-variable: Metropolis-Hastings with particles; exact with ``inner="exact", restart=False``.
        * stripped-beta: approximate, for any graph, fast; over-estimates the number of groups.
    alpha : float or (shape, rate) or `priors.Gamma`
        Concentration of the Dirichlet process, fixed or with a Gamma prior.
    base : (a, b)
        Base distribution Beta(a, b) of an agreement.
    fields : bool
        Whether nodes have a field h_u of their own, N(0, 10^2): sampled, or (stripped-beta) at its tied maximum
        likelihood estimate. Data in which yes is not as frequent as no need them.
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
        `bayesmrf.posterior.grouped_auxiliary_variable`.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Chains at work at one time; None for as many as there are cores. Draws do not depend on it.
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
    groups_ : (n_edges,) int array
        The partition that minimises the posterior expected variation of information.
    n_groups_ : pandas.Series
        Posterior probability of each number of groups.
    method_ : str
        The method that was run.
    mle_ : (n_edges,) array
        Grouping-blind maximum likelihood agreements.
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
        fields: bool = False,
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
        self.fields = fields
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

    def _model(self) -> Agreement:
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
            Counts of rows.

        Raises
        ------
        DataError, GraphError, OptionError, StoreError
            One sentence each: what came, what is wanted, the remedy.
        """
        prior = self._prior()
        self._check_method()
        states = self._read(X, sample_weight, self.progress)
        model = self._model()
        if model.n_edges == 0:
            raise OptionError("graph: it has no edges, so there is nothing to group; give at least one edge")
        self.method_ = self._choose_method(model)
        s_bar, n = model.statistics(states.values, states.weights), states.n_samples
        fingerprint = self._fingerprint(s_bar, n)
        seeds = run.seed_sequence(self.random_state, self.checkpoint, self.overwrite)
        rng = np.random.default_rng(seeds.spawn(1)[0])
        engine = Elimination() if self.method_ == "exact" else choose(self.graph_)
        mle = maximum_likelihood(model, s_bar, n, engine, rng)
        kernel = self._kernel(model, s_bar, n, prior, mle.theta, engine)
        draws = sample_posterior(self, kernel, fingerprint, seeds)
        self.mle_ = expit(mle.theta[: model.n_edges])
        self.posterior_ = results.to_datatree(
            draws,
            model,
            attrs=fingerprint | {"kind": self._kind(model), "engine": _engine_name(kernel), "mle_method": mle.method},
            observed={"statistics": s_bar, "n_samples": n},
            constant={"mle": mle.theta},
        )
        self._summarise(model)
        if self.method_ == "particle":
            self._warn_of_noise(draws.values["likelihood_noise"].mean(), fingerprint["n_particles"])
        return self

    def co_clustering(self, edges: Any) -> np.ndarray:
        """Posterior probability that each two of the edges asked for share a group.

        Parameters
        ----------
        edges : sequence of int or str
            Numbers of edges in ``edges_``, or their names "u-v".

        Returns
        -------
        (m, m) array
        """
        check_is_fitted(self)
        names = {name: i for i, name in enumerate(self.graph_.edge_names)}
        unknown = [e for e in edges if isinstance(e, str) and e not in names]
        if unknown:
            raise OptionError(f"edges: {unknown[0]!r} is not an edge; names are like {next(iter(names))!r}")
        index = np.array([names[e] if isinstance(e, str) else int(e) for e in edges], dtype=np.int64)
        return partitions.co_clustering(self._stacked("groups"), index)

    def _stacked(self, name: str) -> np.ndarray:
        values = np.asarray(self.posterior_["posterior"].dataset[name])
        return values.reshape(-1, *values.shape[2:])

    def _summarise(self, model: Agreement) -> None:
        import pandas as pd

        r = model.n_edges
        self.agreement_ = self._stacked("agreement").mean(axis=0)
        limit = bound(1e12)
        logit = np.clip(np.log(self.agreement_) - np.log1p(-self.agreement_), -limit, limit)
        self.theta_ = np.concatenate([logit, self._stacked("theta")[:, r:].mean(axis=0)])
        self.groups_ = partitions.point_partition(self._stacked("groups"))
        number, count = np.unique(self._stacked("n_groups"), return_counts=True)
        self.n_groups_ = pd.Series(count / count.sum(), index=pd.Index(number, name="n_groups"), name="probability")

    def _prior(self) -> DirichletProcess:
        alpha = Gamma(*self.alpha) if isinstance(self.alpha, tuple | list) else self.alpha
        base = self.base if isinstance(self.base, Beta) else Beta(*self.base)
        return DirichletProcess(alpha, base)

    def _check_method(self) -> None:
        check_choice("method", self.method, METHODS)
        if self.inner not in ("gibbs", "exact"):
            raise OptionError(f"inner: {self.inner!r} came, 'gibbs' or 'exact' is wanted")
        if self.method == "tree" and self.fields:
            raise OptionError("fields: method 'tree' has no conjugate form for node fields; use method='exact'")
        if self.n_particles is not None:
            check_positive("n_particles", self.n_particles)

    def _choose_method(self, model: Agreement) -> str:
        if self.method != "auto":
            return self.method
        if model.graph.is_forest and not model.fields:
            return "tree"
        most = _EXACT_WORK / model.n_features
        return "exact" if cost(model.graph, most)[1] <= most else "particle"

    @staticmethod
    def _warn_of_noise(noise: float, n_particles: int) -> None:
        if noise > _NOISE:
            enough = int(n_particles * (noise / _NOISE) ** 2) + 1
            warnings.warn(
                f"n_particles: {n_particles} put a noise of {noise:.2f} nats into the log likelihood of an edge "
                f"(median over the edges), and at most {_NOISE} is wanted; give {enough} or more",
                ApproximatePosteriorWarning,
                stacklevel=3,
            )

    def _kernel(self, model, s_bar, n, prior, mle, engine) -> Kernel:
        if self.method_ == "tree":
            return GroupedTree(model.graph, np.rint(n * s_bar), n, prior)
        if self.method_ == "exact":
            return GroupedExact(Likelihood(model, s_bar, n, engine), prior, mle)
        if self.method_ == "particle":
            n_particles = self.n_particles or default_particles(n, model.graph.n_nodes)
            return GroupedParticle(model, s_bar, n, prior, mle, n_particles)
        persistent = PersistentMLE(model, s_bar, bound(n))
        if self.method_ == "stripped-beta":
            return GroupedStrippedBeta(mle, persistent, n, prior)
        particles = Elimination() if self.inner == "exact" else Gibbs(n_sweeps=self.n_sweeps)
        return GroupedAuxiliaryVariable(
            Likelihood(model, s_bar, n, particles),
            prior,
            mle,
            persistent,
            n_proposals=self.n_proposals,
            sigma_q=self.sigma_q,
            n_walk=self.n_walk,
            restart=self.restart,
        )

    def _kind(self, model: Agreement) -> str:
        """Whether the chain's stationary law is the posterior, in words."""
        if self.method_ in ("tree", "exact"):
            return "exact"
        if self.method_ == "stripped-beta":
            exact = model.graph.is_forest and not model.fields
            return "exact (a forest)" if exact else "approximate (stripped Beta likelihood)"
        if self.method_ == "particle":
            return "approximate (moments from particles)"
        if self.inner == "gibbs":
            return f"approximate (particles from {self.n_sweeps} Gibbs sweeps)"
        return "approximate (values restart at the tied estimate)" if self.restart else "exact"

    def _fingerprint(self, s_bar: np.ndarray, n: float) -> dict[str, Any]:
        """Plain values that name the data and the options the draws depend on."""
        options = {k: v for k, v in self.get_params(deep=False).items() if k in _RECORDED}
        alpha, base = options["alpha"], options["base"]
        options["alpha"] = [alpha.shape, alpha.rate] if isinstance(alpha, Gamma) else np.asarray(alpha).tolist()
        options["base"] = [base.a, base.b] if isinstance(base, Beta) else list(base)
        if self.method_ == "particle":
            options["n_particles"] = self.n_particles or default_particles(n, self.graph_.n_nodes)
        return {"model": "agreement", "data_hash": data_hash(self.graph_, s_bar, n), **options, "method": self.method_}


def _engine_name(kernel: Any) -> str:
    likelihood = getattr(kernel, "likelihood", None)
    return likelihood.engine.name if likelihood is not None else "none"
