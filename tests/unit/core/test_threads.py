"""Libraries have one thread where the package asks for it, and as many as before afterwards."""

import sys
import types

from threadpoolctl import threadpool_info, threadpool_limits

from bayesmrf import threads
from bayesmrf.threads import one_thread


def n_threads():
    return {row["num_threads"] for row in threadpool_info()}  # of BLAS, and of OpenMP if scikit-learn is loaded


def test_one_thread():
    with threadpool_limits(2):
        for _ in range(2):  # the second time with what was found the first time
            with one_thread():
                assert n_threads() == {1}
            assert n_threads() == {2}


def test_libraries_that_are_loaded_later_are_found(monkeypatch):
    with one_thread():
        pass
    monkeypatch.setitem(sys.modules, "another", types.ModuleType("another"))
    before = threads._libraries.cache_info().misses
    with one_thread():
        pass
    assert threads._libraries.cache_info().misses == before + 1
