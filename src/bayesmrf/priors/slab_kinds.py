"""Slabs of this package. Their compiled leaves are in `bayesmrf.posterior.conditionals.slabs`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, gamma, lgamma, log, pi, sqrt
from typing import Any

import numpy as np

from ..declare.option import option
from ..declare.rule import GAMMA, SCALE, SCALES, constant_of, either
from ..errors import OptionError
from .group_base import GroupBase
from .of_parameters import OfParameters
from .slab import KINDS, REGISTERED, Present, Slab

CAUCHY_TAPER = 50.0  # weights beyond some tens give the same probabilities, but exp(weight) overflows
TAPER = CAUCHY_TAPER**-2  # precision of the normal factor of one parameter
_LEAST = 1e-100  # a Gamma variable of small shape rounds to 0
_LOG_SCALES = np.linspace(-8, 6, 141)  # of a Cauchy slab whose scale is learnt


@dataclass(frozen=True)
class Gamma(Slab):
    """Gamma with density proportional to x^(shape - 1) exp(-rate x); as a slab, of the precision of normal weights."""

    name, title, forms, may_widen = "", "normal", ("SHAPE,RATE > 0 of one of the precision",), True

    shape: float = option(1.0, constant_of("Gamma(shape, rate)"), "Shape; shape / rate is the mean.")
    rate: float = option(1.0, constant_of("Gamma(shape, rate)"), "Rate.")

    @classmethod
    def read(cls, text: str) -> Gamma:
        """Read "SHAPE,RATE"."""
        shape, rate = map(float, text.split(","))
        return cls(shape, rate)

    @property
    def words(self) -> tuple[str, str]:
        """What reports call the option, and its value."""
        return "prior of the slab's precision", f"Gamma({self.shape:g}, {self.rate:g})"

    @property
    def precision(self) -> float:
        """0, as it is learnt."""
        return 0.0

    @property
    def stiffness(self) -> float:
        """The prior mean of the precision."""
        return float(self.shape) / float(self.rate)

    def stiffness_at(self, precision: float) -> float:
        """Return the precision."""
        return precision

    def log_constant(self, n: int) -> float:
        """Return 0: the constant depends on the precision."""
        return 0.0

    def log_top(self, scales: np.ndarray) -> float:
        """Return the mean log density at 0 of one parameter."""
        return float(-0.5 * log(2 * pi) - np.log(scales).mean())

    def draw_edges(self, sizes: np.ndarray, n_draws: int, n_copies: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the parameters of all edges, which have one precision in a draw."""
        return self.draw((n_draws, 1, n_copies * int(sizes.sum())), rng).reshape(n_draws, n_copies, -1)

    def draw(self, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
        """Draw parameters, (n_draws, n_edges, n), which have one precision in a draw."""
        precision = np.maximum(rng.standard_gamma(self.shape, shape[0]), _LEAST) / self.rate
        return np.asarray(rng.standard_normal(shape) / np.sqrt(precision)[:, None, None])

    def scaled(self, factor: float) -> Gamma:
        """Return the prior of the precision of weights that are multiplied by a factor."""
        return replace(self, rate=self.rate * float(factor) ** 2)

    def log_joint(self, at: Callable[[float], np.ndarray], present: Present, n_draws: int) -> np.ndarray:
        """Return the log density of all weights of each draw, the precision integrated out."""
        n = np.bincount(present.draw, present.size, n_draws)
        rate = self.rate + np.bincount(present.draw, present.square, n_draws) / 2
        constant = np.vectorize(lgamma)(self.shape + n / 2) - lgamma(self.shape) + self.shape * log(self.rate)
        return np.asarray(constant - n / 2 * log(2 * pi) - (self.shape + n / 2) * np.log(rate))

    def mean_logs(self, of_edge: Callable[[int], float], present: Present, n_draws: int) -> np.ndarray:
        """Return the mean of `log_joint` under the slab, under which the weights of all edges depend on each other."""
        n = np.bincount(present.draw, present.size, n_draws).astype(int)
        means = {k: self.mean_log(k) for k in np.unique(n).tolist()}
        return np.array([means[k] for k in n.tolist()])

    def mean_log(self, n: int) -> float:
        """Return the mean of the log density of n weights under itself."""
        from scipy.special import digamma, gammaln

        c, half = self.shape, n / 2
        spread = (c + half) * (digamma(c + half) - digamma(c) + log(self.rate))
        return float(gammaln(c + half) - gammaln(c) + c * log(self.rate) - half * log(2 * pi) - spread)


@dataclass(frozen=True, eq=False)
class Normal(Slab, GroupBase, OfParameters):
    """Normal with mean 0."""

    name, title, forms = "normal", "normal", ('"normal:SCALE"',)

    is_proper = is_even = True

    scale: Any = option(1.0, SCALES, "One standard deviation, or one for each feature.")

    @property
    def scale_of_record(self) -> Any:
        """The scale, as it is stored with a run."""
        return self.scale

    @property
    def normal_scale(self) -> Any:
        """The scale."""
        return self.scale

    def draw_at(self, places: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the parameters at some places, (n_draws, n)."""
        return scale_at(self.scale, places) * rng.standard_normal((n_draws, len(places)))

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

    @property
    def group_record(self) -> dict[str, Any]:
        """How it is stored with a run of groups."""
        return {"prior_scale": np.asarray(self.scale).tolist()}

    def draw_values(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw values, (n,)."""
        return self.sample(1, n, rng)[0]

    def of_value(self, unit: float) -> tuple[float, float, float]:
        """Return no exponents, and the precision."""
        return 0.0, 0.0, float((unit / self.scale) ** 2)

    def covariance_of(self, p: int) -> np.ndarray:
        """Return the covariance of p parameters, (p, p)."""
        scale = np.atleast_1d(np.asarray(self.scale, dtype=np.float64))
        if scale.shape not in ((1,), (p,)):
            raise OptionError(
                option="base", got=f"{scale.size} scales", expected=f"one scale, or one for each of {p} parameters"
            )
        return np.diag(np.broadcast_to(scale**2, p))

    @property
    def fits_edges(self) -> bool:
        """Whether it has one scale."""
        return SCALE.allows(self.scale)

    @property
    def stiffness(self) -> float:
        """Scale^-2."""
        return self.precision

    def log_top(self, scales: np.ndarray) -> float:
        """Return the mean log density at 0 of one parameter."""
        return float(-0.5 * log(2 * pi) - np.log(scales).mean())

    def draw(self, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
        """Draw parameters, (n_draws, n_edges, n)."""
        return float(self.scale) * rng.standard_normal(shape)


class _Tapered(Slab):
    r"""Base of slabs with Cauchy tails: of a Cauchy density of n + k parameters, with the factor |d|^k, k = 0 or 2.

    The density is proportional to :math:`|d|^k e^{-|d|^2 / 2 \tau_n^2} (1 + |d|^2 / s^2)^{-(n + k + 1) / 2}`, with
    :math:`\tau_n` of `taper_precision`.
    """

    power = 0

    @property
    def stiffness(self) -> float:
        """About minus the second derivative of the log density, of that without its factor."""
        return 2 * self.precision + TAPER

    def log_constant(self, n: int) -> float:
        """Return the log density of n parameters at 0, or that of the factor of ``|d|^k`` there."""
        return _log_constant(float(self.scale), n, self.power)

    def draw(self, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
        """Draw parameters, (n_draws, n_edges, n): those of the density are kept with the probability of its taper."""
        drawn = np.empty((shape[0] * shape[1], shape[2]))
        rest, taper = np.arange(len(drawn)), taper_precision(shape[2], self.power)
        while len(rest):
            size = len(rest), shape[2]
            new = rng.standard_normal(size)
            squares = rng.standard_gamma(0.5 * (size[1] + self.power), size[0]) / rng.standard_gamma(0.5, size[0])
            new *= float(self.scale) * np.sqrt(squares / (new**2).sum(axis=1))[:, None]
            is_kept = rng.random(size[0]) < np.exp(-0.5 * taper * (new**2).sum(axis=1))
            drawn[rest[is_kept]] = new[is_kept]
            rest = rest[~is_kept]
        return drawn.reshape(shape)


@dataclass(frozen=True, eq=False)
class Cauchy(_Tapered, OfParameters):
    """Cauchy with centre 0."""

    name, title = "cauchy", "Cauchy"
    forms = '"cauchy:SCALE"', '"cauchy:SHAPE,RATE" > 0 of a Gamma prior of the scale'

    scale: Any = option(
        2.5,
        either(SCALES, GAMMA),
        "One half width, or one for each feature. That of a slab may have a Gamma prior: it is learnt.",
    )

    is_even = is_tapered = True

    @property
    def scale_of_record(self) -> Any:
        """The scale, as it is stored with a run."""
        return self.scale

    def draw_at(self, places: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the parameters at some places, (n_draws, n)."""
        return np.asarray(scale_at(self.scale, places) * rng.standard_cauchy((n_draws, len(places))))

    @classmethod
    def read(cls, text: str) -> Cauchy:
        """Read a scale, or "SHAPE,RATE" of its prior."""
        return cls(Gamma.read(text) if "," in text else float(text or 1.0))

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

    @property
    def words(self) -> tuple[str, str]:
        """What reports call the option, and its value."""
        if self.is_learnt:
            return "slab", f"Cauchy(0, s), s ~ Gamma({self.scale.shape:g}, {self.scale.rate:g})"
        return super().words

    @property
    def fits_edges(self) -> bool:
        """Whether it has one scale, or one with a prior."""
        return self.is_learnt or SCALE.allows(self.scale)

    @property
    def precision(self) -> float:
        """Scale^-2, or 0 if it is learnt."""
        return 0.0 if self.is_learnt else float(self.scale) ** -2

    @property
    def stiffness(self) -> float:
        """Minus the second derivative of the log density at 0, at the prior mean of the scale."""
        return (2 + TAPER) * (self.scale.rate / self.scale.shape) ** 2 if self.is_learnt else super().stiffness

    @property
    def has_mean_log(self) -> bool:  # type: ignore[override]
        """Whether the scale is fixed."""
        return not self.is_learnt

    @property
    def taper_factor(self) -> float:
        """Density at 0 over that of a Cauchy density; 1 for a learnt scale, to which the taper is relative."""
        return 1.0 if self.is_learnt else exp(self.log_constant(1)) * pi * self.scale

    def log_constant(self, n: int) -> float:
        """Return the log density of n parameters at 0; a scale that is learnt counts as 1."""
        return _log_constant(1.0 if self.is_learnt else float(self.scale), n, 0)

    def log_top(self, scales: np.ndarray) -> float:
        """Return the mean log density of one parameter at 0."""
        return float(-log(pi) - np.log(scales).mean())

    def draw_scale(self, n_draws: int, rng: np.random.Generator) -> tuple[Any, Slab]:
        """Draw the scale of all edges of a draw, if it is learnt, and return the slab of unit scale."""
        if not self.is_learnt:
            return 1.0, self
        return (rng.standard_gamma(self.scale.shape, n_draws) / self.scale.rate)[:, None, None], Cauchy(1.0)

    def scaled(self, factor: float) -> Cauchy:
        """Return a slab whose weights are multiplied by a factor."""
        if self.is_learnt:
            return replace(self, scale=replace(self.scale, rate=self.scale.rate / float(factor)))
        return super().scaled(factor)

    def log_joint(self, at: Callable[[float], np.ndarray], present: Present, n_draws: int) -> np.ndarray:
        """Return the log density of all weights of each draw; a scale with a prior is integrated out."""
        if not self.is_learnt:
            return at(self.precision)
        c, r = self.scale.shape, self.scale.rate
        constant = c * log(r) - lgamma(c) + log(_LOG_SCALES[1] - _LOG_SCALES[0])  # of the trapezoidal rule, too
        terms = [at(np.exp(-2 * t)) + c * t - r * np.exp(t) for t in _LOG_SCALES]
        return np.asarray(np.logaddexp.reduce(terms, axis=0) + constant)


@dataclass(frozen=True)
class Moment(_Tapered):
    r"""Non-local slab with Cauchy tails, under which weights near 0 are improbable.

    .. math:: p(a) = \frac{2}{\pi s} \frac{a^2 / s^2}{(1 + a^2 / s^2)^2}

    It is 0 at 0, where the density of other slabs is largest, and has its modes at :math:`\pm s`. Half of its weights
    are within 2.26 s, 10 % within 0.74 s, and 1 % within 0.3 s; the tails are those of a Cauchy density of twice the
    scale, so that strong weights are not shrunk. Evidence that an edge is absent grows faster with the observations
    (product-moment priors: Johnson and Rossell 2010, who have normal tails).
    """

    name, title, forms, is_0_at_0 = "moment", "moment", ('"moment:SCALE"',), True
    power = 2

    scale: float = option(1.0, SCALE, "s, the distance of the modes from 0.")

    @property
    def words(self) -> tuple[str, str]:
        """What reports call the option, and its value."""
        return "slab", f"Moment({self.scale:g})"

    @property
    def taper_factor(self) -> float:
        """Factor of a^2 at 0 over that of the density without a taper."""
        return exp(self.log_constant(1)) * pi * self.scale**3 / 2

    def factor(self, squares: np.ndarray) -> np.ndarray:
        """Return the factor of the density that is 0 at 0."""
        return squares

    def log_top(self, scales: np.ndarray) -> float:
        """Return the mean log of the factor of a^2 at 0."""
        return float(log(2 / pi) - 3 * np.log(scales).mean())


def scale_at(scale: Any, places: np.ndarray) -> Any:
    """Return the scale of the parameters at some places, of which each may have its own."""
    return np.asarray(scale)[places] if np.ndim(scale) else scale


def taper_precision(n_values: Any, power: Any) -> Any:
    """Return the precision of the normal factor of a slab of ``n_values`` parameters and the factor |d|^power."""
    if n_values == 1:
        return TAPER
    one, n = 1.0 + power, n_values + power
    log_ratio = lgamma(0.5 * (one + 1)) - lgamma(0.5 * one) - lgamma(0.5 * (n + 1)) + lgamma(0.5 * n)
    return TAPER * exp(2 * log_ratio)


@lru_cache
def _log_constant(scale: float, n: int, power: int) -> float:
    r"""Return the log constant of `_Tapered`. With :math:`|d| = s \tan \varphi` its inverse is an integral of
    :math:`\sin^{n + k - 1} \varphi`.
    """
    from scipy.integrate import quad
    from scipy.special import erfcx

    if n == 1 and not power:
        return -log(pi * scale * erfcx(scale * sqrt(TAPER / 2)))
    ratio = 0.5 * (scale / CAUCHY_TAPER) ** 2 * float(taper_precision(n, power) / TAPER)
    integral = quad(lambda x: np.exp(-ratio * np.tan(x) ** 2) * np.sin(x) ** (n + power - 1), 0, pi / 2)[0]
    return -log(2 * pi ** (n / 2) / gamma(n / 2) * scale ** (n + power) * integral)


KINDS.update({kind.name: kind for kind in (Cauchy, Moment, Normal, Gamma)})
REGISTERED.update(KINDS.values())
