"""Former home of the tables of results, which is `bayesmrf.answers.registry`; names are found for one version."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

_HOMES = {"answers.registry": ("all_tables", "every_table", "names_of", "table_of"),
          "show.tables": ("Column", "Listing", "Table")}  # fmt: skip
__all__: list[str] = []


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"bayesmrf.results.tables.{name} is bayesmrf.{home}.{name}", FutureWarning, stacklevel=2)
    return getattr(import_module(f"bayesmrf.{home}"), name)
