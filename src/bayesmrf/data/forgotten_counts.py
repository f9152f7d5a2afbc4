"""A column of counts that was left among the answers, where the model takes all values as answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DataError, WeightWarning, argument
from ..findings import tell
from .frames import cells, in_pandas, is_frame
from .kinds.count import count_problem, forgotten_count
from .missing import unmasked
from .states import States, levels_of


def refuse_forgotten_counts(X: Any, sample_weight: Any) -> None:
    """Name a column of counts in place of an error about its values.

    Raises
    ------
    DataError
    """
    import pandas as pd

    X = in_pandas(X)
    values = cells(X) if is_frame(X) else unmasked(X)
    if sample_weight is not None or values.ndim != 2 or values.dtype.kind not in "biufO":
        return
    frame = X if is_frame(X) else pd.DataFrame(values)
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    if (name := forgotten_count(frame) if frame.columns.is_unique else None) is not None:
        raise DataError(f"{argument('X')} must contain answers only: {count_problem(name)}")


def tell_of_forgotten_counts(parts: Sequence[States]) -> bool:
    """Tell of a column of counts among the answers of all groups of people, and return whether there is one."""
    if found := remark_on_counts(parts):
        tell(found, WeightWarning)
    return bool(found)


def remark_on_counts(parts: Sequence[States]) -> str:
    """Return what a column of counts among the answers means; empty if there is none."""
    names = {_forgotten(part) for part in parts}
    if len(names) > 1 or None in names:
        return ""
    return f"Counts: each row was taken as one observation, but {count_problem(str(names.pop()))}."


def _forgotten(states: States) -> str | None:
    """Return the column of counts of a table without weights; None if there is none."""
    import pandas as pd

    if states.weights is not None or len(states.names) < 2 or (states.values < 0).any():
        return None
    if len(np.unique(states.values, axis=0)) < len(states.values):
        return None
    each = enumerate(states.names)
    return forgotten_count(
        pd.DataFrame({n: np.asarray(levels_of(states.coding, i))[states.values[:, i]] for i, n in each})
    )
