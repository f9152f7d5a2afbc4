"""Options that are objects, seen by ``get_params``, ``set_params`` and ``clone`` of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

from ..errors import OptionError
from ..families import AUTO


class OptionObjects:
    """Parameters that are frozen dataclasses, such as ``method=Particle(n_particles=4096)``.

    Their fields are parameters of the estimator, named ``method__n_particles``, to any depth. ``set_params`` replaces
    an object by a changed copy; a name stands for the object with its defaults, but "auto" has none.
    """

    read: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    """Functions from a text to an object, by the name of the parameter."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters and, if ``deep``, the fields of those that are objects.

        Parameters
        ----------
        deep : bool

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep=False)  # type: ignore[misc]
        if deep:
            for name, value in list(params.items()):
                params |= _fields_of(name, value)
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, or fields of those that are objects, by name.

        Returns
        -------
        self
        """
        super().set_params(**{name: v for name, v in params.items() if "__" not in name})  # type: ignore[misc]
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if rest:
                if name not in self.get_params(deep=False):
                    raise ValueError(f"{type(self).__name__} has no parameter {name!r}.")
                was = getattr(self, name)
                if isinstance(was, str) and was == AUTO:  # the data choose: options of one choice would choose, too
                    expected, remedy = f"chosen before {key} is set", f"set {name} to a name or an object"
                    raise OptionError(option=name, got=was, expected=expected, remedy=remedy)
                setattr(self, name, _replaced(self.object(name), key, rest.split("__"), value))
        return self

    def object(self, name: str) -> Any:
        """Return the value of a parameter as an object."""
        value = getattr(self, name)
        return self.read[name](value) if isinstance(value, str) and name in self.read else value


def _fields_of(name: str, value: Any) -> dict[str, Any]:
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    found: dict[str, Any] = {}
    for f in fields(value):
        key, inner = f"{name}__{f.name}", getattr(value, f.name)
        found |= {key: inner} | _fields_of(key, inner)
    return found


def _replaced(record: Any, key: str, path: list[str], value: Any) -> Any:
    """Return a copy of a dataclass with another value at the end of a path of fields."""
    if not is_dataclass(record) or path[0] not in {f.name for f in fields(record)}:
        raise OptionError(option=key, got=value, expected="a parameter that exists", remedy="see get_params()")
    inner = value if len(path) == 1 else _replaced(getattr(record, path[0]), key, path[1:], value)
    changed: Any = replace(record, **{path[0]: inner})  # type: ignore[type-var]
    return changed
