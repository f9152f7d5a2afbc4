"""Registries: one row for each model, method and kernel, from which estimators, commands, reports and messages read.

A row has a name, the class of the options, and declarations of what is supported. Such an option of an estimator is the
name, for the default options, or an object of the class of options.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Generic, Protocol, TypeVar

from ..errors import OptionError, argument, in_python
from .rule import Rule, choice, either, instance


class Row(Protocol):
    """Common attributes of the rows of all registries."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def options(self) -> type: ...  # noqa: D102


R = TypeVar("R", bound=Row)


class Registry(Generic[R]):
    """Rows by name and by the class of their options.

    Parameters
    ----------
    option : str
        The argument with these values, such as "method".
    module : str
        Module of the classes of options, such as "methods".
    rows : sequence of Row
    """

    def __init__(self, option: str, module: str, rows: Sequence[R]) -> None:
        self.option, self.module, self.rows = option, module, tuple(rows)

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of the rows."""
        return tuple(row.name for row in self)

    def find(self, value: Any) -> R | None:
        """Return the row of a name or of an object of options; None if there is none."""
        if isinstance(value, str):
            return next((row for row in self if row.name == value), None)
        return next((row for row in self if type(value) is row.options), None)

    def row(self, value: Any) -> R:
        """Return the row of a name or of an object of options.

        Raises
        ------
        OptionError
        """
        self.rule().check(self.option, value)
        entry = self.find(value)
        assert entry is not None
        return entry

    def read(self, value: Any) -> Any:
        """Return the object of options: ``value`` itself, or the defaults of the name.

        Raises
        ------
        OptionError
        """
        row = self.row(value)
        return row.options() if isinstance(value, str) else value

    def rule(self, *more: str) -> Rule:
        """Return the rule of the option, which may also be one of the texts ``more``."""
        named = ", ".join(map(repr, (*more, *self.names)))
        return Rule(
            f"one of {named}{in_python(f', or an object of one of these in bayesmrf.{self.module}')}",
            lambda v: (isinstance(v, str) and v in more) or self.find(v) is not None,
            (*more, *self.names),
        )

    def rule_with_own(self, *more: str) -> Rule:
        """Return the rule of the option, which may also be a user's own: a ``Custom`` of the module."""
        named = self.rule(*more)
        custom = in_python(f", or a {self.module}.Custom")
        return either(named, instance(self.module, "Custom"), expected=named.expected + custom)

    def build(self, name: str, given: dict[str, Any]) -> Any:
        """Return the options of a name with some of them given, as on the command line.

        Raises
        ------
        OptionError
            If there is no such row, or it has no option of one of these names.
        """
        choice(*self.names).check(self.option, name)
        row = self.row(name)
        known = {f.name for f in fields(row.options)}
        for option, value in given.items():
            if option not in known:
                having = [r.name for r in self if option in {f.name for f in fields(r.options)}]
                expected = f"omitted with {argument(self.option, name)}"
                remedy = f"{self.option}s with this option: {', '.join(having)}" if having else ""
                raise OptionError(option=option, got=value, expected=expected, remedy=remedy)
        return row.options(**given)
