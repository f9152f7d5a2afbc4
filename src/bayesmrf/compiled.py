"""How every compiled leaf is compiled.

A *leaf* is a plain function over arrays and NamedTuples of arrays; everything above it is ordinary Python.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile


class _OwnFiles(IndexDataCacheFile):
    """The compiled code of a function on disk, each signature in a file whose name no other one can have.

    Numba numbers these files by an index that it reads first and writes later: where two processes compiled different
    signatures at the same time, both wrote to one file, and the code of one was run as that of the other.
    """

    def save(self, key: Any, data: Any) -> None:
        """Write the code, then the index: what this names is there."""
        name = self._index_name.removesuffix("nbi") + sha256(repr(key).encode()).hexdigest()[:16] + ".nbc"
        self._save_data(name, data)
        self._save_index(self._load_index() | {key: name})


def _compiled(**options: Any) -> Any:
    """A decorator of leaves."""
    compiler = njit(cache=True, nogil=True, error_model="numpy", **options)

    def decorate(function: Any) -> Any:
        found = compiler(function)
        cache = getattr(found, "_cache", None)  # there is none where compilation is switched off
        if isinstance(cache, FunctionCache):
            cache._cache_file.__class__ = _OwnFiles
        return found

    return decorate


# error_model="numpy" drops the ZeroDivisionError branch, without which the lane loops do not vectorise.
leaf = _compiled(fastmath=True)

# The same without fastmath: for code that meets infinities (log of zero) or relies on the order of summation.
strict_leaf = _compiled()
