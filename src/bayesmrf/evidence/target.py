r"""What every method of evidence asks of data, model and prior.

.. math:: p(X) = \int \prod_n \frac{Z(x_n, \theta)}{Z(\theta)} \, p(\theta) \, d\theta, \qquad
          Z(x, \theta) = \sum_z e^{\theta \cdot s(x, z)}

(Chen and Welling 2012 evidence, eq. 1 and 2): Z(x, theta) is a sum over the hidden units alone, and easy; Z(theta) is
not. Without hidden units it is exp(theta . s(x)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..base import LOG_Z, MOMENTS, Inference
from ..errors import DataError, TooWideError
from ..inference.annealed import Annealed
from ..models.pairwise import PairwiseModel
from ..posterior.parameters.langevin import Differentiable
from ..priors import Normal, ProperPrior
from ..sample_weight import row_numbers

ENTRIES = 2**22  # of an array of features
_KEPT = 2**24  # numbers of prepared rows that are kept, 128 MiB
SCALES = {"at_half_prior_scale": 0.5, "at_double_prior_scale": 2.0}  # parts of evidences at other scales


@dataclass(frozen=True)
class Evidence:
    """An estimate of the log evidence.

    Attributes
    ----------
    log_evidence : float
        In nats; NaN where the method found none, and ``status`` says why.
    standard_error : float
        Monte Carlo error of the estimate, without its bias; 0 where there is none, NaN where it is not known.
    method : str
    n_samples : float
        Observations N.
    n_features : int
        Parameters F.
    parts : dict
        The terms that add up to the estimate, and other numbers about the work.
    status : str
        A sentence a user can act on; empty when all is well.
    data_hash, prior : str
        What was compared: evidences of other data or other priors are not comparable.
    arrays : dict
        Arrays behind the estimate (the mode, eigenvalues, posterior draws), as far as the method has them.
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
        """The estimate, what it is of, its parts, and its status, for people."""
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
    """Hidden units given each of n rows x, at one theta."""

    @property
    def log_weights(self) -> np.ndarray:
        """Log Z(x, theta) of each row, (n,)."""
        ...

    def mean(self) -> np.ndarray:
        """E[s(x, z) | x] of each row, (n, n_features)."""
        ...

    def sum(self, weights: np.ndarray) -> np.ndarray:
        """Weighted sum of these means, (n_features,)."""
        ...

    def covariance(self, weights: np.ndarray) -> np.ndarray:
        """Weighted sum of Cov[s(x, z) | x]; shape (n_features, n_features), or (1, 1) where it is 0."""
        ...


class Blocks:
    """Rows in blocks whose features fit into memory.

    What does not depend on theta is prepared once if that of all rows fits into 128 MiB, else at each use.

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
        """Rows of each block, and the hidden units given them."""
        for i, rows in enumerate(self._slices):
            prepared = self.target.prepare(self.states[rows]) if self._kept is None else self._kept[i]
            yield rows, self.target.given(theta, prepared)

    def log_weights(self, theta: np.ndarray) -> np.ndarray:
        """Log Z(x, theta) of each row."""
        return np.concatenate([given.log_weights for _, given in self.given(theta)])

    def sums(self, theta: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Weighted sums over the rows of log Z(x, theta) and E[s(x, z) | x]."""
        value, total = 0.0, np.zeros(self.target.n_features)
        for rows, given in self.given(theta):
            value += float(weights[rows] @ given.log_weights)
            total += given.sum(weights[rows])
        return value, total

    def scatter(self, theta: np.ndarray, weights: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted sums of C + (m - c)(m - c)' and of m - c, with C = Cov[s | x], m = E[s | x] and a centre c."""
        f = self.target.n_features
        square, total = np.zeros((f, f)), np.zeros(f)
        for rows, given in self.given(theta):
            square += given.covariance(weights[rows])
            mean = given.mean() - centre
            total += weights[rows] @ mean
            mean *= np.sqrt(weights[rows])[:, None]
            square += mean.T @ mean
        return square, total


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """Data, model and prior; rows are distinct, and counted by ``weights``.

    Parameters
    ----------
    model : model
    states : (n_rows, n_visible) int8 array in {0, 1}
    weights : (n_rows,) float array
        How many times each row was seen.
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
    def rows_at_once(self) -> int:
        """Rows whose features, of each hidden state where these are listed, are few enough to be in memory."""
        return max(1, ENTRIES // self.n_features)

    @property
    def n_samples(self) -> float:
        """Number N of observations."""
        return float(self.weights.sum())

    @property
    def rows(self) -> np.ndarray:
        """A row for each observation, (n_samples, n_visible).

        Raises
        ------
        DataError
            If a weight is not an integer, or there are too many observations to list them.
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
        """What `given` needs of rows (n, n_visible), at any theta."""

    @abstractmethod
    def given(self, theta: np.ndarray, prepared: np.ndarray) -> Given:
        """Hidden units given some prepared rows."""

    @cached_property
    def blocks(self) -> Blocks:
        """``states``, prepared."""
        return Blocks(self, self.states)

    @cached_property
    def margins(self) -> np.ndarray:
        """Mean of each visible unit over the observations, (n_visible,)."""
        return self.weights @ self.states / self.n_samples

    @property
    @abstractmethod
    def joint(self) -> PairwiseModel:
        """The model of visible and hidden nodes together, visible ones first."""

    def natural(self, theta: np.ndarray) -> np.ndarray:
        """Parameters of `joint`: theta itself, unless it has a `bayesmrf.models.linear_map.LinearMap`."""
        return theta

    @property
    @abstractmethod
    def has_hidden(self) -> bool:
        """Whether anything is summed out: without it the log likelihood is concave."""

    @property
    @abstractmethod
    def units(self) -> np.ndarray:
        """Parameters of each hidden unit (n_hidden, ...), in an order that all share.

        Exchanging those of two units gives the same model; (0, 0) where nothing can be exchanged.
        """

    def mirrored(self, theta: np.ndarray, swapped: np.ndarray) -> np.ndarray:
        """Parameters (n, n_features) of the same model, the two values of some hidden units exchanged.

        ``swapped`` (n, n_hidden) says of which; the model is that of ``theta``. Models that do not know it return none.
        """
        return np.zeros((0, len(theta)))

    @abstractmethod
    def exact(self, theta: np.ndarray, want: str = MOMENTS) -> Inference:
        """Exact log Z(theta) and moments.

        Raises
        ------
        TooWideError
            Where this is not feasible (see `require_exact`).
        """

    @abstractmethod
    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Exact Cov[s(x, z)] over visible and hidden units together, (n_features, n_features); feasible as `exact`."""

    @abstractmethod
    def require_exact(self, method: str) -> None:
        """Raise TooWideError, with the cost and another method, where `exact` is not feasible."""

    @property
    @abstractmethod
    def is_quick(self) -> bool:
        """Whether `exact` is feasible a hundred thousand times, within minutes."""

    @abstractmethod
    def sample(self, theta: np.ndarray, n_samples: int, rng: np.random.Generator, n_sweeps: int = 100) -> np.ndarray:
        """States (n_samples, n_visible) of the visible units from p(x | theta), by chains of ``n_sweeps`` sweeps."""

    @abstractmethod
    def anneal(
        self, theta: np.ndarray, rng: np.random.Generator, n_chains: int, temperatures: int | np.ndarray
    ) -> Annealed:
        """Log Z(theta) by annealed importance sampling."""

    @abstractmethod
    def climb(self, rng: np.random.Generator, n_steps: int, penalised: bool = True) -> np.ndarray:
        """Theta near the posterior's mode (or, not ``penalised``, the likelihood's), by persistent chains."""

    @abstractmethod
    def brief(self, n_sweeps: int) -> Differentiable:
        """Gradient of the log likelihood by chains that go ``n_sweeps`` sweeps away from the data."""

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
        """An estimate of the log evidence of this target; ``status`` are sentences, empty ones left out."""
        said = "; ".join(s for s in status if s)
        parts, arrays = dict(parts or {}), dict(arrays or {})
        value, error = float(value), float(standard_error)
        return Evidence(value, error, method, self.n_samples, self.n_features, parts, said, arrays=arrays)

    def other_scales(self) -> dict[str, Normal]:
        """A normal prior at half and at twice its scale, by the name of the part; nothing of other priors."""
        prior = self.prior
        if not isinstance(prior, Normal):
            return {}
        return {name: Normal(np.multiply(prior.scale, by)) for name, by in SCALES.items()}

    def log_prior(self, theta: np.ndarray) -> float:
        """Log density of the prior, normalised."""
        return float(self.prior.log_density(theta).sum()) + self.prior.log_constant(len(theta))

    def positive(self, theta: np.ndarray) -> float:
        """Sum over observations of log Z(x_n, theta)."""
        return float(self.weights @ self.blocks.log_weights(theta))

    def sums(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """`positive`, and its gradient: the sum over observations of E[s(x_n, z) | x_n]."""
        return self.blocks.sums(theta, self.weights)

    def log_z(self, theta: np.ndarray) -> float:
        """Exact log Z(theta)."""
        found = self.exact(theta, LOG_Z)
        assert found.log_z is not None
        return found.log_z

    def log_likelihood(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Exact log p(X | theta) and its gradient."""
        found = self.exact(theta)
        assert found.log_z is not None
        assert found.moments is not None
        value, statistics = self.sums(theta)
        return value - self.n_samples * found.log_z, statistics - self.n_samples * found.moments

    def log_likelihoods(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same of each row of ``thetas`` (n, n_features): values (n,) and gradients (n, n_features)."""
        found = [self.log_likelihood(theta) for theta in thetas]
        return np.array([f[0] for f in found]), np.array([f[1] for f in found])
