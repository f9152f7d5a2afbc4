"""Slabs from outside the package: what a class declares, and the check that it must pass (docs/add_a_slab.md)."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, lgamma, log, pi, sqrt
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import stats
from scipy.integrate import quad

from .errors import OptionError
from .posterior.conditionals.slab_leaves import SlabLeaves, in_numpy, with_leaves
from .posterior.conditionals.slabs import constants_of, log_densities
from .priors import Slab
from .priors.slab import KINDS, REGISTERED

__all__ = ["Slab", "SlabLeaves", "check_slab", "register", "with_leaves"]

_SIZES = 1, 2, 4  # parameters of an edge
_FACTORS = 1.0, 0.4  # of the scale
_DRAWS, _LEAST = 4000, 1e-6  # of the prior and of mixtures, and p-value
_AWAY = 5.0  # standard errors of a mean
_CLOSE, _STRETCHED = 1e-3, 0.1  # differences of numbers, and of logs where a taper has a scale of its own
_LENGTHS = 0.05, 0.5, 1.5, 4.0  # over the scale, at which densities are compared
S = TypeVar("S", bound=type[Slab])


def register(name: str) -> Callable[[S], S]:
    """Decorate a class of slabs, so that it can be used, after `check_slab` of one with the default scale.

    Parameters
    ----------
    name : str
        That texts begin with: "laplace" of "laplace:0.5".

    Raises
    ------
    OptionError
        If the class lacks a part, or its parts contradict each other.
    """

    def decorate(kind: S) -> S:
        kind.name, kind.title = name, kind.title or kind.__name__
        kind.forms = kind.forms or (f'"{name}:SCALE"',)
        known = KINDS.get(name)
        if not name.isidentifier() or (known is not None and _place(known) != _place(kind)):
            raise OptionError(option="name of a slab", got=name, expected="a word that no other slab has")
        REGISTERED.add(kind)
        try:
            slab = kind()
            _require_parts(slab)
            check_slab(slab)
        except Exception:
            REGISTERED.remove(kind)
            raise
        KINDS[name] = kind
        return kind

    return decorate


def _place(kind: type) -> tuple[str, str]:
    """Return where a class is defined: one that is defined again replaces it."""
    return kind.__module__, kind.__qualname__


def check_slab(slab: Slab) -> None:
    """Check that the parts of a slab are of one density, of 1, 2 and 4 parameters.

    The density has the integral 1, is that of draws and of the mixture, and has the slope; a slab of another scale is
    the same, stretched.

    Raises
    ------
    OptionError
    """
    for factor in _FACTORS:
        part = _Part(slab.scaled(factor), constants_of(slab.scaled(factor)))
        for n in _SIZES:
            _check_integral(part, n)
            _check_draws(part, n)
            _check_mixture(part, n)
            _check_scale(part, slab, factor, n)


class _Part(NamedTuple):
    """A slab and its constants for compiled code."""

    slab: Slab
    constants: Any

    def log_density(self, squares: Any, n: int) -> Any:
        """Return log densities of squared lengths."""
        return log_densities(self.slab, self.slab.precision, np.asarray(squares, dtype=float), n)

    def fail(self, what: str) -> OptionError:
        """Return the error that says what is wrong."""
        return OptionError(f"The slab {self.slab} cannot be used: {what}.")


def _require_parts(slab: Slab) -> None:
    """Check that no method and no leaf is missing."""
    kind = type(slab)
    needs = ["compiled", "log_constant", *(["draw_squares"] if kind.draw is Slab.draw else [])]
    lacks = [name for name in needs if name not in dir(kind)]
    if lacks:
        raise OptionError(f"The slab {slab} cannot be used: {kind.__name__} has no method {', '.join(lacks)}.")
    constants = slab.compiled()
    if not isinstance(constants, tuple) or "leaves" not in dir(type(constants)):
        raise OptionError(
            f"The slab {slab} cannot be used: {kind.__name__}.compiled() must return a NamedTuple whose class is "
            f"decorated by with_leaves, got {constants!r}."
        )


def _check_integral(part: _Part, n: int) -> None:
    scale = part.slab.precision**-0.5
    log_area = log(2) + n / 2 * log(pi) - lgamma(n / 2) + n * log(scale)

    def shell(t: float) -> float:
        return exp(min(float(part.log_density(scale**2 * exp(2 * t), n)) + log_area + n * t, 700.0))

    total = quad(shell, -30, 0, limit=200)[0] + quad(shell, 0, 12, limit=200)[0]
    if not abs(total - 1) < _CLOSE:
        raise part.fail(f"the density of {n} parameters has the integral {total:.4g}, not 1")


def _check_draws(part: _Part, n: int) -> None:
    drawn = part.slab.draw((_DRAWS, 1, n), np.random.default_rng(n))
    if np.shape(drawn) != (_DRAWS, 1, n):
        raise part.fail(f"draws must have the shape {(_DRAWS, 1, n)}, got {np.shape(drawn)}")
    scale, t = part.slab.precision**-0.5, np.linspace(-30, 12, 20_001)
    log_area = log(2) + n / 2 * log(pi) - lgamma(n / 2) + n * log(scale)
    density = np.exp(part.log_density(scale**2 * np.exp(2 * t), n) + log_area + n * t)
    law = np.cumsum(density) / density.sum()
    log_length = 0.5 * np.log(np.maximum((drawn**2).sum(axis=2)[:, 0], 1e-300)) - log(scale)
    if stats.kstest(log_length, lambda x: np.interp(x, t, law)).pvalue < _LEAST:
        raise part.fail(f"draws of {n} parameters do not have its density")


def _check_mixture(part: _Part, n: int) -> None:
    r"""Check that the mean of :math:`e^{-\lambda h / 2}` given a is :math:`p(|a|^2 + h) / p(|a|^2)`, and the slope."""
    constants, precision, rng = part.constants, part.slab.precision, np.random.default_rng(n)
    draw, log_shape, slope = (in_numpy(constants, name) for name in ("draw_mixture", "log_shape", "slope"))
    if log_shape(constants, precision, 0.0, n) != 0:
        raise part.fail("log_shape must be 0 at 0")
    for length in (0.0, *_LENGTHS):
        size, step = length**2 / precision, 0.5 / precision
        drawn = np.array([draw(rng, constants, precision, precision * size, n) for _ in range(_DRAWS // 4)])
        weight = np.exp(-0.5 * drawn * step)
        ratio = exp(log_shape(constants, precision, size + step, n) - log_shape(constants, precision, size, n))
        if not abs(weight.mean() - ratio) < _AWAY * weight.std() / sqrt(len(weight)) + _CLOSE:
            raise part.fail(
                f"draws of its mixture do not have its density: of {n} parameters at {length:g} scales the mean is "
                f"{weight.mean():.3g}, not {ratio:.3g}"
            )
        if size > 0:
            h = 1e-4 * size
            ends = part.log_density([size - h, size + h], n)
            expected = (ends[0] - ends[1]) / h
            computed = slope(constants, precision, size, precision * size, n, 0.0)
            if not abs(computed - expected) < _CLOSE * (abs(expected) + precision):
                raise part.fail(f"its slope is {computed:.4g} where that of its density is {expected:.4g}")


def _check_scale(part: _Part, slab: Slab, factor: float, n: int) -> None:
    squares = np.square(_LENGTHS) / slab.precision
    expected = log_densities(slab, slab.precision, squares, n) - n * log(factor)
    if not np.allclose(part.log_density(squares * factor**2, n), expected, atol=_STRETCHED):
        raise part.fail(f"that of another scale has not the same density, stretched ({n} parameters)")
