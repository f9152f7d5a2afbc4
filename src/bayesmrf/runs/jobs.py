"""How many jobs run at a time: what ``n_jobs`` means for chains, replicates, regressions and sweeps alike."""

from __future__ import annotations

from joblib import cpu_count
from joblib.parallel import get_active_backend

from ..declare.rule import JOBS, optional


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
