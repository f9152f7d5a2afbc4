"""Options: a field of a dataclass declares what its value may be, what it is, and how reports call it.

    @dataclass(frozen=True)
    class ReversibleJump(Checked):
        epsilon: float = option(0.2, STEP, "Step of Langevin dynamics, in posterior sds.", label="step epsilon")

The check on construction, the section of the docstring, flags of the command line with their help texts, labels of
reports, the pages and the ends of ranges in tests are read from there. What else there is to say of an option is in the
docstring, below its name.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache, wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

from ..errors import UnknownArgumentError
from .rule import Rule

_KEY = "option"
_SECTION = "Parameters\n----------\n"
_WIDTH = 112  # of the lines of docstrings, without their margin
F = TypeVar("F", bound=Callable[..., Any])

_LENGTH = ("draws", "iter", "iterations", "n_iter", "n_iterations", "max_iter", "samples", "n_samples", "num_samples")
_OTHER_WORDS = {
    "n_draws": _LENGTH,
    "n_steps": (*_LENGTH, "epochs", "n_epochs"),
    "n_warmup": ("burnin", "burn_in", "n_burnin", "warmup", "warm_up", "tune"),
    "n_chains": ("chains", "num_chains"),
    "thin": ("thinning",),
    "random_state": ("seed", "random_seed", "rng", "set_seed"),
    "sample_weight": ("weights", "weight", "w", "freq", "frequency", "frequencies", "counts", "sample_weights"),
    "n_jobs": ("jobs", "cores", "n_cores", "mc_cores", "threads", "n_threads", "workers"),
    "progress": ("verbose", "verbosity", "progressbar", "progress_bar", "display_progress"),
    "quiet": ("verbose", "progress"),
    "task": ("chain",),
    "chain": ("task",),
}  # fmt: skip
"""What users of other packages write for an argument or a flag."""


@dataclass(frozen=True)
class Option:
    """What a field declares, next to its default."""

    rule: Rule
    help: str = ""  # what it is, in a sentence or two, for help texts
    label: str = ""  # what reports call it; empty if they do not show it
    unset: str = ""  # what the default None stands for, for help texts
    flag: str = ""  # its name on the command line, if that has another one; those of methods without a label have none
    metavar: str = ""  # its values in help texts, if they are not those of the rule


def option(
    default: Any,
    rule: Rule,
    help: str = "",
    *,
    label: str = "",
    unset: str = "",
    flag: str = "",
    metavar: str = "",
) -> Any:
    """Declare an option as the field of a dataclass."""
    return field(default=default, metadata={_KEY: Option(rule, help, label, unset, flag, metavar)})


def needs(rule: Rule, help: str = "") -> Mapping[str, Option]:
    """Return the metadata of a `dataclasses.field` without a default, an option that must be given."""
    return {_KEY: Option(rule, help)}


def options_of(kind: Any) -> dict[str, Option]:
    """Collect the declarations of the fields of a dataclass, by name."""
    return {f.name: f.metadata[_KEY] for f in fields(kind) if _KEY in f.metadata} if is_dataclass(kind) else {}


def flags_of(kind: Any) -> dict[str, str]:
    """Return the fields of a class of options that the command line has, by the name of the flag."""
    return {option.flag or name: name for name, option in options_of(kind).items() if option.label}


class Checked:
    """Base of dataclasses whose fields are options, which are checked on construction.

    The docstring of a subclass gets what its options declare.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        """Add the options that the class declares to its docstring."""
        super().__init_subclass__(**more)
        describe(cls, cls)

    def __post_init__(self) -> None:
        for name, rule in _rules_of(type(self)):  # type: ignore[arg-type]
            rule.check(name, getattr(self, name))


def describe(kind: type, declaring: type) -> None:
    """Add the options that a class declares to a docstring, which describes some of them in words of its own."""
    if kind.__doc__ is not None:
        doc = inspect.cleandoc(kind.__doc__)
        for name, annotation, text in _described(declaring):
            entries = re.findall(rf"^(?:\w+, )*{name}(?:, \w+)*(?: : .*)?$", doc, re.M)
            if not {*entries} - {name}:  # one without a type is completed
                doc = _with_parameter(doc, name, f"{name} : {annotation}\n{text}")
        kind.__doc__ = doc


def _described(cls: type) -> Iterator[tuple[str, str, str]]:
    """List name, type and description of the options of a class, which need not be a dataclass yet."""
    fresh = {key: f.metadata[_KEY] for key, f in vars(cls).items() if isinstance(f, Field) and _KEY in f.metadata}
    declared = fresh or options_of(cls)
    for name, kind in inspect.get_annotations(cls).items():
        if name in declared and (words := declared[name].help):
            annotation = kind if isinstance(kind, str) else inspect.formatannotation(kind)
            yield name, annotation.replace(" | ", " or "), textwrap.indent(textwrap.fill(words, _WIDTH), "    ")


def _with_parameter(doc: str, name: str, entry: str) -> str:
    """Insert an entry into the section of parameters of a docstring, before existing entries of the same parameter."""
    if f"\n{name}\n    " in doc:
        return doc.replace(f"\n{name}\n", f"\n{entry}\n", 1)
    if _SECTION not in doc:
        first, rest = re.match(r"(.*?)((?:\n\n\w+\n-+\n.*)?)\Z", doc, re.S).groups()  # type: ignore[union-attr]
        return f"{first}\n\n{_SECTION}{entry}{rest}"
    before, _, after = doc.partition(_SECTION)
    entries, gap, rest = re.match(r"(.*?)((?:\n\n)|\Z)(.*)\Z", after, re.S).groups()  # type: ignore[union-attr]
    return f"{before}{_SECTION}{entries}\n{entry}{gap}{rest}"


@cache
def _rules_of(kind: Any) -> list[tuple[str, Rule]]:
    """Return the fields of a dataclass that have rules: those of hidden entries are made again at each step."""
    return [(name, declared.rule) for name, declared in options_of(kind).items()]


def rule_of(kind: Any, name: str) -> Rule | None:
    """Return the rule of an option of a class; None if the class declares none."""
    declared = options_of(kind).get(name)
    return None if declared is None else declared.rule


def check_params(estimator: Any) -> None:
    """Check the parameters of an estimator, at the start of its ``fit``."""
    for name, value in estimator.get_params(deep=False).items():
        rule = rule_of(type(estimator), name)
        if rule is not None:
            rule.check(name, value)


def meant(name: str, names: Iterable[str]) -> str:
    """Guess which of several names was meant by another one; "" if there is no likely one."""
    names, (word, *owns) = list(names), arguments_of(name)
    alike = [n for n in names if f"{word}_".startswith(f"{n}_") or f"{n}_".startswith(f"{word}_")]
    return next(iter([*(alias for alias in owns if alias in names), *get_close_matches(word, names, 1), *alike]), "")


def arguments_of(word: str) -> list[str]:
    """Return a word and the arguments that it may stand for, as in other packages."""
    word = word.lower().replace("-", "_").replace(".", "_")
    return [word, *(name for name, others in _OTHER_WORDS.items() if word in others)]


def unknown(
    owner: str, name: str, names: Iterable[str], others: Iterable[str] = (), of: str = ""
) -> UnknownArgumentError:
    """Return the error for an argument that an ``owner`` does not have; ``others`` are arguments of ``of``."""
    names = [n for n in names if n != "self"]
    if close := meant(name, names):
        return UnknownArgumentError(f"{owner} has no argument {name!r}; did you mean `{close}`?")
    if close := meant(name, others):
        return UnknownArgumentError(f"{owner} has no argument {name!r}; did you mean `{close}` of `{of}`?")
    return UnknownArgumentError(f"{owner} has no argument {name!r}; it has {', '.join(names)}.")


def named(function: F) -> F:
    """Return a function whose error for an unknown argument says which one was meant."""
    parameters = signature(function).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return function

    @wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        for name in options:
            if name not in parameters:
                owner = f"{type(args[0]).__name__}." if args and "self" in parameters else ""
                raise unknown(f"{owner}{function.__name__}", name, parameters)
        return function(*args, **options)

    return called  # type: ignore[return-value]
