"""The base of priors of parameters, and what is known of one from outside the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class Prior(Protocol):
    """Independent prior of the natural parameters: log density (up to a constant) of each, and its derivative."""

    def log_density(self, theta: np.ndarray) -> np.ndarray: ...  # noqa: D102
    def gradient(self, theta: np.ndarray) -> np.ndarray: ...  # noqa: D102


@runtime_checkable
class ProperPrior(Prior, Protocol):
    """A proper prior, for evidence: with a normalising constant, and samples."""

    def log_constant(self, n_features: int) -> float: ...  # noqa: D102
    def curvature(self, theta: np.ndarray) -> np.ndarray: ...  # noqa: D102
    def sample(self, n_draws: int, n_features: int, rng: np.random.Generator) -> np.ndarray: ...  # noqa: D102


class OfParameters:
    """What a prior of parameters answers; by default nothing is known."""

    is_proper: ClassVar[bool] = False  # whether it is a `ProperPrior`
    is_even: ClassVar[bool] = False  # whether a sign has the probability 1/2
    is_tapered: ClassVar[bool] = False  # whether samplers multiply its tails by a normal density
    scale_of_record: Any = np.nan  # as it is stored with a run
    normal_scale: Any = None  # of a normal prior: a number, or one for each parameter
    constants_of_record: ClassVar[dict[str, Any]] = {}  # others, by name

    @property
    def in_evidence(self) -> str:
        """Its name in results of evidence."""
        return repr(self)

    def over(self, n_edge_parameters: int, n_parameters: int) -> Any:
        """Return the prior of all parameters, those of edges first."""
        return self

    def draw_at(self, places: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw the parameters at some places, (n_draws, n), if it can be drawn from."""
        return None

    def log_integrals(self, successes: np.ndarray, trials: np.ndarray) -> np.ndarray | None:
        """Return the log integrals of binomial likelihoods of logits in closed form, if they have one."""
        return None

    def depends_on_order(self, n_categories: int) -> bool:
        """Return whether the density of the log odds of so many categories depends on their order."""
        return False


@dataclass(frozen=True)
class Foreign(OfParameters):
    """A prior from outside the package."""

    prior: Any

    @property
    def is_proper(self) -> bool:  # type: ignore[override]
        """Whether it has what a `ProperPrior` has."""
        return isinstance(self.prior, ProperPrior)

    @property
    def in_evidence(self) -> str:
        """Its name in results of evidence."""
        return repr(self.prior)

    def over(self, n_edge_parameters: int, n_parameters: int) -> Any:
        """Return the prior."""
        return self.prior

    def draw_at(self, places: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw the parameters at some places, if it is proper."""
        return self.prior.sample(n_draws, len(places), rng) if self.is_proper else None


def of_parameters(prior: Any) -> OfParameters:
    """Return what a prior of parameters answers: of one of this package itself."""
    return prior if isinstance(prior, OfParameters) else Foreign(prior)
