"""Prior distributions other than slabs, as small frozen records of their constants.

scipy is imported at first use: `bayesmrf --help` reads this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from ..declare.option import Checked, needs, option
from ..declare.rule import (
    BETA,
    CONSTANT,
    COVARIANCE,
    GAMMA,
    PROBABILITY,
    SCALE,
    constant_of,
    either,
    instance,
    optional,
)
from ..errors import OptionError
from .group_base import GroupBase
from .inclusion import Beta, Inclusion, draw_logits, inclusion_of
from .of_parameters import OfParameters
from .slab_kinds import Gamma, Normal


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

    slab = None  # values are those of groups

    @property
    def inclusion(self) -> Inclusion:
        """The prior of which edges exist."""
        return inclusion_of(self.density)

    @property
    def has_spike(self) -> bool:
        """Whether edges may be absent."""
        return self.density is not None

    @property
    def learnt_alpha(self) -> Gamma | None:
        """The prior of the concentration, unless it is fixed."""
        return cast(Gamma, self.alpha) if GAMMA.allows(self.alpha) else None

    @property
    def density_start(self) -> float:
        """The fixed p0, or its prior mean; 1 if every edge is present."""
        return self.inclusion.mean()

    @property
    def alpha_start(self) -> float:
        """The fixed concentration, or its prior mean."""
        prior = self.learnt_alpha
        return float(cast(float, self.alpha)) if prior is None else prior.shape / prior.rate

    def draw(self, n_edges: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Draw the value of each edge, 0 where it is absent, and return the number of groups, too."""
        prior = self.learnt_alpha
        alpha = self.alpha_start if prior is None else rng.standard_gamma(prior.shape) / prior.rate
        present = np.flatnonzero(rng.random(n_edges) < self.inclusion.draw_p0(rng))
        groups = draw_partitions(float(alpha), 1, len(present), rng)[0]
        n_groups = int(groups.max(initial=-1)) + 1
        values = np.zeros(n_edges)
        values[present] = self.base.draw_values(n_groups, rng)[groups]
        return values, n_groups


def draw_partitions(alpha: float, n: int, n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Draw partitions of items by a Dirichlet process, (n, n_items): labels in order of first appearance."""
    labels = np.zeros((n, n_items), dtype=int)
    for i in range(1, n_items):  # as one of the items before, or a new block
        like = rng.integers(0, i, n)
        new = rng.random(n) * (alpha + i) < alpha
        labels[:, i] = np.where(new, labels[:, :i].max(axis=1) + 1, labels[np.arange(n), like])
    return labels


@dataclass(frozen=True)
class WeightsAndBiases(Checked, OfParameters):
    """Normal prior with one standard deviation for the parameters of edges, and one for those of nodes."""

    scale: float = option(1.0, SCALE, "Of the parameters of edges.")
    bias_scale: float = option(1.0, SCALE, "Of the parameters of nodes.")

    is_even: ClassVar[bool] = True

    def over(self, n_edge_parameters: int, n_parameters: int) -> Normal:
        """Return the prior of all parameters, those of edges first."""
        return Normal(np.repeat([self.scale, self.bias_scale], [n_edge_parameters, n_parameters - n_edge_parameters]))


@dataclass(frozen=True, eq=False)
class MultivariateNormal(Checked, GroupBase):
    """Normal distribution of p parameters, with mean 0."""

    covariance: np.ndarray = field(metadata=needs(COVARIANCE, "Covariance (p, p)."))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "covariance", np.asarray(self.covariance, dtype=np.float64))

    @property
    def group_record(self) -> dict[str, Any]:
        """How it is stored with a run."""
        return {"prior_scale": self.covariance.tolist()}

    def covariance_of(self, p: int) -> np.ndarray:
        """Return the covariance, which must be of p parameters."""
        if self.covariance.shape != (p, p):
            shape = " x ".join(map(str, self.covariance.shape))
            raise OptionError(option="base", got=f"a covariance of shape {shape}", expected=f"of shape {p} x {p}")
        return self.covariance


@dataclass(frozen=True, eq=False)
class LogisticBeta(Checked, OfParameters):
    """Distribution of the logit of a Beta(a, b) variable, such as theta if an agreement has the prior Beta(a, b)."""

    a: float = option(1.0, constant_of("LogisticBeta(a, b)"), "First constant.")
    b: float = option(1.0, constant_of("LogisticBeta(a, b)"), "Second constant.")

    is_proper: ClassVar[bool] = True

    @property
    def constants_of_record(self) -> dict[str, Any]:  # type: ignore[override]
        """The constants, as they are stored with a run."""
        return {"prior_beta": [self.a, self.b]}

    @property
    def in_evidence(self) -> str:
        """Its name in results of evidence."""
        return f"logistic Beta({self.a:g}, {self.b:g})"

    def draw_at(self, places: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the parameters at some places, (n_draws, n)."""
        return self.sample(n_draws, len(places), rng)

    def log_integrals(self, successes: np.ndarray, trials: np.ndarray) -> np.ndarray:
        """Return the log integrals of binomial likelihoods of logits, to which the prior is conjugate."""
        from scipy.special import betaln

        return betaln(self.a + successes, self.b + trials - successes) - betaln(self.a, self.b)

    def depends_on_order(self, n_categories: int) -> bool:
        """Return whether it is skewed, or differs between directions."""
        return n_categories > 2 or self.a != self.b

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
        return draw_logits(self.a, self.b, (n_draws, n_features), rng)


FIELD_SCALE = 10.0  # standard deviation of the normal prior of a node field h_u
