"""The Dirichlet process over groupings, and all groupings of a few items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import gammaln

from ..declare.rule import POSITIVE, integer
from .distance import canonical

MOST_SET_PARTITION_ITEMS = 10  # 115,975 partitions


def log_prior(groups: Any, alpha: float) -> float:
    r"""Return the log probability of a grouping under the Dirichlet process (the Chinese restaurant process).

    .. math:: p(c) = \frac{\Gamma(\alpha)}{\Gamma(\alpha + n)} \alpha^k \prod_{j=1}^k (n_j - 1)!
    """
    sizes = np.bincount(canonical(groups))
    POSITIVE.check("alpha", alpha)
    return float(gammaln(alpha) - gammaln(alpha + sizes.sum()) + len(sizes) * np.log(alpha) + gammaln(sizes).sum())


def set_partitions(n_items: int) -> Iterator[np.ndarray]:
    """List all groupings of at most 10 items in canonical labels (restricted growth strings)."""
    integer(1, MOST_SET_PARTITION_ITEMS).check("n_items", n_items)
    return _grow(n_items)


def _grow(n_items: int) -> Iterator[np.ndarray]:
    if n_items == 1:
        yield np.zeros(1, dtype=np.int64)
        return
    for first in _grow(n_items - 1):
        for label in range(first.max() + 2):
            yield np.append(first, label)
