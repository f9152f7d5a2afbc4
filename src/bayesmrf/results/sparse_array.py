"""Draws that become an array when they are read, as those of a file do (xarray's interface of backends)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from ..runs.draws import SparseDraws


class SparseArray(BackendArray):
    """Draws of a field; booleans as 0 and 1."""

    def __init__(self, draws: SparseDraws) -> None:
        self.draws, self.shape = draws, draws.shape
        self.dtype = np.dtype(np.int8) if draws.dtype == bool else draws.dtype

    def __getitem__(self, key: Any) -> Any:
        support = indexing.IndexingSupport.OUTER
        return indexing.explicit_indexing_adapter(key, self.shape, support, self._read)

    def _read(self, key: tuple[Any, ...]) -> np.ndarray:
        """Read the entries at slices, arrays of numbers, and numbers."""
        wanted = [np.atleast_1d(np.arange(n)[k]) for n, k in zip(self.shape, key, strict=True)]
        each = [np.unique(numbers, return_inverse=True) for numbers in wanted]
        values = self.draws.read(wanted[0], each[1][0], each[-1][0])
        for axis in range(1, len(key)):
            at = wanted[axis] if 1 < axis < len(key) - 1 else each[axis][1]
            if not np.array_equal(at, np.arange(values.shape[axis])):
                values = np.take(values, at, axis=axis)
        numbers = tuple(axis for axis, k in enumerate(key) if np.ndim(k) == 0 and not isinstance(k, slice))
        return values.squeeze(numbers).astype(self.dtype, copy=False)


def variable(dims: Sequence[str], draws: SparseDraws) -> xr.Variable:
    """Return draws as a variable, which keeps all values when they were asked for, and those of a part never."""
    lazy: Any = indexing
    return xr.Variable(dims, lazy.MemoryCachedArray(lazy.LazilyIndexedArray(SparseArray(draws))))


def draws_of(v: xr.Variable) -> SparseDraws | None:
    """Return the draws of `variable`; None if it is another one, or if all values were asked for."""
    lazy: Any = indexing
    kept: Any = v._data
    inner = kept.array if isinstance(kept, lazy.MemoryCachedArray) else None
    if not (isinstance(inner, lazy.LazilyIndexedArray) and isinstance(inner.array, SparseArray)):
        return None
    array: SparseArray = inner.array
    return array.draws if inner.shape == array.shape else None
