"""Tables of SPSS, Stata and SAS transport files with the labels of their columns and values, by pyreadstat."""

from __future__ import annotations

from collections.abc import Mapping
from struct import unpack
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from ..errors import DataError

if TYPE_CHECKING:
    import pandas as pd


_UNSET = "unknown"  # the measure of a column that has none
_DURATIONS = ("TIME", "DTIME", "MTIME")  # begin their formats in SPSS and SAS


def read_labelled(data: bytes, reader: str) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read the table in the contents of a file, and what the file says about its columns, by fields of `Declared`.

    Values that the file declares as missing are missing, and have no labels. Durations are in seconds.

    Parameters
    ----------
    data : bytes
    reader : {"read_sav", "read_dta", "read_xport"}
        A function of pyreadstat.
    """
    import pyreadstat

    spss = reader == "read_sav"
    with NamedTemporaryFile(suffix=".table") as file:  # older readers take no open file
        file.write(data)
        file.flush()
        read = getattr(pyreadstat, reader)
        table, about = read(file.name)
        durations = [
            name for name, kind in about.original_variable_types.items() if (kind or "").startswith(_DURATIONS)
        ]
        if durations:  # as times of a day, they would lose their days
            table[durations] = read(file.name, usecols=durations, disable_datetime_conversion=True)[0][durations]
        # The ranges of missing values are told only to who asks for these values.
        ranges = read(file.name, metadataonly=True, user_missing=True)[1].missing_ranges if spss else {}
    kinds = about.readstat_variable_types
    table = table.astype({name: "float32" for name, kind in kinds.items() if kind == "float"})  # as they were written
    labels = {
        name: {value: label for value, label in words.items() if not _is_missing(value, kinds[name], ranges.get(name))}
        for name, words in about.variable_value_labels.items()
    }
    return table, {
        "labels": {name: words for name, words in labels.items() if words},
        "question": {name: label for name, label in about.column_names_to_labels.items() if label and label != name},
        "measure": {name: kind for name, kind in about.variable_measure.items() if kind != _UNSET},
        "weight": weighting_column(data, about) if spss else None,
    }


def _is_missing(value: Any, kind: str, ranges: list[Mapping[str, Any]] | None) -> bool:
    """Return whether a value with a label is declared missing: in a range of SPSS, or one of Stata's .a to .z."""
    if kind != "string" and isinstance(value, str):
        return True
    return any(part["lo"] <= value <= part["hi"] for part in ranges or ())


_LAYOUT, _WEIGHT = slice(64, 68), slice(76, 80)  # integers of the header; the first is 2 or 3
_SEGMENT = 8  # bytes of a number; a string takes as many segments as it needs
_LONGEST = 255  # bytes of a string that is a variable of its own
_PIECE = 252  # bytes of a longer one that each of its variables has, in 32 segments


def weighting_column(data: bytes, about: Any) -> str | None:
    """Return the name of the column by which SPSS weights the rows of a file, None if it does not.

    ``about`` is what pyreadstat reports of the file.
    The header has the number of its segment of 8 bytes in a row, counted from 1, and 0 without weights.

    Raises
    ------
    DataError
        If no column begins with that segment.
    """
    order = "<i" if unpack("<i", data[_LAYOUT])[0] < 2**16 else ">i"
    (number,) = unpack(order, data[_WEIGHT])
    if number == 0:
        return None
    begin = 1
    for column, kind in about.readstat_variable_types.items():
        if begin == number:
            return str(column)
        begin += _n_segments(about.variable_storage_width[column]) if kind == "string" else 1
    raise DataError(f"SPSS weights the rows of this file by a column that is not found (segment {number}); "
                    "turn weights off in SPSS (WEIGHT OFF) and save the file again, or save it as CSV")  # fmt: skip


def _n_segments(width: int) -> int:
    """Return how many segments a string of ``width`` bytes takes."""
    n_before = (width - 1) // _PIECE if width > _LONGEST else 0
    return n_before * (-(-_LONGEST // _SEGMENT)) + -(-(width - n_before * _PIECE) // _SEGMENT)
