"""The passes of variable elimination over nodes with m states, compiled.

The generalisation of the binary passes in `bayesmrf.inference.elimination.passes`, which are faster for m = 2.
``coupling`` is a number for each edge, which rewards agreement, or a table whose rows are the states of the end that is
eliminated first.
"""

from __future__ import annotations

import numpy as np

from ...compiled import copy_to, leaf
from ...compiled.lanes import LOG_2, MOST, SQRT_HALF, exp_rest, power_bits
from ...elimination_order import EliminationOrder
from .passes import less_first, spread

CHUNK = 1024  # entries whose m weights fit into the cache


def bytes_of_tables(order: EliminationOrder, n_states: int) -> float:
    """Return the bytes that `categorical_moments` needs: a message and m probabilities an entry, and work space."""
    entries = float(n_states) ** np.diff(order.starts)
    return 8.0 * float((n_states + 1) * entries.sum() + n_states * entries.max(initial=0))


@leaf
def _sum_out(weight, table, space, start, stop):
    """Set ``table`` = log sum_y exp(weight[y]) and ``weight[y]`` to exp(weight[y] - table), from start to stop.

    exp and log are series (see `bayesmrf.compiled.lanes`): log(2^e t) = e log 2 + 2 artanh((t - 1) / (t + 1)) with t in
    [0.71, 1.41], argument < 0.172.
    """
    m = len(weight)
    size = stop - start
    top = table[start:stop]
    total = space[:size]
    power = total.view(np.int64)
    copy_to(top, weight[0, start:stop])
    for y in range(1, m):
        row = weight[y, start:stop]
        for s in range(size):
            top[s] = max(top[s], row[s])
    for y in range(m):
        row = weight[y, start:stop]
        for s in range(size):
            row[s] = min(top[s] - row[s], MOST)
            power[s] = power_bits(row[s])
        for s in range(size):
            row[s] = exp_rest(row[s]) * total[s]
    copy_to(total, weight[0, start:stop])
    for y in range(1, m):
        row = weight[y, start:stop]
        for s in range(size):
            total[s] += row[s]
    for y in range(m):
        row = weight[y, start:stop]
        for s in range(size):
            row[s] /= total[s]
    for s in range(size):
        exponent = (power[s] - SQRT_HALF) >> 52
        power[s] -= exponent << 52
        top[s] += LOG_2 * exponent
    for s in range(size):
        z = (total[s] - 1) / (total[s] + 1)
        series = 0.0
        for n in range(21, 0, -2):
            series = series * z * z + 1 / n
        top[s] += 2 * z * series


@leaf
def _gain(coupling, e, y, digit):
    if coupling.ndim == 1:
        return coupling[e] if digit == y else 0.0
    return coupling[e, y, digit]


@leaf
def _add_pair(pair, e, y, joint, part):
    """Add the probabilities ``joint`` to the marginal of an edge: one end is y, the other the digit above ``part``."""
    if pair.ndim == 1:
        agree = 0.0
        for s in range(y * part, (y + 1) * part):
            agree += joint[s]
        pair[e] += agree
    else:
        for digit in range(pair.shape[1]):
            both = 0.0
            for s in range(digit * part, (digit + 1) * part):
                both += joint[s]
            pair[e, y, digit] += both


@leaf
def _forward(plan, coupling, field, message, conditional):
    """Fill ``message`` (each table minus its first entry) and, if it is not empty, ``conditional``; return log Z.

    The conditional probabilities P(x_v = y | bag) of step i are m rows of m^k, from m ``tables[i]`` on.
    """
    n = len(plan.order)
    m = plan.n_states
    space = np.empty(m ** (plan.width + 1))
    total = np.empty(CHUNK)
    low = np.empty(m ** ((plan.width + 1) // 2), np.int64)
    high = np.empty_like(low)
    log_z = 0.0
    for i in range(n):
        start, k = plan.starts[i], plan.starts[i + 1] - plan.starts[i]
        size = m**k
        weight = space[: m * size].reshape(m, size)
        for y in range(m):
            row = weight[y]
            row[0] = field[plan.order[i], y]
            part = 1
            for b in range(k):
                e = plan.bag_edges[start + b]
                for digit in range(1, m):
                    gain = _gain(coupling, e, y, digit) if e >= 0 else 0.0
                    for s in range(part):
                        row[digit * part + s] = row[s] + gain
                gain = _gain(coupling, e, y, 0) if e >= 0 else 0.0
                if gain != 0:
                    for s in range(part):
                        row[s] += gain
                part *= m
        for j in plan.children[plan.child_starts[i] : plan.child_starts[i + 1]]:
            child = message[plan.tables[j] : plan.tables[j + 1]]
            rest = len(child) // m
            n_low, n_high = spread(k, m, plan.subset[j], low, high)
            for y in range(m):
                for t in range(n_high):
                    row = weight[y, t * n_low : (t + 1) * n_low]
                    part = child[y * rest + high[t] : (y + 1) * rest]
                    for s in range(n_low):
                        row[s] += part[low[s]]
        table = message[plan.tables[i] : plan.tables[i + 1]]
        for chunk in range(0, size, CHUNK):
            _sum_out(weight, table, total, chunk, min(chunk + CHUNK, size))
        if len(conditional) > 0:
            copy_to(conditional[m * plan.tables[i] : m * plan.tables[i + 1]], space)
        log_z += less_first(table)
    return log_z


@leaf
def categorical_log_z(plan, coupling, field):
    """Return log Z without the offset."""
    return _forward(plan, coupling, field, np.empty(plan.tables[-1]), np.empty(0))


@leaf
def categorical_moments(plan, coupling, field):
    """Return log Z without the offset, P(x_u = x_v) (or the joint distribution) of each edge and P(x_v = k) of each
    node.
    """
    n = len(plan.order)
    m = plan.n_states
    message = np.empty(plan.tables[-1])
    conditional = np.empty(m * plan.tables[-1])
    log_z = _forward(plan, coupling, field, message, conditional)
    # The messages are no longer needed; the marginals of the bags overwrite them.
    marginal = message
    pair = np.zeros_like(coupling)
    node = np.empty((n, m))
    space = np.empty(m**plan.width)
    low = np.empty(m ** ((plan.width + 1) // 2), np.int64)
    high = np.empty_like(low)
    for j in plan.children:
        marginal[plan.tables[j] : plan.tables[j + 1]] = 0.0
    for i in range(n - 1, -1, -1):
        start, k = plan.starts[i], plan.starts[i + 1] - plan.starts[i]
        first, size = plan.tables[i], m**k
        if k == 0:
            marginal[first] = 1.0
        for y in range(m):
            joint = space[:size]
            given = conditional[m * first + y * size : m * first + (y + 1) * size]
            for s in range(size):
                joint[s] = marginal[first + s] * given[s]
            for j in plan.children[plan.child_starts[i] : plan.child_starts[i + 1]]:
                child = marginal[plan.tables[j] : plan.tables[j + 1]]
                rest = len(child) // m
                n_low, n_high = spread(k, m, plan.subset[j], low, high)
                for t in range(n_high):
                    part = child[y * rest + high[t] : (y + 1) * rest]
                    for s in range(n_low):
                        part[low[s]] += joint[t * n_low + s]
            # Digits are summed out one by one, the highest first; if one equals y, its node agrees with v.
            part_size = size
            for b in range(k - 1, -1, -1):
                part_size //= m
                e = plan.bag_edges[start + b]
                if e >= 0:
                    _add_pair(pair, e, y, joint, part_size)
                for digit in range(1, m):
                    for s in range(part_size):
                        joint[s] += joint[digit * part_size + s]
            node[plan.order[i], y] = joint[0]
    return log_z, pair, node


@leaf
def categorical_samples(plan, coupling, field, n_samples, rng):
    """Sample independent states, (n_samples, n_nodes) int8: one pass forward, and one back for each."""
    n = len(plan.order)
    m = plan.n_states
    message = np.empty(plan.tables[-1])
    conditional = np.empty(m * plan.tables[-1])
    _forward(plan, coupling, field, message, conditional)
    states = np.empty((n_samples, n), np.int8)
    for t in range(n_samples):
        x = states[t]
        for i in range(n - 1, -1, -1):
            entry, stride = 0, 1
            for e in range(plan.starts[i], plan.starts[i + 1]):
                entry += x[plan.bags[e]] * stride
                stride *= m
            at = m * plan.tables[i] + entry
            u = rng.random()
            y = 0
            while y < m - 1 and u >= conditional[at + y * stride]:
                u -= conditional[at + y * stride]
                y += 1
            x[plan.order[i]] = y
    return states
