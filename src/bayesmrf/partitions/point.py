"""Point estimate of a partition: the one with the least expected variation of information."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from .distance import canonical, distances, joined, n_log_n, thinned
from .similarity import MOST_CO_CLUSTERING_ITEMS, linkage_cut
from .sweeten import IntersectionTable, closer_draw, sweeten

_MOST_CELLS = 2**23  # labels of draws that are used; of tables of intersections eight times as many
_MOST_PLACES = 2**25  # items x draws x groups: the cost of one sweep of a start
_MOST_STEPS = 2**33  # of comparisons among the draws
_MOST_SUMS = 2**32  # terms of the sums of all rough descents, and of those that finish
_N_STARTS = (16, 64)  # limits of their number, for which one sweep of all costs 2^25
_N_FINISHED = 3  # starts that are continued with all draws


def point_partition(draws: Any) -> np.ndarray:
    """Find the partition with the least expected variation of information from the draws.

    Wade and Ghahramani (2018), searched as by SALSO (Dahl, Johnson and Mueller 2022): items are placed one after the
    other in a random order, each where the expected distance increases least; then single items move, also to a group
    of their own, until no move improves; then whole groups are dissolved and their items placed again, as long as that
    improves. Descents start from no placed items (in several orders), from one group for everything, from some of the
    draws, and from the best cut of the average-linkage tree. With many draws and items, the descents use a part of the
    draws, and the best of them are continued with all.

    The result is never worse than the cuts of the average-linkage tree into at most twice as many groups as any draw
    has (of at most 5,000 items), and never worse than any of the draws: each is compared until the sum of its
    distances exceeds the best. It is a minimum under single moves, not proven to be the global one (of
    draws beyond some 2^26 labels times groups, descents may stop before it). The result is deterministic.

    More than max(100, 2^23 / n_items) draws are thinned evenly to that number; the descents use fewer if their
    tables of intersections would exceed 2^26 cells. If n_draws^2 n_items exceeds 2^33, only as many draws are compared
    as that allows, evenly spaced.

    Parameters
    ----------
    draws : (..., n_items) integer array
        Groupings from the posterior; leading dimensions (chain, draw) are joined.

    Returns
    -------
    (n_items,) int64 array
        Labels 0..k-1 in the order of first appearance.
    """
    labels = joined(draws)
    n_items = labels.shape[-1] if labels.ndim else 0
    labels = canonical(thinned(labels, max(100, _MOST_CELLS // max(1, n_items))))
    most = min(n_items, 2 * (int(labels.max()) + 1) + 8)
    distinct, weights = _distinct(labels)
    n_groups = (labels.max(axis=1) + 1).mean()
    table = _table(*_distinct(thinned(labels, max(1, int(_MOST_CELLS / n_groups) * 8 // most))), most)

    def expected(groups: np.ndarray) -> float:
        return float(distances(groups, distinct) @ weights)

    part = _distinct(thinned(labels, max(100, _MOST_PLACES // (n_items * most))))
    rough = _table(*part, most)
    n_starts = int(np.clip(_MOST_PLACES // (rough.rows.size * most), *_N_STARTS))
    starts = [np.zeros(n_items, dtype=np.int32), *thinned(part[0], n_starts // 4)]
    starts += [np.full(n_items, -1, dtype=np.int32)] * (n_starts - len(starts))
    shuffler = np.random.default_rng(0)
    orders = [shuffler.permutation(n_items) for _ in starts]
    enough = int(_MOST_SUMS / (n_starts * len(part[0]) * (n_groups + 1)))
    ends = [canonical(sweeten(start, order, rough, enough)) for start, order in zip(starts, orders, strict=True)]
    candidates = sorted(_distinct(np.array(ends))[0], key=expected)[:_N_FINISHED]
    if 2 <= n_items <= MOST_CO_CLUSTERING_ITEMS:
        candidates.append(linkage_cut(labels, table.rows, table.weights, most))
    enough = int(_MOST_SUMS / (len(candidates) * len(table.weights) * (n_groups + 1)))

    def finished(groups: np.ndarray) -> np.ndarray:
        return canonical(sweeten(groups, orders[0], table, enough))

    best = min([*candidates, *map(finished, candidates)], key=expected)
    step = 1 + distinct.size * len(distinct) // _MOST_STEPS
    fixed = distinct, *_sorted(distinct), weights, n_log_n(n_items)
    while (better := closer_draw(*fixed, expected(best), step)) >= 0:
        best = min([distinct[better], finished(distinct[better])], key=expected)
    return best.astype(np.int64)


def _distinct(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct groupings (n_distinct, n_items), and their shares of the draws."""
    times = Counter(row.tobytes() for row in labels)
    distinct = np.frombuffer(b"".join(times), dtype=np.int32).reshape(len(times), labels.shape[1])
    return distinct, np.array(list(times.values())) / len(labels)


def _table(distinct: np.ndarray, weights: np.ndarray, most: int) -> IntersectionTable:
    """Allocate the intersections of ``most`` groups with those of the draws."""
    n_items = distinct.shape[1]
    n_groups = distinct.max(axis=1) + 1
    rows = np.ascontiguousarray((distinct + (np.cumsum(n_groups) - n_groups).astype(np.int32)[:, None]).T)
    shared = np.empty((int(n_groups.sum()), most), dtype=np.int32)
    return IntersectionTable(rows, weights, np.diff(n_log_n(n_items)), shared, np.empty(shared.shape))


def _sorted(distinct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sort the items of each draw by group; return them and where the groups begin (n_draws, most groups + 1)."""
    order = np.argsort(distinct, axis=1, kind="stable").astype(np.int32)
    starts = np.zeros((len(distinct), int(distinct.max()) + 2), dtype=np.int64)
    for row, draw in zip(starts, distinct, strict=True):
        np.cumsum(np.bincount(draw, minlength=starts.shape[1] - 1), out=row[1:])
    return order, starts
