"""A State as arrays and plain JSON values, and back.

Nothing is unpickled, and names in a file are never imported.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np

from ..errors import StoreError, argument
from .store import OVERWRITE

_CHECKPOINT = argument("checkpoint")


def flatten(value: Any, name: str, arrays: dict[str, np.ndarray], modules: Collection[str]) -> dict[str, Any]:
    """Put the arrays of a State into ``arrays`` and describe the rest in plain JSON values.

    NamedTuples must be of this package or of one of ``modules``, those of the kernel's classes.
    """
    if value is None or type(value) in (bool, int, float, str):
        return {"value": value}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        arrays[name] = np.asarray(value)
        return {"scalar" if isinstance(value, np.generic) else "array": name}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        if _find(kind, modules) is type(value):
            return {
                "type": kind,
                "fields": {f: flatten(getattr(value, f), f"{name}.{f}", arrays, modules) for f in value._fields},
            }
    raise TypeError(f"{name}: a {type(value).__qualname__} cannot be kept in a checkpoint; State holds arrays, "
                    "numbers, None and NamedTuples of them, whose classes stand at the top of this package's modules "
                    "or of the kernel's")  # fmt: skip


def unflatten(spec: Any, arrays: Mapping[str, np.ndarray], modules: Collection[str]) -> Any:
    """Invert `flatten`."""
    if "array" in spec:
        return _aligned(arrays[spec["array"]])
    if "scalar" in spec:
        return arrays[spec["scalar"]][()]
    if "type" in spec:
        kind = _find(spec["type"], modules)
        fields = {f: unflatten(s, arrays, modules) for f, s in spec["fields"].items()}
        if kind is None or kind._fields != tuple(fields):
            raise StoreError(f"{_CHECKPOINT}: the State {spec['type']!r:.80} is not known here, or has other fields; "
                             f"use the version and the kernel that wrote it, or {OVERWRITE}")  # fmt: skip
        return kind(**fields)
    value = spec["value"]
    if not (value is None or type(value) in (bool, int, float, str)):
        raise TypeError("a plain value is none")
    return value


def _aligned(a: np.ndarray) -> np.ndarray:
    """Return a copy that begins on a cache line, as the lanes of a new run do."""
    # The order of summation, and with it the last bit, can depend on the order of the axes.
    order: Literal["C", "F"] = "F" if a.flags.f_contiguous and not a.flags.c_contiguous else "C"
    memory = np.empty(a.nbytes + 64, np.uint8)
    out = memory[-memory.ctypes.data % 64 :][: a.nbytes].view(a.dtype).reshape(a.shape, order=order)
    out[...] = a
    return out


def _find(kind: str, modules: Collection[str]) -> Any:
    """Find a NamedTuple at the top of a loaded module of this package or of the kernel; None if there is none."""
    module, _, name = kind.partition(":")
    if module not in modules and module.partition(".")[0] != __package__.partition(".")[0]:
        return None
    value = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return value if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields") else None
