"""Plug-ins: modules that register methods, kernels and methods of evidence; the only door to `bayesmrf.published`.

A plug-in is a module that calls `OpenRegistry.register` when it is imported. An installed package names it in its
``pyproject.toml``, and estimators, commands, reports and `bayesmrf.support` then have its rows::

    [project.entry-points."bayesmrf.plugins"]
    urn = "urn_sampler.plugin"

It should declare only, without slow imports: the builder of a row may be a text, such as "urn_sampler.kernel:build".
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from .declare.registries import Registry, Row
from .errors import BayesMRFWarning, OptionError

GROUP = "bayesmrf.plugins"
INCLUDED = ("bayesmrf.published",)

R = TypeVar("R", bound=Row)
_loaded = False


def load() -> None:
    """Import all plug-ins once; a warning names one that fails."""
    global _loaded
    if _loaded:
        return
    _loaded = True  # a plug-in may read a registry
    for name in (*INCLUDED, *(point.value for point in entry_points(group=GROUP))):
        try:
            import_module(name)
        except Exception as e:
            if name in INCLUDED:
                raise
            problem = f"The plug-in {name} cannot be imported: {e}; update or uninstall it."
            warnings.warn(BayesMRFWarning(problem), stacklevel=2)


def imported(home: Any) -> Any:
    """Import what a text such as "bayesmrf.inference.tree:Tree" stands for; return anything else as it is."""
    if not isinstance(home, str):
        return home
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


class OpenRegistry(Registry[R]):
    """A registry to which plug-ins add rows; the plug-ins are imported when its rows are first read."""

    def __iter__(self) -> Iterator[R]:
        load()
        return super().__iter__()

    def register(self, row: R, before: str = "") -> None:
        """Add a row.

        Parameters
        ----------
        row : Row
            Its name must be new.
        before : str
            The row of this package that it precedes in lists, and in the order in which "auto" prefers kernels. By
            default it is the last.

        Raises
        ------
        OptionError
        """
        names = [row.name for row in self.rows]
        if row.name in names:
            expected = f"none of {', '.join(map(repr, names))}"
            raise OptionError(option=f"{self.option}.name", got=row.name, expected=expected)
        at = names.index(before) if before else len(names)
        self.rows = (*self.rows[:at], row, *self.rows[at:])
