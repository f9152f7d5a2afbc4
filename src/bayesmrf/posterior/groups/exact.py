"""Groups with the exact likelihood, on graphs that an exact engine can solve (Gibbs_ExactL; Liu and Page 2013, section
4.2).

Every move leaves the posterior invariant:

* the group of an item is drawn with one moment, or the pair marginal, of the current model;
* the logit or weight of an item in a group of its own is drawn from its full conditional;
* a shared one is drawn by slice sampling (Neal 2003);
* a shared potential moves by Metropolis-Hastings with a preconditioned Langevin proposal (Roberts and Stramer 2002),
  the likelihood and its gradient from the engine at both ends; separate fields move with it
  (`bayesmrf.posterior.conditionals.centred_tables`). The metric is the sum over the group of the information of each
  item in the data, and that of the base; it ignores correlations of items, so step lengths are drawn from a range;
* splits and merges of groups are accepted with log Z at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import cholesky, solve
from scipy.linalg import cho_solve

from ...base import LOG_Z, MOMENTS, InferenceEngine
from ...errors import DivergenceError
from ...likelihood import require_answers
from ...models.bases import WithPairs
from .blocks import Block
from .dirichlet_process import Grouping, Urn
from .items import Logits, Products
from .potentials import Potentials

EXACT_DIMS: dict[str, tuple[str, ...]] = {"log_likelihood": (), "n_solves": ()}
_TRIES = 2  # moves of each shared potential in a step
_STEPS = 0.3, 1.6  # range of their lengths, in units of the information summed over the group
_FAR = 12.0  # parameter of an item whose probabilities may round
_FARTHEST = 1000.0  # largest parameter of a posterior that has a mode


class ExactMemory(NamedTuple):
    """Answer of the engine at the present theta."""

    moments: np.ndarray
    log_z: float


@dataclass(frozen=True, eq=False)
class ExactMarginals:
    """Moments and log Z from an engine; the chain is exact if the engine is.

    Parameters
    ----------
    model : Model
    engine : Engine
        One that computes ``log_z`` and ``moments``.
    """

    model: Any
    engine: InferenceEngine

    name = "exact"

    def __post_init__(self) -> None:
        require_answers(self.engine, "grouped_exact", {LOG_Z, MOMENTS}, self.model)

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Dimensions of the statistics of a step; only tables have moves that may be rejected."""
        return EXACT_DIMS | ({"acceptance_values": ()} if self.model.n_parameters > 1 else {})

    @cached_property
    def _asked(self) -> Any:
        """The model whose moments are needed: of products of scores, the joint distributions of the ends of edges."""
        return WithPairs(self.model) if self.model.is_product else self.model

    @cached_property
    def _plan(self) -> Any:
        return self.engine.prepare(self.model)

    def solve(self, theta: np.ndarray) -> ExactMemory:
        """Solve the engine at theta."""
        answer = self.engine.infer(self._asked, theta, self._plan, MOMENTS)
        return ExactMemory(answer.moments, answer.log_z)

    def log_z(self, theta: np.ndarray) -> float:
        """Return the log of the normaliser."""
        return self.engine.infer(self.model, theta, self._plan, LOG_Z).log_z

    def start(self, theta: np.ndarray, rng: np.random.Generator) -> ExactMemory:
        """Solve the engine at the start."""
        return self.solve(theta)

    def thaw(self, memory: ExactMemory, theta: np.ndarray, s_bar: np.ndarray, n: float) -> ExactWalk:
        """Return the mutable state at theta, with the mean statistics of n observations."""
        return ExactWalk(self, memory, theta, s_bar, n)


class ExactWalk:
    """Mutable theta within a step, and the answer of the engine there."""

    def __init__(self, marginals: ExactMarginals, memory: ExactMemory, theta: np.ndarray, s_bar: np.ndarray, n: float):
        self._marginals, self.theta, self._s_bar, self._n = marginals, theta.copy(), s_bar, n
        self.memory, self.n_solves = memory, 0
        self._accepted = self._tried = 0

    def freeze(self) -> ExactMemory:
        """Return what the next step starts from."""
        return self.memory

    def _solve(self, theta: np.ndarray) -> ExactMemory:
        self.n_solves += 1
        return self._marginals.solve(theta)

    def _log_likelihood(self, theta: np.ndarray, log_z: float) -> float:
        return float(self._n * (theta @ self._s_bar - log_z))

    def stats(self) -> dict[str, float]:
        """Return statistics of the step."""
        value = self._log_likelihood(self.theta, self.memory.log_z)
        statistics = {"log_likelihood": value, "n_solves": self.n_solves}
        if "acceptance_values" in self._marginals.dims:
            statistics["acceptance_values"] = self._accepted / max(1, self._tried)
        return statistics

    def mix(self, rng: np.random.Generator) -> None:
        """Do nothing: the engine is always at theta."""

    def _nu(self, block: Block, i: int) -> Any:
        """Compute what the full conditional of item i needs, from where its moments do not round to 0 or 1."""
        theta, moments, features = self.theta, self.memory.moments, block.features(i)
        if np.abs(theta[features]).max() > _FAR:
            theta = block.moved(theta, i, 0 * theta[features])
            moments = self._solve(theta).moments
        return block.nu(i, theta, moments)

    def _move(self, block: Block, members: Any, value: Any) -> None:
        self.theta = block.moved(self.theta, members, value)
        self.memory = self._solve(self.theta)

    def scan(
        self, rng: np.random.Generator, block: Block, state: Grouping, n_pairs: int
    ) -> tuple[Grouping, np.ndarray]:
        """Redraw the groups of all items in turn; return what splits and merges are proposed by."""
        urn, nu, single = block.open(state), np.zeros(block.fit_shape), block.counts.ndim == 1
        for i in range(len(block.counts)):
            features = block.features(i)
            conditional: Any = self._nu(block, i)
            nu[i] = block.fit(conditional, i)
            block.reassign(rng, urn, i, conditional)
            value = block.unit * urn.value(i)
            changed = value != self.theta[features]
            if changed if single else changed.any():
                self._move(block, i, value)
        return block.close(urn, state), nu

    def move_values(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the values of all groups."""
        urn = block.open(state)
        for c in range(len(state.values)):
            members = np.flatnonzero(urn.groups == c)
            shared = block.features(members)
            if isinstance(block, Potentials):
                for _ in range(_TRIES if len(members) > 1 or block.lines is not None else 0):
                    self._tried += 1
                    self._accepted += self._langevin(rng, block, members)
                    urn.values[c] = self.theta[shared[: block.p]]
                continue
            if len(members) == 1:
                nu: Any = self._nu(block, members[0])
                urn.values[c] = block.draw_value(rng, urn, members[0], nu)
            else:
                urn.values[c] = self._slice(rng, block, urn, members)
            self._move(block, members, block.unit * urn.values[c])
        return state._replace(values=urn.values[: len(state.values)])

    def move_fields(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the groups of the fields, if they are grouped, and their values."""
        if block.grouped:
            state, _ = self.scan(rng, block, state, 0)
        return self.move_values(rng, block, state)

    def accept(self, rng: np.random.Generator, block: Block, tried: Any, theta: np.ndarray) -> bool:
        """Accept or reject a split or a merge of groups, which moves all parameters to ``theta``."""
        proposed = self._solve(theta)
        gain = self._log_likelihood(theta, proposed.log_z) - self._log_likelihood(self.theta, self.memory.log_z)
        if not log(1 - rng.random()) < gain + tried.log_ratio:
            return False
        self.theta, self.memory = theta, proposed
        return True

    def _slice(self, rng: np.random.Generator, block: Logits | Products, urn: Urn, members: np.ndarray) -> float:
        """Redraw the value shared by ``members`` by slice sampling with stepping out (Neal 2003, figures 3 and 5)."""

        def log_target(value: float, log_z: float | None = None) -> float:
            trial = block.moved(self.theta, members, block.unit * value)
            if log_z is None:
                log_z = self._marginals.log_z(trial)
                self.n_solves += 1
            return block.log_prior(urn, value, trial) + self._log_likelihood(trial, log_z)

        width = block.width(sum(block.counts[members]), len(members))
        here = float(self.theta[block.features(members[0])] / block.unit)
        height = log_target(here, self.memory.log_z) + log(1 - rng.random())
        low = here - width * rng.random()
        high = low + width
        while log_target(low) > height:
            low = _bounded(low - width)
        while log_target(high) > height:
            high = _bounded(high + width)
        while True:
            value = low + (high - low) * rng.random()
            if log_target(value) >= height:
                return value
            if value < here:
                low = value
            else:
                high = value

    def _langevin(self, rng: np.random.Generator, block: Potentials, members: np.ndarray) -> bool:
        """Try a Langevin move of the value that ``members`` share, together with the fields that it centres."""
        move, features = block.move_of(members, len(self.theta)), block.features(members[:1])
        (precision, _), of_fields = block.base, block.kappa * move[block.end :].T
        metric = precision + self._n * block.covariance[members].sum(axis=0) + of_fields @ move[block.end :]
        lower = cholesky(metric) / rng.uniform(*_STEPS)

        def log_density(theta: np.ndarray, log_z: float) -> float:
            value, fields = theta[features], theta[block.end :]
            held = value @ precision @ value + block.kappa * fields @ fields
            return self._log_likelihood(theta, log_z) - 0.5 * float(held)

        def mean(theta: np.ndarray, moments: np.ndarray) -> np.ndarray:
            """Return the mean of the proposal of the value."""
            slope = move.T @ (self._n * (self._s_bar - moments))
            slope -= precision @ theta[features] + of_fields @ theta[block.end :]
            return theta[features] + 0.5 * cho_solve((lower, True), slope)

        here = mean(self.theta, self.memory.moments)
        new = here + solve(lower.T, rng.standard_normal(block.p))
        theta = self.theta + move @ (new - self.theta[features])
        proposed = self._solve(theta)
        ahead, back = lower.T @ (new - here), lower.T @ (self.theta[features] - mean(theta, proposed.moments))
        ratio = log_density(theta, proposed.log_z) - log_density(self.theta, self.memory.log_z)
        if not log(1 - rng.random()) < ratio + 0.5 * (ahead @ ahead - back @ back):
            return False
        self.theta, self.memory = theta, proposed
        return True


def _bounded(value: float) -> float:
    """Refuse a value that no posterior with a mode can reach.

    Raises
    ------
    DivergenceError
    """
    if abs(value) > _FARTHEST:
        raise DivergenceError(
            f"the posterior still increases at a parameter of {value:.4g}: s_bar is not the mean of the features of "
            "any data; compute it with model.statistics."
        )
    return value
