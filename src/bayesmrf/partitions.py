"""Groupings of items: distances between them, one that stands for many, and the Dirichlet process over them.

A grouping (a partition) of n items is a vector of n integer labels; only which items share a label matters. Posterior
draws of a grouping are an array ``(n_draws, n_items)``. Nothing here has the size n_items^2, but for `co_clustering` of
the items asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from .compiled import leaf, strict_leaf
from .errors import DataError, OptionError

MOST_SET_PARTITION_ITEMS = 10  # 115,975 partitions
MOST_CO_CLUSTERING_ITEMS = 5_000  # 200 MB


def canonical(groups: Any) -> np.ndarray:
    """Relabel groups 0..k-1 in the order of their first appearance.

    Parameters
    ----------
    groups : (..., n_items) integer array
        Any integer labels; each row is a grouping of its own.

    Returns
    -------
    (..., n_items) int32 array
    """
    labels = np.asarray(groups)
    if labels.ndim == 0 or labels.size == 0 or not (np.issubdtype(labels.dtype, np.integer) or labels.dtype == bool):
        raise DataError(f"groups: an array of {labels.dtype} of shape {labels.shape} came; at least one integer label "
                        "is wanted, one for each item")  # fmt: skip
    rows = labels.reshape(-1, labels.shape[-1])
    low, high = int(rows.min()), int(rows.max())
    if high - low > 2 * rows.size:  # far-flung labels: rank them, so that a table over them fits
        rows = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
        low, high = 0, int(rows.max())
    out = np.empty(rows.shape, dtype=np.int32)
    _relabel(rows, low, np.full(high - low + 1, -1, dtype=np.int64), np.empty(high - low + 1, dtype=np.int32), out)
    return out.reshape(labels.shape)


def variation_of_information(a: Any, b: Any) -> float:
    r"""Distance between two groupings, in nats.

    .. math:: VI(a, b) = H(a \mid b) + H(b \mid a)
        = \frac1n \Big( \sum_k n_k \log n_k + \sum_l m_l \log m_l - 2 \sum_{kl} n_{kl} \log n_{kl} \Big),

    where n_k and m_l are the sizes of the groups and n_kl of their intersections (Meila 2003). It is a metric on
    partitions, at most log n. Time and memory are O(n) (O(n log n) for far-flung labels).
    """
    return float(_distances(canonical(a), canonical(b)[None])[0])


def expected_vi(candidate: Any, draws: Any) -> float:
    """Mean variation of information, in nats, between one grouping (n_items,) and each of the draws (..., n_items)."""
    labels = canonical(draws)
    return float(_distances(canonical(candidate), labels.reshape(-1, labels.shape[-1])).mean())


def random_partition(n_items: int, n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """A random grouping with exactly ``n_groups`` groups.

    Each group receives one item drawn without replacement, every other item a group drawn uniformly.
    """
    if not 1 <= n_groups <= n_items:
        raise OptionError(f"n_groups: {n_groups} came for {n_items} items; a number from 1 to {n_items} is wanted")
    groups = rng.integers(n_groups, size=n_items)
    groups[rng.choice(n_items, size=n_groups, replace=False)] = np.arange(n_groups)
    return groups


def vi_difference(groups_draws: Any, truth: Any, rng: np.random.Generator) -> float:
    """How much closer to the truth the draws are than random groupings with as many groups, in nats.

    The mean over the draws C of VI(C', truth) - VI(C, truth), where C' is a random grouping with as many groups as C
    (Liu and Page 2013, section 4). Zero is no better than chance; more is better.
    """
    draws, truth = canonical(groups_draws), canonical(truth)
    draws = draws.reshape(-1, draws.shape[-1])
    n_groups = draws.max(axis=1) + 1
    chance = [_distances(truth, canonical(random_partition(truth.size, int(k), rng))[None])[0] for k in n_groups]
    return float(np.mean(chance) - _distances(truth, draws).mean())


def point_partition(draws: Any) -> np.ndarray:
    """The grouping that stands for the draws: it minimises their expected variation of information.

    Wade and Ghahramani (2018), by greedy descent: single items move, also to a group of their own, until no move lowers
    the expected distance. The descents start at the best few of the draws, at one group for everything, and at
    sequential allocations of the items in several orders (Dahl, Johnson and Mueller 2022); the best end point is
    returned. It is never worse than the best draw examined, and is a minimum under single moves, not proven to be the
    global one. The answer is deterministic.

    More than max(100, min(5000, 2^22 / n_items)) draws are thinned evenly to that number, and further where the tables
    of intersections would exceed 2^26 cells. The best draws are sought among as many as cost 2^27 steps, evenly spaced.

    Parameters
    ----------
    draws : (..., n_items) integer array
        Groupings from the posterior; leading dimensions (chain, draw) are joined.

    Returns
    -------
    (n_items,) int64 array
        Labels 0..k-1 in the order of first appearance.
    """
    labels = np.asarray(draws)
    labels = labels.reshape(-1, labels.shape[-1]) if labels.ndim else labels
    n_items = labels.shape[-1] if labels.ndim else 0
    labels = canonical(_thin(labels, max(100, min(5000, 2**20 // max(1, n_items)))))
    capacity = min(n_items, 2 * (int(labels.max()) + 1) + 8)
    labels = _thin(labels, max(1, 2**26 // int((labels.max(axis=1) + 1).mean() * capacity)))
    times = Counter(row.tobytes() for row in labels)
    distinct = np.frombuffer(b"".join(times), dtype=np.int32).reshape(len(times), n_items)
    weights = np.array(list(times.values())) / len(labels)

    visited = _thin(distinct, max(1, 2**27 // distinct.size))
    rank = np.argsort([_distances(c, distinct) @ weights for c in visited], kind="stable")
    n_starts = max(6, min(32, 2**26 // (distinct.size * capacity)))
    starts = [*visited[rank[: n_starts // 3]], np.zeros(n_items, dtype=np.int32)]
    starts += [np.full(n_items, -1, dtype=np.int32)] * (n_starts - len(starts))
    shuffler = np.random.default_rng(0)
    orders = [shuffler.permutation(n_items) for _ in starts]

    sizes = distinct.max(axis=1) + 1
    rows = np.ascontiguousarray((distinct + (np.cumsum(sizes) - sizes).astype(np.int32)[:, None]).T)
    size = np.arange(n_items + 1.0)
    rise = np.diff(xlogy(size, size))  # (n + 1) log(n + 1) - n log n
    count = np.empty((int(sizes.sum()), capacity), dtype=np.int32)
    gain = np.empty(count.shape)
    ends = [canonical(_descend(s, o, rows, weights, rise, count, gain)) for s, o in zip(starts, orders, strict=True)]
    best = min([starts[0], *ends], key=lambda c: _distances(c, distinct) @ weights)
    return best.astype(np.int64)


def co_clustering(draws: Any, items: Any) -> np.ndarray:
    """Posterior probability that two items share a group, for the items asked for.

    Parameters
    ----------
    draws : (..., n_items) integer array
        Groupings from the posterior; leading dimensions (chain, draw) are joined.
    items : (m,) integer array
        Items wanted, at most 5,000.

    Returns
    -------
    (m, m) array with ones on the diagonal.
    """
    labels, wanted = np.asarray(draws), np.atleast_1d(np.asarray(items))
    n_items = labels.shape[-1] if labels.ndim else 0
    if wanted.ndim != 1 or not np.issubdtype(wanted.dtype, np.integer):
        raise OptionError(f"items: {wanted.dtype} of shape {wanted.shape} came; a list of item numbers is wanted")
    if wanted.size > MOST_CO_CLUSTERING_ITEMS:
        raise OptionError(f"items: {wanted.size} items came, a table of {wanted.size**2 * 8 / 2**30:.1f} GiB; "
                          f"ask for at most {MOST_CO_CLUSTERING_ITEMS} at a time")  # fmt: skip
    wrong = np.flatnonzero((wanted < 0) | (wanted >= n_items))
    if wrong.size:
        raise OptionError(f"items: item {wanted[wrong[0]]} at place {wrong[0]} is out of range; "
                          f"numbers from 0 to {n_items - 1} are wanted")  # fmt: skip
    chosen = canonical(labels.reshape(-1, n_items)[:, wanted])
    return _shared(chosen) / len(chosen)


def log_prior(groups: Any, alpha: float) -> float:
    r"""Log probability of a grouping under the Dirichlet process (the Chinese restaurant process).

    .. math:: p(c) = \frac{\Gamma(\alpha)}{\Gamma(\alpha + n)} \alpha^k \prod_{j=1}^k (n_j - 1)!
    """
    sizes = np.bincount(canonical(groups))
    alpha = _check_alpha(alpha)
    return float(gammaln(alpha) - gammaln(alpha + sizes.sum()) + len(sizes) * np.log(alpha) + gammaln(sizes).sum())


def expected_n_groups(n_items: int, alpha: float) -> float:
    """Prior mean of the number of groups, the sum over i < n of alpha / (alpha + i)."""
    alpha = _check_alpha(alpha)
    return float(alpha * (digamma(alpha + n_items) - digamma(alpha)))


def set_partitions(n_items: int) -> Iterator[np.ndarray]:
    """All groupings of at most 10 items, each once, in canonical labels (restricted growth strings)."""
    if not 1 <= n_items <= MOST_SET_PARTITION_ITEMS:
        raise OptionError(f"n_items: {n_items} came; a number from 1 to {MOST_SET_PARTITION_ITEMS} is wanted")
    return _grow(n_items)


def _grow(n_items: int) -> Iterator[np.ndarray]:
    if n_items == 1:
        yield np.zeros(1, dtype=np.int64)
        return
    for first in _grow(n_items - 1):
        for label in range(first.max() + 2):
            yield np.append(first, label)


def _check_alpha(alpha: float) -> float:
    if not (np.isfinite(alpha) and alpha > 0):
        raise OptionError(f"alpha: {alpha} came; a positive concentration is wanted")
    return float(alpha)


def _thin(draws: np.ndarray, most: int) -> np.ndarray:
    if len(draws) <= most:
        return draws
    return draws[np.linspace(0, len(draws) - 1, most).round().astype(np.int64)]


def _distances(groups: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Variation of information between ``groups`` (n_items,) and each draw (n_draws, n_items), all canonical."""
    if len(groups) != draws.shape[1]:
        raise DataError(f"groups: groupings of {len(groups)} and of {draws.shape[1]} items cannot be compared; "
                        "give one label for each of the same items")  # fmt: skip
    n_groups = groups.max() + 1
    starts = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=n_groups))])
    size = np.arange(len(groups) + 1.0)
    return _compare(np.argsort(groups, kind="stable"), starts, draws, xlogy(size, size))


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
    """Distances to the draws. Items are sorted by group: one group at a time needs only O(n_items) memory."""
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


@leaf
def _descend(start, order, rows, weights, rise, count, gain):
    """Move single items to where the expected distance is least, until none moves.

    Label -1 is an item not placed yet. ``count`` is the table of intersections (group of a draw, group): item i of draw
    d lies in its row ``rows[i, d]``. ``gain`` = ``rise[count]`` is kept beside it, so that the inner loop is one
    contiguous sum. Putting an item into group k raises n times the expected distance by
    rise[n_k] - 2 sum_d w_d rise[n_kl], which is zero for an empty group.
    """
    n_items, n_draws = rows.shape
    capacity = count.shape[1]
    labels = start.copy()
    sizes = np.zeros(capacity, dtype=np.int64)
    count[:] = 0
    gain[:] = 0.0
    for i in range(n_items):
        k = labels[i]
        if k >= 0:
            sizes[k] += 1
            for d in range(n_draws):
                count[rows[i, d], k] += 1
    for row in range(count.shape[0]):
        for k in range(capacity):
            gain[row, k] = rise[min(count[row, k], n_items - 1)]  # a full group is never asked for one more
    together = np.empty(capacity)
    moved = True
    while moved:
        moved = False
        top = 0
        for k in range(capacity):
            if sizes[k] > 0:
                top = k + 1
        for i in order:
            here = labels[i]
            width = min(capacity, top + 1)  # one empty group beyond those in use
            together[:width] = 0.0
            here_together = 0.0
            for d in range(n_draws):
                row, weight = rows[i, d], weights[d]
                for k in range(width):
                    together[k] += weight * gain[row, k]
                if here >= 0:
                    here_together += weight * rise[count[row, here] - 1]
            best, least = here, np.inf
            if here >= 0:
                least = (
                    rise[sizes[here] - 1] - 2.0 * here_together - 1e-9
                )  # rounding must not make items wander for ever
            for k in range(width):
                if k != here:
                    cost = rise[sizes[k]] - 2.0 * together[k]
                    if cost < least:
                        best, least = k, cost
            if best == here:
                continue
            moved = True
            labels[i] = best
            top = max(top, best + 1)
            sizes[best] += 1
            for d in range(n_draws):
                row = rows[i, d]
                count[row, best] += 1
                gain[row, best] = rise[min(count[row, best], n_items - 1)]
            if here >= 0:
                sizes[here] -= 1
                for d in range(n_draws):
                    row = rows[i, d]
                    count[row, here] -= 1
                    gain[row, here] = rise[count[row, here]]
    return labels


@leaf
def _shared(chosen):
    n_draws, m = chosen.shape
    out = np.zeros((m, m))
    for a in range(m):
        for d in range(n_draws):
            for b in range(m):
                out[a, b] += chosen[d, a] == chosen[d, b]
    return out
