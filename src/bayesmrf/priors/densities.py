"""Prior distributions other than slabs, as small frozen records of their constants.

scipy is imported at first use: `bayesmrf --help` reads this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..declare.option import Checked, needs, option
from ..declare.rule import (
    BETA,
    CONSTANT,
    COVARIANCE,
    GAMMA,
    PROBABILITY,
    SCALE,
    choice,
    constant_of,
    either,
    instance,
    number,
    optional,
)
from .slab_kinds import Gamma, Normal

_A, _B = "First constant.", "Second constant."


@dataclass(frozen=True)
class Beta(Checked):
    """Beta(a, b) on (0, 1); Beta(1, 1) is uniform."""

    a: float = option(1.0, constant_of("Beta(a, b)"), _A)
    b: float = option(1.0, constant_of("Beta(a, b)"), _B)


@dataclass(frozen=True)
class DirichletProcess(Checked):
    """Prior of the edge parameters: theta_c ~ G, G ~ DP(alpha, base) (Liu and Page 2013, eq. 3).

    With a ``density`` p0, an edge is absent (theta_c = 0) with probability 1 - p0, and the process is that of the
    present edges.
    """

    alpha: float | Gamma = option(1.0, either(CONSTANT, GAMMA), "Concentration; fixed, or with a Gamma prior.")
    base: Any = option(
        Beta(),
        instance("priors", "Beta", "Normal", "MultivariateNormal"),
        "Base distribution G0 of an agreement in (0, 1), or (normal) of a weight, a table of an edge or a node field.",
    )
    density: Beta | float | None = option(
        None,
        optional(either(PROBABILITY, BETA)),
        "Prior of p0, or its fixed value in (0, 1); None if every edge is present.",
    )

    @property
    def alpha_start(self) -> float:
        """The fixed concentration, or its prior mean."""
        return self.alpha.shape / self.alpha.rate if isinstance(self.alpha, Gamma) else float(self.alpha)

    @property
    def density_start(self) -> float:
        """The fixed p0, or its prior mean; 1 if every edge is present."""
        if self.density is None:
            return 1.0
        p = self.density
        return p.a / (p.a + p.b) if isinstance(p, Beta) else float(p)


@dataclass(frozen=True)
class Blocks(Checked):
    r"""Prior of edges by blocks of nodes (a stochastic block model): an edge exists with the probability of its blocks.

    .. math:: Y_{uv} \sim \mathrm{Bern}(q_{z_u z_v}), \quad q_{rr} \sim \text{within}, \quad q_{rs} \sim \text{between}

    How many blocks there are, and which nodes are in each, is learnt. By default nodes are divided as by a mixture of
    finite mixtures (Miller and Harrison 2018): K components, of which some may have no node, with K - 1 ~
    Poisson(rate) and shares ~ Dirichlet(concentration, ..., concentration).
    """

    partition: str = option(
        "mixture",
        choice("mixture", "process"),
        "Prior of the partition: a mixture of finite mixtures, or a Dirichlet process.",
    )
    concentration: float = option(
        1.0, CONSTANT, "Of the Dirichlet distribution of the shares of components, or of the process."
    )
    rate: float = option(
        1.0,
        number(0, 100, ends="(]", good=(0.5, 100)),
        "Prior mean of the number of components, less one; of no effect with a process.",
    )
    within: Beta = option(Beta(), BETA, "Prior of the probability of an edge within a block.")
    between: Beta = option(Beta(), BETA, "Prior of the probability of an edge between two blocks.")


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


@dataclass(frozen=True)
class WeightsAndBiases(Checked):
    """Normal prior with one standard deviation for the parameters of edges, and one for those of nodes."""

    scale: float = option(1.0, SCALE, "Of the parameters of edges.")
    bias_scale: float = option(1.0, SCALE, "Of the parameters of nodes.")

    def of(self, n_edge_parameters: int, n_parameters: int) -> Normal:
        """Return the prior of all parameters, those of edges first."""
        return Normal(np.repeat([self.scale, self.bias_scale], [n_edge_parameters, n_parameters - n_edge_parameters]))


@dataclass(frozen=True, eq=False)
class MultivariateNormal(Checked):
    """Normal distribution of p parameters, with mean 0."""

    covariance: np.ndarray = field(metadata=needs(COVARIANCE, "Covariance (p, p)."))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "covariance", np.asarray(self.covariance, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class LogisticBeta(Checked):
    """Distribution of the logit of a Beta(a, b) variable, such as theta if an agreement has the prior Beta(a, b)."""

    a: float = option(1.0, constant_of("LogisticBeta(a, b)"), _A)
    b: float = option(1.0, constant_of("LogisticBeta(a, b)"), _B)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """Return -a log(1 + exp(-theta)) - b log(1 + exp(theta)), Jacobian included."""
        return -self.a * np.logaddexp(0, -theta) - self.b * np.logaddexp(0, theta)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return (a + b) (a / (a + b) - sigmoid(theta))."""
        from scipy.special import expit

        return self.a - (self.a + self.b) * expit(theta)

    def log_constant(self, n_features: int) -> float:
        """Return the log of the constant that normalises the density of ``n_features`` parameters."""
        from scipy.special import betaln

        return float(-n_features * betaln(self.a, self.b))

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """Return (a + b) sigmoid(theta) sigmoid(-theta), minus the second derivative of the log density."""
        from scipy.special import expit

        return (self.a + self.b) * expit(theta) * expit(-theta)

    def sample(self, n_draws: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
        """Draw independently, (n_draws, n_features)."""
        # Ratios of Gamma variables have finite logits even if a Beta variable would round to 0 or 1.
        shape = (n_draws, n_features)
        return _log_gamma(self.a, shape, rng) - _log_gamma(self.b, shape, rng)


def _log_gamma(a: float, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw logs of Gamma(a, 1) variables, which themselves would round to 0 if a is small."""
    if a >= 1:
        return np.log(rng.standard_gamma(a, shape))
    return np.log(rng.standard_gamma(a + 1, shape)) - rng.standard_exponential(shape) / a


FIELD_SCALE = 10.0  # standard deviation of the normal prior of a node field h_u
