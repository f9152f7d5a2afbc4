"""How many jobs run at a time, and one thread for libraries: BLAS, and what uses OpenMP, such as k-means.

``n_jobs`` means the same for chains, replicates, regressions and sweeps. Matrices are small here: threads that wait for
each other are up to 40 times slower. And a process that was forked has none of the threads of its parent: OpenMP of
GCC, which does not know it, would wait for them for ever.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from joblib import cpu_count
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from .declare.rule import JOBS, optional


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


def count_jobs(n_jobs: int | None, n_tasks: int) -> int:
    """Return how many of so many tasks run at a time.

    Parameters
    ----------
    n_jobs : int or None
        As in joblib: -1 is one job for each core, -2 leaves one core free. None is the number of
        `joblib.parallel_config`, or else one for each core.
    n_tasks : int

    Raises
    ------
    OptionError
        If ``n_jobs`` is 0, or no integer.
    """
    optional(JOBS).check("n_jobs", n_jobs)
    if n_jobs is None:
        _, n_jobs = get_active_backend()
    n_jobs = -1 if n_jobs is None else int(n_jobs)
    if n_jobs < 0:
        n_jobs += 1 + cpu_count()
    return max(1, min(n_jobs, n_tasks))
