"""The variation of information between groupings (Meila 2003)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from ..compiled import leaf, strict_leaf
from ..errors import DataError, OptionError


def canonical(groups: Any) -> np.ndarray:
    """Relabel groups 0..k-1 in the order of their first appearance.

    Parameters
    ----------
    groups : (..., n_items) integer array
        Any integer labels; each row is one partition.

    Returns
    -------
    (..., n_items) int32 array
    """
    labels = np.asarray(groups)
    if labels.ndim == 0 or labels.size == 0 or not (np.issubdtype(labels.dtype, np.integer) or labels.dtype == bool):
        raise DataError(f"groups must be an array of integer labels, one for each item, got {labels.dtype} of shape "
                        f"{labels.shape}.")  # fmt: skip
    rows = labels.reshape(-1, labels.shape[-1])
    low, high = int(rows.min()), int(rows.max())
    if high - low > 2 * rows.size:  # widely spaced labels: rank them, so that a table over them fits
        rows = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
        low, high = 0, int(rows.max())
    out = np.empty(rows.shape, dtype=np.int32)
    _relabel(rows, low, np.full(high - low + 1, -1, dtype=np.int64), np.empty(high - low + 1, dtype=np.int32), out)
    return out.reshape(labels.shape)


def variation_of_information(a: Any, b: Any) -> float:
    r"""Compute the distance between two groupings, in nats.

    .. math:: VI(a, b) = H(a \mid b) + H(b \mid a)
        = \frac1n \Big( \sum_k n_k \log n_k + \sum_l m_l \log m_l - 2 \sum_{kl} n_{kl} \log n_{kl} \Big),

    where n_k and m_l are the sizes of the groups and n_kl of their intersections (Meila 2003). It is a metric on
    partitions, at most log n. Time and memory are O(n) (O(n log n) for widely spaced labels).
    """
    return float(distances(canonical(a), canonical(b)[None])[0])


def expected_vi(candidate: Any, draws: Any) -> float:
    """Compute the mean variation of information of one grouping (n_items,) and the draws (..., n_items), in nats."""
    return float(distances(canonical(candidate), joined(canonical(draws))).mean())


def random_partition(n_items: int, n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """Draw a random grouping with exactly ``n_groups`` groups.

    Each group receives one item drawn without replacement, every other item a group drawn uniformly.
    """
    if not 1 <= n_groups <= n_items:
        raise OptionError(
            option="n_groups", got=n_groups, expected=f"an integer from 1 to {n_items}, the number of items"
        )
    groups = rng.integers(n_groups, size=n_items)
    groups[rng.choice(n_items, size=n_groups, replace=False)] = np.arange(n_groups)
    return groups


def vi_difference(groups_draws: Any, truth: Any, rng: np.random.Generator) -> float:
    """Return the distance of random partitions from the truth minus that of draws with as many groups, in nats.

    The mean over the draws C of VI(C', truth) - VI(C, truth), where C' is a random grouping with as many groups as C
    (Liu and Page 2013, section 4). Zero is no better than chance; more is better.
    """
    draws, truth = joined(canonical(groups_draws)), canonical(truth)
    n_groups = draws.max(axis=1) + 1
    chance = [distances(truth, canonical(random_partition(truth.size, int(k), rng))[None])[0] for k in n_groups]
    return float(np.mean(chance) - distances(truth, draws).mean())


def joined(draws: Any) -> np.ndarray:
    """Join the leading dimensions of draws (..., n_items); a single grouping is one draw."""
    labels = np.asarray(draws)
    return labels.reshape(-1, labels.shape[-1]) if labels.ndim else labels


def thinned(draws: np.ndarray, most: int) -> np.ndarray:
    """Return at most ``most`` of the draws, evenly spaced."""
    if len(draws) <= most:
        return draws
    return draws[np.linspace(0, len(draws) - 1, most).round().astype(np.int64)]


def distances(groups: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Compute the variation of information of ``groups`` (n_items,) and each draw (n_draws, n_items), all canonical."""
    if len(groups) != draws.shape[1]:
        raise DataError(f"groups must be partitions of the same items, got {len(groups)} and {draws.shape[1]} "
                        "items.")  # fmt: skip
    n_groups = groups.max() + 1
    starts = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=n_groups))])
    return _compare(np.argsort(groups, kind="stable"), starts, draws, n_log_n(len(groups)))


def n_log_n(n_items: int) -> np.ndarray:
    """Tabulate n log n for n <= n_items."""
    size = np.arange(n_items + 1.0)
    return xlogy(size, size)


@leaf
def _relabel(rows, low, seen, new, out):
    for d in range(rows.shape[0]):
        k = 0
        for i in range(rows.shape[1]):
            label = int(rows[d, i]) - low
            if seen[label] != d:
                seen[label] = d
                new[label] = k
                k += 1
            out[d, i] = new[label]


@strict_leaf
def _compare(order, starts, draws, n_log_n):
    """Compute distances to the draws. Items are sorted by group: one group at a time needs only O(n_items) memory."""
    n_draws, n_items = draws.shape
    out = np.empty(n_draws)
    own = 0.0
    for k in range(len(starts) - 1):
        own += n_log_n[starts[k + 1] - starts[k]]
    joint_size = np.zeros(n_items, dtype=np.int64)
    size = np.zeros(n_items, dtype=np.int64)
    for d in range(n_draws):
        size[:] = 0
        joint = 0.0
        for k in range(len(starts) - 1):
            for i in range(starts[k], starts[k + 1]):
                joint_size[draws[d, order[i]]] += 1
            for i in range(starts[k], starts[k + 1]):
                label = draws[d, order[i]]
                joint += n_log_n[joint_size[label]]
                size[label] += joint_size[label]
                joint_size[label] = 0
        other = 0.0
        for label in range(n_items):
            other += n_log_n[size[label]]
        out[d] = max(0.0, (own + other - 2.0 * joint) / n_items)
    return out
