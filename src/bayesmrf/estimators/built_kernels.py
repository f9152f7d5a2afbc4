"""Kernels of methods, made for the data of an estimator; those of users are checked before the first draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..base import Engine, Kernel, Kind
from ..declare.registries import Registry
from ..errors import OptionError, argument
from ..inference.auto import choose
from ..likelihood import Likelihood
from ..methods import Custom
from ..methods.rows import Built, MethodRow
from ..models.categorical import states_of
from ..names import listed
from ..plugins import imported
from ..posterior.groups.dirichlet_process import ABSENT, GROUPED_DIMS
from ..posterior.hidden_entries import DrawHiddenEntries
from ..runs.identity import describe
from .engines import particle_sweeps

Draws = Mapping[str, Mapping[str, int]]  # fields of Info that an estimator needs: the sizes of their dimensions by name
_SEED = 0  # of first steps, whose results are not used
_EQUAL = 1e-9  # difference of parameters that are equal
_FIRST_STEPS, _LITTLE = 20, 1e-6  # until the parameters move; the change of the data


@dataclass(frozen=True, eq=False)
class Problem:
    """What a sampler of edges or of their groups is built for."""

    data: Likelihood  # whose hidden entries are drawn before each step
    prior: Any

    @property
    def model(self) -> Any:
        """The model, whose graph has the edges, or the candidates."""
        return self.data.model

    @property
    def s_bar(self) -> np.ndarray:
        """Mean statistics of the data."""
        return self.data.s_bar

    @property
    def n(self) -> float:
        """Number of observations."""
        return self.data.n_samples

    @cached_property
    def likelihood(self) -> Likelihood:
        """The likelihood of the complete data, with the engine that suits the model."""
        engine = choose(self.model.graph, n_states=states_of(self.model))
        return self.data.replaced(np.array([s.s_bar for s in self.data.samples]), engine)


class Maker(NamedTuple):
    """Who made a kernel, as errors call it."""

    rows: Registry[Any]  # of the estimator
    row: Any  # of the method

    @property
    def is_argument(self) -> bool:
        """Whether the user gave the function that makes the kernel, instead of a registered method."""
        return self.row.options is Custom

    def refused(self, expected: str, got: str) -> OptionError:
        """Return the error of a kernel."""
        if self.is_argument:
            return OptionError(
                f"{argument(f'{self.rows.option}.make')} must be a callable that returns {expected}, got {got}."
            )
        return OptionError(
            f"the builder of {argument(self.rows.option, self.row.name)} must return {expected}, got {got}."
        )


def build_kernel(rows: Registry[Any], row: Any, options: Any, problem: Any, draws: Draws) -> Built | Kernel:
    """Return what the builder of a method returns; a bare kernel is that of a user, and its first draw is checked.

    Parameters
    ----------
    rows : Registry
        Methods or kernels of the estimator.
    row : MethodRow or KernelRow
    options : object
    problem : object
        What builders get; its ``likelihood`` and ``prior`` are the arguments of `bayesmrf.methods.Custom.make`.
    draws : mapping of str to mapping of str to int

    Raises
    ------
    OptionError
    """
    maker = Maker(rows, row)
    made: Any = (
        options.make(problem.likelihood, problem.prior) if maker.is_argument else imported(row.build)(options, problem)
    )
    if not isinstance(made, Built):
        _check(maker, made, draws)
    return made


def _check(maker: Maker, kernel: Any, draws: Draws) -> None:
    """Raise OptionError unless a user's kernel has the draws of an estimator, as a step from its start shows."""
    if not isinstance(kernel, Kernel):
        raise maker.refused("a kernel with the attributes of bayesmrf.base.Kernel", f"a {type(kernel).__name__}")
    if maker.is_argument and kernel.name in maker.rows.names:
        raise maker.refused(f"a kernel with a name that no {maker.rows.option} of bayesmrf has", repr(kernel.name))
    needs = "a kernel with the draws " + listed([_described(name, sizes) for name, sizes in draws.items()])
    for name, sizes in draws.items():
        if name not in kernel.dims:
            raise maker.refused(needs, f"{kernel.name!r} without {name}")
        if tuple(kernel.dims[name]) != tuple(sizes):
            dims = ", ".join(kernel.dims[name]) or "a number"
            raise maker.refused(needs, f"{kernel.name!r} with {name} ({dims})")
    info = _first_draw(kernel)
    for name, sizes in draws.items():
        if (shape := np.asarray(info.get(name)).shape) != tuple(sizes.values()):
            raise maker.refused(needs, f"{kernel.name!r} with {name} of shape {shape}")


def build_method(
    rows: Registry[MethodRow],
    row: MethodRow,
    options: Any,
    problem: Any,
    draws: Draws,
    check: Callable[[Maker, Any], None],
) -> tuple[Built, MethodRow]:
    """Return the kernel of a method, and the row that describes its draws.

    Parameters
    ----------
    rows, row, options, draws
        As of `build_kernel`.
    problem : object
        Its ``data`` is a likelihood, whose hidden entries may be drawn before each step.
    check : callable
        Raises OptionError for draws of a user's kernel that are none of the estimator.

    Raises
    ------
    OptionError
    """
    maker, data = Maker(rows, row), problem.data
    try:
        made = build_kernel(rows, row, options, problem, draws)
    except OptionError as e:
        if e.option != "engine" or not maker.is_argument:
            raise
        where = f"in {argument(f'{rows.option}.make')}, make the kernel with likelihood.replaced(s_bar, engine)"
        raise OptionError(f"{e.problem}; {e.remedy}: {where}.") from None
    if isinstance(made, Built):
        return made, made.row or replace(row, kind=made.kind or row.kind)
    kernel: Any = made
    if any(s.hidden is not None for s in data.samples):
        _require_redrawn(maker, kernel, data)
    check(maker, kernel)
    engine: Engine = (kernel if "likelihood" in _fields(kernel) else problem).likelihood.engine
    name = kernel.name if maker.is_argument else row.name
    return Built(kernel, particle_sweeps(engine), engine), replace(row, name=name, kind=kind_with(row, engine))


def edge_method(rows: Registry[MethodRow], row: MethodRow, options: Any, problem: Any) -> tuple[Built, MethodRow]:
    """Return `build_method` with the draws of samplers of edges, of one sample or of several groups."""
    model, n_groups = problem.data.model, len(problem.data.samples)
    theta = ({"group": n_groups} if n_groups > 1 else {}) | {"feature": model.n_features}
    draws = {"theta": theta, "included": {"edge": model.n_edges}, "density": {}, "slab_scale": {}}

    def check(maker: Maker, kernel: Kernel) -> None:
        draw = _first_draw(kernel)
        weights, absent = np.asarray(draw["theta"])[..., : model.n_edges], ~np.asarray(draw["included"], dtype=bool)
        away, expected = weights, "0 where an edge is not included"
        if n_groups > 1:
            away, expected = weights - weights[0], "equal in all groups where an edge is not included"
        if (np.abs(away[..., absent]) > _EQUAL).any():
            raise maker.refused(f"a kernel whose weights in theta are {expected}", f"{kernel.name!r} with others")

    return build_method(rows, row, options, problem, draws, check)


def group_method(rows: Registry[MethodRow], row: MethodRow, options: Any, problem: Any) -> tuple[Built, MethodRow]:
    """Return `build_method` with the draws of samplers of groups of edges."""
    model, may_be_absent = problem.data.model, problem.prior.density is not None
    sizes = {"feature": model.n_features, "edge": model.n_edges}
    dims = GROUPED_DIMS | ({"density": ()} if may_be_absent else {})
    draws = {name: {dim: sizes[dim] for dim in of} for name, of in dims.items()}

    def check(maker: Maker, kernel: Kernel) -> None:
        draw, others = _first_draw(kernel), f"{kernel.name!r} with others"
        groups, theta = np.asarray(draw["groups"]), np.asarray(draw["theta"])
        if not np.issubdtype(groups.dtype, np.integer) or groups.min() < (ABSENT if may_be_absent else 0):
            expected = "integers from 0" + (f", or {ABSENT} where an edge is absent" if may_be_absent else "")
            raise maker.refused(f"a kernel whose groups are {expected}", others)
        labels, first, group = np.unique(groups, return_index=True, return_inverse=True)
        if (n := np.count_nonzero(labels != ABSENT)) != draw["n_groups"]:
            expected = f"a kernel whose n_groups is the number of its groups, {n}"
            raise maker.refused(expected, f"{kernel.name!r} with {draw['n_groups']}")
        edges = theta[: model.n_edges * model.n_parameters].reshape(model.n_edges, -1)
        shared = np.where(labels[:, None] == ABSENT, 0, edges[first])
        if (np.abs(edges - shared[group]) > _EQUAL).any():
            expected = "equal for the edges of a group" + (" and 0 where an edge is absent" if may_be_absent else "")
            raise maker.refused(f"a kernel whose parameters in theta are {expected}", others)

    return build_method(rows, row, options, problem, draws, check)


def _first_draw(kernel: Kernel) -> dict[str, Any]:
    rng = np.random.default_rng(_SEED)
    return dict(kernel.step(rng, kernel.init(rng))[1]._asdict())


def _require_redrawn(maker: Maker, kernel: Any, likelihood: Likelihood) -> None:
    """Check that a user's own kernel can have other data in each step, where hidden entries are drawn before it.

    Raises
    ------
    OptionError
    """
    if not _fields(kernel) & {"likelihood", "s_bar"}:
        expected = "a dataclass with a field likelihood where values are missing"
        raise maker.refused(expected, f"{kernel.name!r} without one")
    rng, n = np.random.default_rng(_SEED), likelihood.n_parameters
    state = kernel.init(rng)
    if np.shape(state._asdict().get("theta")) != (n,):
        expected = f"a kernel whose State has {n} parameters as theta where values are missing"
        raise maker.refused(expected, repr(kernel.name))
    sums, _ = likelihood.complete(state.theta, rng, likelihood.start(rng))
    s_bar = np.reshape([s.s_bar for s in likelihood.samples], sums.shape)
    # So little that proposals of parameters are accepted, or not, as with the first data.
    other = DrawHiddenEntries(kernel, likelihood).given(s_bar + _LITTLE * (sums / likelihood.sizes - s_bar))
    if held := _held(kernel, other):
        expected = "a kernel whose State does not depend on the data, some of which are missing and drawn in each step"
        raise maker.refused(expected, f"{kernel.name!r} with {held} in its State")


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


def _fields(kernel: Any) -> set[str]:
    return {f.name for f in fields(kernel)} if is_dataclass(kernel) else set()


def kind_with(row: Any, *engines: Engine) -> str:
    """Return the kind of a user's kernel with some engines; ``row`` is what declares it."""
    inexact = [f"approximate ({e.name}: {e.kind.value})" for e in engines if e.kind is not Kind.EXACT]
    return inexact[0] if inexact and row.kind == "exact" else str(row.kind)


def _described(name: str, sizes: Mapping[str, int]) -> str:
    return f"{name} ({', '.join(f'{dim}: {n}' for dim, n in sizes.items()) or 'a number'})"
