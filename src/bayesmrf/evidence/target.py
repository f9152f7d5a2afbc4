r"""Targets of the methods of evidence: data, model and prior.

.. math:: p(X) = \int \prod_n \frac{Z(x_n, \theta)}{Z(\theta)} \, p(\theta) \, d\theta, \qquad
          Z(x, \theta) = \sum_z e^{\theta \cdot s(x, z)}

(Chen and Welling 2012 evidence, eq. 1 and 2). Z(x, theta) is a sum over the hidden units only, and cheap; Z(theta) is
not. Without hidden units Z(x, theta) = exp(theta . s(x)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..base import LOG_Z, MOMENTS, Inference
from ..data.counts_and_labels import row_numbers
from ..data.states import check_codes
from ..errors import DataError, TooWideError
from ..inference.annealed import Annealed
from ..models.bases import PairwiseModel
from ..posterior.parameters.langevin import Differentiable
from ..priors import Normal, ProperPrior, of_parameters

ENTRIES = 2**22  # of an array of features
_KEPT = 2**24  # numbers in prepared rows that are kept, 128 MiB
SCALES = {"at_half_prior_scale": 0.5, "at_double_prior_scale": 2.0}  # parts: evidence at other prior scales


@dataclass(frozen=True)
class Evidence:
    """An estimate of the log evidence.

    Attributes
    ----------
    log_evidence : float
        In nats; NaN if the method has no result, and ``status`` says why.
    standard_error : float
        Monte Carlo error of the estimate, without its bias; 0 for a deterministic estimate, NaN if unknown.
    method : str
    n_samples : float
        Observations N.
    n_features : int
        Parameters F.
    parts : dict
        The terms of the estimate, and diagnostics.
    status : str
        Problems, with remedies; empty if there are none.
    data_hash, prior : str
        Identify data and prior: evidences of other data or other priors are not comparable.
    arrays : dict
        Arrays of the method, such as the mode, eigenvalues or posterior draws.
    """

    log_evidence: float
    standard_error: float
    method: str
    n_samples: float
    n_features: int
    parts: dict[str, float] = field(default_factory=dict)
    status: str = ""
    data_hash: str = ""
    prior: str = ""
    arrays: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        """Return the estimate, its size, its parts and its status as text."""
        known = not np.isnan(self.log_evidence)
        error = f" ± {self.standard_error:.2g}" if self.standard_error > 0 else ""
        lines = [
            f"log evidence {f'{self.log_evidence:,.2f}{error}' if known else 'unknown'} by {self.method}",
            f"{self.n_samples:,.0f} observations, {self.n_features:,} parameters"
            + (f", prior {self.prior}" if self.prior else ""),
            *(f"  {name.replace('_', ' ')}: {value:,.6g}" for name, value in self.parts.items()),
        ]
        return "\n".join([*lines, *([self.status] if self.status else [])])


class Given(Protocol):
    """The hidden units given each of n rows x, at one theta."""

    @property
    def log_weights(self) -> np.ndarray:
        """Log Z(x, theta) of each row, (n,)."""
        ...

    def mean(self) -> np.ndarray:
        """Return E[s(x, z) | x] for each row, (n, n_features)."""
        ...

    def sum(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of these means, (n_features,)."""
        ...

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted sum of Cov[s(x, z) | x]; shape (n_features, n_features), or (1, 1) if it is 0."""
        ...


class Blocks:
    """Rows in blocks whose features fit into memory.

    What does not depend on theta is prepared once if it fits into 128 MiB for all rows, else at each use.

    Parameters
    ----------
    target : Target
    states : (n, n_visible) array in {0, 1}
    """

    def __init__(self, target: Target, states: np.ndarray):
        self.target, self.states = target, states
        size = target.rows_at_once
        self._slices = [slice(first, first + size) for first in range(0, len(states), size)]
        is_kept = len(states) * target.row_size <= _KEPT
        self._kept = [target.prepare(states[rows]) for rows in self._slices] if is_kept else None

    def given(self, theta: np.ndarray) -> Iterator[tuple[slice, Given]]:
        """Iterate over the blocks: their rows, and the hidden units given them."""
        for i, rows in enumerate(self._slices):
            prepared = self.target.prepare(self.states[rows]) if self._kept is None else self._kept[i]
            yield rows, self.target.given(theta, prepared)

    def log_weights(self, theta: np.ndarray) -> np.ndarray:
        """Return log Z(x, theta) for each row."""
        return np.concatenate([hidden.log_weights for _, hidden in self.given(theta)])

    def sums(self, theta: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the weighted sums over the rows of log Z(x, theta) and E[s(x, z) | x]."""
        value, total = 0.0, np.zeros(self.target.n_features)
        for rows, hidden in self.given(theta):
            value += float(weights[rows] @ hidden.log_weights)
            total += hidden.sum(weights[rows])
        return value, total

    def scatter(self, theta: np.ndarray, weights: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the weighted sums of C + (m - c)(m - c)' and m - c, with C = Cov[s | x], m = E[s | x], centre c."""
        f = self.target.n_features
        square, total = np.zeros((f, f)), np.zeros(f)
        for rows, hidden in self.given(theta):
            square += hidden.covariance(weights[rows])
            mean = hidden.mean() - centre
            total += weights[rows] @ mean
            mean *= np.sqrt(weights[rows])[:, None]
            square += mean.T @ mean
        return square, total


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """Data, model and prior; rows are distinct, with counts ``weights``.

    Parameters
    ----------
    model : model
    states : (n_rows, n_visible) int8 array in {0, 1}
    weights : (n_rows,) float array
        How many times each row was observed.
    prior : ProperPrior
        Independent prior of the parameters, whose density integrates to 1.
    """

    model: Any
    states: np.ndarray
    weights: np.ndarray
    prior: ProperPrior

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Number F of free parameters."""

    @property
    @abstractmethod
    def n_visible(self) -> int:
        """Number of visible nodes."""

    @property
    def n_states(self) -> int:
        """Number of states of a node."""
        return 2

    def check_data(self) -> None:
        """Check the data of a target that a user has made: missing values, for example, would give wrong numbers.

        Raises
        ------
        DataError
            For states with other values or another number of columns, and for weights that are not counts of rows.
        """
        states, weights = np.asarray(self.states), np.asarray(self.weights)
        if states.ndim != 2 or states.shape[1] != self.n_visible or not len(states):
            expected = f"of shape (n, {self.n_visible}), a row of the visible nodes each"
            raise DataError(option="states", got=states.shape, expected=expected, remedy="leave out hidden nodes")
        check_codes(states, self.n_states)
        if weights.shape != (len(states),) or not ((weights >= 0) & np.isfinite(weights)).all() or not weights.any():
            raise DataError(option="weights", got=weights, expected=f"a count >= 0 for each of {len(states)} rows")

    @property
    def rows_at_once(self) -> int:
        """Number of rows in a block, whose features fit into memory."""
        return max(1, ENTRIES // self.n_features)

    @property
    def n_samples(self) -> float:
        """Number N of observations."""
        return float(self.weights.sum())

    @property
    def rows(self) -> np.ndarray:
        """One row per observation, (n_samples, n_visible).

        Raises
        ------
        DataError
            If a weight is not an integer, or there are too many observations for one row each.
        """
        if (self.weights != np.rint(self.weights)).any():
            raise DataError("sample_weight must contain integers, as chains start from each observation; give counts, "
                            "or take a method without chains, such as 'ais'")  # fmt: skip
        return self.states[row_numbers(self.weights, self.states.shape[1])]

    @property
    @abstractmethod
    def row_size(self) -> int:
        """Numbers in a prepared row (see `prepare`)."""

    @abstractmethod
    def prepare(self, states: np.ndarray) -> np.ndarray:
        """Return what `given` needs of rows (n, n_visible), for any theta."""

    @abstractmethod
    def given(self, theta: np.ndarray, prepared: np.ndarray) -> Given:
        """Return the hidden units given some prepared rows."""

    @cached_property
    def blocks(self) -> Blocks:
        """Blocks of ``states``."""
        return Blocks(self, self.states)

    @cached_property
    def margins(self) -> np.ndarray:
        """Mean of each visible unit over the observations, (n_visible,)."""
        return self.weights @ self.states / self.n_samples

    @property
    @abstractmethod
    def joint(self) -> PairwiseModel:
        """The model of visible and hidden nodes together, visible ones first."""

    def limits(self, limit: float) -> np.ndarray:
        """Return the bounds of the parameters in a search for the maximum likelihood, given that of an edge."""
        return np.full(self.n_features, limit)

    def natural(self, theta: np.ndarray) -> np.ndarray:
        """Return the parameters of `joint`: theta, or its image under a `bayesmrf.models.linear_map.LinearMap`."""
        return theta

    @property
    @abstractmethod
    def has_hidden(self) -> bool:
        """Whether there are hidden units; without them the log likelihood is concave."""

    @property
    @abstractmethod
    def units(self) -> np.ndarray:
        """Parameters of each hidden unit (n_hidden, ...), in the same order.

        Exchanging those of two units gives the same model; (0, 0) if nothing can be exchanged.
        """

    def mirrored(self, theta: np.ndarray, swapped: np.ndarray) -> np.ndarray:
        """Return parameters (n, n_features) of the model of ``theta`` with the values of some hidden units exchanged.

        ``swapped`` (n, n_hidden) says which units. Models without this symmetry return no rows.
        """
        return np.zeros((0, len(theta)))

    @abstractmethod
    def exact(self, theta: np.ndarray, want: str = MOMENTS) -> Inference:
        """Compute the exact log Z(theta) and moments.

        Raises
        ------
        TooWideError
            If this is not feasible (see `require_exact`).
        """

    @abstractmethod
    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Compute Cov[s(x, z)] over visible and hidden units, (n_features, n_features); feasible if `exact` is."""

    @abstractmethod
    def require_exact(self, method: str) -> None:
        """Raise TooWideError, with the cost and another method, if `exact` is not feasible."""

    @property
    @abstractmethod
    def is_quick(self) -> bool:
        """Whether `exact` can be called a hundred thousand times within minutes."""

    @abstractmethod
    def sample(self, theta: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draw states (n_samples, n_visible) from p(x | theta), exactly or by chains."""

    @abstractmethod
    def anneal(
        self, theta: np.ndarray, rng: np.random.Generator, n_chains: int, temperatures: int | np.ndarray
    ) -> Annealed:
        """Estimate log Z(theta) by annealed importance sampling."""

    @abstractmethod
    def climb(self, rng: np.random.Generator, n_steps: int, penalised: bool = True) -> np.ndarray:
        """Return theta near a mode of the posterior (of the likelihood if not ``penalised``), by persistent chains."""

    @abstractmethod
    def brief(self, n_sweeps: int) -> Differentiable:
        """Return the likelihood with gradients by contrastive divergence (chains of ``n_sweeps`` from the data)."""

    @property
    def can_sum(self) -> bool:
        """Whether `exact` is feasible."""
        try:
            self.require_exact("this")
        except TooWideError:
            return False
        return True

    def evidence(
        self,
        method: str,
        value: float,
        standard_error: float = np.nan,
        parts: Mapping[str, float] | None = None,
        status: Iterable[str] = (),
        arrays: Mapping[str, Any] | None = None,
    ) -> Evidence:
        """Return an estimate of the log evidence of this target; empty sentences in ``status`` are omitted."""
        said = "; ".join(s for s in status if s)
        parts, arrays = dict(parts or {}), dict(arrays or {})
        value, error = float(value), float(standard_error)
        return Evidence(value, error, method, self.n_samples, self.n_features, parts, said, arrays=arrays)

    def other_scales(self) -> dict[str, Normal]:
        """Return a normal prior at half and at twice its scale, by the name of the part; nothing for other priors."""
        scale = of_parameters(self.prior).normal_scale
        if scale is None:
            return {}
        return {name: Normal(np.multiply(scale, by)) for name, by in SCALES.items()}

    def log_prior(self, theta: np.ndarray) -> float:
        """Return the normalised log density of the prior."""
        return float(self.prior.log_density(theta).sum()) + self.prior.log_constant(len(theta))

    def positive(self, theta: np.ndarray) -> float:
        """Return the sum over observations of log Z(x_n, theta)."""
        return float(self.weights @ self.blocks.log_weights(theta))

    def sums(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return `positive` and its gradient, the sum over observations of E[s(x_n, z) | x_n]."""
        return self.blocks.sums(theta, self.weights)

    def log_z(self, theta: np.ndarray) -> float:
        """Return the exact log Z(theta)."""
        return self.exact(theta, LOG_Z).log_z

    def log_likelihood(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the exact log p(X | theta) and its gradient."""
        inference = self.exact(theta)
        value, statistics = self.sums(theta)
        return value - self.n_samples * inference.log_z, statistics - self.n_samples * inference.moments

    def log_likelihoods(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log p(X | theta) (n,) and its gradient (n, n_features) for each row of ``thetas`` (n, n_features)."""
        pairs = [self.log_likelihood(theta) for theta in thetas]
        return np.array([f[0] for f in pairs]), np.array([f[1] for f in pairs])
