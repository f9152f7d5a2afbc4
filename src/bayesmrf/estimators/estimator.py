"""What all estimators have: attributes that a fit sets, and parameters that are objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import fields, is_dataclass, replace
from inspect import cleandoc, signature
from typing import Any, ClassVar, Self

from sklearn.exceptions import NotFittedError

from ..declare.option import describe, named, unknown
from ..errors import OptionError
from ..families import AUTO

STEERING = ("random_state", "n_jobs", "executor", "progress", "checkpoint")
"""Parameters that say how something is computed, and not what was fitted: see `Estimator`."""


class Estimator:
    """Estimators whose fit sets ``theta_``, and other attributes whose names end with an underscore.

    Parameters may be frozen dataclasses, such as ``method=Particle(n_particles=4096)``. Their fields are parameters of
    the estimator, named ``method__n_particles``, to any depth. ``set_params`` replaces an object by a changed copy; a
    name stands for the object with its defaults, but "auto" has none.

    What is computed from a fit does not depend on parameters that are set after it: methods read those with which the
    fit began, of which ``_settings`` has copies. Exceptions are the parameters in `STEERING`, which belong to the next
    computation: where its random numbers come from (``sample`` and ``predictive_checks`` without a ``random_state``),
    how many chains run at once, what is shown meanwhile, and where a run is stored.
    """

    def __init_subclass__(cls, **more: Any) -> None:
        """Describe the parameters of `bayesmrf.parameters` in the docstring; check names of arguments of ``fit``."""
        super().__init_subclass__(**more)
        if "fit" in cls.__dict__:
            cls.fit = named(cls.__dict__["fit"])  # type: ignore[attr-defined]
        if "\nParameters\n" in cleandoc(cls.__doc__ or ""):
            for base in cls.__mro__[1:]:
                describe(cls, base)

    def __new__(cls, *_: Any, **options: Any) -> Any:
        """Say which argument was meant by an unknown one, before ``__init__``, which a dataclass writes."""
        names = [*signature(cls.__init__).parameters]
        for name in options:
            if name not in names:
                raise unknown(cls.__name__, name, names, signature(cls.fit).parameters, "fit")  # type: ignore[attr-defined]
        return super().__new__(cls)

    _at_fit: Any = None
    _names: tuple[str, ...]  # of the columns that were fitted
    _graph: Any
    _coding: Any
    _readers: ClassVar[dict[str, Callable[[Any], Any]]] = {}
    """Functions from a text to an object, by the name of the parameter."""

    @property
    def _of_fit(self) -> dict[str, Any]:
        """The attributes that the last fit has set, by name; which these are depends on the options and the data."""
        return {name: value for name, value in vars(self).items() if name.endswith("_")}

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a fit has come as far as ``theta_``; attributes of the data are set before."""
        return "theta_" in self._of_fit

    def __repr__(self, *most: int) -> str:
        """Return the parameters or, after a fit, the model, the method, the prior and how far the result is trusted."""
        lines = "\n".join(self._outcome()) if self.__sklearn_is_fitted__() else ""
        return f"{type(self).__name__}, fitted: {lines}" if lines else super().__repr__(*most)

    def _repr_mimebundle_(self, **more: Any) -> dict[str, str]:
        """Return what a notebook shows: the diagram of scikit-learn has parameters only."""
        if self.__sklearn_is_fitted__():
            return {"text/plain": repr(self)}
        return super()._repr_mimebundle_(**more)  # type: ignore[misc]

    def _outcome(self) -> list[str]:
        """Return lines on what was fitted: none if they cannot be told, as of draws that were changed since."""
        return []

    def __getattr__(self, name: str) -> Any:
        """Say that a fit sets an attribute, where there was none; else raise what was raised before."""
        is_of_fit = name.endswith("_") and not name.startswith("_") and name not in dir(type(self))
        if is_of_fit and not self.__sklearn_is_fitted__():
            raise NotFittedError(f"{type(self).__name__} has no {name} before it is fitted; call fit first.")
        return super().__getattribute__(name)

    @property
    def _labels(self) -> Sequence[Any]:
        """Labels of the groups of people, if there are several."""
        return ()

    @property
    def _settings(self) -> Any:
        """The parameters with which the last fit began, or those that are set if there was none; see the class."""
        return self if self._at_fit is None else self._at_fit

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

    def set_params(self, **params: Any) -> Self:
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
                now = copy(self)
                now._at_fit = None  # what is set, not what was fitted
                setattr(self, name, _replaced(now._object(name), key, rest.split("__"), value))
        return self

    def _object(self, name: str) -> Any:
        """Return the value of a parameter of the fit as an object; see `_settings`."""
        value = getattr(self._settings, name)
        return self._readers[name](value) if isinstance(value, str) and name in self._readers else value


def begin(estimator: Estimator) -> None:
    """Begin a fit: keep its parameters, and remove the attributes of a former one.

    The new fit may have other attributes, or be stopped before it has any.
    """
    keep_settings(estimator)
    for name in estimator._of_fit:
        delattr(estimator, name)


def keep_settings(estimator: Estimator) -> None:
    """Copy the parameters: those of a fit must not change with a later ``set_params``, or in place."""
    parameters = estimator.get_params(deep=False)
    kept = {name: _copied(value) for name, value in parameters.items() if name not in STEERING}
    estimator._at_fit = type(estimator)(**kept)


def _copied(value: Any) -> Any:
    """Return a copy of a parameter; an object of a user that cannot be copied stays as it is."""
    try:
        return deepcopy(value)
    except Exception:  # whatever a class of a user raises
        return value


def _fields_of(name: str, value: Any) -> dict[str, Any]:
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    values: dict[str, Any] = {}
    for f in fields(value):
        key, inner = f"{name}__{f.name}", getattr(value, f.name)
        values |= {key: inner} | _fields_of(key, inner)
    return values


def _replaced(record: Any, key: str, path: list[str], value: Any) -> Any:
    """Return a copy of a dataclass with another value at the end of a path of fields."""
    if not is_dataclass(record) or path[0] not in {f.name for f in fields(record)}:
        raise OptionError(option=key, got=value, expected="a parameter that exists", remedy="see get_params()")
    inner = value if len(path) == 1 else _replaced(getattr(record, path[0]), key, path[1:], value)
    changed: Any = replace(record, **{path[0]: inner})  # type: ignore[type-var]
    return changed
