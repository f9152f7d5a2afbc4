"""Tables of observations: read, checked, and brought to one coding.

`prepare` returns a table whose columns have the types that a user says, `read_columns` what each column is, and
`stack_waves` a row for each wave of waves side by side.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .codebook import Codebook
    from .columns import prepare, read_columns
    from .waves_side_by_side import stack_waves

_HOMES = {
    "Codebook": "codebook",
    "prepare": "columns",
    "read_columns": "columns",
    "stack_waves": "waves_side_by_side",
}

__all__ = ["Codebook", "prepare", "read_columns", "stack_waves"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
