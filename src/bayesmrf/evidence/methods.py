"""The evaluation of methods of evidence (`bayesmrf.methods.EVIDENCE`) on one target."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..errors import OptionError
from ..methods import EVIDENCE
from ..rng import as_seed_sequence, descendant
from .method import Method, Work
from .mode import ModeSearch
from .target import Evidence, Target

# A method by name, with its options, or a user's function.
MethodLike = str | Method | Callable[[Target, np.random.Generator], Evidence]


_SHARED = {"mode": 12, "draws": 13}  # streams of random numbers; rows have those of methods


def find_method(method: MethodLike) -> Callable[..., Evidence]:
    """Return the method of this name, with its default options; a method or function is returned as it is.

    Raises
    ------
    OptionError
        If ``method`` is no name in `EVIDENCE`, and not callable.
    """
    if isinstance(method, str) and (row := EVIDENCE.find(method)) is not None:
        return row.method
    if isinstance(method, str | type) or not callable(method):
        raise OptionError(
            option="method", got=method, expected=f"one of {', '.join(map(repr, EVIDENCE.names))}, an object such as "
            "AIS(n_chains=50), or a function (target, rng) -> Evidence",
        )  # fmt: skip
    return method


def evaluate(
    target: Target, methods: Sequence[MethodLike], random_state: Any = None, progress: bool = False
) -> Iterator[Evidence]:
    """Evaluate each method in turn; the result of one does not depend on the others.

    Parameters
    ----------
    target : Target
    methods : sequence of str, Method or callable
        Names of `EVIDENCE`, methods with their options, or functions ``method(target, rng) -> Evidence`` (see
        `Target.evidence`). Those with equal `Method.work` share it.
    random_state : int, SeedSequence, Generator, RandomState or None
    progress : bool

    Raises
    ------
    OptionError
        For unknown methods, before any work; and for options or models that a method does not support.
    TooWideError
        If a method needs an exact Z that is not feasible.
    """
    seeds, made = as_seed_sequence(random_state), dict[Work, Any]()
    streams = _SHARED | {row.name: row.stream for row in EVIDENCE}
    called = [find_method(method) for method in methods]
    for method in called:
        if isinstance(method, Method):
            method.require(target)

    def stream(name: str) -> np.random.Generator:
        # One stream per name, so that nothing depends on the order.
        key = streams.get(name)
        return descendant(seeds, zlib.crc32(name.encode()) if key is None else key)

    for method in called:
        if not isinstance(method, Method):
            evidence = method(target, stream(getattr(method, "__qualname__", type(method).__qualname__)))
            if not isinstance(evidence, Evidence):
                raise OptionError(
                    option="method", got=evidence, expected="a function that returns an Evidence",
                    remedy="make it with target.evidence(name, value)",
                )  # fmt: skip
            yield evidence
            continue
        work = method.work
        if work is not None and work not in made:
            name = "mode" if isinstance(work, ModeSearch) else "draws"
            made[work] = work(target, stream(name), progress=progress)
        yield method(target, stream(method.name), None if work is None else made[work], progress=progress)


def parts(method: Work) -> list[Work]:
    """Return a method, and its search or sampler."""
    return [method, *(value for f in fields(method) if isinstance(value := getattr(method, f.name), Work))]


def option_names(method: Work) -> set[str]:
    """Return the names of the options of a method, and of its search or sampler."""
    options = {f.name: getattr(part, f.name) for part in parts(method) for f in fields(part)}
    return {name for name, value in options.items() if not isinstance(value, Work)}


def with_options(method: Any, **options: Any) -> Any:
    """Return the method with those of ``options`` that it, its search or its sampler has."""
    changes = {}
    for f in fields(method):
        value = getattr(method, f.name)
        if isinstance(value, Work):
            changes[f.name] = with_options(value, **options)
        elif f.name in options:
            changes[f.name] = options[f.name]
    return replace(method, **changes)


def __getattr__(name: str) -> Any:
    """Return the class of a registered method by its name, such as `HarmonicMean`."""
    if name == "METHODS":
        text = "bayesmrf.evidence.methods.METHODS is now bayesmrf.methods.EVIDENCE, and will be removed in version 0.4."
        warnings.warn(text, FutureWarning, stacklevel=2)
        return {row.name: row for row in EVIDENCE}
    if not name.startswith("_"):
        for row in EVIDENCE:
            if str(row.home).endswith(f":{name}"):
                return row.options
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
