"""Users' own kernels and methods: made for the data of an estimator, and checked before the first draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from ..base import Engine, Kernel, Kind
from ..declare.registry import Registry
from ..errors import OptionError, argument
from ..inference.auto import choose
from ..likelihood import Likelihood
from ..methods import Custom
from ..methods.rows import MethodRow, row_of
from ..models.categorical import states_of
from ..names import listed
from ..posterior.groups.dirichlet_process import ABSENT, GROUPED_DIMS
from ..posterior.hidden_entries import DrawHiddenEntries
from ..priors import DirichletProcess
from ..runs.identity import describe

Draws = Mapping[str, Mapping[str, int]]  # fields of Info that an estimator needs: the sizes of their dimensions by name
_SEED = 0  # of first steps, whose results are not used
_EQUAL = 1e-9  # difference of parameters that are equal
_FIRST_STEPS, _LITTLE = 20, 1e-6  # until the parameters move; the change of the data


def own_kernel(rows: Registry[Any], options: Any, likelihood: Likelihood, prior: Any, draws: Draws) -> Any:
    """Return a user's own kernel, after a step from its start that shows whether it has the draws of an estimator.

    Parameters
    ----------
    rows : Registry
        Kernels of this package in its place.
    options : `bayesmrf.methods.Custom`
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
        raise _refused(rows, f"a kernel with a name that no {rows.option} of bayesmrf has", repr(kernel.name))
    needs = "a kernel with the draws " + listed([_described(name, sizes) for name, sizes in draws.items()])
    for name, sizes in draws.items():
        if name not in kernel.dims:
            raise _refused(rows, needs, f"{kernel.name!r} without {name}")
        if tuple(kernel.dims[name]) != tuple(sizes):
            dims = ", ".join(kernel.dims[name]) or "a number"
            raise _refused(rows, needs, f"{kernel.name!r} with {name} ({dims})")
    info = _first_draw(kernel)
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
    complete = data.replaced(np.array([s.s_bar for s in data.samples]), _engine_for(data.model))
    try:
        kernel = own_kernel(rows, options, complete, prior, draws)
    except OptionError as e:
        if e.option != "engine":
            raise
        where = f"in {argument(f'{rows.option}.make')}, make the kernel with likelihood.replaced(s_bar, engine)"
        raise OptionError(f"{e.problem}; {e.remedy}: {where}.") from None
    if any(s.hidden is not None for s in data.samples):
        _require_redrawn(rows, kernel, data)
    return kernel, replace(
        row_of(options, rows), name=kernel.name, kind=kind_with(options, engine_used(kernel, data.model))
    )


def own_method_of_edges(
    rows: Registry[MethodRow], options: Custom, data: Likelihood, prior: Any
) -> tuple[Any, MethodRow]:
    """Return `own_method` with the draws of samplers of edges, of one sample or of several groups."""
    n_edges, n_groups = data.model.n_edges, len(data.samples)
    theta = ({"group": n_groups} if n_groups > 1 else {}) | {"feature": data.model.n_features}
    draws = {"theta": theta, "included": {"edge": n_edges}, "density": {}, "slab_scale": {}}
    kernel, row = own_method(rows, options, data, prior, draws)
    draw = _first_draw(kernel)
    weights, absent = np.asarray(draw["theta"])[..., :n_edges], ~np.asarray(draw["included"], dtype=bool)
    away, expected = weights, "0 where an edge is not included"
    if n_groups > 1:
        away, expected = weights - weights[0], "equal in all groups where an edge is not included"
    if (np.abs(away[..., absent]) > _EQUAL).any():
        raise _refused(rows, f"a kernel whose weights in theta are {expected}", f"{kernel.name!r} with others")
    return kernel, row


def own_method_of_groups(
    rows: Registry[MethodRow], options: Custom, data: Likelihood, prior: DirichletProcess
) -> tuple[Any, MethodRow]:
    """Return `own_method` with the draws of samplers of groups of edges."""
    model, may_be_absent = data.model, prior.density is not None
    sizes = {"feature": model.n_features, "edge": model.n_edges}
    dims = GROUPED_DIMS | ({"density": ()} if may_be_absent else {})
    draws = {name: {dim: sizes[dim] for dim in own} for name, own in dims.items()}
    kernel, row = own_method(rows, options, data, prior, draws)
    draw = _first_draw(kernel)
    groups, theta = np.asarray(draw["groups"]), np.asarray(draw["theta"])
    if not np.issubdtype(groups.dtype, np.integer) or groups.min() < (ABSENT if may_be_absent else 0):
        expected = "integers from 0" + (f", or {ABSENT} where an edge is absent" if may_be_absent else "")
        raise _refused(rows, f"a kernel whose groups are {expected}", f"{kernel.name!r} with others")
    labels, first, group = np.unique(groups, return_index=True, return_inverse=True)
    if (n := np.count_nonzero(labels != ABSENT)) != draw["n_groups"]:
        expected = f"a kernel whose n_groups is the number of its groups, {n}"
        raise _refused(rows, expected, f"{kernel.name!r} with {draw['n_groups']}")
    edges = theta[: model.n_edges * model.n_parameters].reshape(model.n_edges, -1)
    shared = np.where(labels[:, None] == ABSENT, 0, edges[first])
    if (np.abs(edges - shared[group]) > _EQUAL).any():
        expected = "equal for the edges of a group" + (" and 0 where an edge is absent" if may_be_absent else "")
        raise _refused(rows, f"a kernel whose parameters in theta are {expected}", f"{kernel.name!r} with others")
    return kernel, row


def _first_draw(kernel: Kernel) -> dict[str, Any]:
    rng = np.random.default_rng(_SEED)
    return dict(kernel.step(rng, kernel.init(rng))[1]._asdict())


def _require_redrawn(rows: Registry[Any], kernel: Any, likelihood: Likelihood) -> None:
    """Check that a user's own kernel can have other data in each step, where hidden entries are drawn before it.

    Raises
    ------
    OptionError
    """
    if not _fields(kernel) & {"likelihood", "s_bar"}:
        expected = "a dataclass with a field likelihood where values are missing"
        raise _refused(rows, expected, f"{kernel.name!r} without one")
    rng, n = np.random.default_rng(_SEED), likelihood.n_parameters
    state = kernel.init(rng)
    if np.shape(state._asdict().get("theta")) != (n,):
        expected = f"a kernel whose State has {n} parameters as theta where values are missing"
        raise _refused(rows, expected, repr(kernel.name))
    sums, _ = likelihood.complete(state.theta, rng, likelihood.start(rng))
    s_bar = np.reshape([s.s_bar for s in likelihood.samples], sums.shape)
    # So little that proposals of parameters are accepted, or not, as with the first data.
    other = DrawHiddenEntries(kernel, likelihood).given(s_bar + _LITTLE * (sums / likelihood.sizes - s_bar))
    if held := _held(kernel, other):
        expected = "a kernel whose State does not depend on the data, some of which are missing and drawn in each step"
        raise _refused(rows, expected, f"{kernel.name!r} with {held} in its State")


def _held(kernel: Kernel, other: Kernel) -> str:
    """Return a field of State that differs between kernels with other data at equal parameters; empty if none does.

    Both make the same steps until the parameters move; after that nothing is compared, as they may move differently.
    """
    kernels, rngs = (kernel, other), [np.random.default_rng(_SEED) for _ in range(2)]
    states: list[Any] = [k.init(rng) for k, rng in zip(kernels, rngs, strict=True)]
    start = states[0].theta
    for _ in range(_FIRST_STEPS):
        now, then = (describe(state)[0] for state in states)
        differ = [name for name in now if now[name] != then.get(name)]
        if differ or (states[0].theta != start).any():
            return differ[0] if differ and "theta" not in differ else ""
        states = [k.step(rng, state)[0] for k, rng, state in zip(kernels, rngs, states, strict=True)]
    return ""


def engine_used(kernel: Any, model: Any) -> Engine:
    """Return the engine of a user's own method: of its likelihood, or of the one that it was given."""
    found: Engine = kernel.likelihood.engine if "likelihood" in _fields(kernel) else _engine_for(model)
    return found


def _engine_for(model: Any) -> Engine:
    return choose(model.graph, n_states=states_of(model))


def _fields(kernel: Any) -> set[str]:
    return {f.name for f in fields(kernel)} if is_dataclass(kernel) else set()


def kind_with(options: Any, *engines: Engine) -> str:
    """Return the kind of a user's own kernel with some engines."""
    inexact = [f"approximate ({e.name}: {e.kind.value})" for e in engines if e.kind is not Kind.EXACT]
    return inexact[0] if inexact and options.kind == "exact" else str(options.kind)


def _described(name: str, sizes: Mapping[str, int]) -> str:
    return f"{name} ({', '.join(f'{dim}: {n}' for dim, n in sizes.items()) or 'a number'})"


def _refused(rows: Registry[Any], expected: str, got: str) -> OptionError:
    option = argument(f"{rows.option}.make")
    return OptionError(f"{option} must be a callable that returns {expected}, got {got}.")
