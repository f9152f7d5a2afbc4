"""The options of estimators, kernels, engines, priors and commands: what each may be, in one table.

scikit-learn's ``_parameter_constraints`` are not used: they are private, cover estimators only, and write messages of
their own that the command line could not bring to its flags.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Rational, Real
from typing import Any

from .errors import OptionError

MOST_DRAWS = 10**12  # beyond the memory of any machine, which `run.sample` looks at
MOST_CHAINS = 10_000


@dataclass(frozen=True)
class Rule:
    """What an option may be.

    Attributes
    ----------
    expected : str
        In words, as they follow "must be".
    allows : callable
        Whether a value is legal.
    good : tuple
        Legal values at the ends of the range, for tests.
    remedy : str
    """

    expected: str
    allows: Callable[[Any], bool]
    good: tuple[Any, ...] = ()
    remedy: str = ""

    def check(self, option: str, value: Any) -> None:
        """Raise OptionError unless ``value`` is legal."""
        if not self.allows(value):
            raise OptionError(option=option, got=value, expected=self.expected, remedy=self.remedy)


def is_integer(value: Any) -> bool:
    """Whether ``value`` is an integer of Python or numpy; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite number that a double can hold; booleans and fractions are not."""
    real: bool = is_integer(value) or (isinstance(value, Real) and not isinstance(value, Rational))
    return real and -_MOST <= value <= _MOST  # no comparison with NaN is true


_MOST = 1e300


def integer(least: int, most: int | None = None, remedy: str = "") -> Rule:
    """An integer, at least ``least``."""
    expected = f"an integer >= {least}" if most is None else f"an integer from {least} to {most:,}"
    top = 2**62 if most is None else most
    return Rule(expected, lambda v: is_integer(v) and least <= v <= top, (least,), remedy)


def number(low: float, high: float = math.inf, *, ends: str = "()", good: Sequence[float] = ()) -> Rule:
    """A finite number between ``low`` and ``high``; ``ends`` says which of them belong to it, as in ``"[)"``."""
    bottom, top = (">=" if ends[0] == "[" else ">"), ends[1]
    expected = f"a finite number {bottom} {low:g}"
    if math.isfinite(high):
        expected = f"a number in {ends[0]}{low:g}, {high:g}{top}"

    def allows(value: Any) -> bool:
        if not is_number(value):
            return False
        return (low <= value if ends[0] == "[" else low < value) and (value <= high if top == "]" else value < high)

    return Rule(expected, allows, tuple(good))


POSITIVE = number(0, good=(0.5,))
PROBABILITY = number(0, 1, good=(0.5,))


def choice(*values: Any) -> Rule:
    """One of a few values."""
    # Without ==, which arrays and data frames answer with one answer for each element.
    return Rule(
        f"one of {', '.join(map(repr, values))}",
        lambda v: isinstance(v, str | bool | int | None) and any(type(v) is type(w) and v == w for w in values),
        values,
    )


FLAG = choice(False, True)


def either(*rules: Rule, expected: str = "", remedy: str = "") -> Rule:
    """What one of several rules allows."""
    words = expected or " or ".join(r.expected for r in rules)
    return Rule(words, lambda v: any(r.allows(v) for r in rules), sum((r.good for r in rules), ()), remedy)


NONE = Rule("None", lambda v: v is None, (None,))


def optional(rule: Rule) -> Rule:
    """The same, or None."""
    return either(rule, NONE, remedy=rule.remedy)


def pair(what: str) -> Rule:
    """Two finite numbers > 0, as a tuple or list."""
    return Rule(
        f"two finite numbers > 0, {what}",
        lambda v: isinstance(v, tuple | list) and len(v) == 2 and all(map(POSITIVE.allows, v)),
        ((1.0, 2.0),),
    )


def instance(module: str, *names: str) -> Rule:
    """An object of a class of this package, which is imported when a value is looked at."""

    def allows(value: Any) -> bool:
        return any(c.__module__ == f"bayesmrf.{module}" and c.__name__ in names for c in type(value).__mro__)

    return Rule(" or ".join(f"a {module}.{name}" for name in names), allows)


PATH = Rule("a path", lambda v: isinstance(v, str | os.PathLike) and len(os.fspath(v)) > 0)


def _is_seed(value: Any) -> bool:
    if value is None or (is_integer(value) and value >= 0):
        return True
    import numpy as np

    return isinstance(value, np.random.SeedSequence | np.random.Generator | np.random.RandomState)


SEED = Rule("an integer >= 0, a numpy SeedSequence, Generator or RandomState, or None", _is_seed, (0, 2**100, None))


def check(options: Mapping[str, Any], owner: str = "") -> None:
    """Raise OptionError at the first option whose value is not legal.

    Parameters
    ----------
    options : mapping of str to object
        Values by name. Names without a row are not looked at.
    owner : str
        The class whose options these are, where a name means something else than elsewhere: its row is
        "owner.name".
    """
    for name, value in options.items():
        rule = OPTIONS.get(f"{owner}.{name}") or OPTIONS.get(name)
        if rule is not None:
            rule.check(name, value)


def check_fields(record: Any) -> None:
    """Check the fields of a dataclass, in its ``__post_init__``."""
    check({f.name: getattr(record, f.name) for f in fields(record)}, type(record).__name__)


def check_params(estimator: Any) -> None:
    """Check the parameters of an estimator, at the start of its ``fit``."""
    check(estimator.get_params(deep=False), type(estimator).__name__)


COUNT = integer(1)
OPTIONS: dict[str, Rule] = {
    # Runs
    "n_draws": integer(1, MOST_DRAWS),
    "n_warmup": integer(0, MOST_DRAWS),
    "n_chains": integer(1, MOST_CHAINS),
    "thin": integer(1, MOST_DRAWS),
    "random_state": SEED,
    "n_jobs": Rule(
        "an integer other than 0, or None",
        lambda v: v is None or (is_integer(v) and v != 0 and abs(v) <= 2**20),
        (None, 1, -1),
        "-1 is one job for each core",
    ),
    "progress": FLAG,
    "overwrite": FLAG,
    "checkpoint": optional(PATH),
}
