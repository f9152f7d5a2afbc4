"""One thread for BLAS. Matrices are small here: threads that wait for each other are up to 40 times slower."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, as a context or, called, as the decorator of a function."""
    with _libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries that are loaded, which takes 3 ms; only the import of a module loads another one."""
    return ThreadpoolController()
