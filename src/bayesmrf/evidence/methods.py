"""The registry of methods of evidence, and their evaluation on one target."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from ..errors import OptionError
from ..rng import as_seed_sequence, descendant
from .annealed import AIS
from .bridge import BridgeSampling
from .conjugate import Conjugate
from .criteria import BIC, MAP
from .cross_validation import CrossValidation
from .dic import DIC
from .harmonic import HarmonicMean
from .laplace import Laplace
from .method import Method, Work
from .mode import ModeSearch
from .target import Evidence, Target

# A method by name, with its options, or a user's function.
MethodLike = str | Method | Callable[[Target, np.random.Generator], Evidence]


@dataclass(frozen=True)
class Row:
    """A method of evidence and its description."""

    method: Method  # with its default options
    # Exact; E[exp(log_evidence)] = p(X); consistent in the number of draws if these are exact; approximate; a score
    # that ranks models but is not an estimate of the evidence.
    kind: Literal["exact", "unbiased", "consistent", "approximate", "score"]
    needs: str  # what has to be computed first
    sentence: str  # what the method computes


_MODE, _DRAWS = "the mode of the posterior", "draws from the posterior"
METHODS = {
    row.method.name: row
    for row in (
        Row(Laplace(), "approximate", _MODE,
            "A Gaussian at the mode, corrected for overlapping and for equivalent modes."),
        Row(Laplace(corrected=False, scales=False), "approximate", _MODE, "A Gaussian at the mode."),
        Row(MAP(), "score", _MODE, "Log posterior density at its mode."),
        Row(BIC(), "approximate", "the maximum of the likelihood", "Bayesian information criterion, with the prior."),
        Row(HarmonicMean(), "consistent", _DRAWS, "Harmonic mean of the likelihood; its variance may be infinite."),
        Row(HarmonicMean(variant=4), "approximate", _DRAWS, "Harmonic mean, stabilised by a share of the prior."),
        Row(BridgeSampling(variant="geometric"), "consistent", _DRAWS, "Bridge to the prior by the geometric mean."),
        Row(BridgeSampling(), "consistent", _DRAWS, "Bridge to the prior with the smallest error."),
        Row(DIC(), "score", _DRAWS, "Deviance information criterion, as -DIC / 2."),
        Row(AIS(), "unbiased", "the exact Z at every step",
            "Annealed importance sampling of the parameters, the reference if it is feasible."),
        Row(CrossValidation(), "score", "a mode for each fold", "Log likelihood of held-out observations."),
        Row(Conjugate(), "exact", "parameters that are independent given the data",
            "Closed form or quadrature, for independent nodes and forests of agreements."),
    )
}  # fmt: skip
# Streams of random numbers; the names of other methods are hashed.
_STREAMS = {name: i for i, name in enumerate([*METHODS, "mode", "draws"])}


def find_method(method: MethodLike) -> Callable[..., Evidence]:
    """Return the method of this name, with its default options; a method or function is returned as it is.

    Raises
    ------
    OptionError
        If ``method`` is a name not in `METHODS`, or not callable.
    """
    if isinstance(method, str) and method in METHODS:
        return METHODS[method].method
    if isinstance(method, str | type) or not callable(method):
        raise OptionError(
            option="method", got=method, expected=f"one of {', '.join(map(repr, METHODS))}, an object such as "
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
        Names of `METHODS`, methods with their options, or functions ``method(target, rng) -> Evidence`` (see
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
    called = [find_method(method) for method in methods]
    for method in called:
        if isinstance(method, Method):
            method.require(target)

    def stream(name: str) -> np.random.Generator:
        # One stream per name, so that nothing depends on the order.
        key = _STREAMS.get(name, zlib.crc32(name.encode()))
        return descendant(seeds, key)

    for method in called:
        if not isinstance(method, Method):
            found = method(target, stream(getattr(method, "__qualname__", type(method).__qualname__)))
            if not isinstance(found, Evidence):
                raise OptionError(
                    option="method", got=found, expected="a function that returns an Evidence",
                    remedy="make it with target.evidence(name, value)",
                )  # fmt: skip
            yield found
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
    found = {f.name: getattr(part, f.name) for part in parts(method) for f in fields(part)}
    return {name for name, value in found.items() if not isinstance(value, Work)}


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
