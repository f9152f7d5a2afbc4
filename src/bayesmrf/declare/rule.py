"""Rules: the legal values of an option, in words and as a test.

scikit-learn's ``_parameter_constraints`` are not used: they are private, cover estimators only, and their messages
cannot be translated to flags of the command line.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Executor
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Integral, Number, Rational, Real
from typing import Any

from ..errors import OptionError, in_python


@dataclass(frozen=True)
class Rule:
    """Legal values of an option."""

    expected: str  # in words, as they follow "must be"
    allows: Callable[[Any], bool]  # whether a value is legal
    good: tuple[Any, ...] = ()  # legal values at the ends of the range, for tests
    remedy: str = ""

    def check(self, option: str, value: Any) -> None:
        """Raise OptionError unless ``value`` is legal."""
        if not self.allows(value):
            raise OptionError(option=option, got=value, expected=self.expected, remedy=self.remedy)


def is_integer(value: Any) -> bool:
    """Return whether ``value`` is an integer of Python or numpy; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a finite number that a double can hold; booleans and fractions are not."""
    real: bool = is_integer(value) or (isinstance(value, Real) and not isinstance(value, Rational))
    return real and -_MOST <= value <= _MOST  # no comparison with NaN is true


def is_count(text: str) -> bool:
    """Return whether a text is an integer >= 0 of at most nine digits; str.isdigit takes exponents and any length."""
    return text.isascii() and text.isdecimal() and len(text) <= 9


_MOST = 1e300


def integer(least: int, most: int | None = None, remedy: str = "") -> Rule:
    """Make the rule of an integer, at least ``least``."""
    expected = f"an integer >= {least}" if most is None else f"an integer from {least} to {most:,}"
    top = 2**62 if most is None else most
    return Rule(expected, lambda v: is_integer(v) and least <= v <= top, (least,), remedy)


def number(low: float, high: float = math.inf, *, ends: str = "()", good: Sequence[float] = ()) -> Rule:
    """Make the rule of a finite number between ``low`` and ``high``; ``ends``, such as ``"[)"``, says which are
    included.
    """
    bottom, top = (">=" if ends[0] == "[" else ">"), ends[1]
    expected = f"a finite number {bottom} {low:g}"
    if math.isfinite(high):
        expected = f"a number in {ends[0]}{low:g}, {high:g}{top}"

    def allows(value: Any) -> bool:
        if not is_number(value):
            return False
        return (low <= value if ends[0] == "[" else low < value) and (value <= high if top == "]" else value < high)

    return Rule(expected, allows, tuple(good))


JOBS = Rule(
    "an integer other than 0",
    lambda v: is_integer(v) and v != 0 and abs(v) <= 2**20,
    (1, -1),
    "-1 is one job for each core, -2 leaves one core free",
)
POSITIVE = number(0, good=(0.5,))
PROBABILITY = number(0, 1, good=(0.5,))


def choice(*values: Any) -> Rule:
    """Make the rule of one of a few values."""
    # Type first: == of arrays and data frames is elementwise.
    return Rule(
        ("one of " if len(values) > 1 else "") + ", ".join(map(repr, values)),
        lambda v: isinstance(v, str | bool | None) and any(v == w for w in values),
        values,
    )


FLAG = Rule("True or False", lambda v: type(v).__name__ in ("bool", "bool_"), (False, True))  # numpy's, too


def either(*rules: Rule, expected: str = "", remedy: str = "") -> Rule:
    """Make the rule that allows what one of several rules allows."""
    words = expected or " or ".join(r.expected for r in rules)
    return Rule(words, lambda v: any(r.allows(v) for r in rules), sum((r.good for r in rules), ()), remedy)


WITH_DATA = Rule("checked with the data", lambda _: True)
NONE = Rule("None", lambda v: v is None, (None,))


def optional(rule: Rule) -> Rule:
    """Make the rule that allows None, too."""
    words = rule.expected + in_python(" or None")  # on the command line the flag is left out
    return either(rule, NONE, expected=words, remedy=rule.remedy)


def instance(module: str, *names: str) -> Rule:
    """Make the rule of an instance of classes of this package, which are not imported for it."""

    def allows(value: Any) -> bool:
        return any(
            c.__name__ in names and f"{c.__module__}.".startswith(f"bayesmrf.{module}.") for c in type(value).__mro__
        )

    return Rule(" or ".join(f"a {module}.{name}" for name in names), allows)


def is_client(value: Any) -> bool:
    """Return whether ``value`` is a Client of dask.distributed, which is not imported for it."""
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(value, distributed.Client)


EXECUTOR = optional(
    Rule(
        "a concurrent.futures.Executor or a dask.distributed.Client", lambda v: isinstance(v, Executor) or is_client(v)
    )
)

PATH = Rule("a path", lambda v: isinstance(v, str | os.PathLike) and isinstance(p := os.fspath(v), str) and p != "")
COLUMNS = optional(
    Rule(
        "a codebook: a path, a DataFrame or a bayesmrf.data.Codebook",
        lambda v: type(v).__name__ in ("DataFrame", "Codebook") or PATH.allows(v),
    )
)


def _is_seed(value: Any) -> bool:
    if value is None or (is_integer(value) and value >= 0):
        return True
    import numpy as np

    return isinstance(value, np.random.SeedSequence | np.random.Generator | np.random.RandomState)


SEED = Rule(
    f"an integer >= 0, a numpy SeedSequence, Generator or RandomState{in_python(', or None')}",
    _is_seed,
    (0, 2**100, None),
)


def _are_scales(value: Any, low: float = 1e-8, high: float = 1e8) -> bool:
    """Return whether this is a standard deviation, or one for each parameter."""
    import numpy as np

    if SCALE.allows(value):
        return True
    scales = _numbers(value) if isinstance(value, list | tuple | np.ndarray) else np.empty(0)
    return scales.size > 0 and bool(((scales >= low) & (scales <= high)).all())


def _is_root(value: Any) -> bool:
    """Return whether this is a regular triangular matrix."""
    import numpy as np

    triangle = isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim == 2
    square = triangle and value.shape[0] == value.shape[1] > 0 and bool((abs(value) <= 1e100).all())
    return square and bool((value.diagonal() > 0).all()) and bool((value == np.triu(value)).all())


def _is_covariance(value: Any) -> bool:
    """Return whether this is a symmetric matrix with eigenvalues > 0."""
    import numpy as np

    try:
        c = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    square = c.ndim == 2 and c.shape[0] == c.shape[1] > 0 and bool((abs(c) <= 1e100).all())
    return square and np.allclose(c, c.T) and bool(np.linalg.eigvalsh(c).min() > 0)


def _is_pair_table(value: Any) -> bool:
    """Return whether this may have a probability of each pair of nodes, which is read when the nodes are known."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return len(shape) == 2 and min(shape) > 0
    return is_list(value) and all(isinstance(row, list | tuple) and len(row) > 2 for row in value)


def _is_density(value: Any) -> bool:
    """Return whether this has a log density of parameters and its gradient, by constants that are fixed."""
    is_learnt = is_dataclass(value) and any(GAMMA.allows(vars(value)[f.name]) for f in fields(value))
    return not isinstance(value, type) and {"log_density", "gradient"} <= {*dir(value)} and not is_learnt


def is_list(value: Any) -> bool:
    """Return whether this is an ordered collection."""
    if isinstance(value, str | bytes | Mapping | Set):
        return False
    try:
        return len(list(value)) > 0
    except TypeError:
        return False


def is_sized(value: Any) -> bool:
    """Return whether this is an ordered collection, which may be empty."""
    ordered = not isinstance(value, str | bytes | Mapping | Set) and hasattr(type(value), "__len__")
    return ordered and (is_list(value) or len(value) == 0)


def are_texts(value: Any) -> bool:
    """Return whether this is a text, or a list of texts."""
    return isinstance(value, str) or (is_list(value) and all(isinstance(v, str) for v in value))


def increases_from_0(value: Any) -> bool:
    """Return whether these are two or more numbers that increase from 0."""
    numbers = _numbers(value)
    return len(numbers) > 1 and numbers[0] == 0 and bool((numbers[1:] > numbers[:-1]).all())


def is_ladder(value: Any) -> bool:
    """Return whether numbers increase from 0 to 1."""
    return increases_from_0(value) and bool(_numbers(value)[-1] == 1)


def _numbers(value: Any) -> Any:
    """Return an array of the numbers in a list of them, else an empty one."""
    import numpy as np

    try:
        numbers = np.asarray(value)
    except ValueError:  # lists of different lengths
        return np.empty(0)
    return numbers if numbers.ndim == 1 and numbers.dtype.kind in "if" else np.empty(0)


def is_score(value: Any) -> bool:
    """Return whether this may be the score of an ordered category."""
    return is_number(value) and 0 <= value <= 127


def constant_of(prior: str) -> Rule:
    """Make the rule of a constant of a Beta or Gamma prior, which is named in the message."""
    return replace(CONSTANT, expected=f"{CONSTANT.expected} in {prior}")


MOST_DRAWS = 10**12  # beyond the memory of any machine, which `run.sample` checks
MOST_CHAINS = 10_000
COUNT = integer(1, 10**9)  # sweeps, iterations, ...: time, and no memory
STATES = integer(1, 10**7)  # chains or particles in memory
STEP = number(0, 1e100, good=(1e-3, 1))  # so that sums of its squares are finite
SCALE = number(1e-8, 1e8, ends="[]", good=(1e-8, 0.5, 1e8))  # so that sums of curvatures are accurate
CONSTANT = number(
    1e-6, 1e6, ends="[]", good=(1e-6, 1.0, 1e6)
)  # of Beta and Gamma priors, so that their draws and integrals are accurate
MOMENTUM = number(0, 1, ends="[)", good=(0, 0.9))
OBSERVATIONS = number(0, 1e15, ends="[)", good=(0, 1))  # of a kernel; 0 samples the prior
SCORES = Rule("increasing numbers from 0, or None", lambda v: v is None or increases_from_0(v), (None, (0, 1, 3)))
BETA = instance("priors", "Beta")
PAIRS = Rule("a symmetric matrix of probabilities, or a table of pairs with theirs", _is_pair_table)
BLOCKS = instance("priors", "Blocks")
GAMMA = instance("priors", "Gamma")
SLAB = Rule(
    "a priors.Gamma (of the precision), or a priors.Normal, priors.Cauchy or priors.Moment with one scale",
    lambda v: instance("priors", "Slab").allows(v) and v.fits_edges,
)
PRIOR = Rule("a density with log_density and gradient, such as priors.Normal", _is_density)
# `bayesmrf.inference.registry.engine_of` knows the names, and what an engine is.
ENGINE = Rule(
    "the name of an engine, or an engine",
    lambda v: v is not None and not isinstance(v, bool | Number),
    ("exact", "bethe"),
)
KERNEL_FACTORY = Rule("a callable that makes a kernel from a likelihood and a prior", callable)
KIND = Rule(
    "'exact' or 'approximate (...)'",
    lambda v: isinstance(v, str) and (v == "exact" or v.startswith("approximate (")),
    ("exact", "approximate (few steps)"),
)
FACTORY = Rule("a callable that makes a model from a graph", callable)
COVARIANCE = Rule("a symmetric matrix whose eigenvalues are > 0", _is_covariance)
SCALES = Rule("a number in [1e-08, 1e+08], or an array of them", _are_scales, (1.0, (0.5, 2.0)))
ROOT = either(
    Rule("an array of finite numbers > 0", lambda v: _are_scales(v, 1e-100, 1e100) and not is_number(v)),
    Rule("an upper triangular matrix with a diagonal > 0", _is_root),
)
