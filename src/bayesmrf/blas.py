"""One thread for BLAS. Matrices are small here: threads that wait for each other are up to 40 times slower."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS, as a context or, called, as the decorator of a function."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield
