"""The column by which SPSS weights the rows of a file (``WEIGHT BY``), which pyreadstat does not report."""

from __future__ import annotations

from struct import unpack
from typing import Any

from ..errors import DataError

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
