"""Do the networks of several groups of people differ, and in which edges?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import convergence, results
from ..base import SAMPLE
from ..data.dependent_rows import tell_of_rows
from ..data.states import States
from ..declare.option import check_params
from ..differences import exist_in_groups
from ..errors import OptionError
from ..families import AUTO, families_of
from ..families import Custom as CustomModel
from ..findings import recorded
from ..inference.chains import Persistent
from ..inference.elimination.two_states import Elimination
from ..intervals import central
from ..likelihood import Likelihood
from ..methods import COMPARISONS, Custom
from ..methods.rows import MethodRow, row_of
from ..posterior.edges.differences import DifferencePrior, Differences, check_size, contrasts, group_likelihood
from ..posterior.edges.group_particles import GroupParticles
from ..posterior.groups.two_states import default_particles
from ..posterior.hidden_entries import DrawHiddenEntries
from ..priors import SpikeSlab
from .base import (
    MissingValues,
    RunOptions,
    data_hash,
    missing_table,
    require_edges,
    run_seed,
    sample_posterior,
)
from .chosen_model import ChosenModel
from .edge_prior import default_prior, like, warn_of_taper
from .engines import particle_sweeps, read_sample
from .group_labels import check_group, levels_in, read_groups
from .group_predictive import GroupPredictive
from .mode_check import check_modes
from .own_kernels import engine_used, own_method_of_edges
from .parameter_posterior import of_draws, strength_of_draws
from .rarely_observed import rarely_observed, tell_of_rare
from .tabulated import Tabulated

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import xarray as xr

_SCANS, _MANY_STATES = 2, 2**16  # of a step; states from which it is one
_EXACT = 2**18  # joint states with which "auto" is "exact": up to 10 ms a scan
_FEWER = 0.4  # four particles for each observation of a group


@dataclass(eq=False, repr=False)
class CompareMRF(MissingValues, Tabulated, RunOptions, ChosenModel, GroupPredictive, BaseEstimator):
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
    method : {"auto", "exact", "particle"} or an object of `bayesmrf.methods`
        * auto: exact with at most 2^18 joint states (18 yes/no columns, seven columns of five levels), else particle.
          ``method_`` says which.
        * exact (`methods.Exact`): all joint states of the nodes, at most 2^23, are summed over in each group.
        * particle (`methods.Particle`): moments from particles of each group that follow its parameters.

        ``methods.Custom`` makes your own kernel from the likelihood and the priors.
    model : {"auto", "boltzmann", "ordinal"}, object of `bayesmrf.families` or callable
        Weights and biases of yes/no columns, or weights and thresholds of ordered answers, as in `BayesianMRF`. A
        callable makes your own model (`families.Custom`), as in `SpikeSlabMRF`.
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, executor, progress, checkpoint
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
        Posterior mean of the weight of each edge in each group; symmetric, 0 without a candidate.
    theta_ : (n_groups, n_features) array
        Posterior means of the weights and biases of each group.
    graph_ : networkx.Graph
        Edges in which the groups differ with a probability above 0.5, with the attributes ``inclusion`` and
        ``difference``: the mean weights of the other groups minus that of the first (an array if they are several).
    graphs_ : dict of label to networkx.Graph
        The network of each group: edges with ``weight``, nodes with ``bias``.
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
    """

    read = {"method": COMPARISONS.read, "model": families_of("CompareMRF").read}  # noqa: RUF012

    candidates: Any = "complete"
    prior: Any = "spike-slab"
    baseline: Any = "slab"
    biases: str = "free"
    method: Any = "auto"
    model: Any = "auto"

    def object(self, name: str) -> Any:
        """Return the value of a parameter as an object."""
        if name == "prior" and self.prior == "spike-slab":
            return replace(default_prior(self.object("model")), density=0.5)
        if name == "baseline":
            prior, given = self.object("prior"), self.baseline
            if isinstance(given, str):
                given = prior.slab if given == "slab" else SpikeSlab(slab=prior.slab)
            # The biases have one prior.
            is_spiked = isinstance(given, SpikeSlab)
            return replace(given, bias_scale=prior.bias_scale, biases=prior.biases) if is_spiked else given
        if name == "method" and isinstance(self.method, str) and self.method == AUTO:
            return COMPARISONS.read(self._of_fit.get("method_", "exact"))
        return super().object(name)

    @recorded
    def fit(self, X: Any, groups: Any = None, sample_weight: Any = None) -> CompareMRF:
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
        """
        parts, likelihood, kernel, method = self._prepare(X, groups, sample_weight)
        inner = kernel.kernel if isinstance(kernel, DrawHiddenEntries) else kernel
        model, prior, seeds = likelihood.model, self.object("prior"), run_seed(self)
        draws = sample_posterior(self, model, kernel, seeds, group=len(parts))
        samples, names = likelihood.samples, [str(label) for label in self.groups_]
        hashes = [data_hash(self._graph, s.s_bar, s.n_samples, s.hidden) for s in samples]
        self.posterior_ = results.to_datatree(
            draws,
            model,
            attrs={
                "data_hash": hashlib.sha256(" ".join(hashes).encode()).hexdigest(),
                "model": model.name,
                "chosen_model": self._chooses,
                "prior": asdict(prior) | {"slab": {"family": type(prior.slab).__name__} | asdict(prior.slab)},
                "baseline": f"{self.object('baseline')}",
                "biases": self.biases,
                "kind": method.kind,
                "method": method.name,
            }
            | ({"n_particles": inner.n_particles} if self.method_ == "particle" else {}),
            observed={
                "statistics": np.array([s.s_bar for s in samples]),
                "n_samples": sum(s.n_samples for s in samples),
                "group_sizes": np.array([s.n_samples for s in samples]),
            },
            groups=names,
        )
        theta, share = draws.values["theta"], draws.values["included"].mean(axis=(0, 1))
        self.theta_ = theta.mean(axis=(0, 1))
        self.difference_inclusion_ = self._symmetric(share)
        self.edge_inclusion_ = self._symmetric(exist_in_groups(theta[..., : model.n_edges]).mean(axis=(0, 1)))
        self.weights_ = np.array([self._symmetric(t[: model.n_edges]) for t in self.theta_])
        self.density_ = float(draws.values["density"].mean())
        is_own = method.options is Custom
        spiked = [] if is_own else [p for p in (prior, self.object("baseline")) if isinstance(p, SpikeSlab)]
        for slab in dict.fromkeys(given.slab for given in spiked):  # baselines may have the slab of differences
            warn_of_taper(slab)
        self.missing_ = self._missing(likelihood, theta, parts, seeds)
        if len(self.missing_):
            results.add_missing(self.posterior_, self.missing_)
        check_modes(self, parts, seeds, particle_sweeps(engine_used(inner, model)) if is_own else inner.particle_sweeps)
        tell_of_rare(parts[0], self._unsure)
        tell_of_rows(parts)
        convergence.warn_unless_converged(self.posterior_)
        return self

    def check(self, X: Any, groups: Any = None, sample_weight: Any = None) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, groups, sample_weight)

    def _prepare(self, X: Any, groups: Any, sample_weight: Any) -> tuple[list[States], Likelihood, Any, MethodRow]:
        """All that comes before the first draw: states of each group, likelihood, kernel, its row."""
        check_params(self)
        self._choose_model(X, sample_weight)
        states = self._read(X, sample_weight, self.progress, missing=True, option="candidates")
        require_edges(self._graph, "candidates")
        self.groups_, code = read_groups(groups, X, len(X))
        model = self._model()
        self.model_ = model.name
        if isinstance(self._family, CustomModel):
            like(model)
        n_states = prod([model.n_states] * model.graph.n_nodes)
        chosen = "exact" if n_states <= _EXACT else "particle"
        row = row_of(chosen if self.method == AUTO else self.method, COMPARISONS)
        self.method_ = row.name
        if self.method_ == "exact":
            check_size(model)
        code = code[states.given_rows]
        parts = [states.at(np.flatnonzero(code == g)) for g in range(len(self.groups_))]
        for label, part in zip(self.groups_, parts, strict=True):
            check_group(label, part, levels_in(states))
        self._unsure = sorted({i for part in parts for i in rarely_observed(part, self._graph)})
        samples = [read_sample(model, part, Elimination()) for part in parts]
        contrast = contrasts([s.n_samples for s in samples])
        likelihood = group_likelihood(model, samples, contrast, Persistent(), self.biases)
        prior = DifferencePrior(contrast, self.object("prior"), self.object("baseline"), self.biases)
        given = likelihood, *prior
        kernel: Any
        if row.options is Custom:
            kernel, row = own_method_of_edges(COMPARISONS, self.method, likelihood, prior)
            self.method_ = row.name
        elif self.method_ == "exact":
            kernel = Differences(*given, _SCANS if n_states < _MANY_STATES else 1)
        else:
            options = self.object("method")
            if options.n_particles is None:
                most = default_particles(_FEWER * max(s.n_samples for s in samples), model.graph.n_nodes)
                options = replace(options, n_particles=most)
            kernel = GroupParticles(*given, options=options)
        if any(s.hidden is not None for s in samples):
            likelihood.require_hidden(kernel.name, {SAMPLE})
            kernel = DrawHiddenEntries(kernel, likelihood)
        return parts, likelihood, kernel, row

    def _missing(self, likelihood: Likelihood, theta: np.ndarray, parts: list[States], seeds: Any) -> pd.DataFrame:
        """Missing values of all groups, by the rows of X."""
        import pandas as pd

        found = []
        for t, (sample, part) in enumerate(zip(likelihood.samples, parts, strict=True)):
            alone = Likelihood(likelihood.model, sample.s_bar, sample.n_samples, likelihood.engine, sample.hidden)
            table = missing_table(alone, theta[:, :, t], part, seeds)
            if len(table):
                found.append(table)
        return pd.concat(found).sort_values("row", kind="stable", ignore_index=True) if found else table

    @property
    def graphs_(self) -> dict[Any, nx.Graph]:
        """The network of each group: edges with ``weight``, nodes with ``bias``."""
        check_is_fitted(self)
        return {label: self._network(theta) for label, theta in zip(self.groups_, self.theta_, strict=True)}

    @property
    def graph_(self) -> nx.Graph:
        """Edges in which the groups differ with a probability above 0.5; see the class."""
        check_is_fitted(self)
        network = self._graph.to_networkx()
        first, *others = self.weights_
        names = self._graph.names
        for u, v in self.edges_:
            difference = np.array([w[u, v] - first[u, v] for w in others])
            network.edges[names[u], names[v]].update(
                inclusion=float(self.difference_inclusion_[u, v]),
                difference=float(difference[0]) if len(others) == 1 else difference,
            )
        network.remove_edges_from([(u, v) for u, v, p in network.edges(data="inclusion") if p <= 0.5])
        return network

    def statistic(self, function: Callable[..., Any], of: str = "theta", name: str = "statistic") -> xr.DataArray:
        """Compute any function of the network of each group for each draw, in ArviZ's form; see `compare`.

        Parameters
        ----------
        function : callable
            Of theta (n_features,), or of a networkx graph with edge attribute ``weight`` and node attribute ``bias``,
            without edges that are absent in the group (``baseline="spike-slab"``).
        of : {"theta", "graph"}
        name : str

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw, group, and those of the value.
        """
        return of_draws(self, function, of, name)

    def strength(self) -> xr.DataArray:
        """Compute the posterior of the strength of each node in each group, the sum of absolute weights of its edges.

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw, group, node.
        """
        check_is_fitted(self)
        return strength_of_draws(self)

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
        import pandas as pd
        import xarray as xr

        check_is_fitted(self)
        if not (isinstance(draws, xr.DataArray) and {"chain", "draw", "group"} <= {*draws.dims}):
            expected = "draws of each group, with the dimensions chain, draw and group"
            raise OptionError(option="draws", got=draws, expected=expected, remedy="take `statistic` or `strength`")
        tails = central(probability)
        names = [str(g) for g in draws["group"].values]
        rest = [d for d in draws.dims if d not in ("chain", "draw", "group")]
        stacked = np.asarray(draws.transpose("chain", "draw", "group", *rest), dtype=float)
        stacked = stacked.reshape(-1, len(names), *stacked.shape[3:])
        values = {name: stacked[:, i] for i, name in enumerate(names)}
        values |= {f"{b} - {a}": values[b] - values[a] for a, b in combinations(names, 2)}
        places = [grid.ravel() for grid in np.meshgrid(*(draws[d].values for d in rest), indexing="ij")]
        found = []
        for name, x in values.items():
            lower, upper = np.quantile(x, tails, axis=0)
            each = {"mean": x.mean(axis=0), "lower": lower, "upper": upper}
            each = {k: np.ravel(v) for k, v in each.items()}
            each |= {str(d): labels for d, labels in zip(rest, places, strict=True)}
            found.append(pd.DataFrame(each).assign(group=name))
        return pd.concat(found).set_index(["group", *rest])
