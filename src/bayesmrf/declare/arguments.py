"""Arguments by names that a function does not have: which one was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar

from ..errors import UnknownArgumentError

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
