"""What all estimators share."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from .. import graphs, run
from ..base import Kernel, SamplingEngine
from ..errors import FieldsWarning, GraphError, OptionError, argument, renamed
from ..graphs import Graph
from ..inference.auto import choose
from ..inference.elimination.two_states import Elimination
from ..likelihood import Likelihood
from ..memory import check_draws
from ..options import check
from ..rng import as_seed_sequence
from ..rules import is_count
from ..samplers.gibbs import Gibbs
from ..states import States, check_states, decode
from ..store import place_of
from .normaliser import ANNEALED, EXACT, Normaliser, is_within_reach, normaliser, warn_if_rough

if TYPE_CHECKING:
    import pandas as pd

_PREDICTED = 1000  # draws over which the probabilities of missing values are averaged
_UNBALANCED = 1e-6  # p-value of a column that is not balanced
_NAMED = 5  # columns that are named
_SWEEPS = 500  # Gibbs sweeps behind each state of `sample` where no exact sampler reaches


class MissingValues:
    """Estimators whose X may have missing values (NaN)."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        return tags


class PairwiseMRF(DensityMixin, BaseEstimator):
    """What the estimators share: reading data and graph, and using a fitted theta."""

    graph: Any
    random_state: Any
    theta_: np.ndarray
    _log_z: Normaliser | None

    def _model(self) -> Any:
        """The model on ``graph_``."""
        raise NotImplementedError

    def _read(
        self,
        X: Any,
        sample_weight: Any,
        progress: bool = False,
        missing: bool = False,
        n_states: Any = None,
        graph: Any = None,
        option: str = "graph",
    ) -> States:
        states = check_states(X, sample_weight, missing=missing, n_states=n_states)
        self.n_features_in_ = len(states.names)
        if hasattr(X, "columns") and all(isinstance(c, str) for c in X.columns):
            self.feature_names_in_ = np.array(states.names, dtype=object)
        self.graph_ = read_graph(self.graph if graph is None else graph, states, progress, option)
        self.edges_ = self.graph_.edges
        self._names, self._coding = states.names, states.coding
        self._log_z = None
        return states

    def _exact_engine(self) -> Elimination | None:
        engine = choose(self.graph_, n_states=None if isinstance(self._coding, str) else len(self._coding))
        return engine if isinstance(engine, Elimination) else None

    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        """Mean log likelihood of an observation, in nats, at ``theta_``.

        It is exact where elimination takes a second at most. Elsewhere log Z is an estimate by annealed importance
        sampling, with the standard error ``log_z_error_``; where that is above 0.1 nats, an `ApproximateScoreWarning`
        says so. ``score_kind_`` says which it is. The pseudo-likelihood, another quantity, is
        `bayesmrf.metrics.log_pseudo_likelihood`.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.
        """
        check_is_fitted(self)
        levels = None if isinstance(self._coding, str) else self._coding
        states = check_states(X, sample_weight, self._names, levels=levels)
        log_z, error, status = self._normaliser()
        warn_if_rough(error, status)
        return float(np.dot(self.theta_, self._model().statistics(states.values, states.weights)) - log_z)

    @property
    def log_z_(self) -> float:
        """Log Z at ``theta_``, found when first asked for."""
        return self._normaliser().log_z

    @property
    def log_z_error_(self) -> float:
        """Standard error of `log_z_`; 0 where it is exact."""
        return self._normaliser().error

    @property
    def score_kind_(self) -> str:
        """What `score` is: a log likelihood, with log Z exact or by annealed importance sampling."""
        check_is_fitted(self)
        return EXACT if is_within_reach(self._model()) else ANNEALED

    def _normaliser(self) -> Normaliser:
        check_is_fitted(self)
        if self._log_z is None:
            self._log_z = normaliser(self._model(), self.theta_)
        return self._log_z

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw states at ``theta_``: exact where elimination is cheap, else by Gibbs sweeps.

        They come in the coding of the data fitted.

        Parameters
        ----------
        n_samples : int
        random_state : int, Generator, RandomState or None
            None draws from the estimator's own ``random_state``.
        """
        check_is_fitted(self)
        check({"n_samples": n_samples, "random_state": random_state}, "draw")
        rng = np.random.default_rng(as_seed_sequence(self.random_state if random_state is None else random_state))
        engine: SamplingEngine = self._exact_engine() or Gibbs(n_sweeps=_SWEEPS)
        model = self._model()
        return decode(engine.sample(model, self.theta_, engine.prepare(model), int(n_samples), rng), self._coding)


def central(probability: float) -> tuple[float, float]:
    """Levels of the ends of the central interval."""
    check({"probability": probability})
    return (1 - probability) / 2, (1 + probability) / 2


@dataclass(eq=False, repr=False, kw_only=True)
class RunOptions:
    """Options of the estimators that sample a posterior; see `bayesmrf.GroupedMRF`."""

    n_draws: int = 1000
    n_warmup: int = 500
    n_chains: int = 4
    thin: int = 1
    random_state: Any = None
    n_jobs: int | None = None
    progress: bool = True
    checkpoint: Any = None


def run_seed(estimator: RunOptions) -> np.random.SeedSequence:
    """Take the seed of an estimator's run: its random_state or, for None, that of the checkpoint if there is one."""
    return run.seed_sequence(estimator.random_state, *place_of(estimator.checkpoint))


def sample_posterior(estimator: RunOptions, model: Any, kernel: Kernel, seeds: np.random.SeedSequence) -> run.Draws:
    """Run a kernel from a seed (see `run_seed`) by the options that all estimators of posteriors have."""
    sizes = {"feature": model.n_features, "edge": model.graph.n_edges, "node": model.graph.n_nodes}
    check_draws(kernel.dims, sizes, estimator.n_draws, estimator.n_chains)
    path, overwrite = place_of(estimator.checkpoint)
    return run.sample(
        kernel,
        n_draws=estimator.n_draws,
        n_warmup=estimator.n_warmup,
        n_chains=estimator.n_chains,
        thin=estimator.thin,
        random_state=seeds,
        n_jobs=estimator.n_jobs,
        progress=estimator.progress,
        checkpoint=path,
        overwrite=overwrite,
    )


def read_graph(graph: Any, states: States, progress: bool, option: str = "graph") -> Graph:
    """The graph that an option stands for: edges, "complete", or "learn:K"."""
    try:
        if not isinstance(graph, str):
            return graphs.from_edges(graph, states.names)
        if graph == "complete":
            return graphs.complete(len(states.names), states.names)
    except GraphError as e:
        raise GraphError(renamed(e.text, "graph", option)) from None
    kind, _, number = graph.partition(":")
    if kind == "learn" and is_count(number):
        if states.n_states > 2:
            expected = f"edges or 'complete' for data with {states.n_states} states"
            raise OptionError(option=option, got=graph, expected=expected)
        if (states.values < 0).any():
            expected = "edges or 'complete' for a table with missing values"
            raise OptionError(option=option, got=graph, expected=expected, remedy="or drop the rows that have any")
        from ..learning.sparse import learn_graph  # takes half a second

        return learn_graph(states, int(number), progress=progress)
    expected = "pairs of nodes, a networkx graph, 'complete', or 'learn:K' for K edges"
    raise OptionError(option=option, got=graph, expected=expected)


def warn_of_unbalanced(states: States) -> None:
    """Warn of columns that a model without fields cannot describe.

    Without fields all states of a node are equally probable. A column is named where a chi-squared test of that (for
    two states, a two-sided test of one half) has a p-value below 1e-6.
    """
    values, weights = states.values, states.weights
    m = states.n_states
    counts = np.array([(values == k).sum(axis=0) if weights is None else weights @ (values == k) for k in range(m)])
    n = np.maximum(counts.sum(axis=0), 1)  # those that are not missing
    statistic = ((counts - n / m) ** 2).sum(axis=0) * m / n
    far = np.flatnonzero(chdtrc(m - 1, statistic) < _UNBALANCED)
    if len(far):
        some = ", ".join(repr(states.names[i]) for i in far[:_NAMED])
        rest = f" and {len(far) - _NAMED} more" if len(far) > _NAMED else ""
        warnings.warn(
            f"{len(far)} of {len(states.names)} columns are far from balanced ({some}{rest}), which looks like edges with "
            f"{argument('fields', False)}; set {argument('fields', True)}.",
            FieldsWarning,
            stacklevel=3,
        )


def data_hash(graph: Graph, s_bar: np.ndarray, n: float, rows: np.ndarray | None = None) -> str:
    """Checksum of what the likelihood knows of the data: the edges and the summed statistics, which are counts.

    Where values are missing, it knows the ``rows``.
    """
    digest = hashlib.sha256(np.ascontiguousarray(graph.edges).tobytes())
    digest.update(np.rint(n * np.append(s_bar, 1.0)).astype(np.int64).tobytes())
    if rows is not None:
        digest.update(np.ascontiguousarray(rows).tobytes())
    return digest.hexdigest()


def hidden_probabilities(likelihood: Likelihood, theta: np.ndarray, seeds: np.random.SeedSequence) -> np.ndarray:
    """`Likelihood.hidden_probabilities` over evenly spaced draws of theta (n_chains, n_draws, n_features).

    ``seeds`` is the seed of the run, whose chains have children of it: a run that was resumed gives the same.
    """
    theta = theta.reshape(-1, theta.shape[2])
    some = np.unique(np.linspace(0, len(theta) - 1, _PREDICTED).astype(int))
    return likelihood.hidden_probabilities(theta[some], np.random.default_rng(seeds))


def missing_table(
    likelihood: Likelihood, theta: np.ndarray, states: States, seeds: np.random.SeedSequence
) -> pd.DataFrame:
    """Each missing value: row, node, and probability of 1 (of each state, if many), averaged over draws of theta."""
    import pandas as pd

    if likelihood.hidden is None:
        return pd.DataFrame({"row": [], "node": [], "probability": []})
    probability = hidden_probabilities(likelihood, theta, seeds)
    # A row that was seen several times stands there several times.
    row, node = likelihood.hidden.model.cells.T
    keys = {"row": states.row_numbers[row], "node": np.array(states.names, dtype=object)[node]}
    if probability.ndim == 2:
        m = probability.shape[1]
        keys = {name: np.repeat(values, m) for name, values in keys.items()}
        keys["state"] = np.tile(np.array(states.coding), len(row))
    table = pd.DataFrame(keys | {"probability": probability.ravel()})
    return table.groupby(list(keys), sort=False, as_index=False).mean()
