"""Prior distributions, as small frozen records of their constants.

scipy is imported at first use: `bayesmrf --help` reads this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .declare.option import Checked, needs, option
from .declare.rule import (
    BETA,
    BLOCKS,
    CONSTANT,
    COVARIANCE,
    GAMMA,
    PAIRS,
    PROBABILITY,
    SCALE,
    SCALES,
    SLAB,
    choice,
    constant_of,
    either,
    instance,
    number,
    optional,
)
from .errors import OptionError

__all__ = [
    "Beta", "Blocks", "Cauchy", "DirichletProcess", "Gamma", "LogisticBeta", "Moment", "MultivariateNormal", "Normal",
    "Prior",
    "ProperPrior", "SpikeSlab", "WeightsAndBiases",
]  # fmt: skip
_A, _B = "First constant.", "Second constant."


@dataclass(frozen=True)
class Beta(Checked):
    """Beta(a, b) on (0, 1); Beta(1, 1) is uniform."""

    a: float = option(1.0, constant_of("Beta(a, b)"), _A)
    b: float = option(1.0, constant_of("Beta(a, b)"), _B)


@dataclass(frozen=True)
class Gamma(Checked):
    """Gamma with density proportional to x^(shape - 1) exp(-rate x)."""

    shape: float = option(1.0, constant_of("Gamma(shape, rate)"), "Shape; shape / rate is the mean.")
    rate: float = option(1.0, constant_of("Gamma(shape, rate)"), "Rate.")


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


@dataclass(frozen=True, eq=False)
class Normal(Checked):
    """Normal with mean 0."""

    scale: Any = option(1.0, SCALES, "One standard deviation, or one for each feature.")

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """Return -theta^2 / (2 scale^2)."""
        return -0.5 * (theta / self.scale) ** 2

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return -theta / scale^2."""
        return -theta / np.square(self.scale)

    def log_constant(self, n_features: int) -> float:
        """Return the log of the constant that normalises the density of ``n_features`` parameters."""
        scale = np.broadcast_to(np.asarray(self.scale, dtype=np.float64), n_features)
        return float(-np.log(scale).sum() - 0.5 * n_features * np.log(2 * np.pi))

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """Return 1 / scale^2, minus the second derivative of the log density."""
        return np.broadcast_to(1 / np.square(np.asarray(self.scale, dtype=np.float64)), np.shape(theta))

    def sample(self, n_draws: int, n_features: int, rng: np.random.Generator) -> np.ndarray:
        """Draw independently, (n_draws, n_features)."""
        return self.scale * rng.standard_normal((n_draws, n_features))


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


@dataclass(frozen=True, eq=False)
class Cauchy(Checked):
    """Cauchy with centre 0."""

    scale: Any = option(
        2.5,
        either(SCALES, GAMMA),
        "One half width, or one for each feature. That of a slab may have a Gamma prior: it is learnt.",
    )

    @property
    def is_learnt(self) -> bool:
        """Whether the scale has a prior."""
        return isinstance(self.scale, Gamma)

    def log_density(self, theta: np.ndarray) -> np.ndarray:
        """Return -log(1 + (theta / scale)^2)."""
        return -np.log1p((theta / self.scale) ** 2)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return -2 theta / (scale^2 + theta^2)."""
        return -2 * theta / (np.square(self.scale) + theta**2)


@dataclass(frozen=True)
class Moment(Checked):
    r"""Non-local slab with Cauchy tails, under which weights near 0 are improbable.

    .. math:: p(a) = \frac{2}{\pi s} \frac{a^2 / s^2}{(1 + a^2 / s^2)^2}

    It is 0 at 0, where the density of other slabs is largest, and has its modes at :math:`\pm s`. Half of its weights
    are within 2.26 s, 10 % within 0.74 s, and 1 % within 0.3 s; the tails are those of a Cauchy density of twice the
    scale, so that strong weights are not shrunk. Evidence that an edge is absent grows faster with the observations
    (product-moment priors: Johnson and Rossell 2010, who have normal tails).
    """

    scale: float = option(1.0, SCALE, "s, the distance of the modes from 0.")


@dataclass(frozen=True)
class SpikeSlab(Checked):
    r"""Prior of a network whose edges may be absent (Chen and Welling 2012 structure, eq. 2 and 3).

    .. math:: \theta_a = Y_a A_a, \quad Y_a \sim \mathrm{Bern}(p_0), \quad p_0 \sim \mathrm{Beta}(a, b), \quad
              b_i \sim N(0, \sigma_b^2)

    The weight A of a present edge (the slab) is Cauchy, normal with :math:`A_a \sim N(0, \sigma_0^2)`, or away from 0
    (`Moment`). The paper has Beta(5, 5) and a normal slab with Gamma(5, 5); docs/edge_priors.md compares these with the
    defaults.

    Parameters
    ----------
    density
        Where pairs have probabilities of their own, 0 forbids an edge, and 1 forces it. They are a symmetric matrix
        (n_nodes, n_nodes), in the order of the columns of the data or with their names as index and columns of a
        DataFrame; or a table, or list, of pairs: two nodes and a probability. All pairs must then be named; the pair
        ("*", "*") stands for all others.
    slab
        Gamma: the weights are normal, and this is the prior of their precision :math:`\sigma_0^{-2}`, as in the paper.
        Normal: the weights are normal with a fixed standard deviation. Cauchy: the weights are Cauchy with a fixed
        scale s; the density is proportional to :math:`e^{-a^2 / 2 \tau^2} / (1 + a^2 / s^2)` with tau = 50
        (`CAUCHY_TAPER`), which differs from the Cauchy density only at weights that no data can distinguish, and by its
        constant: Bayes factors for edges are 2 % larger at scale 1, and 16 % at 10. `fit` warns above 20 %. Of an edge
        with several parameters tau is larger, so that these figures are the same to within 1 %. Moment: the same, with
        that density. Cauchy(Gamma(shape, rate)): the scale s has this prior, and tau is relative to it.
    biases
        None for the normal one.
    """

    density: Any = option(
        Beta(1.0, 1.0),
        either(PROBABILITY, BETA, PAIRS, BLOCKS),
        "Prior of p_0, or its fixed value in (0, 1); or the probability of each pair of nodes, in [0, 1]; or blocks of "
        "nodes, in place of a density.",
    )
    slab: Gamma | Normal | Cauchy | Moment = option(Cauchy(1.0), SLAB, "Prior of the weights of edges that exist.")
    bias_scale: float = option(10.0, SCALE, "sigma_b; of no effect with ``biases``.")
    biases: LogisticBeta | None = option(
        None,
        optional(instance("priors", "LogisticBeta")),
        "Another prior of the biases (thresholds of ordered categories): that of the logit of a Beta variable.",
    )


def has_pairs(prior: SpikeSlab) -> bool:
    """Return whether pairs have probabilities of their own."""
    return PAIRS.allows(prior.density)


def read_slab(text: str) -> Gamma | Normal | Cauchy | Moment:
    """Read a slab from text, as on the command line: "cauchy:2.5", "normal:1", "moment:0.5", "cauchy:2,2" of a Cauchy
    slab whose scale has a Gamma prior, or "5,5" of a Gamma prior of the precision.

    Raises
    ------
    OptionError
    """
    family, _, scale = text.partition(":")
    slabs: dict[str, type[Normal | Cauchy | Moment]] = {"cauchy": Cauchy, "moment": Moment, "normal": Normal}
    try:
        if family == "cauchy" and "," in scale:
            return Cauchy(Gamma(*map(float, scale.split(","))))
        if family in slabs:
            return slabs[family](float(scale or 1.0))
        shape, rate = map(float, text.split(","))
        return Gamma(shape, rate)
    except (TypeError, ValueError):
        raise OptionError(
            option="slab",
            got=text,
            expected='"cauchy:SCALE", "moment:SCALE", "normal:SCALE", "cauchy:SHAPE,RATE" > 0 of a Gamma prior of the '
            "scale, or SHAPE,RATE > 0 of one of the precision",
            remedy='an example is "cauchy:2.5"',
        ) from None


CAUCHY_TAPER = 50.0  # weights beyond some tens give the same probabilities, but exp(weight) overflows
FIELD_SCALE = 10.0  # standard deviation of the normal prior of a node field h_u
