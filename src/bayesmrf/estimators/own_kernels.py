"""Users' own kernels and methods: made for the data of an estimator, and checked before the first draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ..base import Engine, Kernel, Kind
from ..errors import OptionError, argument
from ..inference.auto import choose
from ..likelihood import Likelihood
from ..methods import Custom, MethodRow, row_of
from ..models.categorical import states_of
from ..names import listed
from ..posterior.hidden_entries import DrawHiddenEntries
from ..registry import Registry
from ..runs.identity import describe

Draws = Mapping[str, Mapping[str, int]]  # fields of Info that an estimator needs: the sizes of their dimensions by name
_SEED = 0  # of a first step, whose result is not used


def own_kernel(rows: Registry[Any], options: Any, likelihood: Likelihood, prior: Any, draws: Draws) -> Any:
    """Return a user's own kernel, after a step from its start that shows whether it has the draws of an estimator.

    Parameters
    ----------
    rows : Registry
        Kernels of this package in its place.
    options : `bayesmrf.kernels.Custom` or `bayesmrf.methods.Custom`
    likelihood : Likelihood
    prior : object
        The arguments of ``options.make``.
    draws : mapping of str to mapping of str to int

    Raises
    ------
    OptionError
    """
    kernel = options.make(likelihood, prior)
    if not isinstance(kernel, Kernel):
        raise _refused(rows, "a kernel with the attributes of bayesmrf.base.Kernel", f"a {type(kernel).__name__}")
    if kernel.name in rows.names:
        raise _refused(rows, f"a kernel with another name than those of {rows.module}", repr(kernel.name))
    needs = "a kernel with the draws " + listed([_described(name, sizes) for name, sizes in draws.items()])
    for name, sizes in draws.items():
        if name not in kernel.dims:
            raise _refused(rows, needs, f"{kernel.name!r} without {name}")
        if tuple(kernel.dims[name]) != tuple(sizes):
            dims = ", ".join(kernel.dims[name]) or "a number"
            raise _refused(rows, needs, f"{kernel.name!r} with {name} ({dims})")
    rng = np.random.default_rng(_SEED)
    info = kernel.step(rng, kernel.init(rng))[1]._asdict()
    for name, sizes in draws.items():
        if (shape := np.asarray(info.get(name)).shape) != tuple(sizes.values()):
            raise _refused(rows, needs, f"{kernel.name!r} with {name} of shape {shape}")
    return kernel


def own_method(
    rows: Registry[MethodRow], options: Custom, data: Likelihood, prior: Any, draws: Draws
) -> tuple[Any, MethodRow]:
    """Return the kernel of a user's own method for the complete data of a likelihood, and its row.

    Parameters
    ----------
    rows : Registry
        Methods of the estimator.
    options : `bayesmrf.methods.Custom`
    data : Likelihood
        Hidden entries may be drawn before each step; its engine is not used.
    prior : object
    draws : mapping of str to mapping of str to int
        As in `own_kernel`.

    Raises
    ------
    OptionError
    """
    engine = engine_for(data.model)
    complete = data.replaced(np.array([s.s_bar for s in data.samples]), engine)
    kernel = own_kernel(rows, options, complete, prior, draws)
    if any(s.hidden is not None for s in data.samples):
        _require_redrawn(rows, kernel, data)
    return kernel, replace(row_of(options, rows), name=kernel.name, kind=kind_with(options, engine))


def edge_draws(data: Likelihood) -> Draws:
    """Return the draws of samplers of edges, of one sample or of several groups."""
    model, n_groups = data.model, len(data.samples)
    theta = ({"group": n_groups} if n_groups > 1 else {}) | {"feature": model.n_features}
    return {"theta": theta, "included": {"edge": model.n_edges}, "density": {}, "slab_scale": {}}


def _require_redrawn(rows: Registry[Any], kernel: Any, likelihood: Likelihood) -> None:
    """Check that a user's own kernel can have other data in each step, where hidden entries are drawn before it.

    A State that holds what depends on the data is found if the kernel starts at the same parameters with other data.

    Raises
    ------
    OptionError
    """
    known = {f.name for f in fields(kernel)} if is_dataclass(kernel) else set()
    if not known & {"likelihood", "s_bar"}:
        expected = "a dataclass with a field likelihood where values are missing"
        raise _refused(rows, expected, f"{kernel.name!r} without one")
    state, n = kernel.init(np.random.default_rng(_SEED)), likelihood.n_parameters
    if np.shape(state._asdict().get("theta")) != (n,):
        expected = f"a kernel whose State has {n} parameters as theta where values are missing"
        raise _refused(rows, expected, repr(kernel.name))
    rng = np.random.default_rng(_SEED)
    sums, _ = likelihood.complete(state.theta, rng, likelihood.start(rng))
    other = DrawHiddenEntries(kernel, likelihood).given(sums / likelihood.sizes)
    now, then = (describe(s)[0] for s in (state, other.init(np.random.default_rng(_SEED))))
    differ = [name for name in now if now[name] != then.get(name)]
    if differ and "theta" not in differ:
        expected = "a kernel whose State does not depend on the data, some of which are missing and drawn in each step"
        raise _refused(rows, expected, f"{kernel.name!r} with {differ[0]} in its State")


def engine_for(model: Any) -> Engine:
    """Return the engine of the likelihood of a user's own method: exact if that is cheap, else persistent chains."""
    return choose(model.graph, n_states=states_of(model))


def kind_with(options: Any, *engines: Engine) -> str:
    """Return the kind of a user's own kernel with some engines."""
    inexact = [f"approximate ({e.name}: {e.kind.value})" for e in engines if e.kind is not Kind.EXACT]
    return inexact[0] if inexact and options.kind == "exact" else str(options.kind)


def _described(name: str, sizes: Mapping[str, int]) -> str:
    return f"{name} ({', '.join(f'{dim}: {n}' for dim, n in sizes.items()) or 'a number'})"


def _refused(rows: Registry[Any], expected: str, got: str) -> OptionError:
    option = argument(f"{rows.option}.make")
    return OptionError(f"{option} must be a callable that returns {expected}, got {got}.")
