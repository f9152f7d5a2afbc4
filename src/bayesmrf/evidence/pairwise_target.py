"""Target of the evidence for pairwise models, with or without hidden nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.special import logsumexp

from ..base import LOG_Z, MOMENTS, Inference, SamplingEngine
from ..declare.option import Checked, option
from ..declare.rule import integer
from ..errors import TooWideError, argument
from ..inference import annealed
from ..inference.auto import choose
from ..inference.chains import Brief, Persistent
from ..inference.elimination.engine import Elimination, cost
from ..learning.maximum_likelihood import bound_of_nodes
from ..likelihood import Hidden, Likelihood
from ..models.bases import PairwiseModel, edge_starts
from ..models.clamped import Clamped
from ..models.linear_map import LinearMap
from ..samplers.gibbs import Gibbs
from .target import ENTRIES, Given, Target

FILLED = 64  # chains on the hidden nodes of all rows, averaged in the positive phase of contrastive divergence
SUMMED = 10  # nodes up to which summation over all states is faster than elimination, for many theta at once
QUICK_BYTES = 8 * 2**19  # of elimination tables: up to this size elimination takes milliseconds
_STEP = 1e-4  # of finite differences: the error is about its square, plus rounding divided by it
_DENSE = 8  # matrix entries per edge up to which a dense product is faster than a sum over edges
_EXACT_STEPS = 1000  # ascent by exact moments was within 1e-5 nats of a mode after these


@dataclass(frozen=True, eq=False)
class PairwiseTarget(Checked, Target):
    """A binary pairwise model of which the last ``n_hidden`` nodes are hidden.

    Parameters
    ----------
    model : PairwiseModel
        The model of visible and hidden nodes.
    linear : LinearMap, optional
        Natural parameters as a linear map of the free ones, such as parameters that several features share.
    exchangeable : (n_hidden, m) int array, optional
        Features of each hidden node, in the same order, if exchanging those of two nodes gives the same model.
    """

    model: PairwiseModel
    # 2^12 joint states are summed for each row.
    n_hidden: int = option(
        0,
        integer(0, 12, "a restricted Boltzmann machine takes more"),
        "Number of hidden nodes; their joint states are summed for each row.",
    )
    linear: LinearMap | None = None
    exchangeable: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))

    @property
    def n_features(self) -> int:
        """Number of free parameters."""
        return self.model.n_features if self.linear is None else self.linear.n_features

    @property
    def n_visible(self) -> int:
        """Number of nodes that are not hidden."""
        return self.model.graph.n_nodes - self.n_hidden

    @property
    def rows_at_once(self) -> int:
        """Number of rows in a block: each row has features for each joint state of the hidden nodes."""
        return max(1, ENTRIES // (self.model.n_features * 2**self.n_hidden))

    @property
    def has_hidden(self) -> bool:
        """Whether there are hidden nodes."""
        return self.n_hidden > 0

    @property
    def units(self) -> np.ndarray:
        """``exchangeable``."""
        return self.exchangeable

    @cached_property
    def _engine(self) -> Elimination | Persistent:
        return choose(self.model.graph)

    @cached_property
    def _plan(self) -> Any:
        return self._engine.prepare(self.model)

    @cached_property
    def _hidden(self) -> np.ndarray:
        """All joint states of the hidden nodes."""
        return (np.arange(2**self.n_hidden)[:, None] >> np.arange(self.n_hidden) & 1).astype(np.int8)

    @property
    def _is_exact(self) -> bool:
        return LOG_Z in self._engine.answers

    @property
    def joint(self) -> PairwiseModel:
        """``model``."""
        return self.model

    def limits(self, limit: float) -> np.ndarray:
        """Return the bounds; those of fields that are finite at the maximum are beyond it, without hidden nodes."""
        bounds, model, r = super().limits(limit), self.model, edge_starts(self.model)[-1]
        if self.n_hidden == 0:
            mean = model.statistics(self.states, self.weights)
            inside = (mean > model.feature_low) & (mean < model.feature_high)  # a state occurs, but not always
            inside[:r] = False
            one = np.arange(model.n_features)
            rows, columns = (one, one) if self.linear is None else (self.linear.rows, self.linear.columns)
            finite = np.setdiff1d(columns[inside[rows]], columns[rows < r])
            bounds[finite] = bound_of_nodes(limit, model)
        return bounds

    def natural(self, theta: np.ndarray) -> np.ndarray:
        """Return the natural parameters, one for each feature."""
        return theta if self.linear is None else self.linear.natural(theta)

    def _pull(self, features: np.ndarray) -> np.ndarray:
        """Return the statistics of the free parameters, A^T s, from features s (..., model.n_features)."""
        return features if self.linear is None else np.asarray(features @ self.linear.matrix)

    def _features(self, spins: np.ndarray) -> np.ndarray:
        """Compute s(x) of each row of states of all nodes in {-1, +1}, (n_rows, n_features)."""
        f, (u, v) = self.model.form, self.model.graph.edges.T
        features = f.a + f.b * spins[:, u] * spins[:, v] + f.c * (spins[:, u] + spins[:, v])
        if self.model.fields:
            features = np.hstack([features, f.p + f.q * spins])
        return self._pull(features)

    @property
    def row_size(self) -> int:
        """Number of features of all joint states of the hidden nodes; without hidden nodes, of nodes."""
        return self.n_features * 2**self.n_hidden if self.n_hidden else self.model.graph.n_nodes

    def prepare(self, states: np.ndarray) -> np.ndarray:
        """Return s(x, z) for each row and each joint state of the hidden nodes, (n_rows, 2^n_hidden, n_features).

        Without hidden nodes, return the states in {-1, +1}.
        """
        if self.n_hidden == 0:
            return 2.0 * states - 1
        n, h = len(states), self._hidden
        rows = np.concatenate([np.repeat(states, len(h), axis=0), np.tile(h, (n, 1))], axis=1)
        return self._features(2.0 * rows - 1).reshape(n, len(h), -1)

    def given(self, theta: np.ndarray, prepared: np.ndarray) -> Given:
        """Sum over all joint states of the hidden nodes."""
        return SummedNodes(prepared, prepared @ theta) if self.n_hidden else _SeenNodes(self, theta, prepared)

    @cached_property
    def _statistics(self) -> np.ndarray:
        """Sums of the features over the observations, without hidden nodes."""
        return self.blocks.sums(np.zeros(self.n_features), self.weights)[1]

    def positive(self, theta: np.ndarray) -> float:
        """Return the sum of log Z(x_n, theta), which is linear in theta without hidden nodes."""
        return super().positive(theta) if self.n_hidden else float(self._statistics @ theta)

    def sums(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return `positive` and its gradient."""
        return super().sums(theta) if self.n_hidden else (float(self._statistics @ theta), self._statistics)

    def exact(self, theta: np.ndarray, want: str = MOMENTS) -> Inference:
        """Compute log Z and moments by elimination."""
        self.require_exact("this")
        inference = self._engine.infer(self.model, self.natural(theta), self._plan, want)
        return inference if inference.moments is None else Inference(inference.log_z, self._pull(inference.moments))

    @cached_property
    def _visible(self) -> tuple[np.ndarray, np.ndarray]:
        """Features of all states of the visible nodes, and how many times each was observed."""
        bits = np.arange(self.states.shape[1])
        every = (np.arange(2 ** len(bits))[:, None] >> bits & 1).astype(np.int8)
        table = self.prepare(every) if self.n_hidden else self._features(2.0 * every - 1)[:, None]
        return table, np.bincount(self.states @ 2**bits, self.weights, len(every))

    @property
    def can_enumerate(self) -> bool:
        """Whether a sum over all states is faster than elimination, for many theta at once."""
        return self.model.graph.n_nodes <= SUMMED

    def log_likelihoods(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum over all states for all ``thetas`` at once if there are few nodes; else compute one by one."""
        if not self.can_enumerate:
            return super().log_likelihoods(thetas)
        s, counts = self._visible
        flat = s.reshape(-1, self.n_features)
        log_weight = (thetas @ flat.T).reshape(len(thetas), *s.shape[:2])
        by_state = logsumexp(log_weight, axis=2) if self.n_hidden else log_weight[:, :, 0]
        log_z = logsumexp(by_state, axis=1)
        excess = counts - self.n_samples * np.exp(by_state - log_z[:, None])
        share = np.exp(log_weight - by_state[:, :, None]) * excess[:, :, None]
        return by_state @ counts - self.n_samples * log_z, share.reshape(len(thetas), -1) @ flat

    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Return central differences of the exact moments."""
        matrix = np.empty((self.n_features, self.n_features))
        for i, step in enumerate(_STEP * np.eye(self.n_features)):
            matrix[i] = (self.exact(theta + step).moments - self.exact(theta - step).moments) / (2 * _STEP)
        return (matrix + matrix.T) / 2

    def require_exact(self, method: str) -> None:
        """Raise TooWideError if elimination is not cheap."""
        if not self._is_exact:
            raise TooWideError(f"{method} needs the exact Z, and elimination on these {self.model.graph.n_nodes} nodes "
                               f"and {self.model.graph.n_edges} edges is not cheap; use "
                               f"{argument('method', 'laplace')}.")  # fmt: skip

    @property
    def is_quick(self) -> bool:
        """Whether elimination takes at most some milliseconds."""
        return cost(self.model.graph, QUICK_BYTES)[1] <= QUICK_BYTES

    def sample(self, theta: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draw exactly if elimination is cheap, else by Gibbs chains."""
        engine: SamplingEngine = self._engine if isinstance(self._engine, Elimination) else Gibbs()
        states = engine.sample(self.model, self.natural(theta), self._plan, n_samples, rng)
        return states[:, : self.states.shape[1]]

    def anneal(
        self, theta: np.ndarray, rng: np.random.Generator, n_chains: int, temperatures: int | np.ndarray
    ) -> annealed.Annealed:
        """Estimate log Z by annealed importance sampling of visible and hidden nodes together."""
        margins = np.full(self.model.graph.n_nodes, 0.5)
        margins[: self.states.shape[1]] = self.margins
        return annealed.forward(self.model, self.natural(theta), rng, n_chains, temperatures, margins)

    def climb(self, rng: np.random.Generator, n_steps: int, penalised: bool = True) -> np.ndarray:
        """Maximise by stochastic approximation with persistent chains (exact moments if elimination is cheap).

        The step of each parameter is divided by the curvature that independent features would have.
        """
        n, engine = self.n_samples, self._engine
        if self._is_exact:
            n_steps = min(n_steps, _EXACT_STEPS)  # there is no noise to average out
        plan, state = self._plan, engine.start(self.model, rng)
        theta = 0.01 * rng.standard_normal(self.n_features)  # breaks the symmetry of hidden nodes
        curvature = n * np.maximum(self._spread(), 1 / n) + self.prior.curvature(theta)
        for t in range(n_steps):
            inference = engine.infer(self.model, self.natural(theta), plan, MOMENTS, state)
            state = inference.state
            slope = self.sums(theta)[1] - n * self._pull(inference.moments)
            if penalised:
                slope = slope + self.prior.gradient(theta)
            theta = theta + 0.3 / (1 + 10 * t / n_steps) * slope / curvature
        return theta

    def _spread(self) -> np.ndarray:
        """Compute the variance over the observations of each E[s | x] at theta = 0."""
        at = np.zeros(self.n_features)
        mean = self.sums(at)[1] / self.n_samples
        if self.n_hidden == 0 and self.linear is None and self.model.n_states == 2:  # each feature has two values
            return (mean - self.model.feature_low) * (self.model.feature_high - mean)
        squares = sum(self.weights[rows] @ (hidden.mean() - mean) ** 2 for rows, hidden in self.blocks.given(at))
        return np.asarray(squares / self.n_samples)

    def brief(self, n_sweeps: int) -> Likelihood:
        """Return the likelihood with contrastive divergence (brief chains from the data and sampled hidden nodes)."""
        model, rows = self.model, self.rows
        unseen = np.full((len(rows), self.n_hidden), -1, dtype=np.int8)
        clamped = Clamped(model, np.hstack([rows, unseen]))
        hidden = Hidden(clamped, Persistent(n_chains=FILLED, tempered=False)) if self.n_hidden else None
        engine = Brief(np.maximum(clamped.states, 0), n_sweeps=n_sweeps)
        return Likelihood(model, clamped.seen_statistics(), len(rows), engine, hidden, self.linear)


@dataclass(frozen=True, eq=False)
class SummedNodes:
    """Hidden nodes given some rows, by summation over all their joint states."""

    features: np.ndarray  # (n, 2^n_hidden, n_features)
    log_weight: np.ndarray  # (n, 2^n_hidden)

    @cached_property
    def log_weights(self) -> np.ndarray:
        """Log Z(x, theta) of each row."""
        return np.asarray(logsumexp(self.log_weight, axis=1))

    @cached_property
    def _share(self) -> np.ndarray:
        return np.exp(self.log_weight - self.log_weights[:, None])

    def mean(self) -> np.ndarray:
        """Return E[s | x] of each row."""
        return np.einsum("nh,nhf->nf", self._share, self.features)

    def sum(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of E[s | x]."""
        return np.asarray((self._share * weights[:, None]).ravel() @ self._flat(self.features))

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of Cov[s | x]."""
        centred = self._flat(self.features - self.mean()[:, None])
        return np.asarray((centred * (self._share * weights[:, None]).reshape(-1, 1)).T @ centred)

    @staticmethod
    def _flat(features: np.ndarray) -> np.ndarray:
        return features.reshape(-1, features.shape[2])


@dataclass(frozen=True, eq=False)
class _SeenNodes:
    """Rows without hidden nodes: log weights and sums without a table of features."""

    target: PairwiseTarget
    theta: np.ndarray
    spins: np.ndarray  # (n, n_nodes) in {-1, +1}

    @property
    def _is_dense(self) -> bool:
        """Whether dense products are faster than sums over edges."""
        graph = self.target.model.graph
        return graph.n_nodes**2 <= _DENSE * graph.n_edges

    @property
    def log_weights(self) -> np.ndarray:
        form, n, x = self.target.model.pairwise(self.target.natural(self.theta)), self.spins.shape[1], self.spins
        coupling = coo_array((form.coupling, tuple(form.edges.T)), shape=(n, n))
        field = x @ (coupling.toarray() if self._is_dense else coupling.tocsr())
        field += form.field
        return np.einsum("ni,ni->n", field, x) + form.offset

    def mean(self) -> np.ndarray:
        return self.target._features(self.spins)

    def sum(self, weights: np.ndarray) -> np.ndarray:
        x, (u, v), total = self.spins, self.target.model.graph.edges.T, weights.sum()
        weighted = x * weights[:, None]
        pair = (weighted.T @ x)[u, v] if self._is_dense else np.einsum("ne,ne->e", weighted[:, u], x[:, v])
        return self.target._pull(total * self.target.model.moments(pair / total, weighted.sum(axis=0) / total))

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        return np.zeros((1, 1))
