"""Axes that a notebook shows as their picture."""

from __future__ import annotations

from io import BytesIO
from typing import Any, cast

from matplotlib.axes import Axes

_DPI = 110


class ShownAxes(Axes):
    """Axes of a figure that belongs to no window: a notebook would show their text alone."""

    def _repr_png_(self) -> bytes:
        file, figure = BytesIO(), cast(Any, self.figure)
        figure.savefig(file, format="png", dpi=_DPI)
        return file.getvalue()
