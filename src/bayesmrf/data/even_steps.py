"""Equal steps between the levels of a table, such as 0, 25, 50: a coding of answers that are one step apart."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import LevelsWarning
from ..findings import NOTE, tell
from ..names import digits, listed, quoted
from .codebook import MOST_LEVELS


def recoded(columns: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Return the levels of each column whose steps are a coding, from its lowest to its highest one.

    The step of a column is the greatest common divisor of the differences of its values and of those that fill it: the
    values inside its range of columns that span a step or more. So an unused 4 among columns from 1 to 5 is a level,
    as other columns have it, and a column of 1 and 2 does not fill 1, 3, 5. A step above 1 is a coding if there are at
    most 12 levels in the range of the column, of which the columns with this step use more than half.

    Parameters
    ----------
    columns : mapping of names to arrays
        The values that occur in each column of numbers, without missing ones.
    """
    found = {name: np.unique(v).astype(np.int64) for name, v in columns.items() if _is_whole(v)}
    steps = {name: int(np.gcd.reduce(np.diff(own))) for name, own in found.items() if len(own) > 1}
    changed = True
    while changed:
        changed = False
        for name in [name for name, step in steps.items() if step > 1]:
            own, step = found[name], steps[name]
            others = [v[(v > own[0]) & (v < own[-1])] - own[0] for v in found.values() if v[-1] - v[0] >= step]
            steps[name] = int(np.gcd.reduce(np.concatenate([[step], *others])))
            changed |= steps[name] < step
    used: dict[tuple[int, int], set[int]] = {}  # the levels of columns with one step, where they are on one scale
    for name, step in steps.items():
        used.setdefault((step, int(found[name][0]) % step), set()).update(found[name].tolist())
    coded = {}
    for name, step in steps.items():
        low, high = found[name][[0, -1]].tolist()
        if step == 1 or high - low >= MOST_LEVELS * step:
            continue
        levels = tuple(range(low, high + 1, step))
        if 2 * len(used[step, low % step].intersection(levels)) > len(levels):
            coded[name] = levels
    return coded


def tell_of_steps(columns: Mapping[str, tuple[int, ...]]) -> None:
    """Tell which columns of more than two levels have steps that are taken for a coding; see `recoded`."""
    several = [name for name, levels in columns.items() if len(levels) > 2]
    if several:
        levels = columns[several[0]]
        tell(
            f"{len(several)} column(s) have levels in equal steps, and no column has one between them: "
            f"{listed(list(map(quoted, several)))} (the first: {listed([digits(v) for v in levels])}); the levels are "
            "taken as one step apart. Give ordered categories with all levels if there are others that nobody chose",
            LevelsWarning,
            NOTE,
        )


def _is_whole(values: np.ndarray) -> bool:
    if not len(values) or values.dtype.kind not in "iuf":
        return False
    return bool(np.isfinite(values).all() and (values == np.round(values)).all() and np.abs(values).max() < 2**53)
