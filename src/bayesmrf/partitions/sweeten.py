"""Compiled search for a partition close to many: descent by single items and whole groups, and the draws themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import leaf

_TOLERANCE = 1e-9  # of n_items times an expected distance: rounding must not make items move forever


class IntersectionTable(NamedTuple):
    """Numbers of items that the groups of the draws share with those of the current partition.

    Item i is in row ``rows[i, d]`` of draw d; rows are numbered across all draws. ``gain`` = ``rise[shared]`` is
    stored as well, so that the inner loop is one contiguous sum.
    """

    rows: np.ndarray  # (n_items, n_draws) int32
    weights: np.ndarray  # (n_draws,)
    rise: np.ndarray  # (n_items,), (n + 1) log(n + 1) - n log n, the increase of the sum of n log n by one more item
    shared: np.ndarray  # (n_rows, most groups) int32
    gain: np.ndarray  # (n_rows, most groups)


@leaf
def sweeten(start, order, table, most_visits):
    """Decrease the expected distance by moves of single items, and by dissolving whole groups.

    Label -1 is an item not placed yet. Adding an item to group k increases n times the expected distance by rise[n_k] -
    2 sum_d w_d rise[n_kl], which is zero for an empty group. No new pass begins after ``most_visits`` visits of items.
    """
    n_items, n_draws = table.rows.shape
    most = table.shared.shape[1]
    labels = start.copy()
    sizes = np.zeros(most, dtype=np.int64)
    table.shared[:] = 0
    for i in range(n_items):
        k = labels[i]
        if k >= 0:
            sizes[k] += 1
            for d in range(n_draws):
                table.shared[table.rows[i, d], k] += 1
    for row in range(len(table.shared)):
        for k in range(most):
            table.gain[row, k] = table.rise[min(table.shared[row, k], n_items - 1)]
    cost = np.empty(most)
    tried = np.empty(most, dtype=np.bool_)
    members = np.empty(n_items, dtype=np.int64)
    left = most_visits - _settle(labels, order, sizes, table, cost, most_visits)
    improved = True
    while improved and left > 0:
        improved = False
        tried[:] = False
        for i in order:
            group = labels[i]
            if not tried[group] and left > 0:
                tried[group] = True
                left -= 2 * sizes[group]
                improved |= _renew(group, labels, order, sizes, table, cost, members)
        if improved:
            left -= _settle(labels, order, sizes, table, cost, left)
    return labels


@leaf
def closer_draw(draws, order, starts, weights, n_log_n, bound, step):
    """Return the first of every ``step``-th draw whose expected distance is below ``bound``, -1 if there is none.

    The sum over the distances of a draw stops as soon as it exceeds the bound. A distance is added to both of its
    draws. ``order`` sorts the items of a draw by group, and ``starts`` contains the first index of each group.
    """
    n_draws, n_items = draws.shape
    own = np.zeros(n_draws)
    n_groups_of = np.zeros(n_draws, dtype=np.int64)
    for d in range(n_draws):
        for k in range(starts.shape[1] - 1):
            own[d] += n_log_n[starts[d, k + 1] - starts[d, k]]
            n_groups_of[d] += starts[d, k] < n_items
    total = np.zeros(n_draws)
    reached = np.full(n_draws, -1)
    size = np.zeros(n_items, dtype=np.int32)
    limit = n_items * bound - 1e-9 * n_items
    for c in range(0, n_draws, step):
        for place in range(n_draws - 1):
            d = (c + 1 + place) % n_draws
            if total[c] > limit:
                break
            if d < c and d % step == 0 and reached[d] >= c:
                continue
            joint = 0.0
            n_groups = n_groups_of[d]
            for k in range(n_groups_of[c]):
                left, right = starts[c, k], starts[c, k + 1]
                for x in range(left, right):
                    size[draws[d, order[c, x]]] += 1
                if right - left < n_groups:
                    for x in range(left, right):
                        label = draws[d, order[c, x]]
                        joint += n_log_n[size[label]]
                        size[label] = 0
                else:
                    for label in range(n_groups):
                        joint += n_log_n[size[label]]
                        size[label] = 0
            distance = max(0.0, own[c] + own[d] - 2.0 * joint)
            total[c] += weights[d] * distance
            if d > c:
                total[d] += weights[c] * distance
                reached[c] = d
        if total[c] <= limit:
            return c
    return -1


@leaf
def _settle(labels, order, sizes, table, cost, most_visits):
    """Move single items to where the expected distance is least, until none moves; returns the number of visits."""
    moved = True
    n_visits = 0
    while moved and (n_visits == 0 or n_visits < most_visits):  # at least once: all items must be placed
        moved = False
        n_visits += len(order)
        for i in order:
            here = labels[i]
            best, least = _best(i, sizes, table, cost, here)
            if here >= 0:
                stay = table.rise[sizes[here] - 1]
                for d in range(len(table.weights)):
                    stay -= 2.0 * table.weights[d] * table.rise[table.shared[table.rows[i, d], here] - 1]
                if least >= stay - _TOLERANCE:
                    continue
                _take(i, labels, sizes, table)
            _put(i, best, labels, sizes, table)
            moved = True
    return n_visits


@leaf
def _renew(group, labels, order, sizes, table, cost, members):
    """Dissolve a group and place its items again, one after the other; undo it unless the distance decreases."""
    n = 0
    change = 0.0
    for i in order:
        if labels[i] == group:
            members[n] = i
            n += 1
    for x in range(n):
        i = members[x]
        _take(i, labels, sizes, table)
        change -= _cost(i, group, sizes, table)
    for x in range(n):
        i = members[x]
        best, least = _best(i, sizes, table, cost, -1)
        change += least
        _put(i, best, labels, sizes, table)
    if change < -_TOLERANCE * n:
        return True
    for x in range(n):
        _take(members[x], labels, sizes, table)
    for x in range(n):
        _put(members[x], group, labels, sizes, table)
    return False


@leaf
def _cost(i, k, sizes, table):
    """Return the contribution of item i, which is in no group, to n times the expected distance in group k."""
    cost = table.rise[sizes[k]]
    for d in range(len(table.weights)):
        cost -= 2.0 * table.weights[d] * table.gain[table.rows[i, d], k]
    return cost


@leaf
def _best(i, sizes, table, cost, here):
    """Return the group other than ``here`` that is best for item i, and the contribution of i there."""
    width = len(sizes)
    while width > 1 and sizes[width - 1] == 0 and sizes[width - 2] == 0:
        width -= 1  # one empty group beyond those in use
    for k in range(width):
        cost[k] = 0.0
    for d in range(len(table.weights)):
        row, weight = table.rows[i, d], table.weights[d]
        for k in range(width):
            cost[k] += weight * table.gain[row, k]
    best, least = -1, np.inf
    for k in range(width):
        if k != here:  # which may have all items
            value = table.rise[sizes[k]] - 2.0 * cost[k]
            if value < least:
                best, least = k, value
    return best, least


@leaf
def _put(i, k, labels, sizes, table):
    labels[i] = k
    sizes[k] += 1
    for d in range(len(table.weights)):
        row = table.rows[i, d]
        table.shared[row, k] += 1
        table.gain[row, k] = table.rise[min(table.shared[row, k], len(labels) - 1)]  # a full group never gets one more


@leaf
def _take(i, labels, sizes, table):
    k = labels[i]
    labels[i] = -1
    sizes[k] -= 1
    for d in range(len(table.weights)):
        row = table.rows[i, d]
        table.shared[row, k] -= 1
        table.gain[row, k] = table.rise[table.shared[row, k]]
