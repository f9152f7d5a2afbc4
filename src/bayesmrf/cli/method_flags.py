"""Flags, and those of the options of methods as their fields declare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import make_dataclass
from typing import Any, get_args, get_type_hints

import typer

from ..declare.option import Option, flags_of, options_of
from ..declare.registry import Registry

# Methods with their options: a registry, or where their modules are slow a function that lists names and classes.
Methods = Registry[Any] | Callable[[], list[tuple[str, type]]]


def flag(text: str, metavar: str | None = None, default: Any = None, *names: str, shown: Any = "", **more: Any) -> Any:
    """Declare an option; ``shown`` describes the default in the help text where ``default`` is None."""
    tail = f" [dim]\\[default: {shown}][/dim]" if shown else ""
    return typer.Option(default, *names, metavar=metavar, help=text + tail, show_default=not shown, **more)


def record_of(methods: Methods) -> type:
    """Return a record with a flag for each option of methods that has a label, as its field declares it."""
    found: dict[str, list[tuple[str, Any, Option]]] = {}
    kinds: dict[str, Any] = {}
    for name, kind in _classes(methods):
        declared, types = options_of(kind), get_type_hints(kind)
        for key, option in flags_of(kind).items():
            found.setdefault(key, []).append((name, getattr(kind, option), declared[option]))
            kinds[key] = next(t for t in (*get_args(types[option]), types[option]) if t in (bool, int, float, str))
    return make_dataclass("Given", [(name, kinds[name] | None, _flag_of(name, of)) for name, of in found.items()])


def _classes(methods: Methods) -> list[tuple[str, type]]:
    return [(row.name, row.options) for row in methods] if isinstance(methods, Registry) else methods()


def check_given(methods: Methods, given: Mapping[str, Any]) -> None:
    """Check options of methods by the names of their flags, before anything is read.

    Raises
    ------
    OptionError
    """
    for _, kind in _classes(methods):
        for key, option in flags_of(kind).items():
            if key in given:
                options_of(kind)[option].rule.check(key, given[key])


def _flag_of(name: str, found: Sequence[tuple[str, Any, Option]]) -> Any:
    """Return the flag of an option that some methods have: by the name of each, its default and its declaration."""
    helps: dict[str, list[str]] = {}
    defaults: dict[str, list[str]] = {}
    for method, default, declared in found:
        helps.setdefault(declared.help, []).append(method)
        defaults.setdefault(declared.unset if default is None else str(default), []).append(method)
    text = " ".join(f"{', '.join(methods)}: {sentence}" for sentence, methods in helps.items())
    shown = "; ".join(v if len(defaults) == 1 else f"{v} ({', '.join(of)})" for v, of in defaults.items())
    good, long = found[0][2].rule.good, "--" + name.replace("_", "-")
    if any(isinstance(value, bool) for value in good):
        is_on = found[0][1] is True
        return flag(
            text, None, None, f"{long}/--no-{long[2:]}" if is_on else long, shown=name if is_on else found[0][2].unset
        )
    names = all(isinstance(value, str) for value in good)
    return flag(text, "|".join(good) if good and names else None, shown=shown)
