"""Rows that belong together by a label, such as those of one person, church or rater: which columns say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..names import quoted

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 20  # labels of several rows each


class Blocks(NamedTuple):
    """Rows that belong together: those with one label of the index of a table, such as the number of a person.

    Parameters
    ----------
    codes : (n_samples,) array
        Number of the block of each row.
    same : str
        What they have in common, such as "with the same 'id'".
    numbers : (n_blocks,) array or None
        The label of each block if all labels are numbers, so that their order may mean something, as that of ages does.
    """

    codes: np.ndarray
    same: str
    numbers: np.ndarray | None = None


def blocks_of(frame: pd.DataFrame) -> tuple[Blocks, ...]:
    """Return the rows of a DataFrame that have one label: of each level of its index, and of all levels together.

    Rows without a label are on their own. Levels whose labels are of one row each are left out.
    """
    index = frame.index
    levels = [index.get_level_values(i) for i in range(index.nlevels)]
    every = levels if len(levels) == 1 else [*levels, index]
    return tuple(blocks for level in every if (blocks := _blocks(frame, level)) is not None)


def label_columns(frame: pd.DataFrame) -> list[str]:
    """Return the columns that may say which rows belong together: 20 or more integers or texts of several rows each."""
    names = []
    for name in map(str, frame.columns):
        values = frame[name].dropna()
        if values.dtype.kind == "f" and not np.array_equal(values, np.round(values)):
            continue  # a measurement
        if values.dtype.kind != "b" and int((values.value_counts() > 1).sum()) >= FEWEST:
            names.append(name)
    return names


def _blocks(frame: pd.DataFrame, labels: pd.Index) -> Blocks | None:
    if labels.is_unique:
        return None
    codes, distinct = labels.factorize()[0], labels.unique().dropna()
    order = np.argsort(np.array([*map(str, distinct)]), kind="stable")  # whatever the order of the rows
    codes, distinct = np.where(codes < 0, -1, np.argsort(order)[codes]), distinct[order]
    rows = frame.reset_index(drop=True)
    rows.insert(0, "label", codes, allow_duplicates=True)
    if len(rows.drop_duplicates()) == labels.nunique(dropna=False):
        return None  # all rows of a label are one row, which was repeated as often as it was counted
    alone = codes < 0
    codes = np.where(alone, len(distinct) + np.cumsum(alone) - 1, codes)
    numbers = distinct.to_numpy(dtype=np.float64) if labels.dtype.kind in "iuf" else None
    names = [str(name) for name in labels.names if name is not None]
    of = " and ".join(map(quoted, names)) if len(names) == labels.nlevels else ""
    return Blocks(codes, f"with the same {of}" if of else "with the same label of the index", numbers)
