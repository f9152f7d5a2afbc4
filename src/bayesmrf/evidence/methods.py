"""Every method of evidence by its name; methods that start from the same mode, or the same draws, share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import OptionError, in_words
from ..options import check
from ..rng import as_seed_sequence
from .annealed import ais
from .bridge import bridge
from .conjugate import conjugate
from .criteria import bic, map_score
from .cross_validation import cross_validate
from .dic import dic
from .harmonic import harmonic
from .laplace import laplace
from .mode import find_mode
from .posterior_draws import posterior_draws
from .target import Evidence, Target


class Method(NamedTuple):
    """A function, the options that make it this method, and the name of the argument that others can share."""

    function: Callable[..., Evidence]
    fixed: dict[str, Any]
    shared: str = ""


METHODS = {
    "laplace": Method(laplace, {"corrected": True, "scales": True}, "mode"),
    "laplace0": Method(laplace, {"corrected": False}, "mode"),
    "map": Method(map_score, {}, "mode"),
    "bic": Method(bic, {}),
    "harmonic-1": Method(harmonic, {"variant": 1}, "draws"),
    "harmonic-4": Method(harmonic, {"variant": 4}, "draws"),
    "bridge-geometric": Method(bridge, {"variant": "geometric"}, "draws"),
    "bridge-optimal": Method(bridge, {"variant": "optimal"}, "draws"),
    "dic": Method(dic, {}, "draws"),
    "ais": Method(ais, {}),
    "cross-validation": Method(cross_validate, {}),
    "conjugate": Method(conjugate, {}),
}
# What they give in the place of the evidence is another quantity: it ranks models, and says nothing of probabilities.
SCORES = ("map", "dic", "cross-validation")

_SHARED: dict[str, Callable[..., Any]] = {"mode": find_mode, "draws": posterior_draws}
_KEYS = {name: i for i, name in enumerate([*METHODS, *_SHARED])}  # of streams of random numbers


def evaluate(
    target: Target, methods: Sequence[str], random_state: Any = None, progress: bool = False, **options: Any
) -> Iterator[Evidence]:
    """Each method in turn; what one finds does not depend on which others are asked for.

    Parameters
    ----------
    target : Target
    methods : sequence of str
        Keys of `METHODS`.
    random_state : int, SeedSequence, Generator, RandomState or None
    progress : bool
    **options
        Of the methods, and of the search for the mode and the drawing that they share; each goes to all that know it.

    Raises
    ------
    OptionError
        For options that none of the methods knows.
    """
    check(options, "evidence")
    seeds, made = as_seed_sequence(random_state), dict[str, Any]()
    unknown = next((name for name in options if not any(name in known_options(m) for m in methods)), None)
    if unknown is not None:
        known = ", ".join(sorted(set().union(*map(known_options, methods)))) or "none"
        raise OptionError(f"{unknown}={in_words(options[unknown])} is not an option of method {methods[0]!r}; its "
                          f"options are: {known}")  # fmt: skip

    def call(name: str, function: Callable[..., Any], **more: Any) -> Any:
        # A stream of their own for each, that nothing depends on the order.
        stream = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, _KEYS[name]))
        parameters = inspect.signature(function).parameters
        own = {k: v for k, v in options.items() if k in parameters}
        if "progress" in parameters:
            own["progress"] = progress
        return function(target, np.random.default_rng(stream), **own, **more)

    for name in methods:
        method = METHODS[name]
        shared = {}
        if method.shared:
            if method.shared not in made:
                made[method.shared] = call(method.shared, _SHARED[method.shared])
            shared = {method.shared: made[method.shared]}
        yield call(name, method.function, **method.fixed, **shared)


def known_options(name: str) -> set[str]:
    """Options of a method, and of the work that it shares."""
    method = METHODS[name]
    functions = [method.function, *([_SHARED[method.shared]] if method.shared else [])]
    found = set().union(*(inspect.signature(f).parameters for f in functions))
    return found - {"target", "rng", "progress", "penalised", *method.fixed, *_SHARED}
