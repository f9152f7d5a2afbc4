"""Columns that determine each other in every row, such as copies, and items that are coded in both directions."""

from __future__ import annotations

import math

import numpy as np

from ..errors import EqualColumnsWarning, argument
from ..findings import tell
from ..names import quoted
from .made_of_others import log_ways
from .states import States

_CHANCE = 1e-3  # probability that columns of a table are equal by chance
_FIRST = 1000  # rows that are compared before all are


def warn_of_equal(states: States) -> None:
    """Warn of columns that are equal in every row, up to the names of their states."""
    rows = states.values if states.weights is None else states.values[states.weights > 0]
    same = [list(range(rows.shape[1]))]
    for n in (_FIRST, len(rows)):
        same = [alike for columns in same for alike in _equal(rows[:n], columns)]
    sure = math.log(rows.shape[1] ** 2 / 2 / _CHANCE)
    pairs = [(i, j) for i, *others in same for j in others if log_ways(rows[:, i]) > sure]
    if pairs:
        first, second = (quoted(states.names[i]) for i in pairs[0])
        more = f", and {len(pairs) - 1} other pair(s)," if len(pairs) > 1 else ""
        tell(
            f"columns {first} and {second} of {argument('X')}{more} determine each other in every row, so that the "
            "data do not determine the edge between them, nor how they share edges to others; drop one of them if it "
            "is a copy",
            EqualColumnsWarning,
        )


def _equal(rows: np.ndarray, columns: list[int]) -> list[list[int]]:
    """Divide columns into those that are equal, of which there are two or more."""
    found: dict[bytes, list[int]] = {}
    for i in columns:
        found.setdefault(_in_order_of_appearance(rows[:, i]).tobytes(), []).append(i)
    return [alike for alike in found.values() if len(alike) > 1]


def _in_order_of_appearance(column: np.ndarray) -> np.ndarray:
    """Number the states of a column as they first appear; a missing value is one of them."""
    _, first, place = np.unique(column, return_index=True, return_inverse=True)
    return first.argsort().argsort().astype(np.int8)[place]
