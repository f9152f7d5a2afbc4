"""Groups of edges that share a parameter."""

from __future__ import annotations

from dataclasses import astuple, dataclass, is_dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from .. import partitions, results
from ..answers.networks import symmetric
from ..answers.result import Priors
from ..data.states import States
from ..declare.rule import Rule, is_integer, is_list
from ..errors import ApproximatePosteriorWarning, OptionError, argument, in_words, instead_of_exact
from ..families import FAMILIES, families_of
from ..families import Custom as CustomModel
from ..findings import tell
from ..inference.auto import choose
from ..inference.elimination.engine import Elimination
from ..learning.matched_moments import warn_unless_matched
from ..learning.maximum_likelihood import bound
from ..likelihood import Likelihood
from ..methods import GROUPS
from ..methods.rows import row_of, stored_options
from ..models.categorical import states_of
from ..parameters import GroupedParameters
from ..priors import DirichletProcess
from ..results import convergence
from ..results.blocks import mean_of, stacked, variable
from ..results.median_model import in_median_model
from ..results.stored import NotKept
from ..runs.run import Draws
from .base import run_seed, warn_of_unbalanced
from .built_kernels import group_method
from .engines import read_sample
from .fitted_priors import GroupsPrior
from .grouped_methods import GroupsProblem
from .grouped_request import Request, choose_method, family_like, read_request
from .network import Traits
from .pipeline import Setup, completed
from .posterior import Posterior

EDGES = Rule("a list of edges, by name or by number", is_list, ([0],))
_NOISE = 0.32  # noise of particles in the log likelihood of an edge, in nats; not exceeded with ten per observation


@dataclass(eq=False, repr=False)
class GroupedMRF(GroupedParameters, Posterior):
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
        * auxiliary-variable: Metropolis-Hastings with particles: `methods.AuxiliaryParticles`.
        * stripped-beta: approximate, for any graph, fast; overestimates the number of groups.

        ``methods.Custom`` makes your own kernel from the likelihood and the prior. It does not support grouped fields.
    n_draws : int or None
        Draws per chain. None draws until the result is good: chains are judged after 500, 625, 781, ... draws, at
        most 20,000 or a third of the memory, and stop when two looks in a row find R-hat and effective sizes of a
        converged run, no chain that disagrees with the others, and a Monte Carlo error of at most 0.01 of the
        probability that an edge exists. At the most a finding says what is short.
    n_warmup, n_chains, thin : int
        Warm-up steps, number of chains, and steps per draw.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Number of chains run in parallel; None and -1 for one per core, -2 to leave one core free. It does not change
        the draws.
    executor : concurrent.futures.Executor, dask.distributed.Client or None
        Workers that run the chains, instead of threads (`bayesmrf.runs.run.sample`). Draws do not depend on them. It is
        shared by clones, and not pickled.
    progress : bool
        Whether to show progress: bars on a terminal, elsewhere a line a minute on standard error.
    checkpoint : path, `bayesmrf.Checkpoint` or None
        Folder in which the run is saved, and from which a stopped run continues;
        ``Checkpoint(path, overwrite=True)`` replaces another run.
    columns : path, DataFrame, `bayesmrf.data.Codebook` or None
        What each column is: a table of `bayesmrf.data.read_columns`, as it is or edited. None reads it from the values
        of a DataFrame; ``columns_`` says what was read.

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

    Examples
    --------
    >>> from bayesmrf import GroupedMRF, datasets
    >>> men = datasets.coronary()
    >>> est = GroupedMRF(n_draws=300, random_state=1, progress=False)
    >>> est = est.fit(men.drop(columns="count"), sample_weight=men["count"])
    >>> print(est.table("groups")[["group", "size"]].to_string(index=False))
     group  size
         1    11
         2     3
         3     1
    """

    _readers = {  # noqa: RUF012
        "model": families_of("GroupedMRF").read,
        "prior": lambda _: DirichletProcess(),
        "method": GROUPS.read,
    }
    _traits = Traits(yes_no="agreement")

    @property
    def _edges_option(self) -> str:
        return "graph" if self._settings.candidates is None else "candidates"

    def _request(self) -> Request:
        return read_request(self)

    def _priors(self) -> Priors:
        return GroupsPrior(self._request().prior)

    def _target(self, parts: list[States], request: Request) -> Setup:
        (states,), model = parts, self._model()
        request = request.of(model)
        if not self._settings.fields and request.family.shared != "table":  # which holds what fields do
            warn_of_unbalanced(states)
        n, missing = states.n_samples, bool((states.values < 0).any())
        method = choose_method(request, model, missing, n)
        row, seeds = row_of(method, GROUPS), run_seed(self)
        rng = np.random.default_rng(seeds.spawn(1)[0])
        engine = Elimination() if row.name == "exact" else choose(self._graph, n_states=states_of(model))
        data = read_sample(model, states, engine)
        with instead_of_exact(argument("method", "particle")):
            likelihood = Likelihood(model, data.s_bar, n, engine, data.hidden)
            problem = GroupsProblem(likelihood, request.prior, request, states, data, rng)
            built, row = group_method(GROUPS, row, method, problem)
            start = problem.estimate
            how = start.mle_method
            moments = start.moments(request, model, data)
            estimate = "maximum likelihood estimate" if request.family.shared != "table" else "posterior mode"
            if "persistent" in how and not warn_unless_matched(
                model, start.theta, moments, n, None, rng, "mle_", estimate
            ):
                how = how.replace("persistent", f"persistent, {convergence.NOT_CONVERGED}", 1)
        prior = request.prior
        attrs = stored_options(method) | {
            "fields": self._settings.fields,
            "alpha": _constants(prior.alpha),
            "kind": row.kind,
            "engine": "none" if built.engine is None else built.engine.name,
        }
        if request.spike:
            attrs["density"] = _constants(prior.density)
        attrs |= prior.base.group_record
        if isinstance(self._coding, tuple):
            attrs["levels"] = [str(level) for level in self._coding]
        if start.mle is not None:
            attrs["mle_method"] = how
        return Setup(
            parts,
            likelihood,
            completed(built.kernel, likelihood),
            row.name,
            attrs,
            built.sweeps,
            seeds,
            {} if start.mle is None else {"mle": start.mle},
            finish=_finish,
        )

    def _doubt(self, setup: Setup, draws: Draws, has_converged: bool) -> None:
        """Warn if there are too few particles: some noisy edges bias all, or fewer particles than observations."""
        if self.method_ != "particle":
            return
        noise, n_samples = draws.values["likelihood_noise"].mean(), setup.likelihood.n_samples
        n_particles = setup.attrs["n_particles"]
        if noise <= _NOISE and n_particles >= n_samples:
            return
        enough = int(max(n_particles * (noise / _NOISE) ** 2, n_samples)) + 1
        tell(
            f"Moments from {n_particles} particles put a noise of {noise:.2f} nats into the log likelihood of an edge "
            f"(exceeded by 5 % of the edges), and at most {_NOISE}, from no fewer particles than the {n_samples:g} "
            f"observations, is acceptable; use {argument('n_particles', enough)} or more.",
            ApproximatePosteriorWarning,
        )

    def _summarise(self) -> None:
        import pandas as pd

        super()._summarise()
        posterior, constant = (self.posterior_[group].dataset for group in ("posterior", "constant_data"))
        self.agreement_ = _stacked(self.posterior_, "agreement").mean(axis=0)
        if "mle" in constant:
            contrast = constant["agreement_contrast"].values
            edges = constant["mle"].values[: len(contrast) * self._graph.n_edges].reshape(-1, len(contrast))
            self.mle_ = expit(edges @ contrast)
        if self._shares == "agreement":
            limit = bound(1e12)
            logit = np.clip(np.log(self.agreement_) - np.log1p(-self.agreement_), -limit, limit)
            self.theta_ = np.concatenate([logit, self.theta_[self._graph.n_edges :]])
        elif self._shares == "table":
            self.potential_ = self._model().table(self.theta_)
        included = np.ones(self._graph.n_edges, dtype=bool)
        if "included" in posterior:
            share = _stacked(self.posterior_, "included").mean(axis=0)
            self.inclusion_, self.density_ = symmetric(self._graph, share), mean_of(self.posterior_, "density")
            included = in_median_model(share)
        self.groups_ = self._partition("groups", included)
        if "field_groups" in posterior.coords:
            self.field_groups_ = self._partition("field_groups", np.ones(self._graph.n_nodes, dtype=bool))
        number, count = np.unique(_stacked(self.posterior_, "n_groups"), return_counts=True)
        self.n_groups_ = pd.Series(count / count.sum(), index=pd.Index(number, name="n_groups"), name="probability")

    @property
    def _shares(self) -> str:
        """What edges of a group share; empty of a model that is not there, as after a run with it was stored."""
        if isinstance(self._family, CustomModel):
            return family_like(self._model()).shared
        return "" if isinstance(self._family, NotKept) else FAMILIES.row(self._family).shared

    def _partition(self, labels: str, included: np.ndarray) -> np.ndarray:
        """Find the point partition of ``included`` items, -1 for others, and store it with the draws."""
        stored = self.posterior_["constant_data"].dataset.get(f"{labels}_point")
        if stored is not None:
            return np.asarray(stored)
        partition = np.full(len(included), -1)
        if included.any():
            partition[included] = partitions.point_partition(_stacked(self.posterior_, labels)[:, included])
        results.add_partition(self.posterior_, labels, partition)
        return partition

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
        EDGES.check("edges", edges)
        names = {name: i for i, name in enumerate(self._graph.edge_names)}
        legal = [e in names if isinstance(e, str) else is_integer(e) and 0 <= e < len(names) for e in edges]
        if not all(legal):
            unknown = list(edges)[legal.index(False)]
            raise OptionError(f"edges: {in_words(unknown)} is not an edge; names are like {next(iter(names))!r}")
        index = np.array([names[e] if isinstance(e, str) else e for e in edges], dtype=np.int64)
        return partitions.co_clustering(_stacked(self.posterior_, "groups"), index)


def _stacked(tree: Any, name: str) -> np.ndarray:
    """Return the draws of all chains, (n_draws, ...)."""
    return stacked(variable(tree, name).values)


def _constants(prior: Any) -> Any:
    """Return a number, or the constants of its prior."""
    return list(astuple(prior)) if is_dataclass(prior) else prior  # type: ignore[arg-type]


def _finish(setup: Setup, draws: Draws) -> Draws:
    """Leave out what the prior does not have."""
    unasked = {"density": "density" not in setup.attrs, "field_groups": setup.attrs["fields"] != "grouped"}
    return replace(draws, fields={name: v for name, v in draws.fields.items() if not unasked.get(name)})
