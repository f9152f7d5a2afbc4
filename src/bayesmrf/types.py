"""Types of the arguments that users give to estimators and functions."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from .runs.store import Checkpoint

Rows: TypeAlias = "pd.DataFrame | np.ndarray | Sequence[Sequence[Any]]"  # a table with a row for each observation
Column: TypeAlias = "pd.Series | np.ndarray | Sequence[Any] | str | None"  # a value of each row, or a name of a column
Weights: TypeAlias = "pd.Series | np.ndarray | Sequence[float] | None"  # a number for each row
Seed: TypeAlias = "int | np.random.Generator | np.random.SeedSequence | np.random.RandomState | None"
Workers: TypeAlias = "Executor | Any | None"  # also a client of Dask
Stored: TypeAlias = "Checkpoint | str | PathLike[str] | None"
