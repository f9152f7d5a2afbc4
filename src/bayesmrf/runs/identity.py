"""The identity of a run: the fields of its kernel, recursively, as flat readable values.

A run on disk is continued only with the same kernel, model, engine, prior and data. They are read from the kernel
itself, so that no option can be missed:

* a dataclass or NamedTuple is its class and its fields;
* another object of this package is its class and the arguments of its constructor;
* an object of another package is its class and all its attributes;
* an array is its type, its shape and its values, or their checksum;
* a number, a text, None, and lists of these, are unchanged.

Fields in `NOT_PART`, on which draws do not depend or which follow from others, are omitted. Fields in `ESTIMATED` are
results of an optimiser, whose last bits may depend on the number of threads: they are rounded to nine decimals. Code is
not part of the identity; the version of this package is compared in addition.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from ..errors import OptionError, argument

_CHECKPOINT = argument("checkpoint")

NOT_PART = frozenset({"n_jobs", "state_names", "design"})
ESTIMATED = frozenset({"start", "spread", "scale", "mle"})
DATA = frozenset({"s_bar", "n_samples", "states", "sums", "tables"})  # fields that are known to hold data
DECIMALS = 9  # of natural parameters
ROOT = "class"  # the key of the kernel's class, which is not a field name
SHORT = 8  # largest number of values that are stored; of more, a checksum
DEEPEST = 30


def describe(kernel: Any) -> tuple[dict[str, Any], set[str]]:
    """Describe a kernel as plain JSON values under the paths of its fields, and name the modules of its classes.

    Returns
    -------
    record : dict
        Such as ``{"class": "bayesmrf.published.tree.GroupedTree", ..., "prior.alpha": 1.0, ...}``.
    modules : set of str
        Those that define the classes of the kernel and of everything in it.

    Raises
    ------
    OptionError
        If a field cannot be compared, such as a lambda or an open generator.
    """
    record: dict[str, Any] = {}
    modules: set[str] = set()
    _add(record, modules, "", kernel, 0)
    return record, modules


def difference(now: Mapping[str, Any], stored: Mapping[str, Any]) -> str:
    """Describe the first difference between two flat records; empty if there is none."""
    for key in dict.fromkeys([*now, *stored]):
        if key not in stored:
            return f"{key} is {now[key]!r}, and was not there in the stored run"
        if key not in now:
            return f"{key} is not there, and was {stored[key]!r} in the stored run"
        if now[key] != stored[key]:
            if DATA & {*key.split(".")} and ".engine." not in key:
                return f"the data differ from those of the stored run ({key})"
            return f"{key} is {now[key]!r}, was {stored[key]!r} in the stored run"
    return ""


def checksum(value: Any) -> str:
    """Return the checksum of plain JSON values."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=16).hexdigest()


def class_name(kind: type) -> str:
    """Return the module and name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def _add(record: dict[str, Any], modules: set[str], path: str, value: Any, depth: int) -> None:
    """Add ``value`` and its contents to the record, and the modules of their classes to ``modules``."""
    key = path or ROOT
    if depth > DEEPEST:
        raise _unknown(key, "lies too deep, or holds itself")
    if isinstance(value, np.ndarray):
        record[key] = _array(key, value)
    elif _is_scalar(value):
        record[key] = _scalar(key, value)
    elif isinstance(value, Mapping):
        record[key] = f"{class_name(type(value))} of {len(value)}"
        for name in sorted(value, key=repr):
            if not isinstance(name, str | int):
                raise _unknown(key, f"has the key {name!r}, which is neither a text nor an integer")
            _add(record, modules, f"{path}[{name!r}]", value[name], depth + 1)
    elif isinstance(value, set | frozenset):
        _add(record, modules, path, sorted(value, key=repr), depth + 1)
    elif isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if all(map(_is_scalar, value)):
            values = [_scalar(key, v) for v in value]
            record[key] = values if len(values) <= SHORT else f"{len(values)} values, checksum {checksum(values)}"
            return
        record[key] = f"{len(value)} values"
        for i, v in enumerate(value):
            _add(record, modules, f"{path}[{i}]", v, depth + 1)
    else:
        record[key] = class_name(type(value))
        modules.add(type(value).__module__)
        for name, v in _fields(key, value).items():
            if name not in NOT_PART:
                _add(record, modules, f"{path}.{name}" if path else name, v, depth + 1)


def _is_scalar(value: Any) -> bool:
    plain = bool | int | float | complex | str | np.generic | Enum | type | FunctionType | BuiltinFunctionType
    return value is None or isinstance(value, plain)


def _scalar(key: str, value: Any) -> Any:
    """Return a value that JSON preserves, and that identifies this one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        return f"{class_name(type(value))}.{value.name}"
    if isinstance(value, type):
        return class_name(value)
    if isinstance(value, FunctionType | BuiltinFunctionType):
        if "<" in value.__qualname__:  # a lambda, or one made inside another function
            raise _unknown(key, f"is the function {value.__qualname__}, of which there may be several")
        return f"{value.__module__}.{value.__qualname__}"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return repr(value)  # complex numbers, dates


def _array(key: str, a: np.ndarray) -> str:
    if a.dtype.hasobject or isinstance(a, np.ma.MaskedArray):
        raise _unknown(key, "is an array that is masked, or of Python objects")
    if key.removeprefix("kernel.") in ESTIMATED and a.dtype.kind == "f":
        a = np.round(a, DECIMALS) + 0.0  # and no -0
    if a.size <= SHORT:
        return f"{a.dtype} {a.tolist()}"
    digest = hashlib.blake2b(np.ascontiguousarray(a).data, digest_size=8).hexdigest()
    return f"{a.dtype} array {a.shape}, checksum {digest}"


def _fields(key: str, value: Any) -> dict[str, Any]:
    """Return the contents of an object, by name."""
    kind = type(value)
    if dataclasses.is_dataclass(value):
        names = [f.name for f in dataclasses.fields(value)]
    elif isinstance(value, tuple):
        names = list(value._fields)  # type: ignore[attr-defined]
    elif kind.__module__.partition(".")[0] == __package__.partition(".")[0]:
        names = list(inspect.signature(kind).parameters)
    else:
        slots = {name for k in kind.__mro__ for name in vars(k).get("__slots__", ()) if hasattr(value, name)}
        try:
            names = sorted(slots | set(vars(value)))
        except TypeError:
            names = sorted(slots)
        names = [n for n in names if not isinstance(inspect.getattr_static(kind, n, None), cached_property)]
        stateless = kind.__init__ is object.__init__ and kind.__new__ is object.__new__  # type: ignore[comparison-overlap]
        if not (names or stateless):
            raise _unknown(key, f"is a {class_name(kind)}, whose contents cannot be read")
    return {name: getattr(value, name) for name in names}


def _unknown(key: str, why: str) -> OptionError:
    return OptionError(
        option="checkpoint",
        got="a path",
        expected=f"None for this run, because a stored run could not be told from another: {key} {why}",
        remedy="use numbers, texts, arrays, or dataclasses of them there",
    )
