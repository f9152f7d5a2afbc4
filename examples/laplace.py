"""A Laplace slab, from outside the package: docs/add_a_slab.md explains it."""

from dataclasses import dataclass
from math import lgamma, log, pi
from typing import NamedTuple

import numpy as np

from bayesmrf.declare.option import option
from bayesmrf.declare.rule import SCALE
from bayesmrf.slabs import Slab, SlabLeaves, register, with_leaves


def log_shape(slab, precision, size, n_values):
    """Return -|a| / s."""
    return -np.sqrt(precision * size)


def draw_mixture(rng, slab, precision, growth, n_values):
    """Draw lambda given a: it is inverse Gaussian with the mean 1 / (s |a|), and its Levy limit at a = 0."""
    inverse, v = np.sqrt(growth) / precision, rng.standard_normal() ** 2 / (2 * precision)
    first = 1 / (inverse + v + np.sqrt(v * (2 * inverse + v)))  # the smaller root of Michael, Schucany and Haas (1976)
    return first if rng.random() * (1 + inverse * first) < 1 else 1 / (inverse**2 * first)


def slope(slab, precision, size, growth, n_values, step):
    """Return 1 / (s |a|), of a step at least."""
    return np.sqrt(precision / (size + step * step))


@with_leaves(SlabLeaves(log_shape, draw_mixture, slope))
class LaplaceConstants(NamedTuple):
    """No constants but the precision: a NamedTuple is not empty."""

    unused: float = 0.0


@register("laplace")
@dataclass(frozen=True)
class Laplace(Slab):
    """Density proportional to exp(-|a| / s)."""

    scale: float = option(1.0, SCALE, "s.")

    def compiled(self):
        """Return the constants of compiled code."""
        return LaplaceConstants()

    def log_constant(self, n):
        """Return the log density of n parameters at 0."""
        return lgamma(n / 2) - log(2) - n / 2 * log(pi) - lgamma(n) - n * log(self.scale)

    def draw_squares(self, n, n_draws, rng):
        """Draw squared lengths: lengths are Gamma(n, 1 / s)."""
        return (self.scale * rng.standard_gamma(n, n_draws)) ** 2
