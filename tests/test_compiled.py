"""Compiled code on disk, where several processes write it at the same time."""

import importlib
import sys

import numpy as np
import pytest
from numba import njit

from bayesmrf.compiled import strict_leaf


@pytest.fixture
def total(tmp_path, monkeypatch):
    """A function in a file of its own; each call of the fixture compiles as another process would."""
    (tmp_path / "sums_of_rows.py").write_text(
        "def total(x):\n    s = 0.0\n    for v in x:\n        s += v\n    return s\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sums_of_rows", raising=False)
    return importlib.import_module("sums_of_rows").total


def both(compiler, total):
    """Two processes compile for floats and for integers; the first is slow to write. What a third finds for both."""
    first, second, third = (compiler(total) for _ in range(3))
    files = first._cache._cache_file, second._cache._cache_file
    write = files[0]._save_data

    def late(name, data):
        files[1]._load_index = dict  # it was read before there was one
        second(np.arange(4))
        write(name, data)

    files[0]._save_data = late
    first(np.arange(4.0))
    return [third(np.arange(4, dtype=kind)) for kind in (float, np.int64)]


def test_signatures_compiled_at_the_same_time_are_kept_apart(total):
    assert both(strict_leaf, total) == [6, 6]


def test_control_numba_alone_takes_one_for_the_other(total):
    assert both(njit(cache=True), total) != [6, 6]


def test_code_is_found_again(total):
    first, second = strict_leaf(total), strict_leaf(total)
    first(np.arange(4.0))
    first(np.arange(4))
    assert second(np.arange(4)) == 6
    assert second(np.arange(4.0)) == 6
    assert sum(second.stats.cache_hits.values()) == 2
    assert not second.stats.cache_misses
