"""Which edges exist: posterior of a network's structure and parameters under a spike-and-slab prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import convergence, metrics, results, run
from ..base import Kernel
from ..errors import DataError, OptionError, in_words
from ..graphs import Graph
from ..inference.auto import is_cheap
from ..inference.chains import Persistent
from ..inference.elimination.two_states import Elimination
from ..learning.sparse_path import sparse_start
from ..likelihood import Hidden, Likelihood
from ..methods import EDGES
from ..models.boltzmann import Boltzmann
from ..models.clamped import Clamped
from ..options import check, check_params
from ..posterior.edges.exact import SpikeSlabExact
from ..posterior.edges.langevin import SpikeSlabLangevin
from ..posterior.edges.one_edge import SpikeSlabOneEdge
from ..posterior.hidden_entries import DrawHiddenEntries
from ..priors import Cauchy, SpikeSlab
from ..rules import is_integer
from ..states import States
from .base import MissingValues, RunOptions, central, data_hash, missing_table, run_seed, sample_posterior
from .edge_prior import warn_of_prior
from .option_objects import OptionObjects
from .parameter_posterior import ParameterPosterior

if TYPE_CHECKING:
    import pandas as pd

_PARTICLES = 256, 4096  # of one-edge


@dataclass(eq=False, repr=False)
class SpikeSlabMRF(MissingValues, RunOptions, OptionObjects, ParameterPosterior):
    r"""Posterior over edges, weights and biases of a Boltzmann machine (Chen and Welling 2012).

    Each candidate edge is absent with probability 1 - p0 (the spike), and has a normal or Cauchy weight otherwise (the
    slab); see `bayesmrf.priors.SpikeSlab`.

    Parameters
    ----------
    candidates : "complete", edges, DataFrame, networkx graph or `Graph`
        Edges that may exist.
    prior : "spike-slab" or `priors.SpikeSlab`
        Prior of the density (the share of the candidates that exist), of the weights and of the biases, such as
        ``SpikeSlab(density=Beta(5, 5), slab=Cauchy(2.5))``.
    method : {"one-edge", "exact", "langevin"} or an object of `bayesmrf.methods`
        * one-edge (`methods.OneEdge`): single-edge birth and death at any weight, by the full conditional of one edge
          with moments from persistent chains.
        * exact (`methods.Exact`): the same with exact moments; for at most about twenty nodes, or a narrow graph.
        * langevin (`methods.Langevin`): Algorithm 1 of the paper: persistent chains, Langevin dynamics, and jumps of
          weak edges. It mixes hundreds of times more slowly (see benchmarks).
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, progress, checkpoint
        As in `GroupedMRF`. A draw takes 9 bytes per candidate, 4.5 MB with 1,000 nodes: thin long chains.

    Attributes
    ----------
    inclusion_ : (n_nodes, n_nodes) array
        Probability that an edge exists, given the data; symmetric, 0 without a candidate.
        graph_ : networkx.Graph
        The edges with inclusion above 0.5, with attributes ``inclusion`` and ``weight``; nodes have ``bias``.
    theta_ : (n_features,) array
        Posterior mean of each candidate's weight given that the edge exists (0 if it never does), and of each bias.
    density_, slab_scale_ : float
        Posterior means of p0 and of the slab's scale (sigma0, or the given one).
    missing_ : DataFrame
        Row and node of each missing value of X, and the posterior probability that it is 1 (True).
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    edges_ : (n_edges, 2) int array
        The candidates.
    feature_names_ : (n_features,) array of str
        Names of ``theta_``: ``u-v`` for a candidate edge, ``u`` for a node.
    """

    read = {"method": EDGES.read, "prior": lambda _: SpikeSlab()}  # noqa: RUF012

    candidates: Any = "complete"
    prior: Any = "spike-slab"
    method: Any = "one-edge"

    def _model(self, graph: Graph | None = None) -> Any:
        return Boltzmann(graph or self._graph)

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> SpikeSlabMRF:
        """Sample the posterior.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Yes/no data in one coding. Values that are missing (NaN) are drawn with the parameters.
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            How many times each row was seen: integers >= 0; a Series with the index of ``X``.
        """
        check_params(self)
        states = self._read(X, sample_weight, self.progress, missing=True, option="candidates")
        if self.n_features_in_ < 2:
            raise DataError("X must have at least two columns, got 1 feature(s).")
        model, prior, method, graph = self._model(), self.object("prior"), self.object("method"), self._graph
        hidden, n = self._hidden(model, states), states.n_samples
        if hidden is None:
            s_bar, rows = model.statistics(states.values, states.weights), None
        else:
            s_bar, rows = hidden.model.seen_statistics(), hidden.model.states
        data = Likelihood(model, s_bar, n, Persistent(), hidden)  # only for what is hidden
        kernel = _KERNELS[EDGES.row(method).name](method, model, s_bar, n, prior, sparse_start(graph, states))
        seeds = run_seed(self)
        draws = sample_posterior(self, model, kernel if hidden is None else DrawHiddenEntries(kernel, data), seeds)
        attrs = {
            "data_hash": data_hash(graph, s_bar, n, rows),
            "model": "boltzmann",
            "prior": asdict(prior) | {"slab": {"family": type(prior.slab).__name__} | asdict(prior.slab)},
            "kind": EDGES.row(method).kind,
            "method": EDGES.row(method).name,
        }
        attrs |= {name: getattr(kernel, name, value) for name, value in asdict(method).items()}  # None is resolved
        self.posterior_ = results.to_datatree(
            draws, model, attrs=attrs, observed={"statistics": s_bar, "n_samples": n}, constant={}
        )
        self._summarise(model, draws)
        warn_of_prior(
            self._stacked("theta")[:, : model.n_edges],
            draws.values["slab_scale"].ravel(),
            isinstance(prior.slab, Cauchy),
            model,
            s_bar if hidden is None else None,
            n,
        )
        self.missing_ = missing_table(data, draws.values["theta"], states, seeds)
        if hidden is not None:
            results.add_missing(self.posterior_, self.missing_)
        convergence.warn_unless_converged(self.posterior_)
        return self

    def _hidden(self, model: Boltzmann, states: States) -> Hidden | None:
        """The model clamped to what was seen; None where nothing is missing."""
        if (states.values >= 0).all():
            return None
        clamped = Clamped(model, states.rows)
        # A chain that leaves the distribution of the hidden entries invariant suffices.
        return Hidden(clamped, Elimination() if is_cheap(clamped.graph) else Persistent(n_chains=1))

    def _summarise(self, model: Boltzmann, draws: run.Draws) -> None:
        graph, r = model.graph, model.n_edges
        theta, included = draws.values["theta"], draws.values["included"]
        share = included.mean(axis=(0, 1))
        u, v = graph.edges.T
        self.inclusion_ = np.zeros((graph.n_nodes, graph.n_nodes))
        self.inclusion_[u, v] = self.inclusion_[v, u] = share
        mean = theta.mean(axis=(0, 1))
        self.theta_ = np.concatenate([mean[:r] / np.where(share > 0, share, 1), mean[r:]])
        self.density_ = float(draws.values["density"].mean())
        self.slab_scale_ = float(draws.values["slab_scale"].mean())

    def edge_table(self, probability: float = 0.9) -> pd.DataFrame:
        """Return the candidate edges by decreasing inclusion, with the weight given that the edge exists.

        Parameters
        ----------
        probability : float
            Of the central interval of the weight; NaN if the edge never exists.

        Returns
        -------
        DataFrame
            Columns first, second, inclusion, weight, lower, upper.
        """
        import pandas as pd

        check_is_fitted(self)
        draws, graph = self._stacked("theta"), self._graph
        tails = central(probability)
        interval = np.full((graph.n_edges, 2), np.nan)
        for e in range(graph.n_edges):
            there = draws[:, e] != 0
            if there.any():
                interval[e] = np.quantile(draws[there, e], tails)
        u, v = graph.edges.T
        names = np.array(graph.names, dtype=object)
        weight = np.where(self.inclusion_[u, v] > 0, self.theta_[: graph.n_edges], np.nan)
        table = {"first": names[u], "second": names[v], "inclusion": self.inclusion_[u, v], "weight": weight}
        table |= {"lower": interval[:, 0], "upper": interval[:, 1]}
        return pd.DataFrame(table).sort_values("inclusion", ascending=False, ignore_index=True)

    def predict_conditional(self, X: Any, group: Sequence[Any], average: str = "bayes") -> np.ndarray:
        """Compute the probability of each joint state of a group of nodes, given the other nodes of each row.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
        group : sequence
            Nodes by name or by number, at most 16.
            average : {"bayes", "mean"}
            A mixture over 100 draws, or the model with the edges with inclusion above 0.5 ("Bayes PM").

        Returns
        -------
        (n_samples, 2^len(group)) array
            The first node of the group is the highest bit of the number of a state.
        """
        model, states, nodes = self._ask(X, group)
        return np.exp(metrics.conditional_log_probability(model, self._components(average), states, nodes))

    def conditional_log_likelihood(self, X: Any, group: Sequence[Any], average: str = "bayes") -> np.ndarray:
        """Compute the log probability of the states of a group of nodes, given the other nodes of each row, in nats."""
        model, states, nodes = self._ask(X, group)
        found = metrics.conditional_log_probability(model, self._components(average), states, nodes)
        number = states[:, nodes].astype(np.int64) @ (1 << np.arange(len(nodes))[::-1])
        return found[np.arange(len(found)), number]

    def _ask(self, X: Any, group: Sequence[Any]) -> tuple[Boltzmann, np.ndarray, list[int]]:
        check_is_fitted(self)
        check({"group": group})
        states = self._new(X).values
        place = {name: i for i, name in enumerate(self._names)}
        nodes = [place.get(str(g), g if is_integer(g) else -1) for g in group]
        for given, node in zip(group, nodes, strict=True):
            if not 0 <= node < len(self._names):
                last = len(self._names) - 1
                raise OptionError(f"group: {in_words(given)} is not a node; give names, or numbers from 0 to {last}")
        if not 1 <= len(set(nodes)) == len(nodes) <= 16:
            raise OptionError(option="group", got=f"{len(nodes)} nodes", expected="1 to 16 different nodes")
        return self._model(), states, [int(i) for i in nodes]


def _exact(_: Any, model: Boltzmann, s_bar: np.ndarray, n: float, prior: SpikeSlab, start: Any) -> Kernel:
    return SpikeSlabExact(Likelihood(model, s_bar, n, Elimination()), prior, start)


def _one_edge(options: Any, model: Boltzmann, s_bar: np.ndarray, n: float, prior: SpikeSlab, start: Any) -> Kernel:
    # Strong edges do not mix with fewer chains than observations; more chains cost time.
    m = int(np.clip(n, *_PARTICLES)) if options.n_particles is None else options.n_particles
    more = options.epsilon, options.momentum, options.n_iterations
    return SpikeSlabOneEdge(model, s_bar, n, prior, start, m, *more)


def _langevin(options: Any, model: Boltzmann, s_bar: np.ndarray, n: float, prior: SpikeSlab, start: Any) -> Kernel:
    more = options.epsilon, options.momentum, options.width, options.n_iterations
    return SpikeSlabLangevin(model, s_bar, n, prior, start, options.n_particles, options.n_sweeps, *more)


_KERNELS = {"exact": _exact, "one-edge": _one_edge, "langevin": _langevin}
