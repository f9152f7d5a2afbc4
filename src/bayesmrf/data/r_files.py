"""Tables of R files (saveRDS, save) with factors and the labels of the package haven, by rdata."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import DataError
from ..names import listed, quoted

_LONGEST = 2**26  # values of a sequence, which takes no room in the file
_ROLLCALL = {"votes", "legis.data"}  # elements of a rollcall of the package pscl
_PLAIN = ("LGL", "INT", "REAL", "STR")  # types of vectors: of booleans, integers, numbers and texts
_DATES = {"Date": "D", "POSIXct": "s"}  # classes of R, and what their numbers count since 1970


class RColumn(NamedTuple):
    """A column of a data frame of R: missing values are None, and ``levels`` is None if it is no factor."""

    name: str
    values: list[Any]
    levels: tuple[str, ...] | None
    ordered: bool
    labels: Mapping[Any, str]
    question: str


def read_r(data: bytes) -> list[RColumn]:
    """Read the only data frame in the uncompressed contents of a file.

    Raises
    ------
    DataError
        If there is another number of data frames, or a column that has not one number, text or boolean a row.
    """
    from rdata.conversion import convert
    from rdata.parser import DEFAULT_ALTREP_MAP, parse_data

    compact = {b"compact_intseq": _sequence("INT"), b"compact_realseq": _sequence("REAL")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of encodings that are not stated; classes are not converted
        kind = ".rds" if data.startswith(b"X") else ".rda"
        parsed = parse_data(data, extension=kind, altrep_constructor_dict={**DEFAULT_ALTREP_MAP, **compact})
        tree = _Tree(lambda part: convert(part, {}, default_encoding=parsed.extra.encoding or "utf-8"))
        objects = {"": parsed.object} if kind == ".rds" else tree.pairs(parsed.object)
        frames = {name: item for name, item in objects.items() if "data.frame" in tree.texts(item, "class")}
        votes = next((name for name, item in objects.items() if {*tree.texts(item, "names")} >= _ROLLCALL), None)
        if not frames and votes is not None:
            raise DataError("this R file has a list of roll calls (pscl), not a table; in R, save its votes: "
                            f"saveRDS(as.data.frame(pscl::convertCodes({votes or 'x'})), 'votes.rds')")  # fmt: skip
        if len(frames) != 1:
            these = f": {listed([quoted(name) for name in frames])}" if frames else ""
            raise DataError(f"this R file has {len(frames)} data frames{these}; in R, save one of them: "
                            "saveRDS(as.data.frame(x), 'table.rds')")  # fmt: skip
        (frame,) = frames.values()
        return [tree.column(name, part) for name, part in zip(tree.texts(frame, "names"), frame.value, strict=True)]


def _sequence(kind: str) -> Callable[[Any], tuple[Any, np.ndarray]]:
    """Make the expander of sequences that R stores as number, first and step; rdata's own cuts descending ones."""
    from rdata.parser import RObjectInfo, RObjectType

    def values(state: Any) -> tuple[Any, np.ndarray]:
        n, first, step = state.value
        if n > _LONGEST:
            raise DataError(f"this R file has a column of {n:g} values; give a smaller table")
        info = RObjectInfo(RObjectType[kind], object=False, attributes=False, tag=False, gp=0, reference=0)
        return info, (first + step * np.arange(int(n))).astype(np.int32 if kind == "INT" else np.float64)

    return values


class _Tree(NamedTuple):
    """The tree of objects that rdata parses, whose own conversion of columns has no attributes."""

    convert: Any

    def pairs(self, node: Any) -> dict[str, Any]:
        """Return the objects in a list of pairs, such as that of the attributes, by their names."""
        objects: dict[str, Any] = {}
        while node is not None and node.info.type.name == "LIST":
            objects[self.convert(node.tag)] = node.value[0]
            node = node.value[1]
        return objects

    def values(self, part: Any) -> list[Any]:
        """Return the values of a vector; missing ones are None."""
        values = np.ma.asarray(part.value if part.info.type.name != "STR" else [self.convert(v) for v in part.value])
        return [None if v is None or v != v else v for v in values.tolist()]

    def texts(self, part: Any, attribute: str) -> list[str]:
        """Return the texts in an attribute of an object, none if it has no such attribute."""
        value = self.pairs(part.attributes).get(attribute)
        return [] if value is None else [str(text) for text in self.values(value)]

    def column(self, name: str, part: Any) -> RColumn:
        """Return a column."""
        about = self.pairs(part.attributes)
        kinds = self.texts(part, "class")
        if part.info.type.name not in _PLAIN or "dim" in about or "integer64" in kinds:
            what = kinds[0] if kinds else "matrix" if "dim" in about else "list"
            raise DataError(f"column {quoted(name)} of this R file is of class {quoted(what)}; in R, make it a column "
                            "of numbers or texts (as.numeric, as.character), or leave it out")  # fmt: skip
        values, levels = self.values(part), None
        if "factor" in kinds:
            named = self.values(about["levels"])
            values = [None if v is None else named[v - 1] for v in values]
            levels = tuple(level for level in named if level is not None)
        labels: dict[Any, str] = {}
        if "haven_labelled" in kinds:
            missing = self._missing(about)
            values = [None if missing(v) else v for v in values]
            codes = about.get("labels")
            if codes is not None:
                pairs = zip(self.values(codes), self.texts(codes, "names"), strict=True)
                labels = {value: label for value, label in pairs if value is not None and not missing(value)}
        unit = next((unit for kind, unit in _DATES.items() if kind in kinds), None)
        if unit is not None:
            values = [None if v is None else str(np.array(v).astype(f"datetime64[{unit}]")) for v in values]
        return RColumn(name, values, levels, "ordered" in kinds, labels, " ".join(self.texts(part, "label")))

    def _missing(self, about: Mapping[str, Any]) -> Any:
        """Return whether a value is declared missing (``na_values``, ``na_range``), as a function."""
        codes = self.values(about["na_values"]) if "na_values" in about else []
        low, high = self.values(about["na_range"]) if "na_range" in about else (None, None)
        return lambda v: v is not None and (v in codes or (low is not None and low <= v <= high))
