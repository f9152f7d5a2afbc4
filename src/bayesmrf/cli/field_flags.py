"""Flags, and those of the parameters of estimators and of the options of methods, as their fields declare them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import make_dataclass
from types import NoneType
from typing import Any, get_args, get_type_hints

import typer

from ..declare.option import Option, flags_of, options_of
from ..declare.registries import Registry

_WIDEST = 24  # characters of names that stand next to a flag

# Methods with their options: a registry, or where their modules are slow a function that lists names and classes.
Methods = Registry[Any] | Callable[[], list[tuple[str, type]]]


def flag(text: str, metavar: str | None = None, default: Any = None, *names: str, shown: Any = "", **more: Any) -> Any:
    """Declare an option; ``shown`` describes the default in the help text where ``default`` is None."""
    tail = f" [dim]\\[default: {shown}][/dim]" if shown else ""
    return typer.Option(default, *names, metavar=metavar, help=text + tail, show_default=not shown, **more)


def field_flag(kind: type, name: str, *other: Any) -> Any:
    """Return the flag of a parameter of an estimator, as its field declares it, or with another default."""
    declared, default = options_of(kind)[name], [getattr(kind, name), *other][-1]
    return _flag(name, declared, declared.help, default, declared.unset if default is None else "")


def record_of_fields(kind: type, without: Collection[str] = ()) -> type:
    """Return a record with a flag for each parameter of an estimator that has a help text."""
    types, declared = get_type_hints(kind), options_of(kind)
    names = [name for name, option in declared.items() if option.help and name not in without]
    return make_dataclass("Parameters", [(n, _type_of(types[n]), field_flag(kind, n)) for n in names])


def record_of(methods: Methods) -> type:
    """Return a record with a flag for each option of methods that has a label, as its field declares it."""
    options: dict[str, list[tuple[str, Any, Option]]] = {}
    kinds: dict[str, Any] = {}
    for name, kind in _classes(methods):
        declared, types = options_of(kind), get_type_hints(kind)
        for key, option in flags_of(kind).items():
            options.setdefault(key, []).append((name, getattr(kind, option), declared[option]))
            kinds[key] = _type_of(types[option])
    return make_dataclass("Given", [(name, kinds[name] | None, _flag_of(name, of)) for name, of in options.items()])


def _type_of(annotation: Any) -> Any:
    """Return the type of the values of a flag: a text, unless the annotation of the field has another one."""
    kinds = (*get_args(annotation), annotation)
    plain = next((kind for kind in kinds if kind in (bool, int, float, str)), str)
    return plain | None if NoneType in kinds or annotation is Any else plain


def _classes(methods: Methods) -> list[tuple[str, type]]:
    return [(row.name, row.options) for row in methods] if isinstance(methods, Registry) else methods()


def check_given(methods: Methods, values: Mapping[str, Any]) -> None:
    """Check options of methods by the names of their flags, before anything is read.

    Raises
    ------
    OptionError
    """
    for _, kind in _classes(methods):
        for key, option in flags_of(kind).items():
            if key in values:
                options_of(kind)[option].rule.check(key, values[key])


def _flag_of(name: str, options: Sequence[tuple[str, Any, Option]]) -> Any:
    """Return the flag of an option that some methods have: by the name of each, its default and its declaration."""
    helps: dict[str, list[str]] = {}
    defaults: dict[str, list[str]] = {}
    for method, default, declared in options:
        helps.setdefault(declared.help, []).append(method)
        defaults.setdefault(declared.unset if default is None else str(default), []).append(method)
    panel = f"Options of {' and '.join(dict.fromkeys(method for method, *_ in options))}"
    text = " ".join(f"{', '.join(methods)}: {sentence}" for sentence, methods in helps.items())
    text = next(iter(helps)) if len(helps) == 1 else text
    shown = "; ".join(v if len(defaults) == 1 else f"{v} ({', '.join(of)})" for v, of in defaults.items())
    _, default, declared = options[0]
    if isinstance(default, bool):
        shown = name if default else declared.unset
    made = _flag(name, declared, text, None, shown, default is True)
    made.rich_help_panel = panel
    return made


def _flag(name: str, declared: Option, text: str, default: Any, shown: str, is_on: bool = False) -> Any:
    """Return the flag of an option; one that ``is_on`` by default can be turned off."""
    good, long = declared.rule.good, "--" + (declared.flag or name).replace("_", "-")
    if any(isinstance(value, bool) for value in good):
        return flag(text, None, default, f"{long}/--no-{long[2:]}" if is_on or default else long, shown=shown)
    names = "|".join(good) if good and all(isinstance(value, str) for value in good) else None
    if names is not None and len(names) > _WIDEST and all(value in text for value in good):
        names = "NAME"  # the text has them
    return flag(text, declared.metavar or names, default, shown=shown)
