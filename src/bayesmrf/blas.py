"""One thread for libraries: BLAS, and what uses OpenMP, such as k-means of scikit-learn.

Matrices are small here: threads that wait for each other are up to 40 times slower. And a process that was forked has
none of the threads of its parent: OpenMP of GCC, which does not know it, would wait for them for ever.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit libraries, as a context or, called, as the decorator of a function.

    BLAS is limited in all threads of the process, OpenMP in the one that calls this.
    """
    with _libraries(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """Find the libraries that are loaded, which takes 3 ms; only the import of a module loads another one."""
    return ThreadpoolController()
