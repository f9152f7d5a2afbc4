"""Leaves that are chosen by the class of an argument when the leaf that calls them is compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from numba.extending import overload


def by_class(leaves: Mapping[type, Any], field: str = "", place: int = -1, passed: bool = True) -> Callable[[Any], Any]:
    """Let a function be the leaf for the class of one of its arguments, a NamedTuple.

    The decorated function states arguments and result alone. It must be in a file whose namespace has all ``leaves``,
    by which machine code on disk is known to be outdated (`bayesmrf.compiled.code_digest`).

    Parameters
    ----------
    leaves : dict of classes and leaves
    field : str
        The class is that of this field of the argument; empty for the argument itself.
    place : int
        Position of the argument.
    passed : bool
        False if the leaves do not get the argument, which must then be the last.
    """

    def decorate(function: Any) -> Any:
        @wraps(function)
        def called(*args: Any) -> Any:
            of = getattr(args[place], field) if field else args[place]
            return leaves[type(of)](*(args if passed else args[:-1]))

        @overload(called, strict=False)
        def compiled(*types: Any) -> Any:
            of = types[place]
            leaf = leaves[(of.types[of.fields.index(field)] if field else of).instance_class]
            return (lambda *args: leaf(*args)) if passed else lambda *args: leaf(*args[:-1])

        return called

    return decorate
