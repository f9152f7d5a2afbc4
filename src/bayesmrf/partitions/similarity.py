"""Posterior similarity of items, and partitions by cutting average-linkage trees of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import squareform
from scipy.special import xlogy

from ..compiled import copy_to, leaf
from ..errors import OptionError
from .distance import canonical

MOST_CO_CLUSTERING_ITEMS = 5_000  # 200 MB


def co_clustering(draws: Any, items: Any) -> np.ndarray:
    """Compute the posterior probability that two items share a group, for selected items.

    Parameters
    ----------
    draws : (..., n_items) integer array
        Groupings from the posterior; leading dimensions (chain, draw) are joined.
    items : (m,) integer array
        Selected items, at most 5,000.

    Returns
    -------
    (m, m) array with ones on the diagonal.
    """
    labels, wanted = np.asarray(draws), np.atleast_1d(np.asarray(items))
    n_items = labels.shape[-1] if labels.ndim else 0
    if wanted.ndim != 1 or not np.issubdtype(wanted.dtype, np.integer):
        raise OptionError(f"items must be a list of item numbers, got {wanted.dtype} of shape {wanted.shape}.")
    if wanted.size > MOST_CO_CLUSTERING_ITEMS:
        raise OptionError(f"items must be at most {MOST_CO_CLUSTERING_ITEMS} items, got {wanted.size}, a table of "
                          f"{wanted.size**2 * 8 / 2**30:.1f} GiB.")  # fmt: skip
    wrong = np.flatnonzero((wanted < 0) | (wanted >= n_items))
    if wrong.size:
        raise OptionError(f"items must be numbers from 0 to {n_items - 1}, got {wanted[wrong[0]]} at index "
                          f"{wrong[0]}.")  # fmt: skip
    chosen = canonical(labels.reshape(-1, n_items)[:, wanted])
    if wanted.size == 1:
        return np.ones((1, 1))
    together = squareform(_shared(chosen) / len(chosen))
    np.fill_diagonal(together, 1.0)
    return together


def linkage_cut(labels: np.ndarray, rows: np.ndarray, weights: np.ndarray, most: int) -> np.ndarray:
    """Cut the average-linkage tree over 1 - similarity where it is closest to the draws.

    Every cut into at most ``most`` groups is looked at: joining two groups changes nothing but their own intersections
    with the draws, so that all cuts together cost little more than one.

    Parameters
    ----------
    labels : (n_draws, n_items) array
        Draws, canonical, with their repeats; at least two and at most 5,000 items.
    rows, weights : (n_items, n_distinct), (n_distinct,) arrays
        For each item its group in each distinct draw, numbered through all of them, and the weights of these draws.
    most : int
        At least one, at most n_items.
    """
    from scipy.cluster.hierarchy import linkage

    n_items = labels.shape[1]
    pairs = linkage(1.0 - _shared(labels) / len(labels), "average")[:, :2].astype(np.int64)
    groups = _cut(pairs, n_items, most)
    of_row = np.empty(int(rows.max()) + 1)
    of_row[rows] = weights
    counts = {k: np.bincount(rows[groups == k].ravel(), minlength=len(of_row)) for k in np.unique(groups)}
    sizes = np.bincount(groups, minlength=2 * n_items - 1)
    change, least, best = 0.0, 0.0, groups
    for step in range(n_items - most, n_items - 1):
        (a, b), new = pairs[step], n_items + step
        gain = xlogy(sizes[a] + sizes[b], sizes[a] + sizes[b]) - xlogy(sizes[a], sizes[a]) - xlogy(sizes[b], sizes[b])
        first, second = counts.pop(a), counts.pop(b)
        counts[new], sizes[new] = first + second, sizes[a] + sizes[b]
        shared = np.flatnonzero((first > 0) & (second > 0))  # elsewhere nothing changes
        x, y = first[shared], second[shared]
        change += gain - 2.0 * float(of_row[shared] @ (xlogy(x + y, x + y) - xlogy(x, x) - xlogy(y, y)))
        if change < least:
            least, best = change, _cut(pairs, n_items, n_items - step - 1)
    return canonical(best)


def _cut(pairs: np.ndarray, n_items: int, n_groups: int) -> np.ndarray:
    """Return the groups after all but ``n_groups`` - 1 of the joins, by their numbers in the tree."""
    top = np.arange(2 * n_items - 1)
    for step in range(n_items - n_groups - 1, -1, -1):
        top[pairs[step]] = top[n_items + step]
    return top[:n_items]


@leaf
def _shared(labels):
    """Count the draws in which each two items share a group, in the order of scipy's condensed matrices.

    A block of columns at a time: it stays in the cache while all items before it are compared with it.
    """
    n_draws, m = labels.shape
    out = np.zeros(m * (m - 1) // 2, dtype=np.int32)
    width, most = 256, 2**15 - 1  # columns and draws that are compared at a time, in 16 bits
    block = np.empty((most, width), dtype=np.int16)
    total = np.empty(width, dtype=np.int16)
    for top in range(0, n_draws, most):
        bottom = min(n_draws, top + most)
        for left in range(0, m, width):
            right = min(m, left + width)
            for d in range(bottom - top):
                copy_to(block[d, : right - left], labels[top + d, left:right])
            for a in range(right - 1):
                total[:] = 0
                for d in range(bottom - top):
                    own = np.int16(labels[top + d, a])
                    for b in range(width):
                        total[b] += np.int16(own == block[d, b])
                for b in range(max(a + 1, left), right):
                    out[a * m - a * (a + 1) // 2 + b - a - 1] += total[b - left]
    return out
