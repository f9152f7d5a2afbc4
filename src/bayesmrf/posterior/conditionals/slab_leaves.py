"""What compiled code needs of a slab: leaves that are chosen by the class of its constants, which declares them.

Nothing else in compiled code knows which slabs there are. The constants are a NamedTuple: each class has machine
code of its own, whose key on disk has the digests of the leaves of the class (`bayesmrf.compiled.leaves`).
Leaves for densities have plain NumPy functions, as their Python code is also that of arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import isfunction, unwrap
from typing import Any, NamedTuple, TypeVar

from numba.core.dispatcher import Dispatcher
from numpy import log1p

from ...compiled import strict_leaf
from ...errors import OptionError
from .by_class import by_class

_WIDE = 0.25  # precision over that of a slab, of its guide
C = TypeVar("C", bound=type)


@strict_leaf
def fixed_top(slab, precision, n_values, constant):
    """Return the log density at 0 of a slab of fixed scale."""
    return constant


@strict_leaf
def fixed_scale(rng, slab, precision, sizes, n_values):
    """Return the precision of a slab of fixed scale."""
    return precision


@strict_leaf
def no_factor(slab, size):
    """Return the log of no factor."""
    return 0.0


@strict_leaf
def never(slab):
    """Say no."""
    return False


@strict_leaf
def always(slab):
    """Say yes."""
    return True


@strict_leaf
def no_normal_part(slab, precision):
    """Return the precision of no normal factor."""
    return 0.0


@strict_leaf
def wide_guide(slab, precision, size, n_values, whole):
    """Return a Cauchy guide of twice the scale."""
    return -0.5 * (n_values + 1) * log1p(_WIDE * precision * size)


@strict_leaf
def slope_of_wide_guide(slab, precision, size, n_values):
    """Return minus the slope of this guide, over the coordinate."""
    return (n_values + 1) * _WIDE * precision / (1 + _WIDE * precision * size)


class SlabLeaves(NamedTuple):
    r"""Leaves of a slab, whose density of n parameters a is :math:`p(a) = p_0 f(|a|^2) E[e^{-\lambda |a|^2 / 2}]`.

    The factor f is 1 of most slabs, and 0 at 0 of others; :math:`p_0` is the density at 0 without it. The first
    argument of each leaf is the constants, ``precision`` is scale^-2, and ``size`` :math:`|a|^2`.

    Parameters
    ----------
    log_shape : leaf
        (slab, precision, size, n): the log of the mean, 0 at 0. It must also take an array of sizes.
    draw_mixture : leaf
        (rng, slab, precision, growth, n): a draw of lambda given a, with ``growth`` = precision times size.
    slope : leaf
        (slab, precision, size, growth, n, step): minus the slope of log p over a. Where it is infinite at 0, that of
        about a ``step`` is taken.
    log_factor : leaf
        (slab, size): log f, of arrays, too. Without it f = 1.
    log_top : leaf
        (slab, precision, n, constant): log p_0. By default the constant, which is `Slab.log_constant`.
    draw_scale : leaf
        (rng, slab, precision, sizes, n): the precision given the sizes of all edges, 0 where they are absent, and how
        many parameters they have. By default the fixed one.
    normal_part : leaf
        (slab, precision): of the density of one parameter, the precision of a normal factor; by default 0.
    guide, guide_slope : leaf
        (slab, precision, size, n, log p) and (slab, precision, size, n): the log of a smooth function with its mode at
        0 that is like the density, and minus its slope over a; by default it is Cauchy, of twice the scale.
    has_factor : leaf
        (slab): whether f is not 1; by default it is if there is a ``log_factor``.
    """

    log_shape: Any
    draw_mixture: Any
    slope: Any
    log_factor: Any = no_factor
    log_top: Any = fixed_top
    draw_scale: Any = fixed_scale
    normal_part: Any = no_normal_part
    guide: Any = wide_guide
    guide_slope: Any = slope_of_wide_guide
    has_factor: Any = never


def with_leaves(leaves: SlabLeaves) -> Callable[[C], C]:
    """Let a NamedTuple of constants have leaves; plain functions are compiled.

    Raises
    ------
    OptionError
        If one of the leaves is none.
    """
    for name, leaf in leaves._asdict().items():
        if not (isfunction(leaf) or isinstance(leaf, Dispatcher)):
            raise OptionError(option=f"leaf {name} of a slab", got=leaf, expected="a function")
    each = (strict_leaf(leaf) if isfunction(leaf) else leaf for leaf in leaves)
    made = SlabLeaves(*each)
    if leaves.log_factor is not no_factor and leaves.has_factor is never:
        made = made._replace(has_factor=always)

    def decorate(kind: C) -> C:
        kind.leaves = made  # type: ignore[attr-defined]
        return kind

    return decorate


def in_numpy(constants: Any, name: str) -> Any:
    """Return a leaf of a slab that is not compiled."""
    return unwrap(getattr(type(constants).leaves, name))


class _Chosen(dict[Any, Any]):
    """The leaf of a name by the class of the constants, as `by_class` asks for it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __missing__(self, kind: Any) -> Any:
        return getattr(kind.leaves, self.name)


@by_class(_Chosen("log_shape"), place=0)
def log_slab_shape(slab, precision, size, n_values):
    """Return the log density of ``n_values`` parameters, over that at 0, without the factor that is 0 there."""


@by_class(_Chosen("draw_mixture"), place=1)
def draw_slab_mixture(rng, slab, precision, growth, n_values):
    r"""Return the precision of a normal density that represents a slab of ``n_values`` parameters.

    Given :math:`\lambda` the prior is normal, and the line log-concave. Given a, :math:`\lambda` is independent of
    everything else: it is drawn before each visit, and not stored.
    """


@by_class(_Chosen("slope"), place=0)
def slab_slope(slab, precision, size, growth, n_values, step):
    """Return minus the slope of the log density over the parameters, for steps of about ``step``."""


@by_class(_Chosen("log_factor"), place=0)
def log_slab_factor(slab, size):
    """Return the log of the factor that is 0 at 0, where an edge that exists has the squared length ``size``."""


@by_class(_Chosen("has_factor"), place=0)
def has_slab_factor(slab):
    """Return whether the slab has such a factor."""


@by_class(_Chosen("log_top"), place=0)
def log_slab_top(slab, precision, n_values, constant):
    """Return the log density at 0, without the factor; ``constant`` is `bayesmrf.priors.Slab.log_constant`."""


@by_class(_Chosen("draw_scale"), place=1)
def draw_slab_scale(rng, slab, precision, sizes, n_values):
    """Draw the precision given the squared lengths of all edges, 0 if absent, and their numbers of parameters."""


@by_class(_Chosen("normal_part"), place=0)
def slab_normal_part(slab, precision):
    """Return the precision of a normal factor of the density of one parameter."""


@by_class(_Chosen("guide"), place=0)
def log_slab_guide(slab, precision, size, n_values, whole):
    """Return the log of a smooth function that is like the density, whose log is ``whole``, with its mode at 0."""


@by_class(_Chosen("guide_slope"), place=0)
def slab_guide_slope(slab, precision, size, n_values):
    """Return minus the slope of the log guide over its coordinate, the curvature of a parabola below it."""
