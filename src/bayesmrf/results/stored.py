"""What a tree of draws keeps of its estimator, so that a stored run comes back as one.

It is one attribute, JSON: the class, the parameters, the levels of the data, and the labels of groups of people. The
graph, the draws and what was estimated are in the tree as they are. No answers of people are kept, no seeds but
integers, and no objects of users: their place is taken by `NotKept`.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import engines, families, methods, priors
from ..data.codebook import Codebook
from ..data.states import Coding, ColumnLevels
from ..errors import OptionError, StoreError
from ..graphs import Graph
from ..runs.sealed import as_written, check_json
from . import load

if TYPE_CHECKING:
    import xarray as xr

_ATTRIBUTE = "estimator"
_KNOWN = {
    f"{module.__name__.rpartition('.')[2]}.{name}": kind
    for module in (families, methods, priors, engines)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and is_dataclass(kind) and kind.__module__.startswith("bayesmrf.")
} | {f"methods.{row.options.__name__}": row.options for row in methods.every_row()}
_OF_DATA = ("states", "weights")  # of engines that depend on the data
_MOST_BYTES = 2**23  # of an array in the parameters that is kept
_NOT_KEPT = ("executor", "checkpoint")  # parameters of the process that ran


@dataclass(frozen=True)
class NotKept:
    """An object of a user in the parameters of a run that was read from disk."""

    what: str  # its class

    def on(self, *_: Any) -> Any:
        """Refuse to be a model."""
        raise OptionError(
            option="model", got=self, expected="a model of the package in a stored run", remedy="fit again"
        )

    def __repr__(self) -> str:
        return f"the {self.what} of the run, which is not stored"


class Kept(NamedTuple):
    """An estimator as it is kept with a tree."""

    kind: str  # name of its class
    parameters: dict[str, Any]
    graph: Graph
    coding: Coding
    labels: list[Any]  # of groups of people
    is_named: bool  # whether all names of columns were texts


def keep(tree: xr.DataTree, kept: Kept) -> None:
    """Add an estimator to its tree, in place."""
    parameters = kept.parameters | dict.fromkeys(_NOT_KEPT)
    seed = parameters["random_state"]
    parameters["random_state"] = seed if isinstance(seed, int | np.integer) else None
    coding = list(kept.coding.columns) if isinstance(kept.coding, ColumnLevels) else kept.coding
    nominal = sorted(kept.coding.nominal) if isinstance(kept.coding, ColumnLevels) else []
    record = [kept.kind, _written(parameters), _written(coding), _written(kept.labels), kept.is_named, nominal]
    try:
        check_json(json.dumps(record))
    except ValueError:  # long lists of pairs
        plain = bool | int | float | str | None
        names = {name: v if isinstance(v, plain) else {"own": type(v).__name__} for name, v in parameters.items()}
        record[1] = {"mapping": [*map(list, names.items())]}
    tree.attrs[_ATTRIBUTE] = json.dumps(record)


def read_kept(path: str | PathLike[str]) -> tuple[xr.DataTree, Kept]:
    """Read a stored run: its tree, and the estimator that `keep` has added to it.

    Raises
    ------
    StoreError
        If there is no finished run, or no estimator in it.
    """
    tree = load(path)
    if _ATTRIBUTE not in tree.attrs:
        raise StoreError(f"{path} contains draws without the estimator that made them; use bayesmrf.results.load, "
                         "which returns the draws")  # fmt: skip
    with as_written(Path(path)):
        return tree, _kept_in(tree)


def kept_in(tree: xr.DataTree) -> Kept | None:
    """Return the estimator that `keep` has added to a tree; None if there is none."""
    return _kept_in(tree) if _ATTRIBUTE in tree.attrs else None


def _kept_in(tree: xr.DataTree) -> Kept:
    kind, parameters, coding, labels, is_named, *nominal = json.loads(tree.attrs[_ATTRIBUTE])
    constant = tree["constant_data"].dataset
    names = tuple(str(name) for name in constant["node"].values)
    first = len(names) ** 2 if kind == "PanelMRF" else 0  # after lagged edges, which have directions
    graph = Graph(len(names), np.asarray(constant["edges"])[first:], names)
    levels = _read(coding, graph)
    coding = ColumnLevels(tuple(levels), frozenset(*nominal)) if isinstance(levels, list) else levels
    if len(names) != len(levels if isinstance(levels, list) else names):
        raise ValueError("other columns have levels")
    return Kept(str(kind), _read(parameters, graph), graph, coding, _read(labels, graph), bool(is_named))


def _written(value: Any) -> Any:
    """Write a value as JSON; what this package does not know is described."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [_written(v) for v in value]
    if isinstance(value, tuple):
        return {"tuple": [_written(v) for v in value]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and value.nbytes <= _MOST_BYTES:
        return {"array": [value.dtype.str, value.shape, b64encode(value.tobytes()).decode()]}
    if isinstance(value, Graph):
        return {"graph": None}
    if isinstance(value, Codebook):
        return {"columns": value.frame().to_csv(index=False)}
    if isinstance(value, Mapping):
        return {"mapping": [[_written(k), _written(v)] for k, v in value.items()]}
    home = next((name for name, kind in _KNOWN.items() if type(value) is kind), None)
    inner = {} if home is None else {f.name: vars(value)[f.name] for f in fields(value)}
    of_data = [inner.pop(name, None) for name in _OF_DATA]
    written = {name: _written(v) for name, v in inner.items()}
    is_described = any(isinstance(v, dict) and "own" in v for v in written.values())
    if home is None or is_described or any(v is not None for v in of_data):
        return {"own": type(value).__name__}
    return {home: written}


def _read(value: Any, graph: Graph) -> Any:
    """Restore the value from the JSON of `_written`."""
    if isinstance(value, list):
        return [_read(v, graph) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, inner),) = value.items()
    if kind == "tuple":
        return tuple(_read(v, graph) for v in inner)
    if kind == "array":
        dtype, shape, text = inner
        array = np.frombuffer(b64decode(text), np.dtype(dtype)).reshape(shape).copy()
        if array.dtype.kind not in "biuf":
            raise ValueError("an array is not of numbers")
        return array
    if kind == "graph":
        return graph
    if kind == "columns":
        return Codebook.of_text(inner)
    if kind == "mapping":
        return {_read(k, graph): _read(v, graph) for k, v in inner}
    if kind == "own":
        return NotKept(str(inner))
    return _KNOWN[kind](**{name: _read(v, graph) for name, v in inner.items()})
